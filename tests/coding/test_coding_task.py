"""Coding tasks in real repositories with a scripted model: what stays, what is taken back, whose word counts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.engines import QUICK, engine_on, ok, refused
from support.repos import BUG, CALC, CALC_TESTS, FIX, differences, dirty_repo, fingerprint, git, make_repo, red_repo
from support.tasks import calls, edits, replies, run_task, says

import regreen
from regreen.errors import RegreenError
from regreen.events import Event
from regreen.model import Proposal, Replacement
from regreen.policy import Ask
from regreen.session import Engine, FixOptions
from regreen.session.tasks import TaskOptions
from regreen.settings import load_settings

pytestmark = pytest.mark.usefixtures("few_looks")

RIGHT = edits("calc.py", BUG, FIX)
WRONG = edits("calc.py", BUG, "    return s * rate")
TESTS = ("test_calc.py",)
DONE = says("Done.")


@contextmanager
def asking_engine(root: Path, approve: Callable[[Ask], bool]) -> Generator[Engine]:
    settings = replace(load_settings(dict(os.environ), roots=(root,), mode="ask"), test_environ=QUICK)
    with Engine(settings, cwd=root, approve=approve) as engine:
        yield engine


def end_of(data: dict[str, Any]) -> dict[str, Any]:
    assert "outcome" in data, data
    return data["outcome"]


def test_a_task_whose_tests_turn_green_is_fixed_by_the_engines_verdict(tmp_path: Path) -> None:
    root = dirty_repo(tmp_path / "r")
    before = fingerprint(root)
    events: list[Event] = []
    look = calls(("read_file", {"path": "calc.py"}), ("run_tests", {"selection": ["test_calc.py"]}))
    with engine_on(root) as engine:
        data = run_task(engine, replies(tmp_path, [look, RIGHT, DONE]), selection=TESTS, events=events)
    end = end_of(data)
    assert (end["reason"], end["fixed"], end["verified"]) == ("fixed", True, True), end
    assert end["evidence"]["goal_runs"] == "3/3"
    assert end["tests"]["status"] == "passed"
    assert end["kept_files"] == ["calc.py"]
    assert end["tree"]
    assert end["answer"] == "Done."
    assert "+" + FIX in data["diff"]
    assert data["usage"]["calls"] == 3
    assert differences(before, fingerprint(root)) == ["calc.py"]
    turns = [e.data["transition"] for e in events if e.kind == "turn_started"]
    assert turns == ["started", "next_turn", "next_turn"]
    assert {"tool_call", "tool_result", "edit_applied", "verified", "budget", "run_finished"} <= {
        e.kind for e in events
    }


def test_a_task_whose_tests_stay_red_leaves_every_byte_as_it_was(tmp_path: Path) -> None:
    root = dirty_repo(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root) as engine:
        data = run_task(engine, replies(tmp_path, [WRONG, DONE, DONE, DONE]), selection=TESTS)
        end = end_of(data)
        assert (end["reason"], end["restored"], end["verified"]) == ("no_progress", True, False)
        assert differences(before, fingerprint(root)) == []
        assert "+    return s * rate" in data["diff"]  # the work is not lost
        assert end["put_back"] in end["hint"]
        ok(engine, "restore", to=end["put_back"])
    assert "    return s * rate\n" in (root / "calc.py").read_text()


def test_without_tests_the_diff_is_kept_and_called_unverified(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    script = replies(tmp_path, [edits("notes/summary.md", "", "three tests\n"), DONE])
    with engine_on(root) as engine:
        data = run_task(engine, script)
        end = end_of(data)
        assert (end["reason"], end["verified"], end["fixed"], end["kept_files"]) == (
            "completed", False, False, ["notes/summary.md"],
        )  # fmt: skip
        assert (root / "notes/summary.md").read_text() == "three tests\n"
        ok(engine, "restore", to=data["job_id"])
    assert not (root / "notes").exists()


def test_a_task_can_neither_edit_the_tests_that_it_must_pass_nor_say_that_it_is_done_while_they_fail(
    tmp_path: Path,
) -> None:
    root = red_repo(tmp_path / "r")
    events: list[Event] = []
    cheat = edits("test_calc.py", "    assert total([10, 20], 0.5) == 45", "    assert True")
    right = edits("calc.py", "    return s * rate", FIX)
    with engine_on(root) as engine:
        script = replies(tmp_path, [cheat, WRONG, DONE, right, DONE])
        data = run_task(engine, script, selection=TESTS, events=events)
    assert end_of(data)["reason"] == "fixed"
    results = [e.data for e in events if e.kind == "tool_result"]
    assert [(r["is_error"], r["denied"]) for r in results] == [(True, True), (False, False), (False, False)]
    assert {"tool_denied", "not_verified"} <= {e.data.get("transition") for e in events}
    assert git(root, "status", "--porcelain").strip() == "M calc.py"


def test_a_test_may_be_added_and_counts(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"calc.py": CALC.replace(BUG, FIX), "test_calc.py": CALC_TESTS})
    end_of_tests = "    assert mean([1, 3]) == 2"
    test = edits("test_calc.py", end_of_tests, f"{end_of_tests}\n\n\ndef test_more():\n    assert mean([2, 4]) == 3")
    with engine_on(root) as engine:
        data = run_task(engine, replies(tmp_path, [test, DONE]), selection=TESTS)
    end = end_of(data)
    assert (end["reason"], end["verified"], end["fixed"]) == ("completed", True, False)
    assert end["tests"]["counts"]["passed"] == 4


def test_named_tests_that_are_not_there_end_the_task_before_a_model_is_asked(tmp_path: Path) -> None:
    """Tests that the model would write itself prove nothing."""
    root = red_repo(tmp_path / "r")
    written = edits("test_shp.py", "", "def test_x():\n    pass\n")
    with engine_on(root) as engine:
        data = run_task(engine, replies(tmp_path, [written, DONE]), selection=("test_shp.py",))
    end = end_of(data)
    assert (end["reason"], end["verified"], data["usage"]["calls"]) == ("environment", False, 0)
    assert "test_shp.py" in end["why"]


def test_work_that_is_green_is_kept_however_the_agent_ended(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        data = run_task(engine, replies(tmp_path, [RIGHT, {"error": "unauthorized"}]), selection=TESTS)
    end = end_of(data)
    assert (end["reason"], end["kept"]) == ("fixed", True)
    assert end["why"]


def test_a_model_that_cannot_be_asked_ends_the_task_with_the_reason(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root) as engine:
        script = replies(tmp_path, [edits("new.txt", "", "x\n"), {"error": "unauthorized"}])
        end = end_of(run_task(engine, script))
    assert (end["reason"], end["restored"]) == ("model_error", True)
    assert differences(before, fingerprint(root)) == []


def test_a_question_that_nobody_answers_ends_the_task_with_it(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        script = replies(tmp_path, [calls(("ask_user", {"question": "Which rate?"}))])
        end = end_of(run_task(engine, script))
    assert (end["reason"], end["question"]) == ("needs_user", "Which rate?")
    assert "Answer the question" in end["hint"]


def test_while_a_task_holds_the_tree_others_are_told_who_does(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        script = replies(tmp_path, [{"hang": True}])
        task = engine.task(engine.session(), TaskOptions("x", provider="scripted", script=script))
        refused = engine.call("apply_edits", {"replacements": [{"path": "a.txt", "search": "", "replace": "x\n"}]})
        assert refused.data["error"]["kind"] == "busy"  # type: ignore[index, call-overload]
        assert task.job.id in refused.text
        assert ok(engine, "read_file", path="calc.py")["text"] == CALC
        cancelled = ok(engine, "job_cancel", job_id=task.job.id)
        assert cancelled["outcome"]["reason"] == "cancelled"
        assert cancelled["restored"] is True


def test_in_plan_mode_the_agent_reads_and_is_told_that_it_may_not_write(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root, mode="plan") as engine:
        data = run_task(engine, replies(tmp_path, [calls(("read_file", {"path": "calc.py"})), RIGHT, says("I would.")]))
    end = end_of(data)
    assert (end["reason"], end["answer"], end["kept_files"]) == ("completed", "I would.", [])
    assert differences(before, fingerprint(root)) == []


def test_in_ask_mode_each_edit_is_asked_for_with_its_diff_and_a_no_goes_to_the_model(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    asked: list[Ask] = []

    def approve(question: Ask) -> bool:
        asked.append(question)
        return len(asked) > 1

    with asking_engine(root, approve) as engine:
        events: list[Event] = []
        data = run_task(engine, replies(tmp_path, [WRONG, RIGHT, DONE]), events=events)
    assert end_of(data)["kept_files"] == ["calc.py"]
    assert "+    return s * rate\n" in asked[0].about
    assert "+" + FIX in asked[1].about
    assert [e.data["allowed"] for e in events if e.kind == "permission"] == [False, True]
    assert "tool_denied" in [e.data.get("transition") for e in events]


def test_a_yes_that_comes_after_the_task_was_cancelled_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regreen.agent.toolbox.Toolbox.close.__defaults__", (0.2,))  # it would only be waited out
    root = red_repo(tmp_path / "r")
    before = fingerprint(root)
    asked, go_on = threading.Event(), threading.Event()
    workers: list[threading.Thread] = []

    def approve(_question: Ask) -> bool:
        workers.append(threading.current_thread())
        asked.set()
        assert go_on.wait(60)
        return True

    with asking_engine(root, approve) as engine:
        options = TaskOptions("x", provider="scripted", script=replies(tmp_path, [RIGHT, DONE]))
        task = engine.task(engine.session(), options)
        assert asked.wait(60)
        assert ok(engine, "job_cancel", job_id=task.job.id)["outcome"]["reason"] == "cancelled"
        go_on.set()
        workers[0].join(60)
        assert not workers[0].is_alive()
    assert differences(before, fingerprint(root)) == []


@pytest.mark.parametrize("kind", ["task", "fix"])
def test_a_fault_of_our_own_leaves_the_tree_as_it_was(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever hears the events is foreign code: what it raises stands for any fault."""
    root = dirty_repo(tmp_path / "r")
    before = fingerprint(root)

    def raises(event: Event) -> None:
        if event.kind == "attempt_finished" or event.data.get("turn") == 2:
            raise ZeroDivisionError

    with engine_on(root) as engine:
        if kind == "task":
            options = TaskOptions("x", provider="scripted", script=replies(tmp_path, [RIGHT, DONE]))
            job = engine.task(engine.session(), options, on_event=raises).job
        else:
            fix_job = engine.fix(engine.session(), FixOptions(proposer="caller"))
            assert fix_job.job.wait(100) == "waiting_for_edits"
            fix_job.run._log.subscribe(raises)
            fix_job.submit(Proposal(replacements=(Replacement("calc.py", BUG, FIX),)))
            job = fix_job.job
        while job.wait(100) != "done":
            pass
        assert job.error is not None and job.error.kind == "internal"
        assert differences(before, fingerprint(root)) == []
    assert "ZeroDivisionError" in caplog.text


