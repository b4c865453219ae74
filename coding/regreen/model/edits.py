"""Edits: what is proposed, and what became of it. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

EditErrorKind: TypeAlias = Literal[
    "no_match", "ambiguous", "already_applied", "empty_search", "elision", "no_op", "no_edits", "parse", "range",
    "file_exists", "file_not_found", "path_outside", "path_protected", "path_invalid", "stale", "encoding", "binary",
    "unsupported", "too_large", "io",
]  # fmt: skip
EditStatus: TypeAlias = Literal["applied", "would_apply", "failed", "skipped_noop", "not_chosen"]
FileAction: TypeAlias = Literal["create", "modify", "delete", "rename"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replace the whole lines `search` of `path` by `replace`; an empty `search` creates a missing file."""

    path: str
    search: str
    replace: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a proposal cost its proposer: tokens in and out, and US dollars."""

    tokens: int = 0
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a proposer hands in: a response text holding edits, or replacements; one of the two.

    `needs_test_change` instead of edits: the proposer's reason why no right code can pass these tests. The run ends.
    """

    text: str = ""
    replacements: tuple[Replacement, ...] = ()
    format: str = "auto"
    note: str = ""
    needs_test_change: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first line in which the closest place differs; texts are `repr`s, so tabs and CRs can be seen."""

    line: int
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class ClosestPlace:
    """The place in the file that looks most like SEARCH; `text` has line numbers. A hint, never written to."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class EditError:
    kind: EditErrorKind
    message: str
    hint: str = ""
    candidates: tuple[int, ...] = ()  # 1-based line numbers, at most 10
    closest: ClosestPlace | None = None
    first_difference: FirstDifference | None = None


@dataclass(frozen=True, slots=True)
class EditResult:
    """What became of one edit. Lines are 1-based and inclusive, in the file before the edit; 0 = none."""

    index: int
    path: str
    status: EditStatus
    level: str = ""
    line_start: int = 0
    line_end: int = 0
    error: EditError | None = None


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file's change. Hashes are hex sha256 of the raw bytes; empty = the file is absent on that side.

    `from_` (in JSON: `from`) is the old path of a renamed file. `hunks` counts the parts that can be chosen.
    """

    path: str
    action: FileAction
    added: int
    removed: int
    sha_before: str
    sha_after: str
    diff: str
    from_: str | None = None
    hunks: int | None = None


@dataclass(frozen=True, slots=True)
class EditReport:
    """The result of applying (or dry-running) edits. `ok` false means: nothing at all was written."""

    ok: bool
    files: tuple[FileDiff, ...] = ()
    edits: tuple[EditResult, ...] = ()
    warnings: tuple[str, ...] = ()
    plan: str = ""  # id of a dry run's plan
    transaction: str = ""  # id to undo by
