"""docs/http.md says what the server does: its samples are taken, its limits are the ones in force."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.http_server import HttpServer, http_server

from regreen.settings import load_settings
from regreen_server import calls, lifecycle
from regreen_server.http import app, arriving, body, guard, running, tokens
from regreen_server.http.errors import STATUS

PAGE = (Path(__file__).parents[2] / "docs" / "http.md").read_text("utf-8")


def block(language: str, number: int = 0) -> str:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[number]


def test_the_settings_and_the_token_file_are_taken(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(block("toml"), "utf-8")
    settings = load_settings({"HOME": str(tmp_path)}, config_file=config)
    assert settings.http.hosts == ("regreen.example", "10.0.0.5:8080")
    assert settings.http.origins == ("https://tools.example",)
    entries = tokens.parsed(block("text").splitlines(), tmp_path)
    assert [name for name, _ in entries] == ["alice", "ci"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "shop").mkdir()
    (folder / "shop" / "test_shop.py").write_text("def test_shop():\n    assert False\n", "utf-8")
    with http_server(folder, "--root", str(folder / "shop")) as made:
        yield made


def typed() -> list[str]:
    """The commands of the section on curl: a line after the prompt, and the indented ones below it."""
    section = PAGE.partition("\n## With curl\n")[2].partition("\n## ")[0]
    return re.findall(r"^\$ (.*(?:\n .*)*)", section, re.MULTILINE)


def test_what_is_typed_with_curl_works(server: HttpServer, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    script = "\n".join(f"{command}\necho ----" if command.startswith("ask -") else command for command in typed())
    script = script.replace("$(cat ~/.local/state/regreen/http-tokens)", server.token)
    script = script.replace("127.0.0.1:8080", server.authority)
    script = re.sub(r"ask -i (.*\n.*)", r"ask -i \1 | tr -d '\\r' | tee opened", script)
    script = re.sub(r"SESSION=\w+", "SESSION=$(sed -n 's/^mcp-session-id: //p' opened)", script)
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=200)
    modern, opened, _, called, ended, _ = done.stdout.split("----\n")
    assert json.loads(modern)["result"]["structuredContent"]["counts"]["failed"] == 1, done
    assert opened.startswith("HTTP/1.1 200 OK")
    (data,) = (line.removeprefix("data: ") for line in called.splitlines() if line.startswith("data: {"))
    assert json.loads(data)["result"]["structuredContent"]["counts"]["failed"] == 1, done
    assert not ended


@pytest.mark.parametrize("count", [0, 2])
def test_no_host_or_two_are_answered_as_told(server: HttpServer, count: int) -> None:
    hosts = f"Host: {server.authority}\r\n" * count
    reply = server.raw(f"GET /healthz HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
    assert reply.status == 400
    assert reply.headers["content-type"].startswith("text/plain")


def test_the_limits_are_the_ones_in_force() -> None:
    for told in (
        f"{calls.MAX_CALLS} calls at a time", f"{app.MAX_SESSIONS} sessions", f"a {app.MAX_SESSIONS + 1}th session",
        f"{running.MAX_CONNECTIONS} connections", f"{arriving.ARRIVAL_S:g} seconds for a request",
        f"more than {body.MAX_BODY_BYTES // 1024**2} MiB", f"deeper than {body.MAX_DEPTH} ",
        f"after {app.SESSION_IDLE_S / 60:g} minutes without a request", f"within {lifecycle.CLOSE_LIMIT_S:g} seconds",
        f"{tokens.MIN_CHARS} to {tokens.MAX_CHARS} of", f"After {guard.WRONG_TOKENS} requests with a wrong token",
    ):  # fmt: skip
        assert told in " ".join(PAGE.split()), told


def test_the_statuses_are_the_ones_in_force() -> None:
    told = re.findall(r"\| (\d{3}) `([a-z_]+)` \|", PAGE)
    assert len(told) == 7
    assert {kind: int(status) for status, kind in told if kind != "busy"}.items() <= STATUS.items()
