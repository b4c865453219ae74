"""docs/agent.md says what is true: its run is a real one, its tables name every word, option and kind that there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import get_args

import pytest
from support.gitrepos import make_repo

from regreen.agent.rules import AgentRules
from regreen.agent.state import Transition
from regreen.cli import main, parser
from regreen.cli.exit_codes import of_result
from regreen.errors import UsageError
from regreen.events import EventKind
from regreen.providers.scripted import ScriptedProvider
from regreen.session.tasks import DEFAULT_BUDGET_S
from regreen.session.toolbox import AGENT_TOOLS
from regreen.settings import MODES, AgentSettings

PAGE = (Path(__file__).parents[2] / "docs" / "agent.md").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the rows that begin with a word in backquotes, below a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in section.splitlines() if line.startswith("| `")]


def words(heading: str) -> set[str]:
    return {word for row in rows(heading) for word in re.findall(r"`([\w-]+)`", row[0])}


def test_run_that_is_shown_is_a_real_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    replies, shown = (re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.M | re.S)[0] for kind in ("jsonl", "console"))
    repo = make_repo(tmp_path / "repo", {"README.md": "one\ntwo\nthree\n", ".gitignore": "*.jsonl\n"})
    (repo / "replies.jsonl").write_text(replies, "utf-8")
    monkeypatch.chdir(repo)
    command, _, printed = shown.removeprefix("$ ").partition("\n")
    assert main(shlex.split(command)[1:]) == 0
    told = capfd.readouterr()
    assert without_accidents(told.err + told.out) == without_accidents(printed)


def without_accidents(text: str) -> str:
    """The text without what differs from run to run, or with every word of a prompt."""
    for pattern, word in {
        r"\d+(\.\d)? s$|\d+\.\d s\b": "T s", r"\bjob-[0-9a-f]+": "job-X", r"[\d,]+ (tokens|characters)": r"N \1",
        r"\(\d+ out": "(N out",
    }.items():  # fmt: skip
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return text.strip()


def test_commands_on_the_page_parse() -> None:
    for line in re.findall(r"^(?:\$ )?regreen (do .*)$", PAGE, re.MULTILINE):
        assert parser.build().parse_args(shlex.split(line)).handler == "do:do"


def test_every_end_has_its_row_with_its_status() -> None:
    for row in rows("How it ends"):
        assert of_result("coding_task", {"outcome": {"reason": row[0].strip("`")}}) == int(row[2])
    assert {"fixed", "completed", "max_turns", "context_overflow", "hook_stopped", "needs_user", "stuck",
            "model_error"} <= words("How it ends")  # fmt: skip


def test_every_transition_mode_and_kind_is_one_that_there_is() -> None:
    assert words("What you see") == {t.value for t in Transition}
    assert words("Modes") == set(MODES)
    assert words("Events") <= set(get_args(EventKind))


def test_every_tool_of_the_agent_is_named() -> None:
    assert [name for name in AGENT_TOOLS if f"`{name}`" not in PAGE] == []


def test_every_key_of_a_script_is_told() -> None:
    rows_of_keys = {
        "text": {}, "thinking": {"text": "a"}, "calls": {}, "stop": {}, "raw_stop": {"text": "a"},
        "usage": {"text": "a"}, "error": {}, "retry_after_s": {"error": "rate_limited"}, "hang": {},
    }  # fmt: skip
    values = {
        "calls": [{"name": "read_file", "arguments": {"path": "a.py"}}], "stop": "truncated", "error": "overloaded",
        "usage": {"input": 900, "output": 20, "cache_read": 1, "cache_write": 1}, "retry_after_s": 1.5, "hang": True,
    }  # fmt: skip
    assert words("Scripts") == set(rows_of_keys)
    ScriptedProvider([{**besides, key: values.get(key, "a")} for key, besides in rows_of_keys.items()])
    for word in ("truncated", "refusal", "pause", "context_overflow"):
        ScriptedProvider([{"stop": word}])
    with pytest.raises(UsageError, match="unknown key"):
        ScriptedProvider([{"text": "a", "reason": "b"}])


def test_every_option_is_told() -> None:
    command = next(c for c in parser.COMMANDS if c.name == "do")
    names = {name for option in command.options for name in option.names if name.startswith("--")}
    assert [name for name in sorted(names - {"--python", "--verbose"}) if name not in PAGE] == []


def test_limits_are_the_ones_in_force() -> None:
    defaults = {row[0].strip("`"): row[1] for row in rows("Limits")}
    assert defaults["--max-turns"] == str(AgentSettings().max_turns) == "30"
    assert f"else {AgentRules().base_turns}, and one more for each {AgentRules().turn_chars} characters" in PAGE
    assert defaults["--budget-s"] == str(int(DEFAULT_BUDGET_S))
    assert f"{AgentSettings().tool_result_chars:,} characters" in PAGE
