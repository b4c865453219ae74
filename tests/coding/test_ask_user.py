"""The agent asks the user: an answer, nobody there, and a question that is given up."""

from __future__ import annotations

import asyncio
import threading

import pytest
from support.agent_tools import LIMIT_S, a_call, said

from regreen.agent.ask_user import ASK_USER, AskUser, ask_user
from regreen.agent.toolbox import Toolbox
from regreen.sandbox import Cancel
from regreen.wire import Json


def answering(answer: str | None) -> tuple[AskUser, list[tuple[str, tuple[str, ...]]]]:
    asked: list[tuple[str, tuple[str, ...]]] = []

    def ask(question: str, options: tuple[str, ...], cancel: Cancel) -> str | None:
        asked.append((question, options))
        return answer

    return ask, asked


def test_the_answer_reaches_the_model() -> None:
    ask, asked = answering("the second")
    result = said(Toolbox([ask_user(ask)]), ASK_USER, question="Which?", options=["first", "second"])
    assert (result.output.text, result.output.is_error, result.question) == ("the user answers: the second", False, "")
    assert asked == [("Which?", ("first", "second"))]


def test_an_empty_answer_leaves_it_to_the_model() -> None:
    ask, _ = answering("  ")
    assert said(Toolbox([ask_user(ask)]), ASK_USER, question="Which?").output.text.endswith("decide yourself")


@pytest.mark.parametrize("ask", [None, answering(None)[0]])
def test_with_nobody_to_answer_the_question_is_handed_on(ask: AskUser | None) -> None:
    result = said(Toolbox([ask_user(ask)]), ASK_USER, question="Which?")
    assert (result.question, result.output.is_error) == ("Which?", False)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({}, "invalid_arguments"),
        ({"question": " "}, "invalid_arguments"),
        ({"question": 3}, "invalid_arguments"),
        ({"question": "x" * 2001}, "limit_exceeded"),
        ({"question": "x", "options": "yes"}, "invalid_arguments"),
        ({"question": "x", "options": [""]}, "invalid_arguments"),
        ({"question": "x", "options": ["y"] * 9}, "limit_exceeded"),
        ({"question": "x", "why": "y"}, "unknown_argument"),
    ],
)
def test_a_question_that_is_none_is_refused(arguments: dict[str, Json], kind: str) -> None:
    ask, asked = answering("yes")
    result = said(Toolbox([ask_user(ask)]), ASK_USER, **arguments).output
    assert result.is_error
    assert result.text.startswith(f"{kind}: ")
    assert not asked


class Deaf:
    """A terminal that is read from for ever, whatever happens."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.over = threading.Event()
        self.cancel: Cancel | None = None

    def __call__(self, question: str, options: tuple[str, ...], cancel: Cancel) -> str | None:
        self.cancel = cancel
        self.asked.set()
        assert self.over.wait(LIMIT_S)
        return "too late"


def test_cancelling_does_not_wait_for_the_user() -> None:
    user = Deaf()
    box = Toolbox([ask_user(user)])

    async def work() -> None:
        task = asyncio.ensure_future(box.execute([a_call(ASK_USER, question="Which?")]))
        await asyncio.to_thread(user.asked.wait, LIMIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert user.cancel is not None
    assert user.cancel.is_set()
    user.over.set()


def test_a_question_that_nobody_answers_in_time_is_handed_on() -> None:
    user = Deaf()
    result = said(Toolbox([ask_user(user, timeout_s=0.05)]), ASK_USER, question="Which?")
    assert (result.question, result.output.is_error) == ("Which?", False)
    user.over.set()


def test_a_way_to_ask_that_fails_is_an_error_and_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    def ask(question: str, options: tuple[str, ...], cancel: Cancel) -> str | None:
        raise OSError("the terminal is gone")

    result = said(Toolbox([ask_user(ask)]), ASK_USER, question="Which?")
    assert result.output.text.startswith("internal: unexpected fault in `ask_user`")
    assert "the terminal is gone" in caplog.text
