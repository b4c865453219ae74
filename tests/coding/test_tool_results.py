"""Long tool results: what the model is shown of them, and how it gets the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.agent_tools import a_tool, said

from regreen.agent.results import MAX_CHARS, MAX_KEPT, MIN_CHARS, READ_RESULT, Results
from regreen.agent.tool import ToolContext, ToolReply
from regreen.agent.toolbox import Toolbox
from regreen.errors import UsageError
from regreen.redact import Redactor
from regreen.settings import AgentSettings
from regreen.wire import Json

MARKER = re.compile(
    r'\n\.\.\. (\d+) characters left out; read_result\(handle="(r\d+)", offset=(\d+)\) has the rest \.\.\.\n'
)
MORE = re.compile(r'\n\.\.\. (\d+) characters more: read_result\(handle="(r\d+)", offset=(\d+)\)$')
LINES = st.lists(st.text("ab \u00e9\U0001f600", max_size=300), min_size=1, max_size=60).map("\n".join)


def whole_of(results: Results, handle: str, offset: int, room: int) -> str:
    """All pages from `offset`, put together."""
    pages: list[str] = []
    while True:
        page, following = results.page(handle, offset, room)
        pages.append(page)
        if following == offset + len(page) and len(page) <= room and following > offset:
            offset = following
        else:
            raise AssertionError((offset, following, len(page)))
        try:
            results.page(handle, offset, room)
        except UsageError:
            return "".join(pages)


@given(LINES, st.integers(1, 3000), st.sampled_from([0.0, 0.2, 0.8, 1.0]))
def test_no_budget_is_exceeded_and_beginning_and_end_stay(text: str, most: int, share: float) -> None:
    results = Results()
    shown = results.fitted(text, most, share)
    assert len(shown) <= max(most, MIN_CHARS)
    if len(text) <= max(most, MIN_CHARS):
        assert shown == text
        return
    marker = MARKER.search(shown)
    assert marker
    head, tail = shown[: marker.start()], shown[marker.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    assert int(marker[1]) == len(text) - len(head) - len(tail) > 0
    assert int(marker[3]) == len(head)
    assert head + whole_of(results, marker[2], len(head), 500) == text


def test_lines_stay_whole_where_they_are_short() -> None:
    text = "\n".join(f"line {i}" for i in range(1000))
    shown = Results().fitted(text, 2000, 0.5)
    marker = MARKER.search(shown)
    assert marker
    assert shown[: marker.start()].endswith("\n")
    assert all(re.fullmatch(r"line \d+", line) for line in MARKER.sub("", shown).splitlines())


def test_of_a_test_runs_output_most_of_what_is_shown_is_its_end() -> None:
    text = "".join(f"{i:05}\n" for i in range(5000))
    shown = Results().fitted(text, 8000, 0.2)
    head, _, tail = shown.partition("\n... ")
    assert 0.15 < len(head) / 8000 < 0.21
    assert len(tail) > 6000


def test_a_line_longer_than_the_budget_is_cut_inside() -> None:
    shown = Results().fitted("x" * 50_000, 1000, 0.8)
    assert 950 < len(shown) <= 1000


# --- the tool ----------------------------------------------------------------------------------------


def box_saying(text: str, **chosen: object) -> Toolbox:
    return Toolbox([a_tool("long", text, **chosen)], settings=AgentSettings(tool_result_chars=1000), redact=Redactor())


def test_read_result_pages_to_the_end_of_what_was_cut() -> None:
    text = "".join(f"row {i}\n" for i in range(1000))
    box = box_saying(text)
    shown = said(box, "long").output.text
    marker = MARKER.search(shown)
    assert marker
    handle, offset, got = marker[2], int(marker[3]), shown[: marker.start()]
    while True:
        page = said(box, READ_RESULT, handle=handle, offset=offset).output
        assert not page.is_error
        assert len(page.text) <= 1000
        more = MORE.search(page.text)
        got += MORE.sub("", page.text)
        if not more:
            break
        offset = int(more[3])
    assert got == text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "invalid_arguments: read_result needs `handle`, a string\nas the cut result names it"),
        ({"handle": "r9"}, "not_found: no result `r9` is kept\nkept: r1; call the tool again that gave it"),
        ({"handle": "r1", "offset": 5000}, "limit_exceeded: `offset` is 5000, of 5000 characters\ngive 0 to 4999"),
        ({"handle": "r1", "offset": "1"}, "invalid_arguments: `offset` is '1', not a whole number\ngive 0 or more"),
        ({"handel": "r1"}, "unknown_argument: read_result has no argument `handel`\nknown: handle, offset"),
    ],
)
def test_a_wrong_page_is_an_error_that_says_what_there_is(arguments: dict[str, Json], says: str) -> None:
    box = box_saying("x" * 5000)
    said(box, "long")
    result = said(box, READ_RESULT, **arguments).output
    assert (result.is_error, result.text) == (True, says)


def test_a_tool_may_have_a_budget_of_its_own() -> None:
    assert len(said(box_saying("x" * 5000, max_chars=3000), "long").output.text) <= 3000
    assert said(box_saying("x" * 5000, max_chars=6000), "long").output.text == "x" * 5000


def test_only_so_many_results_are_kept() -> None:
    results = Results()
    for _ in range(MAX_KEPT + 1):
        results.fitted("x" * 1000, MIN_CHARS, 0.8)
    assert results.page("r2", 0, 10) == ("x" * 10, 10)
    with pytest.raises(UsageError, match="no result `r1` is kept"):
        results.page("r1", 0, 10)


def test_no_reply_is_kept_beyond_all_bounds() -> None:
    box = box_saying("x\n" * MAX_CHARS)
    handle = MARKER.search(said(box, "long").output.text)
    assert handle
    end = said(box, READ_RESULT, handle=handle[2], offset=MAX_CHARS - 10).output.text
    assert end.endswith(f"… {MAX_CHARS} characters more, which are not kept")


# --- what is in it -----------------------------------------------------------------------------------


def test_a_secret_is_masked_before_anything_is_cut() -> None:
    token = "ghp_" + "a" * 36
    box = box_saying("\n".join([token] * 500))
    shown = said(box, "long").output.text
    assert "ghp_" not in shown
    assert "[redacted:github-token]" in shown
    assert "ghp_" not in said(box, READ_RESULT, handle="r1", offset=100).output.text


@settings(max_examples=20)
@given(st.text("a\n\0\u00e9\ud800\udfff\U0001f600"))
def test_every_text_can_be_sent_as_utf8(text: str) -> None:
    said(Toolbox([a_tool("any", lambda a, c: ToolReply(text + "\udcff"))]), "any").output.text.encode("utf-8")


def test_nothing_said_is_said_in_words_and_counts_as_empty() -> None:
    result = said(Toolbox([a_tool("mute", "")]), "mute")
    assert (result.output.text, result.empty) == ("(no output)", True)


@pytest.mark.parametrize("reply", [None, 3, {"a": 1}, "text", ToolReply(3), ToolReply(None)])  # type: ignore[arg-type]
def test_a_reply_that_is_none_becomes_an_error(reply: object) -> None:
    def run(arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
        return reply  # type: ignore[return-value]

    result = said(Toolbox([a_tool("odd", run)]), "odd").output
    assert result.is_error
    assert re.match(r"bad_reply: `odd` replied with \w+, which cannot be shown\ngo another way", result.text)
