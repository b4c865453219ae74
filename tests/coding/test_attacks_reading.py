"""Attacks of the same surfaces (environment, resources, output) that need no test run: what reading tools show."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.engines import engine_on, ok, refused

CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "attacks.json"
CASES = [c["id"] for c in json.loads(CORPUS.read_text("utf-8"))["cases"]
         if c["surface"] in ("env", "resource", "output") and c["action"]["tool"] != "run_tests"]  # fmt: skip
DEEP = 3000


def _git_of_the_environment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=30)
    (root / "new.txt").write_text("new\n")
    marker = root.parent / "m"
    program = root.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    other = root.parent / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True, timeout=30)
    for name, value in {
        "GIT_EXTERNAL_DIFF": str(program), "GIT_DIR": str(other / ".git"), "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": str(program),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    with engine_on(root) as engine:
        changes = ok(engine, "show_changes")
    assert "new.txt" in json.dumps(changes)
    assert not marker.exists()


def _secret_in_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = "gh" + "p_" + "".join("aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD1fG3hJ5")
    monkeypatch.setenv("SOME_API_KEY", "a-known-value-of-4711")
    with engine_on(root) as engine:
        for word in (token, "a-known-value-of-4711"):
            error = refused(engine, "read_file", path=f"there/is-no-{word}.txt")
            assert word not in json.dumps(error)


def _prose_about_keys(root: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Keys of AWS begin with AKIA, those of GitHub look like ghp_xxxx.\n"
    (root / "doc.md").write_text(text)
    with engine_on(root) as engine:
        read = ok(engine, "read_file", path="doc.md")
    assert read["text"] == text
    assert not read.get("redacted")


def _deep_folder(root: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.open(root, os.O_RDONLY)
    try:
        for _ in range(DEEP):
            os.mkdir("d", dir_fd=here)
            inner = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        with engine_on(root) as engine:
            shown = ok(engine, "repo_skeleton", path=".")
        assert len(json.dumps(shown)) < 100_000
    finally:
        os.close(here)
        subprocess.run(["rm", "-rf", str(root / "d")], check=True, timeout=60)


CHECKS: dict[str, Callable[[Path, pytest.MonkeyPatch], None]] = {
    "A-env-005": _git_of_the_environment,
    "A-output-008": _secret_in_an_error,
    "B-output-002": _prose_about_keys,
    "A-resource-010": _deep_folder,
}


def test_every_reading_case_is_tried() -> None:
    assert set(CHECKS) == set(CASES)


@pytest.mark.parametrize("case", CHECKS)
def test_reading_case_ends_as_it_must(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    CHECKS[case](root, monkeypatch)
