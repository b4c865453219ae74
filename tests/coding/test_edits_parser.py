"""Reading SEARCH/REPLACE blocks out of a response."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regreen.edits import FORMATS, known_formats, parse, prompt
from regreen.edits.operations import FillFile, Operation, ReplaceLines
from regreen.errors import UsageError

BLOCK = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"


def paths(text: str) -> list[str]:
    parsed = parse(text)
    assert parsed.problem is None, parsed.problem
    return [edit.path for edit in parsed.edits]


def problem(text: str, name: str = "auto") -> str:
    parsed = parse(text, name)
    assert parsed.problem is not None, parsed.edits
    return f"{parsed.problem.kind}: {parsed.problem.message}"


@pytest.mark.parametrize(
    "above",
    [
        "src/a.py",
        "src/a.py:",
        "`src/a.py`",
        "**src/a.py**",
        "**`src/a.py`**",
        "### src/a.py",
        "### `src/a.py`",
        "File: src/a.py",
        "Edit `src/a.py`:",
        "- src/a.py",
        "1. `src/a.py`",
        "# src/a.py",
        "// src/a.py",
        "src/a.py\n```python",
        "src/a.py\n\n```python",
        "```python\nsrc/a.py",
        "```python\n# src/a.py",
        "```src/a.py",
        "```python src/a.py",
        "```python:src/a.py",
        '```python title="src/a.py"',
        "~~~py\nsrc/a.py",
        "other.py\n```python\nsrc/a.py",
        "Some words first.\n\nsrc/a.py\n````",
    ],
)
def test_the_path_is_found_above_on_or_in_the_fence(above: str) -> None:
    assert paths(f"{above}\n{BLOCK}") == ["src/a.py"]


@pytest.mark.parametrize("path", ["Makefile", "my dir/my file.py", "C:\\x\\y.py", "~/x.py", "../up.py", "a/b c.txt"])
def test_unusual_paths_are_taken_as_they_stand(path: str) -> None:
    assert paths(f"{path}\n```\n{BLOCK}```\n") == [path]


@pytest.mark.parametrize(
    "above",
    [
        "",
        "Now change it:",
        "I will raise k.",
        "Update the file src/a.py",
        "```python",
        "In this file we need x/y to go",
    ],
)
def test_prose_is_never_a_path(above: str) -> None:
    assert problem(f"{above}\n{BLOCK}").startswith("parse: the block at line")


def test_the_next_block_reuses_the_path() -> None:
    text = f"src/a.py\n```python\n{BLOCK}\n{BLOCK}```\n\nAnd the other place:\n```python\n{BLOCK}```\nb.py\n{BLOCK}"
    assert paths(text) == ["src/a.py", "src/a.py", "src/a.py", "b.py"]


def test_what_stands_between_blocks_is_kept_for_asking_whether_it_names_another_file() -> None:
    [_, edit] = parse(f"a.py\n{BLOCK}\nThen change src/b.py too:\n```\n{BLOCK}```\n").edits
    assert isinstance(edit, ReplaceLines)
    assert "src/b.py" in edit.mentions
    assert paths(f"src/a.py\n{BLOCK}\nThen change a.py again:\n{BLOCK}") == ["src/a.py", "src/a.py"]


def test_content_is_literal_to_the_last_blank() -> None:
    text = "a.md\n<<<<<<< SEARCH\n```\n    x \n>>> y\n======\n=======\n\n\\1 $& \t\n>>>>>>> REPLACE\n"
    assert parse(text).edits == (ReplaceLines("a.md", ("```", "    x ", ">>> y", "======"), ("", "\\1 $& \t")),)


def test_longer_markers_hold_shorter_ones_as_content() -> None:
    inner = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
    text = f"doc.md\n<<<<<<<<< SEARCH\n{inner}=========\nx\n=======\n>>>>>>>>> REPLACE\n"
    assert parse(text).edits == (ReplaceLines("doc.md", tuple(inner.split("\n")[:-1]), ("x", "=======")),)


def test_a_crlf_response_is_read_like_an_lf_one() -> None:
    text = f"a.py\n```py\n{BLOCK}```\n"
    assert parse(text.replace("\n", "\r\n")).edits == parse(text).edits


def test_blanks_behind_a_marker_do_no_harm() -> None:
    assert parse("a.py\n" + BLOCK.replace("\n", " \t\n")).problem is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n", "has no divider"),
        ("<<<<<<< SEARCH\nx\n=======\ny\n", "does not end"),
        ("<<<<<<< SEARCH\nx\n========\ny\n>>>>>>> REPLACE\n", "has no divider"),
        ("<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>>> REPLACE\n", "does not end"),
        ("<<<<<<< SEARCH\nx\n=======\ny\n=======\n>>>>>>> REPLACE\n", "second divider"),
        ("<<<<<<< SEARCH\nx\n=======\ny\n<<<<<<< SEARCH\nz\n", "not closed before another"),
        ("<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE now\n>>>>>>> REPLACE\n", "end marker with more"),
        ("<<<<<<< SEARCH\n\\=======\n=======\ny\n>>>>>>> REPLACE\n", "a backslash does not escape"),
        ("<<<<<<< search\nx\n=======\ny\n>>>>>>> replace\n", "looks like a marker"),
        ("  <<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n", "looks like a marker"),
        ("<<<<<<< ORIGINAL\nx\n=======\ny\n>>>>>>> UPDATED\n", "looks like a marker"),
        ("<<<<<<< SEARCH>\nx\n=======\ny\n>>>>>>> REPLACE\n", "looks like a marker"),
        ("<<<<< SEARCH\nx\n=====\ny\n>>>>> REPLACE\n", "looks like a marker"),
        (BLOCK + ">>>>>>> REPLACE\n", "looks like a marker"),
    ],
)
def test_what_could_be_read_in_two_ways_is_a_parse_error(body: str, said: str) -> None:
    assert problem("a.py\n" + body).startswith("parse: ")
    assert said in problem("a.py\n" + body)


def test_blocks_before_the_unreadable_place_are_kept_for_the_report() -> None:
    parsed = parse(f"a.py\n{BLOCK}b.py\n<<<<<<< SEARCH\nx\n")
    assert [e.path for e in parsed.edits] == ["a.py"]
    assert parsed.problem is not None
    assert parsed.problem_at == 1


def test_a_response_without_blocks_is_no_edits() -> None:
    assert problem("Nothing to do.\n\nTitle\n=======\n").startswith("no_edits: ")


@pytest.mark.parametrize("foreign", ["*** Begin Patch\n*** End Patch\n", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"])
def test_a_second_format_is_never_dropped_in_silence(foreign: str) -> None:
    assert problem(f"a.py\n{BLOCK}\n{foreign}").startswith("parse: the response holds")
    assert parse(foreign, "search_replace").edits == ()
    assert "to be read as search_replace, but holds" in problem(foreign, "search_replace")
    assert parse(f"a.py\n<<<<<<< SEARCH\n{foreign}=======\n>>>>>>> REPLACE\n").problem is None


def test_an_unknown_format_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError) as caught:
        parse("x", "fancy")
    assert caught.value.kind == "invalid_arguments"
    assert all(name in caught.value.hint for name in known_formats())


@pytest.mark.parametrize("name", known_formats())
def test_every_format_describes_itself_to_a_model(name: str) -> None:
    marks = {"unified_diff": "@@", "apply_patch": "*** Begin Patch", "str_replace": "old_str", "whole_file": "```"}
    assert marks.get(name, "<<<<<<< SEARCH") in prompt(name)
    assert all(key == row.name for key, row in FORMATS.items())


def test_the_prompts_own_example_parses() -> None:
    example = prompt().split("\n\n")[1]
    assert paths(example) == ["path/to/file.py"]


PIECES = st.sampled_from(
    [
        "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "<<<<<<<<< SEARCH", "=========", ">>>>>>>>> REPLACE", "```",
        "~~~", "```python src/a.py", "a.py", "**b.py**", "", " ", "\r", "\\=======", "<<<<<<<", "--- a\n+++ b\n@@",
        "*** Begin Patch", "\x00", "\ud800", "In `x.py`:", "x = 1",
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None, database=None)
@given(st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=8))).map("\n".join)))
def test_no_text_makes_the_parser_raise(text: str) -> None:
    parsed = parse(text)
    assert parsed.edits or parsed.problem
    assert all(edit.path for edit in parsed.edits)


@settings(max_examples=150, deadline=None, database=None)
@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r"), max_size=12), max_size=6),
    st.lists(st.text(st.characters(exclude_characters="\n\r"), max_size=12), max_size=6),
)
def test_any_lines_survive_a_block_with_long_enough_markers(search: list[str], replace: list[str]) -> None:
    old, new = ("".join(line + "\n" for line in rows) for rows in (search, replace))
    n = 14
    parsed = parse(f"f.txt\n{'<' * n} SEARCH\n{old}{'=' * n}\n{new}{'>' * n} REPLACE\n")
    wanted: Operation = ReplaceLines("f.txt", tuple(search), tuple(replace))
    if not any(line.strip(" \t") for line in search):
        wanted = FillFile("f.txt", new, blank=bool(search))
    assert parsed.edits == (wanted,)
