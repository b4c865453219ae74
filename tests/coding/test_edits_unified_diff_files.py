"""Which file a section of a unified diff is for, and what it does with it: change, create, delete, rename."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.diffs import ABC, DIFF, END, GIT, HEAD, change, edits, problem

from regreen.edits.operations import CreateFile, DeleteFile, MoveFile

UNUSUAL = 'ä\t"'


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("a/src/f.py", "b/src/f.py", "src/f.py"),
        ("src/f.py", "src/f.py", "src/f.py"),
        ("a/f", "a/f", "a/f"),
        ("b/f", "a/f", "f"),
        ("i/f", "w/f", "f"),
        ("c/f", "w/f", "f"),
        ("o/f", "w/f", "f"),
        ("1/f", "2/f", "f"),
        ("a/b/f", "b/b/f", "b/f"),
        ("a/my file", "b/my file", "my file"),
        ("a/my file\t", "b/my file\t", "my file"),
        ("f\t2024-01-02 10:00:00.000000000 +0000", "f\t2024-01-02 10:01:00.000000000 +0000", "f"),
        ("f 2024-01-02 10:00:00.000000000 +0000", "f 2024-01-02 10:01:00", "f"),
        ("a/f\t(revision 3)", "b/f\t(working copy)", "f"),
        ("a/notes 2024-01-02 10:00", "b/notes 2024-01-02 11:00", "notes"),
        ("a/notes 2024-01-02 x", "b/notes 2024-01-02 x", "notes 2024-01-02 x"),
        ('"a/\\303\\244\\t\\"\\\\\\377"', '"b/\\303\\244\\t\\"\\\\\\377"', 'ä\t"\\\udcff'),
        ('"a/ä\\n"', '"b/ä\\n"', "ä\n"),
        ("a/../f", "b/../f", "../f"),
        ("x/f", "x/f", "x/f"),
        ("C:\\f", "C:\\f", "C:\\f"),
    ],
)
def test_paths(old: str, new: str, path: str) -> None:
    assert edits(f"--- {old}\n+++ {new}\n@@\n-x\n+y\n") == [change("x", "y", path)]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("a/f b/f", "f"),
        ("f f", "f"),
        ("a/f a/f", "a/f"),
        ("a/a b b/a b", "a b"),
        ("a/x b/x b/x b/x", "x b/x"),
        ('"a/\\303\\244" "b/\\303\\244"', "ä"),
        ("w/f i/f", "f"),
    ],
)
def test_paths_of_a_git_line(line: str, path: str) -> None:
    assert edits(f"diff --git {line}\n@@\n-x\n+y\n") == [change("x", "y", path)]
    assert edits(f"diff --git {line}\nnew file mode 100644\nindex 0000000..e69de29\n") == [CreateFile(path, "")]
    assert edits(f"diff --git {line}\ndeleted file mode 100644\n") == [DeleteFile(path, ())]


@pytest.mark.parametrize(
    "headers",
    [
        "--- a/f\n+++ b/g\n",
        "--- a/f\n+++ f\n",
        "--- x/f\n+++ y/f\n",
        "diff --git a/f b/g\n",
        "diff --git a/f b/g\n--- a/f\n+++ b/f\n",
        "diff --git a/f b/f\n--- a/g\n+++ b/g\n",
        "diff --git a/f b/f\n+++ b/g\n",
        "diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/g\n",
        "diff --git a/f b/g\nrename from f\nrename to h\n",
        "diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/f\n",
    ],
)
def test_two_different_names_are_never_guessed_at(headers: str) -> None:
    assert "names two different files" in problem(headers + "@@\n-x\n+y\n")


def test_a_new_file() -> None:
    head = "--- /dev/null\n+++ b/f\n"
    assert edits(head + "@@ -0,0 +1,2 @@\n+a\n+\n") == [CreateFile("f", "a\n\n")]
    assert edits(head + "@@\n+a\n" + END) == [CreateFile("f", "a")]
    assert edits(head + "@@\n+a\n@@\n+b\n") == [CreateFile("f", "a\nb\n")]
    assert edits(head.replace("b/f", "f") + "@@\n+a\n\n\n") == [CreateFile("f", "a\n")]
    assert edits(head.replace("null", "null\t1970-01-01 00:00:00 +0000") + "@@\n+a\n") == [CreateFile("f", "a\n")]
    assert edits(f"{GIT}new file mode 100644\nindex 000..111\n{head}@@\n+a\n") == [CreateFile("f", "a\n")]
    assert edits(f"{GIT}new file mode 100644\n@@\n+a\n") == [CreateFile("f", "a\n")]
    assert edits("diff --git a/w/f b/w/f\n--- /dev/null\n+++ b/w/f\n@@\n+a\n") == [CreateFile("w/f", "a\n")]
    assert edits("diff --git i/f w/f\n--- /dev/null\n+++ w/f\n@@\n+a\n") == [CreateFile("f", "a\n")]
    assert edits("diff --git /dev/null b/f\n@@\n+a\n") == [CreateFile("f", "a\n")]


def test_line_ends_of_a_new_file_are_the_files_only_if_the_response_has_others() -> None:
    head = "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n"
    assert edits(head + "+a\r\n+b\r\n") == [CreateFile("f", "a\r\nb\r\n")]
    assert edits(head.replace("\n", "\r\n") + "+a\r\n+b\r\n") == [CreateFile("f", "a\nb\n")]
    assert edits(HEAD + "@@\n-a\r\n+b\r\n\r\n") == [change("a", "b")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GIT + "old mode 100644\nnew mode 100755\n", "mode of a file cannot be changed"),
        (GIT + "old mode 100644\nnew mode 100755\nindex 1..2\n" + DIFF, "mode of a file cannot be changed"),
        (GIT + "new file mode 100755\n--- /dev/null\n+++ b/f\n@@\n+a\n", "not 100755 (an executable)"),
        (GIT + f"new file mode 120000\n--- /dev/null\n+++ b/f\n@@\n+a\n{END}", "(a symbolic link)"),
        (GIT + "new file mode 160000\n--- /dev/null\n+++ b/f\n@@\n+Subproject commit 1\n", "(a submodule)"),
        (GIT + "deleted file mode 120000\n--- a/f\n+++ /dev/null\n@@\n-a\n", "(a symbolic link)"),
        (GIT + "index 1..2 120000\n" + DIFF, "(a symbolic link)"),
        (GIT + "index 1..2 160000\n" + DIFF, "(a submodule)"),
        ("diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n", "copies a file"),
        (GIT + "index 1..2 100644\nGIT binary patch\nliteral 4\nLc${NkU}69O0RR91\n\n", "binary content"),
        (GIT + "index 1..2 100644\nBinary files a/f and b/f differ\n", "binary content"),
        (f"{DIFF}Binary files a/g and b/g differ\n", "binary content"),
        ("diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n", "combined diff"),
        (HEAD + "@@@ -1,1 -1,1 +1,1 @@@\n- a\n", "combined diff"),
        (DIFF + "@@@ -1,1 -1,1 +1,1 @@@\n- a\n", "combined diff"),
        (HEAD + "@@\n-a\r\n+a\n-b\n+c\n", "changes the line ends"),
        (HEAD + "@@\n-a\n+a\r\n", "changes the line ends"),
    ],
)
def test_what_no_edit_can_do_is_unsupported(text: str, said: str) -> None:
    assert problem(text).startswith("unsupported: ")
    assert said in problem(text)


def test_a_file_that_goes() -> None:
    assert edits("--- a/f\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n b\n-c\n") == [DeleteFile("f", ("a", "b", "c"))]
    assert edits("--- f\n+++ /dev/null\n@@\n-a\n" + END) == [DeleteFile("f", ("a",))]
    assert edits(f"{GIT}deleted file mode 100755\nindex 1..0\n--- a/f\n+++ /dev/null\n@@\n-a\n") == [
        DeleteFile("f", ("a",))
    ]


def test_a_rename_comes_after_its_hunks() -> None:
    head = "diff --git a/o b/n d\nsimilarity index 90%\nrename from o\nrename to n d\n"
    assert edits(head) == [MoveFile("o", "n d")]
    assert edits(head + "index 1..2 100644\n--- a/o\n+++ b/n d\t\n@@\n-x\n+y\n") == [
        change("x", "y", "o"), MoveFile("o", "n d"),
    ]  # fmt: skip
    quoted = 'diff --git "a/\\303\\244" b/n\nrename from "\\303\\244"\nrename to n\n'
    assert edits(quoted + quoted.replace("\\244", "\\266")) == [MoveFile("ä", "n"), MoveFile("ö", "n")]
    assert edits("diff --git o n\nrename from o\nrename to n\n" + GIT + DIFF) == [MoveFile("o", "n"), ABC]


@pytest.mark.parametrize("options", [[], ["-c", "diff.noprefix=true"], ["-c", "diff.mnemonicPrefix=true"]])
def test_what_git_prints_of_a_work_tree_is_read_as_it_was_done(tmp_path: Path, options: list[str]) -> None:
    def git(*argv: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(["git", *argv], cwd=tmp_path, env=env, capture_output=True, check=True, timeout=60)
        return done.stdout.decode()

    git("init", "-q")
    (tmp_path / "a").mkdir()
    for name in ("a/f", "my file", UNUSUAL, "gone", "empty", "moved one", "kept"):
        (tmp_path / name).write_text("" if name == "empty" else f"{name}\n1\n2\n3\n4\n5\n", "utf-8")
    git("add", "-A")
    git("-c", "user.name=u", "-c", "user.email=u@u", "commit", "-qm", "x")
    for name in ("a/f", "my file", UNUSUAL):
        (tmp_path / name).write_text("x\n1\n2\n3\n4\n5", "utf-8")
    for name in ("gone", "empty"):
        (tmp_path / name).unlink()
    (tmp_path / "moved one").rename(tmp_path / "moved")
    (tmp_path / "moved").write_text("moved one\n1\n2\n3\n4\ny\n")
    (tmp_path / "new one").write_text("n\n")
    (tmp_path / "blank").write_text("")
    git("add", "-A")
    tail = "1|2|3|4|5"
    assert edits(git(*options, "diff", "-M", "--no-rename-empty", "--no-color", "--cached")) == [
        change(f"a/f|{tail}", f"x|{tail}", "a/f", at_end=True, open_end=True),
        CreateFile("blank", ""),
        DeleteFile("empty", ()),
        DeleteFile("gone", ("gone", "1", "2", "3", "4", "5")),
        change("2|3|4|5", "2|3|4|y", "moved one"),
        MoveFile("moved one", "moved"),
        change(f"my file|{tail}", f"x|{tail}", "my file", at_end=True, open_end=True),
        CreateFile("new one", "n\n"),
        change(f"{UNUSUAL}|{tail}", f"x|{tail}", UNUSUAL, at_end=True, open_end=True),
    ]
