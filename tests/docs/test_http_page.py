"""docs/http.md says what the server does: its samples are taken, its limits are the ones in force."""

from __future__ import annotations

import json
import re
from pathlib import Path

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


def test_the_message_sent_by_curl_is_json() -> None:
    sent = re.search(r"-d '(\{.*?\})'", block("console", 1), re.DOTALL)
    assert sent and json.loads(sent[1])["method"] == "initialize"


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
