"""What is said to a run that goes on: a fix, words for the agent, its end. One form, over HTTP and in a WebSocket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from regreen.agent.steering import MAX_CHARS
from regreen.errors import Refused, RegreenError, UsageError
from regreen.wire import Json, encodable, shown
from regreen_server.calls import ErrorAnswer
from regreen_server.http.reading import only, text_of

if TYPE_CHECKING:
    from regreen_server.calls import Answer, Caller
    from regreen_server.tool_list import Offer

KINDS: Mapping[str, str] = {"fix": "submit_fix", "message": "coding_task", "cancel": "job_cancel"}
"""The kinds of messages, and the tool that must be offered for each."""
_OURS = ("job_id", "repo")  # what the address says already


class Desk:
    """Calls on runs, for whoever speaks plain HTTP. What this server does not offer is refused."""

    def __init__(self, caller: Caller, offer: Offer) -> None:
        self.caller = caller
        self._offered = frozenset(spec.name for spec in offer.tools())

    def check_offered(self, tool: str) -> None:
        """Raises Refused (`denied_by_mode`) for a tool that is not offered."""
        if tool not in self._offered:
            raise Refused("denied_by_mode", f"this server does not offer {tool}",
                          "ask whoever runs it for one without --read-only and with all toolsets")  # fmt: skip

    async def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Json]:
        """The result of a call. Raises RegreenError where it was refused; a job that ended with an error is none."""
        answer = await self.caller.call(tool, arguments, _unheard)
        return result_of(answer)

    async def on_run(self, tool: str, run_id: str, arguments: Mapping[str, object]) -> dict[str, Json]:
        """The same about one run. Raises UsageError (`not_found`) where it is not known here."""
        repo = await self.caller.look("run", lambda engine: engine.repo_of(run_id))
        return await self.call(tool, {**arguments, "job_id": run_id, **({"repo": repo} if repo else {})})

    async def take(self, run_id: str, message: Mapping[str, object]) -> dict[str, Json]:
        """Do what a message says; the run's data. Raises RegreenError where it is not accepted."""
        await self.caller.look("run", lambda engine: engine.known_run(run_id))
        kind = text_of(message, "kind", f"one of {', '.join(KINDS)}")
        if kind not in KINDS:
            raise UsageError("invalid_arguments", f"`kind` is {shown(kind)}", f"one of: {', '.join(KINDS)}")
        self.check_offered(KINDS[kind])
        rest = {name: value for name, value in message.items() if name != "kind"}
        match kind:
            case "fix":
                return await self._fix(run_id, rest)
            case "message":
                return await self._steer(run_id, rest)
            case _:
                only("a cancel", rest, ())
                return await self.on_run("job_cancel", run_id, {})

    async def _fix(self, run_id: str, rest: Mapping[str, object]) -> dict[str, Json]:
        for name in _OURS:
            if name in rest:
                raise UsageError(
                    "unknown_argument", f"a fix has no `{name}`", "leave it out: the address names the run"
                )
        return await self.on_run("submit_fix", run_id, {"wait_s": 0, **rest})

    async def _steer(self, run_id: str, rest: Mapping[str, object]) -> dict[str, Json]:
        only("a message", rest, ("text",))
        words = text_of(rest, "text", "what the agent shall hear")
        if len(words) > MAX_CHARS:
            raise UsageError("limit_exceeded", f"`text` has {len(words)} characters", f"give at most {MAX_CHARS}")
        data = await self.caller.do("steer", lambda engine: engine.steer(run_id, words))
        told = encodable(dict(data))
        assert isinstance(told, dict)
        return told


def result_of(answer: Answer) -> dict[str, Json]:
    """The data of an answer. Raises its error as RegreenError, unless it is that of a job: then it is data."""
    data = encodable(dict(answer.data))
    assert isinstance(data, dict)
    error = data.get("error")
    if not answer.is_error or "job_id" in data or not isinstance(error, dict):
        return data
    told = ErrorAnswer(str(error["kind"]), str(error["message"]), str(error.get("hint", "")))
    raise RegreenError(told.kind, told.message, told.hint)


async def _unheard(_seconds: float, _text: str) -> None:
    """Progress is told by the run's events."""
