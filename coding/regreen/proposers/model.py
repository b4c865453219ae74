"""A language model as a proposer: one question for each attempt, one answer with edits in it.

Each question is written anew from the brief, since the files have changed; only where the last answer was refused (so
that nothing changed) it stands in the conversation, with the reason below it. An answer that was cut off is never used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from regreen import edits
from regreen.edits.parsed import Parsed
from regreen.errors import ConfigError
from regreen.model import AttemptState, Brief, Proposal, Usage
from regreen.proposers import NOT_ASKED, UNUSABLE
from regreen.proposers.edit_formats import edit_format_for
from regreen.proposers.prompt import FORMATS, Mask, Sources, build, enough_room, least_tokens, refused_text
from regreen.providers.conversation import estimate_tokens
from regreen.providers.errors import BadReply, ContextOverflow, ProviderError
from regreen.providers.messages import ModelRequest, ModelResponse, OnDelta, Restarted, said
from regreen.providers.recovery import RECOVERIES, next_cap
from regreen.redact import Redactor
from regreen.sandbox import Cancel
from regreen.wire import shortened

if TYPE_CHECKING:
    from regreen.providers.client import ModelClient

T = TypeVar("T")

_MOST_SAID = 400
_MOST_NOTED = 200
_NOT_RUN = (AttemptState.REFUSED, AttemptState.REPEATED)
_TEST_CHANGE = re.compile(r"^[\s*_`>#-]*NEEDS_TEST_CHANGE[*_`]*\s*:[*_`]*[ \t]*(\S.*)$", re.MULTILINE)
_NO_SENTENCE = re.compile(r"^(?:`{3,}|~{3,}|[#<>=@\x00{}\[\]]|---|\+\+\+|\S+$)")
_SENTENCE = re.compile(r".*?[.!?](?=\s|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The last question and its answer."""

    request: ModelRequest
    response: ModelResponse


class ModelProposer:
    """Asks a model for the next change. `charge` is told what was used up for nothing: by questions without a proposal.

    `edit_format` "" is the one that suits the model. `mask` takes secrets out of what is said of failures and tries.
    A limit of the whole run that is reached (BudgetSpent) passes through `propose` to whoever drives the run. Raises
    ConfigError where the limits leave no room for a question, or the format cannot be used.
    """

    costs_budget = True

    def __init__(
        self,
        client: ModelClient,
        sources: Sources,
        *,
        cancel: Cancel,
        edit_format: str = "",
        on_delta: OnDelta | None = None,
        max_tokens: int = 8192,
        max_input_tokens: int = 120_000,
        mask: Mask | None = None,
        charge: Callable[[Usage], None] | None = None,
    ) -> None:
        self._client = client
        self._sources = sources
        self._cancel = cancel
        self._format = _checked(edit_format) or edit_format_for(client.model)
        self._on_delta = on_delta
        self._max_tokens = max_tokens
        self._room = enough_room(max_input_tokens - max_tokens, self._format)
        self._mask = mask or Redactor()
        self._charge = charge
        self._asked: _Asked | None = None
        self.why = ""

    @property
    def name(self) -> str:
        return self._client.name

    async def propose(self, brief: Brief) -> Proposal | None:
        """The model's next proposal. None where it refuses, or cannot be asked; `why` says so then."""
        self.why = ""
        meter = self._client.meter
        tokens, usd = meter.usage.total, meter.usd  # also what failed is paid for
        proposal: Proposal | None = None
        try:
            response = await _unless(self._cancel, self._answer(brief))
            proposal = None if response is None else self._read(response)
        except ProviderError as e:
            self.why = _without_answer(e)
        finally:
            usage = Usage(meter.usage.total - tokens, meter.usd - usd)
            if proposal is None and usage.tokens and self._charge is not None:
                self._charge(usage)
        return None if proposal is None else replace(proposal, usage=usage)

    async def _answer(self, brief: Brief) -> ModelResponse:
        """The answer to the next question; asked again where it was cut off, or the question was too long."""
        request = self._request(brief)
        self._asked = None
        for left in range(RECOVERIES, -1, -1):
            try:
                response = await self._ask(request)
            except ContextOverflow:
                self._room //= 2
                if not left or self._room < least_tokens(self._format):
                    raise
                request = self._fresh(brief, request.max_tokens)
                self._restart("the question was too long")
                continue
            if response.stop not in ("truncated", "pause") or not left:
                self._asked = _Asked(request, response)
                return response
            cap = request.max_tokens if response.stop == "pause" else next_cap(request.max_tokens)
            request = replace(request, max_tokens=cap)
            self._restart("the answer was cut off")
        raise AssertionError("the last round returns or raises")

    def _restart(self, why: str) -> None:
        if self._on_delta is not None:
            self._on_delta(Restarted(why))

    async def _ask(self, request: ModelRequest) -> ModelResponse:
        response = await self._client.ask(request, self._on_delta)
        if response.stop == "context_overflow":
            raise ContextOverflow(
                "the question and its answer are longer than the model's window", "lower `max_input_tokens`"
            )
        return response

    def _request(self, brief: Brief) -> ModelRequest:
        """The question: the last conversation with the reason of a refusal, or one that begins anew."""
        last, tried = self._asked, brief.tried[-1] if brief.tried else None
        if last is not None and tried is not None and tried.state in _NOT_RUN and last.response.message.text.strip():
            answer = said("user", refused_text(tried, brief.advice, self._mask))
            messages = (*last.request.messages, last.response.message, answer)
            longer = replace(last.request, messages=messages, max_tokens=self._max_tokens)
            if estimate_tokens(longer) <= self._room:
                return longer
        return self._fresh(brief, self._max_tokens)

    def _fresh(self, brief: Brief, max_tokens: int) -> ModelRequest:
        prompt = build(brief, self._sources, self._mask, edit_format=self._format, max_tokens=self._room)
        return ModelRequest(prompt.system, (said("user", prompt.user),), max_tokens=max_tokens)

    def _read(self, response: ModelResponse) -> Proposal | None:
        """The proposal in a whole answer; None where there is none, and `why` is set."""
        text = response.message.text
        match response.stop:
            case "refusal":
                about = f": {shortened(text.strip(), _MOST_SAID)}" if text.strip() else " to answer, without a reason"
                self.why = _sentence(f"The model refused{about}")
            case "truncated" | "pause":
                assert self._asked is not None
                cap = self._asked.request.max_tokens
                self.why = (
                    f"The model's answer was cut off {RECOVERIES + 1} times, at last at {cap} tokens, and none was "
                    "used. Raise `max_tokens`, or narrow the selection to one failing test."
                )
            case _:
                return proposal_of(text, self._format)
        return None


