"""What tests cost: the CPU time of every process of a run, children, crashed and spread ones included."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support.suites import project, run_tests, settings_with
from support.warming import warm

from regreen.model import SuiteReport, SuiteStatus
from regreen.settings import CustomTests

if os.name != "posix":
    pytest.skip("the CPU time of processes is known on POSIX only", allow_module_level=True)

BURNT_S = 0.3
BURN = f"""\
import time


def burn(seconds={BURNT_S}):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))
"""
IN_A_CHILD = """\
import subprocess
import sys

CODE = "from burning import burn; burn()"


def test_child():
    subprocess.run([sys.executable, "-c", CODE], check=True, env={"PYTHONPATH": "."})
"""


def cost(base: Path, tests: str, **options: object) -> SuiteReport:
    return run_tests(project(base, {"burning.py": BURN, "test_it.py": tests}), **options)


def test_what_tests_and_their_children_burn_is_counted(tmp_path: Path) -> None:
    report = cost(tmp_path, f"{IN_A_CHILD}\n\ndef test_itself():\n    from burning import burn\n\n    burn()\n")
    assert report.status is SuiteStatus.PASSED
    assert report.cpu_s >= 2 * BURNT_S


def test_of_a_run_in_several_processes_all_count(tmp_path: Path) -> None:
    crashing = """\
import os

from burning import burn


def test_a():
    burn()
    os._exit(3)


def test_b():
    burn()
"""
    report = cost(tmp_path, crashing, isolate=True)
    assert report.counts.passed == report.counts.failed == 1
    assert report.cpu_s >= 2 * BURNT_S


def test_looking_for_a_name_counts(tmp_path: Path) -> None:
    report = cost(tmp_path, "from burning import burn\n\nburn()\n\n\ndef test_a():\n    pass\n", selection=["test_no"])
    assert report.status is SuiteStatus.NO_TESTS
    assert report.cpu_s >= BURNT_S


def test_a_warm_run_counts_its_own(tmp_path: Path) -> None:
    root = project(
        tmp_path, {"burning.py": BURN, "test_it.py": "from burning import burn\n\n\ndef test_a():\n    burn()\n"}
    )
    with warm(root) as project_:
        first, second = project_.run(), project_.run()
    assert first.cpu_s >= BURNT_S
    assert second.cpu_s >= BURNT_S


def test_workers_of_xdist_count(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    burning = "from burning import burn\n\n\ndef test_a():\n    burn()\n\n\ndef test_b():\n    burn()\n"
    project(tmp_path, {"pytest.ini": "[pytest]\naddopts = -p xdist.plugin -n1\n"})
    report = cost(tmp_path, burning)
    assert report.status is SuiteStatus.PASSED, report.message
    assert report.cpu_s >= 2 * BURNT_S


def test_unittest_counts(tmp_path: Path) -> None:
    tests = """\
import unittest

from burning import burn


class A(unittest.TestCase):
    def test_a(self):
        burn()
"""
    report = cost(tmp_path, tests, runner="unittest")
    assert report.status is SuiteStatus.PASSED
    assert report.cpu_s >= BURNT_S


def test_a_command_of_the_users_counts(tmp_path: Path) -> None:
    root = project(tmp_path, {"burning.py": BURN + "\n\nburn()\n"})
    settings = settings_with(tmp_path, custom_tests={str(root): CustomTests((sys.executable, "burning.py"))})
    report = run_tests(root, settings)
    assert report.status is SuiteStatus.PASSED, report.message
    assert report.cpu_s >= BURNT_S


def test_what_did_not_run_costs_nothing(tmp_path: Path) -> None:
    assert run_tests(project(tmp_path, {"a.txt": ""})).cpu_s == 0
