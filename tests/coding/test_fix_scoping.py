"""What a run may edit where nobody named paths: real repositories of every shape."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.engines import engine_on
from support.gitrepos import git as raw_git
from support.repos import CALC, CALC_TESTS, git, make_repo

from regreen.session.scoping import ProjectScope, default_paths
from regreen.settings import CustomTests

PYPROJECT = '[project]\nname = "{}"\nversion = "1"\n[tool.pytest.ini_options]\n'
ONE = {"calc.py": CALC, "test_calc.py": CALC_TESTS}


@contextmanager
def scoped(root: Path, *selection: str, **chosen: object) -> Iterator[ProjectScope]:
    with engine_on(root, **chosen) as engine:
        yield default_paths(engine.session(), selection)


def fresh(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def monorepo(tmp_path: Path) -> Path:
    return make_repo(fresh(tmp_path / "r"), {
        "a/pyproject.toml": PYPROJECT.format("a"), "a/src/a.py": "x = 1\n", "a/tests/test_a.py": "def test_a(): pass\n",
        "ab/pyproject.toml": PYPROJECT.format("ab"), "ab/ab.py": "x = 1\n", "ab/test_ab.py": "def test_a(): pass\n",
        "b/package.json": '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "29"}}',
        "b/src/b.js": "1\n", "b/src/b.test.js": "test('b', () => {})\n", "shared.py": "y = 1\n",
    })  # fmt: skip


def test_a_run_may_edit_the_whole_of_a_plain_repository(tmp_path: Path) -> None:
    root = make_repo(fresh(tmp_path / "r"), {**ONE, "sub/deep/x.txt": "x\n"})
    for selection in ((), ("test_calc.py",), ("test_calc.py::test_mean",)):
        with scoped(root, *selection) as scope:
            assert scope.folder == ""
            assert scope.allows("calc.py")
            assert scope.allows("sub/deep/x.txt")
            assert scope.allows("sub/new/made.py")


@pytest.mark.parametrize("selection", ["a/tests/test_a.py", "a", "a/tests/test_a.py::test_a", "./a/tests"])
def test_in_a_monorepo_it_is_the_project_of_the_selection(monorepo: Path, selection: str) -> None:
    with scoped(monorepo, selection) as scope:
        assert scope.folder == "a"
        assert scope.allows("a/src/a.py")
        assert scope.allows("a/src/new.py")
        for other in ("ab/ab.py", "b/src/b.js", "shared.py", "new.py", "b/new.js"):
            assert not scope.allows(other), other
        assert "`a`" in scope.why_not("ab/ab.py")
        assert "`ab/ab.py`" in scope.why_not("ab/ab.py")


def test_each_language_finds_its_own_project(monorepo: Path) -> None:
    with scoped(monorepo, "b/src/b.test.js") as scope:
        assert scope.folder == "b"
        assert scope.allows("b/src/b.js")
        assert not scope.allows("a/src/a.py")


def test_where_the_selection_names_no_single_project_it_is_the_whole(monorepo: Path) -> None:
    for selection in ((), ("a", "b")):
        with scoped(monorepo, *selection) as scope:
            assert scope.folder == ""
            assert scope.allows("a/src/a.py")
            assert scope.allows("shared.py")


def test_the_only_project_below_the_root_is_the_one(tmp_path: Path) -> None:
    root = make_repo(fresh(tmp_path / "r"), {
        "lib/pyproject.toml": PYPROJECT.format("lib"), "lib/m.py": "x = 1\n",
        "lib/tests/test_m.py": "def test_m(): pass\n", "docs.md": "x\n",
    })  # fmt: skip
    with scoped(root) as scope:
        assert scope.folder == "lib"
        assert scope.allows("lib/m.py")
        assert not scope.allows("docs.md")


def test_a_command_of_the_users_is_run_in_the_root(monorepo: Path) -> None:
    with scoped(monorepo, custom_tests={str(monorepo): CustomTests(("make", "test"))}) as scope:
        assert scope.folder == ""


def test_what_git_ignores_is_left_alone_and_the_rest_is_not(tmp_path: Path) -> None:
    root = make_repo(fresh(tmp_path / "r"), {**ONE, ".gitignore": "*.log\nbuild/\n/local.py\n!keep.log\n"})
    (root / "build" / "out").mkdir(parents=True)
    (root / "build" / "out" / "gen.py").write_text("x = 1\n")
    (root / "local.py").write_text("x = 1\n")
    (root / "just_written.py").write_text("x = 1\n")
    (root / "tracked.log").write_text("x\n")
    git(root, "add", "-f", "tracked.log")
    with scoped(root) as scope:
        for path in ("just_written.py", "tracked.log", "keep.log", "new.py", "pkg/new.py"):
            assert scope.allows(path), scope.why_not(path)
        for path in ("local.py", "build/out/gen.py", "build/new.py", "new.log", "pkg/new.log"):
            assert not scope.allows(path), path
            assert "ignored" in scope.why_not(path)


def test_what_was_ignored_at_the_start_stays_so_whatever_becomes_of_the_rules(tmp_path: Path) -> None:
    root = make_repo(fresh(tmp_path / "r"), {**ONE, ".gitignore": "secret.py\nout/\n"})
    (root / "secret.py").write_text("x = 1\n")
    (root / "out").mkdir()
    (root / "out" / "x.py").write_text("x = 1\n")
    with scoped(root) as scope:
        (root / ".gitignore").write_text("")
        assert not scope.allows("secret.py")
        assert not scope.allows("out/x.py")
        (root / ".gitignore").write_text("calc.py\n*.new\n")
        assert scope.allows("calc.py")
        assert not scope.allows("x.new")


def test_a_file_that_the_run_made_itself_may_be_edited_again(tmp_path: Path) -> None:
    root = make_repo(fresh(tmp_path / "r"), ONE)
    with scoped(root) as scope:
        assert scope.allows("fresh/a.py")
        (root / "fresh").mkdir()
        (root / "fresh" / "a.py").write_text("x = 1\n")
        assert scope.allows("fresh/a.py")
        assert scope.allows("fresh/b.py")


def test_dependencies_are_no_files_of_the_project_though_git_does_not_ignore_them(tmp_path: Path) -> None:
    root = make_repo(fresh(tmp_path / "r"), ONE)
    (root / "node_modules" / "x").mkdir(parents=True)
    (root / "node_modules" / "x" / "index.js").write_text("1\n")
    with scoped(root) as scope:
        assert "node_modules" in scope.why_not("node_modules/x/index.js")
        assert not scope.allows("node_modules/x/new.js")
        assert not scope.allows("node_modules/new.js")


def test_submodules_and_nested_repositories_are_of_their_own(tmp_path: Path) -> None:
    lib = make_repo(fresh(tmp_path / "lib"), {"lib.py": "x = 1\n"})
    root = make_repo(fresh(tmp_path / "r"), ONE)
    raw_git(root, "submodule", "--quiet", "add", str(lib), "vendor/lib")
    git(root, "commit", "-qm", "submodule")
    make_repo(fresh(root / "nested"), {"n.py": "x = 1\n"})
    make_repo(fresh(root / "unborn"), {"n.py": "x = 1\n"}, commit=False)
    with scoped(root) as scope:
        assert scope.allows("calc.py")
        for path, owner in (
            ("vendor/lib/lib.py", "vendor/lib"), ("vendor/lib/new.py", "vendor/lib"), ("nested/n.py", "nested"),
            ("nested/deep/new.py", "nested"), ("unborn/n.py", "unborn"),
        ):  # fmt: skip
            assert f"`{owner}`" in scope.why_not(path), path
        assert scope.allows("vendor/other.py")


def test_a_submodule_that_is_not_checked_out_is_one_all_the_same(tmp_path: Path) -> None:
    lib = make_repo(fresh(tmp_path / "lib"), {"lib.py": "x = 1\n"})
    origin = make_repo(fresh(tmp_path / "o"), ONE)
    raw_git(origin, "submodule", "--quiet", "add", str(lib), "lib")
    git(origin, "commit", "-qm", "submodule")
    raw_git(tmp_path, "clone", "-q", str(origin), "r")
    with scoped(tmp_path / "r") as scope:
        assert not scope.allows("lib/new.py")
        assert scope.allows("calc.py")


def test_a_repository_without_commits_is_open(tmp_path: Path) -> None:
    root = make_repo(fresh(tmp_path / "r"), {**ONE, ".gitignore": "*.log\n"}, commit=False)
    with scoped(root, "test_calc.py") as scope:
        assert scope.allows("calc.py")
        assert scope.allows("new.py")
        assert not scope.allows("x.log")


def test_without_git_it_is_what_is_listed_and_what_is_new(tmp_path: Path) -> None:
    root = fresh(tmp_path / "r")
    for name, text in {**ONE, ".gitignore": "ignored.py\n"}.items():
        (root / name).write_text(text)
    (root / "ignored.py").write_text("x = 1\n")
    (root / ".venv" / "lib").mkdir(parents=True)
    (root / ".venv" / "lib" / "dep.py").write_text("x = 1\n")
    make_repo(fresh(root / "nested"), {"n.py": "x = 1\n"})
    with scoped(root) as scope:
        assert scope.allows("calc.py")
        assert scope.allows("new.py")
        assert scope.allows("pkg/new.py")
        assert not scope.allows(".venv/lib/dep.py")
        assert not scope.allows(".venv/lib/new.py")
        assert "`nested`" in scope.why_not("nested/n.py")
        assert not scope.allows("nested/new.py")


def test_a_root_below_the_work_tree_knows_its_ignored_files(tmp_path: Path) -> None:
    root = make_repo(
        fresh(tmp_path / "r"), {".gitignore": "*.log\n", "sub/calc.py": CALC, "sub/test_calc.py": CALC_TESTS}
    )
    with scoped(root / "sub") as scope:
        assert scope.allows("calc.py")
        assert scope.allows("deep/new.py")
        assert not scope.allows("x.log")


def test_linked_work_trees_are_no_nested_repositories_of_themselves(tmp_path: Path) -> None:
    root = make_repo(fresh(tmp_path / "r"), ONE)
    git(root, "worktree", "add", "-q", str(tmp_path / "w"))
    git(root, "worktree", "add", "-q", str(root / "inner"), "-b", "inner")
    with scoped(tmp_path / "w") as scope:
        assert scope.allows("calc.py")
        assert scope.allows("new.py")
    with scoped(root) as scope:
        assert scope.allows("calc.py")
        assert not scope.allows("inner/calc.py")


def test_looking_runs_no_hooks_and_no_filters(tmp_path: Path) -> None:
    root = make_repo(fresh(tmp_path / "r"), {**ONE, ".gitattributes": "*.py filter=bad\n", ".gitignore": "*.log\n"})
    mark = tmp_path / "ran"
    for name in ("filter.bad.clean", "filter.bad.smudge", "core.fsmonitor"):
        git(root, "config", name, f"touch {mark}; cat")
    (root / "calc.py").write_text(CALC + "\n")
    with scoped(root) as scope:
        assert scope.allows("calc.py")
        assert not scope.allows("a.log")
        assert scope.allows("new.py")
    assert not mark.exists()
