"""The person behind the client, where the client offers elicitation: a question of the agent's, asked in the client's
own window, for an engine that works in other threads.

In the protocol era in which a server may ask on its own; in the later one a job asks through its task (`through`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

    from mcp_types import ClientCapabilities, ElicitResult

    from regreen.agent.ask_user import AskUser
    from regreen.sandbox import Cancel
    from regreen_server.line import Line
    from regreen_server.task_questions import Questions

_ANSWER = "answer"


def offered(line: Line) -> AskUser | None:
    """How the person is asked, from any thread; None where the client offers no forms. Call it from the event loop.

    An answer that was declined is "" (the agent decides by itself); a dialog that was closed, a client that has gone
    or does not answer in time, and a cancelled call are no answer at all.
    """
    if not offers_forms(line.capabilities) or not line.can_ask:
        return None
    loop = asyncio.get_running_loop()

    def ask(question: str, options: tuple[str, ...], cancel: Cancel) -> str | None:
        asked = _asked(line, question, options)
        try:
            answer = asyncio.run_coroutine_threadsafe(asked, loop)
        except RuntimeError:  # the server's loop has ended
            asked.close()
            return None
        with cancel.waking(lambda: _take_back(answer)):
            return _answer(answer)

    return ask


def through(questions: Questions) -> AskUser:
    """How a job asks the person by its task, from any thread; what comes of it is as for `offered`."""
    from regreen.agent.ask_user import ANSWER_S

    def ask(question: str, options: tuple[str, ...], cancel: Cancel) -> str | None:
        from regreen.wire import encodable

        result = questions.ask(str(encodable(question)), _form(options), cancel, ANSWER_S)
        return _said(result)

    return ask


def offers_forms(capabilities: ClientCapabilities | None) -> bool:
    """Can the client show a form? An empty capability means forms; it may also be for pages only."""
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _take_back(answer: Future[str | None]) -> None:
    answer.cancel()


def _answer(answer: Future[str | None]) -> str | None:
    from concurrent.futures import CancelledError

    try:
        return answer.result()
    except CancelledError:  # taken back, or the server ends
        return None


async def _asked(line: Line, question: str, options: Sequence[str]) -> str | None:
    from regreen.agent.ask_user import ANSWER_S

    return _said(await put(line, question, _form(options), ANSWER_S))


async def put(line: Line, message: str, form: Mapping[str, Any], limit_s: float) -> ElicitResult | None:
    """What comes of a form that the client shows. None: nobody answers in time, the client has gone, refuses, or talks
    nonsense."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult
    from pydantic import ValidationError

    from regreen.wire import encodable

    params = ElicitRequestFormParams(message=str(encodable(message)), requested_schema=dict(form))
    try:
        async with asyncio.timeout(limit_s):
            return await line.request(ElicitRequest(params=params), ElicitResult)
    except (TimeoutError, MCPError, ValidationError):
        return None


def _said(result: ElicitResult | None) -> str | None:
    if result is None:
        return None
    if result.action == "accept":
        return str((result.content or {}).get(_ANSWER, "")).strip()
    return "" if result.action == "decline" else None


def _form(options: Sequence[str]) -> dict[str, Any]:
    field: dict[str, Any] = {"type": "string", "title": "Answer"}
    if options:
        field["enum"] = list(options)
    return {"type": "object", "properties": {_ANSWER: field}, "required": [_ANSWER]}
