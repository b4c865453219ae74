"""The test runs of one fix run: each starts from the same files, and what the tests change is noted and put back.

A run of tests is cold: no process that lived before takes part in it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from regreen.errors import RegreenError
from regreen.events import EventLog
from regreen.fix.bench import FixBench
from regreen.fix.clock import WorkClock
from regreen.fix.gates import Gate, GateReport
from regreen.fix.protected import makes_tests
from regreen.model import RestoreReport, Snapshot, SuiteReport
from regreen.snapshots import Mark, SideEffects
from regreen.snapshots.manifest import is_derived

T = TypeVar("T")

_LEAST_TEST_S = 5.0  # no test is called hanging before this
_TEST_SLACK = 5.0  # nor before so many times what the slowest test took that ended by itself
_AGAIN = 2  # runs that show whether what changed in one recurs
_FIRST_TEST_SHARE = 1 / 6  # of the budget: the limit of one test as long as nothing is known of the others


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of tests: what it said, and which files the tests wrote meanwhile.

    `left` are the files and folders (`cache/`), empty ones too, that were otherwise when it ended than when it began,
    as far as the tests did it and it will therefore be put back.
    """

    report: SuiteReport
    wrote: tuple[str, ...]
    left: frozenset[str] = frozenset()


class ColdRuns:
    """Runs tests, and gates, for a fix run. Counts what they take: `count` runs, `cpu_s` seconds of processor time."""

    def __init__(self, run_id: str, budget_s: float, bench: FixBench, log: EventLog, clock: WorkClock) -> None:
        self._run_id = run_id
        self._budget_s = budget_s
        self._bench = bench
        self._log = log
        self._clock = clock
        self._snapshot: Snapshot | None = None
        self._baseline: SuiteReport | None = None
        self._written: dict[str, None] = {}
        self._doubted: set[str] = set()
        self._left: set[str] = set()
        self._inferred: dict[str, str] = {}
        self._watched = 0
        self.count = 0
        self.cpu_s = 0.0

    def begin(self) -> Snapshot:
        """Record the tree; before the first run."""
        self._snapshot = self._bench.snapshots.take(self._run_id)
        return self._snapshot

    @property
    def snapshot(self) -> Snapshot | None:
        """The tree as it was found; None before `begin`."""
        return self._snapshot

    @property
    def written(self) -> tuple[str, ...]:
        """Every path that the tests of any run wrote so far."""
        return tuple(self._written)

    @property
    def left(self) -> frozenset[str]:
        """Every file and folder that the tests of any run left, or took away, so far."""
        return frozenset(self._left)

    @property
    def changed(self) -> frozenset[str]:
        """Every path that changed while tests ran, whoever did it."""
        return frozenset(self._written) | self._doubted

    @property
    def inferred(self) -> Mapping[str, str]:
        """Paths that were put back as the tests' doing, though no test was seen writing them; with the transaction that
        brings back what stood there."""
        return self._inferred

    def know(self, baseline: SuiteReport) -> None:
        """From now on, time limits are judged by what the tests took in this run."""
        self._baseline = baseline

    def run(self, selection: Sequence[str], *, thorough: bool = False, on_top: bool = False) -> Ran:
        """Run tests. `thorough`: look at every file of the tree before and after, not only at what is heard of.

        `on_top`: what the last run left stays where it is, and is put back later.
        """
        timeout_s, per_test_s = self._limits()
        self._log.emit("tests_started", selection=list(selection))
        self.count += 1

        def tests(heard: Callable[[Sequence[str]], None]) -> SuiteReport:
            return self._bench.run_tests(selection, timeout_s, per_test_s, heard)

        report, made, left = self._noting(tests, thorough, on_top)
        self.cpu_s += report.cpu_s
        wrote = dict.fromkeys(made)
        for _ in range(_AGAIN):  # by the code under test, or by a person: only the first recurs
            if not any(makes_tests(p) for p in made.unsure):
                break
            again, made, _ = self._noting(tests, thorough=True)
            self.cpu_s += again.cpu_s
            wrote |= dict.fromkeys(made)
        self._log.emit("tests_finished", status=report.status, counts=report.counts, duration_s=report.duration_s)
        return Ran(report, tuple(wrote), left)

    def note(self, tests: Callable[[Callable[[Sequence[str]], None]], T]) -> T:
        """Let tests run in another way. `tests` is given what hears, while they run, the paths that they write; what
        they change is noted, and put back as ever."""
        self.count += 1
        return self._noting(tests, thorough=False)[0]

    def run_gate(self, gate: Gate) -> GateReport:
        """Run a check besides the tests; what it writes is put back as what tests write.

        Nothing is heard of what a gate writes, so it is run again where something changed: what it writes recurs.
        """
        report, made, _ = self._noting(lambda _: self._bench.run_gate(gate), thorough=True)
        self.cpu_s += report.cpu_s
        for _ in range(_AGAIN):
            if not made.unsure:
                break
            report, made, _ = self._noting(lambda _: self._bench.run_gate(gate), thorough=True)
            self.cpu_s += report.cpu_s
        self._log.emit("gate_finished", name=gate.name, status=report.status, findings=len(report.findings))
        return report

    def put_back(self, *, final: bool, edits: bool = False) -> RestoreReport:
        """Undo what the tests changed; the run's own edits stay, unless `edits` are to go too."""
        assert self._snapshot is not None
        keep = frozenset[str]() if edits else frozenset(self._bench.journal.touched(self._run_id))
        report = self._bench.snapshots.restore_run(self._run_id, self._snapshot, keep=keep, final=final)
        inferred = self._bench.snapshots.inferred(self._snapshot, (*report.restored, *report.deleted))
        self._inferred |= dict.fromkeys(inferred, report.transaction)
        return report

    def _noting(
        self, work: Callable[[Callable[[Sequence[str]], None]], T], thorough: bool, on_top: bool = False
    ) -> tuple[T, SideEffects, frozenset[str]]:
        snapshot, snapshots = self._snapshot, self._bench.snapshots
        assert snapshot is not None, "begin() comes first"
        if self._watched and not on_top:
            self.put_back(final=False)
        self._watched += 1
        heard: set[str] = set()

        def hear(paths: Sequence[str]) -> None:
            heard.update(paths)
            snapshots.note_written(snapshot, paths)

        mark = snapshots.mark(snapshot, thorough=thorough)
        result = work(hear)
        made = snapshots.side_effects(snapshot, mark, thorough=thorough)
        self._written |= dict.fromkeys(made)
        self._doubted |= set(made.unsure)
        left = frozenset((*made, *self._folders(heard, mark)))
        self._left |= left
        return result, made, left

    def _folders(self, heard: Collection[str], mark: Mark) -> list[str]:
        """Of the paths that tests were seen making or removing, the folders that came or went: `made` has no folders.

        A folder of which nothing was heard is put back only if it came in several runs: then it is no news.
        """
        found: list[str] = []
        for path in {posixpath.normpath(p) for p in heard if p}:
            before = mark.tree.entries.get(path)
            was = before is not None and before.kind == "directory"
            if path == "." or any(is_derived(part) for part in path.split("/")):
                continue
            try:
                now = self._bench.workspace.image_kind(path) == "directory"
            except (OSError, RegreenError):  # outside, or not to be looked at
                continue
            if was != now:
                found.append(f"{path}/")
        return found

    def _limits(self) -> tuple[float, float]:
        """Seconds for a whole run and for one test of it, from the budget and from what the baseline took.

        A run may outlast the budget by its own usual length: what is nearly verified is not thrown away.
        """
        left_s = self._budget_s - self._clock.spent_s
        report = self._baseline
        if report is None:
            return max(1.0, left_s), max(_LEAST_TEST_S, self._budget_s * _FIRST_TEST_SHARE)
        hung = {f.id for f in report.failures if f.kind == "timeout"}
        slowest_s = max((s for i, s in report.durations_s.items() if i not in hung), default=0.0)
        per_test_s = max(_LEAST_TEST_S, _TEST_SLACK * slowest_s)
        return max(left_s, 2 * report.duration_s + _LEAST_TEST_S), per_test_s
