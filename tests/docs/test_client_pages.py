"""Each client of `regreen setup` has a page, whose commands parse and whose entry is the one that setup writes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.mcp_clients import REGREEN, ROOT, server_environment

PAGES = ROOT / "docs" / "clients"
CLIENTS = sorted(page.stem for page in PAGES.glob("*.md") if page.stem != "README")


def fence(page: str, *languages: str) -> str:
    (found,) = re.findall(rf"```(?:{'|'.join(languages)})\n(.*?)```", page, re.DOTALL)
    return found


def shape(value: Any) -> Any:
    """What fields there are, whatever paths are in them."""
    return (
        {key: shape(inner) for key, inner in value.items() if key != "PATH"} if isinstance(value, dict) else type(value)
    )


def test_the_pages_the_table_and_the_command_name_the_same_clients(tmp_path: Path) -> None:
    table = re.findall(r"\]\((.+?)\.md\) \| `(.+?)`", (PAGES / "README.md").read_text("utf-8"))
    assert sorted(name for _, name in table) == sorted(file for file, _ in table) == CLIENTS
    done = subprocess.run([*REGREEN, "setup", "--help"], capture_output=True, text=True, check=True, cwd=tmp_path)
    offered = re.search(r"CLIENT +(.+?)\n\n", done.stdout, re.DOTALL)
    assert offered
    assert sorted(re.split(r",\s+", offered[1].strip())) == CLIENTS


@pytest.mark.parametrize("client", CLIENTS)
def test_the_entry_by_hand_is_the_one_that_the_pages_command_makes(client: str, tmp_path: Path) -> None:
    page = (PAGES / f"{client}.md").read_text("utf-8")
    (tmp_path / "shop").mkdir()
    words = fence(page, "sh").replace("~/src/shop", str(tmp_path / "shop")).split()
    assert words[0] == "regreen"
    env = {k: v for k, v in server_environment(tmp_path).items() if not k.startswith("REGREEN_")}
    done = subprocess.run([sys.executable, "-m", *words, "--print"], env=env, cwd=tmp_path, capture_output=True,
                          text=True, check=True)  # fmt: skip
    read = tomllib.loads if client == "codex" else json.loads
    assert shape(read(fence(page, "json", "toml"))) == shape(read(done.stdout))
