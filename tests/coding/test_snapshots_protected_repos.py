"""Guards where the repository is not simply a folder in the project: work trees, submodules, a root below, no git."""

from __future__ import annotations

import pytest
from support.gitrepos import git, make_repo, write
from support.guarding import after, guarded_repo, image, names

from regreen.snapshots.protected import Guard
from regreen.workspace import Workspace


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "archive"


@pytest.fixture
def repo(tmp_path):
    return guarded_repo(tmp_path / "repo")


def test_a_linked_work_tree_is_watched_with_its_repository_and_only_named(repo, archive, tmp_path):
    git(repo, "worktree", "add", "-q", str(tmp_path / "wt"))
    tree = tmp_path / "wt"
    with Workspace(tree) as workspace:
        guard = Guard.take(workspace)
        write(repo / ".git" / "config", "[core]\n")
        write(repo / ".git" / "worktrees" / "wt" / "config.worktree", "[core]\n")
        write(tree / ".git", "gitdir: /evil\n")
        found = guard.verify([".git"], archive)
    real = repo.resolve().as_posix()
    assert names(found) == {
        ".git": ("changed", True),
        f"{real}/.git/config": ("changed", False),
        f"{real}/.git/worktrees/wt/config.worktree": ("created", False),
    }
    assert (tree / ".git").read_text().startswith(f"gitdir: {real}/.git/worktrees/wt")


def test_submodules_are_watched_by_their_repository_and_their_pointer(repo, archive, tmp_path):
    make_repo(tmp_path / "lib", {"l.py": "l = 1\n"})
    git(repo, "submodule", "--quiet", "add", str(tmp_path / "lib"), "libs/lib")
    git(repo, "commit", "-q", "-m", "sub")
    before = image(repo)

    def act():
        write(repo / ".git" / "modules" / "libs" / "lib" / "config", "[core]\n")
        write(repo / ".git" / "modules" / "libs" / "lib" / "hooks" / "post-checkout", "evil\n")
        write(repo / "libs" / "lib" / ".git", "gitdir: /evil\n")

    written = [".git/modules/libs/lib/config", ".git/modules/libs/lib/hooks/post-checkout", "libs/lib/.git"]
    found = after(repo, act, written, archive)
    assert {t.path: t.restored for t in found} == dict.fromkeys(written, True)
    assert image(repo) == before


def test_a_root_below_the_top_watches_the_repository_above_it(repo, archive):
    found = after(repo, lambda: write(repo / ".git" / "config", "[core]\n"), ["../.git/config"], archive, inner="sub")
    assert names(found) == {f"{repo.resolve().as_posix()}/.git/config": ("changed", False)}
    [told] = after(repo, lambda: write(repo / "sub" / ".npmrc", "y\n"), [".npmrc"], archive, inner="sub")
    assert (told.path, told.restored) == (".npmrc", True)


def test_without_git_editors_settings_are_still_watched(tmp_path, archive):
    root = tmp_path / "plain"
    write(root / ".mcp.json", "{}\n")

    def act():
        write(root / ".mcp.json", "evil\n")
        write(root / ".MCP.JSON", "evil\n")

    found = after(root, act, [".mcp.json"], archive)
    assert names(found)[".mcp.json"] == ("changed", True)
    assert (root / ".mcp.json").read_text() == "{}\n"
