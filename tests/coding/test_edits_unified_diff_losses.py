"""Unified diffs of which a part is missing or lost its first character: none of it is dropped in silence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.diffs import ABC, DIFF, END, GIT, HEAD, OTHER, XY, change, edits, problem

from regreen.edits.operations import CreateFile, MoveFile
from regreen.edits.parsed import EDIT_WAS_HERE
from regreen.edits.unified_diff import UNIFIED_DIFF

SHORT = HEAD + "@@ -1,7 +1,8 @@\n a\n-b\n+c\n"
BARE = HEAD + "@@ ... @@\n a\n-b\n+c\n"
INDEX = "Index: g\n===================================================================\n"
RENAME = "diff --git a/o b/n\nrename from o\nrename to n\n"
LESS = "less lines than its header declares"
NEXT = "where the change of another file should follow"
DIRECT = "directly behind the change of a file"
IN_FENCE = "ends within a code fence"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"```diff\n{SHORT}```\n - one\n+- three\n```\n", LESS),
        (f"```diff\n{SHORT}```\n\n - one\n", LESS),
        (f"```diff\n{SHORT}```\n```\n", IN_FENCE),
        (f"```diff\n{SHORT}```\nProse.\n\n- one\n", LESS),
        (f"{SHORT}\nProse.\n", LESS),
        (f"{SHORT}\n\nProse.\n{OTHER}", LESS),
        (f"{SHORT}Prose.\n", LESS),
        (f"{SHORT}```\n", NEXT),
        (f"{SHORT}```\n{OTHER}x\n", "begins with none of blank"),
        (f"{SHORT}{OTHER}x\n", DIRECT),
        (f"{SHORT}-- \n2.39.5\n", LESS),
        (f"{SHORT}\n--\n2.39.5\n", "has"),
        (f"{SHORT}Index: y\nx\n", NEXT),
        (f"{SHORT}Only in x: y\n", LESS),
        (HEAD + "@@ -1,3 +1,2 @@\n a\n-b\n+c\n\nProse.\n", LESS),
        (HEAD + "@@ -1,2 +1,3 @@\n a\n-b\n+c\n\nProse.\n", LESS),
        (HEAD + "@@ -1,3 +1,2 @@\n a\n-b\n+c\n\n\nProse.\n", LESS),
        (HEAD + "@@ -1,3 +1,3\n a\n-b\n+c\nx\n", LESS),
        (HEAD + "@@  -1,3  +1,3  @@\n a\n-b\n+c\nx\n", LESS),
        (f"{DIFF}@@ -5,3 +5,3 @@\n-x\n+y\nz\n", LESS),
    ],
)
def test_nothing_stands_behind_a_hunk_that_lacks_declared_lines(text: str, said: str) -> None:
    assert problem(text).startswith("parse: ")
    assert said in problem(text)
    assert said in problem(text.replace("\n", "\r\n"))


@pytest.mark.parametrize("start", ["", "Prose.\n\n"])
@pytest.mark.parametrize(
    "text",
    [
        SHORT + OTHER,
        f"{SHORT}\n\n{OTHER}",
        f"{SHORT}{INDEX}{OTHER}",
        f"{SHORT}\n{INDEX}\n{OTHER}",
        f"{SHORT}diff -u a/g b/g\n{OTHER}",
        f"{SHORT}diff --git a/g b/g\n{OTHER}",
        f"```diff\n{SHORT}{OTHER}```\n",
        f"```diff\n{SHORT}```\n```diff\n{OTHER}```\n",
        f"```diff\n{SHORT}```\n\n~~~\n\n{OTHER}~~~\nDone.\n",
        f"````md\n```diff\n{SHORT}```\n````\n\n````md\n```diff\n{OTHER}```\n````\n",
        f"{SHORT}```diff\n{OTHER}```\n",
        f"{DIFF}\nProse.\n\n{OTHER}\nOnly in x: y\n",
        f"{DIFF}Only in x: y\n{OTHER}Only in x: z\n",
        f"```diff\n{DIFF}Only in x: y\n{OTHER}```\n",
        f"{HEAD}@@ -1,9 +1,9 @@\n a\n-b\n+c\n{OTHER}",
        f"```diff\n{SHORT}```\n\nProse.\n```diff\n{OTHER}```\n",
        f"```diff\n{SHORT}{OTHER}```\nProse.\n\nRun:\n```sh\nx\n```\n",
    ],
)
def test_a_wrong_count_is_no_fault_where_nothing_is_lost(text: str, start: str) -> None:
    assert edits(start + text) == [ABC, XY]


def test_counts_of_hunks_within_a_file_may_be_wrong() -> None:
    for gap in ("", "\n", "\n\n"):
        for counts in ("-1,9 +1,9", "-1 +1", "-1,2 +1,9", "-1,9"):
            text = f"{HEAD}@@ {counts} @@\n a\n-b\n+c\n{gap}@@ {counts} @@\n-d\n+e\n"
            found = edits(text)
            assert found[1:] == [change("d", "e")], counts
            assert found == edits(f"```diff\n{text}```\n")


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "@@ ... @@\n-    return 1\n+    return LIMIT\nLIMIT = 10\n",
        DIFF + "Prose.\n",
        DIFF + "\t\nProse.\n",
        BARE + "\tx\n",
        BARE + "\ufeffx\n",
        BARE + "</diff>\n",
        BARE + "Index\n",
        BARE + "\x0c\n",
        BARE + "index 1..2 100644\n",
        f"{DIFF}{OTHER}Prose.\n",
        f"{RENAME}Prose.\n",
        f"{HEAD}@@ -1,2 +1 @@\n a\n-- \n2.39\n",
    ],
)
def test_a_line_directly_behind_a_hunk_has_lost_its_sign(text: str) -> None:
    assert problem(text).startswith("parse: ")
    assert DIRECT in problem(text)
    parsed = UNIFIED_DIFF.parse(text)
    assert parsed.problem is not None
    assert "leave an empty line before prose, or put the diff into a code fence" in parsed.problem.hint


@pytest.mark.parametrize(
    "text",
    [
        DIFF + "\nProse.\n",
        DIFF + "```\nProse.\n",
        DIFF + "```python\nx = 1\n```\nProse.\n",
        DIFF + "```\n",
        DIFF + "```\n\n",
        BARE + "\nProse.\n",
        BARE + "\t\n",
        f"```diff\n{BARE}```\nProse.\n",
        f"```diff\n{BARE}```\n- a bullet\n- another\n",
        f"{DIFF}-- \n2.39.5\nProse.\n",
    ],
)
def test_prose_behind_a_complete_hunk_stands_apart(text: str) -> None:
    assert edits(text) == [ABC]


def test_a_declared_empty_line_sets_prose_apart_too() -> None:
    assert edits(HEAD + "@@ -1,2 +1 @@\n-a\n\nProse.\n") == [change("a|", "")]
    assert edits(f"{RENAME}\nProse.\n") == [MoveFile("o", "n")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"```diff\n{DIFF}", IN_FENCE),
        (f"```diff\n{DIFF}\n\n", IN_FENCE),
        (f"```diff\n{DIFF.rstrip()}", IN_FENCE),
        (f"```diff\n{SHORT}", IN_FENCE),
        (f"~~~\n{BARE}", IN_FENCE),
        (f"~~~\n{BARE}```\n", "begins with none of blank"),
        (f"````md\n```diff\n{DIFF}```\n", IN_FENCE),
        (f"```diff\n{DIFF}-- \n2.39.5\n", IN_FENCE),
        (f"```diff\n{RENAME}", IN_FENCE),
        (f"```diff\n{DIFF}```\n\nProse.\n\n```diff\n", IN_FENCE),
        (f"```diff\n{DIFF}```\n\nRun:\n```sh\npyt", IN_FENCE),
        (f"```diff\n{BARE}```\n```\n", IN_FENCE),
        (f"```diff\n{BARE}```\n - one\n+- three\n", "looks like a line of one"),
        (f"```diff\n{BARE}```\n - one\n```\n", IN_FENCE),
        (f"{DIFF}\nThen:\n```diff\n", IN_FENCE),
        (f"{DIFF}```diff\n", IN_FENCE),
        (f"{DIFF}\n```\n", IN_FENCE),
        (f"{DIFF}Index: g", NEXT),
        (f"{DIFF}diff --gi", NEXT),
        (f"{DIFF}dif", DIRECT),
        (SHORT.rstrip("\n"), "ends without a line end"),
        (SHORT + "+    retu", "ends without a line end"),
        (SHORT + " ", "ends without a line end"),
        (SHORT + "\n\t", "ends without a line end"),
        (f"{DIFF}@@ -5,9 +5,9 @@\n-x\n+y", "ends without a line end"),
        (f"{DIFF}-", "the beginning of a header: '-'"),
        (f"{DIFF}--", "the beginning of a header"),
        (f"{DIFF}---", "the beginning of a header"),
        (f"{BARE}--- ", "the beginning of a header"),
    ],
)
def test_a_response_that_was_cut_off_is_a_parse_error(text: str, said: str) -> None:
    assert problem(text).startswith("parse: ")
    assert said in problem(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (SHORT, ABC),
        (DIFF.rstrip("\n"), ABC),
        (BARE.rstrip("\n"), ABC),
        (HEAD + "@@ -1 +1 @@\n a\n-b\n+c", ABC),
        (f"```diff\n{SHORT}```", ABC),
        (f"~~~~\n{SHORT}~~~~  \n\n", ABC),
        (HEAD + "@@ -1,2 +1 @@\n a\n-", change("a|", "a")),
        (HEAD + "@@ ... @@\n a\n-\n", change("a|", "a")),
    ],
)
def test_a_response_may_end_where_nothing_is_missing(text: str, found: object) -> None:
    assert edits(text) == [found]


def test_every_beginning_of_a_fenced_response_is_refused() -> None:
    text = f"I do it:\n\n```diff\n{DIFF}```\n\nand\n\n```diff\n{GIT}{SHORT}{OTHER}```"
    one = text.index("```\n\nand") + 3
    for end in range(text.index("--- "), len(text)):
        parsed = UNIFIED_DIFF.parse(text[:end])
        between = one <= end <= text.index("```diff\ndiff") + 2
        assert (parsed.problem is None) is between, text[:end]


def test_the_stray_end_of_a_fence_is_no_part_of_the_rest() -> None:
    assert UNIFIED_DIFF.parse(f"{DIFF}```\nDone.\n").rest == f"{EDIT_WAS_HERE}\n\nDone."


@pytest.mark.parametrize(
    ("header", "anchor"),
    [
        ("@@ def b():", "def b():"),
        ("@@ def b(): @@", "def b():"),
        ("@@     def b(self):  ", "    def b(self):"),
        ("@@\tdef b():", "def b():"),
        ("@@ \tdef b():", "\tdef b():"),
        ("@@ class A @@ x", "class A @@ x"),
        ("@@ - one", "- one"),
        ("@@", ""),
        ("@@ @@", ""),
        ("@@ ... @@", ""),
        ("@@...@@", ""),
        ("@@ ...", ""),
        ("@@ … @@", ""),
        ("@@ ... @@ def b():", ""),
        ("@@ @@ def b():", ""),
        ("@@ -1,2 +1,2 @@", ""),
        ("@@ -1,2 +1,2 @@ def b():", ""),
        ("@@ -1,2 +1,2 def b():", ""),
        ("@@-1,2 +1,2@@ def b():", ""),
        ("@@ -1,2", ""),
        ("@@ -1,2 @@ def b():", ""),
        ("@@ 12 @@", ""),
        ("@@ -X,Y +X,Y @@", ""),
        ("@@ -?,? +?,? @@ def b():", ""),
    ],
)
def test_a_header_without_numbers_names_an_anchor(header: str, anchor: str) -> None:
    anchors = (anchor,) if anchor else ()
    assert edits(f"{HEAD}{header}\n-x\n+y\n") == [change("x", "y", anchors=anchors)]
    assert edits(f"{HEAD}{header}\n-x\n+y\n".replace("\n", "\r\n")) == [change("x", "y", anchors=anchors)]


def test_each_hunk_has_its_own_anchor() -> None:
    assert edits(HEAD + "@@ def a():\n-x\n+y\n@@\n-x\n+z\n@@ def b():\n+w\n") == [
        change("x", "y", anchors=("def a():",)), change("x", "z"), change("~", "w", anchors=("def b():",)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f"-b\n{END}+b\r\n+c\r\n", change("b", "b|c", at_end=True, open_end=False, was_open=True)),
        (f"-b\r\n-c\r\n+b\n{END}", change("b|c", "b", at_end=True, open_end=True)),
        (f"-b\n{END}+b\r\n", change("b", "b", at_end=True, open_end=False, was_open=True)),
        (f" a\r\n-b\n{END}+c\n{END}", change("a|b", "a|c", at_end=True, open_end=True, was_open=True)),
    ],
)
def test_the_line_end_of_the_last_line_comes_or_goes_in_a_file_with_crlf(body: str, found: object) -> None:
    assert edits(f"{HEAD}@@\n{body}") == [found]


@pytest.mark.parametrize("body", [f"-a\n+a\r\n-b\n{END}+b\r\n", f"-a\r\n-b\r\n+a\n+b\n{END}"])
def test_other_line_ends_are_kept_beside_the_last_one(body: str) -> None:
    assert "changes the line ends" in problem(f"{HEAD}@@\n{body}")


def test_a_byte_order_mark_is_part_of_the_first_line() -> None:
    assert edits(HEAD + "@@ -1 +1 @@\n-\ufeffx\n+\ufeffy\n") == [change("\ufeffx", "\ufeffy")]
    assert edits(HEAD + "@@ -1,2 +1,2 @@\n \ufeffx\n-\ufeff\n+y\n") == [change("\ufeffx|\ufeff", "\ufeffx|y")]
    assert edits("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+\ufeffx\n") == [CreateFile("f", "\ufeffx\n")]
    assert edits(HEAD + "@@\n+\ufeff\n") == [change("~", "\ufeff")]


@pytest.mark.parametrize("text", [DIFF, GIT + DIFF, f"```diff\n{DIFF}```\n", "+++ b/f\n@@\n a\n-b\n+c\n"])
def test_a_byte_order_mark_before_the_response_is_none_of_it(text: str) -> None:
    assert edits("\ufeff" + text) == [ABC]


ROWS = st.lists(st.tuples(st.sampled_from(" -+"), st.sampled_from(["x", "```", "```py", "~~~", "Index: x", "|", ""])))


def test_a_row_like_a_fence_behind_a_hunk_that_seems_to_end_too_early_is_not_taken_for_prose() -> None:
    hunk = "@@ -1,4 +1,4 @@\n x\n x\n```\n ```\n"  # the third row has lost its blank
    parsed = UNIFIED_DIFF.parse(f"```diff\n{HEAD}{hunk}```\n")
    assert parsed.problem is not None
    assert "less lines than its header declares" in parsed.problem.message
    counted_badly = f"```diff\n{HEAD}@@ -1,9 +1,9 @@\n x\n-y\n+z\n```\n\nAnd then:\n\n```sh\npytest\n```\n"
    assert edits(counted_badly) == [change("x|y", "x|z")]


@settings(max_examples=300, deadline=None, database=None)
@given(
    ROWS.filter(lambda rows: any(body for _, body in rows)),
    st.data(),
    st.sampled_from(["", "```diff\n", "~~~~\n", "````md\n"]),
    st.booleans(),
    st.booleans(),
)
def test_a_line_without_its_sign_is_never_dropped(
    rows: list[tuple[str, str]], data: st.DataObject, fence: str, prose: bool, counted: bool
) -> None:
    old, new = (sum(sign != other for sign, _ in rows) for other in "+-")
    lines = [sign + body for sign, body in rows]
    at = data.draw(st.sampled_from([n for n, (_, body) in enumerate(rows) if body]))
    head = f"{HEAD}@@ -1,{old} +1,{new} @@\n" if counted else f"{HEAD}@@ ... @@\n"
    end = "".join(mark for mark in fence if mark in "`~\n")
    tail = end + ("\nProse.\n" if prose else "")
    whole = "".join(line + "\n" for line in lines)
    assert edits(fence + head + whole + tail)
    lines[at] = rows[at][1]
    text = fence + head + "".join(line + "\n" for line in lines) + tail
    parsed = UNIFIED_DIFF.parse(text)
    if counted:
        assert parsed.problem is not None, text
    elif parsed.problem is None:
        assert not any(line.startswith(("+", "-")) for line in lines[at:]), text
