"""Coding tasks: what was asked of the agent and how it ended. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field

from regreen.model.changes import Conflict
from regreen.model.runs import Evidence, StopReason
from regreen.model.suite import Counts


@dataclass(frozen=True, slots=True)
class TaskTests:
    """What the tests that were named for a task said at its end, in a run of the engine's own."""

    status: str
    counts: Counts
    failing: tuple[str, ...] = ()
    doubt: str = ""  # what speaks against them although they pass


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """How a coding task ended. `verified` is the engine's word, never the model's: the named tests pass, cold.

    `fixed`: verified, and tests failed before that pass now. Without named tests nothing is ever verified.
    `answer` is what the model said last.
    """

    reason: StopReason
    fixed: bool = False
    verified: bool = False
    answer: str = ""
    why: str = ""  # why the agent ended, where it was not by itself
    question: str = ""  # what the agent wanted to ask, where nobody could answer
    turns: int = 0
    tests: TaskTests | None = None
    kept: bool = False
    kept_files: tuple[str, ...] = ()
    restored: bool = False
    tree: str = ""  # hash of what was changed; equal hashes are equal changes
    hint: str = ""
    conflicts: tuple[Conflict, ...] = ()
    merged: tuple[str, ...] = ()
    put_back: str = ""  # transaction that took the changes back; restoring it brings them again
    ignored: tuple[str, ...] = ()
    old_bytes: str = ""
    evidence: Evidence = field(default_factory=Evidence)


@dataclass(frozen=True, slots=True)
class TaskUsage:
    """What the models of a task have used. `unpriced`: something of it has no known price, so `usd` is too low."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0
    unpriced: bool = False
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
