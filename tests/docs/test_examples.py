"""Each example is red for the reason it is said to be, and is turned green by the offline search."""

import shutil
from pathlib import Path

import pytest
from support.cli import Shell
from support.gitrepos import git

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(p.name for p in EXAMPLES.iterdir() if p.is_dir())
FAILING = {"lending": 2, "parking": 5, "shipping": 2}


@pytest.mark.parametrize("name", NAMES)
def test_example_is_fixed_offline_without_touching_a_test(name, tmp_path):
    repo = tmp_path / name
    shutil.copytree(EXAMPLES / name, repo, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    git(repo, "init", "-q")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "start")
    shell = Shell(tmp_path, repo)
    outcome = shell.run("fix", "--proposer", "search", "--json").document["outcome"]
    assert outcome["reason"] == "fixed"
    assert len(outcome["fixed_tests"]) == FAILING[name]
    assert not git(repo, "diff", "--name-only", "--", "tests")
    assert shell.run("test", "--json").document["counts"]["failed"] == 0


def test_every_example_is_in_the_list():
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    assert NAMES and all(f"`{name}`" in listed for name in NAMES)
