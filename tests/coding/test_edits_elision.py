"""What counts as a placeholder for code that was left out, where lines go away and where none does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.elision_lines import ORDINARY, STRONG, WEAK

from regreen.edits import elision
from regreen.edits.elision import MAX_LENGTH, placeholder

SEARCH: Final = ("def f():", "    a()", "    b()", "    return 1")
DELETING: Final = ("def f():", "    a()", "{}", "    return 2")
ADDING: Final = ("def f():", "    a()", "    b()", "{}", "    return 1")


def within(shape: Sequence[str], line: str) -> list[str]:
    return [line if row == "{}" else row for row in shape]


@pytest.mark.parametrize("line", STRONG)
def test_clear_placeholders_are_refused_whatever_happens_to_the_old_lines(line: str) -> None:
    assert placeholder(SEARCH, within(DELETING, f"    {line}")) == line
    assert placeholder(SEARCH, within(ADDING, f"    {line}\t")) == line
    assert placeholder((), [line]) == line


@pytest.mark.parametrize("line", WEAK)
def test_lines_that_may_be_placeholders_are_refused_only_where_lines_go_away(line: str) -> None:
    assert placeholder(SEARCH, within(DELETING, f"    {line}")) == line
    assert placeholder(SEARCH, within(ADDING, f"    {line}")) == ""
    assert placeholder((), [line]) == ""


@pytest.mark.parametrize("line", ORDINARY)
def test_ordinary_lines_are_never_refused(line: str) -> None:
    assert placeholder(SEARCH, within(DELETING, f"    {line}")) == ""
    assert placeholder(SEARCH, within(ADDING, f"    {line}")) == ""
    assert placeholder((), [line]) == ""


def test_a_placeholder_that_search_holds_is_ordinary_text() -> None:
    assert placeholder(["# ... existing code ...", "x = 1"], ["    # ... existing code ...", "x = 2"]) == ""
    assert placeholder(["# ...", "x = 1"], ["# ...", "x = 2", "# existing code"]) == "# existing code"


def test_the_first_placeholder_is_named() -> None:
    assert placeholder(["a", "b"], ["# code here", "# rest of the code"]) == "# code here"
    assert placeholder((), ["# code here", "# rest of the code"]) == "# rest of the code"


def test_a_line_that_is_there_less_often_than_before_went_away() -> None:
    assert placeholder(["a()", "a()", "b()"], ["a()", "# ...", "b()"]) == "# ..."
    assert placeholder(["a()", "", "", "b()"], ["  a()", "# ...", "b()"]) == ""


def test_the_end_of_a_sentence_over_two_comment_lines_is_prose() -> None:
    prose = "# Callers may pass a list; it is handled in the same manner as the"
    assert placeholder(["a"], [prose, "# existing code."]) == ""
    assert placeholder(["a"], ["# as in the", "# existing code"]) == ""
    assert placeholder(["a"], [prose.removesuffix(" as the"), "# existing code"]) == "# existing code"
    assert placeholder(["a"], ["x = the", "# existing code"]) == "# existing code"
    assert placeholder(["a"], ["# Step 1", "# existing code."]) == "# existing code."


def test_long_lines_are_never_placeholders() -> None:
    longest = "# existing code".ljust(MAX_LENGTH, "-")
    assert placeholder(["a"], [longest]) == longest
    assert placeholder(["a"], [longest + "-"]) == ""


def test_the_work_grows_with_the_number_of_lines_only(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {"lines": 0, "characters": 0, "deletes": 0}
    real: dict[str, Any] = {name: getattr(elision, name) for name in ("_remark", "_in_word", "_deletes")}

    def remark(text: str) -> object:
        seen["lines"] += 1
        return real["_remark"](text)

    def in_word(char: str) -> bool:
        seen["characters"] += 1
        return real["_in_word"](char)

    def deletes(search: Sequence[str], replace: Sequence[str]) -> bool:
        seen["deletes"] += 1
        return real["_deletes"](search, replace)

    for name, counting in (("_remark", remark), ("_in_word", in_word), ("_deletes", deletes)):
        monkeypatch.setattr(elision, name, counting)
    hard = [
        "# " + ". " * 79,
        "#" * 160,
        "# existing " * 14,
        "# " + "rest of " * 19,
        "(" * 160,
        '"' * 160,
        "# code " * 22,
    ]
    count = 1_000
    lines = [line[: MAX_LENGTH - 6] + f" x{n}" for n in range(count) for line in hard] + ["# ..." + "." * 1_000_000]
    placeholder([*lines[1:], "gone"], lines)
    placeholder((), lines)
    assert seen["lines"] <= 2 * len(lines)
    assert seen["characters"] <= 2 * len(lines) * (MAX_LENGTH + 2)
    assert seen["deletes"] <= 2


SCRAPS: Final = st.sampled_from(
    [
        "#",
        "//",
        "/*",
        "*/",
        "{/*",
        "<!--",
        "'",
        '"""',
        "...",
        "…",
        " ",
        "(",
        ")",
        "rest",
        "of",
        "existing",
        "code",
        "as is",
    ]
)
LINES: Final = st.lists(st.one_of(st.text(max_size=30), st.lists(SCRAPS, max_size=12).map("".join)), max_size=8)


@given(LINES, LINES)
@example([], ["# İ…"])
@example(["\ud800"], ["# \ud800 rest of code"])
@example([], ["'"])
@example([], ["# ()"])
def test_any_text_gives_a_line_of_replace_or_nothing(search: list[str], replace: list[str]) -> None:
    found = placeholder(search, replace)
    assert found == "" or (found in [line.strip() for line in replace] and len(found) <= MAX_LENGTH)
    assert found not in {line.strip() for line in search if line.strip()}
    assert placeholder(replace, replace) == ""
