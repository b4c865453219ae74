"""Approvals through the client: the person behind it is asked before an effect that policy does not let pass.

Rules: only a client that offers forms is asked, and only a clear yes is one. Where the protocol lets a server ask by
itself, the call waits; in the later era the call ends with the question, and the client sends it again with the answer.
A job that the client follows as a task asks through that task.
What a yes was for is looked up by the question's digest when the tool has run again: a changed effect is asked anew.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

from regreen.errors import Refused, RegreenError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.server.request_state import RequestStateBoundary
    from mcp_types import CallToolRequestParams, ElicitResult, InputRequiredResult

    from regreen.agent.approval import Approver, Question
    from regreen.sandbox import Cancel
    from regreen_server.calls import Caller, ToolEngine
    from regreen_server.line import Line
    from regreen_server.task_questions import Questions

ANSWER_S = 600.0
"""How long an answer is waited for; and how long a question that a client carries is good for."""
_REMEMBERED_S = 8 * 3600.0
_MOST_REMEMBERED = 1000
_APPROVE = "approve"

T = TypeVar("T")
Word: TypeAlias = Literal["once", "session", "reject"]


class Granted:
    """What was approved for the rest of a session, by whose it is; bounded, and for some hours. For any thread."""

    def __init__(self) -> None:
        self._until: OrderedDict[tuple[Hashable, str], float] = OrderedDict()

    def add(self, who: Hashable, what: str) -> None:
        """Nothing is remembered for whoever cannot be told from others (None)."""
        if who is None:
            return
        self._until[who, what] = time.monotonic() + _REMEMBERED_S
        while len(self._until) > _MOST_REMEMBERED:
            self._until.popitem(last=False)

    def has(self, who: Hashable, what: str) -> bool:
        return who is not None and self._until.get((who, what), 0.0) > time.monotonic()


@dataclass(slots=True)
class Round:
    """One call as the client sends it, in the era of returned questions: the answers that it carries so far, and the
    question that it has to end with."""

    answers: dict[str, Word] = field(default_factory=dict[str, Word])
    question: Question | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call may ask with; None: not at all. `round_` where questions are returned."""

    approve: Approver | None = None
    in_jobs: Approver | None = None
    round_: Round | None = None


class Approvals:
    """The approvals of one server, through whichever clients it has."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._granted = Granted()

    async def offered(
        self,
        ctx: ServerRequestContext[Any],
        params: CallToolRequestParams,
        line: Line,
        questions: Questions | None = None,
    ) -> Asked:
        """How the person behind this call is asked; `questions`: by a job that goes on as a task."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        from regreen_server.elicitation import offers_forms

        if not offers_forms(line.capabilities):
            return Asked()
        who = _who(ctx, modern=(modern := ctx.protocol_version in MODERN_PROTOCOL_VERSIONS))
        if modern:
            round_ = Round(await self._answers(params))
            in_jobs = self._remembering(who) if questions is None else self._through(who, questions)
            return Asked(self._returning(who, round_), in_jobs, round_)
        if not line.can_ask:
            return Asked()
        approve = self._waiting(line, who)
        return Asked(approve, approve)

    # --- asked by the server -------------------------------------------------------------------------

    def _waiting(self, line: Line, who: Hashable) -> Approver:
        loop = asyncio.get_running_loop()

        def approve(question: Question, cancel: Cancel) -> bool | None:
            if self._granted.has(who, question.standing):
                return True
            asked = _ask(line, question)
            try:
                answer = asyncio.run_coroutine_threadsafe(asked, loop)
            except RuntimeError:  # the server's loop has ended
                asked.close()
                return None
            with cancel.waking(lambda: _take_back(answer)):
                word = _answered(answer)
            return None if word is None else self._take(who, question, word)

        return approve

    def _take(self, who: Hashable, question: Question, word: Word) -> bool:
        if word == "session":
            self._granted.add(who, question.standing)
        return word != "reject"

    # --- asked by the client, with the call sent again -----------------------------------------------

    def _returning(self, who: Hashable, round_: Round) -> Approver:
        def approve(question: Question, _cancel: Cancel) -> bool | None:
            if self._granted.has(who, question.standing):
                return True
            if (word := round_.answers.get(question.digest)) is not None:
                return self._take(who, question, word)
            round_.question = question  # the call ends here, and is answered with the question
            return None

        return approve

    def _through(self, who: Hashable, questions: Questions) -> Approver:
        """For a job whose client asks for it as a task: it waits there for the answer."""

        def approve(question: Question, cancel: Cancel) -> bool | None:
            if self._granted.has(who, question.standing):
                return True
            word = _word(questions.ask(_text(question), _form(), cancel, ANSWER_S))
            return None if word is None else self._take(who, question, word)

        return approve

    def _remembering(self, who: Hashable) -> Approver:
        """For a job: it outlives its call, and nobody can be asked after that."""

        def approve(question: Question, _cancel: Cancel) -> bool | None:
            if self._granted.has(who, question.standing):
                return True
            raise Refused(question.ask.kind, f"{question.ask.reason}; in this protocol a job cannot ask the user",
                          "let the user approve a call of apply_edits or run_tests for the session, or start regreen "
                          "with `--mode accept-edits`")  # fmt: skip

        return approve

    async def _answers(self, params: CallToolRequestParams) -> dict[str, Word]:
        """The answers that a call carries. The state is ours (the seal has been verified), and counts once."""
        if params.request_state is None:
            return {}
        state = cast("dict[str, Any]", json.loads(params.request_state))
        if not await _looked(self._caller, lambda engine: engine.take_seal(str(state["nonce"]), 2 * ANSWER_S)):
            return {}
        answers = cast("dict[str, Word]", state["answers"])
        response = (params.input_responses or {}).get(_APPROVE)
        word = _word(cast("ElicitResult | None", response)) if response is not None else None
        if word is not None:
            answers[str(state["asked"])] = word
        return answers


