"""Is a tree whose tests passed really fixed? Everything that could make it untrue is looked at; then it is.

Protected files as they were, the whole scope cold again, and once more on top of what that run left, if the baseline's
left nothing like it; every test of the baseline there, the goal tests a third time, the user's gates without a new
finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from regreen.fix.bench import FixBench, FixRequest
from regreen.fix.cold_runs import ColdRuns, Ran
from regreen.fix.flaky import without_flakes
from regreen.fix.gates import GateReport, compare
from regreen.fix.progress import Standing, Target, passes
from regreen.fix.protected import makes_tests
from regreen.fix.second_run import BeforeTheFix, SecondRuns
from regreen.fix.tamper import dropped_tests
from regreen.model import GateResult, SuiteReport
from regreen.wire import counted, names

GOAL_RUNS = 3
_MORE_RUNS = 2


@dataclass(frozen=True, slots=True)
class Base:
    """What stood before the first attempt: the tests' report, protected files by hash, what tests wrote, gates.

    `once`: goal tests that were seen failing in one run only; they are run more often before a fix is believed.
    `left` is what tests left, folders too.
    """

    report: SuiteReport
    protected: tuple[Mapping[str, str], ...]  # as they were found, and as the baseline's runs left them
    wrote: frozenset[str]
    once: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    gates: tuple[GateReport, ...] = ()
    left: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of it. `doubt` says what speaks against the fix ("" = nothing); `report` is what the verdict rests on.

    `tampered`: what decides a test run is not what it was.
    """

    report: SuiteReport
    target: Target
    doubt: str = ""
    tampered: bool = False
    gates: tuple[GateResult, ...] = ()


class Verification:
    """Verifies trees of one run against its baseline. `before_the_fix` does something in the tree without the fix."""

    def __init__(
        self, request: FixRequest, bench: FixBench, runs: ColdRuns, base: Base, before_the_fix: BeforeTheFix
    ) -> None:
        self._request = request
        self._bench = bench
        self._runs = runs
        self._base = base
        self._second = SecondRuns(runs, request.selection, base.left, before_the_fix)

    def verify(self, passed: Ran, target: Target, best: Standing, best_report: SuiteReport) -> Verdict:
        """Verify the tree on disk, in which the scope has just `passed`."""
        self._runs.put_back(final=False)
        if tampered := self.tampered(passed.wrote):
            return Verdict(passed.report, target, tampered, tampered=True)
        cold = self._runs.run(self._request.selection, thorough=True)
        target, now = without_flakes(target, best, best_report, cold.report, self._again)
        if not now.green:
            return Verdict(cold.report, target, f"passed once, but not again: {_reds(now)}")
        second = self._second.look(cold, target)
        self._runs.put_back(final=False)
        if tampered := self.tampered((*cold.wrote, *second.wrote)):
            return Verdict(cold.report, target, tampered, tampered=True)
        if second.doubt:
            return Verdict(second.report or cold.report, target, second.doubt)
        if dropped := dropped_tests(self._base.report, cold.report):
            return Verdict(cold.report, target, f"tests are gone that the baseline had: {names(dropped)}")
        goal = sorted(i for i in target.goal if i in cold.report.outcomes)
        for tests in (goal, *([self._base.once] * _MORE_RUNS if self._base.once else ())):
            last = self._runs.run(sorted(tests)).report
            if not all(passes(i, last, target) for i in tests if i in cold.report.outcomes):
                return Verdict(last, target, "the goal tests passed twice, but not each time after")
        gates = tuple(
            compare(before, self._runs.run_gate(gate))
            for gate, before in zip(self._bench.gates, self._base.gates, strict=True)
        )
        doubt = "; ".join(_gate_text(g) for g in gates if g.blocks) or self._changed_by_others()
        return Verdict(cold.report, target, doubt, gates=gates)

    def tampered(self, wrote: Iterable[str]) -> str:
        """What is wrong with the files that decide a test run; "" = nothing. `wrote`: what tests wrote just now."""
        written = sorted(p for p in wrote if p not in self._base.wrote and makes_tests(p))
        if written:
            return f"the code under test rewrites what decides a test run: {names(written)}"
        known = self._base.protected
        now = protected_hashes(self._bench, (p for hashes in known for p in hashes))
        changed = {p for p, sha in now.items() if all(sha != hashes.get(p, "") for hashes in known)}
        before = {p for hashes in known for p in hashes}
        changed = {p for p in changed if p in before or p in self._runs.changed}  # else git ignored it until now
        if self._request.scope.tests != "readonly":
            changed -= set(self._bench.journal.touched(self._request.run_id))
        return f"protected files changed during the run: {names(sorted(changed))}" if changed else ""

    def _changed_by_others(self) -> str:
        """What of the fix is not as it was written: no test has seen that. "" = nothing."""
        landed = self._bench.journal.touched(self._request.run_id)
        changed = [p for p, (_, after) in landed.items() if self._bench.workspace.image(p).sha256 != after]
        return f"somebody changed {names(sorted(changed))} while the fix was being verified" if changed else ""

    def _again(self) -> SuiteReport:
        return self._runs.run(self._request.selection).report


def protected_hashes(bench: FixBench, also: Iterable[str] = ()) -> dict[str, str]:
    """The protected files that are there, by path, with the hashes of their bytes; `also` names more to look at."""
    paths = dict.fromkeys((*bench.protected_files(), *also))
    return {p: bench.workspace.image(p).sha256 for p in paths}


def _reds(now: Standing) -> str:
    return names(sorted(now.still | now.broken | now.strangers)) or "the run did not end well"


def _gate_text(gate: GateResult) -> str:
    if not gate.new:
        return f"gate `{gate.name}`: {gate.message or 'fails now, and did not before'}"
    return f"gate `{gate.name}`: {counted(len(gate.new), 'new finding')}: {names(gate.new)}"
