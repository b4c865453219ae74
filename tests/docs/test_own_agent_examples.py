"""The examples of an agent of one's own, each against a real server on a repository with a failing test."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.engines import QUICK
from support.gitrepos import git
from support.mcp_clients import REGREEN, ROOT, TOOLS_FOLDER, node_command, server_environment

from regreen.tools import BY_NAME

EXAMPLES = ROOT / "examples" / "own_agent"
PAGE = (ROOT / "docs" / "own-agent.md").read_text("utf-8")
RIGHT = "    return a + b\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "sums"
    folder.mkdir()
    (folder / "sums.py").write_text("def add(a, b):\n    return a - b\n", encoding="utf-8")
    (folder / "test_sums.py").write_text(
        "from sums import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n", encoding="utf-8"
    )
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")
    return folder


def fixes(command: list[str], repository: Path, folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, env=server_environment(folder, **QUICK), capture_output=True, text=True,
                          check=False, timeout=100, stdin=subprocess.DEVNULL)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("fixed: 1 fixed\n")
    assert RIGHT in (repository / "sums.py").read_text("utf-8")


def test_the_python_example_fixes(repository: Path, tmp_path: Path) -> None:
    fixes([sys.executable, str(EXAMPLES / "fix_with_python.py"), str(repository)], repository, tmp_path)


@pytest.mark.parametrize("version", [pytest.param("v1", marks=pytest.mark.thorough), "v2"])
def test_the_typescript_example_fixes(version: str, repository: Path, tmp_path: Path) -> None:
    node = node_command()
    program = tmp_path / f"fix_with_typescript_{version}.mjs"
    shutil.copy(EXAMPLES / program.name, program)
    (tmp_path / "node_modules").symlink_to(TOOLS_FOLDER / "node_modules")
    fixes([*node, str(program), str(repository), *REGREEN], repository, tmp_path)


def test_the_page_names_the_package_that_each_program_imports() -> None:
    shell = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    for program in sorted(EXAMPLES.glob("*.mjs")):
        (package,) = set(re.findall(r'from "(@[^/]+/[^/"]+)', program.read_text("utf-8")))
        assert re.search(rf"{package}(\s|$)", shell, re.MULTILINE), program
    named = set(re.findall(r"examples/own_agent/(\S+)", shell))
    assert named == {"fix_with_connector.py", "fix_with_python.py", "fix_with_typescript_v*.mjs"}


@dataclass
class Api:
    """What came to a stand-in for the Messages API, which gives one answer to everything."""

    url: str
    asked: list[tuple[str, dict[str, str], dict[str, Any]]]


@pytest.fixture
def api() -> Iterator[Api]:
    asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
    usage = {"input_tokens": 1, "output_tokens": 1}
    answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
              "stop_sequence": None, "usage": usage, "content": [{"type": "text", "text": "All green."}]}  # fmt: skip

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Api(f"http://127.0.0.1:{server.server_port}", asked)
        server.shutdown()
        thread.join()


def test_the_connector_example_names_the_server_and_offers_only_what_it_says(api: Api, tmp_path: Path) -> None:
    env = {**server_environment(tmp_path), "ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": api.url,
           "REGREEN_URL": "https://example.test/mcp", "REGREEN_TOKEN": "secret"}  # fmt: skip
    done = subprocess.run([sys.executable, str(EXAMPLES / "fix_with_connector.py"), "Fix it."], cwd=tmp_path, env=env,
                          capture_output=True, text=True, check=False, timeout=60)  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "All green.\n"), done.stderr
    ((path, headers, body),) = api.asked
    assert path.startswith("/v1/messages")
    assert headers["anthropic-beta"] == "mcp-client-2025-11-20"
    (server,) = body["mcp_servers"]
    assert server == {
        "type": "url",
        "name": "regreen",
        "url": "https://example.test/mcp",
        "authorization_token": "secret",
    }
    (toolset,) = body["tools"]
    assert toolset["mcp_server_name"] == server["name"]
    assert toolset["default_config"] == {"enabled": False}
    assert set(toolset["configs"]) <= set(BY_NAME)
