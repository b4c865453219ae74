"""Do the tests pass only once? A run on top of what the one before left, for changes that leave something new.

All other runs start from files that were put back. So code that makes a folder, and fails where it is there already,
passes each of them, and fails when the user runs the tests a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from regreen.fix.cold_runs import ColdRuns, Ran
from regreen.fix.progress import Target, passes, standing
from regreen.model import SuiteReport
from regreen.wire import names

BeforeTheFix: TypeAlias = Callable[[Callable[[], None]], bool]
"""Calls something in the tree without the run's changes. False: they do not fit any more afterwards."""
_MAX_SAID_CHARS = 200
_ADVICE = (
    "Let the code take what is there already (`exist_ok=True`, `create table if not exists`; not by asking first "
    "whether it is there), or leave nothing behind; if only the tests could do that, say needs_test_change"
)


@dataclass(frozen=True, slots=True)
class Second:
    """What a second run showed. `doubt` says what speaks against the fix ("" = nothing), `report` shows it."""

    wrote: tuple[str, ...] = ()
    doubt: str = ""
    report: SuiteReport | None = None


class SecondRuns:
    """Runs the scope of one fix run on top of what it left. `known` is what the tests of the baseline left."""

    def __init__(
        self, runs: ColdRuns, selection: Sequence[str], known: frozenset[str], before_the_fix: BeforeTheFix
    ) -> None:
        self._runs = runs
        self._selection = selection
        self._known = known
        self._before_the_fix = before_the_fix

    def look(self, first: Ran, target: Target) -> Second:
        """Run the tests once more, if the `first` run, which was the last, left what those of the baseline did not.

        What fails must fail in a second try of both runs too: not by chance, that is.
        """
        new = sorted(first.left - self._known)
        if not new:
            return Second()
        second = self._runs.run(self._selection, on_top=True)
        red = _red(target, second.report)
        if not red:
            return Second(second.wrote)
        third, fourth = self._both()
        wrote = (*second.wrote, *third.wrote, *fourth.wrote)
        red = _common(red, _red(target, fourth.report))
        if red and self._known:
            earlier = self._fails_before_the_fix(fourth.report)
            if earlier is None:
                return Second(wrote, "the files changed while the fix was being verified", fourth.report)
            red -= earlier
        return Second(wrote, _doubt(new, red, fourth.report), fourth.report) if red else Second(wrote)

    def _both(self) -> tuple[Ran, Ran]:
        return self._runs.run(self._selection), self._runs.run(self._selection, on_top=True)

    def _fails_before_the_fix(self, now: SuiteReport) -> frozenset[str] | None:
        """The tests that fail in a second run without the change too, as they do `now`: it is the tests' own doing."""
        found: set[str] = set()

        def look() -> None:
            first, second = (ran.report for ran in self._both())
            for test in now.outcomes:
                same = _said(test, second) == _said(test, now) != _said(test, first)
                if not passes(test, second) and (passes(test, first) or same):
                    found.add(test)

        return frozenset(found) if self._before_the_fix(look) else None


def _red(target: Target, report: SuiteReport) -> frozenset[str]:
    """What is not as it must be: tests, or "" for a run that did not end well."""
    now = standing(target, report)
    if now.green:
        return frozenset()
    return (now.still | now.broken | now.strangers) or frozenset({""})


def _common(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    return one if "" in other else other if "" in one else one & other


def _said(test: str, report: SuiteReport) -> str:
    return next((f"{f.kind}: {f.message}" for f in report.failures if f.id == test), "")


def _doubt(new: Sequence[str], red: frozenset[str], report: SuiteReport) -> str:
    tests = sorted(red - {""}, key=lambda t: (not _said(t, report), t))
    said = " ".join(_said(tests[0], report).split())[:_MAX_SAID_CHARS] if tests else ""
    failing = names(tests) or report.message or "the run does not end well"
    return (
        f"the tests pass only once: a second run, on what the first one left ({names(_topmost(new))}), fails: {failing}"
        f"{': ' + said if said else ''}. {_ADVICE}"
    )


def _topmost(paths: Iterable[str]) -> list[str]:
    """The paths that lie in no other of them; folders end in a slash."""
    found: list[str] = []
    for path in sorted(paths):
        if not (found and found[-1].endswith("/") and path.startswith(found[-1])):
            found.append(path)
    return found
