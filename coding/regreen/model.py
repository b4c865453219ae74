"""The value types that cross module borders. All frozen; none knows git, a process, a protocol or a terminal.

Grouped by what they speak of: tests, edits, changes on disk, fix runs, repository contents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from regreen.wire import internal

# --- tests -----------------------------------------------------------------------------------------


class SuiteStatus(StrEnum):
    """What a test run came to. `passed` means: tests ran to the end and none failed."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"  # a collection or fixture error, and nothing worse
    NO_TESTS = "no_tests"
    CRASHED = "crashed"  # the process ended without telling its results
    TIMEOUT = "timeout"
    ENVIRONMENT = "environment"  # no usable interpreter, runner or dependency
    DENIED = "denied"  # an approval was refused
    CANCELLED = "cancelled"


CaseOutcome: TypeAlias = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
"""Outcome of one test. A strict xpass is `failed`; a setup or teardown error is `error`."""


@dataclass(frozen=True, slots=True)
class Counts:
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    xfailed: int = 0
    xpassed: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """One failing test, condensed. `id` is the runner's own id; `file` is relative to the root, `line` 1-based.

    `kind` is the exception's name (`AssertionError`, `KeyError`), or `collection`, `crash`, `timeout`.
    `signature` is equal for failures of equal cause: exception, normalised message, innermost in-repo frame.
    """

    id: str
    file: str
    line: int
    kind: str
    message: str
    excerpt: str
    signature: str


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures that share a signature: one exemplar is shown in full, the others by id."""

    signature: str
    message: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """What one test run said. `outcomes` holds every test that ran, by id, in running order."""

    status: SuiteStatus
    runner: str
    argv: tuple[str, ...]
    interpreter: str
    sandbox: str
    counts: Counts
    failures: tuple[Failure, ...]
    groups: tuple[FailureGroup, ...]
    duration_s: float
    message: str = ""  # the diagnosis, where the status needs one (environment, crashed, no_tests, timeout)
    log: str = ""  # path of the complete output, in the state folder
    notes: tuple[str, ...] = ()  # "left processes", "output cut", ...
    outcomes: Mapping[str, CaseOutcome] = internal(default_factory=dict[str, "CaseOutcome"])
    durations_s: Mapping[str, float] = internal(default_factory=dict[str, float])

    @property
    def green(self) -> bool:
        """True only if tests ran, all of them reported, and none failed."""
        return self.status is SuiteStatus.PASSED

    @property
    def failing(self) -> frozenset[str]:
        return frozenset(i for i, o in self.outcomes.items() if o in ("failed", "error"))

    @property
    def passing(self) -> frozenset[str]:
        """Ids that count as passing. A skipped or xfailed test does not."""
        return frozenset(i for i, o in self.outcomes.items() if o in ("passed", "xpassed"))


# --- edits -----------------------------------------------------------------------------------------

EditErrorKind: TypeAlias = Literal[
    "no_match", "ambiguous", "already_applied", "empty_search", "elision", "no_op", "no_edits", "parse", "range",
    "file_exists", "file_not_found", "path_outside", "path_protected", "path_invalid", "stale", "encoding", "binary",
    "unsupported", "too_large", "io",
]  # fmt: skip
EditStatus: TypeAlias = Literal["applied", "would_apply", "failed", "skipped_noop"]
FileAction: TypeAlias = Literal["create", "modify", "delete"]


@dataclass(frozen=True, slots=True)
class Replacement:
    """Replace the whole lines `search` of `path` by `replace`; an empty `search` creates a missing file."""

    path: str
    search: str
    replace: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a proposer hands in: a response text holding edits, or replacements; one of the two."""

    text: str = ""
    replacements: tuple[Replacement, ...] = ()
    format: str = "auto"
    note: str = ""


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
    """One file's change. Hashes are hex sha256 of the raw bytes; empty = the file is absent on that side."""

    path: str
    action: FileAction
    added: int
    removed: int
    sha_before: str
    sha_after: str
    diff: str


@dataclass(frozen=True, slots=True)
class EditReport:
    """The result of applying (or dry-running) edits. `ok` false means: nothing at all was written."""

    ok: bool
    files: tuple[FileDiff, ...] = ()
    edits: tuple[EditResult, ...] = ()
    warnings: tuple[str, ...] = ()
    plan: str = ""  # id of a dry run's plan
    transaction: str = ""  # id to undo by


