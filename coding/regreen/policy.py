"""May this be done? A pure decision on the effect wanted, the mode and the trust of the folder. Deny comes first.

Nothing here asks anyone: `Ask` is handed to whoever can (a terminal, a client); with nobody to ask it is a refusal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regreen.settings import Mode

Action: TypeAlias = Literal["read", "edit", "run", "restore"]


@dataclass(frozen=True, slots=True)
class Request:
    """An effect that somebody wants. `tainted` are command-bearing files that regreen itself changed, unapproved;
    `about` says what it is in full, for the person who is asked."""

    action: Action
    folder: str
    trusted: bool
    tainted: tuple[str, ...] = ()
    about: str = ""


@dataclass(frozen=True, slots=True)
class Allow:
    pass


@dataclass(frozen=True, slots=True)
class Ask:
    """`about` is what a person must see to decide, such as a diff."""

    kind: str
    reason: str
    hint: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Deny:
    kind: str
    reason: str
    hint: str


Decision: TypeAlias = Allow | Ask | Deny

_PLAN_HINT = "plan mode only reads; use `dry_run`, or start regreen with `--mode accept-edits`"


def decide(request: Request, mode: Mode) -> Decision:
    """The decision for one effect.

    plan: reads only. ask: every write and run asks. accept-edits: edits pass; runs need trust. auto: as
    accept-edits, and command-bearing files changed by regreen do not ask again.
    """
    if request.action == "read":
        return Allow()
    if mode == "plan":
        return Deny("denied_by_mode", f"plan mode does not {request.action}", _PLAN_HINT)
    if request.action == "run" and not request.trusted:
        return Ask(
            "untrusted_workspace",
            f"running tests executes code of {request.folder}, which is not trusted",
            f"type `regreen trust {request.folder}`, or name the folder with --root",
        )
    if request.action == "run" and request.tainted and mode != "auto":
        names = ", ".join(request.tainted[:5])
        return Ask(
            "needs_approval",
            f"files that decide what a test run executes were changed by edits: {names}",
            f"look at them, then type `regreen trust {request.folder}`",
        )
    if mode == "ask":
        return Ask(
            "needs_approval",
            f"ask mode: wants to {request.action} in {request.folder}",
            "approve it, or start regreen with `--mode accept-edits`",
            request.about,
        )
    return Allow()
