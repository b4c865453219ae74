"""One realistic source file for each language, and what must be read from it, checked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regreen.model import Symbol
from regreen.repo.languages import LANGUAGES, Language, language_of
from regreen.repo.symbols.extract import extract

FOLDER = Path(__file__).parent.parent / "corpora" / "signatures"
CORPUS = json.loads((FOLDER.parent / "cases" / "signatures.json").read_text("utf-8"))["cases"]
BY_NAME = {language.name: language for language in LANGUAGES}
FIXTURES = sorted(p for p in FOLDER.iterdir() if p.suffix != ".json")


def language_at(path: Path) -> Language:
    language = language_of(path.name)
    assert language is not None
    return language


def row_of(s: Symbol) -> list[Any]:
    about = [list(s.decorators), s.doc] if s.decorators or s.doc else []
    return [s.line, s.end_line, s.kind, s.qualified_name, s.signature, *about]


@pytest.mark.parametrize("source", FIXTURES, ids=lambda p: p.name)
def test_fixture_is_read_exactly(source: Path) -> None:
    """Each row of the expectation: line, end line, kind, qualified name, signature; then decorators and doc, if any."""
    expected: list[list[Any]] = json.loads(source.with_name(source.name + ".json").read_text("utf-8"))
    found = extract(source.read_bytes(), language_at(source), docstrings=True)
    rows = [row_of(symbol) for symbol in found.symbols]
    assert rows == expected
    assert not found.gave_up


def test_every_language_has_a_fixture() -> None:
    assert {language_at(p).name for p in FIXTURES} == set(BY_NAME)


@pytest.mark.parametrize("case", CORPUS, ids=lambda c: c["id"])
def test_corpus_case_holds_all_that_is_expected(case: dict[str, Any]) -> None:
    source = case["source"].removeprefix("\ufeff").encode()
    left = list(extract(source, BY_NAME[case["language"]], docstrings=True).symbols)
    for wanted in case["expect"]:
        found = next(s for s in left if s.name == wanted["name"] and s.line == wanted["line"])
        left.remove(found)
        assert found.signature == wanted["signature"]
        assert found.kind == wanted["kind"]
        assert found.parent == (wanted["parent"] or "")
        assert list(found.decorators) == wanted.get("decorators", list(found.decorators))
        assert found.doc == wanted.get("doc", found.doc)
