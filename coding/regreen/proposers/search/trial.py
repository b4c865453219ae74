"""Trying candidates in a worker: which tests, in which order, with which limits, and what the answer means."""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from regreen.proposers.search.candidates import Candidate
from regreen.proposers.search.facts import Facts, Json
from regreen.proposers.search.link import MEMORY_BYTES, Link, Message, WorkerGone
from regreen.proposers.search.localise import Ran
from regreen.proposers.search.observed import Observed
from regreen.proposers.search.source import Source

_FILTER = 4  # goal tests that every candidate runs: one per kind of failure, and more where that costs little
_MORE_S = 0.05  # what those more may take together
_QUICK_S = 0.1  # tests below it are equally quick
_FIRST_S = (0.15, 2.0)  # CPU limits of a test in the first and in the second tier: at least, at most
_MANY_TESTS = 300  # above it, several tests share a child in the baseline
_MANY_FAILING = 50  # a brief names no more: then all that fail are goals
_LOOKS = 5  # runs of a test without a change, when a candidate that repairs something breaks it
_MAX_LOOKS = 15  # of one test
_LOOKS_WALL_S = 5.0
_LOOKS_S = (0.5, 0.1)  # CPU time for them: so much, and this share of what the search has used
_OTHERS_S = 1.0  # tests that do not run the changed line are left out when they take longer than this together


@dataclass(frozen=True, slots=True)
class Test:
    """What the baseline said of one test."""

    id: str
    outcome: str
    lines: Mapping[str, Sequence[int]]
    used_s: float
    took_s: float
    facts: Json

    @property
    def kind(self) -> tuple[object, ...]:
        """Equal for failures that look alike."""
        failure: Json = self.facts.get("failure") or {"type": "", "frames": []}
        innermost: Sequence[object] = (failure["frames"] or [()])[-1]
        return (failure["type"], *innermost[:2])


