"""Fix runs: attempts, briefs, outcomes. Frozen values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from regreen.model.changes import Conflict
from regreen.model.edits import EditResult, Usage
from regreen.model.suite import Counts, Failure
from regreen.wire import internal


class StopReason(StrEnum):
    """Why a fix run or a coding task ended; those below `completed` are of coding tasks only."""

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
    COMPLETED = "completed"  # the agent says it is done, and there are no tests to prove it
    MAX_TURNS = "max_turns"
    CONTEXT_OVERFLOW = "context_overflow"
    HOOK_STOPPED = "hook_stopped"
    NEEDS_USER = "needs_user"
    STUCK = "stuck"
    MODEL_ERROR = "model_error"


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
    failing_total: int = 0  # how many fail in all; `failing` is bounded
    advice: str = ""  # what to do otherwise than so far, where the last tries led nowhere


@dataclass(frozen=True, slots=True)
class Attempt:
    """One proposal and what came of it. `fixed`, `broken`, `still` are test ids against the baseline."""

    number: int
    state: AttemptState
    note: str = ""
    message: str = ""  # why it was refused, or the verdict in one line
    refusal: str = ""  # kind of the refusal: `path_protected`, `path_out_of_scope`, `no_match`, ...
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    still: tuple[str, ...] = ()
    edits: tuple[EditResult, ...] = ()
    diff: str = ""
    failures: tuple[Failure, ...] = ()
    duration_s: float = 0.0
    tree: str = internal(default="")  # normalised hash of the files this attempt would leave
    transaction: str = internal(default="")
    kept: bool = False  # the best so far; the next attempt starts from it
    further: tuple[str, ...] = ()  # goal tests that still fail, but later than in the best tree before
    cheats: tuple[str, ...] = ()  # names of what the tamper guard found in a refused change
    warnings: tuple[str, ...] = ()  # what to look at twice, such as expected values of tests written into the code
    gates: tuple[str, ...] = ()  # names of the gates that alone keep this from being a fix: its tests pass


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate besides the tests said. `ok` is only true of one that was run and objects to nothing; `message` says
    what came of it. `new` are findings that the baseline did not have. One that could not be run at the start is not
    `compared`: it neither vouches for a fix nor blocks it."""

    name: str
    ok: bool
    argv: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    message: str = ""
    compared: bool = True

    @property
    def blocks(self) -> bool:
        """Whether it speaks against the fix."""
        return self.compared and not self.ok


@dataclass(frozen=True, slots=True)
class Evidence:
    """What `fixed` (or any other end) rests on."""

    interpreter: str = ""
    argv: tuple[str, ...] = ()
    sandbox: str = ""
    counts: Counts = field(default_factory=Counts)
    goal_runs: str = ""  # "3/3": cold runs in which the goal tests passed
    duration_s: float = 0.0
    protected_files: int = 0  # test files whose bytes were checked against the baseline
    side_effects: tuple[str, ...] = ()  # files that the run's tests created or changed, put back
    uncovered: int = 0  # files too large to be put back, had the tests changed them
    flaky: tuple[str, ...] = ()
    pre_existing: tuple[str, ...] = ()
    tree: str = ""  # hash of what the run changed, as it was verified; equal hashes are equal changes
    tests_s: float = 0.0  # how long the run of the scope took that the verdict rests on
    test_runs: int = 0
    test_cpu_s: float = 0.0
    usage: Usage = field(default_factory=Usage)
    gates: tuple[GateResult, ...] = ()
    warnings: tuple[str, ...] = ()  # what to look at twice in the fix
    remarks: tuple[str, ...] = ()  # what is out of the ordinary about the repository


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
    merged: tuple[str, ...] = ()  # files that somebody changed too: the run's change was merged out of them
    put_back: str = ""  # transaction that put back what the tests had changed; restoring it gives their bytes again
    ignored: tuple[str, ...] = ()  # as in `RestoreReport`; not more than MAX_IGNORED
    old_bytes: str = ""  # transaction that holds the old bytes of what could not be put back
