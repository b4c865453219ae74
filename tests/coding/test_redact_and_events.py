"""Secrets do not leave; the diary stays valid JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regreen.events import EventLog
from regreen.redact import Learned, Redactor

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


KEY_LINES = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw", "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dV", "p2PKSQnS="]
KEY = "\n".join(["-----BEGIN PRIVATE KEY-----", *KEY_LINES, "-----END PRIVATE KEY-----"])
KEY_MASK = "[redacted:private-key]"


@pytest.mark.parametrize("prefix", ["", " ", "+", "-", "E   ", "E     + ", "  12 | ", "12| "])
@pytest.mark.parametrize("part", [slice(None), slice(0, 3), slice(1, None)], ids=["whole", "begun", "ended"])
def test_a_key_or_its_beginning_or_end_is_masked_line_by_line_behind_prefixes(
    prefix: str, part: slice[int, int, None]
) -> None:
    lines = [prefix + line for line in KEY.split("\n")[part]]
    text = "\n".join(["above: 1", *lines, "below = 2"])
    masked, hits = Redactor(learned=Learned()).count(text)
    assert masked.split("\n") == ["above: 1", *[prefix + KEY_MASK] * len(lines), "below = 2"]
    assert hits == 1


def test_code_that_only_speaks_of_keys_stays() -> None:
    text = 'if "-----BEGIN PRIVATE KEY-----" in text:\n    return parsed(text)\n# until -----END PRIVATE KEY-----\n'
    assert Redactor(learned=Learned())(text.replace("# until", "a = 1\nb(2)\nc(3)\n# until")).count(KEY_MASK) == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lines_of_a_key_that_was_seen_are_masked_wherever_they_stand(encoding: str) -> None:
    learned = Learned()
    redact = Redactor(learned=learned)
    assert KEY_LINES[1] in redact(f"+{KEY_LINES[1]}")
    learned.look(f"x = 1\n{KEY}\n".encode(encoding))
    for text in (f" {KEY_LINES[0]}\n+{KEY_LINES[1]}\n-{KEY_LINES[2]}", json.dumps("\n".join(["a", *KEY_LINES])),
                 f"…{KEY_LINES[1][3:25]}…"):  # fmt: skip
        masked = redact(text)
        assert not [line for line in KEY_LINES if line in masked or line[5:20] in masked]
        assert redact(masked) == masked
    assert redact(f" {KEY_LINES[0]}\n+{KEY_LINES[1]}") == f" {KEY_MASK}\n+{KEY_MASK}"
    assert redact("an_ordinary_identifier + AnotherOne12") == "an_ordinary_identifier + AnotherOne12"


def test_what_is_learned_is_bounded() -> None:
    learned = Learned()
    body = b""
    for number in range(3_000):
        body = hashlib.sha512(str(number).encode()).digest()
        learned.look(f"-----BEGIN PRIVATE KEY-----\n{base64.b64encode(body).decode()}\n-----END PRIVATE KEY-----")
    assert len(learned) <= 40_400
    assert learned.masked(base64.b64encode(body).decode())[1] == 1


def test_a_known_value_of_several_lines_is_known_by_its_lines() -> None:
    redact = Redactor(['alpha-line-of-secret\nbeta "quoted" line-of-secret\ngamma'])
    known = "[redacted:known]"
    whole = 'x\n+alpha-line-of-secret\n+beta "quoted" line-of-secret\n+gamma\ny'
    assert redact(whole) == f"x\n+{known}\n+{known}\n+{known}\ny"
    assert redact('E   beta "quoted" line-of-secret') == f"E   {known}"
    assert redact(json.dumps(json.dumps(whole))).count("line-of-secret") == 0
    assert redact("gamma") == "gamma"


def test_names_in_json_are_masked_and_stay_different() -> None:
    redact = Redactor(["first-secret-name", "second-secret-name"])
    masked = redact.deep({"plain": 1, "first-secret-name": 2, "second-secret-name": {"first-secret-name": 3}})
    known = "[redacted:known]"
    assert masked == {"plain": 1, known: 2, f"{known}'": {known: 3}}


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
