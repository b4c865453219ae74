"""Where a command leaves no report that can be read: its exit status, as one case that says so."""

from __future__ import annotations

from regreen.redact import Redactor
from regreen.testing.channel import RawFailure
from regreen.testing.heard import Asked, Case, Ended, Heard
from regreen.testing.logs import tail

_LINES = 12


def judged(name: str, asked: Asked, ended: Ended, why: str) -> Heard:
    """The command as one case of this name. `why` says why there is nothing better."""
    completed = ended.completed
    note = f"{why}: `{name}` is judged by its exit status alone, as one case"
    if completed.returncode is None:
        return Heard(finished=False, running=(name,), notes=(note,))
    if completed.returncode == 0:
        return Heard(cases=(Case(name, "passed", completed.duration_s),), notes=(note,))
    text = Redactor.from_environ(asked.request.settings.environ)(tail(ended.log))
    lines = [line for line in text.splitlines() if line.strip()][-_LINES:]
    message = f"it ended with exit status {completed.returncode}"
    raw = RawFailure(name, "exit", message, (), text=text, sections=(("the output ends", "\n".join(lines)),))
    return Heard(cases=(Case(name, "failed", completed.duration_s, raw),), notes=(note,))
