"""The main job through the server, as two real clients do it: the Python SDK's, and the official Inspector's."""

import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.cases import thorough
from support.mcp_clients import (
    IS_ERROR,
    REGREEN,
    Called,
    Inspector,
    processes_with,
    server_environment,
    until,
)

CALC = """\
def total(prices, rate):
    result = 0
    for price in prices:
        result += price
    return result - result * rate


def mean(values):
    return sum(values) / len(values)
"""
TESTS = """\
from calc import mean, total


def test_total_adds_the_rate():
    assert total([10, 20], 0.5) == 45


def test_total_of_nothing():
    assert total([], 0.5) == 0


def test_mean():
    assert mean([1, 3]) == 2
"""
RED = "test_calc.py::test_total_adds_the_rate"
WRONG = {"path": "calc.py", "search": "    return result - result * rate", "replace": "    return result * rate"}
RIGHT = {
    "path": "calc.py",
    "search": "    return result - result * rate",
    "replace": "    return result + result * rate",
}

Call = Callable[..., Called]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "calc.py").write_text(CALC, "utf-8")
    (folder / "test_calc.py").write_text(TESTS, "utf-8")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "start")):
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)
    return folder


def serve_command(repo: Path) -> list[str]:
    return [*REGREEN, "serve", "--root", str(repo), "--mode", "auto"]


@contextmanager
def python_client(folder: Path, repo: Path) -> Generator[Call]:
    from anyio.from_thread import start_blocking_portal
    from mcp import Client, StdioServerParameters

    command, *args = serve_command(repo)
    parameters = StdioServerParameters(command=command, args=args, env=server_environment(folder), cwd=folder)

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(parameters)) as client:

        def call(tool: str, **arguments: Any) -> Called:
            result = portal.call(client.call_tool, tool, arguments)
            return Called(result.is_error, result.structured_content, "".join(part.text for part in result.content))

        yield call


@contextmanager
def inspector_client(folder: Path, repo: Path) -> Generator[Call]:
    with Inspector(folder, server_environment(folder)).connection(serve_command(repo)) as call:
        yield call


@pytest.fixture(params=[python_client, inspector_client], ids=["python", "inspector"])
def call(request: pytest.FixtureRequest, tmp_path: Path, repo: Path) -> Iterator[Call]:
    with request.param(tmp_path, repo) as connected:
        yield connected
    until(lambda: processes_with(str(repo)) == [], "no server is left")


def polled(call: Call, job: Called) -> Called:
    """The job's state once it does not run any more."""
    for _ in range(20):
        if job.data["state"] != "running":
            break
        job = call("job_status", job_id=job.data["job_id"], wait_s=20)
    return job


def test_look_edit_and_test(call: Call, repo: Path) -> None:
    tree = call("repo_skeleton")
    assert not tree.is_error
    assert "calc.py" in tree.data["tree"]
    assert "calc.py" in tree.text
    assert tree.data["files"] == 2
    red = call("run_tests", wait_s=45)
    assert not red.is_error
    assert red.data["status"] == "failed", red.text
    assert (red.data["counts"]["failed"], red.data["counts"]["passed"]) == (1, 2)
    assert [f["id"] for f in red.data["failures"]] == [RED]
    edit = call("apply_edits", replacements=[RIGHT])
    assert edit.data["ok"], edit.text
    assert RIGHT["replace"] in (repo / "calc.py").read_text("utf-8")
    green = call("run_tests", wait_s=45)
    assert green.data["status"] == "passed", green.text
    back = call("restore", to=edit.data["transaction"])
    assert not back.is_error, back.text
    assert (repo / "calc.py").read_text("utf-8") == CALC


@thorough  # the search is tested by itself, and polling below
def test_the_search_is_polled_to_fixed(call: Call, repo: Path) -> None:
    job = call("fix_tests", proposer="search", wait_s=0)
    assert not job.is_error, job.text
    assert job.data["job_id"]
    done = polled(call, job)
    outcome = done.data["outcome"]
    assert (outcome["reason"], outcome["fixed"], outcome["verified"]) == ("fixed", True, True), done.text
    assert outcome["kept_files"] == ["calc.py"]
    assert outcome["fixed_tests"] == [RED]
    assert (repo / "calc.py").read_text("utf-8") != CALC
    assert (repo / "test_calc.py").read_text("utf-8") == TESTS
    assert call("run_tests", wait_s=45).data["status"] == "passed"


def test_a_caller_sends_a_wrong_fix_and_then_the_right_one(call: Call, repo: Path) -> None:
    begun = call("fix_tests", proposer="caller", wait_s=0)
    assert not begun.is_error, begun.text
    job = polled(call, begun)
    assert job.data["state"] == "waiting_for_edits", job.text
    assert job.data["brief"]["failing"] == [RED]
    assert RED in job.text
    wrong = polled(call, call("submit_fix", job_id=job.data["job_id"], replacements=[WRONG], wait_s=45))
    assert wrong.data["state"] == "waiting_for_edits", wrong.text
    assert wrong.data["attempt"]["state"] == "same"
    assert "outcome" not in wrong.data
    right = polled(call, call("submit_fix", job_id=job.data["job_id"], replacements=[RIGHT], wait_s=45))
    assert right.data["state"] == "done", right.text
    assert right.data["outcome"]["reason"] == "fixed"
    assert right.data["outcome"]["fixed_tests"] == [RED]
    assert (repo / "calc.py").read_text("utf-8") == CALC.replace(RIGHT["search"], RIGHT["replace"])


def test_the_inspector_finds_no_fault_in_the_tools(tmp_path: Path, repo: Path) -> None:
    inspector = Inspector(tmp_path, server_environment(tmp_path))
    answer = inspector.cli(serve_command(repo), "initialize")
    assert answer.get("result", answer)["serverInfo"]["name"] == "regreen"
    answer = inspector.cli(serve_command(repo), "tools/list", "--strict")
    assert "fix_tests" in [t["name"] for t in answer.get("result", answer)["tools"]]
    assert "calc.py" in inspector.call(serve_command(repo), "repo_skeleton").text


def test_the_inspector_takes_an_error_for_an_error(tmp_path: Path, repo: Path) -> None:
    inspector = Inspector(tmp_path, server_environment(tmp_path))
    args = ("--tool-name", "read_file", "--tool-args-json", '{"path": "nothing.py"}')
    inspector.cli(serve_command(repo), "tools/call", *args, code=IS_ERROR)
