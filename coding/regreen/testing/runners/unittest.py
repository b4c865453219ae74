"""unittest: recognised by test files that use it, where nothing speaks of pytest.

pytest runs such tests too and tells more; so it comes first wherever the project's interpreter has it (see the row of
pytest). `manage.py test` of Django is out of scope.
"""

from __future__ import annotations

import re

from regreen.testing.looking import Look
from regreen.testing.runners.pytest import named
from regreen.testing.runners.row import DEPENDENCY, FILES, Row, Sign
from regreen.testing.unittest_suite import run_unittest, uses_unittest

_NAMED_IN = ("pyproject.toml", "setup.cfg", "tox.ini", "Makefile", "noxfile.py")


def _detect(look: Look) -> Sign | None:
    found = "" if named(look) is not None else uses_unittest(look)
    if not found:
        return None
    for name in _NAMED_IN:
        if re.search(r"-m unittest\b", look.text(name)):
            return Sign(DEPENDENCY, f"{look.at(name)} runs unittest")
    return Sign(FILES, f"{look.at(found)} uses unittest")


ROW = Row(
    name="unittest",
    language="Python",
    marks=("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "requirements.txt", "Pipfile"),
    suffixes=(".py",),
    detect=_detect,
    run=run_unittest,
)
