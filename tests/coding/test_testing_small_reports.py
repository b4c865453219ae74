"""Reports stay small and say what was left out; two runs are compared by identity; runs are remembered."""

from dataclasses import replace

import pytest

from regreen.model import Comparison, Counts, Failure, SuiteReport, SuiteStatus
from regreen.session.remembered import MAX_RUNS, Question, TestMemory
from regreen.testing import compare
from regreen.testing.bounding import MAX_CHARS, MAX_FAILURES, MAX_IDS, bounded
from regreen.testing.condense import group
from regreen.wire import to_object


def report(outcomes, **more):
    blank = SuiteReport(SuiteStatus.FAILED, "pytest", (), "", "none", Counts(), (), (), 0.0)
    return replace(blank, outcomes=outcomes, **more)


def failures(count, causes=1, size=1000):
    return tuple(Failure(f"t{i}", "a.py", 1, "E", "m", "x" * size, f"cause {i % causes}") for i in range(count))


@pytest.mark.parametrize(("count", "causes"), [(5000, 1), (5000, 3), (5000, 5000), (1, 1), (0, 1)])
def test_a_report_stays_small_whatever_failed(count, causes):
    many = failures(count, causes)
    full = report({f.id: "failed" for f in many}, failures=many, groups=group(many), counts=Counts(failed=count))
    short = bounded(full)
    assert len(short.failures) <= MAX_FAILURES
    assert all(len(g.ids) <= MAX_IDS for g in short.groups)
    assert sum(len(f.excerpt) for f in short.failures) <= MAX_CHARS
    assert short.counts.failed == count
    assert len(short.failing) == count
    assert len(str(to_object(short))) < 250_000
    assert (count == len(short.failures)) == (not any("are counted" in n for n in short.notes))


def test_every_shown_group_has_its_first_failure_shown():
    many = failures(400, 40, size=100)
    short = bounded(report({}, failures=many, groups=group(many)))
    shown = {f.id for f in short.failures}
    assert all(g.ids[0] in shown for g in short.groups)
    assert short.groups[0].more == 0


def test_the_slowest_tests_are_named():
    slow = bounded(report({}, durations_s={"a": 2.0, "b": 0.001, "c": 3.0}))
    assert [s.id for s in slow.slowest] == ["c", "a"]


def test_runs_are_compared_by_identity():
    before = {"a": "passed", "b": "failed", "c": "failed", "d": "passed", "e": "failed"}
    after = {"a": "failed", "b": "passed", "c": "error", "e": "skipped", "f": "failed"}
    assert compare(before, report(after)) == Comparison(new=("a", "f"), fixed=("b",), still=("c",), vanished=("d",))


@pytest.mark.parametrize("status", ["error", "crashed", "timeout", "no_tests", "environment", "cancelled"])
def test_what_a_broken_run_did_not_reach_has_not_vanished(status):
    before = {"a": "passed", "b.py": "error"}
    assert compare(before, report({}, status=SuiteStatus(status))).vanished == ()
    assert compare(before, report({"c": "passed"}, status=SuiteStatus.PASSED)).vanished == ("a",)


def test_last_failures_are_those_of_all_runs_that_were_not_run_again(tmp_path):
    memory = TestMemory(tmp_path)
    assert memory.last_failed() == ()
    memory.remember(Question(), report({"a": "failed", "b": "failed", "c": "passed"}))
    memory.remember(Question(("a",)), report({"a": "passed"}))
    assert memory.last_failed() == ("b",)
    memory.remember(Question(), report({"c": "passed"}))
    assert memory.last_failed() == ()


def test_only_runs_of_the_same_question_are_a_baseline(tmp_path):
    memory = TestMemory(tmp_path)
    memory.remember(Question(("x", "y")), report({"a": "failed"}))
    assert memory.baseline(Question(("y", "x"))) == {"a": "failed"}
    assert memory.baseline(Question(("x",))) is None
    memory.remember(Question(("x", "y")), report({}, status=SuiteStatus.CRASHED))
    assert memory.baseline(Question(("x", "y"))) == {"a": "failed"}
    for number in range(MAX_RUNS):
        memory.remember(Question((str(number),)), report({"a": "passed"}))
    assert memory.baseline(Question(("x", "y"))) is None


@pytest.mark.parametrize("text", ["", "[]", "{", '{"failed": 3}', '{"runs": []}'])
def test_a_damaged_memory_is_no_memory(tmp_path, text):
    (tmp_path / "remembered.json").write_text(text)
    memory = TestMemory(tmp_path)
    assert memory.last_failed() == ()
    assert memory.baseline(Question()) is None
    memory.remember(Question(), report({"a": "failed"}))
    assert memory.last_failed() == ("a",)
