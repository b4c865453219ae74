"""pytest: recognised by its settings, by a dependency on it, or by files that it would collect."""

from __future__ import annotations

import re

from regreen.sandbox import Cancel
from regreen.testing.interpreter import Interpreter, find_interpreter
from regreen.testing.looking import Look
from regreen.testing.pytest_suite import run_pytest
from regreen.testing.request import SuiteRequest
from regreen.testing.runners.row import CONFIGURED, DEPENDENCY, FILES, Elsewhere, Row, Sign
from regreen.testing.unittest_suite import uses_unittest

_SECTIONS = (
    ("pytest.ini", ""),
    (".pytest.ini", ""),
    ("pytest.toml", ""),
    ("pyproject.toml", r"^\[tool\.pytest\b"),
    ("tox.ini", r"^\[pytest\]"),
    ("setup.cfg", r"^\[tool:pytest\]"),
)
_NAMED_IN = (
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "Pipfile",
)
_FILES = ("test_*.py", "*_test.py", "conftest.py")


def named(look: Look) -> Sign | None:
    """Why pytest is meant, where the project says so itself."""
    for name, section in _SECTIONS:
        if look.exists(name) and (not section or re.search(section, look.text(name), re.MULTILINE)):
            return Sign(CONFIGURED, f"{look.at(name)} configures pytest")
    for name in _NAMED_IN:
        if re.search(r"\bpytest\b", look.text(name)):
            return Sign(DEPENDENCY, f"{look.at(name)} names pytest")
    return None


def _detect(look: Look) -> Sign | None:
    said = named(look)
    if said is not None:
        return said
    found = look.any_below(*_FILES)
    return Sign(FILES, f"{look.at(found)} looks like a test") if found else None


def _instead(look: Look, request: SuiteRequest) -> Elsewhere | None:
    """Tests that only look like pytest's, in an interpreter without it, are run by unittest where they use that."""
    if request.argv or request.interpreter is not None or named(look) is not None:
        return None
    if any("::" in entry for entry in (*request.selection, *request.last_failed)) or not uses_unittest(look):
        return None
    found = find_interpreter(request.workspace, request.settings, Cancel(), start=request.project)
    if isinstance(found, Interpreter):
        return None
    return Elsewhere("unittest", why="the tests use unittest, nothing names pytest, and no interpreter here has it")


ROW = Row(
    name="pytest",
    language="Python",
    marks=("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt", "Pipfile"),
    suffixes=(".py",),
    detect=_detect,
    run=run_pytest,
    instead=_instead,
)
