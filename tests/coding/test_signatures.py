"""Definitions in Python source: what is found, how it is written, what damage does to it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regreen.repo.languages import LANGUAGES, grammar, language_of
from regreen.repo.symbols.declarations import normalise
from regreen.repo.symbols.extract import extract
from regreen.repo.symbols.extraction import Extraction

CORPUS = Path(__file__).parent.parent / "corpora" / "cases" / "signatures.json"
CASES = [c for c in json.loads(CORPUS.read_text("utf-8"))["cases"] if c["language"] == "python"]
PYTHON = LANGUAGES[0]


def of(source: str, *, docstrings: bool = False) -> Extraction:
    return extract(source.encode(), PYTHON, docstrings=docstrings)


def outline(source: str) -> list[tuple[int, str, str]]:
    return [(s.line, s.kind, s.qualified_name) for s in of(source).symbols]


def signature_lines(source: str) -> list[str]:
    return [s.signature for s in of(source).symbols]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_corpus_case_is_read_exactly(case: dict[str, Any]) -> None:
    source = case["source"].removeprefix("\ufeff")
    found = of(source, docstrings=True).symbols
    assert len(found) == len(case["expect"])
    for symbol, expected in zip(found, case["expect"], strict=True):
        for name in ("kind", "name", "signature", "line"):
            assert getattr(symbol, name) == expected[name]
        assert symbol.parent == (expected["parent"] or "")
        assert list(symbol.decorators) == expected.get("decorators", list(symbol.decorators))
        assert symbol.doc == expected.get("doc", symbol.doc)


def test_corpus_has_python_cases() -> None:
    assert len(CASES) > 20


def test_definitions_nest_and_locals_are_left_out() -> None:
    source = """\
def outer():
    local = 1
    def inner(): ...
    class Local:
        field = 2
        async def method(self): ...
        class Deeper: ...
if True:
    with x:
        LATER: Final = 1
"""
    assert outline(source) == [
        (1, "function", "outer"),
        (3, "function", "outer.inner"),
        (4, "class", "outer.Local"),
        (5, "field", "outer.Local.field"),
        (6, "method", "outer.Local.method"),
        (7, "class", "outer.Local.Deeper"),
        (10, "constant", "LATER"),
    ]


def test_last_lines_are_those_of_the_body() -> None:
    found = of("@dec\ndef f(\n    a,\n):\n    return (\n        1\n    )\n\n\nclass C: ...\n").symbols
    assert [(s.line, s.end_line) for s in found] == [(2, 7), (10, 10)]


def test_every_name_of_an_assignment_is_a_definition() -> None:
    source = "A = b = 3\nc, D = 1, 2\n(e, f) = 1, 2\nT: TypeAlias = int\nx += 1\ny.z = 1\nw[0] = 1\n"
    assert outline(source) == [
        (1, "constant", "A"), (1, "variable", "b"), (2, "variable", "c"), (2, "constant", "D"), (3, "variable", "e"),
        (3, "variable", "f"), (4, "type", "T"),
    ]  # fmt: skip


def test_long_values_are_cut_and_long_signatures_too() -> None:
    source = (
        "X = [" + "1, " * 5000 + "]\nY: dict = {" + "# c\n 'k': 1," * 50 + "}\ndef f(" + "argument, " * 1000 + "): ..."
    )
    x, y, f = signature_lines(source)
    assert x == "X = " + ("[" + "1, " * 50)[:59] + "…"
    assert y == "Y: dict = " + ("{ " + "'k': 1, " * 20)[:59] + "…"
    assert len(f) == 2000
    assert f.endswith("…")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f( a,\n\tb, ) -> x", "def f(a, b) -> x"),
        ("def f(a: x[ 1, ],\\\n  b)", "def f(a: x[1], b)"),
        ("x = 1  ", "x = 1"),
        ("f(\n)", "f()"),
    ],
)
def test_white_space_is_normalised(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_comments_are_dropped_and_marks_in_strings_stay() -> None:
    assert signature_lines("def f(a='#', # one\n  # two\n  b='x'): # three\n  pass\nclass C(A): # c\n  pass\n") == [
        "def f(a='#', b='x')",
        "class C(A)",
    ]


def test_docstrings_come_on_request_by_their_first_line() -> None:
    source = '''\
def a(): r"""  One.  """
def b():
    # comment
    """
    Two
    lines.
    """
def c(): f"no {doc}"
def d(): b"no"
class E:
    'Four.'
def g():
    ""
def h():
    x = 1
    "no"
'''
    assert [s.doc for s in of(source, docstrings=True).symbols] == ["One.", "Two", "", "", "Four.", "", ""]
    assert {s.doc for s in of(source).symbols} == {""}


# --- damage ---------------------------------------------------------------------------------------


def test_clean_source_has_no_errors() -> None:
    assert of("def f(): pass\n").errors == ()


def test_an_unclosed_bracket_hides_nothing_after_it() -> None:
    source = (
        "def one(): pass\ndef two(a):\n    return (a\n\nclass Three:\n    def m(self): pass\n"
        "X = [1\nY = 2\ndef four(): pass\n"
    )
    assert outline(source) == [
        (1, "function", "one"),
        (2, "function", "two"),
        (5, "class", "Three"),
        (6, "method", "Three.m"),
        (7, "constant", "X"),
        (8, "constant", "Y"),
        (9, "function", "four"),
    ]
    assert of(source).errors == ("line 3: could not be parsed", "line 7: could not be parsed")


def test_broken_headers_keep_their_names() -> None:
    source = """\
