"""What each kind of edit does to files: pieces of text, insertions, anchors, whole files, moves; parts of a plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator
from pathlib import Path

import pytest
from support.edits import Bench, bench

from regreen.model import EditReport


@pytest.fixture
def on(tmp_path: Path) -> Generator[Bench]:
    with bench(tmp_path) as made:
        yield made


def kinds(report: EditReport) -> list[str]:
    return [e.error.kind if e.error else "" for e in report.edits]


def calls(*made: dict[str, object]) -> str:
    return json.dumps(made)


def swap(old: str, new: str, **more: object) -> dict[str, object]:
    return {"command": "str_replace", "path": "a.py", "old_str": old, "new_str": new, **more}


def insert(line: int, text: str) -> dict[str, object]:
    return {"command": "insert", "path": "a.py", "insert_line": line, "insert_text": text}


def patch(*chunks: str, path: str = "a.py") -> str:
    return f"*** Begin Patch\n*** Update File: {path}\n{''.join(chunks)}*** End Patch\n"


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- pieces of text ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"f(a, b)\n", "a, b", "b, a", b"f(b, a)\n"),
        (b"a\nb\nc\n", "b\n", "", b"a\nc\n"),
        (b"a\nb\nc\n", "b", "", b"a\n\nc\n"),
        (b"a\nb\nc\n", "\nb", "", b"a\nc\n"),
        (b"a\nb\n", "b\n", "", b"a\n"),
        (b"a\nb\n", "b\n", "x", b"a\nx"),
        (b"a\nb", "b", "x\n", b"a\nx\n"),
        (b"a\nb", "\nb", "", b"a"),
        (b"a\nb", "a\nb", "", b""),
        (b"one\r\ntwo\r\nsix\n", "two\nsix", "2\n3\n4", b"one\r\n2\r\n3\n4\n"),
        (b"a, b\r\nc, d\r\n", "b\r\nc", "B\nC", b"a, B\r\nC, d\r\n"),
        (b"\xef\xbb\xbfa = 1\n", "a = 1", "a = 2", b"\xef\xbb\xbfa = 2\n"),
        ("你好世界\n".encode(), "世界", "中国", "你好中国\n".encode()),
        (b"x\x0cy = 1\n", "y = 1", "y = 2", b"x\x0cy = 2\n"),
    ],
)  # fmt: skip
def test_a_piece_of_text_is_replaced_to_the_letter(on: Bench, before: bytes, old: str, new: str, after: bytes) -> None:
    on.put(a__py=before)
    report = on.apply(calls(swap(old, new)))
    assert report.ok, report
    assert on.read("a.py") == after
    assert on.journal.undo(report.transaction).conflicts == ()
    assert on.read("a.py") == before


@pytest.mark.parametrize(
    ("before", "old", "new", "kind"),
    [
        (b"a\nb", "b\n", "c\n", "no_match"),  # the file has no line end there
        (b"value = x\n", "val", "sum", "no_match"),
        (b"x1 = 1\n", "x", "y", "no_match"),
        ("straße = 1\n".encode(), "stra", "x", "no_match"),
        (b"aaa\n", "aa", "b", "ambiguous"),
        (b"def f():\n    import re\n    import os\n", "import re", "import re\n    import os", "already_applied"),
        (b"new_name()\n", "old_name()", "new_name()", "already_applied"),
        (b"x = 1\n", "x = 1", "x = 1", "no_op"),
        (b"x = 1\ny = 2\n", "x = 1\ny = 2", "x = 1\n# ... rest of the code ...\n", "elision"),
    ],
)
def test_a_piece_that_is_not_clear_is_refused(on: Bench, before: bytes, old: str, new: str, kind: str) -> None:
    on.put(a__py=before)
    assert kinds(on.apply(calls(swap(old, new)))) == [kind]
    assert on.read("a.py") == before


def test_replace_all_takes_every_place_or_none(on: Bench) -> None:
    on.put(a__py="x = f(x) + x\ny = 1\nz = x\n")
    assert on.apply(calls(swap("x", "w", replace_all=True))).ok
    assert on.read("a.py") == b"w = f(w) + w\ny = 1\nz = w\n"
    on.put(a__py="x = 1\nmax = x\n")
    assert kinds(on.apply(calls(swap("x", "w", replace_all=True)))) == ["no_match"]
    on.put(a__py="-----\n")
    assert kinds(on.apply(calls(swap("--", "=", replace_all=True)))) == ["ambiguous"]
    on.put(a__py="one line\n")
    assert on.apply(calls(swap("one", "1", replace_all=True))).ok


def test_taking_a_line_end_away_is_told(on: Bench) -> None:
    on.put(a__py="a(\n    b)\n")
    report = on.apply(calls(swap("(\n", "(", replace_all=False)))
    assert on.read("a.py") == b"a(    b)\n"
    assert "takes the line end behind its text away" in report.warnings[0]


# --- insertions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "line", "text", "after"),
    [
        (b"a\nb\n", 0, "x\n", b"x\na\nb\n"),
        (b"a\nb\n", 1, "x", b"a\nx\nb\n"),
        (b"a\nb\n", 2, "x\ny\n", b"a\nb\nx\ny\n"),
        (b"a\r\nb\r\n", 1, "x\n", b"a\r\nx\r\nb\r\n"),
        (b"a", 1, "x\n", b"a\nx"),
        (b"a", 0, "x", b"x\na"),
        (b"", 0, "x\n", b"x\n"),
        (b"\xef\xbb\xbfa\n", 0, "x\n", b"\xef\xbb\xbfx\na\n"),
    ],
)
def test_lines_are_inserted_behind_the_numbered_one(
    on: Bench, before: bytes, line: int, text: str, after: bytes
) -> None:
    on.put(a__py=before)
    assert on.apply(calls(insert(line, text))).ok
    assert on.read("a.py") == after


def test_a_line_number_that_the_edits_before_have_moved_is_refused(on: Bench) -> None:
    on.put(a__py="a\nb\nc\n")
    upwards = on.apply(calls(insert(3, "z\n"), insert(1, "y\n")))
    assert upwards.ok
    assert on.read("a.py") == b"a\ny\nb\nc\nz\n"
    on.put(a__py="a\nb\nc\n")
    assert kinds(on.apply(calls(insert(1, "y\n"), insert(3, "z\n")))) == ["", "ambiguous"]
    assert kinds(on.apply(calls(swap("b", "B"), insert(2, "z\n")))) == ["", "ambiguous"]
    assert on.apply(calls(swap("c", "C"), insert(2, "z\n"))).ok


def test_a_file_made_by_the_same_calls_can_be_edited_further(on: Bench) -> None:
    create: dict[str, object] = {"command": "create", "path": "a.py", "file_text": "a\r\nb"}
    report = on.apply(calls(create, insert(1, "x\n"), swap("b", "B")))
    assert report.ok
    assert on.read("a.py") == b"a\r\nx\r\nB"
    assert [(f.action, f.hunks) for f in report.files] == [("create", 1)]


def test_an_insertion_that_stands_there_is_not_made_again(on: Bench) -> None:
    on.put(a__py="import os\nimport re\n")
    assert kinds(on.apply(calls(insert(1, "import re\n")))) == ["already_applied"]


# --- anchors and ends -------------------------------------------------------------------------------

RUN = "    def run(self):\n        x()\n"
TWO = f"class A:\n{RUN}\n\nclass B:\n{RUN}\n    def stop(self):\n        x()\n"


def test_anchors_name_the_block_that_they_head(on: Bench) -> None:
    on.put(a__py=TWO)
    report = on.apply(patch("@@ class B:\n@@     def run(self):\n-        x()\n+        y()\n"))
    assert report.ok, report
    assert on.read("a.py").decode() == TWO.replace("x()\n\n    def stop", "y()\n\n    def stop")


@pytest.mark.parametrize(
    ("chunk", "kind"),
    [
        ("@@ class B:\n-        x()\n+        y()\n", "ambiguous"),
        ("@@ def run(self):\n-        x()\n+        y()\n", "ambiguous"),
        ("@@ class C:\n-        x()\n+        y()\n", "no_match"),
        ("@@ class A:\n@@ def stop(self):\n-        x()\n+        y()\n", "no_match"),
        ("@@ class A:\n-    def stop(self):\n+    def halt(self):\n", "no_match"),
    ],
)
def test_an_anchor_that_does_not_decide_is_not_overruled(on: Bench, chunk: str, kind: str) -> None:
    on.put(a__py=TWO)
    assert kinds(on.apply(patch(chunk))) == [kind]
    assert on.read("a.py").decode() == TWO


def test_a_block_goes_on_behind_closing_brackets(on: Bench) -> None:
    source = "def f(\n    a,\n):\n    return a\n\n\ndef g(\n    a,\n):\n    return a\n"
    on.put(a__py=source)
    assert on.apply(patch("@@ def f(\n-    return a\n+    return 1\n")).ok
    assert on.read("a.py").decode() == source.replace("return a", "return 1", 1)


def test_lines_without_context_go_behind_their_anchor_or_to_the_end(on: Bench) -> None:
    on.put(a__py="import os\n\n\ndef f():\n    pass")
    report = on.apply(patch("@@ import os\n+import re\n", "@@\n+f()\n*** End of File\n"))
    assert report.ok, report
    assert on.read("a.py") == b"import os\nimport re\n\n\ndef f():\n    pass\nf()"
    again = on.apply(patch("@@ import os\n+import re\n"))
    assert kinds(again) == ["already_applied"]


@pytest.mark.parametrize("chunk", ["@@\n+x = 1\n", "@@\n \n+x = 1\n", "@@\n-\n"])
def test_blank_lines_alone_do_not_say_where(on: Bench, chunk: str) -> None:
    on.put(a__py="a\n\nb\n")
    assert kinds(on.apply(patch(chunk))) == ["ambiguous"]


def test_hunks_speak_of_the_file_as_it_was(on: Bench) -> None:
    on.put(a__py="a\nb\n")
    grown = on.apply(patch("@@\n a\n+x\n+b\n", "@@\n-b\n+c\n"))
    assert grown.ok, grown
    assert on.read("a.py") == b"a\nx\nb\nc\n"
    on.put(a__py="a\nb\n")
    assert kinds(on.apply(patch("@@\n-a\n+x\n", "@@\n-x\n+y\n"))) == ["", "no_match"]


# --- whole files ------------------------------------------------------------------------------------


def test_a_whole_file_replaces_only_what_was_read(on: Bench) -> None:
    on.put(a__py=b"a\r\nb\r\nc")
    text = "a.py\n```python\na\nB\nc\n```\n"
    assert kinds(on.apply(text, format="whole_file")) == ["file_exists"]
    assert kinds(on.apply(text, format="whole_file", expected_sha256={"a.py": sha(b"other")})) == ["stale"]
    report = on.apply(text, format="whole_file", expected_sha256={"a.py": sha(b"a\r\nb\r\nc")})
    assert report.ok, report
    assert on.read("a.py") == b"a\r\nB\r\nc"
    assert on.apply("new/b.py\n```\nx\n```\n", format="whole_file").ok
    assert on.read("new/b.py") == b"x\n"


def test_a_whole_file_with_a_placeholder_is_refused(on: Bench) -> None:
    on.put(a__py="a = 1\nb = 2\n")
    text = "a.py\n```python\na = 3\n# ... existing code ...\n```\n"
    assert kinds(on.apply(text, format="whole_file", expected_sha256={"a.py": sha(b"a = 1\nb = 2\n")})) == ["elision"]


def test_moving_and_deleting_is_undone_as_one(on: Bench) -> None:
    on.put(a__py="a = 1\nb = 2\n", b__py="gone\n")
    (on.root / "a.py").chmod(0o755)
    before = on.files()
    text = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: d/c.py\n@@\n-b = 2\n+b = 3\n*** Delete File: b.py\n"
        "*** Add File: b2.py\n+new\n*** End Patch\n"
    )
    report = on.apply(text)
    assert report.ok, report
    assert on.files() == {"d": "/", "d/c.py": b"a = 1\nb = 3\n", "b2.py": b"new\n"}
    assert (on.root / "d/c.py").stat().st_mode & 0o777 == 0o755
    moved = next(f for f in report.files if f.action == "rename")
    assert (moved.from_, moved.path, moved.added, moved.removed) == ("a.py", "d/c.py", 1, 1)
    assert on.journal.undo(report.transaction).conflicts == ()
    assert on.files() == before
    assert (on.root / "a.py").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(
    ("ops", "kind"),
    [
        ("*** Update File: a.py\n*** Move to: b.py\n", "file_exists"),
        ("*** Update File: a.py\n*** Move to: ../up.py\n", "path_outside"),
        ("*** Update File: a.py\n*** Move to: .git/x.py\n", "path_protected"),
        ("*** Update File: a.py\n*** Move to: b.py/c.py\n", "path_invalid"),
        ("*** Update File: a.py\n*** Move to: a.py\n", "file_exists"),
        ("*** Update File: link.py\n*** Move to: c.py\n", "unsupported"),
        ("*** Delete File: link.py\n", "unsupported"),
        ("*** Delete File: folder\n", "path_invalid"),
        ("*** Delete File: none.py\n", "file_not_found"),
        ("*** Add File: b.py/c.py\n+x\n", "path_invalid"),
    ],
)
def test_files_are_not_moved_or_deleted_where_that_is_not_clear(on: Bench, ops: str, kind: str) -> None:
    on.put(a__py="a = 1\n", b__py="b = 1\n")
    (on.root / "link.py").symlink_to("a.py")
    (on.root / "folder").mkdir()
    before = on.files()
    assert kinds(on.apply(f"*** Begin Patch\n{ops}*** End Patch\n")) == [kind]
    assert on.files() == before


def test_the_path_of_a_moved_file_is_free_and_its_new_one_taken(on: Bench) -> None:
    on.put(a__py="a = 1\n")
    move = "*** Update File: a.py\n*** Move to: b.py\n"
    after = on.apply(f"*** Begin Patch\n{move}*** Update File: b.py\n@@\n-a = 1\n+a = 2\n*** End Patch\n")
    assert after.ok, after
    assert on.files() == {"b.py": b"a = 2\n"}
    gone = on.apply("*** Begin Patch\n*** Update File: b.py\n*** Move to: a.py\n*** Delete File: b.py\n*** End Patch\n")
    assert kinds(gone) == ["", "file_not_found"]


def test_a_file_with_several_names_is_told_of(on: Bench) -> None:
    on.put(a__py="a = 1\n")
    (on.root / "b.py").hardlink_to(on.root / "a.py")
    report = on.apply(("a.py", "a = 1", "a = 2"))
    assert "has 2 names" in report.warnings[0]
    assert on.files() == {"a.py": b"a = 2\n", "b.py": b"a = 2\n"}


# --- files that changed since they were read --------------------------------------------------------


def test_a_change_elsewhere_in_the_file_is_no_conflict(on: Bench) -> None:
    read = sha(b"a = 1\nb = 2\n")
    on.put(a__py="a = 1\n\n\nb = 2  # formatted\n")
    report = on.apply(("a.py", "a = 1", "a = 3"), expected_sha256={"a.py": read})
    assert report.ok, report
    assert "changed since it was read, but not where edit 1" in report.warnings[0]
    assert on.read("a.py") == b"a = 3\n\n\nb = 2  # formatted\n"


def test_a_change_where_the_edit_applies_is_shown_with_the_new_hash(on: Bench) -> None:
    read = sha(b"a = 1\nb = 2\n")
    now = b"a = 1\nb = 2  # formatted\n"
    on.put(a__py=now)
    report = on.apply(("a.py", "b = 2", "b = 3"), expected_sha256={"a.py": read})
    error = report.edits[0].error
    assert error is not None
    assert error.kind == "stale"
    assert sha(now) in error.message
    assert error.closest is not None
    assert "b = 2  # formatted" in error.closest.text
    assert on.read("a.py") == now


def test_what_is_named_by_number_or_as_a_whole_needs_the_file_that_was_read(on: Bench) -> None:
    on.put(a__py="a\nb\n")
    old = {"a.py": "0" * 64}
    assert kinds(on.apply(calls(insert(1, "x\n")), expected_sha256=old)) == ["stale"]
    assert kinds(on.apply(("a.py", "a  ", "x"), expected_sha256=old)) == ["stale"]  # fits loosely only
    assert kinds(on.apply("*** Begin Patch\n*** Delete File: a.py\n*** End Patch", expected_sha256=old)) == ["stale"]
    assert on.apply(calls(insert(1, "x\n")), expected_sha256={"a.py": sha(b"a\nb\n")}).ok


# --- parts of a plan --------------------------------------------------------------------------------

LONG = [f"line {n}" for n in range(40)]


def test_some_hunks_of_a_plan_are_committed_and_have_an_id_of_their_own(on: Bench) -> None:
    text = "\n".join(LONG) + "\n"
    on.put(a__py=text, b__py="b\n")
    planned = on.plan(("a.py", "line 3", "first"), ("b.py", "b", "B"), ("a.py", "line 30", "second\nthird"))
    assert [file.hunks for file in planned.report.files] == [2, 1]
    part = planned.only([2])
    assert part.id != planned.id
    assert [change.after for change in part.changes] == [text.replace("line 30", "second\nthird").encode()]
    assert [edit.status for edit in part.report.edits] == ["not_chosen", "not_chosen", "would_apply"]
    assert part.report.files[0].diff.count("@@ -") == 1
    assert planned.only([1, 2, 3]).id == planned.id
    assert [change.path for change in planned.only([3]).changes] == ["b.py"]
