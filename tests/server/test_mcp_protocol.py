"""What a client sees of the protocol, whatever the engine does."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from support.mcp_clients import LEGACY_VERSION, MODERN_VERSION, RawServer, raw_server, server_environment, until

from regreen.tools import CORE, EDITING, TOOLS
from regreen_server.app import INSTRUCTIONS
from regreen_server.calls import HEARTBEAT_S, MAX_CALLS

STUB = Path(__file__).with_name("stub_server.py")
STUB_COMMAND = [sys.executable, str(STUB)]


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RawServer]:
    env = server_environment(tmp_path, STUB_FOLDER=str(tmp_path))
    with raw_server(STUB_COMMAND, cwd=tmp_path, env=env) as process:
        yield process


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawServer]:
    """One for all tests that neither end it nor look at its log."""
    folder = tmp_path_factory.mktemp("server")
    env = server_environment(folder, STUB_FOLDER=str(folder), STUB_HEARTBEAT_S="0.5")
    with raw_server(STUB_COMMAND, cwd=folder, env=env) as process:
        process.initialize()
        yield process


def test_what_was_left_is_put_back_without_a_call_and_initialize_names_the_server_and_how_to_use_it(
    own_server: RawServer, tmp_path: Path
) -> None:
    until((tmp_path / "recovered").exists, "recovered without a message")
    result = own_server.initialize()
    assert result["serverInfo"]["name"] == "regreen"
    assert result["serverInfo"]["version"]
    assert result["protocolVersion"] == LEGACY_VERSION
    assert result["instructions"] == INSTRUCTIONS
    assert len(INSTRUCTIONS) <= 500
    assert own_server.close() == 0
    assert own_server.noise == []
    assert own_server.errors == []


def test_the_tools_are_those_of_the_engine_word_for_word(server: RawServer) -> None:
    tools = {t["name"]: t for t in server.request("tools/list")["tools"]}
    assert list(tools) == [spec.name for spec in TOOLS]
    for spec in TOOLS:
        tool = tools[spec.name]
        assert (tool["title"], tool["description"]) == (spec.title, spec.description)
        assert (tool["inputSchema"], tool["outputSchema"]) == (spec.input_schema, spec.output_schema)
        assert tool["annotations"] == {
            "readOnlyHint": spec.read_only,
            "destructiveHint": spec.destructive,
            "idempotentHint": spec.idempotent,
            "openWorldHint": spec.open_world,
        }


@pytest.mark.parametrize(("option", "names"), [
    pytest.param("--core", [t.name for t in TOOLS if t.name in CORE], marks=pytest.mark.thorough),
    ("--read-only", [t.name for t in TOOLS if t.name not in EDITING]),
])  # fmt: skip
def test_tools_that_are_not_offered_are_neither_listed_nor_callable(tmp_path: Path, option: str,
                                                                    names: list[str]) -> None:  # fmt: skip
    env = server_environment(tmp_path, STUB_FOLDER=str(tmp_path))
    with raw_server([*STUB_COMMAND, option], cwd=tmp_path, env=env) as server:
        server.initialize()
        assert [t["name"] for t in server.request("tools/list")["tools"]] == names
        hidden = next(t.name for t in TOOLS if t.name not in names)
        assert server.call(hidden).is_error


def test_a_result_has_its_text_and_the_same_as_structured_content(server: RawServer) -> None:
    answer = server.call("repo_skeleton", path="src")
    assert answer.text == "repo_skeleton {'path': 'src'}"
    assert answer.data == {"tree": "src"}
    assert not answer.is_error
    assert server.call("repo_skeleton", path="refused").is_error


def test_an_unknown_tool_is_an_error_result_that_names_near_ones(server: RawServer) -> None:
    answer = server.call("run_test")
    assert answer.is_error
    assert answer.text.startswith("not_found: ")
    assert "run_tests" in answer.text
    assert answer.data["error"]["kind"] == "not_found"
    assert "repo_skeleton" in server.call("qqqqqq").text


def test_strays_and_faults_are_logged_and_a_fault_is_answered_with_the_same_id_and_no_details(
    own_server: RawServer,
) -> None:
    own_server.initialize()
    assert own_server.call("repo_skeleton", path="recovered").text == "True", "it waited for what was to be put back"
    assert own_server.call("repo_skeleton", path="print").text == "printed"
    answer = own_server.call("repo_skeleton", path="boom")
    assert answer.is_error
    assert answer.text.startswith("internal: ")
    assert "1234" not in answer.text + json.dumps(answer.data)
    identity = answer.data["error"]["message"].rpartition("(")[2].rstrip(")")
    assert own_server.call("repo_skeleton", path="src").text, "the server lives on"
    assert own_server.close() == 0
    assert own_server.noise == []
    log = "".join(own_server.errors)
    logged = ("a stray print", "stray bytes", "a stray child", f"fault {identity}", "ValueError: the secret is 1234")
    assert all(text in log for text in logged)


def test_an_engine_that_cannot_start_says_why_to_the_client(tmp_path: Path) -> None:
    env = server_environment(tmp_path, STUB_FOLDER=str(tmp_path), STUB_BROKEN="1")
    with raw_server(STUB_COMMAND, cwd=tmp_path, env=env) as server:
        server.initialize()
        answer = server.call("repo_skeleton")
        assert answer.is_error
        assert answer.text == "config_refused: the state folder is broken\nrepair it"
        assert server.close() == 0


def test_text_that_is_not_unicode_is_sent_escaped(server: RawServer) -> None:
    answer = server.call("repo_skeleton", path="surrogate")
    assert answer.text == "caf\\udce9"
    assert answer.data == {"tree": "caf\\udce9"}


def test_nonsense_on_the_wire_does_not_end_the_server(server: RawServer) -> None:
    for line in (b"\n", b"nonsense\n", b"{\n", b"[1, 2]\n", b"\xff\xfe\n", b"{}\n", b"[" * 100_000 + b"\n",
                 b'{"jsonrpc":"2.0","method":"notifications/nothing"}\n', b'{"jsonrpc":"2.0","id":1.5,"method":"x"}\n',
                 b'{"jsonrpc":"2.0","id":null,"method":"x"}\n', b'{"jsonrpc":"2.0","id":9,"result":{}}\n'):  # fmt: skip
        server.write(line)
    assert server.answer(server.start("nothing/like_this", {}))["error"]["code"] == -32601
    assert server.answer(server.start("tools/call", {"name": 5}))["error"]["code"] == -32602
    assert server.call("repo_skeleton", path="src").data == {"tree": "src"}
    assert server.noise == []


def test_a_request_that_cannot_be_read_is_answered_where_it_has_an_id(server: RawServer) -> None:
    server.write(b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"caf\xe9"}}\n')
    assert server.answer("a")["error"]["code"] == -32700
    server.write(b'{"jsonrpc":"1.0","id":"b","method":"tools/list"}\n')
    assert server.answer("b")["error"]["code"] == -32600


def test_large_messages_pass_both_ways(server: RawServer) -> None:
    assert len(server.call("repo_skeleton", path="huge").text) == 3_000_000
    path = "y" * 5_000_000
    assert server.call("repo_skeleton", path=path).data == {"tree": path}


def test_a_line_past_the_limit_is_refused_and_the_next_one_is_read(tmp_path: Path) -> None:
    env = server_environment(tmp_path, STUB_FOLDER=str(tmp_path))
    small = "import regreen_server.pipes as p, runpy; p.lines.__kwdefaults__['limit'] = 100_000; "
    with raw_server([sys.executable, "-c", f"{small}runpy.run_path({str(STUB)!r}, run_name='__main__')"],
                    cwd=tmp_path, env=env) as server:  # fmt: skip
        server.initialize()
        refused = server.answer(server.start_call("repo_skeleton", path="z" * 300_000))
        assert "more than" in refused["error"]["message"]
        assert server.call("repo_skeleton", path="src").data == {"tree": "src"}
        server.close()
        assert "ignored" in "".join(server.errors)


def test_many_calls_at_once_are_all_answered(server: RawServer) -> None:
    requests = {server.start_call("repo_skeleton", path=f"p{i}"): f"p{i}" for i in range(200)}
    got = {r: server.answer(r)["result"]["structuredContent"]["tree"] for r in requests}
    assert got == requests


def test_long_calls_of_any_number_keep_nobody_from_asking_for_a_job(own_server: RawServer) -> None:
    own_server.initialize()
    waiting = [own_server.start_call("run_tests", path="stuck") for _ in range(MAX_CALLS + 6)]
    assert len(waiting) > MAX_CALLS
    assert own_server.call("job_status", path="src").data == {"tree": "src"}
    assert own_server.call("job_cancel", path="src").data == {"tree": "src"}


def test_progress_comes_soon_then_every_few_seconds_and_always_rises(server: RawServer) -> None:
    request = server.start_call("repo_skeleton", progress_token="t1", path="child")
    notes = [server.notes.get(timeout=5)["params"] for _ in range(3)]
    assert [n["progressToken"] for n in notes] == ["t1"] * 3
    assert sorted({n["progress"] for n in notes}) == [n["progress"] for n in notes]
    assert notes[0]["message"] == "step one"
    assert notes[1]["message"].startswith("step one (")
    server.send({"method": "notifications/cancelled", "params": {"requestId": request}})
    assert HEARTBEAT_S <= 5


OLD_WAYS = pytest.param("legacy", LEGACY_VERSION, marks=pytest.mark.thorough)  # the raw client speaks no others


@pytest.mark.parametrize(("mode", "version"), [OLD_WAYS, ("auto", MODERN_VERSION)])
def test_both_eras_of_the_protocol_are_served(tmp_path: Path, mode: str, version: str) -> None:
    env = server_environment(tmp_path, STUB_FOLDER=str(tmp_path))
    heard: list[str] = []

    async def progress(number: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    async def talk() -> None:
        parameters = StdioServerParameters(command=STUB_COMMAND[0], args=STUB_COMMAND[1:], env=env, cwd=tmp_path)
        async with Client(parameters, mode=mode) as client:
            assert client.session.protocol_version == version
            assert [t.name for t in (await client.list_tools()).tools] == [t.name for t in TOOLS]
            result = await client.call_tool("repo_skeleton", {"path": "src"})
            assert result.structured_content == {"tree": "src"}
            call = asyncio.create_task(client.call_tool("repo_skeleton", {"path": "child"}, progress_callback=progress))
            while not heard:
                await asyncio.sleep(0.01)
            call.cancel()
            while not (tmp_path / "cancelled").exists():
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(talk(), 60))
    assert heard == ["step one"]