# --- changes on disk -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Conflict:
    """A file that was not put back because it no longer is what we left there."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """Result of a restore. `deleted` are files that we (or the run's tests) had created. Paths are relative."""

    restored: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    dry_run: bool = False
    transaction: str = ""  # undoes this restore


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A recorded state of the work tree. `tree` is the git tree id, empty where git cannot see the folder."""

    id: str
    created: float
    tree: str = ""
    files: int = 0


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """What differs from a snapshot, a job's start or HEAD."""

    since: str
    files: tuple[FileDiff, ...]
    diff: str
    truncated: bool = False


# --- fix runs --------------------------------------------------------------------------------------


class StopReason(StrEnum):
    """Why a fix run ended."""

    FIXED = "fixed"
    ALREADY_GREEN = "already_green"
    NO_PROGRESS = "no_progress"
    REPEATED_FIX = "repeated_fix"
    OSCILLATION = "oscillation"
    REGRESSION = "regression"
    ATTEMPT_LIMIT = "attempt_limit"
    BUDGET = "budget"
    FLAKY = "flaky"
    ENVIRONMENT = "environment"
    TAMPERED = "tampered"
    NEEDS_TEST_CHANGE = "needs_test_change"
    PROPOSER_FAILED = "proposer_failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"


class AttemptState(StrEnum):
    PASSED = "passed"
    IMPROVED = "improved"
    SAME = "same"
    WORSE = "worse"
    BROKEN = "broken"  # does not collect any more
    TIMEOUT = "timeout"
    REFUSED = "refused"  # not applied: edits do not match, or a rule forbids them
    REPEATED = "repeated"  # the resulting tree was seen before; not run


TamperPolicy: TypeAlias = Literal["readonly", "additions_only", "editable"]


@dataclass(frozen=True, slots=True)
class SuspiciousLine:
    """A line that failing tests execute and passing tests mostly do not. `score` is in 0..1 (Ochiai)."""

    path: str
    line: int
    score: float
    text: str


@dataclass(frozen=True, slots=True)
class Tried:
    """One earlier attempt, as told to the proposer."""

    number: int
    state: AttemptState
    note: str
    diff: str
    result: str


@dataclass(frozen=True, slots=True)
class Brief:
    """What a proposer may know now: all of it bounded in size."""

    task: str
    failing: tuple[str, ...]
    failures: tuple[Failure, ...]
    suspicious: tuple[SuspiciousLine, ...]
    signatures: tuple[str, ...]
    tried: tuple[Tried, ...]
    attempts_left: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One proposal and what came of it. `fixed`, `broken`, `still` are test ids against the baseline."""

    number: int
    state: AttemptState
    note: str = ""
    message: str = ""  # why it was refused, or the verdict in one line
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    still: tuple[str, ...] = ()
    edits: tuple[EditResult, ...] = ()
    diff: str = ""
    failures: tuple[Failure, ...] = ()
    duration_s: float = 0.0
    tree: str = internal(default="")  # normalised hash of the files this attempt would leave
    transaction: str = internal(default="")
    kept: bool = internal(default=False)
    failing_signatures: tuple[tuple[str, str], ...] = internal(default=())  # (test id, failure signature)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What `fixed` (or any other end) rests on."""

    interpreter: str = ""
    argv: tuple[str, ...] = ()
    sandbox: str = ""
    counts: Counts = Counts()
    goal_runs: str = ""  # "3/3": cold runs in which the goal tests passed
    duration_s: float = 0.0
    protected_files: int = 0  # test files whose bytes were checked against the baseline
    side_effects: tuple[str, ...] = ()  # files that the run's tests created or changed, put back
    flaky: tuple[str, ...] = ()
    pre_existing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a fix run ended. `fixed` is only ever true together with `verified` and reason `fixed`."""

    reason: StopReason
    fixed: bool
    fixed_tests: tuple[str, ...] = ()
    kept: bool = False
    kept_files: tuple[str, ...] = ()
    restored: bool = False
    verified: bool = False
    diff: str = ""
    evidence: Evidence = field(default_factory=Evidence)
    hint: str = ""
    conflicts: tuple[Conflict, ...] = ()


# --- repository contents ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A file tree as text. `files` and `dirs` count the whole subtree, shown or not."""

    root: str
    tree: str
    files: int
    dirs: int
    truncated: bool = False
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. Lines are 1-based; `line` is that of the name's keyword, not of a decorator."""

    kind: str
    name: str
    qualified_name: str
    signature: str
    line: int
    end_line: int
    parent: str = ""
    decorators: tuple[str, ...] = ()
    doc: str = ""


@dataclass(frozen=True, slots=True)
class FileSymbols:
    path: str
    language: str
    symbols: tuple[Symbol, ...]
    errors: tuple[str, ...] = ()  # "line 12: could not be parsed"


@dataclass(frozen=True, slots=True)
class Skipped:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class SignatureReport:
    files: tuple[FileSymbols, ...]
    skipped: tuple[Skipped, ...] = ()
    truncated: bool = False
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class FileText:
    """A piece of a text file. `sha256` is of the whole file's raw bytes; `redacted` counts masked secrets."""

    path: str
    text: str
    start_line: int
    end_line: int
    total_lines: int
    sha256: str
    encoding: str
    eol: Literal["lf", "crlf", "mixed", "none"]
    redacted: int = 0
