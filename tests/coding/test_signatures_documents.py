"""Headings in Markdown, and the definitions and headings in notebooks."""

from __future__ import annotations

import json
import time

import pytest

from regreen.repo.languages import language_of
from regreen.repo.symbols.extract import extract
from regreen.repo.symbols.extraction import Extraction


def of(name: str, source: str) -> Extraction:
    language = language_of(name)
    assert language is not None
    return extract(source.encode(), language, docstrings=True)


def outline(name: str, source: str) -> list[tuple[int, str, str]]:
    return [(s.line, s.kind, s.qualified_name) for s in of(name, source).symbols]


# Markdown


def test_headings_nest_by_level_and_end_before_the_next_one() -> None:
    source = "# A\ntext\n### B\n## C\n#### D\n\n# E\n"
    found = of("a.md", source).symbols
    assert [(s.line, s.end_line, s.qualified_name, s.parent) for s in found] == [
        (1, 6, "A", ""), (3, 3, "A.B", "A"), (4, 6, "A.C", "A"), (5, 6, "A.C.D", "A.C"), (7, 7, "E", ""),
    ]  # fmt: skip
    assert {s.kind for s in found} == {"heading"}
    assert [s.signature for s in found] == ["# A", "### B", "## C", "#### D", "# E"]


@pytest.mark.parametrize(
    "source",
    [
        "```\n# a\n```\n", "~~~ x\n# a\n```\n# b\n~~~\n", "````\n```\n# a\n````\n", "```\n# never closed\n",
        "<!-- # a -->\n", "<!--\n# a\n\n# b\n-->\n", "---\nx: 1\n# a\n---\n", "+++\n# a\n+++\n", "    # a\n", "#a\n",
        "####### a\n", "#\n", "\\# a\n", "> # a\n", "- x\n---\n",
        "<pre>\n# a\n</pre>\n", "| a |\n|---|\n", "***\n---\n",
        "text\n\n---\n", "1. x\n   # a\n", "\t# a\n", "",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_heading(source: str) -> None:
    assert of("a.md", source).symbols == ()


@pytest.mark.parametrize(
    ("source", "line", "name", "signature"),
    [
        ("A\n===\n", 1, "A", "A"),
        ("A b\nc\n---\n", 1, "A b c", "A b c"),
        ("   ## A ##  \n", 1, "A", "## A ##"),
        ("# C#\n", 1, "C#", "# C#"),
        ("# `f()` and **g**\r\n", 1, "f() and g", "# `f()` and **g**"),
        ("# [A](b) {#c}\n", 1, "A", "# [A](b) {#c}"),
        ("---\n# A\n", 2, "A", "# A"),
        ("`<!--`\n# A\n", 2, "A", "# A"),
        ("```\n```\n# A", 3, "A", "# A"),
        ("#\tÜ ☃\n", 1, "Ü ☃", "# Ü ☃"),
    ],
)
def test_what_is_a_heading(source: str, line: int, name: str, signature: str) -> None:
    assert [(s.line, s.name, s.signature) for s in of("a.md", source).symbols] == [(line, name, signature)]


def test_a_dot_in_a_heading_does_not_divide_the_path() -> None:
    found = of("a.md", "# v1.2\n## a.b\n").symbols
    assert [(s.qualified_name, s.parent) for s in found] == [("v1.2", ""), ("v1·2.a.b", "v1·2")]


@pytest.mark.parametrize(
    "source", ["#" + " " * 100_000 + "x", "# " + "[x](" * 30_000, "# " + " {#" * 30_000, "- " * 60_000]
)
def test_long_lines_of_markdown_take_no_time(source: str) -> None:
    start = time.process_time()
    of("a.md", source)
    assert time.process_time() - start < 15


# Notebooks


def notebook(*cells: object, language: str = "python") -> str:
    return json.dumps({"cells": cells, "metadata": {"language_info": {"name": language}}, "nbformat": 4}, indent=1)


def code(*lines: str) -> object:
    return {
        "cell_type": "code",
        "outputs": [{"text": ["def output(): ..."]}],
        "source": [line + "\n" for line in lines],
    }


def test_lines_of_a_notebook_are_those_of_its_file() -> None:
    source = notebook(
        code("x = 1"), code("", "@d", "def f(", '    a="\\n",', "):", "    return 1", "", "class A:", "    y: int")
    )
    lines = source.split("\n")
    found = of("a.ipynb", source).symbols
    assert [s.name for s in found] == ["x", "f", "A", "y"]
    for symbol, begin, end in zip(
        found, ["x = 1", "def f(", "class A", "y: int"], ["x = 1", "return 1", "y: int", "y: int"], strict=True
    ):
        assert begin in lines[symbol.line - 1]
        assert end in lines[symbol.end_line - 1]
    assert [s.doc for s in found] == ["cell 1", "cell 2", "cell 2", ""]


def test_a_source_that_is_one_string_stands_in_one_line() -> None:
    source = '{"cells": [\n{"source": "def a(): ...\\n\\ndef b():\\n  1\\n",\n"cell_type": "code"}]}'
    assert [(s.name, s.line, s.end_line) for s in of("a.ipynb", source).symbols] == [("a", 2, 2), ("b", 2, 2)]


def test_commands_of_ipython_break_nothing() -> None:
    cells = [
        code("%matplotlib inline", "!pip install \\", "  x", "def a():", "    %time y()", "    if 1:", "        !ls"),
        code("%%time", "def b(): ..."), code("%%html", "def c(): ..."), code("d?", "?e", "f = !ls", "g = (1", "  % 2)"),
        code("%%bash", "h() { :; }"),
    ]  # fmt: skip
    found = of("a.ipynb", notebook(*cells))
    assert [s.name for s in found.symbols if s.name != "h"] == ["a", "b", "g"]
    assert not [e for e in found.errors if "bash" not in e]


def test_a_broken_cell_hides_no_other() -> None:
    source = notebook(code("def a(x:", "  y = (", "'''"), code("def b(): ..."))
    found = of("a.ipynb", source)
    assert [s.name for s in found.symbols][-1] == "b"
    line = next(n for n, text in enumerate(source.split("\n"), 1) if "y = (" in text)
    assert any(f"{n} (cell 1): could not be parsed" in found.errors[0] for n in (line - 1, line, line + 1))


def test_headings_nest_across_cells() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "text\n", "## B"]}, code("def f(): ..."),
        {"cell_type": "markdown", "source": "### C\n```\n# no\n```"}, {"cell_type": "raw", "source": ["# no"]},
    ]  # fmt: skip
    assert [q for _, _, q in outline("a.ipynb", notebook(*cells))] == ["A", "A.B", "f", "A.B.C"]


def test_cells_in_other_languages() -> None:
    assert [s.name for s in of("a.ipynb", notebook(code("func F() {}"), language="Go")).symbols] == ["F"]
    found = of("a.ipynb", notebook(code("f <- function(x) 1"), language="R"))
    assert (found.symbols, found.errors) == ((), ("cells in r were not read: no grammar",))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ('{\n"cells": [}', "line 2 is not JSON"), ("", "line 1 is not JSON"), ("[]", "no `cells`"),
        ("{}", "no `cells`"),
        ("[" * 100_000, "not a notebook"), ("3", "no `cells`"),
    ],
)  # fmt: skip
def test_what_is_no_notebook_is_told(source: str, why: str) -> None:
    assert why in of("a.ipynb", source).gave_up


@pytest.mark.parametrize("cells", ["{}", "[3, null, []]", '[{"source": {"a": "b"}}]', '[{"cell_type": "code"}]', '"x"'])
def test_odd_notebooks_are_empty(cells: str) -> None:
    assert of("a.ipynb", f'{{"cells": {cells}}}') == Extraction()
