"""Which files a run may change."""

from __future__ import annotations

import pytest

from regreen.fix.scope import Scope, adds_only, is_protected_test, matches
from regreen.workspace import Change


def kinds(scope: Scope, path: str, before: str = "", after: str = "x = 1\n") -> list[str]:
    return [o.kind for o in scope.objections([Change(path, "0", after.encode(), None)], {path: before})]


@pytest.mark.parametrize(
    "path", ["tests/test_a.py", "test_a.py", "a_test.py", "tests/data/x.json", "pkg/tests/helpers.py", "golden/a.txt"]
)
def test_test_files_are_read_only_by_default(path: str) -> None:
    assert kinds(Scope(), path) == ["path_protected"]


@pytest.mark.parametrize("path", ["conftest.py", "pyproject.toml", "pkg/setup.cfg", "tox.ini", "pytest.ini"])
def test_what_decides_a_test_run_stays_protected_even_where_tests_are_editable(path: str) -> None:
    assert kinds(Scope(tests="editable"), path) == ["path_protected"]


@pytest.mark.parametrize("path", ["app.py", "src/pkg/latest.py", "contest.py", "attestation/a.py"])
def test_code_under_test_is_open(path: str) -> None:
    assert kinds(Scope(), path) == []
    assert not is_protected_test(path)


def test_globs_limit_what_may_be_edited() -> None:
    scope = Scope(globs=("src/", "*.txt"))
    assert kinds(scope, "src/a.py") == []
    assert kinds(scope, "notes.txt") == []
    assert kinds(scope, "lib/a.py") == ["path_out_of_scope"]


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [("src/a.py", "src", True), ("src/a.py", "./src/", True), ("srcx/a.py", "src", False), ("a.py", ".", True),
     ("pkg/deep/a.py", "pkg/*.py", True), ("pkg/a.py", "pkg/**", True)],
)  # fmt: skip
def test_globs_files_and_folders_match(path: str, pattern: str, expected: bool) -> None:
    assert matches(path, pattern) is expected


BEFORE = "def test_a():\n    assert f(1) == 2\n"


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (BEFORE + "\n\ndef test_b():\n    assert f(2) == 3\n", True),
        ("def test_a():\n    assert f(1)\n", False),
        ("", False),
        (BEFORE + "\n\ndef test_a():\n    pass\n", False),
        ("import pytest\npytestmark = pytest.mark.skip\n" + BEFORE, False),
        ("def broken(:\n", False),
    ],
)
def test_additions_only_means_new_tests_and_nothing_else(after: str, expected: bool) -> None:
    assert adds_only(BEFORE, after) is expected
    assert (kinds(Scope(tests="additions_only"), "test_a.py", BEFORE, after) == []) is expected