class A(Base
    def no_colon(self) -> int
        return 1
    def unclosed(self, x:
        y = 1
        return y
    @property
    def good(self): return 1
def no_body():
async def nonsense(=:
    pass
def split(
    a,
    b
class Last: pass
"""
    assert [(s.line, s.qualified_name, s.signature) for s in of(source).symbols] == [
        (1, "A", "class A(Base)"),
        (2, "A.no_colon", "def no_colon(self) -> int"),
        (4, "A.unclosed", "def unclosed(self, x)"),
        (8, "A.good", "def good(self)"),
        (9, "no_body", "def no_body()"),
        (10, "nonsense", "async def nonsense()"),
        (12, "split", "def split(a, b)"),
        (15, "Last", "class Last"),
    ]


def test_conflict_markers_templates_and_old_python_cost_only_their_lines() -> None:
    source = """\
<<<<<<< HEAD
def f(a): pass
=======
def f(a, b): pass
>>>>>>> other
{% if x %}
class K:
    def m(self):
        if x ==:
            pass
        elif y:
            pass
        else:
            match q:
                case 1:
                    def inner(): pass
        try:
            pass
        except (A, B), e:
            pass
        finally:
            pass
    @staticmethod
    def n(): pass
x = 1
"""
    assert outline(source) == [
        (2, "function", "f"),
        (4, "function", "f"),
        (7, "class", "K"),
        (8, "method", "K.m"),
        (16, "function", "K.m.inner"),
        (24, "method", "K.n"),
        (25, "variable", "x"),
    ]
    lines = [1, 3, 5, 6, 9, 19]
    assert of(source).errors[0] == "line 1: could not be parsed"
    told = " ".join(of(source).errors)
    assert all(f"{n}" in told for n in lines[:-1])


def test_an_unclosed_string_hides_only_itself() -> None:
    assert outline('def f():\n    x = "abc\n    return x\ndef g(): pass\n') == [
        (1, "function", "f"),
        (4, "function", "g"),
    ]


_CLEAN = "\n".join(f"class C{i}:\n    def m{i}(self):\n        return ({i})\n\ndef f{i}(): pass\n" for i in range(4))
_JUNK = st.text(st.sampled_from("()[]{}:=.,@+x 1'#\\def"), max_size=12).filter(lambda s: not s.endswith("\\"))


@settings(derandomize=True)  # recovery is a heuristic: the same junk each time
@given(_JUNK, st.sampled_from(range(0, 20, 5)))
def test_a_junk_line_hides_no_definition_of_the_rest(junk: str, at: int) -> None:
    lines = _CLEAN.split("\n")
    lines.insert(at, junk)
    names = {s.name for s in of("\n".join(lines)).symbols}
    assert names >= {f"{k}{i}" for k in ("C", "m", "f") for i in range(4)}


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(source: bytes) -> None:
    extract(source, PYTHON, docstrings=True)


_PIECES = st.sampled_from(
    ["def f(", "class C", ":", "\n", "    ", "\t", "(", ")", "[", '"""', "'", "#", "\\", "@d", "x = ", "é", "\r\n",
     "\0", "async ", "type T = ", "pass", "if 1:", "else:", "match x:", "case 1:", "\f", "f'{", "}", "return", "…"]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=60).map("".join))
def test_no_arrangement_of_python_makes_it_raise(source: str) -> None:
    total = source.count("\n") + 1
    for symbol in of(source, docstrings=True).symbols:
        assert 1 <= symbol.line <= symbol.end_line <= total
        assert symbol.signature
        assert "\n" not in symbol.signature


@pytest.mark.parametrize("source", [b"(" * 40_000, b"(\n" * 40_000, b"not " * 60_000 + b"x", b"[1," * 40_000])
def test_hostile_nesting_is_given_up_at_once(source: bytes) -> None:
    found = extract(source, PYTHON)
    assert found.symbols == ()
    assert found.gave_up or found.errors


# --- languages ------------------------------------------------------------------------------------


def test_every_language_loads_and_has_its_own_extensions() -> None:
    extensions = [e for language in LANGUAGES for e in language.extensions]
    assert len(extensions) == len(set(extensions))
    for language in LANGUAGES:
        assert language.scan is not None or grammar(language) is grammar(language)


def test_language_goes_by_extension() -> None:
    assert [language_of(p) is PYTHON for p in ("a.py", "b/C.PYI", "d.pyw")] == [True, True, True]
    assert [language_of(p) for p in (".py", "py", "a.py/b", "a.pyc")] == [None] * 4


def test_grammars_are_not_imported_before_they_are_needed() -> None:
    code = "import sys, regreen.repo; sys.exit(any(m.startswith('tree_sitter') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
