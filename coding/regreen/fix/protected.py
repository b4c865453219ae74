"""Which paths are tests, or decide what a test run executes. Pure rules over names.

They are read more widely here than where files are only listed: what is wrongly taken for a test is not edited, what
is wrongly taken for code would let a test be made to pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from regreen.model import Failure
from regreen.repo import is_test_file
from regreen.workspace import is_command_bearing

_TEST_FOLDERS = frozenset({
    "test", "tests", "__tests__", "__mocks__", "__snapshots__", "__image_snapshots__", "golden", "goldens", "testdata",
    "fixtures", "__fixtures__", "cassettes", "test-fixtures", "test_data", "test-data", "androidtest", "testfixtures",
})  # fmt: skip
_MAYBE_TESTS = frozenset({"spec", "specs", "e2e", "cypress", "snapshots"})  # unless the code is of another kind
_PYTHON = (".py", ".pyi", ".go", ".rs", ".java", ".kt")
_TEST_NAMES = (
    "*.test.*", "*.spec.*", "*_test.*", "*_spec.rb", "test_*.rb", "*-test.*", "*.snap", "*.golden", "*.approved.*",
    "*.snapshot", "*.ambr", "test_*.c", "test_*.cpp", "*_unittest.*", "spec_helper.rb", "rails_helper.rb",
    "test_helper.rb", "test.sh", "test_*.sh", "tests.py", "test.py", "test.js", "test.mjs", "test.ts", "*.bats",
)  # fmt: skip
_CAMEL_TEST = re.compile(
    r"(Test\w*|\w*Tests?|\w*TestCase|\w*IT|\w*Spec|\w*Steps)\.(java|kt|kts|groovy|scala|cs|fs|vb|php|swift)"
)
_DECIDING_NAMES = frozenset({
    "pipfile", "pipfile.lock", "poetry.lock", "uv.lock", "pdm.lock", "pixi.lock", "pixi.toml", "pylock.toml",
    "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock",
    "cargo.lock", "go.mod", "go.sum", "go.work", "gemfile.lock", "composer.lock", "packages.lock.json",
    ".python-version", ".nvmrc", ".node-version", ".ruby-version", ".java-version", ".tool-versions", "mise.toml",
    ".mise.toml", "rust-toolchain", "rust-toolchain.toml", "gradle.properties", "gradle.lockfile", "global.json",
    "directory.build.props", "directory.build.targets", "directory.packages.props", "nuget.config", "xunit.runner.json",
    ".rspec", ".simplecov", ".taprc", ".swcrc", ".coveragerc.toml", "unittest.cfg", "nose.cfg", ".noserc", "nose2.cfg",
    ".pytest.toml", "pest.php", "nextest.toml", "jenkinsfile", ".travis.yml", "appveyor.yml", ".appveyor.yml",
    "azure-pipelines.yml", "bitbucket-pipelines.yml", ".drone.yml", "cirrus.yml", ".cirrus.yml", "codecov.yml",
    ".codecov.yml", "buildspec.yml", "setuptests.js", "setuptests.ts", "sitecustomize", "usercustomize", "hatch.toml",
    "meson.build", "build.zig", "bunfig.toml", "deno.json", "deno.jsonc", "testng.xml",
})  # fmt: skip
_DECIDING_GLOBS = (
    "requirements*.txt", "requirements*.in", "constraints*.txt", "environment*.yml", "environment*.yaml",
    "conda-lock*.yml", "jest.setup.*", "jest-setup.*", "jest.preset.*", "vitest.setup.*", "vitest.workspace.*",
    ".nycrc*", ".c8rc*", "ava.config.*", "playwright.config.*", "cypress.config.*", "phpunit*.xml*", "*.csproj",
    "*.fsproj", "*.vbproj", "*.sln", "*.slnx", "*.runsettings", "*.props", "*.targets", ".env*",
    "*.pyc", "*.pyo", "*.so", "*.pyd", ".jasmine*", "jasmine*.json",
    "*.lockfile", "tsconfig.test.json", "tsconfig.spec.json", "libs.versions.toml",
)  # fmt: skip
_DECIDING_FOLDERS = frozenset({
    ".github", ".circleci", ".buildkite", ".woodpecker", ".ci", ".cargo", ".mvn", "requirements", "__pycache__",
    ".config", "site-packages", "dist-packages", "node_modules", ".venv", "venv", "sitecustomize", "usercustomize",
    "_pytest",
})  # fmt: skip
_CODE = (
    ".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".go", ".rs", ".java", ".kt", ".rb", ".php",
    ".cs", ".fs", ".snap",
)  # fmt: skip
_ONLY_PINS = frozenset({"requirements", ".config"})  # folders in which only some kinds of files decide


def is_protected_test(path: str) -> bool:
    """Test files of any language, and the data and snapshots that lie beside them."""
    *folders, name = path.split("/")
    low = name.lower()
    if is_test_file(path) or _TEST_FOLDERS & {f.lower() for f in folders}:
        return True
    if any(f.lower().endswith((".tests", ".test", "_tests", "-tests")) for f in folders):
        return True
    if _MAYBE_TESTS & {f.lower() for f in folders} and not low.endswith(_PYTHON):
        return True
    return _CAMEL_TEST.fullmatch(name) is not None or any(fnmatchcase(low, g) for g in _TEST_NAMES)


def decides_tests(path: str) -> bool:
    """Whether a file decides what a test run executes beyond the code: settings, pins, CI, start-up files."""
    *folders, name = path.lower().split("/")
    if is_command_bearing(path) or name in _DECIDING_NAMES or any(fnmatchcase(name, g) for g in _DECIDING_GLOBS):
        return True
    inside = _DECIDING_FOLDERS & set(folders)
    return bool(inside - _ONLY_PINS) or (bool(inside) and name.endswith((".txt", ".in", ".toml", ".lock")))


def makes_tests(path: str) -> bool:
    """Is this code of tests, or does it decide what a test run executes? Data that tests write is no matter of this."""
    return is_command_bearing(path) or (is_protected_test(path) and path.endswith(_CODE))


def files_of_tests(failures: Iterable[Failure]) -> frozenset[str]:
    """The files that the ids of failing tests name, whatever these files are called.

    Where the test is an example in a docstring, the file is the code under test and not named.
    """
    found: set[str] = set()
    for failure in failures:
        path, colons, rest = failure.id.partition("::")
        stem = path.rpartition("/")[2].partition(".")[0]
        modules = {stem, *path.removesuffix(".py").split("/")}
        example = path.endswith(".py") and (rest == stem or ("." in rest and rest.partition(".")[0] in modules))
        if colons and "." in path and " " not in path and not example:
            found.add(path)
    return frozenset(found)
