"""`requirements.lock` pins everything that is installed, by names and versions only: any index will do."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LINES = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
LOCK = {canonicalize_name(r.name): r for r in map(Requirement, LINES)}
ASKED = [
    *PROJECT["project"]["dependencies"],
    *PROJECT["dependency-groups"]["dev"],
    *PROJECT["build-system"]["requires"],
]


def closure(asked: list[str]) -> set[str]:
    """Names of everything that these requirements bring here, as far as it is installed."""
    found: set[str] = set()
    left = [(r, "") for r in map(Requirement, asked)]
    while left:
        requirement, extra = left.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        if name in found and not requirement.extras:
            continue
        found.add(name)
        try:
            needs = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:
            continue
        left += [(need, wanted) for need in needs for wanted in ("", *requirement.extras)]
    return found


def test_each_line_pins_one_version_and_names_no_index():
    assert all(re.fullmatch(r"[a-z0-9-]+==[^ ]+( ; .+)?", line) for line in LINES)


@pytest.mark.parametrize("text", ASKED)
def test_pinned_version_is_one_that_was_asked_for(text):
    wanted = Requirement(text)
    pinned = LOCK[canonicalize_name(wanted.name)]
    assert wanted.specifier.contains(str(pinned.specifier).removeprefix("=="), prereleases=True)


def test_lock_is_complete():
    assert not closure(ASKED) - set(LOCK)


def test_install_scripts_name_no_host():
    for file in (ROOT / "Makefile", ROOT / ".ci" / "run", *(ROOT / "scripts").iterdir()):
        if file.is_file():
            assert "://" not in file.read_text("utf-8"), file.name
