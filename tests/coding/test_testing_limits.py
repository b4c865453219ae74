"""A limit that ended a run is named: in the verdict, and for the test that ran into it."""

import pytest

from regreen.model import SuiteStatus
from regreen.sandbox import Completed
from regreen.testing.channel import Record
from regreen.testing.pytest_process import Part, settled
from regreen.testing.tally import Tally
from regreen.testing.verdict import Facts, decide


def completed(**fields):
    plain = {"returncode": None, "signal": 9, "timed_out": False, "cancelled": False, "left_processes": False,
             "output_path": None, "output_bytes": 0, "output_cut": False, "duration_s": 1.0, "cpu_s": 1.0}  # fmt: skip
    return Completed(**{**plain, **fields})


def record(*tests, running=""):
    made = Record("nonce", lambda: 1.0)
    made.collected = (*tests, *([running] if running else []))
    made.outcomes.update(dict.fromkeys(tests, "passed"))
    if running:
        made.running[running] = 0.0
    return made


def verdict(part):
    tally = Tally()
    tally.add(part)
    tally.blame(part, "")
    facts = Facts(part.record, part.completed, tally.collected, tally.outcomes, tally.collection, tally.culprits, (),
                  (), "python", "")  # fmt: skip
    return decide(facts), tally


@pytest.mark.parametrize("limit,named", [
    ("memory", "memory limit"), ("processes", "processes limit"), ("cpu", "cpu limit"),
    ("file_size", "file size limit"),
])  # fmt: skip
def test_limit_is_named_with_the_test_that_ran(limit, named):
    part = Part(record("a.py::test_a", running="a.py::test_b"), completed(limit=limit), (), "")
    said, tally = verdict(part)
    assert said.status is SuiteStatus.CRASHED
    assert f"({'the ' + named}) in a.py::test_b" in said.message
    assert named in tally.failures["a.py::test_b"].message
    nowhere, _ = verdict(Part(record("a.py::test_a"), completed(limit=limit), (), ""))
    assert named in nowhere.message


def test_process_that_goes_on_when_all_is_told_counts_as_it_said():
    told = record("a.py::test_a")
    told.exit_code = 0
    part = settled(Part(told, completed(timed_out=True), ("a.py::test_a",), ""))
    assert verdict(part)[0].status is SuiteStatus.PASSED
    assert part.notes
    late = settled(Part(record("a.py::test_a"), completed(timed_out=True), (), ""))
    assert verdict(late)[0].status is SuiteStatus.TIMEOUT
