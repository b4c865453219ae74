"""pytest: recognised by its settings, by a dependency on it, or by files that it would collect."""

from __future__ import annotations

import re

from regreen.testing.looking import Look
from regreen.testing.pytest_suite import run_pytest
from regreen.testing.runners.row import CONFIGURED, DEPENDENCY, FILES, Row, Sign

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


def _detect(look: Look) -> Sign | None:
    for name, section in _SECTIONS:
        if look.exists(name) and (not section or re.search(section, look.text(name), re.MULTILINE)):
            return Sign(CONFIGURED, f"{look.at(name)} configures pytest")
    for name in _NAMED_IN:
        if re.search(r"\bpytest\b", look.text(name)):
            return Sign(DEPENDENCY, f"{look.at(name)} names pytest")
    found = look.any_below(*_FILES)
    return Sign(FILES, f"{look.at(found)} looks like a test") if found else None


ROW = Row(
    name="pytest",
    language="Python",
    marks=("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt", "Pipfile"),
    suffixes=(".py",),
    detect=_detect,
    run=run_pytest,
)
