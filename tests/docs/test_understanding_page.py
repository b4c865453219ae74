"""What docs/understanding.md shows is what its commands print, and its table names every language."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support.cli import Shell
from support.gitrepos import make_repo

from regreen.repo.languages import LANGUAGES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "understanding.md").read_text("utf-8")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    files = {p.relative_to(ROOT / "examples" / "lending").as_posix(): p.read_text("utf-8")
             for p in (ROOT / "examples" / "lending").rglob("*") if p.is_file() and p.suffix != ".pyc"}  # fmt: skip
    return Shell(tmp_path, make_repo(tmp_path / "lending", files))


def test_each_example_prints_what_it_shows(shell: Shell) -> None:
    block = re.search(r"```console\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    examples = re.split(r"^\$ regreen ", block[1], flags=re.MULTILINE)[1:]
    assert len(examples) == 6
    for example in examples:
        command, _, shown = example.partition("\n")
        done = shell.typed(*shlex.split(command))
        assert done.out.strip() == shown.strip(), command


def test_the_table_names_every_extension() -> None:
    for language in LANGUAGES:
        for extension in language.extensions:
            assert f"`{extension}`" in PAGE, f"{language.name} {extension}"
