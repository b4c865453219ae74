"""The engine from outside: repositories, trust, modes, edits and their undo, tests, jobs, recovery."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.engines import engine_on, ok, refused, replacement
from support.repos import BUG, CALC, FIX, differences, dirty_repo, fingerprint, make_repo, red_repo

from regreen.session import Engine
from regreen.session.resolve import resolve
from regreen.settings import load_settings

RIGHT = [replacement("calc.py", BUG, FIX)]


# --- which repository --------------------------------------------------------------------------------


def test_the_default_is_the_first_root(tmp_path: Path) -> None:
    assert resolve("", [tmp_path], {}, Path("/")) == tmp_path


def test_without_roots_it_is_the_work_tree_around_the_working_directory(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    (root / "sub").mkdir()
    assert resolve("", [], {}, root / "sub") == root
    assert resolve("", [], {"CLAUDE_PROJECT_DIR": str(root / "sub")}, Path("/")) == root / "sub"


def test_the_home_folder_is_never_taken_by_itself(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with pytest.raises(Exception, match="not inside a git work tree of its own") as caught:
        resolve("", [], {"HOME": str(root)}, root)
    assert "--root" in caught.value.hint  # type: ignore[attr-defined]


@pytest.mark.parametrize("repo", ["/etc", "..", "../sibling", "link", "r\0"])
def test_a_repository_outside_the_roots_is_refused(tmp_path: Path, repo: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "sibling").mkdir()
    (root / "link").symlink_to(tmp_path / "sibling")
    with pytest.raises(Exception, match=r"outside|NUL"):
        resolve(repo, [root], {}, root)


def test_repositories_inside_a_root_are_used_by_name(tmp_path: Path) -> None:
    red_repo(tmp_path / "a")
    make_repo(tmp_path / "b", {"x.py": "y = 1\n"})
    with engine_on(tmp_path) as engine:
        assert ok(engine, "read_file", repo="a", path="calc.py")["text"] == CALC
        assert ok(engine, "read_file", repo=str(tmp_path / "b"), path="x.py")["text"] == "y = 1\n"
        assert refused(engine, "read_file", repo="c", path="x")["kind"] == "not_found"


# --- trust and modes ---------------------------------------------------------------------------------


def test_an_untrusted_folder_can_be_read_and_edited_but_not_run(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root, trusted=False) as engine:
        assert ok(engine, "read_file", path="calc.py")["total_lines"] == 9
        error = refused(engine, "run_tests")
        assert error["kind"] == "untrusted_workspace"
        assert f"regreen trust {root}" in error["hint"]
        assert refused(engine, "fix_tests")["kind"] == "untrusted_workspace"
        engine.trust(root, "test")
        assert ok(engine, "run_tests")["status"] == "failed"


def test_plan_mode_shows_the_diff_and_writes_nothing(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root, mode="plan") as engine:
        assert "+" + FIX in ok(engine, "apply_edits", replacements=RIGHT, dry_run=True)["files"][0]["diff"]
        assert refused(engine, "apply_edits", replacements=RIGHT)["kind"] == "denied_by_mode"
        assert refused(engine, "run_tests")["kind"] == "denied_by_mode"
    assert (root / "calc.py").read_text() == CALC


def test_ask_mode_without_anybody_to_ask_refuses(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root, mode="ask") as engine:
        assert refused(engine, "apply_edits", replacements=RIGHT)["kind"] == "needs_approval"


def test_ask_mode_asks_and_takes_yes_for_an_answer(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    questions: list[str] = []
    settings = load_settings(dict(os.environ), roots=(root,), mode="ask")
    with Engine(settings, cwd=root, approve=lambda ask: bool(questions.append(ask.kind)) or True) as engine:
        assert ok(engine, "apply_edits", replacements=RIGHT)["ok"] is True
    assert questions == ["needs_approval"]


def test_an_edited_conftest_must_be_approved_before_it_runs(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root, mode="accept-edits") as engine:
        edit = ok(engine, "apply_edits", replacements=[replacement("conftest.py", "", "x = 1\n")])
        error = refused(engine, "run_tests")
        assert error["kind"] == "needs_approval"
        assert "conftest.py" in error["message"]
        ok(engine, "restore", to=edit["transaction"])
        assert ok(engine, "run_tests")["status"] == "failed"
        ok(engine, "apply_edits", replacements=[replacement("conftest.py", "", "x = 2\n")])
        engine.trust(root, "test")
        assert ok(engine, "run_tests")["status"] == "failed"


# --- edits -------------------------------------------------------------------------------------------


def test_edits_apply_show_up_as_changes_and_are_undone(tmp_path: Path) -> None:
    root = dirty_repo(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root) as engine:
        done = ok(engine, "apply_edits", replacements=RIGHT)
        assert done["edits"][0]["status"] == "applied"
        assert differences(before, fingerprint(root)) == ["calc.py"]
        assert any(f["path"] == "calc.py" for f in ok(engine, "show_changes")["files"])
        assert ok(engine, "restore", to=done["transaction"])["restored"] == ["calc.py"]
    assert differences(before, fingerprint(root)) == []


def test_a_dry_runs_plan_is_committed_as_it_was_shown(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        plan = ok(engine, "apply_edits", replacements=RIGHT, dry_run=True)["plan"]
        assert (root / "calc.py").read_text() == CALC
        assert ok(engine, "apply_edits", commit=plan)["ok"] is True
        assert (root / "calc.py").read_text() == CALC.replace(BUG, FIX)
        assert refused(engine, "apply_edits", commit="plan-none")["kind"] == "not_found"


def test_a_plan_whose_file_changed_meanwhile_is_stale(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        plan = ok(engine, "apply_edits", replacements=RIGHT, dry_run=True)["plan"]
        (root / "calc.py").write_text("# mine\n")
        report = ok(engine, "apply_edits", commit=plan)
    assert report["ok"] is False
    assert report["edits"][0]["error"]["kind"] == "stale"
    assert (root / "calc.py").read_text() == "# mine\n"


@pytest.mark.parametrize("named", [False, True])
def test_a_file_saved_while_somebody_is_asked_is_judged_again_but_not_for_a_named_plan(
    tmp_path: Path, named: bool
) -> None:
    root = red_repo(tmp_path / "r")
    mine = "# mine\n" + CALC

    def save_and_agree(_: object) -> bool:
        (root / "calc.py").write_text(mine)
        return True

    settings = load_settings(dict(os.environ), roots=(root,), mode="ask")
    with Engine(settings, cwd=root, approve=save_and_agree) as engine:
        plan = ok(engine, "apply_edits", replacements=RIGHT, dry_run=True)["plan"]
        done = ok(engine, "apply_edits", replacements=RIGHT, **({"commit": plan} if named else {}))
    assert done["ok"] is not named
    assert (root / "calc.py").read_text() == (mine if named else mine.replace(BUG, FIX))


def test_a_restore_leaves_what_somebody_changed_since(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        done = ok(engine, "apply_edits", replacements=RIGHT)
        (root / "calc.py").write_text("# mine\n")
        report = ok(engine, "restore", to=done["transaction"])
    assert report["restored"] == []
    assert report["conflicts"][0]["path"] == "calc.py"
    assert (root / "calc.py").read_text() == "# mine\n"


def test_edits_need_text_or_replacements(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        assert refused(engine, "apply_edits")["kind"] == "invalid_arguments"
        assert refused(engine, "apply_edits", text="x", replacements=RIGHT)["kind"] == "invalid_arguments"


# --- tests and jobs ----------------------------------------------------------------------------------


def test_only_the_tests_that_failed_last_time_are_run_again(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        assert ok(engine, "run_tests")["counts"]["total"] == 3
        assert ok(engine, "run_tests", last_failed=True)["counts"] == {
            "passed": 0, "failed": 1, "errors": 0, "skipped": 0, "xfailed": 0, "xpassed": 0, "total": 1,
        }  # fmt: skip


def test_a_test_run_that_is_not_waited_for_goes_on_as_a_job(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        started = ok(engine, "run_tests", wait_s=0)
        assert started["status"] == "running"
        done = ok(engine, "job_status", job_id=started["job_id"], wait_s=30)
        assert done["state"] == "done"
        assert done["status"] == "failed"
        assert "test_total" in ok(engine, "job_status", job_id=started["job_id"], log_offset=0)["log_text"]


def test_unknown_tools_and_jobs_are_errors_that_teach(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        assert "run_tests" in refused(engine, "run_test")["hint"]
        assert refused(engine, "job_status", job_id="job-none")["kind"] == "not_found"
        assert refused(engine, "restore", to="job-none")["kind"] == "not_found"


# --- recovery ----------------------------------------------------------------------------------------


def test_old_runs_files_are_pruned_and_newer_ones_kept(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        jobs = [ok(engine, "run_tests", selection=["test_mean"])["job_id"] for _ in range(2)]
        engine.store.prune_runs(keep=1)
        folders = [(engine.store.folder / "runs" / j).exists() for j in jobs]
        assert folders == [False, True]
        assert ok(engine, "job_status", job_id=jobs[0])["status"] == "passed"


def test_the_functions_that_tests_call_are_known(tmp_path):
    root = make_repo(tmp_path / "r", {
        "shop.py": "def total(n):\n    return n\n\n\ndef other():\n    return 1\n",
        "test_shop.py": "from shop import other, total\n\n\ndef test_total():\n    assert total(1) == 1\n\n\n"
        "def test_other():\n    assert other() == 1\n",
    })  # fmt: skip
    with engine_on(root) as engine:
        found = engine.session().coverage()
        calls = {f.qualname: tests for f, tests in found.touching().items() if f.path == "shop.py"}
    assert calls["total"] == {"test_shop.py::test_total"}
    assert calls["other"] == {"test_shop.py::test_other"}


def test_a_warm_run_says_so_and_what_changed_since_the_last(tmp_path):
    root = make_repo(
        tmp_path / "r", {"shop.py": "N = 1\n", "test_shop.py": "import shop\ndef test_n(): assert shop.N == 1\n"}
    )
    with engine_on(root) as engine:
        first = ok(engine, "run_tests", warm=True)
        (root / "shop.py").write_text("N = 2\n")
        second = ok(engine, "run_tests", warm=True)
    assert (first["status"], second["status"]) == ("passed", "failed")
    assert any(n.startswith("warm: ") for n in second["notes"])
    assert second["since_last"]["new"] == ["test_shop.py::test_n"]


def test_an_engine_that_stays_open_forgets_old_runs_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine_on(red_repo(tmp_path / "r")) as engine:
        ok(engine, "read_file", path="calc.py")
        with engine.store.transaction() as db:
            for n in range(60):
                db.execute(
                    "INSERT INTO runs (id, repo, kind, state, created, finished, pid, request, result)"
                    " VALUES (?, 'r', 'fix', 'done', ?, ?, 1, '{}', '{}')", (f"job-{n}", n, n),
                )  # fmt: skip
        for n in range(60):
            engine.store.run_folder(f"job-{n}")
        folders = engine.store.folder / "runs"
        ok(engine, "read_file", path="calc.py")
        assert len(list(folders.glob("job-*"))) == 60, "not with each call"
        monkeypatch.setattr(engine, "_next_pruning", 0.0)
        ok(engine, "read_file", path="calc.py")
        assert {f.name for f in folders.glob("job-*")} == {f"job-{n}" for n in range(10, 60)}