def input_required(round_: Round) -> InputRequiredResult | None:
    """The question that a call ends with, if it does; the state that the client brings back with the answer."""
    from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

    if round_.question is None:
        return None
    params = ElicitRequestFormParams(message=_text(round_.question), requested_schema=_form())
    state = {"nonce": secrets.token_hex(16), "answers": round_.answers, "asked": round_.question.digest}
    return InputRequiredResult(input_requests={_APPROVE: ElicitRequest(params=params)}, request_state=json.dumps(state))


class Seal:
    """Middleware: what a client carries back is sealed with the secret of the state folder, so that every server on
    it takes the answer and nobody else can make one. Loaded when the first question is put."""

    def __init__(self, caller: Caller, audience: str) -> None:
        self._caller = caller
        self._audience = audience
        self._boundary: RequestStateBoundary | None = None

    async def __call__(self, ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
        from mcp_types.methods import is_input_required

        if ctx.params is not None and ctx.params.get("requestState") is not None:
            return await (await self._made())(ctx, call_next)
        result = await call_next(ctx)
        if not is_input_required(result):
            return result

        async def known(_ctx: ServerRequestContext[Any]) -> HandlerResult:
            return result

        return await (await self._made())(ctx, known)

    async def _made(self) -> RequestStateBoundary:
        if self._boundary is None:
            from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

            key = await _looked(self._caller, lambda engine: engine.seal_key())
            security = RequestStateSecurity(keys=[key], ttl=ANSWER_S)
            self._boundary = RequestStateBoundary(security, default_audience=self._audience)
        return self._boundary


async def _looked(caller: Caller, work: Callable[[ToolEngine], T]) -> T:
    """What the engine says. Raises MCPError, with its reason, where the state folder is not to be used."""
    from regreen_server.refusals import refusal_of

    try:
        return await caller.look("seal", work)
    except RegreenError as e:
        raise refusal_of(e) from e


def _who(ctx: ServerRequestContext[Any], *, modern: bool) -> Hashable:
    """Whose session it is: the pipe's, an HTTP session's, or, where there are none, a principal's."""
    if ctx.request is None:
        return "pipe"
    from mcp.server.request_state import authenticated_principal

    principal = authenticated_principal(ctx)
    if modern:
        return ("principal", principal) if principal is not None else None
    session = ctx.request.headers.get("mcp-session-id")
    return ("session", session, principal) if session else None


async def _ask(line: Line, question: Question) -> Word | None:
    from regreen_server.elicitation import put

    return _word(await put(line, _text(question), _form(), ANSWER_S))


def _answered(answer: Future[Word | None]) -> Word | None:
    from concurrent.futures import CancelledError

    try:
        return answer.result()
    except CancelledError:  # taken back, or the server ends
        return None


def _take_back(answer: Future[Word | None]) -> None:
    answer.cancel()


def _word(result: ElicitResult | None) -> Word | None:
    """A form that was sent with a clear yes; all else that a person did is a no. None: nobody answered."""
    action = getattr(result, "action", None)
    if action is None:
        return None
    content: Mapping[str, Any] = getattr(result, "content", None) or {}
    said = content.get(_APPROVE)
    return said if action == "accept" and said in ("once", "session") else "reject"


def _text(question: Question) -> str:
    from regreen.wire import encodable

    return str(encodable(question.text()))


def _form() -> dict[str, Any]:
    words = {"type": "string", "title": "Approve", "enum": ["once", "session", "reject"]}
    return {"type": "object", "properties": {_APPROVE: words}, "required": [_APPROVE]}
