"""`ask_user`: the agent's question to the person it works for. Who can be asked is handed in; with nobody there, the
question is what the run ends with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from regreen.agent.tool import Tool, ToolContext, ToolReply
from regreen.errors import UsageError
from regreen.sandbox import Cancel
from regreen.wire import MAX_NAME, Json, shortened

AskUser: TypeAlias = Callable[[str, tuple[str, ...], Cancel], str | None]
"""Asks the question, with options to choose from or none, and blocks. None: nobody answers. Returns when cancelled."""

ASK_USER = "ask_user"
ANSWER_S = 3600.0
"""How long an answer is waited for, before the run ends with the question."""
_MAX_QUESTION = 2_000
_MAX_OPTIONS = 8
_MAX_OPTION = 200


def ask_user(ask: AskUser | None, *, timeout_s: float = ANSWER_S) -> Tool:
    """The tool that asks. `ask` None: there is nobody, the first question ends the run."""

    def run(arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
        question, options = _checked(arguments)
        answer = None if ask is None else _asked(ask, question, options, context.cancel)
        if answer is None:
            said = "nobody is there to answer: the question is left to the user"
            return ToolReply(said, question=_with(question, options))
        return ToolReply(
            f"the user answers: {answer}" if answer.strip() else "the user left it to you: decide yourself"
        )

    return Tool(
        name=ASK_USER,
        description="Ask the user one question, where the task cannot go on without their answer. Not for what the "
        "repository or its tests can tell.",
        schema={
            "type": "object",
            "properties": {
                "question": {"type": "string", "minLength": 1, "maxLength": _MAX_QUESTION},
                "options": {
                    "type": "array",
                    "items": {"type": "string", "minLength": 1, "maxLength": _MAX_OPTION},
                    "maxItems": _MAX_OPTIONS,
                    "description": "answers to choose from",
                },
            },
            "required": ["question"],
        },
        run=run,
        timeout_s=timeout_s,
    )


def _asked(ask: AskUser, question: str, options: tuple[str, ...], cancel: Cancel) -> str | None:
    """The answer, in a thread of its own: a terminal that is read from may never come back, and a cancelled call does
    not wait for it."""
    answers: list[str | None] = []
    faults: list[BaseException] = []
    over = threading.Event()

    def work() -> None:
        try:
            answers.append(ask(question, options, cancel))
        except BaseException as e:  # raised again for the one who waits  # noqa: BLE001
            faults.append(e)
        finally:
            over.set()

    threading.Thread(target=work, name="regreen-ask", daemon=True).start()
    with cancel.waking(over.set):
        over.wait()
    if faults:
        raise faults[0]
    return answers[0] if answers else None


def _with(question: str, options: tuple[str, ...]) -> str:
    """The question, and the answers to choose from, numbered."""
    return "\n".join((question, *(f"  {number}. {option}" for number, option in enumerate(options, 1))))


def _checked(arguments: Mapping[str, Json]) -> tuple[str, tuple[str, ...]]:
    unknown = [n for n in arguments if n not in ("question", "options")]
    if unknown:
        raise UsageError("unknown_argument", f"{ASK_USER} has no argument `{shortened(unknown[0], MAX_NAME)}`",
                         "known: question, options")  # fmt: skip
    question, options = arguments.get("question"), arguments.get("options") or []
    if not isinstance(question, str) or not question.strip():
        raise UsageError("invalid_arguments", f"{ASK_USER} needs `question`, a text", "say what you need to know")
    if len(question) > _MAX_QUESTION:
        raise UsageError("limit_exceeded", f"`question` has {len(question)} characters", f"at most {_MAX_QUESTION}")
    if not isinstance(options, list) or not all(isinstance(o, str) and 0 < len(o) <= _MAX_OPTION for o in options):
        raise UsageError("invalid_arguments", f"`options` is no list of texts of 1 to {_MAX_OPTION} characters",
                         'for example ["yes", "no"]')  # fmt: skip
    if len(options) > _MAX_OPTIONS:
        raise UsageError("limit_exceeded", f"{len(options)} options", f"give at most {_MAX_OPTIONS}")
    return question, tuple(cast("list[str]", options))
