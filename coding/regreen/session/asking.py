"""Policy applied: what may not simply pass is asked of whoever called, or of whoever the session was opened by.

Rules: a call's own approver comes first; nobody to ask is a refusal; a yes is for the question as it was put, so that
every further reason to ask is another question. What is written down as trusted is never changed here.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

from regreen.agent.approval import UNTRUSTED, Approver, Effect, Question
from regreen.errors import Refused
from regreen.policy import Action, Ask, Deny, Request, decide
from regreen.sandbox import Cancel
from regreen.session import trust
from regreen.workspace import is_command_bearing

if TYPE_CHECKING:
    from regreen.model import FileDiff, SuiteReport
    from regreen.session.fixing import FixOptions
    from regreen.session.repository import Session

_NO = "the user was asked and said no: do something else, or ask them what they want"
_asked_of: ContextVar[tuple[Approver, Cancel] | None] = ContextVar("asked_of", default=None)


class Declined(Refused):
    """Somebody was asked, and said no."""


@contextmanager
def asked_by(approver: Approver | None, cancel: Cancel | None = None) -> Generator[None]:
    """Within the block, in this thread, `approver` (if any) is asked before anybody else. `cancel` ends its wait."""
    token = _asked_of.set((approver, cancel or Cancel()) if approver is not None else None)
    try:
        yield
    finally:
        _asked_of.reset(token)


def answer(session: Session, question: Question) -> bool | None:
    """What whoever is asked says; None: nobody answers."""
    if (own := _asked_of.get()) is not None:
        approver, cancel = own
        said = approver(question, cancel)
        if said is not None:
            return said
    return session.approve(question.ask) if session.approve is not None else None


def allow(session: Session, action: Action, about: str, effect: Effect) -> None:
    """Pass, or raise Refused with what to do about it; Declined where somebody said no."""
    tainted = trust.tainted(session.store, session.key, session.workspace) if action == "run" else ()
    request = Request(action, str(session.root), session.trusted, tainted, about)
    mode = session.settings.mode
    while isinstance(decision := decide(request, mode), Ask):
        narrowed = _narrowed(session, effect, tainted if decision.kind != UNTRUSTED else ())
        said = answer(session, put(session, decision, action, narrowed))
        if not said:
            raise _refusal(decision, declined=said is not None)
        if decision.kind != UNTRUSTED:
            return
        # Whoever lets the code of a folder run has answered what ask mode would ask; not whether edits of files that
        # decide what is run were looked at.
        request, mode = replace(request, trusted=True), "accept-edits" if mode == "ask" else mode
    if isinstance(decision, Deny):
        raise Refused(decision.kind, decision.reason, decision.hint)


def put(session: Session, ask: Ask, action: str, effect: Effect) -> Question:
    """The question as it is put to somebody: secrets masked, and for what runs with what it is kept in."""
    told = tuple((name, session.redact(value)) for name, value in effect.told)
    masked = replace(ask, reason=session.redact(ask.reason))
    shown = session.redact(str(session.root))
    return Question(masked, action, str(session.root), replace(effect, told=told), _sandbox(session, action), shown)


def _refusal(ask: Ask, *, declined: bool) -> Refused:
    return Declined(ask.kind, ask.reason, _NO) if declined else Refused(ask.kind, ask.reason, ask.hint)


def _narrowed(session: Session, effect: Effect, tainted: Sequence[str]) -> Effect:
    """A yes to run what edits have changed is for the contents that are there now."""
    if not tainted:
        return effect
    contents = [[path, session.workspace.image(path).sha256] for path in tainted]
    files = tuple(("changed file", path) for path in tainted)
    return replace(effect, told=(*effect.told, *files), standing=json.dumps([effect.standing, contents]))


def _sandbox(session: Session, action: str) -> str:
    if action != "run":
        return ""
    from regreen.sandbox import isolation

    found = isolation(session.settings)
    why = f" ({session.redact(found.why)})" if found.level == "none" else ""
    return f"{found.level}, network {found.network}{why}"


def denied_run(error: Declined) -> SuiteReport:
    """What a test run came to that somebody did not let begin."""
    from regreen.model import Counts, SuiteReport, SuiteStatus

    message = f"{error.message}; {error.hint}"
    return SuiteReport(SuiteStatus.DENIED, "", (), "", "", Counts(), (), (), 0.0, message=message)


# --- effects -----------------------------------------------------------------------------------------


def of_edits(files: Sequence[FileDiff]) -> Effect:
    """Edits as planned. Of files that decide what is run, a yes is for the very contents."""
    told = tuple(("change", f"{f.action} {f.path} +{f.added} -{f.removed}") for f in files)
    identity = json.dumps([[f.action, f.from_, f.path, f.sha_before, f.sha_after] for f in files])
    commands = any(is_command_bearing(f.path) for f in files)
    return Effect(told, identity, standing=identity if commands else "")


def of_tests(selection: Sequence[str], *, argv: Sequence[str] = (), runner: str = "auto") -> Effect:
    """A test run. A yes to a command line of the caller's own is for that one."""
    told = ("command", json.dumps(list(argv), ensure_ascii=False)) if argv else ("tests", _listed(selection, "all"))
    identity = json.dumps([list(selection), list(argv), runner])
    return Effect((told,), identity, standing=json.dumps(list(argv)) if argv else "")


def of_fix(options: FixOptions) -> Effect:
    """A fix run: what it may edit, and which tests it runs."""
    told = (
        ("fix run", f"proposer {options.proposer}; every change is undone unless the tests pass"),
        ("tests", _listed(options.selection, "all")),
        ("may change", _listed(options.paths, "the project's files that are no tests")),
        ("test files", options.tests),
    )
    return Effect(told, json.dumps([options.proposer, options.selection, options.paths, options.tests]))


def of_restore(to: str) -> Effect:
    return Effect((("undoes", to),), to)


def of_foreign(tool: str, arguments: str) -> Effect:
    """A call of a tool that is none of ours: a yes is for the very call."""
    identity = json.dumps([tool, arguments])
    return Effect((("tool", tool), ("arguments", arguments)), identity, standing=identity)


def _listed(names: Sequence[str], none: str) -> str:
    return ", ".join(names) if names else none
