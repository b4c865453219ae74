"""Tests that pass and fail without a change: never fixed, never in the way of what can be fixed.

Which turn passes is written down in the test; the turns are counted in a folder outside of the repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.cases import sample, thorough
from support.engines import engine_on, replacement, run_script, script
from support.repos import BUG, CALC, CALC_TESTS, FIX, differences, fingerprint, make_repo

RIGHT = [replacement("calc.py", BUG, FIX)]
HARMLESS = [replacement("calc.py", "def mean(xs):", "SPARE = 1\n\n\ndef mean(xs):")]
FIXED_CALC = CALC.replace(BUG, FIX)
TURNS = """\
from pathlib import Path

FOLDER = Path({folder!r})


def passes(name, turns):
    path = FOLDER / name
    taken = path.read_text() if path.exists() else ""
    turn = turns[len(taken) % len(turns)]
    path.write_text(taken + turn)
    return turn == "P"
"""


def moody_repo(base: Path, calc: str, **turns: str) -> Path:
    """`calc.py` with its tests, and a test for each of `turns`: `P` and `F` say what it does at its first run, at its
    second, and so on from the start again."""
    (base / "turns").mkdir()
    body = "".join(f"\n\ndef test_{n}():\n    assert passes({n!r}, {t!r})\n" for n, t in turns.items())
    return make_repo(base / "r", {
        "calc.py": calc, "test_calc.py": CALC_TESTS, "test_moods.py": TURNS.format(folder=str(base / "turns")) + body,
    })  # fmt: skip


def taken(base: Path, name: str) -> str:
    """What the test did at each of its runs."""
    return (base / "turns" / name).read_text()


def run(base: Path, root: Path, *proposals: list[dict[str, str]], **options: Any) -> Mapping[str, Any]:
    with engine_on(root, writable=(base / "turns",)) as engine:
        return run_script(engine, script(base, proposals), **options)


def moods(*names: str) -> list[str]:
    return [f"test_moods.py::test_{name}" for name in sorted(names)]


def test_tests_that_fail_now_and_then_are_flaky_and_nothing_is_tried(tmp_path: Path) -> None:
    root = moody_repo(tmp_path, FIXED_CALC, second="FP", third="FFP", odd="FPFFP", last="FFFPPF")
    before = fingerprint(root)
    data = run(tmp_path, root, RIGHT, HARMLESS)
    assert data["outcome"]["reason"] == "flaky"
    assert data["outcome"]["fixed"] is False
    assert data["outcome"]["evidence"]["flaky"] == moods("second", "third", "odd", "last")
    assert data["attempts"] == []
    assert differences(before, fingerprint(root)) == []


def test_tests_that_happen_to_pass_at_first_leave_nothing_to_fix(tmp_path: Path) -> None:
    root = moody_repo(tmp_path, FIXED_CALC, second="PF", third="PPF")
    before = fingerprint(root)
    data = run(tmp_path, root, HARMLESS)
    assert data["outcome"]["reason"] in ("already_green", "flaky")
    assert data["outcome"]["fixed"] is False
    assert differences(before, fingerprint(root)) == []


def test_a_goal_that_passes_by_chance_once_and_then_twice_is_not_fixed(tmp_path: Path) -> None:
    root = moody_repo(tmp_path, FIXED_CALC, mood="FFFFF" + "PF" + "PPF" + "F" * 50)  # baseline, first, second attempt
    before = fingerprint(root)
    data = run(tmp_path, root, HARMLESS, [replacement("spare.py", "", "SPARE = 1\n")])
    assert data["outcome"]["fixed"] is False
    assert data["outcome"]["reason"] != "fixed"
    assert "passed once, but not again" in data["attempts"][0]["message"]
    assert "passed twice, but not each time after" in data["attempts"][1]["message"]
    assert differences(before, fingerprint(root)) == []


@pytest.mark.parametrize("turns", sample(["PPF", "PF", "PPPPF"], 3))
def test_a_flaky_guard_does_not_stand_in_the_way_of_a_fix_and_is_named(tmp_path: Path, turns: str) -> None:
    root = moody_repo(tmp_path, CALC, mood=turns)
    before = fingerprint(root)
    data = run(tmp_path, root, RIGHT)
    assert data["outcome"]["reason"] == "fixed", data["attempts"]
    assert data["outcome"]["fixed_tests"] == ["test_calc.py::test_total"]
    seen = moods("mood") if "F" in taken(tmp_path, "mood") else []
    assert data["outcome"]["evidence"]["flaky"] == seen
    assert differences(before, fingerprint(root)) == ["calc.py"]


def test_flaky_goals_beside_a_certain_one_are_named_and_the_certain_one_fixed(tmp_path: Path) -> None:
    root = moody_repo(tmp_path, CALC, second="FP", odd="FPFFP")
    before = fingerprint(root)
    data = run(tmp_path, root, HARMLESS, RIGHT)
    assert data["outcome"]["reason"] == "fixed", data["attempts"]
    assert data["outcome"]["fixed_tests"] == ["test_calc.py::test_total"]
    assert data["outcome"]["evidence"]["flaky"] == moods("second", "odd")
    assert [a["state"] for a in data["attempts"]] == ["same", "passed"]
    assert differences(before, fingerprint(root)) == ["calc.py"]


@thorough
def test_several_flaky_tests_of_both_kinds_beside_a_certain_bug(tmp_path: Path) -> None:
    root = moody_repo(tmp_path, CALC, early="FP", late="PPF", odd="PF")
    before = fingerprint(root)
    data = run(tmp_path, root, RIGHT)
    assert data["outcome"]["reason"] == "fixed", data["attempts"]
    assert "test_moods.py::test_early" in data["outcome"]["evidence"]["flaky"]
    assert set(data["outcome"]["evidence"]["flaky"]) <= set(moods("early", "late", "odd"))
    assert differences(before, fingerprint(root)) == ["calc.py"]


def test_a_fix_that_breaks_a_guard_for_certain_is_no_fix_however_moody_the_others_are(tmp_path: Path) -> None:
    root = moody_repo(tmp_path, CALC, mood="PF")
    before = fingerprint(root)
    breaking = [*RIGHT, replacement("calc.py", "    return sum(xs) / len(xs)", "    return sum(xs)")]
    data = run(tmp_path, root, breaking)
    assert data["outcome"]["fixed"] is False
    assert "test_calc.py::test_mean" in data["attempts"][0]["broken"]
    assert differences(before, fingerprint(root)) == []
