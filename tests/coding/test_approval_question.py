"""What a person is asked cannot be made to look like something else by what it is about."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.engines import engine_on
from support.gitrepos import make_repo

from regreen.agent.approval import Effect, Question
from regreen.policy import Ask
from regreen.session import asking

NAMES = ["regreen asks", "why", "folder", "action", "change", "sandbox", "question", "once"]
_TURNING = {"RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI", "PDI"}


def question(value: str) -> Question:
    return Question(Ask("needs_approval", value, ""), "edit", value, Effect((("change", value),), value), value)


@given(
    st.text(max_size=400)
    | st.sampled_from(["a\nwhy: all is well", "\x1b[2K\r", "x\u2028folder: /", "\u202egnp", "\x85"])
)
def test_each_fact_is_one_line_whatever_is_in_it(value: str) -> None:
    lines = question(value).text().splitlines()
    assert [line.partition(":")[0].split(" may")[0] for line in lines][: len(NAMES)] == (
        NAMES if value else [n for n in NAMES if n != "sandbox"] + ["once"]
    )[: len(lines)]
    for char in "".join(lines):
        assert unicodedata.category(char) not in ("Cc", "Zl", "Zp"), hex(ord(char))
        assert unicodedata.bidirectional(char) not in _TURNING


def test_a_long_list_is_cut_and_the_question_still_tells_every_item_apart() -> None:
    told = tuple(("change", f"create file_{i}.py +1 -0") for i in range(1000))
    one = Question(Ask("needs_approval", "", ""), "edit", "/x", Effect(told, "one"))
    other = Question(Ask("needs_approval", "", ""), "edit", "/x", Effect(told, "other"))
    assert len(one.text()) < 3000 and "976 more lines" in one.text()
    assert one.text() != other.text() and one.standing == other.standing


@pytest.mark.parametrize("action", ["edit", "run"])
def test_a_secret_in_the_name_of_the_folder_is_not_told_and_does_not_mix_folders_up(
    tmp_path: Path, action: str
) -> None:
    secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz012"
    roots = [make_repo(tmp_path / f"{secret}{n}" / "repo", {"a.py": "x = 1\n"}) for n in "34"]
    asked: list[Question] = []
    for root in roots:
        with engine_on(root) as engine:
            asked.append(asking.put(engine.session(), Ask("needs_approval", "why", ""), action, Effect((), "same")))
    assert not any(secret in one.text() for one in asked)
    assert len({one.digest for one in asked}) == 2
