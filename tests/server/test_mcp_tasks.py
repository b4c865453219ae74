"""Long calls as tasks (`io.modelcontextprotocol/tasks`): of the product's server, over real stdio."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from support import messages_server as messages
from support.mcp_clients import (
    LEGACY_VERSION,
    MODERN_VERSION,
    REGREEN,
    RawServer,
    processes_with,
    raw_server,
    server_environment,
    until,
)
from support.repos import CALC, FIX, red_repo

from regreen_server.tasks_extension import EXTENSION

PREFIX = "io.modelcontextprotocol"
FORMS: dict[str, Any] = {"elicitation": {"form": {}}}
KEY = "sk-ant-test-0123456789abcdefghij"
METHOD_NOT_FOUND, INVALID_PARAMS, MISSING_CAPABILITY = -32601, -32602, -32021
SLEEPER = """import subprocess, sys


def test_sleeps():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(300)", "{mark}"], check=True)
"""


def meta(*, tasks: bool = True, forms: bool = False) -> dict[str, Any]:
    capabilities = {"extensions": {EXTENSION: {}} if tasks else {}, **(FORMS if forms else {})}
    about = {"protocolVersion": MODERN_VERSION, "clientInfo": {"name": "raw", "version": "1"},
             "clientCapabilities": capabilities}  # fmt: skip
    return {"_meta": {f"{PREFIX}/{name}": value for name, value in about.items()}}


def ask(server: RawServer, method: str, params: Mapping[str, Any], **offers: bool) -> dict[str, Any]:
    """The whole response."""
    return server.answer(server.start(method, {**params, **meta(**offers)}))


def call(server: RawServer, tool: str, arguments: Mapping[str, Any], **offers: bool) -> dict[str, Any]:
    response = ask(server, "tools/call", {"name": tool, "arguments": dict(arguments)}, **offers)
    assert "error" not in response, response
    return response["result"]


def get(server: RawServer, task_id: str, **offers: bool) -> dict[str, Any]:
    response = ask(server, "tasks/get", {"taskId": task_id}, **offers)
    assert "error" not in response, response
    return response["result"]


def polled(server: RawServer, task_id: str, *status: str, **offers: bool) -> dict[str, Any]:
    """The task once it has this status."""
    seen: list[dict[str, Any]] = []

    def there() -> bool:
        seen.append(get(server, task_id, **offers))
        return seen[-1]["status"] in status

    until(there, f"{task_id} is {status}", 90)
    return seen[-1]


def sole_question(task: Mapping[str, Any]) -> dict[str, Any]:
    assert task["status"] == "input_required", task
    (request,) = task["inputRequests"].values()
    assert request["method"] == "elicitation/create"
    return request["params"]


def update(server: RawServer, task: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The response to this answer to the task's only question."""
    (key,) = task["inputRequests"]
    return ask(server, "tasks/update", {"taskId": task["taskId"], "inputResponses": {key: answer}}, forms=True)


