"""Results in pages: small, whole items and lines, and following the cursors gives all of it, once."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regreen.errors import UsageError
from regreen.tools.paging import MAX_CHARS, PAGED, USUAL_CHARS, page, read_cursor, rest_of
from regreen.wire import Json

LINES = st.lists(st.text("ab\u00e9\u6f22", max_size=60), max_size=400).map(
    lambda lines: "".join(f"{x}\n" for x in lines)
)
NAMES = st.lists(st.text("abc/", min_size=1, max_size=80), max_size=400)
FAILURE = st.fixed_dictionaries({"id": st.text("abc", max_size=30), "excerpt": st.text("xy \n", max_size=900)})
FAILURES = st.lists(FAILURE, max_size=60)


def size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def pages_of(tool: str, data: dict[str, Json], chars: int = 0) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    cursor = ""
    while not found or cursor:
        found.append(page(tool, data, read_cursor(cursor, tool), chars))
        cursor = str(found[-1].get("cursor", ""))
        assert len(found) < 2_000
    return found


@given(NAMES, LINES, st.sampled_from([0, 1_000, 60_000]))
def test_the_pages_of_a_diff_hold_all_of_it_in_whole_lines(names: list[str], diff: str, chars: int) -> None:
    data: dict[str, Json] = {"since": "HEAD", "files": [{"path": n} for n in names], "diff": diff, "truncated": False}
    found = pages_of("show_changes", data, chars)
    assert "".join(str(p["diff"]) for p in found) == diff
    assert [f for p in found for f in _list(p["files"])] == data["files"]
    assert all(size(p) <= max(chars, USUAL_CHARS) * 1.1 + 400 for p in found)
    assert [p["truncated"] for p in found] == [True] * (len(found) - 1) + [False]
    assert all(str(p["diff"]).endswith("\n") for p in found if p["diff"])


@given(FAILURES, NAMES, LINES)
def test_the_pages_of_a_job_hold_each_failure_attempt_and_line_once(failures: list[dict[str, str]], names: list[str],
                                                                    diff: str) -> None:  # fmt: skip
    data: dict[str, Json] = {
        "job_id": "job-1", "state": "done", "failures": list(failures), "attempts": [],
        "outcome": {"reason": "fixed", "fixed_tests": list(names), "diff": diff},
    }  # fmt: skip
    found = pages_of("job_status", data)
    assert [f for p in found for f in _list(p["failures"])] == failures
    outcomes: list[Any] = [p["outcome"] for p in found]
    assert [n for o in outcomes for n in o["fixed_tests"]] == names
    assert "".join(o["diff"] for o in outcomes) == diff
    assert all(o["reason"] == "fixed" for o in outcomes)
    assert all(size(p) <= MAX_CHARS for p in found)


JSON = st.recursive(
    st.text(max_size=50) | st.integers() | st.booleans() | st.just("x" * 200_000),
    lambda inner: st.lists(inner, max_size=300) | st.dictionaries(st.text("abc", max_size=5), inner, max_size=5),
    max_leaves=30,
)


SOME = st.dictionaries(st.sampled_from(["message", "notes", "outcome", "diff", "files"]), JSON, max_size=5)


@given(st.sampled_from(sorted(PAGED)), SOME)
def test_a_page_is_small_whatever_is_in_a_result(tool: str, data: dict[str, Any]) -> None:
    assert size(page(tool, {"truncated": False, **data})) <= MAX_CHARS + 100


def test_what_is_small_is_one_page_and_stays_as_it_is() -> None:
    data: dict[str, Json] = {"status": "passed", "failures": [], "counts": {"passed": 3}, "notes": ["a"]}
    assert page("run_tests", data) == data
    assert rest_of("run_tests", data) == ""


def test_an_item_larger_than_a_page_is_cut_and_says_so() -> None:
    shown = page("search_text", {"matches": [{"text": "x" * 500_000}], "truncated": False})
    assert "characters more" in json.dumps(shown)
    assert size(shown) < USUAL_CHARS


def test_a_search_that_stopped_at_its_limit_goes_on_from_there() -> None:
    matches: list[Json] = [{"line": n} for n in range(50)]
    shown = page("search_text", {"matches": matches, "truncated": True})
    assert shown["cursor"] == "matches:50"
    nothing_new = page("search_text", {"matches": matches, "truncated": True}, {"matches": 50})
    assert "cursor" not in nothing_new, "a search that gets no further ends"
    found = page("find_symbol", {"definitions": matches, "references": [], "definitions_total": 70})
    assert found["cursor"] == "definitions:50"
    last = page("find_symbol", {"definitions": matches * 400, "references": [], "definitions_total": 29_700},
                {"definitions": 19_990})  # fmt: skip
    assert len(last["definitions"]) == 10 and "cursor" not in last, "no more than that is looked for"


@pytest.mark.parametrize("text", ["x", "diff", "diff:", "diff:-1", "diff:1,diff:2", "nothing:3", "diff:1,", "diff:²",
                                  "diff:9999999999999", "x" * 100_000])  # fmt: skip
def test_a_cursor_that_nothing_has_told_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_cursor(text, "show_changes")
    assert refused.value.kind == "invalid_arguments"
    assert len(refused.value.message) < 300


def test_how_the_rest_is_reached_is_said_in_the_words_of_the_tool() -> None:
    assert 'cursor="diff:9"' in rest_of("show_changes", {"cursor": "diff:9"})
    assert rest_of("run_tests", {"cursor": "failures:9", "job_id": "job-1"}) == \
        '(more: job_status(job_id="job-1", cursor="failures:9"))'  # fmt: skip
    assert 'show_changes(since="txn-1")' in rest_of("apply_edits", {"cursor": "files:1", "transaction": "txn-1"})


def _list(value: Json) -> list[Any]:
    assert isinstance(value, list)
    return value
