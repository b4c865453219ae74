"""What a tool is to the agent: a name, what a model is told of it, and a function that blocks until it has a reply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from regreen.errors import RegreenError
from regreen.providers.messages import ToolDefinition
from regreen.sandbox import Cancel
from regreen.tools.text import error_text
from regreen.wire import Json

OnProgress: TypeAlias = Callable[[str], None]

MOSTLY_HEAD, MOSTLY_TAIL = 0.8, 0.2
NARROW = "narrow the call (fewer files, a smaller part), or go another way"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Of one call: what tells it to stop, and who hears how it goes."""

    cancel: Cancel
    on_progress: OnProgress


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a tool says. `denied`: a rule or a person did not allow it. `empty`: it found nothing. `question`: it needs
    an answer of the user's, and there is nobody to ask."""

    text: str
    is_error: bool = False
    denied: bool = False
    empty: bool = False
    question: str = ""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `run` is called in a thread of its own, checks its arguments itself and may raise RegreenError.

    `timeout_s` and `max_chars` 0 are those of the settings. Of a reply that is too long `head_share` of what is shown
    is its beginning, the rest its end. `on_timeout` says what to do instead of a call that took too long.
    """

    name: str
    description: str
    schema: Mapping[str, Json]
    run: Callable[[Mapping[str, Json], ToolContext], ToolReply]
    read_only: bool = False
    requires_approval: bool = False
    timeout_s: float = 0.0
    max_chars: int = 0
    head_share: float = MOSTLY_HEAD
    on_timeout: str = NARROW

    @property
    def definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, self.description, self.schema)


def failure(kind: str, message: str, hint: str = "", *, denied: bool = False) -> ToolReply:
    """An error in the form that all tools use: `kind: message`, then what to do next."""
    return ToolReply(error_text({"kind": kind, "message": message, "hint": hint}), is_error=True, denied=denied)


def refusal(error: RegreenError) -> ToolReply:
    return failure(error.kind, error.message, error.hint, denied=error.kind in DENIED)


DENIED: frozenset[str] = frozenset({
    "argument_not_allowed", "argument_value_invalid", "command_not_allowed", "denied_by_mode", "needs_approval",
    "not_regular_file", "path_out_of_scope", "path_outside", "path_outside_workspace", "path_protected",
    "sandbox_required", "tampering", "untrusted_workspace",
})  # fmt: skip
"""Kinds of errors by which a rule says no, of calls and of single edits: what is wanted has to be got another way."""
