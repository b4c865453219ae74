"""Which files a run may change."""

# ruff: noqa: E501 (tables of paths)
from __future__ import annotations

import pytest

from regreen.fix.protected import is_protected_test
from regreen.fix.scope import Objection, Scope, matches
from regreen.model import Failure, TamperPolicy
from regreen.workspace import Change


def objections(
    scope: Scope, path: str, before: str = "", after: str = "x = 1\n", failures: tuple[Failure, ...] = ()
) -> tuple[Objection, ...]:
    return scope.objections([Change(path, "0", after.encode(), None)], {path: before}, failures)


def kinds(scope: Scope, path: str, before: str = "", after: str = "x = 1\n") -> list[str]:
    return [o.kind for o in objections(scope, path, before, after)]


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
    found = objections(Scope(tests="additions_only"), "test_a.py", BEFORE, after)
    assert (found == ()) is expected
    assert all(o.kind == "tampering" and o.cheat for o in found)


def test_a_cheat_in_the_code_is_an_objection_that_names_it() -> None:
    (found,) = objections(Scope(), "calc.py", "import os\n", "import os\n\nos._exit(0)\n")
    assert (found.kind, found.cheat, found.path) == ("tampering", "ends_process", "calc.py")
    assert found.message.startswith("`calc.py`, line 3")
    assert found.hint


def test_a_deleted_test_is_an_objection_where_tests_may_be_added() -> None:
    scope = Scope(tests="additions_only")
    (found,) = scope.objections([Change("test_a.py", "0", None, None)], {"test_a.py": BEFORE})
    assert (found.kind, found.cheat) == ("tampering", "removes_test")


@pytest.mark.parametrize(
    "path",
    [
        "src/calc.test.ts", "src/__tests__/calc.js", "calc_test.go", "spec/calc_spec.rb", "src/CalcTest.java", "CalcTest.php",
        "src/Calc.Tests/Sums.cs", "src/__snapshots__/calc.js.snap", "tests/golden/out.txt", "pkg/testdata/in.json",
        "fixtures/users.json", "tests/cassettes/a.yaml",
    ],
)  # fmt: skip
def test_tests_and_their_data_are_protected_in_every_language(path: str) -> None:
    assert kinds(Scope(), path) == ["path_protected"]
    assert not Scope().allows(path)


@pytest.mark.parametrize(
    "path",
    [
        "requirements.txt", "requirements-dev.txt", "requirements/test.txt", "constraints.txt", "poetry.lock", "uv.lock",
        "Pipfile", "package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "Cargo.toml", "Cargo.lock", "go.mod", "go.sum",
        "Gemfile.lock", "composer.lock", ".github/workflows/ci.yml", ".circleci/config.yml", "Jenkinsfile", ".coveragerc",
        "sub/pyproject.toml", "setup.cfg", "setup.py", "sitecustomize.py", "lib/usercustomize.py", "x.pth", "calc.pyc",
        "jest.config.js", "jest.setup.ts", "vitest.config.ts", "vitest.workspace.ts", ".mocharc.yml", ".rspec", "phpunit.xml",
        "pkg-1.0.dist-info/entry_points.txt", "App.csproj", "Directory.Build.props", ".cargo/config.toml", ".env.test",
        ".python-version", "rust-toolchain.toml", "gradle.properties", "gradle/libs.versions.toml", "tox.ini", "noxfile.py",
    ],
)  # fmt: skip
@pytest.mark.parametrize("tests", ["readonly", "editable"])
def test_settings_pins_and_start_up_files_are_protected_whatever_the_policy(path: str, tests: TamperPolicy) -> None:
    assert kinds(Scope(tests=tests), path) == ["path_protected"]


@pytest.mark.parametrize(
    "path",
    ["app/snapshots/taking.py", "src/spec/loader.py", "requirements/loader.py", "src/Latest.java", "lib/specs.rb", "go.go",
     "src/contest.ts", "runners/pytest.py", "docs/requirements.md"],
)  # fmt: skip
def test_code_with_a_name_like_a_tests_is_open(path: str) -> None:
    assert kinds(Scope(), path) == []


def test_files_that_failing_tests_name_are_tests_whatever_they_are_called() -> None:
    checks = Failure("checks.py::check_total", "calc.py", 1, "AssertionError", "", "", "")
    example = Failure("calc.py::calc.total", "calc.py", 1, "AssertionError", "", "", "")
    assert [o.kind for o in objections(Scope(), "checks.py", failures=(checks,))] == ["path_protected"]
    assert objections(Scope(), "calc.py", failures=(checks, example)) == ()
