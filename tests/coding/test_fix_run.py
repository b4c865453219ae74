"""The repair loop on real repositories with real pytest: what it keeps, what it rolls back, how it ends."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.engines import engine_on, ok, refused, replacement, run_script, script
from support.fixing import LOOKS
from support.js_projects import described, need_node
from support.repos import BUG, CALC, CALC_TESTS, FIX, differences, dirty_repo, fingerprint, make_repo, red_repo

from regreen.fix.baseline import RUNS
from regreen.fix.verification import GOAL_RUNS
from regreen.session import FixOptions
from regreen.settings import Limits

pytestmark = pytest.mark.usefixtures("few_looks")

RIGHT = [replacement("calc.py", BUG, FIX)]
WRONG = [[replacement("calc.py", BUG, f"    return {e}")] for e in ("s * rate", "s - s * rate * 2")]
DELETES = "*** Begin Patch\n*** Delete File: test_calc.py\n*** End Patch\n"
MOVES = "*** Begin Patch\n*** Update File: test_calc.py\n*** Move to: x.py\n*** End Patch\n"
WRITTEN = {"log.txt", "out/r.txt"}


def states(data: dict[str, object]) -> list[str]:
    return [a["state"] for a in data["attempts"]]  # type: ignore[attr-defined, index]


def refusals(data: dict[str, object]) -> list[str]:
    return [a["refusal"] for a in data["attempts"]]  # type: ignore[attr-defined, index]


def outcome(data: dict[str, object]) -> dict[str, object]:
    return data["outcome"]  # type: ignore[return-value]


def texts(folder: Path, lines: Sequence[Mapping[str, object]]) -> Path:
    """A script of proposals of several forms."""
    path = folder / "texts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def test_a_wrong_fix_is_rolled_back_and_the_right_one_is_all_that_changes_until_it_is_undone(tmp_path: Path) -> None:
    """The right one as a diff, after one that takes the tests away and is refused."""
    root = dirty_repo(tmp_path / "r")
    before = fingerprint(root)
    right = f"--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-{BUG}\n+{FIX}\n"
    lines = [{"replacements": WRONG[0]}, {"text": DELETES}, {"text": right}]
    with engine_on(root) as engine:
        data = run_script(engine, texts(tmp_path, lines), max_attempts=2)
    assert states(data) == ["same", "refused", "passed"]
    assert data["attempts"][1]["refusal"] == "path_protected"
    end = outcome(data)
    assert end["reason"] == "fixed"
    assert end["fixed"] is True
    assert end["verified"] is True
    assert end["fixed_tests"] == ["test_calc.py::test_total"]
    assert end["kept_files"] == ["calc.py"]
    assert "+" + FIX in str(end["diff"])
    evidence: dict[str, Any] = end["evidence"]  # type: ignore[assignment]
    assert evidence["goal_runs"] == "3/3"
    assert evidence["tree"] and evidence["interpreter"] and evidence["argv"]
    assert evidence["test_runs"] == LOOKS + 1 + GOAL_RUNS
    assert evidence["tests_s"] > 0
    assert evidence["test_cpu_s"] > 0
    assert differences(before, fingerprint(root)) == ["calc.py"]
    assert (root / "calc.py").read_text() == CALC.replace(BUG, FIX)
    job = str(data["job_id"])
    with engine_on(root) as engine:
        assert ok(engine, "job_status", job_id=job)["outcome"]["reason"] == "fixed"
        assert ok(engine, "restore", to=job, dry_run=True)["restored"] == ["calc.py"]
        assert differences(before, fingerprint(root)) == ["calc.py"]
        assert ok(engine, "restore", to=job)["restored"] == ["calc.py"]
    assert differences(before, fingerprint(root)) == []


WRITES = """

from pathlib import Path

HERE = Path(__file__).parent


