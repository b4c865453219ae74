"""Jobs that are asked for from elsewhere: by another process, after a restart, after their own process died."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.cases import sample
from support.cli import Shell
from support.engines import engine_on, ok, refused, replacement, script
from support.mcp_clients import REGREEN, raw_server, server_environment
from support.processes import carrying, until
from support.repos import BUG, differences, dirty_repo, fingerprint, make_repo, red_repo

from regreen.jobs import Job, Jobs, born, lives
from regreen.store import Store, new_id

pytestmark = pytest.mark.timeout(300)  # whole runs, each several processes
TESTS = Path(__file__).parent.parent
HOLDS = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from regreen.fix import baseline
from support.engines import engine_on, ok, replacement, waiting_for_edits
from support.fixing import LOOKS
from support.repos import BUG

baseline.RUNS = LOOKS
with engine_on(Path(sys.argv[1])) as engine:
    job = waiting_for_edits(engine)
    ok(engine, "submit_fix", job_id=job, replacements=[replacement("calc.py", BUG, "    return s * rate")])
    engine.jobs.live(job).wait(100)
    print(job, flush=True)
    if sys.stdin.readline() == "die in an attempt\\n":
        def die(event):
            if event.kind == "tests_started":
                print("dying", flush=True)
                os.kill(os.getpid(), 9)
        engine.fix_job(job).run._log.subscribe(die)
        ok(engine, "submit_fix", job_id=job, replacements=[replacement("calc.py", BUG, "    return rate")])
"""
STUBBORN = """
import signal, time
from pathlib import Path

signal.signal(signal.SIGTERM, signal.SIG_IGN)


def test_a():
    pass


def test_slow():
    Path({started!r}).touch()
    time.sleep(60)
"""


