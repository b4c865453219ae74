"""Every requirement on the agent has a test that proves it, or stands on the list of what is still open."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "checklist.toml").read_text("utf-8"))["row"]
OPEN = [row for row in ROWS if "open" in row]
COUNT = 173
DONE_THEMES = {"A", "B", "E", "J"}
DONE_BESIDES = {94, 143, 170}
RUN_IN_CHILDREN = {"inside", "worker"}  # folders whose files are run by processes in the sandbox, never by ours


def named_by(row: dict[str, Any]) -> list[str]:
    named = row.get("test", [])
    return [named] if isinstance(named, str) else named


@cache
def defined_in(file: str) -> frozenset[str]:
    """The names of the test functions of a file, by its text alone."""
    path = ROOT / file
    body = ast.parse(path.read_text("utf-8")).body if path.is_file() else []
    return frozenset(n.name for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def proven(row: dict[str, Any]) -> bool:
    """Does it name tests, all of which are there?"""
    named = [test.partition("::") for test in named_by(row)]
    return bool(named) and all(name.startswith("test_") and name in defined_in(file) for file, _, name in named)


def test_every_row_is_there_once_with_its_text() -> None:
    assert [row["number"] for row in ROWS] == list(range(1, COUNT + 1))
    assert all(row["text"].strip() and row["theme"] for row in ROWS)


def test_no_row_is_without_a_test_or_a_word_on_what_it_waits_for() -> None:
    assert [row["number"] for row in ROWS if not named_by(row) and not row.get("open", "").strip()] == []


def test_what_is_due_is_not_open() -> None:
    due = [row for row in OPEN if row["theme"] in DONE_THEMES or row["number"] in DONE_BESIDES]
    assert [row["number"] for row in due] == []


@pytest.mark.parametrize("row", [r for r in ROWS if "open" not in r], ids=lambda r: str(r["number"]))
def test_a_row_that_is_done_names_tests_that_exist(row: dict[str, Any]) -> None:
    missing = [t for t in named_by(row) if t.partition("::")[2] not in defined_in(t.partition("::")[0])]
    assert proven(row), f"{row['text']}: not there: {missing}"


@pytest.mark.parametrize("row", OPEN, ids=lambda r: str(r["number"]))
@pytest.mark.xfail(strict=True, reason="open: see the row")
def test_an_open_row_is_not_proven_yet(row: dict[str, Any]) -> None:
    assert proven(row)


def test_models_are_asked_by_their_official_sdks_and_no_framework() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    names = {text.split(">")[0].split("[")[0].strip() for text in asked}
    assert {"anthropic", "openai"} <= names
    assert not {n for n in names if n.startswith(("lang", "llama", "autogen", "crewai", "litellm", "pydantic-ai"))}


def test_nothing_of_ours_runs_text_as_code() -> None:
    found: list[str] = []
    for package in ("coding", "server", "editor_bridge"):
        for file in (ROOT / package).rglob("*.py"):
            text = file.read_text("utf-8")
            if re.search(r"\b(eval|exec)\b", text) and not RUN_IN_CHILDREN & set(file.parts):
                calls = [n.func for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
                found += [f"{file}: {f.id}" for f in calls if isinstance(f, ast.Name) and f.id in ("eval", "exec")]
    assert found == []
