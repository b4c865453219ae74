"""Reading apply_patch envelopes out of a response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.formats import check_case, corpus, edits_of, problem_of, steps

from regreen.edits.apply_patch import APPLY_PATCH
from regreen.edits.operations import CreateFile, DeleteFile, MoveFile, ReplaceLines

parse = APPLY_PATCH.parse
CASES = corpus("apply_patch")


def envelope(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def update(*lines: str) -> str:
    return envelope("*** Update File: a.py", *lines)


def lines(search: list[str], new: list[str], *anchors: str, at_end: bool = False, path: str = "a.py") -> ReplaceLines:
    return ReplaceLines(path, tuple(search), tuple(new), anchors, at_end=at_end, as_on_disk=True)


X_TO_Y = lines(["x"], ["y"])


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_reference_cases_are_read_or_refused(case: dict[str, Any]) -> None:
    check_case(parse(case["edits"]), case)


def test_sections_become_operations_in_their_order() -> None:
    text = envelope(
        "*** Add File: n.py", "+a", "+", "+ b", "*** Delete File: old dir/o.py", "",
        "*** Update File: a.py", "*** Move to: d/b.py", "@@", "-x", "+y", "@@", " k", "+l",
        "*** Update File: c.py", "-x", "+y",
    )  # fmt: skip
    assert edits_of(parse(text)) == [
        CreateFile("n.py", "a\n\n b\n"),
        DeleteFile("old dir/o.py"),
        X_TO_Y,
        lines(["k"], ["k", "l"]),
        MoveFile("a.py", "d/b.py"),
        lines(["x"], ["y"], path="c.py"),
    ]


CHUNKS: dict[str, tuple[list[str], list[ReplaceLines]]] = {
    "bare header": (["@@", "-x", "+y"], [X_TO_Y]),
    "header with a blank": (["@@ ", "-x", "+y"], [X_TO_Y]),
    "no header on the first": (["-x", "+y"], [X_TO_Y]),
    "no header, then one": (["-x", "+y", "@@", "-p"], [X_TO_Y, lines(["p"], [])]),
    "anchor": (["@@ def f():", "-x", "+y"], [lines(["x"], ["y"], "def f():")]),
    "anchor keeps its indentation": (["@@     def f():  ", "-x", "+y"], [lines(["x"], ["y"], "    def f():")]),
    "anchor with a tab": (["@@ \tdef f():\t", "-x", "+y"], [lines(["x"], ["y"], "\tdef f():")]),
    "stacked anchors": (
        ["@@ class A:", "@@     def f():", "-x", "+y"],
        [lines(["x"], ["y"], "class A:", "    def f():")],
    ),
    "stacked with a bare one": (["@@ class A:", "@@", "-x", "+y"], [lines(["x"], ["y"], "class A:")]),
    "anchor closed": (["@@ def f(): @@", "-x", "+y"], [lines(["x"], ["y"], "def f():")]),
    "anchor that holds @@": (["@@ a @@ b", "-x", "+y"], [lines(["x"], ["y"], "a @@ b")]),
    "header closed": (["@@ @@", "-x", "+y"], [X_TO_Y]),
    "elided header": (["@@ ... @@", "-x", "+y"], [X_TO_Y]),
    "numbers": (["@@ -1,2 +3,4 @@", "-x", "+y"], [X_TO_Y]),
    "short numbers": (["@@ -1 +1 @@", "-x", "+y"], [X_TO_Y]),
    "numbers with a heading": (["@@ -1,2 +3,4 @@ def f():", "-x", "+y"], [X_TO_Y]),
    "numbers left open": (["@@ -1,2 +3,4", "-x", "+y"], [X_TO_Y]),
    "almost numbers": (["@@ -1,2 +b", "-x", "+y"], [lines(["x"], ["y"], "-1,2 +b")]),
    "context kept": (["@@", " a", "-x", "+y", "  b "], [lines(["a", "x", " b "], ["a", "y", " b "])]),
    "empty line is context": (["@@", " a", "", "-x"], [lines(["a", "", "x"], ["a", ""])]),
    "empty line ends a chunk": (["@@", "-x", "+y", "", "@@", "-p"], [X_TO_Y, lines(["p"], [])]),
    "empty lines end the last chunk": (["@@", "-x", "+y", "", ""], [X_TO_Y]),
    "empty lines before the end of the file": (
        ["@@", "-x", "+y", "", "*** End of File"],
        [lines(["x"], ["y"], at_end=True)],
    ),
    "empty lines behind context": (["@@", "-x", " k", "", "@@", "-p"], [lines(["x", "k"], ["k"]), lines(["p"], [])]),
    "a line with a blank sign is no gap": (["@@", "-x", "+y", " ", ""], [lines(["x", ""], ["y", ""])]),
    "an empty line that comes is no gap": (["@@", "-x", "+", "", ""], [lines(["x"], [""])]),
    "empty lines in the middle": (["@@", "-x", "", "", "+y", ""], [lines(["x", "", ""], ["", "", "y"])]),
    "byte order mark": (["@@", "-\ufeffx", "+\ufeffy"], [lines(["\ufeffx"], ["\ufeffy"])]),
    "empty line before the first": (["", "-x", "+y"], [lines(["", "x"], ["", "y"])]),
    "empty lines before a header": (["", "  ", "@@", "-x", "+y"], [X_TO_Y]),
    "end of file": (["@@", "-x", "+y", "*** End of File"], [lines(["x"], ["y"], at_end=True)]),
    "end of file, then more": (
        ["@@", "-x", "+y", "*** End of File  ", "", "@@", "-p"],
        [lines(["x"], ["y"], at_end=True), lines(["p"], [])],
    ),
    "pure addition": (["@@", "+y"], [lines([], ["y"])]),
    "pure addition, anchored": (["@@ x", "+y", "+"], [lines([], ["y", ""], "x")]),
    "pure addition at the end": (["@@", "+y", "*** End of File"], [lines([], ["y"], at_end=True)]),
    "gap after an addition": (["@@ x", "+y", "", ""], [lines([], ["y"], "x")]),
    "gap after an addition, then more": (["@@ x", "+y", "", "@@", "-p"], [lines([], ["y"], "x"), lines(["p"], [])]),
    "blank context of an addition": (["@@", " ", "+y"], [lines([""], ["", "y"])]),
    "empty context above an addition": (["@@", "", "+y"], [lines([""], ["", "y"])]),
    "pure removal": (["@@", "-x"], [lines(["x"], [])]),
    "removal of a blank line": (["@@", "-"], [lines([""], [])]),
    "context only": (["@@", " x"], [lines(["x"], ["x"])]),
    "markers as content": (
        ["@@", "+*** End Patch", "-*** Update File: x", " *** Begin Patch", "+@@", " *** End of File"],
        [lines(["*** Update File: x", "*** Begin Patch", "*** End of File"],
               ["*** End Patch", "*** Begin Patch", "@@", "*** End of File"])],
    ),
    "padded end is context": (
        ["@@", "-x", " *** End Patch", "+"],
        [lines(["x", "*** End Patch"], ["*** End Patch", ""])],
    ),
    "diff marks as content": (["@@", "---x", "+++y"], [lines(["--x"], ["++y"])]),
    "old Mac line ends are content": (["@@", "-a\rb", "+c"], [lines(["a\rb"], ["c"])]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHUNKS)
def test_chunks(name: str) -> None:
    body, wanted = CHUNKS[name]
    assert edits_of(parse(update(*body))) == wanted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("Here it is:\n\n```\n", "```\nDone.\n"),
        ("```diff\n", "```"),
        ("apply_patch <<'EOF'\n", "EOF\n"),
        ("$ apply_patch <<EOF\n", "EOF"),
        ("bash -lc \"apply_patch <<'PATCH-1'\n", 'PATCH-1\n"\n'),
        ('["bash", "-lc", "apply_patch <<EOF\n', 'EOF"]\n'),
        ("cat <<'END' | apply_patch\n", "END\n"),
        ("*** Important ***\n", "***\n"),
    ],
)
def test_what_stands_around_an_envelope_is_rest(before: str, after: str) -> None:
    parsed = parse(before + update("@@", "-x", "+y") + after)
    assert edits_of(parsed) == [X_TO_Y]
    assert parsed.rest.split() == (before + after).split()
    assert parsed.format == "apply_patch"


def test_empty_lines_between_chunk_and_file_are_a_gap() -> None:
    text = envelope("*** Update File: a.py", "-x", "+y", "", "", "*** Delete File: b", "")
    assert edits_of(parse(text)) == [X_TO_Y, DeleteFile("b")]


def test_a_byte_order_mark_before_the_response_is_none_of_it() -> None:
    text = "\ufeff" + update("@@", "-x", "+y")
    assert edits_of(parse(text)) == [X_TO_Y]
    assert parse(text).rest.strip() == ""
    assert APPLY_PATCH.marks is not None
    found = APPLY_PATCH.marks.search(text)
    assert found is not None
    assert found.start() == 0


def test_several_envelopes_are_read_in_order() -> None:
    text = f"First\n{update('-x', '+y')}then\n{envelope()}{envelope('*** Delete File: b')}"
    assert edits_of(parse(text)) == [X_TO_Y, DeleteFile("b")]
    assert parse(text).rest.split() == ["First", "then"]


def test_a_crlf_response_is_read_like_an_lf_one() -> None:
    text = envelope("*** Add File: n", "+a", "*** Update File: a.py", "@@ k", "-x", "+y", "*** End of File")
    assert edits_of(parse(text.replace("\n", "\r\n"))) == edits_of(parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "  *** Begin Patch\n  *** Update File: a.py\n@@\n-x\n+y\n*** End Patch  \n",
        "*** Begin Patch\n\t*** Update File:   a.py  \n@@\n-x\n+y\n*** End Patch\t",
        "*** Begin Patch\n\n*** Update File:a.py\n@@\n-x\n+y\n  *** End Patch",
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n *** End Patch\nEOF\n```\n\n",
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n *** End Patch\nPATCH-1')\n\")\n",
    ],
)
def test_blanks_around_markers_are_tolerated_where_no_content_can_stand(text: str) -> None:
    assert edits_of(parse(text)) == [X_TO_Y]


def test_an_indented_end_marker_ends_an_envelope_between_files() -> None:
    text = "*** Begin Patch\n*** Delete File: a\n  *** End Patch\nbye\n" + envelope("*** Add File: b", "+x", "  ")
    assert edits_of(parse(text)) == [DeleteFile("a"), CreateFile("b", "x\n")]
    text = (
        "*** Begin Patch\n*** Add File: a\n+x\n  *** End Patch\n  *** Begin Patch\n*** Delete File: b\n *** End Patch"
    )
    assert edits_of(parse(text)) == [CreateFile("a", "x\n"), DeleteFile("b")]


def test_move_may_be_indented_or_stand_after_a_gap() -> None:
    for gap in ("", "\n", "\n\n  "):
        text = f"*** Begin Patch\n*** Update File: a\n{gap}*** Move to: b c\n*** End Patch\n"
        assert edits_of(parse(text)) == [MoveFile("a", "b c")]


REFUSED: dict[str, tuple[str, str]] = {
    "no end": ("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n", "may have been cut off"),
    "no end, nothing at all": ("*** Begin Patch", "has no `*** End Patch`"),
    "no end before prose": ("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n```\nDone.\n", "has no `*** End Patch`"),
    "end in the middle of a sentence": ("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch now", "has no"),
    "padded end, then prose": ("*** Begin Patch\n*** Update File: a\n-x\n *** End Patch\nI did it.", "has no"),
    "no end before the next": ("*** Begin Patch\n*** Add File: a\n+x\n" + envelope(), "another one begins at line 4"),
    "no begin": ("*** Update File: a\n@@\n-x\n+y\n*** End Patch\n", "line 1 of the response stands outside"),
    "end alone": ("*** End Patch\n", "stands outside"),
    "second end": (update("-x") + "*** End Patch\n", "line 5 of the response stands outside"),
    "section behind the end": (update("-x") + "*** Add File: b\n+x\n", "stands outside"),
    "begin with more": ("*** Begin Patch now\n*** Delete File: a\n*** End Patch\n", "stands outside"),
    "begin in other words": ("***begin patch***\nx\n", "stands outside"),
    "begin within": (envelope("*** Delete File: a", " *** Begin Patch"), "begins another envelope"),
    "unknown marker": (envelope("*** Rename File: a"), "belongs to no file"),
    "unknown marker in a chunk": (update("@@", "-x", "*** Oops", "+y"), "belongs to no file: '*** Oops'"),
    "preamble": (envelope("*** Environment ID: x", "*** Delete File: a"), "belongs to no file"),
    "no path": (envelope("*** Add File: ", "+x"), "names no path"),
    "no path, no colon text": (envelope("*** Update File:", "-x"), "names no path"),
    "no new path": (envelope("*** Update File: a", "*** Move to:  "), "names no path"),
    "quoted path": (envelope("*** Add File: `a.py`", "+x"), "has its path in quotes"),
    "add without plus": (envelope("*** Add File: a", "+x", "y"), "line 4 of the response is not part of the new file"),
    "add with a bare empty line": (envelope("*** Add File: a", "+x", "", "+y"), "line 5 of the response is not part"),
    "add with padded plus": (envelope("*** Add File: a", " +x"), "is not part of the new file"),
    "add with end of file": (envelope("*** Add File: a", "+x", "*** End of File"), "where no chunk is"),
    "delete with lines": (envelope("*** Delete File: a", "-x"), "belongs to no file: '-x'"),
    "update of nothing": (update(), "nothing follows that changes it"),
    "update of nothing but blanks": (update("", " "), "nothing follows that changes it"),
    "move without update": (envelope("*** Delete File: a", "*** Move to: b"), "`*** Move to:` in a wrong place"),
    "move after chunks": (update("-x", "*** Move to: b"), "`*** Move to:` in a wrong place"),
    "end of file alone": (update("*** End of File"), "nothing follows that changes it"),
    "end of file in an empty chunk": (update("@@", "*** End of File"), "is empty"),
    "end of file twice": (update("-x", "*** End of File", "*** End of File"), "where no chunk is"),
    "lines behind end of file": (update("-x", "*** End of File", "+y"), "stands behind `*** End of File`"),
    "empty chunk": (update("@@"), "the chunk at line 3 of the response, of `a.py`, is empty"),
    "empty chunk before another": (update("@@ a", "", "@@", "-x"), "is empty"),
    "blank context only": (update("@@", "", " "), "is empty"),
    "line without a mark": (update("@@", "-x", "return"), "begins with none of ` `, `-`, `+`: 'return'"),
    "tab instead of a blank": (update("@@", "\tx", "-y"), "begins with none"),
    "fence within": (update("```", "-x", "```"), "begins with none"),
    "git's note": (update("-x", "\\ No newline at end of file"), "begins with none"),
    "glued header": (update("@@def f():", "-x"), "is no beginning of a chunk"),
    "three at signs": (update("@@@ -1 +1 @@@", "-x"), "is no beginning of a chunk"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_clear_meaning_is_a_parse_error(name: str) -> None:
    text, said = REFUSED[name]
    assert problem_of(parse(text)).startswith("parse: ")
    assert said in problem_of(parse(text))
    assert problem_of(parse(text.replace("\n", "\r\n"))) == problem_of(parse(text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no apply_patch envelope"),
        ("Nothing to do.", "holds no apply_patch envelope"),
        ("Use the `*** Begin Patch` format", "does not stand alone on a line"),
        ('{"cmd": "*** Begin Patch\\n*** End Patch"}', "does not stand alone on a line"),
        (envelope(), "the apply_patch envelope is empty"),
        (envelope("", " ") + envelope(), "the apply_patch envelope is empty"),
    ],
)
def test_a_response_without_changes_is_no_edits(text: str, said: str) -> None:
    assert problem_of(parse(text)).startswith("no_edits: ")
    assert said in problem_of(parse(text))


def test_complete_sections_before_the_unreadable_place_are_kept_for_the_report() -> None:
    parsed = parse(envelope("*** Delete File: a", "*** Update File: b", "-x", "oops"))
    assert (list(parsed.edits), parsed.problem_at) == ([DeleteFile("a")], 1)
    parsed = parse("*** Begin Patch\n*** Delete File: a\n*** Add File: b\n+cut")
    assert (list(parsed.edits), parsed.problem_at) == ([DeleteFile("a")], 1)
    parsed = parse(envelope("*** Delete File: a") + "*** Begin Patch\n*** Add File: b\n+cut")
    assert (list(parsed.edits), parsed.problem_at) == ([DeleteFile("a")], 1)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("x\n*** Begin Patch\n", True),
        ("  *** Begin Patch \r\n", True),
        ("*** End Patch", True),
        ("*** Update File: a\n", True),
        ("*** Add File: a\n", True),
        ("*** Delete File: a\n", True),
        ("use `*** Begin Patch`\n", False),
        ("+*** Begin Patch\n", False),
        ("*** Begin Patching\n", False),
        ("*** a.py\n--- b.py\n", False),
        (" *** Update File: a\n", False),
    ],
)
def test_the_format_is_told_by_its_markers(text: str, marked: bool) -> None:
    assert APPLY_PATCH.marks is not None
    assert bool(APPLY_PATCH.marks.search(text)) is marked


def test_the_prompts_own_example_parses() -> None:
    example = APPLY_PATCH.prompt.split("\n\n", 1)[1].split("\n\n- ")[0]
    assert [type(edit) for edit in edits_of(parse(example))] == [ReplaceLines, CreateFile, DeleteFile]
    assert edits_of(parse(example))[0].anchors == ("class Shape:", "    def area(self):")


PIECES = st.sampled_from(
    [
        "*** Begin Patch", "*** Begin Patch", "*** End Patch", "*** End Patch", " *** End Patch", "  *** Begin Patch",
        "*** Update File: a", "*** Update File: a", "*** Add File: b", "*** Delete File: c", "*** Move to: d",
        "*** End of File", "*** ", "***", "*** Update File:", "@@", "@@ k", "@@ -1 +1 @@", "@@x", "+x", "-x", " x", "",
        " ", "\t", "\r", "EOF", "```", "\x00", "\ud800", "x",
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=None, database=None)
@given(st.one_of(st.text(), st.lists(st.one_of(PIECES, PIECES, st.text(max_size=6)), max_size=20).map("\n".join)))
@example("*** Begin Patch\n*** Update File: a\n")
def test_no_text_makes_the_parser_raise_or_fall_silent(text: str) -> None:
    parsed = parse(text)
    assert parsed.edits or parsed.problem
    assert parsed.problem_at == len(parsed.edits)
    assert all(edit.path for edit in parsed.edits)
    if parsed.problem is None:
        assert not any(line.startswith("*** Update File: ") for line in parsed.rest.split("\n"))


LINE = st.text(st.characters(exclude_characters="\n\r"), max_size=10)


@settings(max_examples=150, deadline=None, database=None)
@given(st.lists(st.tuples(st.sampled_from(" -+"), LINE), min_size=1, max_size=8), st.lists(LINE, max_size=4))
def test_any_lines_survive_a_chunk_and_a_new_file(body: list[tuple[str, str]], new: list[str]) -> None:
    body.append(("-", "x"))  # so that no empty line ends it
    text = envelope(
        "*** Add File: n", *("+" + line for line in new), "*** Update File: a.py", "@@", *(k + line for k, line in body)
    )
    search, replace = ([line for k, line in body if k != skip] for skip in "+-")
    assert edits_of(parse(text)) == [CreateFile("n", "".join(line + "\n" for line in new)), lines(search, replace)]


HARD: dict[str, Callable[[int], str]] = {
    "envelopes": lambda n: update("-x", "+y") * n,
    "open envelopes": lambda n: "  *** Begin Patch\n  *** End Patch\n" * n + "EOF\n" * n,
    "begins": lambda n: "*** Begin Patch\n" * n,
    "padded ends": lambda n: "*** Begin Patch\n*** Update File: a\n" + " *** End Patch\n" * n + "x\n",
    "anchors": lambda n: update(*["@@ a"] * n, "-x"),
    "chunks": lambda n: update(*["@@", "-x", "", ""] * n),
    "gaps": lambda n: update(*["@@", "+x", *[""] * 50] * (n // 50)),
    "empty lines": lambda n: update(*[""] * n, "@@", "-x"),
    "prose": lambda n: "*** x\n" * n + update("-x"),
}


@pytest.mark.parametrize("shape", HARD)
def test_work_grows_with_the_size_of_the_response(shape: str) -> None:
    small, large = (HARD[shape](n) for n in (500, 4_000))
    assert steps(lambda: parse(large)) < 8 * 1.5 * steps(lambda: parse(small)) + 1_000
