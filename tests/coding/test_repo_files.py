"""Listing the files of a repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.listings import git, listed, write

from regreen.errors import UsageError
from regreen.repo import estimate_tokens, is_test_file
from regreen.repo.selecting import select


def test_git_lists_tracked_and_untracked_files_but_no_ignored_ones(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {".gitignore": "*.log\n/build/\n", "src/.gitignore": "gen.py\n!keep.log\n", "a.py": "", "b.py": ""})
    write(
        tmp_path, {"x.log": "", "build/o.py": "", "src/gen.py": "", "src/keep.log": "", "src/c.py": "", "gone.py": ""}
    )
    git(tmp_path, "add", "a.py", "gone.py")
    (tmp_path / "gone.py").unlink()
    with listed(tmp_path) as it:
        assert it.files.paths == (".gitignore", "a.py", "b.py", "src/.gitignore", "src/c.py", "src/keep.log")
        assert it.files.notes == ()


def test_without_git_the_listing_is_the_same(tmp_path: Path) -> None:
    rules = {".gitignore": "*.log\n/build/\n!\n[bad\ndeep/**/x\n", "src/.gitignore": "gen.py\n!keep.log\n"}
    content = ["a.py", "x.log", "build/o.py", "src/gen.py", "src/keep.log", "src/build/in.py", "deep/1/2/x", "deep/y"]
    for name in ("with", "without"):
        write(tmp_path / name, {**rules, **dict.fromkeys(content, "")})
    git(tmp_path / "with", "init", "-q")
    with listed(tmp_path / "with") as one, listed(tmp_path / "without") as two:
        assert one.files.paths == two.files.paths
        assert "src/build/in.py" in two.files.paths
        assert "build/o.py" not in two.files.paths


@pytest.mark.parametrize("with_git", [True, False])
def test_dependency_folders_are_left_out_and_said(tmp_path: Path, with_git: bool) -> None:
    if with_git:
        git(tmp_path, "init", "-q")
    write(tmp_path, {"a.py": "", "node_modules/m/i.js": "", ".venv/pyvenv.cfg": "", ".venv/lib/x.py": ""})
    with listed(tmp_path) as it:
        assert it.files.paths == ("a.py",)
        assert it.files.notes == ("dependency folders that are not listed: .venv, node_modules",)


def test_links_are_listed_and_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {"pkg/a.py": ""})
    (tmp_path / "pkg" / "loop").symlink_to("..", target_is_directory=True)
    (tmp_path / "out").symlink_to("/etc", target_is_directory=True)
    with listed(tmp_path) as it:
        assert it.files.paths == ("pkg/a.py",)
        assert it.files.links == ("out", "pkg/loop")


def test_what_cannot_be_listed_is_said(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "new\nline.py": ""})
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text("", "utf-8")
    with listed(tmp_path) as it:
        assert it.files.paths == ("a.py",)
        assert it.files.notes == (
            "names with control characters or without an encoding, not listed: caf�.py, new�line.py",
            "neither files nor folders, not listed: pipe",
        )


def test_submodules_are_said(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {"a.py": ""})
    git(tmp_path, "add", "a.py")
    git(tmp_path, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    write(tmp_path, {"sub/x.py": ""})
    with listed(tmp_path) as it:
        assert it.files.paths == ("a.py",)
        assert it.files.notes == ("submodules, not listed: sub",)


def test_a_broken_repository_is_walked(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {"a.py": "", ".git/index": "no index"})
    with listed(tmp_path) as it:
        assert it.files.paths == ("a.py",)
        assert it.files.notes[0].startswith("Git could not list the files")


def test_root_below_the_work_tree_lists_its_own_part(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {"a.py": "", "sub/b.py": "", ".gitignore": "sub/no.py\n", "sub/no.py": ""})
    with listed(tmp_path / "sub") as it:
        assert it.files.paths == ("b.py",)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/a.txt", True), ("pkg/test/b.py", True), ("test_a.py", True), ("pkg/a_test.py", True),
        ("conftest.py", True), ("tests.py", False), ("pkg/testing/a.py", False), ("contest.py", False),
        ("latest_.py", False), ("src/a.py", False),
    ],
)  # fmt: skip
def test_test_files_are_known_by_folder_or_name(path: str, expected: bool) -> None:
    assert is_test_file(path) is expected


def test_tokens_are_bytes_over_three_and_a_half_rounded_up() -> None:
    assert [estimate_tokens(t) for t in ("", "abc", "abcdefg", "abcdefgh", "é" * 7, "\udcff" * 7)] == [0, 1, 2, 3, 4, 2]


FILES = {
    "a.py": "",
    "src/b.py": "",
    "src/deep/c.py": "",
    "src/deep/d.txt": "",
    "pages/[id].py": "",
    ".gitignore": "x.py\n",
}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (["a.py"], ["a.py"]),
        (["src"], ["src/b.py", "src/deep/c.py", "src/deep/d.txt"]),
        (["src/*.py"], ["src/b.py"]),
        (["src/**/*.py"], ["src/b.py", "src/deep/c.py"]),
        (["src/**"], ["src/b.py", "src/deep/c.py", "src/deep/d.txt"]),
        (["*.txt", "./a.py", "a.py"], ["a.py", "src/deep/d.txt"]),
        (["src/[ab].py"], ["src/b.py"]),
        (["src/[!b].*", "a.py"], None),
        (["pages/[id].py"], ["pages/[id].py"]),
        (["x.py"], ["x.py"]),
        (["."], [".gitignore", "a.py", "pages/[id].py", "src/b.py", "src/deep/c.py", "src/deep/d.txt"]),
    ],
)
def test_files_folders_and_globs_select(tmp_path: Path, wanted: list[str], expected: list[str] | None) -> None:
    write(tmp_path, {**FILES, "x.py": ""})
    with listed(tmp_path) as it:
        if expected is None:
            with pytest.raises(UsageError, match="matches no file"):
                select(it.workspace, it.files, wanted)
        else:
            assert list(select(it.workspace, it.files, wanted).paths) == expected


def test_a_missing_path_names_similar_ones(tmp_path: Path) -> None:
    write(tmp_path, {"src/billing.py": "", "src/app.py": "", "lib/app.py": "", "empty/.gitignore": "*\n"})
    with listed(tmp_path) as it:
        for wanted, hint in [
            ("src/biling.py", "did you mean `src/billing.py`?"),
            ("billing.py", "did you mean `src/billing.py`?"),
            ("src/lib/app.py", "did you mean `lib/app.py` or `src/app.py`?"),
            ("scr", "did you mean `src`?"),
            ("zzz", "see the skeleton for what there is"),
        ]:
            with pytest.raises(UsageError) as error:
                select(it.workspace, it.files, [wanted])
            assert (error.value.kind, error.value.hint) == ("not_found", hint)
        with pytest.raises(UsageError, match="empty or ignored"):
            select(it.workspace, it.files, ["empty"])


def test_a_hostile_glob_is_matched_in_no_time(tmp_path: Path) -> None:
    write(tmp_path, {"a" * 200: ""})
    with listed(tmp_path) as it, pytest.raises(UsageError):
        select(it.workspace, it.files, ["*a" * 100 + "b", "**/" * 500 + "b"])
