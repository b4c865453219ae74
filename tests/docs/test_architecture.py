"""ARCHITECTURE.md names what is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def table_paths() -> set[str]:
    table = TEXT.split("## Where is what")[1].split("\n## ")[0]
    rows = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ") and "| ---" not in line]
    return {name for row in rows[1:] for name in re.findall(r"`([^`]+)`", row) if "/" in name or "." in name}


def test_every_place_in_the_map_exists() -> None:
    folders = [
        ROOT / "coding" / "regreen",
        ROOT,
        ROOT / "server" / "regreen_server",
        ROOT / "editor_bridge" / "regreen_bridge",
    ]
    folders += [ROOT / "coding" / "regreen" / name for name in ("session", "proposers")]
    missing = [name for name in sorted(table_paths()) if not any((folder / name).exists() for folder in folders)]
    assert missing == []


def test_every_module_of_the_engine_has_its_layer_in_the_text() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = config["tool"]["importlinter"]["contracts"][1]["layers"]
    names = {part.strip() for layer in layers for part in layer.split(":")} - {"__main__"}
    written = TEXT.split("## Layers")[1].split("\n## ")[0]
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", written)) == []
