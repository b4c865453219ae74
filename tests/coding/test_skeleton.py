"""The folder tree as text."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.listings import listed, write

from regreen.errors import Refused, UsageError
from regreen.repo import FileList, estimate_tokens, list_files, skeleton
from regreen.workspace import Workspace

SMALL = dict.fromkeys(["z.py", "a/one.py", "a/b/two.py", "a/b/three.py", "a/c/d/four.py", "e/five.py"], "")


def paths_in(tree: str) -> set[str]:
    """The files that a page of a tree shows, by indentation."""
    found: set[str] = set()
    above: list[str] = []
    for line in tree.splitlines():
        if line.startswith("# "):
            continue
        name = line.strip().split(" (")[0]
        level = (len(line) - len(line.lstrip())) // 2
        above = [*above[:level], name] if level else [name]
        if not name.endswith("/"):
            found.add("".join(above))
    return found


def test_whole_tree_shows_files_before_folders(tmp_path: Path) -> None:
    with listed(write(tmp_path, SMALL)) as it:
        shown = skeleton(it.files, it.workspace)
    assert shown.tree.splitlines() == [
        "z.py", "a/", "  one.py", "  b/", "    three.py", "    two.py", "  c/", "    d/", "      four.py",
        "e/", "  five.py",
    ]  # fmt: skip
    assert (shown.root, shown.files, shown.dirs, shown.truncated, shown.cursor) == (".", 6, 5, False, "")


def test_depth_folds_with_counts(tmp_path: Path) -> None:
    with listed(write(tmp_path, SMALL)) as it:
        shown = skeleton(it.files, it.workspace, depth=1)
        assert shown.tree.splitlines() == ["z.py", "a/ (4 files, 3 folders)", "e/ (1 file)"]
        assert (shown.files, shown.dirs, shown.truncated) == (6, 5, False)
        deeper = skeleton(it.files, it.workspace, depth=2).tree.splitlines()
    assert deeper == [
        "z.py", "a/", "  one.py", "  b/ (2 files)", "  c/ (1 file, 1 folder)", "e/", "  five.py",
    ]  # fmt: skip


def test_subfolder_file_and_missing_path(tmp_path: Path) -> None:
    with listed(write(tmp_path, SMALL)) as it:
        below = skeleton(it.files, it.workspace, path="./a/b/")
        assert (below.root, below.tree.splitlines(), below.files) == ("a/b", ["three.py", "two.py"], 2)
        assert skeleton(it.files, it.workspace, path="a/one.py").tree == "one.py"
        with pytest.raises(UsageError) as error:
            skeleton(it.files, it.workspace, path="a/bb")
        assert error.value.kind == "not_found"
        with pytest.raises(Refused):
            skeleton(it.files, it.workspace, path="../x")


def test_large_files_links_and_notes_are_shown(tmp_path: Path) -> None:
    write(tmp_path, {"big.bin": b"\0" * 2_500_000, "mid.py": b"#" * 100_000, "node_modules/x.js": ""})
    (tmp_path / "link").symlink_to("mid.py")
    with listed(tmp_path) as it:
        assert skeleton(it.files, it.workspace).tree.splitlines() == [
            "# dependency folders that are not listed: node_modules",
            "big.bin (2.5 MB)", "link (link)", "mid.py (100 kB)",
        ]  # fmt: skip


def test_empty_folder_is_an_empty_tree(tmp_path: Path) -> None:
    with listed(tmp_path) as it:
        shown = skeleton(it.files, it.workspace)
    assert (shown.tree, shown.files, shown.dirs, shown.truncated) == ("", 0, 0, False)


def test_bad_numbers_and_cursors_are_refused(tmp_path: Path) -> None:
    with listed(write(tmp_path, SMALL)) as it:
        for bad in ({"depth": -1}, {"max_tokens": 0}, {"cursor": "what"}, {"cursor": "0:0:a"}, {"cursor": "1:7:a"}):
            with pytest.raises(UsageError) as error:
                skeleton(it.files, it.workspace, **bad)  # type: ignore[arg-type]
            assert error.value.kind == "invalid_arguments"


def pages(files: FileList, workspace: Workspace, max_tokens: int) -> list[str]:
    out: list[str] = []
    cursor = ""
    while not out or cursor:
        page = skeleton(files, workspace, max_tokens=max_tokens, cursor=cursor)
        assert page.truncated == bool(page.cursor)
        out.append(page.tree)
        cursor = page.cursor
    return out


def test_first_page_is_an_overview_and_later_ones_hold_the_rest(tmp_path: Path) -> None:
    names = [f"pkg{i}/mod{j}/file{k}.py" for i in range(4) for j in range(5) for k in range(6)]
    with listed(write(tmp_path, dict.fromkeys(names, ""))) as it:
        out = pages(it.files, it.workspace, 150)
    assert all(estimate_tokens(page) <= 150 for page in out)
    assert "pkg3/" in out[0]
    assert "mod4/ (6 files)" in out[0]
    assert out[1].splitlines()[0] == "pkg0/mod1/"  # a page begins with the whole path of a folder
    assert set().union(*map(paths_in, out)) == set(names)


def test_of_very_many_entries_the_first_ones_are_shown_and_all_for_who_names_the_folder(tmp_path: Path) -> None:
    files = FileList((*(f"d/f{i:05}.py" for i in range(10_000)), *(f"p{i:03}/x.py" for i in range(101))))
    with listed(tmp_path) as it:
        shown = skeleton(files, it.workspace)
        lines = shown.tree.splitlines()
        assert lines[:2] == ["d/", "  f00000.py"]
        assert lines[50:54] == ["  f00049.py", "  ... 9,950 more files", "p000/", "  x.py"]
        assert lines[-1] == "... 52 more folders (52 files)"
        assert (shown.files, shown.dirs, shown.truncated) == (10_101, 102, False)
        named = skeleton(files, it.workspace, path="d", max_tokens=100_000)
        assert len(named.tree.splitlines()) == 10_000
        assert len(skeleton(files, it.workspace, path=".").tree.splitlines()) == 2 * 101 + 52
        paged = pages(files, it.workspace, 200)
    assert "\n".join(page.removeprefix("d/\n") for page in paged).count("f000") == 50
    assert sum(page.count("9,950 more files") + page.count("52 more folders") for page in paged) == 2


def test_folders_of_other_peoples_code_are_counted(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "web/vendor/x/y.js": "", "web/vendor/z.js": b"/" * 200_000, "src/vendor/Db.java": ""})
    with listed(tmp_path) as it:
        assert skeleton(it.files, it.workspace).tree.splitlines() == [
            "a.py", "src/", "  vendor/", "    Db.java", "web/", "  vendor/ (2 files, 1 folder, 200 kB, vendored)",
        ]  # fmt: skip
        inside = skeleton(it.files, it.workspace, path="web/vendor").tree.splitlines()
    assert inside == ["z.js (200 kB)", "x/", "  y.js"]


def test_a_hundred_thousand_files_and_very_deep_folders_are_shown_in_no_time(tmp_path: Path) -> None:
    paths = [f"p{i // 1000}/m{i // 50 % 20}/f{i}.py" for i in range(100_000)]
    deep = ["d/" * depth + "f.py" for depth in range(1, 600)]
    files = FileList(tuple(sorted([*paths, *deep])))
    with listed(tmp_path) as it:
        begin = time.process_time()
        shown = skeleton(files, it.workspace)
        after = skeleton(files, it.workspace, cursor=shown.cursor)
        took_s = time.process_time() - begin
    assert (shown.files, estimate_tokens(shown.tree) <= 4000, after.truncated) == (100_599, True, True)
    assert took_s < 15


_NAMES = st.lists(st.sampled_from(["a", "b", "c.py", "d e", "ü"]), min_size=1, max_size=5).map("/".join)


@given(st.sets(_NAMES, max_size=40), st.integers(1, 120))
def test_every_file_is_on_exactly_one_page(names: set[str], max_tokens: int) -> None:
    folders = {n[:i] for n in names for i, c in enumerate(n) if c == "/"}
    paths = sorted(names - folders)
    with Workspace(Path(__file__).parent) as workspace:
        out = pages(FileList(tuple(paths)), workspace, max_tokens)
    shown = [p for page in out for p in paths_in(page)]
    assert sorted(shown) == paths


def test_pages_stay_right_when_files_come_and_go(tmp_path: Path) -> None:
    files = FileList(tuple(f"d/f{i:03}.py" for i in range(100)))
    with listed(tmp_path) as it:
        first = skeleton(files, it.workspace, max_tokens=100)
        after = FileList((*files.paths[50:], "d/g.py"))
        rest: set[str] = set()
        cursor = first.cursor
        while cursor:
            page = skeleton(after, it.workspace, max_tokens=100, cursor=cursor)
            rest |= paths_in(page.tree)
            cursor = page.cursor
    assert rest == set(after.paths)


def test_a_link_that_leads_out_of_the_root_is_refused(tmp_path: Path) -> None:
    outside, root = tmp_path / "out", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (outside / "secret.txt").write_text("x\n")
    (root / "first").symlink_to("second")
    (root / "second").symlink_to(outside)
    with Workspace(root) as workspace, pytest.raises(Refused) as caught:
        skeleton(list_files(workspace, None), workspace, path="first")
    assert caught.value.kind == "path_outside_workspace"