@contextmanager
def holder(root: Path) -> Generator[tuple[subprocess.Popen[str], str]]:
    """Another process with a fix run that waits for edits, after one attempt; and the run's id."""
    command = [sys.executable, "-c", HOLDS, str(root), str(TESTS)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_a_job_of_another_process_is_seen_as_it_is_there_and_waited_for(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine, holder(root) as (process, job):
        assert until(lambda: ok(engine, "job_status", job_id=job, wait_s=0)["state"] == "waiting_for_edits")
        seen = ok(engine, "job_status", job_id=job)
        assert [(a["number"], a["state"]) for a in seen["attempts"]] == [(1, "same")]
        assert seen["brief"]["attempts_left"] == 5
        assert process.stdin is not None
        process.stdin.write("end\n")
        process.stdin.flush()
        assert until(lambda: ok(engine, "job_status", job_id=job, wait_s=5)["state"] == "done")
        done = ok(engine, "job_status", job_id=job)
        assert (done["state"], done["outcome"]["reason"], done["outcome"]["restored"]) == ("done", "cancelled", True)
        assert ok(engine, "job_cancel", job_id=job)["restored"] is True
        assert refused(engine, "submit_fix", job_id=job, text="x")["kind"] == "invalid_arguments"


def test_a_job_whose_process_was_killed_is_put_back_at_home_and_unknown_elsewhere(tmp_path: Path) -> None:
    root, elsewhere = dirty_repo(tmp_path / "r"), red_repo(tmp_path / "other")
    before = fingerprint(root)
    with engine_on(root) as home, holder(root) as (process, job):
        assert until(lambda: ok(home, "job_status", job_id=job, wait_s=0)["state"] == "waiting_for_edits")
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("die in an attempt\n")
        process.stdin.flush()
        assert process.stdout.readline() == "dying\n"
        assert process.wait(60) == -signal.SIGKILL
        assert differences(before, fingerprint(root)) != []
        with engine_on(elsewhere) as other:
            for tool in ("job_status", "job_cancel"):
                assert refused(other, tool, job_id=job)["kind"] == "not_found", "it serves another repository"
        assert differences(before, fingerprint(root)) != []
        done = ok(home, "job_status", job_id=job)
        assert (done["state"], done["outcome"]["reason"], done["outcome"]["restored"]) == ("done", "cancelled", True)
        assert [(a["number"], a["state"]) for a in done["attempts"]] == [(1, "same")]
        assert differences(before, fingerprint(root)) == []


def test_jobs_that_ended_long_ago_are_told_of_by_the_record_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "state")
    jobs = Jobs(store)
    made = [Job(new_id("job"), "fix", "key", store, {}) for _ in range(30)]
    for job in made:
        jobs.add(job)
        job.start(lambda: None, lambda: {"outcome": {"reason": "fixed"}})
        job.wait_for_end()
    assert jobs.live(made[0].id) is None
    assert jobs.live(made[-1].id) is made[-1]
    told = jobs.recorded(made[0].id)
    assert (told["state"], told["outcome"]) == ("done", {"reason": "fixed"})
    store.close()


def test_another_process_of_the_same_number_is_not_the_jobs(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        key = engine.session().key
        with engine.store.transaction() as db:
            db.execute(
                "INSERT INTO runs (id, repo, kind, state, created, pid, born, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                ("job-old", key, "fix", "running", 1, os.getpid(), "another boot 17", "{}"),
            )
        assert ok(engine, "job_status", job_id="job-old")["state"] != "running"


def test_a_process_is_told_from_a_later_one_of_its_number() -> None:
    mine = born(os.getpid())
    assert mine is not None
    assert lives(os.getpid(), mine)
    assert lives(os.getpid(), "")
    assert lives(os.getpid(), mine + "1") is (mine == "")
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    assert until(lambda: born(child.pid) is None)  # ended, though nobody has waited for it
    child.wait()
    assert not lives(child.pid, "")


def test_stubborn_tests_have_ended_when_a_cancel_is_answered_and_those_of_a_dead_process_are_closed_as_cancelled(
    tmp_path: Path,
) -> None:
    mark = f"stubborn_{uuid.uuid4().hex}"
    started = tmp_path / "seen" / "started"
    root = make_repo(tmp_path / "r", {f"test_{mark}.py": STUBBORN.format(started=str(started))})
    command = [*REGREEN, "serve", "--root", str(root)]
    with raw_server(command, cwd=tmp_path, env=server_environment(tmp_path)) as server:
        server.initialize()
        for tool in sample(("run_tests", "fix_tests"), 2):
            job = server.call(tool, selection=[f"test_{mark}.py"], wait_s=0).data["job_id"]
            assert until(started.exists, 60)
            cancelled = server.call("job_cancel", limit_s=10, job_id=job)
            assert (cancelled.is_error, cancelled.data["state"]) == (False, "done")
            assert carrying(mark) == []
            assert server.call("job_status", job_id=job, wait_s=0).data["state"] == "done"
            started.unlink()
        job = server.call("run_tests", wait_s=0).data["job_id"]
        assert until(started.exists, 60)
        server.process.kill()
        server.process.wait()
    with raw_server(command, cwd=tmp_path, env=server_environment(tmp_path)) as server:
        server.initialize()
        done = server.call("job_status", job_id=job, wait_s=0)
        assert not done.is_error
        assert (done.data["state"], done.data["status"]) == ("done", "cancelled")
        assert "run them again" in done.data["message"]


def test_progress_says_how_many_tests_are_done(tmp_path: Path) -> None:
    many = "import pytest\n\n\n@pytest.mark.parametrize('n', range(12))\ndef test_n(n):\n    pass\n"
    root = make_repo(tmp_path / "r", {"test_many.py": many})
    said: list[str] = []
    with engine_on(root) as engine:
        engine.call("run_tests", {}, on_progress=said.append)
        engine.call("fix_tests", {"proposer": "caller"}, on_progress=said.append)
    assert any("of 12" in text and text.startswith("tests: ") for text in said)
    assert any("of 12" in text and text.startswith("baseline: tests: ") for text in said)


def test_a_killed_commands_run_is_told_by_the_next_command(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    (root / "test_hang.py").write_text(STUBBORN.format(started=str(tmp_path / "home" / "seen" / "started")))
    shell = Shell(tmp_path, root)
    from support.mcp_clients import allow_writing

    (tmp_path / "home").mkdir()
    allow_writing(tmp_path / "home", tmp_path / "home" / "seen")
    steps = str(script(tmp_path, [[replacement("calc.py", BUG, "    return s")]]))
    with shell.started("fix", "--script", steps) as process:
        assert until((tmp_path / "home" / "seen" / "started").exists, 60)
        running = shell.run("runs", "list", "--json").document["runs"][0]
        assert running["state"] == "running"
        process.kill()
        process.wait()
    assert shell.run("runs", "list", "--json").document["runs"][0]["state"] == "interrupted"
    shell.run("skeleton")
    ended = shell.run("runs", "show", running["id"], "--json").document
    assert (ended["state"], ended["reason"]) == ("done", "cancelled")
