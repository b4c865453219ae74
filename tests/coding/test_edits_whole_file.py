"""Reading whole files out of a response."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.formats import edits_of, problem_of, steps

from regreen.edits.operations import ReplaceFile
from regreen.edits.whole_file import WHOLE_FILE

parse = WHOLE_FILE.parse
X = ReplaceFile("a.py", "x\n")


def test_it_is_read_only_when_named() -> None:
    assert WHOLE_FILE.marks is None


@pytest.mark.parametrize(
    "above",
    [
        "a.py\n```",
        "a.py:\n```python",
        "`a.py`\n\n```python",
        "**a.py**\n```",
        "### `a.py`\n```",
        "File: a.py\n~~~~",
        "Some words.\n\na.py\n`````python",
        "```a.py",
        "```python a.py",
        "```python:a.py",
        '```python title="a.py"',
    ],
)
def test_the_path_is_found_above_or_in_the_fence(above: str) -> None:
    mark = above[above.rindex("\n") + 1 :] if "\n" in above else above
    end = mark[0] * (len(mark) - len(mark.lstrip(mark[0])))
    for text in (f"{above}\nx\n{end}\n", f"{above}\nx\n{end}", f"{above}\nx\n{end}{mark[0]}  \nDone.\n"):
        assert edits_of(parse(text)) == [X]
        assert edits_of(parse(text.replace("\n", "\r\n"))) == [X]


CONTENTS: dict[str, tuple[str, str]] = {
    "nothing": ("", ""),
    "an empty line": ("\n", "\n"),
    "trailing blanks": ("x  \n\t\n\n", "x  \n\t\n\n"),
    "a longer fence holds shorter ones": ("# T\n```sh\nmake\n```\n", "# T\n```sh\nmake\n```\n"),
    "the other fence": ("~~~~\nx\n~~~~\n", "~~~~\nx\n~~~~\n"),
    "a deeply indented fence": ("f()\n    ````sh\n    ````\n\t````\n", "f()\n    ````sh\n    ````\n\t````\n"),
    "inline code": ("````x````\n````` y `\n", "````x````\n````` y `\n"),
    "blocks further down": ("# test\n<<<<<<< SEARCH\n*** Begin Patch\n", "# test\n<<<<<<< SEARCH\n*** Begin Patch\n"),
    "a path on the first line": ("# src/b.py\n", "# src/b.py\n"),
    "old Mac line ends": ("a\rb\n", "a\rb\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTENTS)
def test_content_is_taken_to_the_letter(name: str) -> None:
    body, wanted = CONTENTS[name]
    assert edits_of(parse(f"a.py\n````\n{body}````\n")) == [ReplaceFile("a.py", wanted)]


def test_a_byte_order_mark_before_the_response_is_none_of_it() -> None:
    assert edits_of(parse("\ufeffa.py\n```\nx\n```\n")) == [X]
    assert edits_of(parse("a.py\n```\n\ufeffx\n```\n")) == [ReplaceFile("a.py", "\ufeffx\n")]


def test_several_files_are_read_in_order_and_prose_is_rest() -> None:
    text = "First:\n\na.py\n```\nx\n```\nb.py\n```\n```\n\nMakefile\n\n~~~make\nall:\n~~~\nDone, see `x.py`.\n"
    parsed = parse(text)
    assert edits_of(parsed) == [X, ReplaceFile("b.py", ""), ReplaceFile("Makefile", "all:\n")]
    assert parsed.rest.split() == ["First:", "a.py", "b.py", "Makefile", "Done,", "see", "`x.py`."]
    assert parsed.format == "whole_file"


def test_markdown_in_longer_fences_stands_beside_other_files() -> None:
    text = "README.md\n````md\n```\nmake\n```\n````\na.py\n```\nx\n```\n"
    assert edits_of(parse(text)) == [ReplaceFile("README.md", "```\nmake\n```\n"), X]
    text = "README.md\n```md\n# T\n```\na.py\n```python\nx\n```\n"
    assert edits_of(parse(text)) == [ReplaceFile("README.md", "# T\n"), X]


REFUSED: dict[str, tuple[str, str]] = {
    "no path": ("```python\nx\n```\n", "the code fence at line 1 of the response has no path"),
    "prose above": ("Here is the file:\n```\nx\n```\n", "has no path"),
    "a sentence that names a file": ("I changed a.py like this:\n```\nx\n```\n", "mentions `a.py`"),
    "no path for the second": ("a.py\n```\nx\n```\n\nRun:\n\n```sh\nmake\n```\n", "line 8 of the response has no path"),
    "second right after the first": ("a.py\n```\nx\n```\n```\ny\n```\n", "line 5 of the response has no path"),
    "no end": ("a.py\n```\nx\n", "may have been cut off"),
    "no end at all": ("a.py\n```", "does not end"),
    "cut at the next fence": ("a.py\n```\nx\n```\nb.py\n```py\n", "line 6 of the response, of `b.py`, does not end"),
    "cut in other code": ("a.py\n```\nx\n```\n\nRun:\n```sh\nmake te", "has no path"),
    "cut behind a bare fence": ("a.py\n```\nx\n```\n\nand b.py\n\n```", "has no path"),
    "cut in the other fence": ("a.py\n```\nx\n```\nb.py\n~~~\ny\n```\n", "of `b.py`, does not end"),
    "ended by the other fence": ("a.py\n```\nx\n~~~\n", "does not end"),
    "ended by a shorter fence": ("a.py\n````\nx\n```\n", "does not end"),
    "fence within": ("README.md\n```md\n# T\n```sh\nmake\n```\n```\n", "line 4 of the response, in the content of"),
    "longer fence within": ("a.md\n```\n````sh\nx\n````\n```\n", "looks like another code fence: '````sh'"),
    "indented fence within": ("a.md\n```\n- x\n  ```\n  y\n  ```\n```\n", "looks like another code fence: '  ```'"),
    "bare fence within": ("README.md\n```md\n# T\n```\nmake\n```\n```\n", "or belongs to `README.md`"),
    "bare fence within, balanced": ("docs/a.rst\n```\n# T\n```\nb.cfg\n```\nx\n```\n", "or belongs to `docs/a.rst`"),
    "fence in a docstring": ('a.py\n```py\n"""\n```\ncode\n```\n"""\nx = 1\n```\n', "`code` or belongs to `a.py`"),
    "command in a docstring": ('a.py\n```py\n"""\n```\npython a.py\n```\n"""\n```\n', "or belongs to `a.py`"),
    "bare name for the second": ("a.py\n```\nx\n```\nMakefile\n```\nx\n```\n", "put a language behind the opening"),
    "stray end": ("a.py\n```\nx\n```\n\n```\n", "line 6 of the response has no path"),
    "same path twice": ("a.py\n```\nx\n```\na.py\n```\ny\n```\n", "`a.py` stands twice"),
    "same path in other words": ("a.py\n```\nx\n```\n./a.py\n```\ny\n```\n", "`./a.py` stands twice"),
    "indented fence": ("- a.py\n  ```\n  x\n  ```\n", "line 2 of the response is an indented code fence"),
    "deeply indented fence": ("a.py\n    ```\n    x\n    ```\n", "is an indented code fence"),
    "blocks": ("a.py\n```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n", "is an edit, not a file"),
    "an envelope": ("a.py\n```\n\n*** Begin Patch\n*** End Patch\n```\n", "is an edit, not a file"),
    "a diff": ("a.py\n```diff\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n```\n", "is an edit, not a file"),
    "a git diff": ("a.py\n```diff\ndiff --git a/a.py b/a.py\n```\n", "is an edit, not a file"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_could_be_read_in_two_ways_is_a_parse_error(name: str) -> None:
    text, said = REFUSED[name]
    assert problem_of(parse(text)).startswith("parse: ")
    assert said in problem_of(parse(text))
    assert problem_of(parse(text.replace("\n", "\r\n"))) == problem_of(parse(text))


@pytest.mark.parametrize("name", ["no path for the second", "fence within", "bare fence within", "stray end"])
def test_the_hint_about_a_stray_fence_is_a_longer_one(name: str) -> None:
    assert "put a longer fence around" in problem_of(parse(REFUSED[name][0]))


def test_a_diff_file_may_hold_a_diff() -> None:
    assert edits_of(parse("fix.patch\n```\n--- a\n+++ b\n```\n")) == [ReplaceFile("fix.patch", "--- a\n+++ b\n")]


@pytest.mark.parametrize("text", ["", "Nothing to do.", "a.py\n\nx = 1\n", "Use ```x``` there."])
def test_a_response_without_a_fence_is_no_edits(text: str) -> None:
    assert problem_of(parse(text)).startswith("no_edits: ")


def test_files_before_the_unreadable_place_are_kept_for_the_report() -> None:
    parsed = parse("a.py\n```\nx\n```\nb.py\n```\ny\n")
    assert (list(parsed.edits), parsed.problem_at) == ([X], 1)


def test_the_prompts_own_example_parses() -> None:
    assert [edit.path for edit in edits_of(parse(WHOLE_FILE.prompt))] == ["path/to/file.py"]


PIECES = st.sampled_from(
    [
        "```", "```", "````", "~~~", "~~~~", "```python", "```a.py", "  ```", "    ```", "```x```", "a.py", "b.md",
        "./a.py", "`c.py`:", "See `d.py`:", "", " ", "\t", "\r", "x = 1", "*** Begin Patch", "\x00", "\ud800",
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=None, database=None)
@given(st.one_of(st.text(), st.lists(st.one_of(PIECES, PIECES, st.text(max_size=6)), max_size=20).map("\n".join)))
def test_no_text_makes_the_parser_raise_or_fall_silent(text: str) -> None:
    parsed = parse(text)
    assert parsed.edits or parsed.problem
    assert parsed.problem_at == len(parsed.edits)
    assert all(edit.path for edit in parsed.edits)
    if parsed.problem is None:
        assert not any(line.startswith(("```p", "~~~")) for line in parsed.rest.split("\n"))


@settings(max_examples=150, deadline=None, database=None)
@given(st.lists(st.text(st.characters(exclude_characters="\n\r"), max_size=10), max_size=6))
def test_any_lines_survive_a_long_enough_fence(body: list[str]) -> None:
    text = "".join(line + "\n" for line in ["# ", *body])
    assert edits_of(parse(f"a.py\n{'`' * 12}\n{text}{'`' * 12}\n")) == [ReplaceFile("a.py", text)]


HARD: dict[str, Callable[[int], str]] = {
    "files": lambda n: "".join(f"f{k}.py\n```\nx\n```\n" for k in range(n)),
    "lines": lambda n: "a.py\n```\n" + "x\n" * n + "```\n",
    "empty lines above": lambda n: "a.py\n" + "\n" * n + "```\nx\n```\n",
    "empty lines between": lambda n: "a.py\n```\n```\n" + "\n" * n + "b.py\n```\n```\n",
    "other fences": lambda n: "a.py\n````\n" + "```\n" * n + "````\n",
    "open fence": lambda n: "a.py\n````\n" + "```\n" * n,
    "long lines": lambda n: "`" * n + "\n" + "~" * n + "a" * n + " " * n + "x",
}


@pytest.mark.parametrize("shape", HARD)
def test_work_grows_with_the_size_of_the_response(shape: str) -> None:
    small, large = (HARD[shape](n) for n in (500, 4_000))
    assert steps(lambda: parse(large)) < 8 * 1.5 * steps(lambda: parse(small)) + 1_000