def test_a_killed_task_is_put_back_at_the_next_start(tmp_path: Path) -> None:
    root = dirty_repo(tmp_path / "r")
    before = fingerprint(root)
    script = replies(tmp_path, [RIGHT, edits("notes/new.txt", "", "x\n"), {"hang": True}])
    argv = [sys.executable, "-m", "regreen", "do", "x", "--provider", "scripted", "--script", str(script)]
    argv += ["--mode", "accept-edits", "--events", "-", "--repo", str(root)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                event = json.loads(line)
                if event["kind"] == "turn_started" and event["turn"] == 3:
                    break
        finally:
            process.kill()
    assert {"calc.py", "notes/new.txt"} <= set(differences(before, fingerprint(root)))
    with engine_on(root) as engine:
        engine.session()
        assert len(engine.recovered) == 1
        status = ok(engine, "job_status", job_id=event["run_id"])
    assert status["outcome"]["reason"] == "cancelled"
    assert differences(before, fingerprint(root)) == []


def test_an_answer_to_a_question_goes_on_with_the_task(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        script = replies(tmp_path, [calls(("ask_user", {"question": "Which?", "options": ["plus", "minus"]})), DONE])
        options = TaskOptions("x", provider="scripted", script=script)
        task = engine.task(engine.session(), options, ask=lambda _question, choices, _cancel: choices[0])
        assert task.job.wait(100) == "done"
    assert end_of(task.job.data())["reason"] == "completed"


def test_a_budget_of_tokens_ends_the_task_and_is_never_exceeded(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    look = {**calls(("read_file", {"path": "calc.py"})), "usage": {"input": 9_000, "output": 100}}
    with engine_on(root) as engine:
        data = run_task(engine, replies(tmp_path, [look] * 5), budget_tokens=20_000)
    end = end_of(data)
    assert (end["reason"], end["restored"]) == ("budget", True), end
    assert data["usage"]["tokens"] <= 20_000


def test_code_that_tampers_with_the_tests_is_found_by_the_verdict(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    text = (root / "calc.py").read_text()
    cheat = "from pathlib import Path\nPath(__file__).with_name('test_calc.py').write_text('def test_total(): pass')\n"
    before = fingerprint(root)
    with engine_on(root) as engine:
        first = text.splitlines()[0]
        script = replies(tmp_path, [edits("calc.py", first, cheat + first), DONE, DONE, DONE])
        end = end_of(run_task(engine, script, selection=TESTS))
    assert end["verified"] is False
    assert end["reason"] in ("tampered", "no_progress")
    assert differences(before, fingerprint(root)) == []


def test_a_task_that_cannot_be_run_here_says_so_before_a_model_is_asked(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"test_x.py": "import surely_not_installed_anywhere\n\ndef test_x():\n    pass\n"})
    with engine_on(root) as engine:
        data = run_task(engine, replies(tmp_path, [DONE]), selection=("test_x.py",))
    end = end_of(data)
    assert (end["reason"], data["usage"]["calls"]) == ("environment", 0), end
    assert "surely_not_installed_anywhere" in end["why"]


def test_a_test_run_of_the_agents_ends_with_the_tasks_time(tmp_path: Path) -> None:
    slow = "import time\n\ndef test_slow():\n    time.sleep(60)\n"
    root = make_repo(tmp_path / "r", {"test_slow.py": slow})
    with engine_on(root) as engine:
        begin = time.monotonic()
        data = run_task(engine, replies(tmp_path, [calls(("run_tests", {})), DONE]), budget_s=2.0)
        took_s = time.monotonic() - begin
    assert end_of(data)["reason"] == "budget"
    assert took_s < 30


def test_a_number_of_turns_that_was_asked_for_is_given(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    looks = [calls(("search_text", {"pattern": f"total{n}"})) for n in range(3)]
    reads = [calls(("read_file", {"path": "calc.py", "start_line": n + 1})) for n in range(7)]
    events: list[Event] = []
    with engine_on(root) as engine:
        script = replies(tmp_path, [*reads, *looks[:1], DONE])
        end = end_of(run_task(engine, script, max_turns=29, events=events))
    assert end["reason"] == "completed"
    assert {e.data["limit"] for e in events if e.kind == "turn_started"} == {29}
    assert end["evidence"]["usage"]["tokens"] > 0


def test_bad_options_are_refused_before_anything_happens(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    scripted = TaskOptions("x", provider="scripted", script=replies(tmp_path, [DONE]))
    with engine_on(root) as engine:
        for options, said in (
            (TaskOptions("  "), "the task is empty"),
            (TaskOptions("x", provider="scripted"), "belong together"),
            (TaskOptions("x", max_turns=1000), "max_turns is 1000"),
            (TaskOptions("x", provider="anthropic"), "no key"),
            (replace(scripted, system_prompt_file=tmp_path / "none.md"), "cannot be read"),
        ):
            with pytest.raises(RegreenError, match=said):
                engine.task(engine.session(), options)
        assert not engine.jobs.any_running()
        assert ok(engine, "apply_edits", replacements=[{"path": "a", "search": "", "replace": "x\n"}])["ok"]


def test_without_a_configured_model_the_tool_says_what_to_type(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        error = refused(engine, "coding_task", task="x")
    assert error["kind"] == "config_refused"
    assert "ANTHROPIC_API_KEY" in error["hint"]


def test_a_program_lends_the_agent_a_tool_of_its_own_and_gets_the_end_as_values(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    heard: list[str] = []

    @regreen.tool(read_only=True)
    def lookup_ticket(number: int) -> str:
        """Look up a ticket of the tracker."""
        return f"ticket {number}: the rate is added"

    script = replies(tmp_path, [calls(("lookup_ticket", {"number": 7})), RIGHT, DONE])
    with regreen.open(root) as session:
        options = TaskOptions("do it", provider="scripted", script=script)
        done = session.do(options, tools=[lookup_ticket], on_event=lambda e: heard.append(e.kind))
    assert (done.outcome.reason, done.outcome.kept_files, done.usage.calls) == ("completed", ("calc.py",), 3)
    assert "+" + FIX in done.diff
    assert heard.count("tool_result") == 2
