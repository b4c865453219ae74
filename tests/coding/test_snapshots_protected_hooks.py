"""Guards of what git and its helpers start from the work tree, and of repositories whose `.git` changes places."""

from __future__ import annotations

import shutil

import pytest
from support.gitrepos import git, make_repo, write
from support.guarding import after, guarded_repo, names

from regreen.snapshots.hooks import hook_folders


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "archive"


@pytest.fixture
def repo(tmp_path):
    return guarded_repo(tmp_path / "repo")


@pytest.mark.parametrize(
    "path",
    [".husky/pre-commit", ".husky/_/pre-commit", ".pre-commit-config.yaml", "mise.toml", "lefthook.yml", ".envrc"],
)
def test_what_tools_take_hooks_from_is_watched(repo, archive, path):
    write(repo / path, "usual\n")
    assert names(after(repo, lambda: write(repo / path, "evil\n"), [], archive)) == {path: ("changed", False)}
    assert names(after(repo, lambda: write(repo / path, "worse\n"), [path], archive)) == {path: ("changed", True)}
    assert (repo / path).read_text() == "evil\n"


@pytest.mark.parametrize("absolute", [False, True])
def test_folder_that_git_takes_hooks_from_is_watched_wherever_it_lies(repo, archive, absolute):
    write(repo / "tools/dev/hooks/pre-push", "usual\n")
    git(repo, "config", "core.hooksPath", f"{repo if absolute else '.'}/tools/dev/hooks")

    def act():
        write(repo / "tools/dev/hooks/pre-push", "evil\n")
        write(repo / "tools/dev/hooks/pre-commit", "evil\n")
        write(repo / "tools/dev/other", "x\n")

    found = after(repo, act, ["tools/dev/hooks/pre-commit"], archive)
    assert names(found) == {
        "tools/dev/hooks/pre-push": ("changed", False),
        "tools/dev/hooks/pre-commit": ("created", True),
    }
    assert not (repo / "tools/dev/hooks/pre-commit").exists()


def test_folder_of_hooks_that_did_not_exist_is_noticed_when_it_comes(repo, archive):
    git(repo, "config", "core.hooksPath", "generated/hooks")
    found = after(repo, lambda: write(repo / "generated/hooks/pre-commit", "evil\n"), [], archive)
    assert names(found) == {"generated/hooks": ("created", False)}


def test_hooks_above_a_root_and_those_of_a_submodule_are_watched(repo, archive, tmp_path):
    git(repo, "config", "core.hooksPath", "hooks")
    make_repo(tmp_path / "lib", {"l.py": "l = 1\n"})
    git(repo, "submodule", "--quiet", "add", str(tmp_path / "lib"), "a/b/c/d/lib")
    git(repo / "a/b/c/d/lib", "config", "core.hooksPath", "own")
    write(repo / "hooks/pre-commit", "usual\n")
    found = after(repo, lambda: write(repo / "hooks/pre-commit", "evil\n"), [], archive, inner="sub")
    assert names(found) == {f"{repo.resolve().as_posix()}/hooks/pre-commit": ("changed", False)}
    found = after(repo, lambda: write(repo / "a/b/c/d/lib/own/pre-commit", "evil\n"), [], archive)
    assert names(found) == {"a/b/c/d/lib/own": ("created", False)}


def test_values_of_the_configuration_are_read_as_git_reads_them(tmp_path):
    write(
        tmp_path / ".git/config", '[user]\nhooksPath = no\n[CORE] HooksPath = "a b/c" ; why\n[include]\npath=../more\n'
    )
    write(tmp_path / "more", '[core "x"]\n\thookspath = d\\\n/e # why\n[include]\n\tpath = .git/config\n')
    write(tmp_path / ".git/config.worktree", "[core]\nhooksPath = ~/hooks\nhooksPath\nhooksPath = \0\n")
    found = hook_folders(tmp_path, [tmp_path / ".git", tmp_path / "none"])
    assert {p.relative_to(tmp_path).as_posix() for p in found if p.is_relative_to(tmp_path)} == {"a b/c", "d/e"}


def test_repository_of_a_submodule_that_was_swapped_is_told_with_a_warning(repo, archive, tmp_path):
    make_repo(tmp_path / "lib", {"l.py": "l = 1\n"})
    git(repo, "submodule", "--quiet", "add", str(tmp_path / "lib"), "deep/a/b/c/lib")

    def act():
        (repo / "deep").rename(repo / "old")
        (repo / "deep/a/b/c").mkdir(parents=True)
        shutil.copytree(repo / ".git/modules/deep/a/b/c/lib", repo / "deep/a/b/c/lib/.git")

    [told] = [t for t in after(repo, act, [], archive) if t.path == "deep/a/b/c/lib/.git"]
    assert (told.what, told.restored) == ("changed", False)
    assert told.why.endswith("check `.git` of deep/a/b/c/lib before you use git there")


def test_repository_that_is_another_folder_is_no_longer_the_same(repo, archive):
    def act():
        (repo / ".git").rename(repo / "git")
        shutil.copytree(repo / "git", repo / ".git", copy_function=shutil.copy2)
        shutil.rmtree(repo / "git")

    for inner in ("", "sub"):
        told = {t.path: t for t in after(repo, act, [], archive, inner=inner)}
        path = f"{repo.resolve().as_posix()}/.git" if inner else ".git"
        assert told[path].what == "changed"
        assert "before you use git there" in told[path].why
