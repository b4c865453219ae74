from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from regreen.errors import UsageError
from regreen.model import Brief, Proposal, Replacement
from regreen.proposers.scripted import ScriptedProposer

BRIEF = Brief("", (), (), (), (), (), 6)


def test_script_is_handed_in_line_by_line_and_then_given_up(tmp_path: Path) -> None:
    script = tmp_path / "fixes.jsonl"
    script.write_text(
        '{"text": "a.py", "note": "first"}\n\n'
        '{"replacements": [{"path": "a.py", "search": "x\\n", "replace": "y\\n"}]}\n',
        "utf-8",
    )
    proposer = ScriptedProposer.from_file(script)
    assert asyncio.run(proposer.propose(BRIEF)) == Proposal(text="a.py", note="first")
    assert asyncio.run(proposer.propose(BRIEF)) == Proposal(replacements=(Replacement("a.py", "x\n", "y\n"),))
    assert asyncio.run(proposer.propose(BRIEF)) is None
    assert asyncio.run(proposer.propose(BRIEF)) is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ("[1]", "not an object"),
        ("{}", "exactly one of"),
        ('{"text": "x", "replacements": []}', "exactly one of"),
        ('{"text": 1}', "`text` is not a string"),
        ('{"txt": "x"}', "unknown key 'txt'"),
        ('{"replacements": {}}', "not a list"),
        ('{"replacements": [{"path": "a"}]}', "a replacement needs"),
        ('{"replacements": [3]}', "a replacement needs"),
    ],
)
def test_bad_line_is_refused_with_file_and_line(tmp_path: Path, line: str, says: str) -> None:
    script = tmp_path / "fixes.jsonl"
    script.write_text('{"text": "fine"}\n' + line + "\n", "utf-8")
    with pytest.raises(UsageError) as caught:
        ScriptedProposer.from_file(script)
    assert f"{script}:2: " in caught.value.message
    assert says in caught.value.message


def test_missing_script_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        ScriptedProposer.from_file(tmp_path / "none.jsonl")
