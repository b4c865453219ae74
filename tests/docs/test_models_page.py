"""docs/models.md shows settings that load, commands that parse, and every proposer that there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from regreen.cli import parser
from regreen.session.fixing import ProposerName
from regreen.settings import ModelSettings, load_settings
from regreen.settings.model_tables import MAX_ANSWER_TOKENS

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")


def test_the_settings_shown_are_taken(tmp_path: Path) -> None:
    (tmp_path / "regreen").mkdir()
    (tmp_path / "regreen" / "prompt.md").touch()
    blocks = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        (tmp_path / "config.toml").write_text(block)
        models = load_settings({"HOME": str(tmp_path)}, config_file=tmp_path / "config.toml").models
        assert models.provider and models.model
        assert models.max_tokens == ModelSettings().max_tokens
    assert f"at most {MAX_ANSWER_TOKENS}" in PAGE


def test_every_proposer_has_its_row() -> None:
    rows = re.findall(r"^\| `(\w+)`", PAGE.split("## Keys")[0], re.MULTILINE)
    assert set(rows) == set(get_args(ProposerName))


def test_commands_on_the_page_parse() -> None:
    blocks = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    commands = re.findall(r"^regreen (.*?)(?:  #.*)?$", blocks, re.MULTILINE)
    assert commands
    for line in commands:
        assert parser.build().parse_args(line.split()).handler
