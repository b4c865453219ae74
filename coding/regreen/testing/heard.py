"""What a machine report says, whichever runner wrote it; what a runner is told; and the verdict over both. Values and
pure decisions only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regreen.model import CaseOutcome, SuiteStatus
from regreen.sandbox import Cancel, Completed
from regreen.testing.channel import RawFailure
from regreen.testing.looking import Look
from regreen.testing.request import SuiteRequest
from regreen.testing.verdict import Verdict, all_skipped, ending, names, tail


@dataclass(frozen=True, slots=True)
class Asked:
    """What a runner plans from. `folder` is the project's; `private` is an empty folder of this run, gone afterwards;
    `arguments` are the allowed words of a caller's command, behind those that name the program."""

    request: SuiteRequest
    folder: Path
    look: Look
    private: Path
    cancel: Cancel
    words: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Absent:
    """The tests cannot be run here: what is missing, and what to do. Status `environment`, or `no_tests` where it is
    the selection that names nothing."""

    message: str
    status: SuiteStatus = SuiteStatus.ENVIRONMENT


@dataclass(frozen=True, slots=True)
class Plan:
    """How to start the runner.

    `argv[0]` is absolute. `env` is added to the child's environment. `live`: a reporter of ours is loaded; the number
    of its end of the private channel replaces `{channel}` in the argv and in values of `env`. `writable` are folders
    outside of the project that the runner must write (its caches). `data` is the runner's own, for `read`.
    `shown` is the command as a person would type it, where `argv` is a driver of ours.
    """

    argv: tuple[str, ...]
    interpreter: str
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: Path | None = None
    live: bool = False
    writable: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    data: Any = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How the process ended. `messages` came over the private channel; `log` is the complete output's file. `lasted`:
    its runner had told that it was done, and it was ended because it went on."""

    completed: Completed
    log: Path
    messages: tuple[Mapping[str, Any], ...] = ()
    lasted: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One test that ran. `failure` where it did not pass; its frames may come without source lines."""

    id: str
    outcome: CaseOutcome
    duration_s: float = 0.0
    failure: RawFailure | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """A machine report, read. Ids are as the contract has them, files relative to the root.

    `errors` are what stands before any test: a file that cannot be loaded, a build that breaks (id: the file or
    package). `finished`: the report says that the run came to its end. `running` are tests that had started and not
    ended. `missing` is a diagnosis that makes the status `environment`. `unmatched` are entries of the selection that
    named no test. `refused` is what the runner said where it did not accept its arguments or settings. `crash` says
    how a process of the runner's ended without its results, where that is not the runner itself. `exit_may_lie`: the
    exit status also stands for tests that are not in this report. `nothing` says why an exit status of 0 is no sign
    that a test passed.
    """

    cases: tuple[Case, ...] = ()
    errors: tuple[RawFailure, ...] = ()
    finished: bool = True
    running: tuple[str, ...] = ()
    missing: str = ""
    refused: str = ""
    unmatched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    crash: str = ""
    exit_may_lie: bool = False
    nothing: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that a verdict rests on. `log` is the end of the output: it explains, and never decides."""

    runner: str
    heard: Heard
    completed: Completed
    selection: tuple[str, ...]
    log: str

    @property
    def failing(self) -> list[Case]:
        return [c for c in self.heard.cases if c.outcome in ("failed", "error")]


def decide(facts: Facts) -> Verdict:
    """The first rule that has something to say decides; `passed` is what is left."""
    for rule in _RULES:
        verdict = rule(facts)
        if verdict is not None:
            return verdict
    return Verdict(SuiteStatus.PASSED)


def _stopped(f: Facts) -> Verdict | None:
    if f.completed.cancelled:
        return Verdict(SuiteStatus.CANCELLED, "the run was cancelled")
    if not f.completed.timed_out:
        return None
    stood = f"while {names(f.heard.running)} ran" if f.heard.running else "before it had told all its results"
    return Verdict(SuiteStatus.TIMEOUT, f"the time limit of the run ended it {stood}")


def _environment(f: Facts) -> Verdict | None:
    return Verdict(SuiteStatus.ENVIRONMENT, f.heard.missing) if f.heard.missing else None


def _crashed(f: Facts) -> Verdict | None:
    how = ending(f.completed)
    limit = getattr(f.completed, "limit", "")
    if limit:
        return Verdict(SuiteStatus.CRASHED, f"{f.runner} was ended by the {limit} limit{_standing(f)}{tail(f.log)}")
    if f.completed.returncode is None:
        return Verdict(SuiteStatus.CRASHED, f"{f.runner} ended without its results ({how}){_standing(f)}{tail(f.log)}")
    if f.heard.crash:
        return Verdict(SuiteStatus.CRASHED, f"{f.heard.crash}{tail(f.log)}")
    if f.heard.refused:
        return Verdict(SuiteStatus.ENVIRONMENT, f"{f.runner} refuses its arguments or settings: {f.heard.refused}")
    if not f.heard.finished and not f.heard.errors:
        return Verdict(SuiteStatus.CRASHED, f"{f.runner} ended without its results ({how}){_standing(f)}{tail(f.log)}")
    return None


def _red(f: Facts) -> Verdict | None:
    if f.heard.errors:
        return Verdict(SuiteStatus.ERROR, f"cannot be built or loaded: {names([e.id for e in f.heard.errors])}")
    if any(c.outcome == "failed" for c in f.failing):
        return Verdict(SuiteStatus.FAILED)
    return Verdict(SuiteStatus.ERROR) if f.failing else None


def _nothing(f: Facts) -> Verdict | None:
    if f.heard.nothing and not f.completed.returncode:
        return Verdict(SuiteStatus.NO_TESTS, f.heard.nothing)
    if f.heard.unmatched:
        return Verdict(SuiteStatus.NO_TESTS, f"matches no test: {names(f.heard.unmatched)}")
    if f.heard.cases and any(c.outcome not in ("skipped",) for c in f.heard.cases):
        return None
    if f.completed.returncode and not f.heard.cases and f.log.strip():
        return Verdict(SuiteStatus.NO_TESTS, f"no test was run{_chosen(f)} ({ending(f.completed)}){tail(f.log)}")
    if f.heard.cases:
        return all_skipped([c.outcome for c in f.heard.cases])
    return Verdict(SuiteStatus.NO_TESTS, f"no test was found{_chosen(f)}")


def _untold(f: Facts) -> Verdict | None:
    if f.completed.returncode and not f.heard.exit_may_lie:
        return Verdict(SuiteStatus.FAILED, f"{f.runner} ended with exit status {f.completed.returncode} although no "
                                           f"test failed (a coverage threshold, for example){tail(f.log)}")  # fmt: skip
    return None


_RULES: tuple[Callable[[Facts], Verdict | None], ...] = (_stopped, _environment, _crashed, _red, _nothing, _untold)


def _chosen(f: Facts) -> str:
    return f" in {names(f.selection)}" if f.selection else ""


def _standing(f: Facts) -> str:
    return f" while {names(f.heard.running)} ran" if f.heard.running else ""
