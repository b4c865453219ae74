"""Complete fix runs in every kind of repository: all put back, tree and git to the last byte, or just the fix."""

from __future__ import annotations

import json
import os
import subprocess
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.attacked import folder_for_all, project_of
from support.confined import SOURCES, as_user, python_of
from support.engines import ok, script
from support.fixing import (
    CALC,
    FILES,
    FIXED,
    RIGHT,
    WRONG,
    differences,
    fingerprint,
    fixable,
    fixer,
    replacement,
    run,
    runs_end_as_they_must,
)
from support.gitrepos import git, make_repo, write

pytestmark = pytest.mark.usefixtures("few_looks")

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 3\n"
FILTERED = (
    "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt text eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16LE\n"
)
ODD = (b"new\nline.txt", b"quo\"te'.txt", b"\xff\xfe-bytes.txt", b" blank ", "caf\u00e9.txt".encode(), b":(top)x",
       b"-dash", b"back\\slash")  # fmt: skip


def conflict(root: Path, command: str, *args: str) -> None:
    """A command of git that ends in a conflict."""
    with pytest.raises(AssertionError, match=command):
        git(root, command, *args)


def forked(root: Path) -> Path:
    """Two branches that do not agree about `notes.txt`, and the user's own doings in between."""
    fixable(root, {"notes.txt": "one\n", "b.txt": "one\n"})
    git(root, "checkout", "-qb", "side")
    write(root / "notes.txt", "side\n")
    git(root, "commit", "-qam", "side")
    git(root, "checkout", "-q", "main")
    write(root / "notes.txt", "main\n")
    git(root, "commit", "-qam", "main")
    return root


def merging(root: Path) -> Path:
    conflict(forked(root), "merge", "side")
    write(root / "b.txt", "staged\n")
    git(root, "add", "b.txt")
    write(root / "b.txt", "unstaged\n")
    return root


def rebasing(root: Path) -> Path:
    conflict(forked(root), "rebase", "side")
    return root


def picking_in_a_bisection(root: Path) -> Path:
    forked(root)
    git(root, "bisect", "start", "main", "main~1")
    git(root, "checkout", "-q", "--detach", "main")
    conflict(root, "cherry-pick", "side")
    return root


def unborn_and_locked(root: Path) -> Path:
    make_repo(root)
    for name, text in FILES.items():
        write(root / name, text)
    write(root / "new.txt", "n\n")
    git(root, "add", "calc.py")
    for name in ("index.lock", "HEAD.lock", "refs/heads/main.lock"):  # left behind by somebody who died
        write(root / ".git" / name, "")
    return root


def full_of_the_users_work(root: Path) -> Path:
    """Staged, unstaged, untracked, ignored, stashed; submodule and nested repositories, all dirty."""
    fixable(root, {".gitignore": "*.env\ndata/\n", "staged.txt": "1\n", "gone.txt": "1\n", "stashed.txt": "1\n"})
    write(root / "stashed.txt", "2\n")
    git(root, "stash", "-q")
    inner = make_repo(root.parent / "inner", {"lib.py": "l\n", "other.py": "o\n"})
    git(root, "submodule", "--quiet", "add", str(inner), "mod")
    git(root, "commit", "-qm", "mod")
    make_repo(root / "vendor" / "full", {"lib.py": "l\n"})
    make_repo(root / "empty")
    for folder in ("mod", "vendor/full", "empty"):
        write(root / folder / "lib.py", "dirty\n")
        write(root / folder / "untracked.txt", "mine\n")
        write(root / folder / "k.env", "K=1\n")
    git(root / "mod", "checkout", "-q", "--detach")
    git(root / "vendor" / "full", "add", "lib.py")
    write(root / "staged.txt", "2\n")
    git(root, "add", "staged.txt")
    write(root / "staged.txt", "3\n")
    (root / "gone.txt").unlink()
    write(root / ".env", "K=1\n")
    write(root / "data" / "big.bin", bytes(range(256)) * 16)
    write(root / "tool.sh", "#!/bin/sh\n").chmod(0o755)
    (root / "link").symlink_to("vendor")
    (root / "dangling").symlink_to("/nonexistent/x")
    (root / "hollow").mkdir(mode=0o700)
    return root


