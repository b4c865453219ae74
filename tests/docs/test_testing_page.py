"""docs/testing.md names every runner, level and status that there is."""

import re
from pathlib import Path
from typing import get_args

from regreen.model import SuiteStatus
from regreen.sandbox.isolation import Level
from regreen.testing import NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")


def first_cells(heading):
    """The words in backquotes of the first column of the tables below a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {word for row in rows for word in re.findall(r"`([\w-]+)`", row)}


def test_every_runner_has_its_row():
    assert first_cells("Runners") == set(NAMES)


def test_every_level_has_its_row():
    assert first_cells("The sandbox") == set(get_args(Level))


def test_every_status_is_told():
    told = first_cells("Status")
    assert {s.value for s in SuiteStatus} - {"cancelled"} <= told
