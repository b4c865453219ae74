"""No line of a secret is told of a file that is edited, of its changes, or of what its tests print."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.engines import QUICK
from support.gitrepos import make_repo

from regreen.session import Engine
from regreen.settings.loading import load_settings

BODY = [
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu",
    "NMoSfm76oqFvAp8Gy0iz5sxjZmSnXyCdPEovGhLa0VzMaQ8s+CLOyS56YyCFGeJZ",
    "qgtzJ6GR3eqoYSW9b9UMvkBpZODSctWSNGj3P7jRFDO5VoTwCQAWbFnOjDfH5Ulg",
    "p2PKSQnSJP3AJLQNFNe7br1XbrhV",
]
PEM = "\n".join(["-----BEGIN PRIVATE KEY-----", *BODY, "-----END PRIVATE KEY-----", ""])
KNOWN = 'alpha-line-of-secret\nbeta "quoted" line-of-secret\ngamma'
TOKEN = "ghp_" + "a1B2" * 10
PLANTED = (*(line[:20] for line in BODY), *(line[-16:] for line in BODY), "line-of-secret", "a1B2a1B2")
TESTS = f'''
def test_whole():
    assert open("key.pem").read() == ""

def test_half():
    print(open("key.pem").read()[100:])
    assert 0

def test_one_line():
    print(open("key.pem").read().splitlines()[3])
    assert 0

def test_known():
    assert open("known.txt").read() == ""

def test_token():
    raise ValueError("{TOKEN}")

KEY = """
{PEM}""" if [test_token] else 1 / 0

def test_inline():
    key = ["""{BODY[1]}"""]; assert key == []  # {BODY[2]}
'''
FILES = {"key.pem": PEM + "# tail\n", "key.py": f'KEY = """{PEM}"""\nX = 1\n', "known.txt": f"top\n{KNOWN}\nend\n",
         "test_it.py": TESTS, ".gitignore": "__pycache__/\n"}  # fmt: skip


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    root = make_repo(tmp_path / "repo", {**FILES})
    environ = {**os.environ, "REGREEN_STATE_DIR": str(tmp_path / "state"), "REGREEN_CACHE_DIR": str(tmp_path / "cache"),
               "MY_SECRET": KNOWN}  # fmt: skip
    with Engine(replace(load_settings(environ, roots=(root,)), test_environ=QUICK), cwd=root) as opened:
        yield opened


def _clean(text: str) -> str:
    found = [planted for planted in PLANTED if planted in text]
    assert not found, (found, text)
    return text


def _edit(engine: Engine, path: str, search: str, replace: str, **more: object) -> str:
    edits = [{"path": path, "search": search, "replace": replace}]
    return _told(engine, "apply_edits", replacements=edits, **more)


def _told(engine: Engine, tool: str, **arguments: object) -> str:
    result = engine.call(tool, arguments)
    return _clean(f"{result.text}\n{json.dumps(result.data)}")


def test_edits_beside_secrets_are_made_and_told_without_them(engine: Engine) -> None:
    root = engine.session().root
    for path, old, new in (("key.pem", "# tail\n", "# new\n"), ("key.py", "X = 1\n", "X = 2\n"),
                           ("known.txt", "end\n", "END\n")):  # fmt: skip
        assert "would" in _edit(engine, path, old, new, dry_run=True)
        told = _edit(engine, path, old, new)
        assert "\n [redacted:" in told and f"\n-{old}+{new}" in told
        assert (root / path).read_text() == FILES[path].replace(old, new)
    changes = _told(engine, "show_changes")
    assert "\n [redacted:private-key]\n" in changes and "\n [redacted:known]\n" in changes


@pytest.mark.parametrize("wrong", range(5))
def test_a_refused_edit_shows_the_closest_place_without_its_secrets(engine: Engine, wrong: int) -> None:
    search = "".join(f"{line}{'!' if n == wrong else ''}\n" for n, line in enumerate(BODY))
    told = _edit(engine, "key.pem", search, "x\n")
    assert "no_match" in told and "closest place" in told and "| [redacted:private-key]" in told
    assert "X = 1" in _edit(engine, "key.py", f'{BODY[-1][:wrong]}\n-----END PRIVATE KEY-----\n"""\nX = 1!\n', "x\n")


def test_a_line_of_a_key_is_replaced_and_neither_is_told(engine: Engine) -> None:
    fresh = BODY[2][::-1]
    told = _edit(engine, "key.pem", BODY[2] + "\n", fresh + "\n")
    assert fresh[:20] not in told and "\n-[redacted:private-key]\n+[redacted:private-key]\n" in told
    assert fresh in (engine.session().root / "key.pem").read_text()


def test_what_tests_print_is_told_without_secrets_and_so_are_its_log_and_its_diary(engine: Engine) -> None:
    session = engine.session()
    session.read("key.pem")
    report = engine.call("run_tests", {"selection": ["test_it.py"]})
    _clean(f"{report.text}\n{json.dumps(report.data)}")
    assert report.data["status"] == "failed" and "[redacted:private-key]" in report.text
    job = str(report.data["job_id"])
    log = Path(str(report.data["log"]))
    assert BODY[2] in log.read_text()  # the log itself is what was printed
    size = log.stat().st_size
    for offset in range(0, size, max(1, size // 20)):
        _told(engine, "job_status", job_id=job, log_offset=offset)


def test_the_brief_of_a_fix_its_answers_and_its_diary_hold_no_secret(engine: Engine) -> None:
    started = engine.call(
        "fix_tests", {"proposer": "caller", "tests": "editable", "selection": ["test_it.py::test_whole"]}
    )
    told = _clean(started.text + json.dumps(started.data))
    assert '"state": "waiting_for_edits"' in told and "[redacted:private-key]" in told
    job = str(started.data["job_id"])
    for search in (BODY[1][:-1] + "!\n", "# tail\n"):
        edits = [{"path": "key.pem", "search": search, "replace": "# end\n"}]
        _told(engine, "submit_fix", job_id=job, replacements=edits)
    _told(engine, "job_cancel", job_id=job)
    diary = _clean((engine.store.run_folder(job) / "events.jsonl").read_text())
    assert '"attempt_finished"' in diary
