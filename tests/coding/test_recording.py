"""The record of a run: proposals to the letter, attempts with what came of them, found again by the run's id."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cases import thorough
from support.engines import engine_on, ok, replacement, run_script, script, waiting_for_edits
from support.repos import BUG, CALC, FIX, differences, fingerprint, make_repo, red_repo

from regreen.errors import Busy, UsageError
from regreen.model import Attempt, AttemptState, Proposal, Replacement, Usage
from regreen.proposers.scripted import ScriptedProposer
from regreen.session.fixing import FixOptions
from regreen.session.recording import Recorder, find_run, recorded_attempts, recorded_runs, script_hash
from regreen.session.replaying import replay
from regreen.session.resuming import Anew, resumed
from regreen.store import Store

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("few_looks")]  # whole runs, each several processes
PROPOSALS = (
    Proposal("a.py\n<<<<<<< SEARCH\n\tx\r\n=======\ny\n>>>>>>> REPLACE\n", note="n", usage=Usage(7, 0.5)),
    Proposal(replacements=(Replacement("a\udce9.py", "one\n", ""), Replacement("b.py", "", "\u2028")), format="auto"),
    Proposal(needs_test_change="3 is not 4"),
)
DIES = """
import os, sys
from pathlib import Path
from regreen.model import Attempt, AttemptState, Proposal
from regreen.session.recording import Recorder
from regreen.store import Store
Recorder(Store(Path(sys.argv[1])), "job-1").attempt(1, Proposal("x"), Attempt(1, AttemptState.SAME))
os.kill(os.getpid(), 9)
"""
WRONG = [replacement("calc.py", BUG, "    return s * rate")]
RIGHT = [replacement("calc.py", BUG, FIX)]
HALVES = {
    "shop.py": "def price(n):\n    return n - 2\n\n\ndef tax(n):\n    return n * 3\n",
    "test_shop.py": "from shop import price, tax\n\n\ndef test_price():\n    assert price(1) == 3\n\n\n"
    "def test_tax():\n    assert tax(2) == 4\n",
}
PRICE = [replacement("shop.py", "    return n - 2", "    return n + 2")]
TAX = [replacement("shop.py", "    return n * 3", "    return n * 2")]
USELESS = [replacement("shop.py", "    return n * 3", "    return n * 4")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "state")
    yield opened
    opened.close()


def row(store: Store, name: str, repo: str = "r", kind: str = "fix") -> None:
    with store.transaction() as db:
        db.execute(
            "INSERT INTO runs (id, repo, kind, state, created, finished, pid, request)"
            " VALUES (?, ?, ?, 'done', 1, 1, 1, '{}')",
            (name, repo, kind),
        )


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_a_proposal_comes_back_to_the_letter(store: Store, proposal: Proposal) -> None:
    Recorder(store, "job-1").attempt(1, proposal, Attempt(1, AttemptState.REFUSED))
    assert recorded_attempts(store, "job-1")[0][0] == proposal


def test_attempts_come_back_in_order_with_what_came_of_them(store: Store) -> None:
    recorder = Recorder(store, "job-1")
    recorder.attempt(2, PROPOSALS[0], Attempt(2, AttemptState.IMPROVED, fixed=("t::a",), kept=True, tree="abc"))
    recorder.attempt(1, PROPOSALS[1], Attempt(1, AttemptState.WORSE, broken=("t::b",)))
    Recorder(store, "job-2").attempt(1, PROPOSALS[2], Attempt(1, AttemptState.REFUSED))
    attempts = [a for _, a in recorded_attempts(store, "job-1")]
    assert [(a["number"], a["state"], a["fixed"], a["broken"], a["kept"], a["tree"]) for a in attempts] == [
        (1, "worse", [], ["t::b"], False, ""), (2, "improved", ["t::a"], [], True, "abc"),
    ]  # fmt: skip


def test_an_attempt_outlives_the_process_that_recorded_it(tmp_path: Path) -> None:
    died = subprocess.run([sys.executable, "-c", DIES, str(tmp_path / "state")], capture_output=True, timeout=60)
    assert died.returncode == -signal.SIGKILL, died.stderr
    store = Store(tmp_path / "state")
    assert [p.text for p, _ in recorded_attempts(store, "job-1")] == ["x"]
    store.close()


@pytest.mark.parametrize("name", ["job-abc123", "job-abc1", "abc1"])
def test_a_run_is_found_by_the_beginning_of_its_id(store: Store, name: str) -> None:
    for known in ("job-abc123", "job-abd456"):
        row(store, known)
    assert find_run(store, name).id == "job-abc123"


@pytest.mark.parametrize("name, says", [
    ("job-ab", "may be any of 2 runs: "), ("", "there is no run"), ("job-abc124", "there is no run 'job-abc124'"),
])  # fmt: skip
def test_a_name_that_means_none_or_several_runs_is_an_error_with_near_ones(store: Store, name: str, says: str) -> None:
    for known in ("job-abc123", "job-abd456"):
        row(store, known)
    with pytest.raises(UsageError) as caught:
        find_run(store, name)
    assert says in caught.value.message
    if name == "job-abc124":
        assert "job-abc123" in caught.value.hint


def test_runs_and_tasks_are_listed_by_repository_the_newest_first(store: Store) -> None:
    for name, repo, kind in (
        ("job-1", "r", "fix"),
        ("job-2", "r", "test"),
        ("job-3", "q", "fix"),
        ("job-4", "r", "task"),
    ):
        row(store, name, repo, kind)
    assert [r.id for r in recorded_runs(store, repo="r")] == ["job-4", "job-1"]
    assert [r.id for r in recorded_runs(store, limit=2)] == ["job-4", "job-3"]


# --- resume ------------------------------------------------------------------------------------------


@thorough
def test_a_resumed_run_begins_with_what_was_kept_and_tells_what_was_tried(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", HALVES)
    with engine_on(root) as engine:
        unfit = [replacement("shop.py", "    return n +  3", "    return n + 2")]
        old = run_script(engine, script(tmp_path, [PRICE, unfit, USELESS]), max_attempts=2, paths=("shop.py",))
        assert old["outcome"]["reason"] == "attempt_limit"
        new = engine.resume(old["job_id"], Anew(proposer="caller"))
        assert new.job.wait(100) == "waiting_for_edits"
        told = new.job.data()
        assert [(a["state"], a["kept"]) for a in told["attempts"]] == [("improved", True)]  # type: ignore[index, union-attr]
        brief = new.run.brief
        assert [t.state for t in brief.tried][:3] == ["improved", "refused", "same"]
        assert "closest place" in brief.tried[1].result
        assert "n * 4" in brief.tried[2].diff
        assert brief.failing == ("test_shop.py::test_tax",)
        done = ok(engine, "submit_fix", job_id=new.job.id, replacements=TAX)
        assert done["outcome"]["reason"] == "fixed"
        record = find_run(engine.store, new.job.id)
        assert (record.request["resumes"], record.request["paths"], record.request["max_attempts"]) == (
            old["job_id"], ["shop.py"], 2,
        )  # fmt: skip
    assert "n + 2" in (root / "shop.py").read_text()


@thorough
def test_a_resumed_run_is_resumed_again_with_all_that_was_tried(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    others = [[replacement("calc.py", BUG, f"    return s * rate * {n}")] for n in (5, 7)]
    with engine_on(root) as engine:
        first = run_script(engine, script(tmp_path, [WRONG, others[0]]), max_attempts=2)
        second = engine.resume(first["job_id"], Anew(script=script(tmp_path, [others[1]]), max_attempts=1))
        assert second.job.wait(100) == "done"
        third = engine.resume(second.job.id, Anew(script=script(tmp_path, [RIGHT])))
        assert [t.number for t in third.run.request.history] == [1, 2, 3]
        assert third.job.stop(30)


def test_half_a_fix_is_left_behind_where_that_is_asked_for_and_then_not_handed_in_again(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", HALVES)
    before = fingerprint(root)
    with engine_on(root) as engine:
        assert engine.session().last_change() == ""
        failed = run_script(engine, script(tmp_path, [PRICE]))["outcome"]
        assert (failed["reason"], failed["kept"], failed["restored"]) == ("proposer_failed", False, True)
        assert failed["hint"].startswith("The script has no further proposal. ")
        assert differences(before, fingerprint(root)) == []
        assert engine.session().last_change() == ""
        old = run_script(engine, script(tmp_path, [PRICE]), keep_partial=True)
        end = old["outcome"]
        assert (end["reason"], end["kept"], end["fixed"]) == ("proposer_failed", True, False)
        assert end["kept_files"] == ["shop.py"]
        assert end["fixed_tests"] == ["test_shop.py::test_price"]
        assert differences(before, fingerprint(root)) == ["shop.py"]
        new = engine.resume(old["job_id"], Anew(script=script(tmp_path, [TAX])))
        assert new.job.wait(100) == "done"
        assert [a["state"] for a in new.job.data()["attempts"]] == ["passed"]  # type: ignore[index, union-attr]


def test_a_resumed_run_takes_the_rest_of_the_script_and_one_that_ended_well_is_not_resumed(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        options = FixOptions(proposer="scripted", script=script(tmp_path, [WRONG, RIGHT]), max_attempts=1)
        old = engine.fix(engine.session(), options)
        assert old.job.wait(100) == "done"
        assert old.run.outcome is not None and old.run.outcome.reason == "attempt_limit"
        new = engine.resume(old.job.id)
        assert new.job.wait(100) == "done"
        assert new.run.outcome is not None
        assert (new.run.outcome.reason, [a.state for a in new.run.attempts]) == ("fixed", ["passed"])
        with pytest.raises(UsageError, match="ended as fixed"):
            engine.resume(new.job.id)
        with pytest.raises(UsageError, match="there is no run"):
            engine.resume("job-none")
        tests = ok(engine, "run_tests")
        with pytest.raises(UsageError, match="only ran tests"):
            engine.resume(tests["job_id"])


@thorough
def test_a_script_that_is_used_up_is_not_asked_again_and_a_run_at_work_is_not_resumed(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        old = run_script(engine, script(tmp_path, [WRONG]))
        with pytest.raises(UsageError, match="is used up"):
            engine.resume(old["job_id"])
        job = waiting_for_edits(engine)
        with pytest.raises(Busy, match="still runs"):
            engine.resume(job)


def scripted(store: Store, repo: str, name: str, path: Path, judged: list[Proposal], **asked: object) -> None:
    """The record of a run that was ended when it had judged these proposals."""
    every = ScriptedProposer.from_file(path).left
    request = {"proposer": "scripted", "script": str(path), "script_hash": script_hash(every), **asked}
    row(store, name, repo)
    with store.transaction() as db:
        db.execute("UPDATE runs SET request = ? WHERE id = ?", (json.dumps(request), name))
    for number, proposal in enumerate(judged, 1):
        state = AttemptState.IMPROVED if proposal == every[0] else AttemptState.SAME
        attempt = Attempt(number, state, kept=proposal == every[0])
        Recorder(store, name).attempt(number, proposal, attempt)


def test_a_script_goes_on_with_the_first_proposal_that_was_not_judged(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    path = script(tmp_path, [PRICE, USELESS, TAX])
    steps = ScriptedProposer.from_file(path).left
    with engine_on(root) as engine:
        session = engine.session()

        def goes_on(name: str) -> tuple[int, tuple[Proposal, ...]]:
            options = resumed(session, name, Anew())
            assert (options.proposer, options.script) == ("scripted", path)
            return options.script_from, options.first

        scripted(engine.store, session.key, "job-1", path, [])
        assert goes_on("job-1") == (0, ())
        scripted(engine.store, session.key, "job-2", path, list(steps[:2]))
        assert goes_on("job-2") == (2, steps[:1])
        again = {"resumes": "job-2", "first": 1, "script_from": 2}
        scripted(engine.store, session.key, "job-3", path, [], **again)  # ended before it judged what was kept
        assert goes_on("job-3") == (2, steps[:1])
        scripted(engine.store, session.key, "job-4", path, [steps[0], steps[2]], **again)
        with pytest.raises(UsageError, match="script of job-4 is used up"):
            goes_on("job-4")


def test_a_script_that_is_gone_or_changed_is_not_gone_on_with(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    path = script(tmp_path, [PRICE, TAX])
    with engine_on(root) as engine:
        scripted(engine.store, engine.session().key, "job-1", path, [])
        script(tmp_path, [PRICE, USELESS])
        with pytest.raises(UsageError, match="the script of job-1, has changed since"):
            resumed(engine.session(), "job-1", Anew())
        path.unlink()
        with pytest.raises(UsageError, match="the script of job-1 cannot be read again"):
            resumed(engine.session(), "job-1", Anew())


# --- replay ------------------------------------------------------------------------------------------


@thorough
def test_a_replay_comes_out_the_same_and_leaves_the_tree_and_no_copy(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "t").mkdir()
    root = red_repo(tmp_path / "r")
    missing = [replacement("calc.py", "no such line", "x")]
    with engine_on(root) as engine:
        done = run_script(engine, script(tmp_path, [WRONG, missing, RIGHT]))
        assert [a["state"] for a in done["attempts"]] == ["same", "refused", "passed"]
        before = fingerprint(root)
        again = replay(engine.session(), done["job_id"])
    assert (again.same, again.differences, again.replayed) == (True, (), 3)
    assert again.outcome["reason"] == "fixed"
    assert again.notes == ()
    assert fingerprint(root) == before
    assert list((tmp_path / "t").iterdir()) == []


@thorough
def test_a_replay_that_comes_out_otherwise_says_in_what(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        done = run_script(engine, script(tmp_path, [RIGHT]))
        (root / "test_calc.py").write_text(
            "from calc import total\n\n\ndef test_total():\n    assert total([1], 1) == 9\n"
        )
        again = replay(engine.session(), done["job_id"])
    assert again.same is False
    assert any(d.startswith("attempt 1: state") for d in again.differences)
    assert any(d.startswith("end: fixed then") for d in again.differences)
    assert any("changed since the run began" in n and "test_calc.py" in n for n in again.notes)


def test_a_run_that_was_ended_from_outside_is_replayed_as_far_as_it_came_on_the_files_of_its_time(
    tmp_path: Path,
) -> None:
    """What regreen changed since is taken from its journal."""
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        job = waiting_for_edits(engine)
        ok(engine, "submit_fix", job_id=job, replacements=WRONG)
        ok(engine, "job_cancel", job_id=job)
        ok(engine, "apply_edits", replacements=RIGHT)
        fixed = (root / "calc.py").read_text()
        again = replay(engine.session(), job, keep=tmp_path / "kept")
        assert (again.same, again.replayed) == (True, 1), again.differences
        assert any("ended from outside (cancelled)" in n for n in again.notes)
        assert (tmp_path / "kept" / "copy" / "r" / "calc.py").read_text() == CALC
        assert (root / "calc.py").read_text() == fixed
        with pytest.raises(UsageError, match="not an empty folder"):
            replay(engine.session(), job, keep=tmp_path / "kept")
        with pytest.raises(UsageError, match="in the repository"):
            replay(engine.session(), job, keep=root / "kept")


def test_what_the_run_ended_for_is_found_again_without_a_test(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"test_ok.py": "def test_ok(): pass\n"})
    with engine_on(root) as engine:
        done = run_script(engine, script(tmp_path, []))
        again = replay(engine.session(), done["job_id"])
    assert (again.same, again.replayed, again.outcome["reason"]) == (True, 0, "already_green")