def converted_and_oddly_named(root: Path) -> Path:
    """Bytes that git would convert, a filter that is not installed, and names that few programs like."""
    fixable(root, {".gitattributes": FILTERED, **{f"big/{n}.bin": LFS for n in range(20)}})
    write(root / "w.txt", b"a\r\nb\r\n")
    write(root / "mixed.md", b"a\r\nb\n")
    write(root / "y.id", b"$Id$\n")
    write(root / "z.u16", "\u00e9\r\n".encode("utf-16-le"))
    write(root / "Case.md", "upper\n")
    write(root / "case.md", "lower\n")
    for name in ODD:
        (root / os.fsdecode(name)).write_bytes(b"odd\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "odd")
    for name, value in {
        "filter.lfs.clean": f"touch {root.parent}/ran; cat", "filter.lfs.smudge": f"touch {root.parent}/ran; cat",
        "filter.lfs.process": f"touch {root.parent}/ran; exit 1", "filter.lfs.required": "true",
        "core.ignoreCase": "true", "core.autocrlf": "true",
    }.items():  # fmt: skip
        git(root, "config", name, value)
    write(root / "big" / "1.bin", "what git-lfs puts there\n")
    for name in ODD[:3]:
        (root / os.fsdecode(name)).write_bytes(b"changed\n")
    (root / os.fsdecode(b"untracked-\xff\n")).write_bytes(b"new\n")
    return root


def sparse(root: Path, *how: str) -> Path:
    fixable(root, {"in/a.txt": "a\n", "out/b.txt": "b\n", "out/deep/c.txt": "c\n"})
    git(root, "sparse-checkout", "set", *how)
    assert not (root / "out").exists()
    write(root / "in" / "a.txt", "dirty\n")
    write(root / "out" / "b.txt", "made by the user where git wants nothing\n")
    return root


def sparse_in_cones(root: Path) -> Path:
    return sparse(root, "--cone", "--sparse-index", "in")


def sparse_by_patterns(root: Path) -> Path:
    return sparse(root, "--no-cone", "/*.py", "/in/")


def shallow_with_alternates_below_the_top(root: Path) -> Path:
    files: dict[str, str | bytes] = {f"project/{n}": t for n, t in FILES.items()}
    first = make_repo(root.parent / "origin", {**files, "calc.py": "other\n"})
    write(first / "more.txt", "m\n")
    git(first, "add", "-A")
    git(first, "commit", "-qm", "more")
    git(root.parent, "clone", "-q", "--depth", "1", f"file://{first}", str(root))
    alternates = write(root / ".git" / "objects" / "info" / "alternates", f"{first}/.git/objects\n")
    assert alternates.is_file() and (root / ".git" / "shallow").is_file()
    write(root / "more.txt", "dirty\n")
    return root / "project"


def without_git(root: Path) -> Path:
    for name, text in FILES.items():
        write(root / name, text)
    return root


def pointing_nowhere(root: Path) -> Path:
    write(root / ".git", "gitdir: /nonexistent/repo\n")
    return without_git(root)


SHAPES: tuple[Callable[[Path], Path], ...] = (
    merging, picking_in_a_bisection, unborn_and_locked, full_of_the_users_work, converted_and_oddly_named,
    sparse_in_cones, shallow_with_alternates_below_the_top, pointing_nowhere,
)  # fmt: skip
ALIKE: tuple[Callable[[Path], Path], ...] = (rebasing, sparse_by_patterns, without_git)  # each to one of those
TOLD: Mapping[Callable[[Path], Path], tuple[str, ...]] = {
    merging: ("a merge",), rebasing: ("a rebase",), picking_in_a_bisection: ("a cherry-pick",),
    full_of_the_users_work: ("`empty`", "without a commit", "`vendor/full`"),
}  # fmt: skip


@pytest.mark.parametrize("make", [
    *(pytest.param(s, id=s.__name__) for s in SHAPES),
    *(pytest.param(s, id=s.__name__, marks=pytest.mark.thorough) for s in ALIKE),
])  # fmt: skip
def test_runs_end_restored_to_the_last_byte_or_fixed_and_nothing_more(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    root = make(tmp_path / "r")
    end = runs_end_as_they_must(root, tmp_path, watched=tmp_path / "r")
    told = " ".join(end["evidence"].get("remarks", ()))
    assert [word for word in TOLD.get(make, ()) if word not in told] == []
    assert not (tmp_path / "ran").exists()  # a filter


# --- ignore files ----------------------------------------------------------------------------------------

IGNORED = {".env": "K=1\n", "data/big.bin": "b\n", "sub/x.env": "x\n"}
EMPTIED = replacement(".gitignore", "*.env\ndata/\n", "")


def with_ignored_files(root: Path) -> Path:
    fixable(root, {".gitignore": "*.env\ndata/\n", "sub/a.txt": "a\n"})
    for name, text in IGNORED.items():
        write(root / name, text)
    return root


def test_fix_that_empties_the_ignore_file_loses_no_ignored_file_at_any_end(tmp_path: Path) -> None:
    root = with_ignored_files(tmp_path / "r")
    before = fingerprint(root)
    with fixer(root) as engine:
        end = run(engine, tmp_path, [[EMPTIED, *WRONG], [EMPTIED]])
        assert (end["restored"], end["conflicts"]) == (True, [])
        assert differences(before, fingerprint(root)) == []
        end = run(engine, tmp_path, [[EMPTIED, *RIGHT]])
        assert (end["reason"], end["kept_files"]) == ("fixed", [".gitignore", "calc.py"])
        assert differences(before, fingerprint(root)) == [".gitignore", "calc.py"]
        ok(engine, "restore", to=engine.session().last_change())
    assert differences(before, fingerprint(root)) == []


def test_tests_that_rewrite_ignore_file_and_ignored_files_are_undone_at_both_ends(tmp_path: Path) -> None:
    root = with_ignored_files(tmp_path / "r")
    writes = ".gitignore", "data/.gitignore", ".env", "data/new.bin", "sub/x.env"
    lines = "".join(f"    (HERE / {name!r}).write_text('tests')\n" for name in writes)
    head = "from pathlib import Path\n\nHERE = Path(__file__).parent\n\n\n"
    write(root / "test_writes.py", f"{head}def test_writes():\n{lines}    (HERE / 'data' / 'big.bin').unlink()\n")
    runs_end_as_they_must(root, tmp_path)


# --- places that cannot be written -------------------------------------------------------------------------


def test_repository_that_we_may_not_write_is_worked_on_without_git() -> None:
    user = "ordinary" if os.getuid() == 0 else "same"
    with folder_for_all() as folder:
        root = project_of(folder, user, {**FILES, ".gitignore": ".venv/\n"})
        git(root, "init", "-q")
        git(root, "add", "-A")
        git(root, "commit", "-qm", "start")
        write(root / "calc.py", CALC + "# dirty\n")
        if user == "same":
            for path in (root / ".git", *(root / ".git").rglob("*")):
                path.chmod(path.stat().st_mode & ~0o222)
        before = fingerprint(root)
        code, end = typed_fix(root, user, script(folder, [WRONG, RIGHT]))
        assert (code, end["conflicts"]) == (0, [])
        assert differences(before, fingerprint(root)) == ["calc.py"]
        assert (root / "calc.py").read_text() == FIXED + "# dirty\n"
        for path in (root / ".git").rglob("*"):
            path.chmod(path.stat().st_mode | 0o200)


def typed_fix(root: Path, user: str, proposals: Path) -> tuple[int, dict[str, Any]]:
    """`regreen fix`, typed by a user who owns the files but not the repository."""
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(root.parent / "home"), "REGREEN_STATE_DIR": str(root.parent / "state"),
        "PYTHONPATH": os.pathsep.join((SOURCES, sysconfig.get_paths()["purelib"])),
        "REGREEN_CACHE_DIR": str(root.parent / "cache"),
    }  # fmt: skip
    argv = [python_of(user), "-m", "regreen", "fix", "--repo", str(root), "--script", str(proposals), "--json"]
    who = as_user(user)
    with subprocess.Popen(argv, env=environ, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, **who) as process:
        out, err = process.communicate(timeout=120)
    assert out, err
    return process.returncode, json.loads(out)["outcome"]
