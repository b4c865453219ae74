"""The examples are red, and the offline search turns them green without touching a test. `lending` is in the README."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import thorough
from support.cli import Shell
from support.engines import QUICK, settings_of_user
from support.gitrepos import git

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def demo(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(ROOT / "scripts" / "demo.py"), *args], capture_output=True, text=True,
                          encoding="utf-8", timeout=240)  # fmt: skip


@pytest.mark.timeout(300)
def test_demo_keeps_its_promises(tmp_path, monkeypatch):
    settings_of_user(tmp_path)
    for name, value in {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config"), **QUICK}.items():
        monkeypatch.setenv(name, value)
    done = demo("shipping")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 failed, 10 passed" in done.stdout and "+    base = 0 if total >= FREE_FROM else BASE" in done.stdout
    assert "12 passed" in done.stdout and "All of it held" in done.stdout


def test_demo_of_an_unknown_example_is_a_usage_error():
    assert demo("nowhere").returncode == 2


@thorough  # two more whole searches
@pytest.mark.timeout(600)
def test_two_bugs_are_fixed_one_selection_after_the_other(tmp_path):
    repo = tmp_path / "parking"
    shutil.copytree(EXAMPLES / "parking", repo, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    git(repo, "init", "-q")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "start")
    shell = Shell(tmp_path, repo)
    for selection, count in (("tests/test_tariff.py", 3), ("tests/test_garage.py", 2)):
        outcome = shell.run("fix", "--tests", selection, "--json").document["outcome"]
        assert (outcome["reason"], len(outcome["fixed_tests"])) == ("fixed", count)
    assert not git(repo, "diff", "--name-only", "--", "tests")
    assert shell.run("test", "--json").document["status"] == "passed"


def test_every_example_is_in_the_list():
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    names = [p.name for p in EXAMPLES.iterdir() if p.is_dir()]
    assert len(names) == 5 and all(f"`{name}`" in listed for name in names)
