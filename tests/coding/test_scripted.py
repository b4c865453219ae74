from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from regreen.errors import UsageError
from regreen.model import Brief, Proposal, Replacement, Usage
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
        ('{"text": "x", "needs_test_change": "y"}', "exactly one of"),
        ('{"needs_test_change": " "}', "gives no reason"),
        ('{"needs_test_change": 1}', "`needs_test_change` is not a string"),
        ('{"text": "x", "usage": 3}', "`usage` holds more than"),
        ('{"text": "x", "usage": {"tokens": 1.5}}', "`usage` holds more than"),
        ('{"text": "x", "usage": {"tokens": true}}', "`usage` holds more than"),
        ('{"text": "x", "usage": {"usd": -1}}', "`usage` holds more than"),
        ('{"text": "x", "usage": {"usd": NaN}}', "`usage` holds more than"),
        ('{"text": "x", "usage": {"cents": 1}}', "`usage` holds more than"),
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


def test_a_line_may_say_what_it_cost_or_that_the_tests_must_change(tmp_path: Path) -> None:
    script = tmp_path / "fixes.jsonl"
    script.write_text(
        '{"text": "x", "usage": {"tokens": 7, "usd": 1}}\n'
        '{"needs_test_change": "3 is not 4", "note": "n", "usage": {"usd": 0.5}}\n',
        "utf-8",
    )
    proposer = ScriptedProposer.from_file(script)
    assert asyncio.run(proposer.propose(BRIEF)) == Proposal("x", usage=Usage(7, 1.0))
    wanted = Proposal(needs_test_change="3 is not 4", note="n", usage=Usage(0, 0.5))
    assert asyncio.run(proposer.propose(BRIEF)) == wanted
