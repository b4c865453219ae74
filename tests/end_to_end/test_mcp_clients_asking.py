"""What clients of other makers do with the server: list, call, hear progress, cancel, approve, be refused."""

import asyncio
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.mcp_clients import (
    REGREEN,
    ROOT,
    TOOLS_FOLDER,
    Inspector,
    node_command,
    processes_with,
    server_environment,
    until,
)

STEPS = ROOT / "tests" / "node" / "steps.mjs"
LIMIT_S = 240
CALC = "def one():\n    return 1\n"
TESTS = """\
import os
import time
from pathlib import Path

from calc import one

SEEN = Path({seen!r})


def test_one():
    (SEEN / "pid").write_text(str(os.getpid()))
    while not (SEEN / "go").exists():
        time.sleep(0.02)
    assert one() == 1
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "calc.py").write_text(CALC, "utf-8")
    (folder / "test_calc.py").write_text(TESTS.format(seen=str(tmp_path / "seen")), "utf-8")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "start")):
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)
    return folder


def serve_command(repo: Path) -> list[str]:
    return [*REGREEN, "serve", "--root", str(repo), "--mode", "ask"]


def run_node(script: list[str], cwd: Path, env: dict[str, str]) -> str:
    done = subprocess.run([*node_command(), *script], cwd=cwd, env=env, capture_output=True, text=True, check=False,
                          timeout=LIMIT_S, stdin=subprocess.DEVNULL)  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def did_all_steps(result: dict[str, Any], repo: Path) -> None:
    assert "fix_tests" in result["tools"]
    assert CALC in result["read"]["content"][0]["text"]
    assert result["missing"]["isError"]
    assert "nothing.py" in result["missing"]["content"][0]["text"]
    assert result["long"]["structuredContent"]["status"] == "passed", result["long"]
    steps = [step["progress"] for step in result["progress"]]
    assert steps
    assert steps == sorted(steps), result["progress"]
    assert result["cancelled"] == "cancelled"
    assert result["declined"]["isError"], result["declined"]
    assert result["approved"]["structuredContent"]["ok"], result["approved"]
    assert len(result["asked"]) == 2
    assert "calc.py" in result["asked"][0]["message"]
    assert (repo / "calc.py").read_text("utf-8") == CALC.replace("1", "2")
    until(lambda: processes_with(str(repo)) == [], "no server is left")


@pytest.mark.parametrize(("sdk", "negotiation"), [("v1", "legacy"), ("v2", "legacy"), ("v2", "auto")])
def test_a_client_on_the_typescript_sdk_does_all_steps(tmp_path: Path, repo: Path, sdk: str, negotiation: str) -> None:
    env = server_environment(tmp_path)
    command, *args = serve_command(repo)
    given = {"command": command, "args": args, "env": env, "cwd": str(tmp_path), "seen": str(tmp_path / "seen")}
    said = run_node([str(STEPS), str(TOOLS_FOLDER), sdk, negotiation, json.dumps(given)], tmp_path, env)
    did_all_steps(json.loads(said.splitlines()[-1]), repo)


def test_mcporter_shows_the_tools_and_calls_one(tmp_path: Path, repo: Path) -> None:
    env = server_environment(tmp_path)
    script = str(TOOLS_FOLDER / "node_modules" / "mcporter" / "dist" / "cli.js")
    server = ["--stdio", shlex.join(serve_command(repo)), "--name", "demo", "--cwd", str(tmp_path)]
    passed = [x for k, v in env.items() if k.startswith("REGREEN_") for x in ("--env", f"{k}={v}")]
    shown = run_node([script, "list", *server, *passed, "--schema"], tmp_path, env)
    assert "fix_tests" in shown
    asked = ["--tool", "read_file", "--args", json.dumps({"path": "calc.py"})]
    said = run_node([script, "call", *server, *passed, *asked], tmp_path, env)
    assert CALC.splitlines()[0] in said


def test_the_inspector_speaks_the_newer_protocol_with_the_server(tmp_path: Path, repo: Path) -> None:
    inspector = Inspector(tmp_path, server_environment(tmp_path))
    answer = inspector.cli(serve_command(repo), "tools/list", "--strict", "--protocol-era", "modern")
    assert "fix_tests" in [tool["name"] for tool in answer.get("result", answer)["tools"]]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_python_sdk_does_all_steps(tmp_path: Path, repo: Path, mode: str) -> None:
    given = _for_python(tmp_path, repo)
    result = asyncio.run(asyncio.wait_for(python_steps(mode, *given, tmp_path / "seen"), LIMIT_S))
    did_all_steps(result, repo)


def _for_python(tmp_path: Path, repo: Path) -> tuple[list[str], dict[str, str]]:
    return serve_command(repo), server_environment(tmp_path)


async def python_steps(mode: str, command: list[str], env: dict[str, str], seen: Path) -> dict[str, Any]:
    from mcp import Client, StdioServerParameters
    from mcp_types import ElicitResult

    asked: list[dict[str, Any]] = []
    answers: list[ElicitResult] = []
    heard: list[dict[str, Any]] = []

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append({"message": params.message})
        return answers.pop(0) if answers else ElicitResult(action="accept", content={"approve": "once"})

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append({"progress": progress, "total": total, "message": message})
        if (seen / "pid").exists():
            (seen / "go").touch()

    async def running() -> None:
        while not (seen / "pid").exists():
            await asyncio.sleep(0.02)

    parameters = StdioServerParameters(command=command[0], args=command[1:], env=env, cwd=seen.parent)
    async with Client(parameters, mode=mode, elicitation_callback=answer) as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(tool, arguments, progress_callback=hear if tool == "run_tests" else None)
            return result.model_dump(mode="json", by_alias=True)

        result: dict[str, Any] = {"tools": [tool.name for tool in (await client.list_tools()).tools]}
        result["read"] = await call("read_file", path="calc.py")
        result["missing"] = await call("read_file", path="nothing.py")
        cancelled = asyncio.create_task(client.call_tool("run_tests", {"wait_s": 45}))
        await running()
        cancelled.cancel()
        await asyncio.wait([cancelled])
        result["cancelled"] = "cancelled" if cancelled.cancelled() else "answered"
        (seen / "pid").unlink()
        async with asyncio.timeout(120):
            while True:  # tests can run again only once those that were cancelled have ended
                heard.clear()
                result["long"] = await call("run_tests", wait_s=45)
                if not result["long"]["content"][0]["text"].startswith("busy:"):
                    break
        result["progress"] = list(heard)
        asked.clear()
        answers.append(ElicitResult(action="decline"))
        edit = {"path": "calc.py", "search": "    return 1\n"}
        result["declined"] = await call("apply_edits", replacements=[{**edit, "replace": "    return 3\n"}])
        result["approved"] = await call("apply_edits", replacements=[{**edit, "replace": "    return 2\n"}])
        return {**result, "asked": asked}


FASTMCP = """\
import asyncio, json, pathlib, sys
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult


def shown(result):
    content = [{"type": "text", "text": part.text} for part in result.content]
    return {"isError": result.is_error, "content": content, "structuredContent": result.structured_content}


async def main():
    command, env, seen = json.loads(sys.argv[1])
    seen = pathlib.Path(seen)
    asked, answers, heard = [], [], []

    async def answer(message, response_type, params, context):
        asked.append({"message": message})
        return answers.pop(0) if answers else {"approve": "once"}

    async def hear(progress, total, message):
        heard.append({"progress": progress, "total": total, "message": message})
        if (seen / "pid").exists():
            (seen / "go").touch()

    server = {"mcpServers": {"it": {"command": command[0], "args": command[1:], "env": env}}}
    async with Client(server, elicitation_handler=answer) as client:

        async def call(tool, **arguments):
            handler = hear if tool == "run_tests" else None
            return shown(await client.call_tool(tool, arguments, raise_on_error=False, progress_handler=handler))

        done = {"tools": [tool.name for tool in await client.list_tools()]}
        done["read"] = await call("read_file", path="calc.py")
        done["missing"] = await call("read_file", path="nothing.py")
        cancelled = asyncio.create_task(client.call_tool("run_tests", {"wait_s": 45}))
        while not (seen / "pid").exists():
            await asyncio.sleep(0.02)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        done["cancelled"] = "cancelled" if cancelled.cancelled() else "answered"
        (seen / "pid").unlink()
        while True:
            heard.clear()
            done["long"] = await call("run_tests", wait_s=45)
            if not done["long"]["content"][0]["text"].startswith("busy:"):
                break
        done["progress"] = list(heard)
        asked.clear()
        answers.append(ElicitResult(action="decline"))
        edit = {"path": "calc.py", "search": "    return 1\\n"}
        done["declined"] = await call("apply_edits", replacements=[{**edit, "replace": "    return 3\\n"}])
        done["approved"] = await call("apply_edits", replacements=[{**edit, "replace": "    return 2\\n"}])
        print(json.dumps({**done, "asked": asked}))


asyncio.run(main())
"""


def test_the_client_of_fastmcp_does_all_steps(tmp_path: Path, repo: Path) -> None:
    python = TOOLS_FOLDER / "fastmcp" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"NOT RUN: FastMCP is not in {TOOLS_FOLDER} (`make node` installs it)")
    command, env = _for_python(tmp_path, repo)
    given = json.dumps([command, env, str(tmp_path / "seen")])
    done = subprocess.run([str(python), "-c", FASTMCP, given], cwd=tmp_path, env=env, check=False,
                          capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    did_all_steps(json.loads(done.stdout.splitlines()[-1]), repo)
