"""The pages on edits say what is true: the table is the one that the cases give, names and figures are the engine's."""

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

from regreen.cli import parser
from regreen.edits import FORMATS, known_formats, parse
from regreen.edits.ladder import LEVELS
from regreen.model.edits import EditErrorKind
from regreen.settings import EDIT_FORMATS, Limits

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "edits.md").read_text("utf-8")


def test_the_table_of_engines_is_what_the_cases_give() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "edit_table.py"), "--check"]
    assert subprocess.run(command, timeout=300).returncode == 0, "run python scripts/edit_table.py"


def test_every_format_level_and_kind_is_explained() -> None:
    assert known_formats() == EDIT_FORMATS
    for name in (*FORMATS, *(level.name for level in LEVELS), *get_args(EditErrorKind)):
        assert f"`{name}`" in PAGE, name


def test_limits_are_the_ones_in_force() -> None:
    limits = Limits()
    sizes = f"files up to {limits.max_file_bytes >> 20} MiB, responses up to {limits.max_response_bytes >> 20} MiB"
    assert sizes in PAGE
    assert f"{limits.max_response_lines:,} lines and {limits.max_edits:,} edits" in PAGE


def test_commands_on_the_page_parse() -> None:
    for line in re.findall(r"^regreen (.*?)(?:  #.*)?$", PAGE, re.MULTILINE):
        assert parser.build().parse_args(line.split()).handler


def test_the_examples_of_calls_can_be_read() -> None:
    examples = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        parsed = parse(example)
        assert parsed.problem is None
        assert parsed.format == "str_replace"
