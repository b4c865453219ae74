"""Moves that follow each other, hunks that speak of the file as it was, anchors and what they head."""

from __future__ import annotations

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


def said(report: EditReport) -> str:
    return " ".join(f"{e.error.message} {e.error.hint}" for e in report.edits if e.error)


def block(search: str, replace: str, path: str = "") -> str:
    head = f"{path}\n" if path else ""
    return f"{head}```python\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n```\n"


def diff(body: str, path: str = "a.py") -> str:
    return f"--- a/{path}\n+++ b/{path}\n{body}"


def patch(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


# --- moves ------------------------------------------------------------------------------------------


def move(source: str, to: str) -> str:
    return f"*** Update File: {source}\n*** Move to: {to}\n"


@pytest.mark.parametrize(
    ("ops", "wanted"),
    [
        (move("a.py", "b.py") + move("b.py", "c.py"), {"c.py": b"a = 1\n"}),
        (move("a.py", "b.py") + "*** Delete File: b.py\n", {}),
        (move("a.py", "b.py") + "*** Add File: a.py\n+new\n", {"a.py": b"new\n", "b.py": b"a = 1\n"}),
        (move("a.py", "b.py") + move("b.py", "a.py") + "*** Add File: d\n+d\n", None),
        ("*** Add File: n.py\n+n\n" + move("n.py", "m.py"), {"a.py": b"a = 1\n", "m.py": b"n\n"}),
        ("*** Delete File: a.py\n*** Add File: a.py\n+n\n", {"a.py": b"n\n"}),
    ],
)
def test_moves_follow_each_other(on: Bench, ops: str, wanted: dict[str, bytes] | None) -> None:
    on.put(a__py="a = 1\n")
    report = on.apply(patch(ops))
    assert report.ok is (wanted is not None), report
    assert on.files() == ({"a.py": b"a = 1\n"} if wanted is None else wanted)
    if wanted is not None:
        assert on.journal.undo(report.transaction).conflicts == ()
        assert on.files() == {"a.py": b"a = 1\n"}


def test_a_file_that_was_moved_away_is_not_offered_again(on: Bench) -> None:
    on.put(a__py="a = 1\n")
    report = on.apply(patch(move("a.py", "b.py") + "*** Update File: a.py\n@@\n-a = 1\n+a = 2\n"))
    assert "is moved to `b.py` by an earlier edit" in said(report)


def test_a_file_deleted_and_made_anew_has_no_old_encoding(on: Bench) -> None:
    on.put(a__py="\ufeffold\n".encode("utf-16-le"))
    assert on.apply(patch("*** Delete File: a.py\n*** Add File: a.py\n+new\n")).ok
    assert on.read("a.py") == b"new\n"


def test_two_moves_of_one_path_are_two_moves(on: Bench) -> None:
    on.put(a__py="a = 1\n")
    report = on.apply(patch(move("a.py", "b.py") + "*** Add File: a.py\n+new\n" + move("a.py", "d.py")))
    assert report.ok
    assert on.files() == {"b.py": b"a = 1\n", "d.py": b"new\n"}
    assert on.journal.undo(report.transaction).conflicts == ()
    assert on.files() == {"a.py": b"a = 1\n"}


# --- hunks speak of the file as it was ---------------------------------------------------------------


def test_a_place_used_up_by_one_hunk_does_not_make_the_next_one_unique(on: Bench) -> None:
    on.put(a__py="def a():\n    x = 1\n\ndef b():\n    x = 1\n")
    hunks = "@@ @@\n def a():\n-    x = 1\n+    x = 2\n@@ @@\n-    x = 1\n+    x = 3\n"
    assert kinds(on.apply(diff(hunks))) == ["", "ambiguous"]


def test_hunks_that_touch_or_insert_at_one_place_are_told_apart(on: Bench) -> None:
    on.put(a__py="a\nb\nc\n")
    assert on.apply(diff("@@ @@\n-a\n+A\n@@ @@\n-b\n+B\n@@ @@\n c\n+d\n")).ok
    assert on.read("a.py") == b"A\nB\nc\nd\n"
    twice = diff("@@ @@\n A\n+x\n@@ @@\n A\n+y\n")
    assert kinds(on.apply(twice)) == ["", "ambiguous"]
    assert kinds(on.apply(diff("@@ @@\n A\n+x\n@@ @@\n B\n+y\n c\n"))) == ["", ""]


def test_a_hunk_for_what_another_one_writes_is_told_so(on: Bench) -> None:
    on.put(a__py="a\nb\n")
    report = on.apply(diff("@@ @@\n-a\n+x\n@@ @@\n-x\n+y\n"))
    assert "stands only in what edit 1" in said(report)


def test_two_insertions_at_one_line_have_no_order(on: Bench) -> None:
    on.put(a__py="a\n")
    call = {"command": "insert", "path": "a.py", "insert_line": 1, "insert_text": "x\n"}
    assert kinds(on.apply(json.dumps([call, {**call, "insert_text": "y\n"}]))) == ["", "ambiguous"]


# --- anchors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        'def f():\n    t = """\nat column 0\n"""\n    return 1\n\n\ndef g():\n    return 1\n',
        "int f()\n{\n    a();\nout:\n#ifdef X\n    return 1\n}\n\nint g()\n{\n    return 1\n}\n",
        "def f():\n    try:\n        a()\n# note\n    return 1\n\n\ndef g():\n    return 1\n",
    ],
)
def test_a_block_is_not_cut_short_by_what_stands_at_its_edge(on: Bench, source: str) -> None:
    name = "a.c" if source.startswith("int") else "a.py"
    on.put(**{name: source})
    head = source.split("\n", 1)[0]
    assert on.apply(patch(f"*** Update File: {name}\n@@ {head}\n-    return 1\n+    return 2\n")).ok
    assert on.read(name).decode() == source.replace("return 1", "return 2", 1)