class Place:
    """A folder with a red repository, a state folder, and servers on both."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.root = red_repo(folder / "repo")

    def server(self, *options: str, **environ: str) -> RawServer:
        argv = [*REGREEN, "serve", "--root", str(self.root), *options]
        env = server_environment(self.folder, **environ)
        return self._stack.enter_context(raw_server(argv, cwd=self.folder, env=env))


@contextmanager
def coding_server(place: Place, *calls: tuple[str, Mapping[str, Any]]) -> Generator[RawServer]:
    """A server that asks before each edit, with a model that makes these calls, one a turn, and is done."""
    with messages.messages_server() as model:
        turns = [messages.call(f"call_{i}", name, dict(given)) for i, (name, given) in enumerate(calls)]
        model.script(
            *(messages.answer(turn, stop="tool_use") for turn in turns), messages.answer(messages.text("Done."))
        )
        yield place.server("--mode", "ask", ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=model.url)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(tmp_path, stack)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawServer]:
    with ExitStack() as stack:
        yield Place(tmp_path_factory.mktemp("place"), stack).server()


def test_a_fix_is_a_task_whose_result_any_server_on_the_state_folder_gives(place: Place) -> None:
    begun = call(server := place.server(), "fix_tests", {"proposer": "search"})
    assert (begun["resultType"], begun["status"]) == ("task", "working")
    assert begun["createdAt"] <= begun["lastUpdatedAt"] and begun["pollIntervalMs"] > 0 and begun["ttlMs"] > 0
    done = polled(server, begun["taskId"], "completed")
    assert (done["resultType"], done["taskId"]) == ("complete", begun["taskId"])
    assert done["result"]["structuredContent"]["outcome"]["reason"] == "fixed"
    assert FIX in (place.root / "calc.py").read_text("utf-8")
    assert ask(server, "tasks/cancel", {"taskId": begun["taskId"]})["result"]["resultType"] == "complete"

    again = get(place.server(), begun["taskId"])
    assert again["status"] == "completed"
    assert again["result"]["structuredContent"]["outcome"] == done["result"]["structuredContent"]["outcome"]


def test_who_does_not_declare_the_extension_is_answered_as_ever(server: RawServer) -> None:
    answer = call(server, "run_tests", {"wait_s": 45}, tasks=False)
    assert answer["resultType"] == "complete" and answer["structuredContent"]["status"] == "failed"
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        error = ask(server, method, {"taskId": "j1", "inputResponses": {}}, tasks=False)["error"]
        assert error["code"] == MISSING_CAPABILITY, error
        assert error["data"]["requiredCapabilities"] == {"extensions": {EXTENSION: {}}}


def test_a_short_call_is_answered_with_its_result_though_tasks_are_declared(server: RawServer) -> None:
    answer = call(server, "run_tests", {"wait_s": 45})
    assert answer["resultType"] == "complete" and answer["structuredContent"]["status"] == "failed"
    assert call(server, "read_file", {"path": "calc.py"})["resultType"] == "complete"


def test_a_run_that_its_caller_hands_fixes_to_is_no_task(server: RawServer) -> None:
    begun = call(server, "fix_tests", {"proposer": "caller", "wait_s": 45})
    assert begun["resultType"] == "complete" and begun["structuredContent"]["state"] == "waiting_for_edits"
    job_id = begun["structuredContent"]["job_id"]
    error = ask(server, "tasks/get", {"taskId": job_id})["error"]
    assert error["code"] == INVALID_PARAMS and "job_status" in error["message"]
    call(server, "job_cancel", {"job_id": job_id})


@pytest.mark.parametrize("task_id", ["nosuch", "../x", "", "é", "x" * 5000], ids=str.__len__)
def test_what_is_no_task_is_said_to_be_none(server: RawServer, task_id: str) -> None:
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        error = ask(server, method, {"taskId": task_id, "inputResponses": {}})["error"]
        assert error["code"] == INVALID_PARAMS and len(error["message"]) < 300, error


def test_requests_about_tasks_are_checked(server: RawServer) -> None:
    for params in ({}, {"taskId": 7}, {"taskId": None}):
        assert ask(server, "tasks/get", params)["error"]["code"] == INVALID_PARAMS
    for responses in ([], "yes", None):
        error = ask(server, "tasks/update", {"taskId": "abc", "inputResponses": responses})["error"]
        assert error["code"] == INVALID_PARAMS
    for method in ("tasks/list", "tasks/result"):
        assert ask(server, method, {"taskId": "abc"})["error"]["code"] == METHOD_NOT_FOUND


def test_in_the_era_before_there_are_no_tasks(place: Place) -> None:
    server = place.server()
    hello = {"protocolVersion": LEGACY_VERSION, "clientInfo": {"name": "raw", "version": "1"},
             "capabilities": {"extensions": {EXTENSION: {}}}}  # fmt: skip
    assert EXTENSION not in server.request("initialize", hello)["capabilities"].get("extensions", {})
    server.send({"method": "notifications/initialized"})
    assert server.answer(server.start("tasks/get", {"taskId": "abc"}))["error"]["code"] == METHOD_NOT_FOUND
    assert server.call("fix_tests", proposer="search", wait_s=45).data["state"] == "done"


def test_a_task_is_ended_from_another_server_with_all_that_it_started(place: Place) -> None:
    (place.root / "test_calc.py").write_text(SLEEPER.format(mark=(mark := f"mark-{os.getpid()}")), "utf-8")
    first, second = place.server(), place.server()
    begun = call(first, "run_tests", {"wait_s": 0})
    assert begun["resultType"] == "task"
    until(lambda: bool(processes_with(mark)), "the test runs", 60)
    for server in (second, second, first):
        assert "error" not in ask(server, "tasks/cancel", {"taskId": begun["taskId"]})
    assert polled(second, begun["taskId"], "cancelled", "completed")["status"] == "cancelled"
    assert polled(first, begun["taskId"], "cancelled", "completed")["status"] == "cancelled"
    until(lambda: not processes_with(mark), "the test is gone")


def test_a_task_whose_server_was_killed_is_cancelled_and_what_it_changed_is_back(place: Place) -> None:
    (place.root / "test_calc.py").write_text(SLEEPER.format(mark=f"killed-{os.getpid()}"), "utf-8")
    first = place.server()
    begun = call(first, "fix_tests", {"proposer": "search"})
    assert begun["status"] == "working"
    first.process.kill()
    first.wait()
    told = polled(place.server(), begun["taskId"], "cancelled", "completed")
    assert told["status"] == "cancelled" and told["statusMessage"]
    assert (place.root / "calc.py").read_text("utf-8") == CALC


def test_what_a_job_asks_comes_through_its_task(place: Place) -> None:
    new = {"replacements": [{"path": "note.txt", "search": "", "replace": "hello"}]}
    with coding_server(
        place, ("apply_edits", new), ("ask_user", {"question": "Which?", "options": ["a", "b"]})
    ) as server:
        begun = call(server, "coding_task", {"task": "write note.txt"}, forms=True)
        edit = polled(server, begun["taskId"], "input_required", "completed", forms=True)
        assert "note.txt" in sole_question(edit)["message"] and not (place.root / "note.txt").exists()
        refused = ask(server, "tasks/get", {"taskId": begun["taskId"]})
        assert refused["error"]["code"] == MISSING_CAPABILITY  # who shows no forms cannot answer
        wrong = update(server, edit, {"action": 7})
        assert wrong["error"]["code"] == INVALID_PARAMS and get(server, begun["taskId"], forms=True) == edit
        assert "result" in update(server, edit, {"action": "accept", "content": {"approve": "once"}})
        choice = polled(server, begun["taskId"], "input_required", "completed", forms=True)
        assert sole_question(choice)["message"] == "Which?" and (place.root / "note.txt").read_text() == "hello\n"
        assert set(choice["inputRequests"]).isdisjoint(edit["inputRequests"])
        assert "result" in update(server, edit, {"action": "decline"})  # answered before: passed over
        assert "result" in update(server, choice, {"action": "accept", "content": {"answer": "b"}})
        done = polled(server, begun["taskId"], "completed", forms=True)
    assert done["result"]["structuredContent"]["outcome"]["reason"] == "completed", done
    assert (place.root / "note.txt").read_text() == "hello\n"


def test_a_no_through_a_task_leaves_the_tree_as_it_was(place: Place) -> None:
    new = {"replacements": [{"path": "note.txt", "search": "", "replace": "hello"}]}
    with coding_server(place, ("apply_edits", new)) as server:
        begun = call(server, "coding_task", {"task": "write note.txt"}, forms=True)
        edit = polled(server, begun["taskId"], "input_required", forms=True)
        update(server, edit, {"action": "decline"})
        done = polled(server, begun["taskId"], "completed", forms=True)
    assert done["result"]["structuredContent"]["outcome"]["reason"] == "completed"
    assert not (place.root / "note.txt").exists()
