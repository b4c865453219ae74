"""The repair loop on real repositories with real pytest: what it keeps, what it rolls back, how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.engines import engine_on, ok, refused, replacement, run_script, script
from support.js_projects import described, need_node
from support.repos import BUG, CALC, CALC_TESTS, FIX, differences, dirty_repo, fingerprint, make_repo, red_repo

from regreen.session import FixOptions
from regreen.settings import Limits

RIGHT = [replacement("calc.py", BUG, FIX)]
WRONG = [[replacement("calc.py", BUG, f"    return {e}")] for e in ("s * rate", "s - s * rate * 2", "s + s * rate * 2")]


def states(data: dict[str, object]) -> list[str]:
    return [a["state"] for a in data["attempts"]]  # type: ignore[attr-defined, index]


def outcome(data: dict[str, object]) -> dict[str, object]:
    return data["outcome"]  # type: ignore[return-value]


def test_a_wrong_fix_is_rolled_back_and_the_right_one_kept(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [WRONG[0], RIGHT]))
    assert states(data) == ["same", "passed"]
    end = outcome(data)
    assert end["reason"] == "fixed"
    assert end["fixed"] is True
    assert end["verified"] is True
    assert end["fixed_tests"] == ["test_calc.py::test_total"]
    assert end["kept_files"] == ["calc.py"]
    assert "+" + FIX in str(end["diff"])
    assert end["evidence"]["goal_runs"] == "3/3"  # type: ignore[index]
    assert (root / "calc.py").read_text() == CALC.replace(BUG, FIX)


def test_a_run_that_fails_leaves_every_byte_as_it_was(tmp_path: Path) -> None:
    root = dirty_repo(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, WRONG))
    assert outcome(data)["reason"] == "no_progress"
    assert outcome(data)["restored"] is True
    assert differences(before, fingerprint(root)) == []


def test_a_fixed_run_changes_the_fixed_file_and_nothing_else(tmp_path: Path) -> None:
    root = dirty_repo(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root) as engine:
        assert outcome(run_script(engine, script(tmp_path, [RIGHT])))["reason"] == "fixed"
    assert differences(before, fingerprint(root)) == ["calc.py"]


def test_a_script_that_ends_is_a_proposer_that_failed(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, WRONG[:1]))
    assert outcome(data)["reason"] == "proposer_failed"
    assert str(outcome(data)["hint"]).startswith("The script has no further proposal. ")
    assert differences(before, fingerprint(root)) == []


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


def test_the_same_try_in_other_clothes_is_not_run_again(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    again = [replacement("calc.py", BUG, "    return s*rate  # surely")]
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [WRONG[0], again, again]))
    assert states(data) == ["same", "repeated", "repeated"]
    assert outcome(data)["reason"] == "repeated_fix"


TWO = {
    "shop.py": "def price(n):\n    return n - 2\n\n\ndef tax(n):\n    return n * 3\n",
    "test_shop.py": (
        "from shop import price, tax\n\n\ndef test_price():\n    assert price(1) == 3\n\n\n"
        "def test_tax():\n    assert tax(2) == 4\n\n\ndef test_zero():\n    assert tax(0) == 0\n"
    ),
}
HALVES = [
    [replacement("shop.py", "    return n - 2", "    return n + 2")],
    [replacement("shop.py", "    return n * 3", "    return n * 2")],
]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_halves_of_a_fix_are_kept_in_either_order(tmp_path: Path, order: tuple[int, int]) -> None:
    root = make_repo(tmp_path / "r", TWO)
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [HALVES[i] for i in order]))
    assert states(data) == ["improved", "passed"]
    assert outcome(data)["reason"] == "fixed"


def test_half_a_fix_is_not_left_behind_unless_asked_for(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", TWO)
    before = fingerprint(root)
    with engine_on(root) as engine:
        assert outcome(run_script(engine, script(tmp_path, HALVES[:1])))["kept"] is False
        assert differences(before, fingerprint(root)) == []
        end = outcome(run_script(engine, script(tmp_path, HALVES[:1]), keep_partial=True))
    assert end["reason"] == "proposer_failed"
    assert end["fixed"] is False
    assert end["kept_files"] == ["shop.py"]
    assert end["fixed_tests"] == ["test_shop.py::test_price"]
    assert differences(before, fingerprint(root)) == ["shop.py"]


def test_repairing_one_test_by_breaking_another_is_worse(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", TWO)
    breaking = [
        [replacement("shop.py", "    return n * 3", "    return 4")],
        [replacement("shop.py", "    return n * 3", "    return n + 2")],
    ]
    before = fingerprint(root)
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, breaking))
    assert states(data) == ["worse", "worse"]
    assert data["attempts"][0]["broken"] == ["test_shop.py::test_zero"]
    assert outcome(data)["reason"] == "regression"
    assert differences(before, fingerprint(root)) == []


def test_edits_that_do_not_apply_are_refused_and_cost_no_attempt(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    misses = [[replacement("calc.py", "no such line", "x")], [replacement("none.py", "a", "b")]]
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [*misses, RIGHT]), max_attempts=1)
    assert states(data) == ["refused", "refused", "passed"]
    assert [a["refusal"] for a in data["attempts"][:2]] == ["no_match", "file_not_found"]
    assert outcome(data)["reason"] == "fixed"


def test_changing_the_tests_is_refused_and_insisting_is_tampering(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    before = fingerprint(root)
    cheats = [
        [replacement("test_calc.py", "    assert total([10, 20], 0.5) == 45", "    assert True")],
        [replacement("conftest.py", "", "collect_ignore = ['test_calc.py']\n")],
    ]
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, cheats))
    assert [a["refusal"] for a in data["attempts"]] == ["path_protected", "path_protected"]
    assert outcome(data)["reason"] == "tampered"
    assert differences(before, fingerprint(root)) == []


def test_an_edit_outside_the_paths_of_the_run_is_refused(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [RIGHT]), paths=("src",))
    assert data["attempts"][0]["refusal"] == "path_out_of_scope"
    assert (root / "calc.py").read_text() == CALC


def test_the_attempt_limit_ends_the_run(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, WRONG), max_attempts=2)
    assert states(data) == ["same", "same"]
    assert outcome(data)["reason"] == "attempt_limit"


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


def test_a_test_that_passes_every_other_time_is_called_flaky(tmp_path: Path) -> None:
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


WRITES = {
    "report.py": "def total(xs):\n    return sum(xs) - 1\n",
    "log.txt": "start\n",
    "test_report.py": (
        "from pathlib import Path\n\nfrom report import total\n\nHERE = Path(__file__).parent\n\n\n"
        "def test_total():\n    (HERE / 'out').mkdir(exist_ok=True)\n    (HERE / 'out' / 'r.txt').write_text('x')\n"
        "    with (HERE / 'log.txt').open('a') as f:\n        f.write('run\\n')\n    assert total([1, 2]) == 3\n"
    ),
}


@pytest.mark.parametrize("right", [True, False])
def test_files_that_the_tests_write_are_put_back_at_every_end(tmp_path: Path, right: bool) -> None:
    root = make_repo(tmp_path / "r", WRITES)
    before = fingerprint(root)
    fix = "    return sum(xs)" if right else "    return sum(xs) + 1"
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, [[replacement("report.py", "    return sum(xs) - 1", fix)]]))
    end = outcome(data)
    assert (end["reason"] == "fixed") is right
    assert {"log.txt", "out/r.txt"} <= set(end["evidence"]["side_effects"])  # type: ignore[index]
    assert differences(before, fingerprint(root)) == (["report.py"] if right else [])


def test_a_file_that_the_user_edits_during_the_run_is_left_alone(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        data = ok(engine, "fix_tests", proposer="caller")
        (root / "mine.txt").write_text("written meanwhile\n")
        (root / "test_calc.py").write_text(CALC_TESTS + "\n# a note\n")
        end = ok(engine, "job_cancel", job_id=data["job_id"])
    assert end["state"] == "done"
    assert (root / "mine.txt").read_text() == "written meanwhile\n"
    assert (root / "test_calc.py").read_text().endswith("# a note\n")


def test_the_caller_is_briefed_tries_and_succeeds(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        data = ok(engine, "fix_tests", proposer="caller")
        assert data["state"] == "waiting_for_edits"
        brief = data["brief"]
        assert brief["failing"] == ["test_calc.py::test_total"]
        assert brief["failures"][0]["kind"] == "AssertionError"
        assert any(s["path"] == "calc.py" for s in brief["suspicious"])
        assert any("def total(prices, rate)" in s for s in brief["signatures"])
        job = data["job_id"]
        first = ok(engine, "submit_fix", job_id=job, replacements=WRONG[0], note="guess")
        assert first["attempt"]["state"] == "same"
        assert first["attempt"]["still"] == ["test_calc.py::test_total"]
        assert first["brief"]["tried"][0]["note"] == "guess"
        assert (root / "calc.py").read_text() == CALC
        last = ok(engine, "submit_fix", job_id=job, replacements=RIGHT)
        assert last["state"] == "done"
        assert last["outcome"]["reason"] == "fixed"
        assert last["attempt"]["fixed"] == ["test_calc.py::test_total"]
        assert refused(engine, "submit_fix", job_id=job, replacements=RIGHT)["kind"] == "invalid_arguments"


def test_while_a_run_holds_the_tree_writers_are_told_who_and_readers_work(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        job = ok(engine, "fix_tests", proposer="caller")["job_id"]
        for tool, arguments in (
            ("fix_tests", {"proposer": "caller"}),
            ("apply_edits", {"replacements": RIGHT}),
            ("restore", {"to": job}),
        ):
            error = refused(engine, tool, **arguments)  # type: ignore[arg-type]
            assert error["kind"] == "busy"
            assert job in error["message"]
        assert ok(engine, "read_file", path="calc.py")["text"] == CALC
        assert ok(engine, "run_tests")["status"] == "failed"
        ok(engine, "job_cancel", job_id=job)
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


def test_a_fixed_run_can_be_undone_later(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root) as engine:
        job = str(run_script(engine, script(tmp_path, [RIGHT]))["job_id"])
    with engine_on(root) as engine:
        assert ok(engine, "job_status", job_id=job)["outcome"]["reason"] == "fixed"
        assert ok(engine, "restore", to=job, dry_run=True)["restored"] == ["calc.py"]
        assert differences(before, fingerprint(root)) == ["calc.py"]
        assert ok(engine, "restore", to=job)["restored"] == ["calc.py"]
    assert differences(before, fingerprint(root)) == []


def test_the_budget_ends_the_run(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        data = run_script(engine, script(tmp_path, WRONG), budget_s=1e-3)
    assert outcome(data)["reason"] == "budget"
    assert (root / "calc.py").read_text() == CALC


@pytest.mark.parametrize(
    "patch", ["*** Delete File: test_calc.py\n", "*** Update File: test_calc.py\n*** Move to: x.py\n"]
)
def test_a_fix_may_come_as_a_diff_but_not_take_the_tests_away(tmp_path: Path, patch: str) -> None:
    root = red_repo(tmp_path / "r")
    right = f"--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-{BUG}\n+{FIX}\n"
    path = tmp_path / "texts.jsonl"
    texts = (f"*** Begin Patch\n{patch}*** End Patch\n", right)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    with engine_on(root) as engine:
        data = run_script(engine, path)
    assert [a.get("refusal") for a in data["attempts"]] == ["path_protected", ""]
    assert outcome(data)["reason"] == "fixed"
    assert sorted(p.name for p in root.glob("*.py")) == ["calc.py", "test_calc.py"]