@pytest.mark.parametrize(
    ("name", "source", "head", "line"),
    [
        ("a.yml", "build:\n  run: a\ntest:\n  run: b\n", "build:", "  run: b"),
        ("Makefile", "test:\n\ta\nlint:\n\tb\n", "test:", "\tb"),
        ("a.py", "class A:\n    x = 1\n\ntry:\n    y = 1\nfinally:\n    pass\n", "class A:", "    y = 1"),
        ("a.js", "class A {\n  get(k) {\n    a()\n  }\n  #evict(k) {\n    b()\n  }\n}\n", "get(k) {", "    b()"),
        ("a.js", "class A {\n  get(k) {\n    a()\n  }\n  *all() {\n    b()\n  }\n}\n", "get(k) {", "    b()"),
        ("a.py", "def a(): return 1\ndef b():\n    return 2\n", "def a(): return 1", "    return 2"),
        ("a.toml", "[a]\nx = 1\n[b]\ny = 2\n", "[a]", "y = 2"),
        ("a.md", "## Install\none\n## Use\ntwo\n", "## Install", "two"),
    ],
)
def test_an_anchor_does_not_reach_into_what_it_does_not_head(
    on: Bench, name: str, source: str, head: str, line: str
) -> None:
    on.put(**{name.replace(".", "__"): source})
    assert kinds(on.apply(patch(f"*** Update File: {name}\n@@ {head}\n-{line}\n+new\n"))) == ["no_match"]


def test_an_anchor_may_be_the_beginning_of_its_line(on: Bench) -> None:
    on.put(a__py="class Base:\n    x = 1\n\n\nclass Bases(Base):\n    x = 2\n")
    assert on.apply(patch("*** Update File: a.py\n@@ class Bases\n-    x = 2\n+    x = 3\n")).ok
    assert on.apply(patch("*** Update File: a.py\n@@ class Base\n-    x = 1\n+    x = 4\n")).ok
    assert on.read("a.py") == b"class Base:\n    x = 4\n\n\nclass Bases(Base):\n    x = 3\n"


def test_decorators_belong_to_what_they_stand_on(on: Bench) -> None:
    on.put(a__py="@one\ndef a():\n    pass\n\n\n@one\ndef b():\n    pass\n")
    assert on.apply(patch("*** Update File: a.py\n@@ def b():\n-@one\n+@two\n def b():\n")).ok
    assert on.read("a.py") == b"@one\ndef a():\n    pass\n\n\n@two\ndef b():\n    pass\n"


def test_an_anchor_may_be_a_line_that_another_hunk_changes(on: Bench) -> None:
    on.put(a__py="def a():\n    x = 1\n    y = 1\n")
    ops = "@@\n-def a():\n+def aa():\n@@ def a():\n-    y = 1\n+    y = 2\n"
    assert on.apply(patch(f"*** Update File: a.py\n{ops}")).ok
    assert on.read("a.py") == b"def aa():\n    x = 1\n    y = 2\n"


@pytest.mark.parametrize(
    ("source", "head"),
    [
        ("def f(\n    a,\n):\n    pass\n", "def f("),
        ("int f(int a)\n{\n    return a;\n}\n", "int f(int a)"),
        ("@one\ndef f():\n    pass\n", "@one"),
        ("if a and \\\n        b:\n    pass\n", "if a and \\"),
        ("const a = b +\n    c\n", "const a = b +"),
    ],
)
def test_nothing_is_put_into_an_unfinished_heading(on: Bench, source: str, head: str) -> None:
    on.put(a__py=source)
    assert kinds(on.apply(patch(f"*** Update File: a.py\n@@ {head}\n+    new\n"))) == ["ambiguous"]
