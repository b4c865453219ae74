"""Secrets do not leave; the diary stays valid JSON."""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regreen.events import EventLog
from regreen.redact import Redactor

BODY = string.ascii_letters + string.digits
FORMATS = [
    "sk-ant-api03-" + BODY[:40], "sk-proj-" + BODY[:40], "ghp_" + BODY[:36], "github_pat_" + BODY[:30],
    "glpat-" + BODY[:20], "xoxb-" + "1234567890-" + BODY[:12], "sk_" + "live_" + BODY[:24], "AKIA" + "ABCDEFGHIJKLMNOP",
    "AIza" + BODY[:35], "npm_" + BODY[:36], "pypi-" + BODY[:60], "hf_" + BODY[:34],
    "eyJ" + BODY[:20] + ".eyJ" + BODY[:20] + "." + BODY[:20],
    "-----BEGIN RSA PRIVATE KEY-----\n" + BODY + "\n-----END RSA PRIVATE KEY-----",
]  # fmt: skip


@pytest.mark.parametrize("secret", FORMATS, ids=[s[:8].strip("-") + str(i) for i, s in enumerate(FORMATS)])
def test_known_formats_are_masked(secret: str) -> None:
    masked, hits = Redactor().count(f"before {secret} after")
    assert secret not in masked
    assert hits == 1
    assert masked.startswith("before [redacted:")


def test_values_of_secret_named_variables_are_masked_wherever_they_stand() -> None:
    redact = Redactor.from_environ({"MY_TOKEN": "plain-looking-value", "HOME": "/home/somebody"})
    assert redact("x plain-looking-value y /home/somebody") == "x [redacted:known] y /home/somebody"


def test_passwords_in_addresses_are_masked() -> None:
    assert Redactor()("postgres://user:hunter22@db/x") == "postgres://user:[redacted:url-password]@db/x"


@pytest.mark.parametrize(
    "text", ["sha256 " + "a1" * 32, "os.environ['API_KEY']", "https://example.invalid/a:b", "ghp_x"]
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor()(text) == text


@given(st.text())
def test_masking_twice_changes_nothing_more(text: str) -> None:
    redact = Redactor(["some-known-secret"])
    assert redact(redact(text)) == redact(text)


def test_events_are_numbered_valid_json_lines_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog("job-1", path, Redactor(), clock=lambda: 5.0)
    seen: list[int] = []
    log.subscribe(lambda e: seen.append(e.seq))
    log.emit("run_started", note='a "quoted" ' + FORMATS[2], pem=FORMATS[-1].split("\n-----END")[0])
    log.emit("tests_progress", done=1)
    log.emit("run_finished", nothing=None)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [e["kind"] for e in lines] == ["run_started", "run_finished"]
    assert seen == [1, 2, 3]
    assert FORMATS[2] not in path.read_text("utf-8")
    assert "nothing" not in lines[1]
