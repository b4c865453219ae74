"""Reading unified diffs out of a response: where they are, where hunks end, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.diffs import ABC, DIFF, END, GIT, HEAD, OTHER, XY, change, edits, parse, problem

from regreen.edits.operations import Operation
from regreen.edits.parsed import EDIT_WAS_HERE
from regreen.edits.unified_diff import UNIFIED_DIFF

CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "edits.json"
CASES = [c for c in json.loads(CORPUS.read_text("utf-8"))["cases"] if c["format"] == "unified_diff"]
PARSED_ERRORS = ("parse", "unsupported", "no_edits")


@pytest.mark.parametrize(
    "text",
    [
        DIFF,
        DIFF.rstrip("\n"),
        DIFF.replace("\n", "\r\n"),
        HEAD + "@@ -7,20 +9,1 @@ def f():\n a\n-b\n+c\n",
        HEAD + "@@ ... @@\n a\n-b\n+c\n",
        HEAD + "@@\n a\n-b\n+c\n",
        HEAD + "@@ @@ class X\n a\n-b\n+c\n",
        HEAD + "@@-1,2 +1,2@@\n a\n-b\n+c\n",
        HEAD + "@@ -1,2\n a\n-b\n+c\n",
        HEAD + f"@@ -{'9' * 5000} +1 @@\n a\n-b\n+c\n",
        HEAD + "\n@@ @@\n a\n-b\n+c\n",
        f"Here:\n```diff\n{DIFF}```\nDone.\n",
        f"Here:\n~~~~ patch\n{DIFF}~~~~\n- a bullet\n- another\n",
        f"```\n{DIFF}```",
        f"```diff\n{DIFF}```\n- a bullet\n\n-x\n",
        HEAD + "@@ -1,9 +1,9 @@\n a\n-b\n+c\n",
        HEAD + "@@ -1,9 +1,9 @@\n a\n-b\n+c\n\n\n",
        f"```diff\n{HEAD}@@ -1,9 +1,9 @@\n a\n-b\n+c\n```\n",
        f"```diff\n{HEAD}@@ -1,9 +1,9 @@\n a\n-b\n+c\n```",
        HEAD + "@@ -1 +1 @@\n a\n-b\n+c\n\nProse.\n",
        f"```diff\n{HEAD}@@ -1 +1 @@\n a\n-b\n+c\n```\nProse.\n",
        f"```diff\n{HEAD}@@ ... @@\n a\n-b\n+c\n```\nProse.\n",
        GIT + "index 1234567..abcdefg 100644\n" + DIFF,
        f"````markdown\n```diff\n{DIFF}```\n````\n",
        f"I change it.\n\n- one thing\n- another\n\n{DIFF}\nThis keeps a.\n---\nDone.\n",
        f"{DIFF}```\n",
        "Index: f\n===================================================================\n" + DIFF,
        "diff -u a/f b/f\n" + DIFF,
        GIT + "index 83db48f..bf269f4 100644\n" + DIFF,
        GIT + "index 83db48f..bf269f4 100755\n" + DIFF,
        "diff --git a/f b/f\n@@ @@\n a\n-b\n+c\n",
        "+++ b/f\n@@ @@\n a\n-b\n+c\n",
        f"From 1 Mon Sep 17\nSubject: x\n\n- why\n---\n f | 2 +-\n\n{GIT}{DIFF}-- \n2.39.5 (Apple Git-154)\n\n- bye\n",
        f"```diff\nSubject: x\n---\n f | 2 +-\n\n{GIT}{DIFF}\n--\n2.39.5\n\nSubject: more\n```\n",
    ],
)
def test_the_diff_is_found_and_its_numbers_are_not_needed(text: str) -> None:
    assert edits(text) == [ABC]


@pytest.mark.parametrize(
    "text",
    [
        DIFF + OTHER,
        f"```diff\n{DIFF}```\nand\n```diff\n{OTHER}```\n",
        f"```diff\n{DIFF}\n{OTHER}```\n",
        f"```diff\n{DIFF}\nIndex: g\n===========\n{OTHER}```\n",
        f"{DIFF}\nNow the other:\n\n{OTHER}",
        f"{GIT}{DIFF}diff --git a/g b/g\n{OTHER}",
        f"+++ b/f\n@@\n a\n-b\n+c\n{OTHER}",
        "+++ b/f\n@@\n a\n-b\n+c\n+++ b/g\n@@\n-x\n+y\n",
        DIFF + "+++ b/g\n@@\n-x\n+y\n",
        DIFF + "+++ g\n@@\n-x\n+y\n",
        HEAD + "@@\n a\n-b\n+c\n+++ b/g\n@@\n-x\n+y\n",
    ],
)
def test_several_files_are_read_in_order(text: str) -> None:
    assert edits(text) == [ABC, XY]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("@@\n a\n\n-b\n", [change("a||b", "a|")]),
        ("@@ -9 +9 @@\n\n a\n-b\n", [change("|a|b", "|a")]),
        ("@@\n-a\n \n", [change("a|", "")]),
        ("@@\n-a\n\n\n", [change("a", "~")]),
        ("@@ -1,2 +1 @@\n-a\n\n", [change("a|", "")]),
        ("@@ -1,2 +1 @@\n-a\n\n\n\n", [change("a|", "")]),
        ("@@ -1,3 +1 @@\n-a\n\n\n", [change("a", "~")]),
        ("@@ -1,2 +1 @@\n-a\n\nProse.\n", [change("a|", "")]),
        ("@@\n-a\n\nProse.\n", [change("a", "~")]),
        ("@@\n-a\n\n@@\n-b\n", [change("a", "~"), change("b", "~")]),
        ("@@ -1,2 +1 @@\n-a\n\n@@\n-b\n", [change("a|", ""), change("b", "~")]),
        ("@@\n-a\n\n" + OTHER, [change("a", "~"), XY]),
        ("@@ -1,2 +1 @@\n-a\n\n" + OTHER, [change("a|", ""), XY]),
        ("@@\n+a\n", [change("~", "a")]),
        ("@@\n a\n", [change("a", "a")]),
        ("@@\n-\n+\t\n", [change("", "\t")]),
        ("@@\n-a\fb\u2028c\x85d\x1c\n+a\rb\x0b\n", [change("a\fb\u2028c\x85d\x1c", "a\rb\x0b")]),
        ("@@\n-```\n+~~~\n ```\n", [change("```|```", "~~~|```")]),
        ("@@\n+@@ -1 +1 @@\n-diff --git a/f b/f\n", [change("diff --git a/f b/f", "@@ -1 +1 @@")]),
        ("@@\n-a\udcff\ud800\n+\x00\n", [change("a\udcff\ud800", "\x00")]),
    ],
)
def test_lines_of_a_hunk(body: str, found: list[Operation]) -> None:
    assert edits(HEAD + body) == found


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("@@ -1,2 +1 @@\n--- drop\n x\n", [change("-- drop|x", "x")]),
        ("@@\n--- drop\n x\n", [change("-- drop|x", "x")]),
        ("@@\n--- drop\n+-- keep\n", [change("-- drop", "-- keep")]),
        ("@@\n--- drop\n+++ add\n z\n", [change("-- drop|z", "++ add|z")]),
        ("@@\n z\n+++ add\n", [change("z", "z|++ add")]),
        ("@@\n+++ b/x\n z\n", [change("z", "++ b/x|z")]),
        ("@@ -1 +1 @@\n--- g\n+++ g\n@@\n-x\n", [change("-- g", "++ g"), change("x", "~")]),
        ("@@ -1,3 +1,3 @@\n a\n\n--- g\n+++ g\n@@\n-x\n", [change("a||-- g", "a||++ g"), change("x", "~")]),
        ("@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@\n-x\n+y\n", [change("a", "b"), XY]),
        ("@@ -9 +7 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@\n-x\n+y\n", [change("a", "b"), XY]),
        ("@@\n-a\n+b\n--- g\n+++ g\n@@\n-x\n+y\n", [change("a", "b"), XY]),
        ("@@ -0,0 +1,2 @@\n+a\n+++ b/g\n@@\n-x\n+y\n", [change("~", "a|++ b/g"), change("x", "y")]),
        ("@@ -1,2 +1 @@\n a\n-- \n\n2.39\n", [change("a|- ", "a")]),
        ("@@ -1 +1 @@\n a\n-- \n2.39\n", [change("a", "a")]),
        ("@@\n a\n-- \n b\n", [change("a|- |b", "a|b")]),
    ],
)
def test_counts_decide_only_between_two_readings(body: str, found: list[Operation]) -> None:
    assert edits(HEAD + body) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("--- /dev/null\n+++ b/f\n@@\n+a\n b\n", "creates `f`, but has lines that stay or go"),
        ("--- /dev/null\n+++ b/f\n@@\n+a\n-b\n", "creates `f`, but has lines that stay or go"),
        ("--- /dev/null\n+++ b/f\n@@\n+a\n\n+b\n", "creates `f`, but has lines that stay or go"),
        ("--- /dev/null\n+++ b/f\n@@\n+a\n@@\n+b\n c\n", "creates `f`, but has lines that stay or go"),
        (f"--- /dev/null\n+++ b/f\n@@\n+a\n{END}@@\n+b\n", "goes on behind the end"),
        ("--- a/f\n+++ /dev/null\n@@\n-a\n+b\n", "deletes `f`, but adds lines"),
        ("--- /dev/null\n+++ /dev/null\n@@\n+b\n", "stands on both sides"),
        (f"{GIT}new file mode 100644\n{HEAD}@@\n+b\n", "in one place that the file is new"),
        (f"{GIT}deleted file mode 100644\n{HEAD}@@\n-b\n", "in one place that the file is deleted"),
        (f"{GIT}rename from f\n", "a rename needs both lines"),
        (f"{GIT}rename from f\nrename to f\n", "contradict"),
        ('--- "a/f\n+++ "b/f\n@@\n-a\n', "does not end"),
        ('--- "a/\\8"\n+++ "b/\\8"\n@@\n-a\n', "cannot be read"),
        ('--- "a/f"x\n+++ "b/f"\n@@\n-a\n', "more behind the quoted name"),
        ('--- "a/\ud800"\n+++ "b/\ud800"\n@@\n-a\n', "cannot be read"),
        ("diff --git a/a b c/d\n@@\n-a\n", "do not tell which file"),
        (HEAD, "headers without hunk"),
        (HEAD + "Some words.\n", "headers without hunk"),
        (HEAD + "-a\n+b\n", "headers without hunk"),
        (GIT + "index 1..2 100644\n", "headers without hunk"),
        (GIT + HEAD, "headers without hunk"),
        (GIT + "new file mode 100644\n--- /dev/null\n+++ b/f\n+a\n", "headers without hunk"),
        (GIT + "new file mode 100644\n+a\n", "looks like a line of one"),
        (GIT + "rename from f\nrename from g\nrename to h\n", "contradicts the one above"),
        (DIFF + "--- a/g\n+++ b/g\n", "headers without hunk"),
        (f"```diff\n{DIFF}--- a/g\n+++ b/g\n```\n", "headers without hunk"),
        (DIFF + "--- a/g\n@@\n-x\n", "`---` header without"),
        ("--- a/f\n@@\n-x\n", "`---` header without"),
        ("--- a/f\n", "`---` header without"),
        ("+++ b/f\n", "a `+++` header without hunk"),
        ("@@ -1 +1 @@\n-a\n+b\n", "a hunk without a path"),
        ("f\n```diff\n@@ ... @@\n-a\n+b\n```\n", "a hunk without a path"),
        (f"{DIFF}\nProse.\n\n@@ -5 +5 @@\n-a\n+b\n", "a hunk without a path"),
        (HEAD + "@@ -1 +1 @@\n", "has no lines"),
        (HEAD + "@@\n\nSome words.\n", "has no lines"),
        (HEAD + "@@\n@@\n-a\n", "has no lines"),
        (HEAD + "@@\nx = 1\n-a\n+b\n", "has no lines"),
        (f"```diff\n{HEAD}@@\n a\n```\n-x\n+y\n```\n", "looks like a line of one"),
        (HEAD + "@@\n\\section{a}\n-a\n", "is no end-of-file marker"),
        (HEAD + "@@\n" + END + "-a\n", "begins with an end-of-file marker"),
        (HEAD + "@@\n" + END, "begins with an end-of-file marker"),
        (DIFF + "\nProse.\n" + END, "belongs to no hunk"),
        (f"```diff\n{DIFF}def g():\n     x\n```\n", "begins with none of blank"),
        (f"```diff\n{DIFF}```python\n```\n", "begins with none of blank"),
        (DIFF + "def g():\n     x\n-    y\n", "directly behind the change"),
        (DIFF + "def g():\n- y\n+ z\n", "directly behind the change"),
        (DIFF + "\n" + "def g():\n- y\n+ z\n", "looks like a line of one"),
        (DIFF + "def g():\n\n     x\n+    y\n", "directly behind the change"),
        (DIFF + "def g():\n\n- x\n+ y\n", "directly behind the change"),
        (DIFF + "\tx\n+\ty\n", "directly behind the change"),
        (DIFF + "x\n+\n", "directly behind the change"),
        ("```diff\n- old\n+ new\n```\n", "looks like a line of one"),
        (f"```diff\nold\n```\n{DIFF}", "names no file"),
        ("```diff\nold\n", "names no file"),
        ("rename from f\nrename to g\n", "belongs below a `diff --git` line"),
        ("old mode 100644\nnew mode 100755\n", "belongs below a `diff --git` line"),
        (DIFF.replace("@@ -1,2 +1,2 @@", "@@") + "+++ g\n@@\n-x\n+y\n", "may be a file header"),
    ],
)
def test_what_cannot_be_read_is_a_parse_error(text: str, said: str) -> None:
    assert problem(text).startswith("parse: ")
    assert said in problem(text)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (f" a\n-b\n{END}+B\n{END}", change("a|b", "a|B", at_end=True, open_end=True, was_open=True)),
        (f" a\n-b\n{END}+b\n", change("a|b", "a|b", at_end=True, open_end=False, was_open=True)),
        (f" a\n-b\n+b\n{END}", change("a|b", "a|b", at_end=True, open_end=True)),
        (f"-a\n b\n{END}", change("a|b", "b", at_end=True, open_end=True, was_open=True)),
        (f" a\n-b\n{END}", change("a|b", "a", at_end=True, open_end=False, was_open=True)),
        (f"+a\n{END}", change("~", "a", at_end=True, open_end=True)),
        (f"-a\n{END}\n", change("a", "~", at_end=True, open_end=False, was_open=True)),
        (f"-a\n{END}{END}", change("a", "~", at_end=True, open_end=False, was_open=True)),
    ],
)
def test_end_of_file_markers(body: str, found: Operation) -> None:
    assert edits(f"{HEAD}@@\n{body}") == [found]
    assert edits(f"{HEAD}@@\n{body}".replace("\n", "\r\n")) == [found]


@pytest.mark.parametrize("body", [f"-a\n{END}-b\n", f"+a\n{END} b\n", f" a\n{END}+b\n", f"-a\n{END}+c\n{END}\n+d\n"])
def test_a_marker_stands_behind_the_last_line_of_its_side(body: str) -> None:
    assert "behind the one that is marked as the last" in problem(f"{HEAD}@@\n{body}")


def test_prose_is_the_rest_and_edits_before_a_problem_are_counted() -> None:
    assert parse(f"First.\n```diff\n{DIFF}```\nLast.\n").rest == f"First.\n```diff\n{EDIT_WAS_HERE}\n```\nLast."
    cut = parse(f"{DIFF}@@\n-d\n+e\n@@\n")
    assert list(cut.edits) == [ABC, change("d", "e")]
    assert cut.problem_at == 2
    assert parse(DIFF + HEAD).problem_at == 1
    assert parse("diff --git a/o b/n\nrename from o\nrename to n\n@@\n-x\n+y\n@@\n").problem_at == 1
    assert parse(DIFF + "--- /dev/null\n+++ b/g\n@@\n+a\n-b\n" + OTHER).problem_at == 1
    assert parse(DIFF + "--- /dev/null\n+++ b/g\n@@\n+a\n@@\n").problem_at == 1


@pytest.mark.parametrize(
    "text", ["", "\n", "Nothing to do.\n", "Title\n---\n\n- one\n+ two\n--- \n+++\n", "```\nx\n```"]
)
def test_a_response_without_a_diff_is_no_edits(text: str) -> None:
    assert problem(text).startswith("no_edits: ")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (DIFF, 0),
        ("x\r\n" + DIFF.replace("\n", "\r\n"), 3),
        ("x\n" + GIT, 2),
        ("\ufeff" + DIFF, 0),
        ("x\n\ufeff" + HEAD, None),
        ("+++ b/f\n@@\n", 0),
        (HEAD, 0),
        ("--- x\n", None),
        ("+++ x\n", None),
        (" --- a/f\n +++ b/f\n", None),
        ("In `diff --git a/f b/f`.\n", None),
    ],
)
def test_marks_tell_where_a_diff_begins(text: str, at: int | None) -> None:
    assert UNIFIED_DIFF.marks is not None
    found = UNIFIED_DIFF.marks.search(text)
    assert (found.start() if found else None) == at


def test_the_prompts_own_example_parses() -> None:
    assert [edit.path for edit in edits(UNIFIED_DIFF.prompt.split("\n\n")[1])] == ["path/to/file.py"]


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_case_is_read_as_far_as_a_parser_can_tell(case: dict[str, Any]) -> None:
    wanted = case["expect"]
    parsed = parse(case["edits"])
    if wanted.get("error_kind") in PARSED_ERRORS:
        assert parsed.problem is not None
        assert parsed.problem.kind == wanted["error_kind"]
    else:
        assert parsed.problem is None
        assert {e.path for e in parsed.edits} <= set(case["files"])
