"""The test runs of one fix run: each starts from the same files, and what the tests change is noted and put back.

A run of tests is cold: no process that lived before takes part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from regreen.events import EventLog
from regreen.fix.bench import FixBench
from regreen.fix.clock import WorkClock
from regreen.fix.gates import Gate, GateReport
from regreen.fix.protected import makes_tests
from regreen.model import RestoreReport, Snapshot, SuiteReport
from regreen.snapshots import SideEffects

T = TypeVar("T")

_LEAST_TEST_S = 5.0  # no test is called hanging before this
_TEST_SLACK = 5.0  # nor before so many times what the slowest test took that ended by itself
_FIRST_TEST_SHARE = 1 / 6  # of the budget: the limit of one test as long as nothing is known of the others


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of tests: what it said, and which files the tests wrote meanwhile."""

    report: SuiteReport
    wrote: tuple[str, ...]


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
    def changed(self) -> frozenset[str]:
        """Every path that changed while tests ran, whoever did it."""
        return frozenset(self._written) | self._doubted

    def know(self, baseline: SuiteReport) -> None:
        """From now on, time limits are judged by what the tests took in this run."""
        self._baseline = baseline

    def run(self, selection: Sequence[str], *, thorough: bool = False) -> Ran:
        """Run tests. `thorough`: look at every file of the tree before and after, not only at what is heard of."""
        timeout_s, per_test_s = self._limits()
        self._log.emit("tests_started", selection=list(selection))
        self.count += 1

        def tests(heard: Callable[[Sequence[str]], None]) -> SuiteReport:
            return self._bench.run_tests(selection, timeout_s, per_test_s, heard)

        report, made = self._noting(tests, thorough)
        self.cpu_s += report.cpu_s
        if any(makes_tests(p) for p in made.unsure):  # by the code under test, or by a person: only the first recurs
            again, also = self._noting(tests, thorough=True)
            self.cpu_s += again.cpu_s
            wrote = tuple(dict.fromkeys((*made, *also)))
        else:
            wrote = tuple(made)
        self._log.emit("tests_finished", status=report.status, counts=report.counts, duration_s=report.duration_s)
        return Ran(report, wrote)

    def run_gate(self, gate: Gate) -> GateReport:
        """Run a check besides the tests; what it writes is put back as what tests write.

        Nothing is heard of what a gate writes, so it is run twice where something changed: what it writes recurs.
        """
        report, made = self._noting(lambda _: self._bench.run_gate(gate), thorough=True)
        self.cpu_s += report.cpu_s
        if made.unsure:
            report, _ = self._noting(lambda _: self._bench.run_gate(gate), thorough=True)
            self.cpu_s += report.cpu_s
        self._log.emit("gate_finished", name=gate.name, status=report.status, findings=len(report.findings))
        return report

    def put_back(self, *, final: bool) -> RestoreReport:
        """Undo what the tests changed; the run's own edits stay."""
        assert self._snapshot is not None
        keep = frozenset(self._bench.journal.touched(self._run_id))
        return self._bench.snapshots.restore_run(self._run_id, self._snapshot, keep=keep, final=final)

    def _noting(self, work: Callable[[Callable[[Sequence[str]], None]], T], thorough: bool) -> tuple[T, SideEffects]:
        snapshot, snapshots = self._snapshot, self._bench.snapshots
        assert snapshot is not None, "begin() comes first"
        if self._watched:
            self.put_back(final=False)
        self._watched += 1
        mark = snapshots.mark(snapshot, thorough=thorough)
        result = work(lambda paths: snapshots.note_written(snapshot, paths))
        made = snapshots.side_effects(snapshot, mark, thorough=thorough)
        self._written |= dict.fromkeys(made)
        self._doubted |= set(made.unsure)
        return result, made

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
