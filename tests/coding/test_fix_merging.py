"""The user edits a file while a fix run works on it: the edit stays, whatever becomes of the run's own change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.engines import engine_on, ok, run_script, script
from support.fixing import RIGHT, WRONG
from support.repos import BUG, CALC, FIX, differences, fingerprint, red_repo

from regreen.session import Engine

pytestmark = pytest.mark.usefixtures("few_looks")

NOTE = "# the user's own line\n"


def user_edits_during_attempt(engine: Engine, root: Path, edit: Callable[[str], str]) -> None:
    """Once, when a test run of an attempt has ended, and before its verdict."""
    session = engine.session()
    run_suite, calc = session.run_suite, root / "calc.py"
    done: list[str] = []

    def run(*args: Any, **kwargs: Any) -> Any:
        report = run_suite(*args, **kwargs)
        if BUG not in calc.read_text() and not done:
            done.append("edited")
            calc.write_text(edit(calc.read_text()))
        return report

    session.run_suite = run  # pyright: ignore[reportAttributeAccessIssue]


def test_edit_made_during_a_rejected_attempt_is_all_that_is_left(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        user_edits_during_attempt(engine, root, lambda text: NOTE + text)
        data = run_script(engine, script(tmp_path, [WRONG]))
    assert (root / "calc.py").read_text() == NOTE + CALC
    assert (data["outcome"]["restored"], data["outcome"]["conflicts"]) == (True, [])


def test_edit_that_meets_a_rejected_attempt_is_left_and_told(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        user_edits_during_attempt(engine, root, lambda text: text.replace("s * rate", "s * rate  # mine"))
        data = run_script(engine, script(tmp_path, [WRONG]))
        assert (root / "calc.py").read_text() == CALC.replace(BUG, "    return s * rate  # mine")
        assert [c["path"] for c in data["outcome"]["conflicts"]] == ["calc.py"]
        diff = ok(engine, "show_changes", since=data["job_id"])["diff"]
    assert f"-{BUG}" in diff
    assert "+    return s * rate  # mine" in diff


def test_edit_made_while_the_right_fix_is_tested_stays_with_the_fix_and_without_it(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root) as engine:
        user_edits_during_attempt(engine, root, lambda text: NOTE + text)
        data = run_script(engine, script(tmp_path, [WRONG, RIGHT]))
        assert data["outcome"]["reason"] == "fixed"
        assert (root / "calc.py").read_text() == NOTE + CALC.replace(BUG, FIX)
        assert ok(engine, "restore", to=data["job_id"])["merged"] == ["calc.py"]
    assert (root / "calc.py").read_text() == NOTE + CALC
    assert differences(before, fingerprint(root)) == ["calc.py"]
