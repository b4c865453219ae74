"""Steps of a fix run: what gets further is kept for the time being, what is not needed is left out in the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import sample
from support.engines import engine_on, ok, replacement, run_script, script
from support.repos import BUG, FIX, differences, fingerprint, make_repo, red_repo

from regreen.fix.first_look import first_files, looks_no_better
from regreen.fix.progress import Target, standing
from regreen.model import CaseOutcome, Counts, SuiteReport, SuiteStatus

pytestmark = pytest.mark.usefixtures("few_looks")

RIGHT = [replacement("calc.py", BUG, FIX)]

LONG = {
    "shop.py": (
        "def spare(n):\n    return 1\n\n\ndef price(n):\n    return helper(n)\n\n\ndef helper(n):\n"
        "    raise KeyError(n)\n\n\ndef tax(n):\n    return n * 3\n"
    ),
    "test_shop.py": (
        "from shop import price, tax\n\n\ndef test_both():\n    assert price(1) == 3\n    assert tax(2) == 4\n\n\n"
        "def test_zero():\n    assert tax(0) == 0\n"
    ),
}
DETOUR = ("    raise KeyError(n)", "    return None")
PRICE = ("    return helper(n)", "    return n + 2")
TAX = ("    return n * 3", "    return n * 2")


def states(data: dict[str, Any]) -> list[str]:
    return [a["state"] for a in data["attempts"]]


def test_steps_that_get_a_test_further_are_kept_but_for_those_that_the_fix_does_not_need(tmp_path: Path) -> None:
    """The first is a detour by way of a function that nothing uses any more. The whole is one change to undo."""
    root = make_repo(tmp_path / "r", LONG)
    before = fingerprint(root)
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [[replacement("shop.py", *s)] for s in (DETOUR, PRICE, TAX)]))
        assert states(data) == ["improved", "improved", "passed"]
        assert [a["further"] for a in data["attempts"][:2]] == [["test_shop.py::test_both"]] * 2
        assert [a["fixed"] for a in data["attempts"][:2]] == [[], []]
        assert (root / "shop.py").read_text() == LONG["shop.py"].replace(*PRICE).replace(*TAX)
        assert engine.session().last_change() == data["job_id"]
        assert ok(engine, "restore", to=data["job_id"])["restored"] == ["shop.py"]
    assert differences(before, fingerprint(root)) == []


def test_tests_that_no_code_can_pass_are_an_honest_end(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    before = fingerprint(root)
    lines = tmp_path / "script.jsonl"
    lines.write_text(json.dumps({"needs_test_change": "test_total wants the rate twice"}) + "\n", "utf-8")
    with engine_on(root) as engine:
        end = run_script(engine, lines)["outcome"]
    assert end["reason"] == "needs_test_change"
    assert "test_total wants the rate twice" in end["hint"]
    assert end["restored"] is True
    assert differences(before, fingerprint(root)) == []


@pytest.mark.parametrize(
    ("budget", "usage"),
    sample(
        [({"budget_tokens": 100}, {"tokens": 150, "usd": 0.0}), ({"budget_usd": 0.5}, {"tokens": 1, "usd": 0.6})], 2
    ),
)
def test_what_proposals_cost_ends_the_run(tmp_path: Path, budget: dict[str, Any], usage: dict[str, Any]) -> None:
    root = red_repo(tmp_path / "r")
    line = {"replacements": [replacement("calc.py", BUG, "    return s * rate")], "usage": usage}
    lines = tmp_path / "script.jsonl"
    lines.write_text(json.dumps(line) + "\n" + json.dumps({"replacements": RIGHT}) + "\n", "utf-8")
    with engine_on(root) as engine:
        data = run_script(engine, lines, **budget)
    assert data["outcome"]["reason"] == "budget"
    assert data["outcome"]["evidence"]["usage"] == usage
    assert len(data["attempts"]) == 1


def test_what_the_tests_burn_ends_the_run(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [RIGHT]), budget_cpu_s=0.01)
    assert data["outcome"]["reason"] == "budget"
    assert data["attempts"] == []


# --- a first look ---------------------------------------------------------------------------------------

SLOW = {"test_a.py::test_x": "failed", "test_a.py::test_y": "passed", "test_b.py::test_z": "passed"}


def report(outcomes: dict[str, CaseOutcome], duration_s: float = 9.0) -> SuiteReport:
    times = {i: 8.0 if i.startswith("test_b") else 0.2 for i in outcomes}
    return SuiteReport(SuiteStatus.FAILED, "pytest", (), "", "", Counts(), (), (), duration_s,
                       outcomes=outcomes, durations_s=times)  # fmt: skip


TARGET = Target(frozenset({"test_a.py::test_x"}), frozenset({"test_a.py::test_y", "test_b.py::test_z"}))


def test_a_long_scope_is_first_looked_at_by_the_files_of_its_goal() -> None:
    assert first_files(TARGET, report(SLOW), ()) == ("test_a.py",)


def test_a_short_scope_is_run_at_once() -> None:
    assert first_files(TARGET, report(SLOW, 1.0), ()) == ()
    assert first_files(TARGET, report(SLOW), ("test_a.py::test_x",)) == ()


def test_ids_that_do_not_tell_their_file_are_run_at_once() -> None:
    target = Target(frozenset({"shop > price > adds"}), frozenset())
    assert first_files(target, report({"shop > price > adds": "failed"}), ()) == ()


@pytest.mark.parametrize(
    ("seen", "decided"),
    [
        ({"test_a.py::test_x": "failed", "test_a.py::test_y": "passed"}, True),
        ({"test_a.py::test_x": "failed", "test_a.py::test_y": "failed"}, True),
        ({"test_a.py::test_x": "passed", "test_a.py::test_y": "failed"}, True),
        ({"test_a.py::test_x": "passed", "test_a.py::test_y": "passed"}, False),
    ],
)
def test_only_what_looks_better_is_run_in_whole(seen: dict[str, CaseOutcome], *, decided: bool) -> None:
    now = looks_no_better(TARGET, ("test_a.py",), report(SLOW), report(seen))
    assert (now is not None) is decided
    if now is not None:
        assert not now.score > standing(TARGET, report(SLOW)).score
