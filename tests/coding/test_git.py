"""What the git layer answers, in every kind of repository that people have."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.gitrepos import ENVIRON, differences, git, make_repo, whole_state, write

from regreen.git import Git, GitFault, find_top


def opened(root: Path) -> Git:
    found = Git.open(root, ENVIRON)
    assert found is not None
    return found


def test_lists_head_and_diff_of_an_ordinary_repository(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "one\n", "sub/b.py": "b\n", ".gitignore": "*.log\n"})
    write(root / "a.py", "two\n")
    write(root / "new.py", "n\n")
    write(root / "x.log", "log\n")
    repo = opened(root)
    assert repo.top == root
    assert repo.tracked() == [".gitignore", "a.py", "sub/b.py"]
    assert repo.untracked() == ["new.py"]
    assert repo.ignored(["x.log", "a.py", "sub/y.log", "new.py"]) == {"x.log", "sub/y.log"}
    assert repo.head() == git(root, "rev-parse", "HEAD").strip()
    assert "-one\n+two\n" in repo.diff("HEAD")
    assert repo.diff("HEAD", ["sub/b.py"]) == ""


def test_subfolder_sees_only_itself_with_paths_from_itself(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "r", {"a.py": "one\n", "sub/b.py": "b\n", ".gitignore": "*.log\n"})
    write(top / "sub" / "new.py", "n\n")
    write(top / "sub" / "b.py", "c\n")
    repo = opened(top / "sub")
    assert (repo.top, repo.prefix) == (top, "sub/")
    assert (repo.tracked(), repo.untracked()) == (["b.py"], ["new.py"])
    assert repo.ignored(["z.log", "b.py"]) == {"z.log"}
    assert "a/b.py" in repo.diff("HEAD")


def test_unborn_branch_has_no_head_and_lists_its_files(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r")
    write(root / "a.py", "a\n")
    repo = opened(root)
    assert (repo.head(), repo.tracked(), repo.untracked()) == ("", [], ["a.py"])
    with pytest.raises(GitFault, match="no commit `HEAD`"):
        repo.diff("HEAD")


def test_names_with_newlines_quotes_and_foreign_bytes_survive(tmp_path: Path) -> None:
    names = ["line\nbreak.py", "quo\"te'.py", " lead", "*.py", ":(top)x", os.fsdecode(b"caf\xe9.py"), "-n", "ü.py"]
    root = make_repo(tmp_path / "r", dict.fromkeys(names, "x\n"))
    for name in names:
        write(root / f"u{name}", "x\n")
    repo = opened(root)
    assert repo.tracked() == sorted(names)
    assert repo.untracked() == sorted(f"u{n}" for n in names)
    write(root / ".gitignore", "\n".join(f"/u{n}" for n in (" lead", "-n", "ü.py")))
    assert repo.ignored([f"u{n}" for n in names]) == {"u lead", "u-n", "uü.py"}
    assert repo.diff("HEAD", ["*.py"]) == ""


def test_linked_work_tree_and_its_main_one_are_both_understood(tmp_path: Path) -> None:
    main = make_repo(tmp_path / "r", {"a.py": "a\n"})
    git(main, "worktree", "add", "-q", "-b", "side", str(tmp_path / "w"))
    write(tmp_path / "w" / "b.py", "b\n")
    repo = opened(tmp_path / "w")
    assert repo.git_dir == main / ".git" / "worktrees" / "w"
    assert (repo.tracked(), repo.untracked(), repo.head()) == (["a.py"], ["b.py"], opened(main).head())


def test_submodule_is_listed_apart_and_is_a_repository_of_its_own(tmp_path: Path) -> None:
    inner = make_repo(tmp_path / "inner", {"lib.py": "x\n"})
    outer = make_repo(tmp_path / "outer", {"a.py": "a\n"})
    git(outer, "submodule", "--quiet", "add", str(inner), "vendor/inner")
    repo = opened(outer)
    assert repo.tracked() == [".gitmodules", "a.py"]
    assert repo.submodules() == ["vendor/inner"]
    assert repo.ignored(["vendor/inner/x.log", "a.py"]) == set()
    sub = opened(outer / "vendor" / "inner")
    assert (sub.top, sub.tracked()) == (outer / "vendor" / "inner", ["lib.py"])


def test_untracked_nested_repository_is_not_looked_into(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "a\n"})
    make_repo(root / "nested", {"n.py": "n\n"})
    assert opened(root).untracked() == []


def test_bare_repository_plain_folder_and_git_folder_have_no_work_tree(tmp_path: Path) -> None:
    make_repo(tmp_path / "bare.git", {}, "--bare")
    root = make_repo(tmp_path / "r", {"a.py": "a\n"})
    (tmp_path / "plain" / ".git").mkdir(parents=True)
    (tmp_path / "file").mkdir()
    write(tmp_path / "file" / ".git", b"gitdir: /nowhere\n")
    for folder in ("bare.git", "plain", "file", "r/.git", "r/.git/refs"):
        assert Git.open(tmp_path / folder, ENVIRON) is None, folder
    assert find_top(root / ".git" / "refs") == root


def test_without_git_on_the_path_there_is_no_git(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "a\n"})
    assert Git.open(root, {"PATH": str(tmp_path)}) is None


def test_git_of_the_repository_itself_is_never_the_one_that_runs(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "a\n"})
    canary = tmp_path / "canary"
    write(root / "bin" / "git", f"#!/bin/sh\ntouch {canary}\n").chmod(0o755)
    (tmp_path / "link").symlink_to(root / "bin")
    environ = {**ENVIRON, "PATH": f"{root}/bin:{tmp_path}/link:bin:.:{ENVIRON['PATH']}"}
    repo = Git.open(root / "bin", environ)
    assert repo is not None
    assert repo.head()
    assert not canary.exists()


def test_sha256_repository_works(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "a\n"}, "--object-format=sha256")
    assert len(opened(root).head()) == 64


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_repository_of_another_user_works_since_nothing_of_it_runs(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "a\n"})
    for path in (root, *root.rglob("*")):
        os.chown(path, 12345, 12345)
    assert opened(root).tracked() == ["a.py"]


def test_inherited_git_variables_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "a\n"})
    other = make_repo(tmp_path / "o", {"other.py": "o\n"})
    foreign = {
        "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": str(other / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git/objects"), "GIT_NAMESPACE": "x", "GIT_TRACE": str(tmp_path / "trace"),
        "GIT_CONFIG_PARAMETERS": "'core.fsmonitor'='touch canary'", "GIT_EXTERNAL_DIFF": "false",
    }  # fmt: skip
    for name, value in foreign.items():
        monkeypatch.setenv(name, value)
    repo = Git.open(root, {**ENVIRON, **foreign})
    assert repo is not None
    write(root / "a.py", "b\n")
    assert repo.tracked() == ["a.py"]
    assert "+b" in repo.diff("HEAD")
    assert not (tmp_path / "trace").exists()


def test_reading_works_beside_a_held_lock_and_a_merge_and_writes_nothing(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "a\n"})
    git(root, "checkout", "-q", "-b", "side")
    write(root / "a.py", "side\n")
    git(root, "commit", "-qam", "side")
    git(root, "checkout", "-q", "main")
    write(root / "a.py", "main\n")
    git(root, "commit", "-qam", "main")
    with pytest.raises(AssertionError):
        git(root, "merge", "side")
    os.utime(root / "a.py")
    write(root / ".git" / "index.lock", "")
    before = whole_state(root)
    repo = opened(root)
    assert repo.tracked() == ["a.py"]
    assert repo.untracked() == []
    assert repo.diff("HEAD")
    assert differences(before, whole_state(root)) == []


def test_only_known_subcommands_and_harmless_options_are_accepted(tmp_path: Path) -> None:
    repo = opened(make_repo(tmp_path / "r", {"a.py": "a\n"}))
    unknown = [("status",), ("stash",), ("zz",)]
    options = [("diff", "--output=x"), ("diff", "--no-index", "a", "b"), ("diff", "--ext-diff"),
               ("cat-file", "--filters", "HEAD:a.py"), ("update-index", "--refresh")]  # fmt: skip
    for args in (*unknown, *options):
        with pytest.raises(ValueError, match="git"):
            repo.run(*args)
    assert repo.commit("--output=x") == ""
    with pytest.raises(GitFault):
        repo.diff("--output=x")
    assert not (repo.root / "x").exists()


def test_limits_on_time_and_output_end_git(tmp_path: Path) -> None:
    repo = opened(make_repo(tmp_path / "r", {"a.py": "a\n" * 1000}))
    with pytest.raises(GitFault) as big:
        repo.run("cat-file", "blob", "HEAD:a.py", max_bytes=100)
    with pytest.raises(GitFault) as slow:
        repo.run("cat-file", "blob", "HEAD:a.py", timeout_s=0)
    assert (big.value.kind, slow.value.kind) == ("limit_exceeded", "timeout")


def test_failure_of_git_names_the_folder_and_what_git_said(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "a\n"})
    repo = opened(root)
    shutil.rmtree(root / ".git")
    with pytest.raises(GitFault, match="not a git repository") as fault:
        repo.tracked()
    assert str(root) in fault.value.message
