"""Attacks by git: a repository that runs programs at every turn gets none run by any tool, nor by a whole fix run.

The cases of the corpus name tools that are ours under other names: `git_status`, `git_diff` and `git_show` are
show_changes, `run_command` is run_tests with argv, `start_task` a fix run, `rollback` restore.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support.attacks import Case, everything_below, meant, starts_seen
from support.engines import engine_on, ok, refused
from support.fixing import FILES, FIX, RIGHT, WRONG, differences, fingerprint, fixable, fixer, run
from support.gitrepos import ENVIRON, git, write
from support.traps import SPRINGING, Trapped, spring, trapped

from regreen.commands import check_git
from regreen.errors import Refused
from regreen.git import Git, GitFault

CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "attacks.json"
ALL: list[Case] = json.loads(CORPUS.read_text("utf-8"))["cases"]
CASES: dict[str, Case] = {c["id"]: c for c in ALL if c["surface"] == "git"}
COMMANDS = sorted(i for i, c in CASES.items() if c["action"]["tool"] == "run_command")
REVISIONS = {"A-git-012": "--output=../out/m", "A-git-015": "HEAD:../../../etc/hostname"}
FOREIGN = 65534


@pytest.fixture(params=["hk", ".git/hooks"])
def trap(request: pytest.FixtureRequest, tmp_path: Path) -> Trapped:
    """A red repository full of traps, its hooks in the work tree or where git has them."""
    return trapped(tmp_path, dict(FILES), hooks=request.param)


# --- the traps -----------------------------------------------------------------------------------------


def test_every_trap_springs_where_the_users_git_works(trap: Trapped) -> None:
    assert trap.sprung() == set()
    spring(trap)
    assert SPRINGING - trap.sprung() == set()


def test_whole_runs_that_are_restored_or_fixed_spring_no_trap(trap: Trapped, tmp_path: Path) -> None:
    before = fingerprint(trap.root)
    with fixer(trap.root) as engine:
        fixed = not (trap.root / "hk").exists()
        end = run(engine, tmp_path, [WRONG, RIGHT] if fixed else [WRONG])
    assert (end["fixed"], end["restored"]) == (fixed, not fixed)
    assert differences(before, fingerprint(trap.root)) == (["calc.py"] if fixed else [])
    assert trap.sprung() == set()


def test_tools_that_look_write_and_restore_spring_no_trap(trap: Trapped) -> None:
    before = fingerprint(trap.root)
    with fixer(trap.root) as engine:
        shown = ok(engine, "show_changes")
        assert {"a.dat", "a.cl", "a.pr", "a.ext", "a.inc", "a.attr"} <= {f["path"] for f in shown["files"]}
        assert "-one\n+two" in shown["diff"]
        for since in ("side", "HEAD~1", git(trap.root, "rev-parse", "HEAD").strip()):
            assert ok(engine, "show_changes", since=since)["since"] == since
        done = ok(engine, "apply_edits", replacements=RIGHT)
        ok(engine, "repo_skeleton")
        ok(engine, "restore", to=done["transaction"])
    assert differences(before, fingerprint(trap.root)) == []
    assert trap.sprung() == set()


def test_work_tree_that_the_configuration_puts_elsewhere_is_not_gone_to(tmp_path: Path) -> None:
    root = fixable(tmp_path / "r")
    write(tmp_path / "elsewhere" / "secret.txt", "secret\n")
    git(root, "config", "core.worktree", str(tmp_path / "elsewhere"))
    outside, before = everything_below(tmp_path / "elsewhere"), fingerprint(root)
    with fixer(root) as engine:
        assert ok(engine, "show_changes")["files"] == []
        assert "secret" not in ok(engine, "repo_skeleton")["tree"]
        assert run(engine, tmp_path, [])["restored"] is True
    assert differences(before, fingerprint(root)) == []
    assert everything_below(tmp_path / "elsewhere") == outside


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a repository away")
def test_somebody_elses_repository_is_worked_on_without_a_word_to_its_programs(tmp_path: Path) -> None:
    trap = trapped(tmp_path, dict(FILES), hooks="hk")
    for path in (trap.root, *trap.root.rglob("*")):
        os.chown(path, FOREIGN, FOREIGN, follow_symlinks=False)
    before = fingerprint(trap.root)
    with fixer(trap.root) as engine:
        assert len(ok(engine, "show_changes")["files"]) > 5
        assert run(engine, tmp_path, [])["restored"] is True
    assert differences(before, fingerprint(trap.root)) == []
    assert trap.sprung() == set()


# --- the corpus ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_command_is_refused_before_anything_starts(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    argv = case["action"]["args"]["argv"]
    root = fixable(tmp_path / "r")
    before = fingerprint(root)
    with engine_on(root) as engine:
        engine.session()
        with starts_seen() as started:
            error = refused(engine, "run_tests", argv=argv)
    assert error["kind"] in meant(case)
    assert started == []
    assert differences(before, fingerprint(root)) == []
    with pytest.raises(Refused) as caught:  # nor among the words of git that only read
        check_git(argv, root)
    assert caught.value.kind in meant(case)


@pytest.mark.parametrize("name", sorted(REVISIONS))
def test_revision_that_is_none_is_refused_and_writes_nothing(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    assert case["action"]["args"]["rev"] == REVISIONS[name]
    root = fixable(tmp_path / "ws")
    (tmp_path / "out").mkdir()
    with engine_on(root) as engine:
        error = refused(engine, "show_changes", since=REVISIONS[name])
    assert error["kind"] == "not_found"  # whatever it is, it names nothing that there is
    assert Path("/etc/hostname").read_text().strip() not in error["message"].replace(REVISIONS[name], "")
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(Refused) as caught:
        check_git(["git", "show" if name == "A-git-015" else "diff", REVISIONS[name]], root)
    assert caught.value.kind in meant(case)


def _paths_after_options(tmp_path: Path) -> None:
    """A-git-014: `--no-index` and a file of the machine among the paths of a diff."""
    args = CASES["A-git-014"]["action"]["args"]
    root = fixable(tmp_path / "r")
    with pytest.raises(Refused) as caught:
        check_git(["git", "diff", args["rev"], "--", *args["paths"]], root)
    assert caught.value.kind in {"path_outside_workspace", "argument_value_invalid"}
    repo = Git.open(root, ENVIRON)
    assert repo is not None
    try:
        shown = repo.diff(args["rev"], args["paths"])
    except GitFault as fault:
        shown = fault.message
    assert Path("/etc/hostname").read_text().strip() not in shown.replace("/etc/hostname", "")


def _rollback_keeps_untracked_and_staged(tmp_path: Path) -> None:
    """A-git-027."""
    root = fixable(tmp_path / "r", {"b.py": "b = 1\n"})
    write(root / "notes.txt", "mine\n")
    write(root / "b.py", "b = 2\n")
    git(root, "add", "b.py")
    before = fingerprint(root)
    with fixer(root) as engine:
        done = ok(engine, "apply_edits", replacements=RIGHT)
        assert ok(engine, "restore", to=done["transaction"])["restored"] == ["calc.py"]
    assert differences(before, fingerprint(root)) == []


def _linked_work_tree(tmp_path: Path) -> None:
    """B-git-001."""
    main = fixable(tmp_path / "main")
    git(main, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    write(tmp_path / "linked" / "calc.py", FIX)
    before = fingerprint(tmp_path)
    with engine_on(tmp_path / "linked") as engine:
        assert [f["path"] for f in ok(engine, "show_changes")["files"]] == ["calc.py"]
    assert differences(before, fingerprint(tmp_path)) == []


def _filters_of_the_user(tmp_path: Path) -> None:
    """B-git-002: the filter is in the user's own settings, and does not run; what is shown are the files' own bytes."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 3\n"
    root = fixable(tmp_path / "r", {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.bin": pointer})
    home = tmp_path / "home"
    settings = f'[filter "lfs"]\n\tclean = touch {tmp_path}/m\n\tprocess = touch {tmp_path}/m\n\trequired = true\n'
    write(home / ".gitconfig", settings)
    with engine_on(root, environ={**os.environ, "HOME": str(home)}) as engine:
        assert ok(engine, "show_changes")["files"] == []
        write(root / "a.bin", "abc")  # what git-lfs puts there
        shown = ok(engine, "show_changes")
    assert [f["path"] for f in shown["files"]] == ["a.bin"]
    assert not (tmp_path / "m").exists()


ENDS: Mapping[str, Callable[[Path], None]] = {
    "A-git-014": _paths_after_options,
    "A-git-027": _rollback_keeps_untracked_and_staged,
    "B-git-001": _linked_work_tree,
    "B-git-002": _filters_of_the_user,
}
TRAPPED = {
    "A-git-001": "fsmonitor", "A-git-003": "textconv", "A-git-004": "clean", "A-git-007": "hooks",
    "A-git-028": "submodule",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ENDS))
def test_case_ends_as_it_must(name: str, tmp_path: Path) -> None:
    ENDS[name](tmp_path)


def test_corpus_is_complete() -> None:
    assert {*COMMANDS, *REVISIONS, *ENDS, *TRAPPED} == set(CASES)
    assert set(TRAPPED.values()) <= SPRINGING
