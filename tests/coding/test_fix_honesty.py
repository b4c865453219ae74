"""What must never be called fixed, and what a run must never touch."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.engines import engine_on, ok, refused, replacement, run_script, script
from support.repos import BUG, CALC, CALC_TESTS, FIX, git, make_repo, red_repo

from regreen.fix.scope import Scope
from regreen.workspace import Change

pytestmark = pytest.mark.usefixtures("few_looks")

RIGHT = [replacement("calc.py", BUG, FIX)]


@pytest.mark.parametrize("folder", ["evil-1.0.dist-info", "evil.egg-info"])
def test_a_plugin_by_entry_point_is_protected_like_a_conftest(folder: str) -> None:
    plugin = Change(f"{folder}/entry_points.txt", "0", b"[pytest11]\nevil = evil\n", None)
    assert [o.kind for o in Scope().objections([plugin], {plugin.path: ""}, ())] == ["path_protected"]


def test_a_suite_that_exits_red_without_a_failing_test_is_not_fixed(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {
        "calc.py": CALC, "test_calc.py": CALC_TESTS,
        "conftest.py": "def pytest_sessionfinish(session):\n    session.exitstatus = 1\n",
    })  # fmt: skip
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [RIGHT]))
    assert data["outcome"]["fixed"] is False
    assert (root / "calc.py").read_text() == CALC


SAVES = """
import subprocess
import sys

# Another program writes while the test runs; the test's own process writes nothing.
CODE = r'''
import pathlib
notes = pathlib.Path("notes.txt")
if notes.read_text() == "mine\\n":
    notes.write_text("mine, newer\\n")
    pathlib.Path("fresh.txt").write_text("new\\n")
'''


def test_user_saves_meanwhile():
    subprocess.run([sys.executable, "-c", CODE], check=True)
"""


def test_what_somebody_saves_while_tests_run_is_left_and_named(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {
        "calc.py": CALC, "test_calc.py": CALC_TESTS, "notes.txt": "mine\n", "test_saves.py": SAVES,
    })  # fmt: skip
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [[replacement("calc.py", BUG, "    return s * rate")]]))
    assert data["outcome"]["fixed"] is False
    assert (root / "calc.py").read_text() == CALC
    assert (root / "notes.txt").read_text() == "mine, newer\n"
    assert (root / "fresh.txt").read_text() == "new\n"
    assert {c["path"] for c in data["outcome"]["conflicts"]} == {"notes.txt", "fresh.txt"}
    assert data["outcome"]["restored"] is False


def test_a_moved_head_is_named_and_left(tmp_path: Path) -> None:
    commits = (
        "import subprocess\n\n\ndef test_commits():\n    subprocess.run(['git', 'tag', '-f', 'by-test'], check=True)\n"
    )
    root = make_repo(tmp_path / "r", {"test_tag.py": commits})
    with engine_on(root, sandbox="off") as engine:
        data = run_script(engine, script(tmp_path, []))
    assert any(c["path"] == ".git" for c in data["outcome"]["conflicts"])
    assert "by-test" in git(root, "tag")


def test_undoing_step_by_step_goes_back_and_never_forth(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.txt": "one\n"})
    with engine_on(root) as engine:
        session = engine.session()
        ok(engine, "apply_edits", replacements=[replacement("a.txt", "one", "two")])
        ok(engine, "apply_edits", replacements=[replacement("a.txt", "two", "three")])
        for expected in ("two\n", "one\n"):
            session.restore(session.last_change())
            assert (root / "a.txt").read_text() == expected
        assert session.last_change() == ""


def test_a_glob_that_matches_nothing_is_a_mistake_not_a_run(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        assert refused(engine, "fix_tests", paths=["nope/*"])["kind"] == "invalid_arguments"


def test_reading_goes_on_while_a_crashed_change_cannot_be_put_back(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        ok(engine, "apply_edits", replacements=RIGHT)
        with engine.store.transaction() as db:
            db.execute("UPDATE transactions SET state = 'open'")
            db.execute("DELETE FROM blobs")
    with engine_on(root) as engine:
        assert ok(engine, "read_file", path="calc.py")["text"] == CALC.replace(BUG, FIX)
        assert engine.call("apply_edits", {"replacements": [replacement("calc.py", FIX, BUG)]}).is_error
