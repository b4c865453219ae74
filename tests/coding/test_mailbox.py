"""Messages to a run from another process on the same state folder: fixes, words for the agent, cancelling."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.agent_runs import Recorded
from support.engines import engine_on, ok, refused, replacement
from support.processes import until
from support.repos import BUG, differences, fingerprint, red_repo
from support.tasks import calls, replies, says

from regreen.agent.steering import MAX_CHARS, MAX_WAITING, Steering
from regreen.errors import Busy, UsageError
from regreen.session import mailbox
from regreen.session.mailbox import delivered, send
from regreen.session.tasks import TaskOptions
from regreen.store import Store

TESTS = Path(__file__).parent.parent
WRONG = replacement("calc.py", BUG, "    return s * rate")
OWNER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from regreen.fix import baseline
from support.engines import engine_on, waiting_for_edits
from support.fixing import LOOKS

baseline.RUNS = LOOKS
with engine_on(Path(sys.argv[1])) as engine:
    print(waiting_for_edits(engine), flush=True)
    sys.stdin.readline()
"""


@contextmanager
def owner(root: Path) -> Generator[str]:
    """The id of a run that waits for edits in another process."""
    command = [sys.executable, "-c", OWNER, str(root), str(TESTS)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_a_run_of_another_process_takes_fixes_refuses_what_it_cannot_take_and_is_cancelled(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root) as engine, owner(root) as job:
        assert until(lambda: ok(engine, "job_status", job_id=job, wait_s=0)["state"] == "waiting_for_edits")
        seen = ok(engine, "job_status", job_id=job)
        assert seen["attempts"] == []
        assert seen["brief"]["failing"]
        judged = ok(engine, "submit_fix", job_id=job, replacements=[WRONG])
        assert (judged["state"], judged["attempt"]["state"]) == ("waiting_for_edits", "same")
        assert judged["attempt"]["edits"][0]["status"] == "applied"
        assert [a["number"] for a in judged["attempts"]] == [1]
        with pytest.raises(UsageError, match="hears no messages"):
            engine.steer(job, "faster")
        cancelled = ok(engine, "job_cancel", job_id=job)
        assert (cancelled["state"], cancelled["restored"]) == ("done", True)
        assert refused(engine, "submit_fix", job_id=job, replacements=[WRONG])["kind"] == "invalid_arguments"
        rows = engine.store.rows("SELECT kind, body FROM messages WHERE run = ? ORDER BY sent", job)
        assert [tuple(r) for r in rows] == [("fix", ""), ("cancel", "")]
    assert differences(before, fingerprint(root)) == []


def test_a_message_that_nobody_takes_is_taken_back_and_the_sender_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailbox, "REACT_S", 0.2)
    store = Store(tmp_path / "state")
    assert not delivered(store, send(store, "job-1", "cancel", {}), alive=lambda: True)
    assert not delivered(store, send(store, "job-1", "cancel", {}), alive=lambda: False)
    assert store.rows("SELECT * FROM messages") == []
    store.close()


def test_messages_are_bounded_in_size_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox, "_MAX_BODY", 100)
    store = Store(tmp_path / "state")
    with pytest.raises(UsageError) as caught:
        send(store, "job-1", "fix", {"text": "x" * 100})
    assert caught.value.kind == "limit_exceeded"
    for _ in range(mailbox._MOST_WAITING):
        send(store, "job-1", "cancel", {})
    with pytest.raises(Busy):
        send(store, "job-1", "cancel", {})
    send(store, "job-2", "cancel", {})
    store.close()


def test_words_for_the_agent_are_told_at_its_next_turn_from_here_and_from_elsewhere(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    script = replies(tmp_path, [calls(("read_file", {"path": "calc.py"})), says("done."), says("done again.")])
    told: list[tuple[str, object]] = []
    with engine_on(root) as home, engine_on(root) as other:

        def hear(event: object) -> None:
            told.append((event.kind, dict(event.data)))  # type: ignore[attr-defined]
            if told[-1][0] == "model_response" and told[-1][1]["stop_reason"] == "end_turn" and not said:  # type: ignore[index]
                said.append(other.steer(str(event.run_id), "and calc.py only"))  # type: ignore[attr-defined]

        said: list[object] = []
        job = home.task(home.session(), TaskOptions("do it", provider="scripted", script=script), on_event=hear).job
        assert job.wait(100) == "done"
        assert job.data()["outcome"]["answer"] == "done again."  # type: ignore[index,call-overload]
        with pytest.raises(UsageError, match="has ended"):
            home.steer(job.id, "too late")
    steered = [data for kind, data in told if kind == "steered"]
    assert [(d["text"], d["joined"]) for d in steered] == [("and calc.py only", True)]  # type: ignore[index]
    turns = [data["transition"] for kind, data in told if kind == "turn_started"]  # type: ignore[index]
    assert turns == ["started", "next_turn", "steered"]


def test_words_join_behind_tool_results_and_an_answer_that_was_taken_for_the_last_is_not() -> None:
    run = Recorded()
    run.uses()
    run.run.steered("look at b.py")
    run.uses()
    assert "look at b.py" in run.messages[-1].text
    run.says("all done")
    run.run.steered("and c.py")
    run.finds(ok=True)
    assert "and c.py" in run.asked.messages[-1].text
    run.says("really done").finds(ok=True)
    assert run.end.answer == "really done"
    assert run.transitions == ["started", "next_turn", "steered", "steered"]
    assert [e["joined"] for e in run.told("steered")] == [True, True]


def test_words_that_came_too_late_are_told_as_not_heard() -> None:
    run = Recorded(max_turns=1)
    run.run.steered("one more thing")
    run.says("the end")
    assert [dict(e) for e in run.told("steered")] == [{"text": "one more thing", "joined": False}]


def test_steering_refuses_what_is_empty_too_long_too_many_or_too_late() -> None:
    steering = Steering()
    for bad, kind in ((" ", "invalid_arguments"), ("x" * (MAX_CHARS + 1), "limit_exceeded")):
        with pytest.raises(UsageError) as caught:
            steering.put(bad)
        assert caught.value.kind == kind
    for number in range(MAX_WAITING):
        steering.put(str(number))
    with pytest.raises(Busy):
        steering.put("more")
    assert len(steering.close()) == MAX_WAITING
    with pytest.raises(UsageError, match="last turn"):
        steering.put("late")
