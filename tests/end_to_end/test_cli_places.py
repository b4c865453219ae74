"""Where a person stands and what is typed there: subfolders, tests named as the repository, repositories in others."""

import pytest
from support.cli import Shell
from support.gitrepos import make_repo

from regreen.cli.typed import from_root

FILES = {
    "a.py": "x = 1\n",
    "src/cart.py": "def add():\n    return 1\n",
    "src/a.py": "x = 2\n",
    "tests/test_a.py": "def test_a():\n    assert True\n",
    "tests/test_b.py": "def test_b():\n    assert False\n",
}


@pytest.fixture
def repo(tmp_path):
    return make_repo(tmp_path / "repo", FILES)


@pytest.mark.parametrize(
    "where, typed, meant",
    [
        ("src", "cart.py", "src/cart.py"),
        ("src", "a.py", "src/a.py"),  # the one seen from here, though the root has one too
        ("src", "src/cart.py", "src/cart.py"),
        ("src", "../a.py", "a.py"),
        ("src", ".", "src"),
        ("src", "..", "."),
        ("src", "c*.py", "src/c*.py"),
        ("src", "tests/*.py", "tests/*.py"),
        ("src", "../../outside", "../../outside"),
        ("src", "nowhere.py", "nowhere.py"),
        ("tests", "test_a.py::test_a[../x]", "tests/test_a.py::test_a[../x]"),
        ("", "./a.py", "./a.py"),
    ],
)
def test_what_is_there_is_meant_as_seen_from_the_working_folder(repo, where, typed, meant):
    assert from_root(typed, repo / where if where else repo, repo) == meant


def test_absolute_path_inside_is_made_relative(repo, tmp_path):
    assert from_root(f"{repo}/src/a.py", tmp_path, repo) == "src/a.py"
    assert from_root(f"{tmp_path}/x", tmp_path, repo) == f"{tmp_path}/x"


def test_commands_in_a_subfolder_take_paths_as_seen_from_there(repo, tmp_path):
    src, tests = Shell(tmp_path, repo / "src"), Shell(tmp_path, repo / "tests")
    assert src.typed("read", "a.py").out == "x = 2\n"
    assert src.typed("signatures", "cart.py").out.startswith("src/cart.py\n")
    assert "cart.py" in tests.typed("skeleton", "../src").out
    assert "cart.py" not in tests.typed("skeleton", ".").out
    done = tests.typed("test", "test_a.py")
    assert done.code == 0 and "passed: 1 passed" in done.out
    assert done.err == f"repository: {repo}\n"


def test_repository_is_not_told_where_it_is_the_working_folder(repo, tmp_path):
    assert Shell(tmp_path, repo).typed("test", "tests/test_a.py").err == ""


def test_fix_in_a_subfolder_takes_tests_as_seen_from_there(repo, tmp_path):
    done = Shell(tmp_path, repo / "tests").typed("fix", "--tests", "test_a.py")
    assert done.code == 0 and "nothing to do" in done.out
    assert f"repository: {repo}\n" in done.err


@pytest.mark.parametrize("typed", ["tests/test_a.py", "tests/test_a.py::test_a", "tests", "nowhere.py::test_x"])
def test_tests_typed_as_the_repository_are_answered_with_the_option(repo, tmp_path, typed):
    done = Shell(tmp_path, repo).typed("fix", typed, "--json")
    assert done.code == 2
    assert f"did you mean `--tests {typed}`?" in done.document["error"]["hint"]


@pytest.fixture
def plain(tmp_path):
    """A project without git, and a home folder beside it."""
    for name, content in {"pyproject.toml": "[project]\nname = 'x'\n", **FILES}.items():
        file = tmp_path / "plain" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return tmp_path / "plain"


def test_in_a_folder_of_a_project_without_git_the_project_is_named(plain, tmp_path):
    shell = Shell(tmp_path, plain / "src")
    named = f"{plain} looks like the project (pyproject.toml is there): go there, or name that folder (`--repo`)"
    done = shell.typed("test")
    assert done.code == 3 and done.out.startswith(named)
    assert "sandbox" not in done.out and "network" not in done.out
    done = shell.typed("fix")
    assert done.code == 3 and done.out.startswith(f"nothing could be run: {named}\n")
    assert shell.typed("test", "--repo", str(plain), "tests/test_a.py").code == 0


def test_tests_that_are_not_there_are_the_first_thing_that_a_fix_says(repo, tmp_path):
    done = Shell(tmp_path, repo).typed("fix", "--tests", "tests/nope.py")
    assert done.code == 3
    assert done.out.startswith("nothing could be run: matches no test: tests/nope.py (no such file or folder)\n")
