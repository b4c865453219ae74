"""Where a command leaves no report that can be read: its exit status, as one case that says so."""

from __future__ import annotations

from regreen.commands.programs import find_program
from regreen.model import SuiteStatus
from regreen.redact import Redactor
from regreen.testing.channel import RawFailure
from regreen.testing.heard import Absent, Asked, Case, Ended, Heard, Plan
from regreen.testing.logs import tail

_LINES = 12


def wrapped(name: str, parts: str, asked: Asked, words: tuple[str, ...]) -> Plan | Absent:
    """The plan of a tool of Python's that starts runners of its own choice. `parts` is what it calls what it runs."""
    request = asked.request
    if request.selection or request.last_failed:
        return Absent(f"the {parts} of {name} are not plainly those of one test runner, so single tests cannot be "
                      "selected: run it without a selection, or name the runner", SuiteStatus.NO_TESTS)  # fmt: skip
    program = find_program(name, request.settings.environ, request.workspace.root)
    if program is None:
        return Absent(f"{name} is not installed, or not on the PATH: `pip install {name}`")
    return Plan(argv=(str(program), *words), interpreter=str(program))


def judged(name: str, asked: Asked, ended: Ended, why: str, nothing: str = "") -> Heard:
    """The command as one case of this name. `why` says why there is nothing better, `nothing` why a good end is no
    sign that a test passed."""
    completed = ended.completed
    note = f"{why}: `{name}` is judged by its exit status alone, as one case"
    if completed.returncode is None:
        return Heard(finished=False, running=(name,), notes=(note,))
    if completed.returncode == 0 and nothing:
        return Heard(nothing=nothing, notes=(note,))
    if completed.returncode == 0:
        return Heard(cases=(Case(name, "passed", completed.duration_s),), notes=(note,))
    text = Redactor.from_environ(asked.request.settings.may_be_told)(tail(ended.log))
    lines = [line for line in text.splitlines() if line.strip()][-_LINES:]
    message = f"it ended with exit status {completed.returncode}"
    raw = RawFailure(name, "exit", message, (), text=text, sections=(("the output ends", "\n".join(lines)),))
    return Heard(cases=(Case(name, "failed", completed.duration_s, raw),), notes=(note,))