def test_writes():
    (HERE / "out").mkdir(exist_ok=True)
    (HERE / "out" / "r.txt").write_text("x")
    with (HERE / "log.txt").open("a") as f:
        f.write("run\\n")
    open(b"\\xfe\\xfd.txt", "w").close()
"""
LOCKS = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "open('uv.lock', 'w').write('version = 4')"], check=True)
"""


def test_a_run_that_fails_leaves_every_byte_as_it_was_and_runs_no_try_again_in_other_clothes(tmp_path: Path) -> None:
    root = dirty_repo(tmp_path / "r")
    (root / "log.txt").write_text("start\n")
    (root / "test_writes.py").write_text(WRITES)
    before = fingerprint(root)
    again = [replacement("calc.py", BUG, "    return s*rate  # surely")]
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [WRONG[0], again, WRONG[1]]))
    assert states(data) == ["same", "repeated", "same"]
    assert outcome(data)["reason"] == "no_progress"
    assert outcome(data)["restored"] is True
    assert set(outcome(data)["evidence"]["side_effects"]) >= WRITTEN  # type: ignore[index]
    assert differences(before, fingerprint(root)) == []


def test_what_tests_write_is_put_back_and_speaks_not_against_a_fix(tmp_path: Path) -> None:
    """Also a name that is not UTF-8, and a lock file that a tool brings up to date."""
    root = make_repo(tmp_path / "r", {
        "calc.py": CALC, "test_calc.py": CALC_TESTS, "test_writes.py": WRITES, "log.txt": "start\n",
        "conftest.py": LOCKS, "uv.lock": "version = 3\n",
    })  # fmt: skip
    before = fingerprint(root)
    with engine_on(root) as engine:
        end = outcome(run_script(engine, script(tmp_path, [RIGHT])))
    assert (end["reason"], end["kept_files"]) == ("fixed", ["calc.py"]), end["hint"]
    assert set(end["evidence"]["side_effects"]) >= WRITTEN  # type: ignore[index]
    assert differences(before, fingerprint(root)) == ["calc.py"]
    assert not os.path.exists(os.fsencode(root) + b"/\xfe\xfd.txt")  # noqa: PTH110 (a name that is bytes)


def test_the_search_repairs_a_test_that_is_selected_by_its_bare_name(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        fix_job = engine.fix(engine.session(), FixOptions(selection=("test_total",), proposer="search"))
        assert fix_job.job.wait(100) == "done"
        assert outcome(fix_job.job.data())["reason"] == "fixed"


def test_the_search_says_first_that_it_cannot_repair_what_is_not_python(tmp_path: Path) -> None:
    need_node()
    tests = "import test from 'node:test';\ntest('one', () => { throw new Error('no'); });\n"
    root = make_repo(tmp_path / "r", {"package.json": described("node --test"), "one.test.mjs": tests})
    with engine_on(root) as engine:
        fix_job = engine.fix(engine.session(), FixOptions(proposer="search"))
        assert fix_job.job.wait(100) == "done"
        end = outcome(fix_job.job.data())
    assert end["reason"] == "proposer_failed"
    assert str(end["hint"]).startswith("The offline search repairs Python only, and these tests are run by node. ")


def test_repairing_one_test_by_breaking_another_is_worse_also_where_their_order_does_it(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {
        "shop.py": "DEBUG = False\n\n\ndef tax(n):\n    return n * 3\n",
        "test_shop.py": "from shop import tax\n\n\ndef test_tax():\n    assert tax(2) == 4\n\n\n"
        "def test_zero():\n    assert tax(0) == 0\n",
        "test_z.py": "import shop\n\n\ndef test_debug_is_off():\n    assert shop.DEBUG is False\n",
    })  # fmt: skip
    breaking = [
        [replacement("shop.py", "    return n * 3", "    return n + 2")],
        [replacement("shop.py", "    return n * 3", "    global DEBUG\n    DEBUG = True\n    return n * 2")],
    ]
    before = fingerprint(root)
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, breaking))
    assert states(data) == ["worse", "worse"]
    broken = [a["broken"] for a in data["attempts"]]  # type: ignore[index, union-attr]
    assert broken == [["test_shop.py::test_zero"], ["test_z.py::test_debug_is_off"]]
    assert (outcome(data)["reason"], outcome(data)["fixed"]) == ("regression", False)
    assert differences(before, fingerprint(root)) == []


