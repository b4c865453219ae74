"""What a test run says. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from regreen.wire import internal


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
    note: str = ""  # what else explains it: the sandbox, perhaps


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Failures that share a signature: one exemplar is shown in full, the others by id. `more`: ids left out."""

    signature: str
    message: str
    ids: tuple[str, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed since an earlier run of the same tests: ids. `vanished` are tests that are not there any more."""

    new: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    still: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlowTest:
    """How long a test took, in seconds."""

    id: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """What one test run said. `outcomes` holds every test that ran, by id, in running order; `failures` and `groups`
    are bounded: what is left out is said in the notes, and the counts are of all."""

    status: SuiteStatus
    runner: str
    argv: tuple[str, ...]
    interpreter: str
    sandbox: str  # the level; empty where nothing was run (so is `network`)
    counts: Counts
    failures: tuple[Failure, ...]
    groups: tuple[FailureGroup, ...]
    duration_s: float
    network: str = ""  # what the tests could reach: isolated, tcp-blocked or open
    cpu_s: float = 0.0  # of all processes of the run (at the level `container`, of its client only)
    message: str = ""  # the diagnosis, where the status needs one (environment, crashed, no_tests, timeout)
    log: str = ""  # path of the complete output, in the state folder
    notes: tuple[str, ...] = ()  # "left processes", "output cut", ...
    project: str = ""  # the folder of the project that was run, relative to the root; empty is the root
    since_last: Comparison | None = None  # against the last run of the same tests, where there was one
    slowest: tuple[SlowTest, ...] = ()
    outcomes: Mapping[str, CaseOutcome] = internal(default_factory=dict[str, "CaseOutcome"])
    durations_s: Mapping[str, float] = internal(default_factory=dict[str, float])
    borrowed: bool = internal(default=False)  # run in regreen's own environment, since the project has none

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
