"""A repository whose configuration wants to run programs gets none of them run; and nothing else starts git."""

from __future__ import annotations

import ast
import contextlib
from pathlib import Path

import pytest
from support.gitrepos import ENVIRON, git, make_repo, write

import regreen
from regreen.git import Git

HOOKS = ("post-index-change", "reference-transaction", "pre-commit", "post-checkout", "fsmonitor-watchman")


@pytest.fixture
def trap(tmp_path: Path) -> tuple[Path, Path]:
    """A repository full of traps, and the folder in which a sprung trap leaves a file."""
    sprung = tmp_path / "sprung"
    sprung.mkdir()
    files = {"a.py": "one\n", "b.txt": "one\n", ".gitattributes": "*.py filter=evil=x diff=evil.y merge=evil\n"}
    root = make_repo(tmp_path / "r", files)
    inner = make_repo(tmp_path / "inner", {"lib.py": "x\n"})
    git(root, "submodule", "--quiet", "add", str(inner), "mod")
    git(root, "commit", "-qm", "mod")

    def touch(name: str) -> str:
        return f"touch {sprung}/{name}; cat"

    for hooks in (root / ".git" / "hooks", root / ".git" / "modules" / "mod" / "hooks"):
        for hook in HOOKS:
            write(hooks / hook, f"#!/bin/sh\ntouch {sprung}/hook-{hook}\n").chmod(0o755)
    included = f"""
[filter "evil=x"]
    clean = {touch("clean")!r}
    smudge = "{touch("smudge")}"
    process = "{touch("process")}"
    required = true
[diff "evil.y"]
    command = "{touch("diff-command")}"
    textconv = "{touch("textconv")}"
[merge "evil"]
    driver = "{touch("merge")}"
"""
    write(tmp_path / "included", included.replace("'", '"'))
    hostile = f"""
[include]
    path = {tmp_path}/included
[core]
    fsmonitor = "{touch("fsmonitor")}"
    pager = "{touch("pager")}"
    editor = "{touch("editor")}"
    sshCommand = "{touch("ssh")}"
    hooksPath = hooks
    worktree = /etc
[diff]
    external = "{touch("external")}"
[alias]
    zz = "!{touch("alias")}"
    diff = "!{touch("alias-diff")}"
[pager]
    diff = "{touch("pager-diff")}"
    log = true
"""
    for config in (root / ".git" / "config", root / ".git" / "modules" / "mod" / "config"):
        config.write_text(config.read_text() + hostile)
    for name in ("a.py", "b.txt", "mod/lib.py"):  # other bytes, so that git has to look into every one of them
        write(root / name, "two\n")
    return root, sprung


def test_no_program_of_a_hostile_repository_runs(trap: tuple[Path, Path], tmp_path: Path) -> None:
    root, sprung = trap
    repo = Git.open(root, ENVIRON)
    assert repo is not None
    assert repo.tracked() == [".gitattributes", ".gitmodules", "a.py", "b.txt"]
    assert repo.untracked() == []
    assert repo.ignored(["a.py", "x"]) == set()
    assert "+two" in repo.diff("HEAD")
    index = tmp_path / "index"
    index.write_bytes((root / ".git" / "index").read_bytes())
    for args in (("diff-files", "-z"), ("diff-files", "-p"), ("diff-index", "HEAD"), ("ls-files", "-m", "-d", "-v"),
                 ("diff-tree", "-p", "--root", "HEAD"), ("cat-file", "blob", "HEAD:a.py"), ("write-tree",),
                 ("for-each-ref",), ("check-attr", "-a", "a.py")):  # fmt: skip
        repo.run(*args, index=index)
    repo.run("update-index", "--index-info", index=index, stdin=b"0 " + b"0" * 40 + b"\ta.py\n")
    tree = repo.run("write-tree", index=index).decode().strip()
    commit = repo.run("commit-tree", tree, stdin=b"m\n").decode().strip()
    repo.run("update-ref", "refs/regreen/x", commit)
    repo.run("update-ref", "-d", "refs/regreen/x", commit)
    assert [p.name for p in sprung.iterdir()] == []


def test_the_traps_are_real(trap: tuple[Path, Path]) -> None:
    root, sprung = trap
    with contextlib.suppress(AssertionError):  # the traps do not behave like the programs that they stand for
        git(root, f"--work-tree={root}", "diff")
    assert {p.name for p in sprung.iterdir()} >= {"fsmonitor", "process"}


def test_filter_that_appears_later_does_not_run_either(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "one\n", ".gitattributes": "*.py filter=late\n"})
    repo = Git.open(root, ENVIRON)
    assert repo is not None
    assert repo.diff("HEAD") == ""
    git(root, "config", "filter.late.clean", f"touch {tmp_path}/sprung; cat")
    write(root / "a.py", "two\n")
    assert "+two" in repo.diff("HEAD")
    assert not (tmp_path / "sprung").exists()


def test_nothing_else_in_the_engine_starts_git() -> None:
    engine = Path(regreen.__file__).parent
    top = engine.parents[1]
    sources = [p for part in ("coding", "server", "editor_bridge") for p in (top / part).rglob("*.py")]
    found: list[str] = []
    talk_of_it = {engine / "git.py", engine / "commands" / "git.py"}  # the latter says which words are allowed
    for source in (s for s in sources if s not in talk_of_it):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [a.name for a in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.List | ast.Tuple) and node.elts:
                first = node.elts[0]
                if isinstance(first, ast.Constant) and first.value in ("git", "/usr/bin/git"):
                    names = ["git"]
            if any(n.split(".")[0] in ("git", "gitdb", "pygit2", "dulwich") for n in names):
                found.append(f"{source.relative_to(top)}:{getattr(node, 'lineno', 0)}")
    assert found == []
