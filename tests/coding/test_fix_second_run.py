"""A fix whose tests pass only once: what one run leaves makes the next one fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.engines import engine_on, replacement, run_script, script
from support.fixing import LOOKS
from support.repos import BUG, CALC, CALC_TESTS, FIX, differences, fingerprint, make_repo

from regreen.fix.verification import GOAL_RUNS

pytestmark = pytest.mark.usefixtures("few_looks")


def fix(*lines: str) -> list[dict[str, str]]:
    """The right fix, with lines of a function's body before it."""
    return [replacement("calc.py", BUG, "".join(f"    {line}\n" for line in lines) + FIX)]


FOLDER = fix("import os", "os.mkdir('cache')")
DATABASE = fix("import sqlite3", "db = sqlite3.connect('app.db')", "db.execute('create table t (x)')", "db.commit()")
CAREFUL = fix("import os", "os.makedirs('cache/new', exist_ok=True)")


def test_a_fix_that_works_only_once_is_no_fix_and_the_proposer_is_told_why(tmp_path: Path) -> None:
    once = CALC_TESTS.replace("def test_none", "def no_test_none")  # else `total` runs twice in each run
    root = make_repo(tmp_path / "r", {"calc.py": CALC, "test_calc.py": once})
    before = fingerprint(root)
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [FOLDER, DATABASE, CAREFUL]))
    assert [a["state"] for a in data["attempts"]] == ["same", "same", "passed"]
    told = [a["message"] for a in data["attempts"]]
    assert "only once: a second run, on what the first one left (cache/), fails: test_calc.py::test_total" in told[0]
    assert "FileExistsError" in told[0]
    assert "(app.db)" in told[1] and "table t already exists" in told[1]
    assert "exist_ok=True" in told[0] and "needs_test_change" in told[0]
    assert data["outcome"]["fixed"] is True
    assert data["outcome"]["conflicts"] == []
    assert differences(before, fingerprint(root)) == ["calc.py"]


def test_tests_that_never_passed_a_second_run_are_not_held_against_a_fix(tmp_path: Path) -> None:
    makes = "import os\n" + CALC_TESTS + "\n\ndef test_makes_a_folder():\n    os.mkdir('out')\n"
    root = make_repo(tmp_path / "r", {"calc.py": CALC, "test_calc.py": makes})
    before = fingerprint(root)
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [CAREFUL]))
    assert data["outcome"]["reason"] == "fixed", data["attempts"]
    on_top, both_again, before_the_fix = 1, 2, 2
    assert data["outcome"]["evidence"]["test_runs"] == LOOKS + GOAL_RUNS + on_top + both_again + before_the_fix
    assert (root / "calc.py").read_text() == CALC.replace(BUG, CAREFUL[0]["replace"])
    assert differences(before, fingerprint(root)) == ["calc.py"]
