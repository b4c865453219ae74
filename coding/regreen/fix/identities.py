"""What an id of a report stands for: a test, or what did not load (a file, a package, a build). Pure.

A report says so itself: the failure's kind is `collection`, or a file ended the process while it was loaded. The
failures of a report are bounded, its groups hold more ids; for ids beyond both, outcome and form decide.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping

from regreen.model import CaseOutcome, SuiteReport
from regreen.repo import is_test_file

FAILING = frozenset({"failed", "error"})
PASSING = frozenset({"passed", "xpassed"})
COLLECTION = "collection"
STOPPED = frozenset({"crash", "timeout"})
FILE_MARKS = ("::", " > ")  # between a file and what is in it

_NAMES_FILES = frozenset({"pytest", "unittest", "jest", "vitest", "mocha", "node"})
"""Runners whose ids tell the file of a test. Of a compiled program they do not: one error there stops all tests."""
_SOURCE = re.compile(
    r"\.(?:pyi?|[cm]?[jt]sx?|go|mod|rs|toml|rb|php|java|kts?|groovy|scala|cs|fs|vb|xml|gradle)\Z", re.IGNORECASE
)
_GO_TEST = re.compile(r"(?:^|/)(?:Test|Example|Fuzz|Benchmark)[^/a-z][^/]*/.*\.go\Z")  # a subtest may be called so
_GO_NAME = re.compile(r"(?:Test|Example|Fuzz)")
_TEST_FILE = re.compile(r"(?:^|/)(?:specs?|__tests__)/|(?:[._](?:tests?|spec)|Tests?|Spec)\.\w+\Z")


def kinds(report: SuiteReport) -> dict[str, str]:
    """The kind of every failure that the report still tells: from its failures, and from the ids of its groups."""
    told = {i: g.signature.partition(" ")[0] for g in report.groups for i in g.ids}
    return told | {f.id: f.kind for f in report.failures}


def unloaded(report: SuiteReport) -> frozenset[str]:
    """Failing ids that are no tests: what could not be collected, built or imported."""
    known = kinds(report)

    def is_no_test(test_id: str) -> bool:
        kind = known.get(test_id, "")
        if kind == COLLECTION:
            return True
        loading = kind in STOPPED or report.outcomes[test_id] == "error"
        return loading and looks_like_file(test_id, report.runner)

    return frozenset(i for i in report.failing if is_no_test(i))


def looks_like_file(test_id: str, runner: str = "") -> bool:
    """By its form alone: is this the name of a file rather than of a test?"""
    if any(mark in test_id for mark in FILE_MARKS):
        return False
    return runner == "pytest" or (_SOURCE.search(test_id) is not None and not _GO_TEST.search(test_id))


def opened(file: str, report: SuiteReport) -> bool:
    """Does what did not load load now? It is gone from the failures, and the tests that it kept from running ran.

    A file that is merely gone is not opened. Where ids do not tell which tests are a file's, everything must load.
    """
    if file in report.outcomes:
        return False
    if tests_of(file, report.outcomes):
        return True
    if report.runner in _NAMES_FILES and (holds_tests(file) or report.runner in ("pytest", "unittest")):
        return False
    return bool(report.passing) and not unloaded(report)


def holds_tests(file: str) -> bool:
    """Is it a test file, by the usual names of the languages?"""
    return is_test_file(file) or _TEST_FILE.search(file) is not None


def tests_of(file: str, outcomes: Mapping[str, CaseOutcome]) -> dict[str, CaseOutcome]:
    """The tests that are known to be in a file, or below a file that stands for its folder."""
    folder, name = posixpath.split(file)
    if name in ("conftest.py", "__init__.py") or not _SOURCE.search(file):
        below = file if name not in ("conftest.py", "__init__.py") else folder
        return {i: o for i, o in outcomes.items() if _is_below(below, i)}
    if name.endswith(".go"):
        return {i: o for i, o in outcomes.items() if _is_in_package(folder, i)}
    modules = module_names(file)
    return {
        i: o
        for i, o in outcomes.items()
        if any(i.startswith(file + mark) for mark in FILE_MARKS) or in_module(i, modules)
    }


def _is_below(folder: str, test_id: str) -> bool:
    if folder in ("", "."):
        return True
    return test_id.startswith((f"{folder}/", f"{folder}::")) or in_module(test_id, module_names(folder + ".py"))


def _is_in_package(folder: str, test_id: str) -> bool:
    package, _, test = test_id.rpartition("/")
    while package and not (_GO_NAME.match(test) and package == folder):
        package, _, test = package.rpartition("/")
    return bool(package)


def module_names(file: str) -> frozenset[str]:
    """The dotted names under which a file may be a module: `a/b.py` is `a.b` or `b`."""
    parts = _SOURCE.sub("", file).split("/")
    return frozenset(".".join(parts[n:]) for n in range(len(parts)))


def in_module(test_id: str, modules: Collection[str]) -> bool:
    """Is this the dotted id of a test in one of the modules: `a.b.Class.test`?"""
    if "/" in test_id or any(mark in test_id for mark in FILE_MARKS):
        return False
    parts = test_id.partition("(")[0].split(".")
    return any(".".join(parts[:n]) in modules for n in range(1, len(parts)))
