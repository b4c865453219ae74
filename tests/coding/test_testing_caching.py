"""What tests leave in lasting caches is never run in another project."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import pytest
from support.suites import project, run_tests, settings_with

from regreen.model import SuiteStatus
from regreen.testing.caching import project_cache

POISON = """
import csv, importlib._bootstrap_external as be, os, sys
def test_a():
    name = "csv." + sys.implementation.cache_tag + ".pyc"
    target = os.path.join(os.environ["PYTHONPYCACHEPREFIX"], os.path.dirname(csv.__file__).lstrip("/"), name)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    st = os.stat(csv.__file__)
    code = compile(open(csv.__file__).read() + "\\nopen('poisoned', 'w').close()\\n", csv.__file__, "exec")
    with open(os.path.realpath(target), "wb") as file:
        file.write(be._code_to_timestamp_pyc(code, int(st.st_mtime), st.st_size))
"""
VICTIM = """
import subprocess, sys
def test_b():
    assert subprocess.run([sys.executable, "-c", "import csv"]).returncode == 0
"""


@pytest.mark.skipif(sys.platform == "win32", reason="paths as on POSIX")
def test_bytecode_that_one_project_leaves_is_not_run_in_another(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first, second = project(tmp_path / "one", {"test_a.py": POISON}), project(tmp_path / "two", {"test_b.py": VICTIM})
    settings = replace(settings_with(tmp_path), sandbox_level="none")
    for root in (first, second):
        assert run_tests(root, settings).status is SuiteStatus.PASSED
    assert not (second / "poisoned").exists()
    assert len(list((settings.cache_dir / "bytecode").iterdir())) == 2


def test_cache_is_one_for_each_project_however_it_is_named_and_old_ones_go(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    one = project_cache(tmp_path / "cache", "go-build", tmp_path / "a")
    assert one == project_cache(tmp_path / "cache", "go-build", tmp_path / "b" / ".." / "a")
    two = project_cache(tmp_path / "cache", "go-build", tmp_path / "b")
    assert one != two
    assert one.parent == two.parent == tmp_path / "cache" / "go-build"
    for n in range(20):
        (one.parent / f"old{n}").mkdir()
        os.utime(one.parent / f"old{n}", (n + 1, n + 1))
    (tmp_path / "c").mkdir()
    new = project_cache(tmp_path / "cache", "go-build", tmp_path / "c")
    left = set(one.parent.iterdir())
    assert {one, two, new} < left
    assert len(left) == 17