def test_edits_that_do_not_apply_or_lie_outside_are_refused_and_cost_no_attempt(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"calc.py": CALC, "test_calc.py": CALC_TESTS, "notes.txt": "one\n"})
    misses = [("calc.py", "no such line", "x"), ("none.py", "a", "b"), ("notes.txt", "one", "two")]
    with engine_on(root) as engine:
        lines = script(tmp_path, [[replacement(*m)] for m in misses])
        data = run_script(engine, lines, max_attempts=1, paths=("*.py",))
    assert states(data) == ["refused", "refused", "refused"]
    assert refusals(data) == ["no_match", "file_not_found", "path_out_of_scope"]
    assert outcome(data)["reason"] == "no_progress"  # and not at the first, for the limit of attempts
    assert ((root / "calc.py").read_text(), (root / "notes.txt").read_text()) == (CALC, "one\n")


def test_changing_the_tests_is_refused_and_insisting_is_tampering(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    before = fingerprint(root)
    cheat = replacement("test_calc.py", "    assert total([10, 20], 0.5) == 45", "    assert True")
    with engine_on(root) as engine:
        data = run_script(engine, texts(tmp_path, [{"replacements": [cheat]}, {"text": MOVES}]))
    assert refusals(data) == ["path_protected", "path_protected"]
    assert outcome(data)["reason"] == "tampered"
    assert differences(before, fingerprint(root)) == []


def test_a_green_repository_needs_no_fix(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"calc.py": CALC.replace(BUG, FIX), "test_calc.py": CALC_TESTS})
    with engine_on(root) as engine:
        end = outcome(run_script(engine, script(tmp_path, [RIGHT])))
    assert end["reason"] == "already_green"
    assert end["fixed"] is False


def test_a_missing_dependency_is_the_environments_fault(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {
        "app.py": "import surely_not_installed_package\n",
        "test_app.py": "import app\n\n\ndef test_a():\n    assert app\n",
    })  # fmt: skip
    with engine_on(root) as engine:
        end = outcome(run_script(engine, script(tmp_path, [RIGHT])))
    assert end["reason"] == "environment"
    assert "surely_not_installed_package" in str(end["hint"])
    assert "`.venv` in the project" in str(end["hint"])  # never into regreen's own environment


def test_no_tests_is_the_environments_fault(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"app.py": "x = 1\n"})
    with engine_on(root) as engine:
        assert outcome(run_script(engine, script(tmp_path, [RIGHT])))["reason"] == "environment"


def test_a_test_that_passes_every_other_time_is_called_flaky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regreen.fix.baseline.RUNS", RUNS)
    counter = tmp_path / "counter"
    root = make_repo(tmp_path / "r", {
        "test_odd.py": (
            f"from pathlib import Path\n\nCOUNTER = Path({str(counter)!r})\n\n\ndef test_odd():\n"
            "    n = int(COUNTER.read_text()) if COUNTER.exists() else 0\n    COUNTER.write_text(str(n + 1))\n"
            "    assert n % 2 == 1\n"
        ),
    })  # fmt: skip
    before = fingerprint(root)
    with engine_on(root, writable=(tmp_path,)) as engine:
        end = outcome(run_script(engine, script(tmp_path, [RIGHT])))
    assert end["reason"] == "flaky"
    assert end["evidence"]["flaky"] == ["test_odd.py::test_odd"]  # type: ignore[index]
    assert differences(before, fingerprint(root)) == []


