"""The README says what is true: its commands parse, its configuration is what `setup` makes, its run is a real one."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support.cli import Done, Shell
from support.gitrepos import ENVIRON

from regreen.cli import parser
from regreen_bridge import client_config, clients

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    """Every `regreen ...` that the README types, in blocks and in backquotes."""
    typed = [line.removeprefix("$ ") for _, body in BLOCKS for line in body.splitlines()]
    typed += re.findall(r"`(regreen [^`]+)`", README)
    return sorted({line.split("  #")[0].strip() for line in typed if line.startswith("regreen ")})


@pytest.mark.parametrize("line", [c for c in commands() if "COMMAND" not in c])
def test_commands_parse(line):
    assert parser.build().parse_args(shlex.split(line)[1:]).handler


def test_every_command_is_in_the_readme():
    assert {c.name for c in parser.COMMANDS} <= {line.split()[1] for line in commands()}


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^make (\w+)$", README, re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    assert all(re.search(rf"^{t}:", makefile, re.MULTILINE) for t in targets)


def test_configuration_to_paste_has_the_shape_that_setup_writes(tmp_path):
    pasted = next(json.loads(body) for language, body in BLOCKS if language == "json")
    (tmp_path / "shop").mkdir()
    made = json.loads(Shell(tmp_path, tmp_path / "shop").typed("setup", "claude-desktop", "--root", ".", "--print").out)
    key, name = clients.find("claude-desktop").key, client_config.SERVER_NAME
    assert list(pasted) == list(made) == [key]
    assert list(pasted[key]) == list(made[key]) == [name]
    assert list(pasted[key][name]) == list(made[key][name])
    assert pasted[key][name]["args"] == ["serve", "--root", "/home/me/src/shop"]


@pytest.mark.timeout(300)
def test_run_that_is_shown_is_a_real_one(tmp_path):
    example, shown = re.findall(r"<!-- run: (\w+) -->\n```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[0]
    repo = tmp_path / example
    typed = [line.removeprefix("$ ") for line in shown.splitlines() if line.startswith("$ ")]
    making = [line for line in typed if not line.startswith("regreen ")]
    assert typed[: len(making)] == making and f"/tmp/{example}" in making[0]
    for line in making:
        where = ROOT if line == making[0] else repo
        line = line.replace(f"/tmp/{example}", str(repo))
        subprocess.run(["sh", "-c", line], cwd=where, env=ENVIRON, check=True)
    shell = Shell(tmp_path, repo)
    real = "".join(f"$ {line}\n" for line in making)
    real += "".join(f"$ {line}\n{on_screen(shell.typed(*shlex.split(line)[1:]))}\n" for line in typed[len(making) :])
    assert without_accidents(real) == without_accidents(shown)


def on_screen(done: Done) -> str:
    """What a person sees at a terminal: there, the lines that are for logs are not written."""
    told = (line for line in done.err.splitlines(keepends=True) if not line.startswith("regreen: "))
    return "".join(told) + done.out


def without_accidents(text: str) -> str:
    """The text without what differs from run to run: times, ids, paths of this machine."""
    accidents = {
        r"\d+\.\d+ s": "T s",
        r"(Python|pytest) \d[\d.]*": r"\1 N",
        r"\bjob-[0-9a-f]+": "job-X",
        r"\d+ candidates": "N candidates",
        r"^runner pytest; .*$": "runner",
    }
    for pattern, word in accidents.items():
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