@dataclass(frozen=True, slots=True)
class Baseline:
    """The tests of the selection in the private copy. `goals` are the ids to be repaired, collection errors too.

    `flaky` tests were known to pass and fail without a change: they are not among the tests.
    """

    tests: tuple[Test, ...]
    goals: frozenset[str]
    errors: tuple[Json, ...]
    flaky: frozenset[str] = frozenset()

    @property
    def facts(self) -> Facts:
        return Facts.of([*self.errors, *(t.facts for t in self.tests if t.id in self.goals)])

    @property
    def seen(self) -> Observed:
        return Observed.of(t.facts for t in self.tests if t.id in self.goals)

    @property
    def touched(self) -> frozenset[str]:
        """Files that the goal tests run or whose lines their exceptions passed."""
        ran = {path for t in self.tests if t.id in self.goals for path in t.lines}
        return frozenset(ran | {path for r in self.facts.raised for path, _, _ in r.frames})

    @property
    def ran(self) -> list[Ran]:
        return [Ran(t.id in self.goals, t.lines) for t in self.tests if t.id in self.goals or t.outcome == "ok"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a candidate. `fixed` are goals that pass now; a patch is plausible when that is all of them.

    `broken`: tests that kept it from being a patch although it repairs something.
    """

    state: Literal["plausible", "partial", "no", "timeout", "skipped"]
    fixed: frozenset[str] = frozenset()
    pinned: int = 0  # tests that ran and passed
    cpu_s: float = 0.0
    broken: tuple[str, ...] = ()


def run_baseline(
    link: Link, files: Sequence[str], failing: Sequence[str], *, flaky: Collection[str] = (), stop_s: float
) -> Baseline:
    """Collect and run every test once, traced. A test that hangs is stopped after some seconds."""
    hello = link.answer(60.0)
    link.cpu_s += float(hello["cpu_s"])
    wanted = frozenset(failing)
    place = {i: n for n, i in enumerate(hello["ids"])}
    ids = sorted((i for i in place if i not in flaky), key=lambda i: (i not in wanted, place[i]))
    message = {
        "do": "baseline", "ids": ids, "files": list(files), "chunk": max(1, math.ceil(len(ids) / _MANY_TESTS)),
        "goals": list(failing), "cpu_s": 1.5, "wall_s": 5.0, "memory_bytes": MEMORY_BYTES, "stop_s": stop_s,
    }  # fmt: skip
    answer = link.ask(message, stop_s + 60.0)
    tests = tuple(
        Test(r["id"], r["outcome"], r["lines"], r.get("used_s", 1.5), r.get("took_s", 1.5), r)
        for r in answer["results"]
    )
    bad: set[str] = {t.id for t in tests if t.outcome == "bad"} | {e["id"] for e in hello["errors"]}
    named = bad & wanted if len(wanted) < _MANY_FAILING else bad
    goals = frozenset(named or bad)
    return Baseline(tests, goals, tuple(hello["errors"]), frozenset(flaky))


@dataclass
class Trial:
    """Runs candidates against a baseline."""

    link: Link
    baseline: Baseline
    sources: Mapping[str, Source]
    _rest: dict[tuple[str, int], list[str]] = field(default_factory=dict[tuple[str, int], list[str]])

    def __post_init__(self) -> None:
        tests = self.baseline.tests
        self._wanted = {t.id: t.outcome for t in tests}
        self._wanted.update(dict.fromkeys(self.baseline.flaky, "bad"))
        self._looked: dict[str, int] = {}
        self._looks_s = 0.0
        self._first = self._filter()
        ok = [t for t in tests if t.outcome == "ok"]
        self._slowest_s = max((t.used_s for t in ok), default=0.0)
        self._wall_s = max(3.0, 5 * max((t.took_s for t in ok), default=0.0))
        self._future = {path: _future(source.tree) for path, source in self.sources.items()}

    def _filter(self) -> list[str]:
        """The goal tests that a candidate must pass one of to be looked at further; files whose collection fails.

        One of each kind of failure, and more of the same kind where they are quick: no single change passes a test
        that fails for two reasons, and alone it would hide every step. What runs few lines depends on few faults.
        """
        goals = sorted((t for t in self.baseline.tests if t.id in self.baseline.goals), key=_simplest)
        kinds = {t.kind: t for t in reversed(goals)}
        chosen = sorted(kinds.values(), key=_simplest)[:_FILTER]
        more_s = 0.0
        for test in goals:
            if test not in chosen and len(chosen) < _FILTER and more_s + test.used_s <= _MORE_S:
                more_s += test.used_s
                chosen.append(test)
        return [t.id for t in chosen] + sorted(e["id"] for e in self.baseline.errors)[:_FILTER]

    def run(self, candidate: Candidate, *, patient: bool = False) -> Verdict:
        """Try one candidate. Raises WorkerGone. `patient` gives each test ten times the time.

        One that repairs something and breaks a test gets another chance where that test is not to be relied on.
        """
        verdict = self._once(candidate, patient=patient)
        while verdict.broken and self._unsteady(verdict.broken):
            verdict = self._once(candidate, patient=patient, again=True, cpu_s=verdict.cpu_s)
        if verdict.broken and self._has_time:  # the same change once more
            verdict = self._once(candidate, patient=patient, again=True, cpu_s=verdict.cpu_s)
        return verdict

    @property
    def _has_time(self) -> bool:
        least_s, share = _LOOKS_S
        return self._looks_s <= least_s + share * self.link.cpu_s

    def _unsteady(self, broken: Sequence[str]) -> bool:
        """Does one of these tests fail without a change, too? Such tests are left out from now on."""
        known = [i for i in broken if self._wanted.get(i) == "ok" and self._looked.get(i, 0) < _MAX_LOOKS]
        if not known or not self._has_time:
            return False
        message = {
            "do": "baseline", "ids": known * _LOOKS, "files": (), "chunk": 1, "goals": (), "cpu_s": 1.5,
            "wall_s": self._wall_s, "memory_bytes": MEMORY_BYTES, "stop_s": _LOOKS_WALL_S,
        }  # fmt: skip
        answer = self.link.ask(message, _LOOKS_WALL_S + 60.0)
        self._looks_s += float(answer["cpu_s"])
        self._looked |= {i: self._looked.get(i, 0) + _LOOKS for i in known}
        flaky = {str(r["id"]) for r in answer["results"] if r["outcome"] == "bad"}
        self._wanted.update(dict.fromkeys(flaky, "bad"))
        self._rest.clear()
        return bool(flaky)

    def _once(self, candidate: Candidate, *, patient: bool = False, again: bool = False, cpu_s: float = 0.0) -> Verdict:
        """`again`: although the same code has been tried; `cpu_s` is what that has used."""
        verdict = self._ask(candidate, patient=patient, again=again)
        if again:
            self._looks_s += verdict.cpu_s
        return replace(verdict, cpu_s=verdict.cpu_s + cpu_s)

    def _ask(self, candidate: Candidate, *, patient: bool, again: bool) -> Verdict:
        limit = min(max(8 * self._slowest_s, _FIRST_S[0]), _FIRST_S[1]) * (10 if patient else 1)
        message = {
            "path": candidate.path, "source": candidate.source, "first": self._first, "wanted": self._wanted,
            "cpu_s": min(limit, 5.0), "wall_s": self._wall_s, "memory_bytes": MEMORY_BYTES,
        }  # fmt: skip
        if candidate.unit.mode == "fresh" or self.baseline.errors:
            return self._judge(self._fresh(message))
        rest = self._others(candidate)
        message |= {
            "do": "try", "mode": candidate.unit.mode, "unit": candidate.unit.text, "base": candidate.base.text,
            "future": self._future[candidate.path], "rest": rest, "again": again,
        }  # fmt: skip
        return self._judge(self.link.ask(message, 60.0 + self._wall_s * (len(rest) + _FILTER)))

    def _fresh(self, message: Message) -> Message:
        quick = sorted({i.partition("::")[0] for i in self._first})
        count = len(self.baseline.tests) + _FILTER
        return self.link.ask({**message, "do": "fresh", "quick": quick}, 60.0 + self._wall_s * count)

    def _others(self, candidate: Candidate) -> list[str]:
        """The other tests: goals first, then those that run the changed line, then the rest if they are quick."""
        spot = (candidate.path, candidate.line)
        known = self._rest.get(spot)
        if known is None:
            tests = [t for t in self.baseline.tests if t.id not in self._first and t.outcome != "skipped"]
            goals = [t for t in tests if t.outcome == "bad" and t.id in self.baseline.goals]
            passing = [t for t in tests if self._wanted[t.id] == "ok"]
            near = [t for t in passing if candidate.line in t.lines.get(candidate.path, ())]
            far = [t for t in passing if t not in near]
            if sum(t.used_s for t in far) > _OTHERS_S:
                far = [t for t in far if candidate.path in t.lines]
            known = [t.id for group in (goals, near, far) for t in sorted(group, key=lambda t: (t.used_s, t.id))]
            self._rest[spot] = known
        return known

    def _judge(self, answer: Message) -> Verdict:
        status, cpu_s = answer["status"], float(answer["cpu_s"])
        if status in ("invalid", "seen"):
            return Verdict("skipped", cpu_s=cpu_s)
        ok, bad = frozenset(answer["ok"]), frozenset(answer["bad"])
        files = {i.partition("::")[0] for i in ok}
        fixed = frozenset(g for g in self.baseline.goals if g in ok or ("::" not in g and g in files and g not in bad))
        broken = [
            i for i in bad if i not in self.baseline.goals and self._wanted.get(i, "ok" if fixed else "bad") != "bad"
        ]
        if status != "end":
            return Verdict("timeout" if status == "timeout" and not broken else "no", cpu_s=cpu_s)
        if broken or not fixed:
            return Verdict("no", cpu_s=cpu_s, broken=tuple(broken) if fixed else ())
        return Verdict("plausible" if fixed == self.baseline.goals else "partial", fixed, len(ok), cpu_s)


def _simplest(test: Test) -> tuple[float, int, str]:
    """Sort key: quick tests first, then what runs few lines."""
    return (test.used_s if test.used_s > _QUICK_S else 0.0, sum(len(n) for n in test.lines.values()), test.id)


def _future(tree: ast.Module) -> list[str]:
    found = [s for s in tree.body if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
    return sorted({a.name for s in found for a in s.names})


__all__ = ["Baseline", "Test", "Trial", "Verdict", "WorkerGone", "run_baseline"]