def proposal_of(text: str, edit_format: str) -> Proposal:
    """What an answer proposes. It is read as the format that was asked for where it is that, else as any other."""
    parsed = edits.parse(text, edit_format)
    if not parsed.edits and (reason := _TEST_CHANGE.search(text)):
        return Proposal(needs_test_change=reason[1].strip(), note=_note(parsed))
    as_asked = parsed.problem is None and parsed.edits
    return Proposal(text=text, format=edit_format if as_asked else "auto", note=_note(parsed))


def _note(parsed: Parsed) -> str:
    """The first sentence of the words around the edits."""
    words = (line.strip() for line in parsed.rest.split("\n"))
    prose = " ".join(line for line in words if line and not _NO_SENTENCE.match(line))
    first = _SENTENCE.match(prose)
    note = first[0] if first else prose
    return note if len(note) <= _MOST_NOTED else note[: _MOST_NOTED - 1] + "…"


def _checked(edit_format: str) -> str:
    """The format that was named, "" for none. Raises ConfigError for one in which files cannot be changed."""
    name = "" if edit_format == "auto" else edit_format
    if name and name not in FORMATS:
        raise ConfigError("config_refused", f"edit_format `{name}` cannot be used for fixes",
                          f"use one of: {', '.join(FORMATS)}, or leave it out")  # fmt: skip
    return name


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def _without_answer(e: ProviderError) -> str:
    """Why there is no answer: the cause in the first line, what to do about it in the next."""
    usable = isinstance(e, BadReply | ContextOverflow)
    return f"{UNUSABLE if usable else NOT_ASKED}{_sentence(e.message)}\n{_sentence(e.hint)}".strip()


async def _unless(cancel: Cancel, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of `work`; None, with the work cancelled, as soon as the flag is set."""
    import asyncio

    if cancel.is_set():
        work.close()
        return None
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

    def wake() -> None:
        loop.call_soon_threadsafe(task.cancel)

    with cancel.waking(wake):
        try:
            return await task
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if not cancel.is_set() or (own is not None and own.cancelling()):
                raise
            return None
