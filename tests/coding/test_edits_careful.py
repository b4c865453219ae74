"""Where an edit could be read in two ways, or lands where nobody meant it: refused, with a reason that is true."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path

import pytest
from support.edits import Bench, bench
from support.formats import steps

from regreen.edits import parse
from regreen.model import EditReport


@pytest.fixture
def on(tmp_path: Path) -> Generator[Bench]:
    with bench(tmp_path) as made:
        yield made


def kinds(report: EditReport) -> list[str]:
    return [e.error.kind if e.error else "" for e in report.edits]


def said(report: EditReport) -> str:
    return " ".join(f"{e.error.message} {e.error.hint}" for e in report.edits if e.error)


def block(search: str, replace: str, path: str = "") -> str:
    head = f"{path}\n" if path else ""
    return f"{head}```python\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n```\n"


def diff(body: str, path: str = "a.py") -> str:
    return f"--- a/{path}\n+++ b/{path}\n{body}"


def patch(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


# --- which file is meant ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "between",
    [
        "Now in src/b.py we change the version.\nIt becomes 2:\n",
        "In the `Makefile`, too:\n",
        "And the Makefile:\n",
        "Then `styles.scss`, which is easy.\nHere it is:\n",
        "Now go.mod, likewise:\n",
        "As in b.py:\n",
    ],
)
def test_a_file_named_anywhere_between_two_blocks_is_not_passed_over(on: Bench, between: str) -> None:
    on.put(
        a__py="VERSION = 1\nx = 1\n", Makefile="VERSION = 1\n", styles__scss="VERSION = 1\n", go__mod="VERSION = 1\n"
    )
    (on.root / "src").mkdir()
    (on.root / "src/b.py").write_text("VERSION = 1\n")
    before = on.files()
    report = on.apply(block("x = 1\n", "x = 2\n", "a.py") + between + block("VERSION = 1\n", "VERSION = 2\n"))
    assert kinds(report) == ["", "parse"]
    assert "not clear which file" in said(report)
    assert on.files() == before


def test_a_heading_holds_over_a_sentence_below_it(on: Bench) -> None:
    on.put(a__py="VERSION = 1\nx = 1\n", b__py="VERSION = 1\n")
    text = block("x = 1\n", "x = 2\n", "a.py") + "\n### `b.py`\n\nBump the version:\n\n"
    assert on.apply(text + block("VERSION = 1\n", "VERSION = 2\n")).ok
    assert on.files() == {"a.py": b"VERSION = 1\nx = 2\n", "b.py": b"VERSION = 2\n"}


@pytest.mark.parametrize(
    "line",
    ["**File:** `a.py`", "`a.py` (modified)", "Modified `a.py`:", "Changes to `a.py`:", "### Changes in `a.py`",
     "File 1: `a.py`", "Step 2: `a.py`", "**In `a.py`:**", "## a.py\n\nThe fix:"],
)  # fmt: skip
def test_usual_ways_to_name_the_file_are_understood(on: Bench, line: str) -> None:
    on.put(a__py="x = 1\n")
    assert on.apply(f"{line}\n{block('x = 1' + chr(10), 'x = 2' + chr(10))}").ok, line


def test_two_names_of_one_block_clash(on: Bench) -> None:
    on.put(a__py="x = 1\n", b__py="x = 1\n")
    text = "a.py\n```python b.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```\n"
    assert kinds(on.apply(text)) == ["parse"]


@pytest.mark.parametrize(
    "beside",
    [
        "Node.js and Vue.js differ here:\n",
        "See //docs.python.org/3/index.html:\n",
        "It fails:\n```\nb.py:3: AssertionError\n```\nso:\n",
    ],
)
def test_names_of_no_file_and_shown_output_are_no_mentions(on: Bench, beside: str) -> None:
    on.put(a__py="VERSION = 1\nx = 1\n", b__py="VERSION = 1\n")
    text = block("x = 1\n", "x = 2\n", "a.py") + beside + block("VERSION = 1\n", "VERSION = 2\n")
    assert on.apply(text).ok


def test_prose_that_names_no_other_file_leaves_the_path_as_it_is(on: Bench) -> None:
    on.put(a__py="VERSION = 1\nx = 1\n")
    between = "\nAnd in `a.py` again, see `f()` and x/y, version 1.2:\n\n"
    assert on.apply(block("x = 1\n", "x = 2\n", "a.py") + between + block("VERSION = 1\n", "VERSION = 2\n")).ok


@pytest.mark.parametrize(
    "heading", ["## Step 1.2", "**Tests**", "Example", "Creating src/new.py", "v1.2", "path=src/new.py", "+++ b/new.py"]
)
def test_a_heading_does_not_become_a_file(on: Bench, heading: str) -> None:
    assert kinds(on.apply(block("", "x\n", heading))) == ["parse"]
    assert on.files() == {}


@pytest.mark.parametrize("path", ["Makefile", "LICENSE", "./Tests", "bin/tool", ".env.example"])
def test_names_without_a_suffix_can_be_made_all_the_same(on: Bench, path: str) -> None:
    assert on.apply(block("", "x\n", path)).ok
    assert on.read(path) == b"x\n"


# --- nothing of a response is passed over ----------------------------------------------------------


@pytest.mark.parametrize(
    "beside",
    [
        "new.py\n```python\nz = 1\n```\n",
        "**`new.py`**:\n\n```\nz = 1\n```\n",
        "b.py:\n```diff\n-x\n+y\n```\n",
        "And this:\n```python new.py\nz = 1\n```\n",
        "And this:\n```python\n# new.py\nz = 1\n```\n",
        "b.py\n```python\n",
    ],
)
@pytest.mark.parametrize("form", ["block", "patch"])
def test_a_whole_file_beside_edits_makes_the_response_unclear(on: Bench, beside: str, form: str) -> None:
    if form == "patch" and not beside.endswith("```\n"):
        return
    on.put(a__py="x = 1\n")
    edit = block("x = 1\n", "x = 2\n", "a.py")
    text = (edit if form == "block" else patch("*** Update File: a.py\n@@\n-x = 1\n+x = 2\n")) + beside
    assert kinds(on.apply(text)) == ["", "parse"]
    assert on.read("a.py") == b"x = 1\n"


def test_code_that_is_only_shown_does_no_harm(on: Bench) -> None:
    on.put(a__py="x = 1\n")
    quoted = "In `a.py`:\n```python\nx = 1\n# ...\n```\n"
    assert on.apply(quoted + block("x = 1\n", "x = 3\n", "a.py")).ok
    on.put(a__py="x = 1\n")
    shown = "Run this:\n```sh\npytest\n```\nIt printed:\n```\na.py\n1 passed\n```\n"
    assert on.apply(shown + block("x = 1\n", "x = 2\n", "a.py") + shown).ok


def test_a_conflict_beside_a_diff_makes_the_response_unclear(on: Bench) -> None:
    on.put(a__py="x = 1\n")
    conflict = "\nb.py\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> main\n"
    assert kinds(on.apply(diff("@@ @@\n-x = 1\n+x = 2\n") + conflict)) == ["", "parse"]


def test_calls_without_a_fence_are_told_from_no_edits_at_all() -> None:
    call = '[{"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"}]'
    problem = parse(f"Here:\n{call}").problem
    assert problem is not None
    assert problem.kind == "parse"


# --- indentation ------------------------------------------------------------------------------------


def test_context_without_its_sign_is_no_shift_of_the_indentation(on: Bench) -> None:
    source = "def f():\n    x = 1\n    return x\n"
    on.put(a__py=source)
    assert kinds(on.apply(diff("@@ -1,3 +1,4 @@\n    x = 1\n+    y = 2\n    return x\n"))) == ["no_match"]
    assert on.read("a.py").decode() == source


def test_lines_that_stand_at_the_files_indentation_already_are_not_shifted(on: Bench) -> None:
    on.put(a__py="if a:\n    if b:\n        x = 1\n")
    assert kinds(on.apply(("a.py", "x = 1", "        x = 2"))) == ["no_match"]
    assert on.apply(("a.py", "x = 1", "if c:\n    x = 2")).ok
    assert on.read("a.py") == b"if a:\n    if b:\n        if c:\n            x = 2\n"


# --- line ends, marks -------------------------------------------------------------------------------


def test_a_byte_order_mark_is_never_doubled(on: Bench) -> None:
    on.put(a__py=b"\xef\xbb\xbfold\n")
    assert kinds(on.apply(("a.py", "old", "\ufeffnew"))) == ["encoding"]
    assert on.read("a.py") == b"\xef\xbb\xbfold\n"


def test_a_diff_shows_the_mark_as_a_part_of_the_first_line(on: Bench) -> None:
    on.put(a__py=b"\xef\xbb\xbfa\nb\n")
    assert on.apply(diff("@@ -1,2 +1,2 @@\n-\ufeffa\n+\ufeffA\n b\n")).ok
    assert on.read("a.py") == b"\xef\xbb\xbfA\nb\n"
    assert on.apply("--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+\ufeffx\n").ok
    assert on.read("n.py") == b"\xef\xbb\xbfx\n"
    assert on.apply("--- a/a.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-\ufeffA\n-b\n").ok


def test_an_end_that_the_file_does_not_have_is_not_taken_from_it(on: Bench) -> None:
    on.put(a__py="a\nb\n")
    assert kinds(on.apply(diff("@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n"))) == ["no_match"]
    assert on.read("a.py") == b"a\nb\n"


def test_a_file_keeps_its_line_ends_through_edits_that_leave_none(on: Bench) -> None:
    on.put(a__py=b"c1\r\nb\r\nd")
    assert on.apply(("a.py", "b\nd", "b"), ("a.py", "c1\nb", "b"), ("a.py", "b", "x6\nb")).ok
    assert on.read("a.py") == b"x6\r\nb"


# --- files that changed -----------------------------------------------------------------------------


def test_what_does_not_name_its_place_is_stale_in_a_changed_file(on: Bench) -> None:
    on.put(a__py="x = 1\nx = 1\n")
    old = {"a.py": "0" * 64}
    every = {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y", "replace_all": True}
    assert kinds(on.apply(json.dumps([every]), expected_sha256=old)) == ["stale"]
    end = patch("*** Update File: a.py\n@@\n+x = 3\n*** End of File\n")
    assert kinds(on.apply(end, expected_sha256=old)) == ["stale"]


@pytest.mark.parametrize("becomes", ["link", "folder", "link out", "folder of it a file"])
def test_a_path_that_becomes_another_thing_before_the_commit_is_stale(on: Bench, tmp_path: Path, becomes: str) -> None:
    (on.root / "d").mkdir()
    on.put(o__py="x = 1\n")
    (on.root / "d/a.py").write_text("x = 1\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.py").write_text("x = 1\n")
    planned = on.plan(("d/a.py", "x = 1", "x = 2"), ("d/new.py", "", "y"))
    (on.root / "d/a.py").unlink()
    match becomes:
        case "link":
            (on.root / "d/a.py").symlink_to("../o.py")
        case "folder":
            (on.root / "d/a.py").mkdir()
        case "link out":
            (on.root / "d").rmdir()
            (on.root / "d").symlink_to(tmp_path / "out")
        case _:
            (on.root / "d").rmdir()
            (on.root / "d").write_text("file")
    report = on.commit(planned)
    assert "stale" in kinds(report)
    assert on.read("o.py") == b"x = 1\n"
    assert (tmp_path / "out/a.py").read_text() == "x = 1\n"
    assert not (tmp_path / "out/new.py").exists()


# --- messages ---------------------------------------------------------------------------------------


def test_a_common_line_elsewhere_does_not_make_a_typo_applied(on: Bench) -> None:
    on.put(a__py="def f():\n    return x\n\n\ndef g():\n    return None\n")
    report = on.apply(("a.py", "    retrun x", "    return None"))
    assert kinds(report) == ["no_match"]
    assert report.edits[0].error is not None
    assert report.edits[0].error.closest is not None


def test_blanks_at_a_lines_end_are_called_that(on: Bench) -> None:
    on.put(a__py="x = 1  \ny = 2\n")
    assert "blanks at the end of the line differ" in said(on.apply(("a.py", "x = 1", "x = 2"), strict=True))


# --- cost -------------------------------------------------------------------------------------------


def every(old: str, new: str) -> str:
    call = {"command": "str_replace", "path": "a.py", "old_str": old, "new_str": new, "replace_all": True}
    return json.dumps([call])


def test_many_places_and_many_changed_lines_cost_in_proportion(on: Bench) -> None:
    def replacing(n: int) -> int:
        on.put(a__py="x = old\n" * n)
        return steps(lambda: on.plan(every("old", "new")))

    def rewriting(n: int) -> int:
        rows = [f"line {k}" for k in range(n)]
        on.put(a__py="\n".join(rows) + "\n")
        new = "\n".join(row if k % 2 else row.upper() for k, row in enumerate(rows))
        return steps(lambda: on.plan(("a.py", "\n".join(rows), new)))

    for work in (replacing, rewriting):
        assert work(4_000) < 8 * 1.5 * work(500)


def test_an_outcome_too_large_is_refused_before_it_is_made(on: Bench) -> None:
    on.put(a__py="- " * 8000)
    assert kinds(on.apply(every("-", "y" * 160_000))) == ["too_large"]


def test_a_byte_order_mark_before_a_response_is_none_of_it(on: Bench) -> None:
    on.put(a__py="x = 1\n")
    for text in (block("x = 1\n", "x = 2\n", "a.py"), diff("@@ @@\n-x = 1\n+x = 2\n")):
        assert on.plan("\ufeff" + text).report.ok


# --- what diff writes; masks ------------------------------------------------------------------------


def test_what_diff_writes_for_files_on_one_side_only_makes_or_deletes_them(on: Bench) -> None:
    on.put(a__py="x = 1\n")
    gone = (
        "--- a/a.py\t2024-01-02 10:00:00.000000000 +0000\n+++ b/a.py\t1970-01-01 00:00:00.000000000 +0000\n"
        "@@ -1 +0,0 @@\n-x = 1\n"
    )
    come = (
        "--- a/b.py\t1970-01-01 01:00:00.000000000 +0100\n+++ b/b.py\t2024-01-02 10:00:00.000000000 +0000\n"
        "@@ -0,0 +1 @@\n+y = 1\n"
    )
    plain = "--- a/c.py\n+++ b/c.py\n@@ -0,0 +1 @@\n+z = 1\n"
    assert on.apply(gone + come + plain).ok
    assert on.files() == {"b.py": b"y = 1\n", "c.py": b"z = 1\n"}
    assert kinds(on.apply(plain)) == ["already_applied"] or kinds(on.apply(plain)) == ["ambiguous"]


def test_a_line_end_is_taken_from_the_line_right_before(on: Bench) -> None:
    on.put(a__py=b"a\r\nb\nc")
    assert on.apply(("a.py", "a\nb\nc", "a\nb\nc\nd")).ok
    assert on.read("a.py") == b"a\r\nb\nc\nd"


def test_a_mask_may_be_written_where_no_secret_can_be_lost(on: Bench) -> None:
    assert on.apply(("new.py", "", "KEY = '[redacted:aws-access-key]'\n")).ok
    on.put(a__py="x = 1\n")
    assert on.apply(("a.py", "x = 1", "x = '[redacted:x]'")).ok
    assert kinds(on.apply(("a.py", "x = '[redacted:x]'", "x = '[redacted:known]'"))) == ["elision"]


@pytest.mark.parametrize("line", ["# rest of code truncated", "// ... rest of the code truncated"])
def test_words_for_leaving_out_are_known(on: Bench, line: str) -> None:
    on.put(a__py="a\nb\nc\n")
    assert kinds(on.apply(("a.py", "a\nb\nc", f"a\n{line}"))) == ["elision"]


@pytest.mark.parametrize(("before", "after"), [(b"", b"a\r\nb\r\n"), (b"x", b"a\r\nb\r\n")])
def test_a_diff_says_the_line_ends_of_a_file_that_has_none(on: Bench, before: bytes, after: bytes) -> None:
    on.put(a__py=before)
    gone = "-x\n\\ No newline at end of file\n" if before else ""
    assert on.apply(diff(f"@@ -{len(before)},{len(before)} +1,2 @@\n{gone}+a\r\n+b\r\n")).ok
    assert on.read("a.py") == after
