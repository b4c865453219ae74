"""The model proposer: what it makes of answers, what it asks next, and how it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.cheating import patient_run
from support.prompting import BRIEF, LATER, REFUSED, MemorySources
from support.repos import BUG, FIX, red_repo

from regreen.errors import ConfigError
from regreen.fix.driver import drive
from regreen.model import AttemptState, Brief, Proposal, StopReason, Usage
from regreen.proposers.model import ModelProposer, proposal_of
from regreen.providers.client import ModelClient
from regreen.providers.errors import BudgetSpent
from regreen.providers.messages import Restarted, TextDelta
from regreen.providers.meter import Budget, Meter
from regreen.providers.recovery import MAX_CAP, RECOVERIES, next_cap
from regreen.providers.scripted import ScriptedProvider
from regreen.sandbox import Cancel
from regreen.settings.values import Price

pytestmark = pytest.mark.usefixtures("few_looks")

BLOCK = (
    "The tax is taken off where it must come on top. So it shrinks.\n\nshop/calc.py\n```\n<<<<<<< SEARCH\n"
    "    return s - s * rate\n=======\n    return s + s * rate\n>>>>>>> REPLACE\n```\n"
)
PATCH = """\
*** Begin Patch
*** Update File: shop/calc.py
@@
-    return s - s * rate
+    return s + s * rate
*** End Patch
"""
ANSWER = {"text": BLOCK, "usage": {"input": 100, "output": 20, "cache_read": 5}}
REFUSAL = replace(BRIEF, tried=(REFUSED,))


class Asked:
    """A proposer on a scripted provider, with everything that one wants to look at afterwards."""

    def __init__(self, replies: Sequence[Mapping[str, object]], budget: Budget | None = None, **more: Any) -> None:
        self.provider = ScriptedProvider(replies, model=more.pop("model", "scripted"))
        prices = {"scripted": Price(1.0, 2.0, 0.0, 1.0)}
        client = ModelClient([self.provider], Meter(budget or Budget()), prices=prices)
        self.cancel = Cancel()
        self.charged: list[Usage] = []
        sources = more.pop("sources", None) or MemorySources()
        self.proposer = ModelProposer(client, sources, cancel=self.cancel, charge=self.charged.append, **more)

    def propose(self, *briefs: Brief) -> Proposal | None:
        """The last proposal for these briefs, one after the other."""

        async def all_of_them() -> Proposal | None:
            found = None
            for brief in briefs:
                found = await self.proposer.propose(brief)
            return found

        return asyncio.run(all_of_them())

    @property
    def requests(self) -> list[Any]:
        return self.provider.requests


def test_an_answer_becomes_a_proposal_with_its_cost() -> None:
    asked = Asked([ANSWER])
    proposal = asked.propose(BRIEF)
    assert proposal is not None
    assert (proposal.text, proposal.format) == (BLOCK, "search_replace")
    assert proposal.note == "The tax is taken off where it must come on top."
    assert proposal.usage.tokens == 125
    assert proposal.usage.usd == pytest.approx(145e-6)
    assert asked.charged == []
    assert asked.proposer.name == "scripted"


def test_the_edit_format_follows_the_model_unless_it_is_named() -> None:
    for more, expected in (
        ({}, "SEARCH/REPLACE blocks"),
        ({"model": "gpt-5.2"}, "apply_patch envelope"),
        ({"model": "gpt-5.2", "edit_format": "unified_diff"}, "unified diff"),
    ):
        asked = Asked([ANSWER], **more)
        asked.propose(BRIEF)
        assert expected in asked.requests[0].system


@pytest.mark.parametrize(
    ("chosen", "message"),
    [({"edit_format": "whole_file"}, "whole_file"), ({"max_tokens": 8192, "max_input_tokens": 9000}, "too few")],
)
def test_settings_with_which_nothing_can_be_asked_are_refused(chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Asked([], **chosen)


def test_an_answer_in_another_format_is_read_as_what_it_is() -> None:
    assert proposal_of(PATCH, "search_replace").format == "auto"
    assert proposal_of(BLOCK, "search_replace").format == "search_replace"
    assert proposal_of("I have no idea.", "search_replace") == Proposal(text="I have no idea.", note="I have no idea.")


@pytest.mark.parametrize(
    "line",
    ["NEEDS_TEST_CHANGE: 45 is wrong", "**NEEDS_TEST_CHANGE:** 45 is wrong", "`NEEDS_TEST_CHANGE`: 45 is wrong"],
)
def test_a_model_may_say_that_no_right_code_passes(line: str) -> None:
    assert proposal_of(f"I looked.\n\n{line}\n", "search_replace").needs_test_change == "45 is wrong"


def test_edits_beside_a_wish_for_other_tests_are_tried() -> None:
    assert proposal_of(f"NEEDS_TEST_CHANGE: no\n\n{BLOCK}", "search_replace").needs_test_change == ""


def test_an_empty_answer_is_a_proposal_that_the_engine_refuses() -> None:
    proposal = Asked([{"text": "", "usage": {"input": 1}}]).propose(BRIEF)
    assert proposal is not None
    assert (proposal.text, proposal.needs_test_change) == ("", "")


def test_after_a_refusal_the_answer_and_the_report_are_in_the_conversation() -> None:
    asked = Asked([ANSWER, ANSWER, ANSWER])
    asked.propose(BRIEF, REFUSAL, replace(REFUSAL, tried=(REFUSED, replace(REFUSED, number=3))))
    first, second, third = asked.requests
    assert second.messages[0] == first.messages[0]
    assert second.messages[1].text == BLOCK
    assert "found '    return s - s * rate'" in second.messages[2].text
    assert len(third.messages) == 5
    assert third.messages[:3] == second.messages


def test_after_a_test_run_the_question_is_written_anew() -> None:
    asked = Asked([ANSWER, ANSWER])
    asked.propose(BRIEF, replace(LATER, tried=LATER.tried[:1]))
    assert len(asked.requests[1].messages) == 1
    assert "## Try 1: worse, rolled back" in asked.requests[1].messages[0].text


def test_a_conversation_that_grew_too_long_begins_anew() -> None:
    asked = Asked([{"text": BLOCK + "x" * 9_000}, ANSWER], max_input_tokens=4_096, max_tokens=1_000)
    asked.propose(BRIEF, REFUSAL)
    assert len(asked.requests[1].messages) == 1


def test_a_refusal_after_an_answer_without_text_begins_anew() -> None:
    asked = Asked([{"text": ""}, ANSWER])
    assert asked.propose(BRIEF, REFUSAL) is not None
    assert len(asked.requests[1].messages) == 1


def test_a_truncated_answer_is_asked_for_again_with_more_room() -> None:
    cut = {"text": BLOCK, "stop": "truncated", "usage": {"input": 100, "output": 10}}
    asked = Asked([cut, cut, ANSWER], max_tokens=6_000)
    proposal = asked.propose(BRIEF)
    assert proposal is not None
    assert proposal.usage.tokens == 110 + 110 + 125
    assert [r.max_tokens for r in asked.requests] == [6_000, 12_000, MAX_CAP]
    assert len({r.messages for r in asked.requests}) == 1


def test_answers_that_stay_truncated_are_never_used() -> None:
    asked = Asked([{"text": BLOCK, "stop": "truncated", "usage": {"input": 1, "output": 1}}] * (RECOVERIES + 1))
    assert asked.propose(BRIEF) is None
    assert "cut off 4 times, at last at 16384 tokens" in asked.proposer.why
    assert [u.tokens for u in asked.charged] == [8]
    assert asked.provider.left == 0


def test_the_room_for_an_answer_doubles_up_to_its_limit() -> None:
    assert [next_cap(n) for n in (1, 4_096, 9_000, MAX_CAP, 20_000)] == [2, 8_192, MAX_CAP, MAX_CAP, 20_000]


def test_a_question_that_is_too_long_is_asked_again_in_half_the_room() -> None:
    long = MemorySources({"shop/calc.py": f"x = {'1' * 300}\n" * 2_000})
    asked = Asked([{"error": "context_overflow"}, {"text": "", "stop": "context_overflow"}, ANSWER], sources=long)
    assert asked.propose(BRIEF) is not None
    sizes = [len(r.messages[0].text) for r in asked.requests]
    assert sizes[0] >= sizes[1] > sizes[2]
    asked = Asked([{"error": "context_overflow"}] * 9, sources=long)
    assert asked.propose(BRIEF) is None
    assert "context_overflow" in asked.proposer.why
    assert len(asked.requests) == RECOVERIES + 1


def test_a_refusal_of_the_model_ends_its_part() -> None:
    asked = Asked([{"text": "I cannot help with that.", "stop": "refusal"}])
    assert asked.propose(BRIEF) is None
    assert asked.proposer.why == "The model refused: I cannot help with that."


def test_a_provider_that_fails_is_told_with_what_to_do() -> None:
    asked = Asked([{"error": "unauthorized"}])
    assert asked.propose(BRIEF) is None
    assert asked.proposer.why == "The model could not be asked: the script says unauthorized."


def test_a_budget_that_is_spent_passes_through() -> None:
    asked = Asked([{"text": BLOCK, "stop": "truncated", "usage": {"input": 5_000}}, ANSWER], Budget(tokens=5_000))
    with pytest.raises(BudgetSpent):
        asked.propose(BRIEF)
    assert [u.tokens for u in asked.charged] == [5_000]


def test_what_streams_is_handed_on() -> None:
    heard: list[object] = []
    Asked([{"text": "half", "stop": "truncated"}, ANSWER], on_delta=heard.append).propose(BRIEF)
    assert heard[:2] == [TextDelta("half"), Restarted("the answer was cut off")]
    assert "".join(getattr(d, "text", "") for d in heard[2:]) == BLOCK


def test_cancel_ends_a_question_in_the_middle_of_its_answer() -> None:
    begun = threading.Event()
    asked = Asked([{"text": BLOCK, "hang": True}], on_delta=lambda _: begun.set())

    def stop() -> None:
        assert begun.wait(10)
        asked.cancel.set()

    thread = threading.Thread(target=stop)
    thread.start()
    try:
        assert asyncio.run(asyncio.wait_for(asked.proposer.propose(BRIEF), 10)) is None
    finally:
        thread.join()
    assert asked.proposer.why == ""


def test_cancel_before_a_question_asks_nothing() -> None:
    asked = Asked([ANSWER])
    asked.cancel.set()
    assert asked.propose(BRIEF) is None
    assert asked.requests == []


def test_cancelling_the_task_that_proposes_is_no_giving_up() -> None:
    async def cancelled() -> bool:
        asked = Asked([{"hang": True}])
        task = asyncio.ensure_future(asked.proposer.propose(BRIEF))
        while not asked.requests:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(cancelled())


def _driven(root: Path, replies: Sequence[Mapping[str, object]], budget: Budget | None = None) -> tuple[Any, Asked]:
    """The run after a model drove it, and what the model was asked."""
    with patient_run(root) as run:
        asked = Asked(replies, budget, sources=MemorySources({"calc.py": (root / "calc.py").read_text("utf-8")}))
        asked.proposer._charge = lambda usage: run.spend(usage=usage)  # type: ignore[attr-defined]
        asyncio.run(drive(run, asked.proposer))
    return run, asked


def _block(search: str, replace_by: str) -> dict[str, object]:
    text = f"The sign is wrong.\n\ncalc.py\n<<<<<<< SEARCH\n{search}\n=======\n{replace_by}\n>>>>>>> REPLACE\n"
    return {"text": text, "usage": {"input": 10, "output": 1}}


def test_a_run_driven_by_a_model_tells_it_of_its_mistakes_until_the_tests_pass(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    wrong = _block(BUG, "    return s * rate")
    run, asked = _driven(root, [_block("    return s-s*rate", FIX), wrong, _block(BUG, FIX)])
    assert [a.state for a in run.attempts] == [AttemptState.REFUSED, AttemptState.SAME, AttemptState.PASSED]
    assert run.outcome.reason is StopReason.FIXED
    assert run.outcome.evidence.usage.tokens == 33
    report = asked.requests[1].messages[2].text
    assert "no_match" in report
    assert f"found {BUG!r}" in report
    assert "+    return s * rate" in asked.requests[2].messages[0].text
    assert FIX in (root / "calc.py").read_text("utf-8")


def test_a_run_whose_model_has_no_budget_left_ends_so_and_counts_what_was_used_for_nothing(tmp_path: Path) -> None:
    cut = {"text": "", "stop": "truncated", "usage": {"input": 5_000}}
    run, _ = _driven(red_repo(tmp_path / "r"), [cut], Budget(tokens=5_000))
    assert run.outcome.reason is StopReason.BUDGET
    assert run.outcome.hint.startswith("The budget is spent: 5000 of 5000 tokens")
    assert "Raise `budget_tokens`" in run.outcome.hint
    assert run.outcome.evidence.usage.tokens == 5_000