def test_the_caller_is_briefed_tries_is_advised_and_succeeds(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        data = ok(engine, "fix_tests", proposer="caller")
        assert data["state"] == "waiting_for_edits"
        brief = data["brief"]
        assert brief["failing"] == ["test_calc.py::test_total"]
        assert brief["failures"][0]["kind"] == "AssertionError"
        assert any(s["path"] == "calc.py" for s in brief["suspicious"])
        assert any("def total(prices, rate)" in s for s in brief["signatures"])
        assert brief["advice"] == ""
        job = data["job_id"]
        first = ok(engine, "submit_fix", job_id=job, replacements=WRONG[0], note="guess")
        assert first["attempt"]["state"] == "same"
        assert first["attempt"]["still"] == ["test_calc.py::test_total"]
        assert first["brief"]["tried"][0]["note"] == "guess"
        assert (root / "calc.py").read_text() == CALC
        assert ok(engine, "submit_fix", job_id=job, replacements=WRONG[1])["brief"]["advice"]  # to try another way
        last = ok(engine, "submit_fix", job_id=job, replacements=RIGHT)
        assert last["state"] == "done"
        assert last["outcome"]["reason"] == "fixed"
        assert last["attempt"]["fixed"] == ["test_calc.py::test_total"]
        assert refused(engine, "submit_fix", job_id=job, replacements=RIGHT)["kind"] == "invalid_arguments"


def test_while_a_run_holds_the_tree_writers_are_told_who_and_readers_and_the_user_work(tmp_path: Path) -> None:
    """Neither a subfolder nor deleted lock files are a way in. What the user saves stays when the run is cancelled."""
    root = make_repo(tmp_path / "r", {"calc.py": CALC, "test_calc.py": CALC_TESTS, "sub/a.txt": "one\n"})
    with engine_on(root) as engine:
        job = ok(engine, "fix_tests", proposer="caller")["job_id"]
        for tool, arguments in (
            ("fix_tests", {"proposer": "caller"}),
            ("apply_edits", {"replacements": RIGHT}),
            ("apply_edits", {"repo": "sub", "replacements": [replacement("a.txt", "one", "two")]}),
            ("restore", {"to": job}),
        ):
            error = refused(engine, tool, **arguments)  # type: ignore[arg-type]
            assert error["kind"] == "busy"
            assert job in error["message"]
        assert ok(engine, "read_file", path="calc.py")["text"] == CALC
        assert ok(engine, "run_tests")["status"] == "failed"
        with engine_on(root) as second:
            for lock in (engine.store.folder / "locks").glob("*-run.lock"):
                lock.unlink()
            assert refused(second, "apply_edits", replacements=RIGHT)["kind"] == "busy"
            assert second.session().recover() == {}
        (root / "mine.txt").write_text("written meanwhile\n")
        (root / "test_calc.py").write_text(CALC_TESTS + "\n# a note\n")
        end = ok(engine, "job_cancel", job_id=job)
        assert (end["state"], end["restored"], end["outcome"]["reason"]) == ("done", True, "cancelled")
        assert ok(engine, "job_cancel", job_id=job) == end  # once more is fine
        assert (root / "mine.txt").read_text() == "written meanwhile\n"
        assert (root / "test_calc.py").read_text().endswith("# a note\n")
        assert ok(engine, "apply_edits", replacements=RIGHT)["ok"] is True


def test_a_caller_who_falls_silent_ends_the_run_cancelled_and_restored(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root, limits=Limits(silence_s=0.2)) as engine:
        job = ok(engine, "fix_tests", proposer="caller", wait_s=20)["job_id"]
        live = engine.jobs.live(job)
        assert live is not None
        while live.state != "done":
            live.wait(5)
            engine.fix_job(job)
        data = ok(engine, "job_status", job_id=job)
    assert data["outcome"]["reason"] == "cancelled"
    assert data["outcome"]["restored"] is True


def test_the_budget_ends_the_run(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, WRONG), budget_s=1e-3)
    assert outcome(data)["reason"] == "budget"
    assert (root / "calc.py").read_text() == CALC
