"""The agent's tools by name, and the way from the calls of a model's answer to what it is told came of them.

Rules: each call gets exactly one output, in order; nothing that a tool does ends the loop, and no traceback reaches the
model; what leaves here is redacted, valid Unicode, and within its budget.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import TypeAlias

from regreen.agent.execution import CLOSE_S, GRACE_S, Execution, partition
from regreen.agent.results import MAX_CHARS, READ_RESULT, Results, read_result
from regreen.agent.state import Executed
from regreen.agent.tool import OnProgress, Tool, ToolContext, ToolReply, failure, refusal
from regreen.errors import ConfigError, RegreenError, UsageError
from regreen.providers.client import OnEvent, ignore
from regreen.providers.messages import ToolCall, ToolDefinition, ToolOutput
from regreen.sandbox import Cancel
from regreen.settings import AgentSettings
from regreen.wire import MAX_NAME, Json, counted, encodable, nearest, shortened

__all__ = ["Approve", "Tool", "ToolContext", "ToolReply", "Toolbox"]

Approve: TypeAlias = Callable[[Tool, Mapping[str, Json], Cancel], bool]
"""Asks somebody whether a tool may be called so, in a thread; True means: yes, this once. Returns when cancelled."""

MCP_MARK = "__"  # in the names of the tools of MCP servers; a server that does not start leaves its names unknown

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what every provider takes
_EVENT_CHARS = 500  # of an argument
_EVENT_ARGUMENTS = 20  # of a call
_MASKED_CHARS = 50_000  # of an argument, before what is shown of it is cut: no cut then leaves half of a secret
_log = logging.getLogger(__name__)


class Toolbox:
    """Tools that an agent may call."""

    def __init__(
        self,
        tools: Iterable[Tool],
        *,
        settings: AgentSettings | None = None,
        on_event: OnEvent = ignore,
        on_progress: OnProgress | None = None,
        approve: Approve | None = None,
        redact: Callable[[str], str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        grace_s: float = GRACE_S,
    ) -> None:
        """`grace_s`: how long a tool that took too long may take to stop.

        Raises UsageError for two tools of one name or a name that models do not take, ConfigError where the
        settings name a tool that there is not, or call a tool that writes safe beside others."""
        self._settings = settings or AgentSettings()
        self._on_event = on_event
        self._on_progress = on_progress or _say_nothing
        self._approve = approve
        self._redact = redact or str
        self._clock = clock
        self._results = Results()
        every = _by_name((*tools, read_result(self._results, self._settings.tool_result_chars)))
        _check_settings(every, self._settings)
        enabled = self._settings.enabled
        self._tools = {n: t for n, t in every.items() if not enabled or n == READ_RESULT or _named(n, enabled)}
        self._execution = Execution(clock, grace_s=grace_s)

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The tools as a model is offered them, always in the same order: what is cached of a request stays valid."""
        return tuple(t.definition for t in self._tools.values())

    async def execute(self, calls: Sequence[ToolCall]) -> tuple[Executed, ...]:
        """Run the calls: those that only read beside each other, the others alone, in order. Cancelled, it tells the
        running tools to stop and raises CancelledError at once; what has not begun never does."""
        done: list[Executed] = []
        for batch in partition(calls, self._is_safe, self._settings.max_parallel):
            done.extend(await asyncio.gather(*(self._one(call) for call in batch)))
        return tuple(done)

    def close(self, wait_s: float = CLOSE_S) -> bool:
        """End the threads, and wait so long for calls that were told to stop and still run: True once none does.

        False: one hangs, and if it writes it may still do so. Its thread ends with it, or with the process.
        """
        return self._execution.close(wait_s)

    def _is_safe(self, call: ToolCall) -> bool:
        """May the call run beside others? A tool that writes or has to be approved never may."""
        tool = self._tools.get(call.name)
        if tool is None or not tool.read_only or tool.requires_approval:
            return False
        chosen = self._settings.concurrency_safe
        return not chosen or tool.name == READ_RESULT or _named(tool.name, chosen)

    async def _one(self, call: ToolCall) -> Executed:
        started = self._clock()
        told = {"id": shortened(call.id, MAX_NAME), "tool": shortened(call.name, MAX_NAME)}
        self._on_event("tool_call", {**told, "arguments": self._shown(call.arguments)})
        reply = await self._reply(call)
        text = self._text(call.name, reply)
        duration_s = self._clock() - started
        failed = {"message": shortened(text.partition("\n")[0], _EVENT_CHARS)} if reply.is_error else {}
        self._on_event("tool_result", {
            **told, "is_error": reply.is_error, "denied": reply.denied, "chars": len(text),
            "duration_s": round(duration_s, 3), **failed,
        })  # fmt: skip
        return Executed(
            call,
            ToolOutput(call.id, text, reply.is_error),
            denied=reply.denied,
            empty=reply.empty or not reply.text,
            duration_s=duration_s,
            question=reply.question,
        )

    async def _reply(self, call: ToolCall) -> ToolReply:
        tool = self._tools.get(call.name)
        if tool is None:
            return self._unknown(call.name)
        if call.fault:
            return failure("invalid_arguments", f"the arguments of `{call.name}` cannot be read: {call.fault}",
                           "send the call again, its arguments as one JSON object")  # fmt: skip
        if tool.requires_approval and (refused := await self._refused(tool, call)):
            return refused
        return await self._execution.run(
            tool,
            lambda cancel: _answer(tool, call.arguments, ToolContext(cancel, self._on_progress)),
            tool.timeout_s or self._settings.tool_timeout_s,
        )

    def _unknown(self, name: str) -> ToolReply:
        near = nearest(name, self._tools)
        hint = f"did you mean `{near[0]}`? " if near else ""
        return failure("not_found", f"there is no tool `{shortened(name, MAX_NAME)}`",
                       f"{hint}tools: {', '.join(self._tools)}")  # fmt: skip

    async def _refused(self, tool: Tool, call: ToolCall) -> ToolReply | None:
        """Why a call that needs approval has none; None where it has."""
        approve = self._approve
        if approve is None:
            self._on_event("permission", {"id": shortened(call.id, MAX_NAME), "tool": tool.name, "allowed": False})
            return failure("needs_approval", f"`{tool.name}` may change things and needs approval; nobody can be asked",
                           "go another way, or say at the end what the user should do", denied=True)  # fmt: skip

        def ask(cancel: Cancel) -> ToolReply:
            return _guarded(tool.name, lambda: ToolReply("", denied=not approve(tool, call.arguments, cancel)))

        answer = await self._execution.ask(ask)
        allowed = not (answer.denied or answer.is_error)
        self._on_event("permission", {"id": shortened(call.id, MAX_NAME), "tool": tool.name, "allowed": allowed})
        if allowed:
            return None
        return answer if answer.is_error else failure(
            "needs_approval", f"the user did not allow this call of `{tool.name}`",
            "do not send it again unchanged: go another way, or ask what they want", denied=True)  # fmt: skip

    def _text(self, name: str, reply: ToolReply) -> str:
        """The text of a reply as the model gets it."""
        tool = self._tools.get(name)
        text = reply.text
        if len(text) > MAX_CHARS:
            text = f"{text[:MAX_CHARS]}… {len(text) - MAX_CHARS} characters more, which are not kept"
        text = str(encodable(self._redact(text))) or "(no output)"
        most = (tool.max_chars if tool else 0) or self._settings.tool_result_chars
        return self._results.fitted(text, most, tool.head_share if tool else 1.0)

    def _shown(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Arguments as events have them: a bounded number of them, each of bounded length."""
        first = islice(arguments.items(), _EVENT_ARGUMENTS)
        told = {self._excerpt(name, MAX_NAME): self._short(value) for name, value in first}
        more = len(arguments) - _EVENT_ARGUMENTS
        return {**told, "…": counted(more, "more argument")} if more > 0 else told

    def _short(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._excerpt(value, _EVENT_CHARS)
        plain = encodable(value)
        text = json.dumps(plain, ensure_ascii=False)
        return plain if len(text) <= _EVENT_CHARS else self._excerpt(text, _EVENT_CHARS)

    def _excerpt(self, text: str, most: int) -> str:
        if len(text) <= _MASKED_CHARS:
            return shortened(self._redact(text), most)
        return f"{self._redact(text[:_MASKED_CHARS])[:most]}… {len(text) - most} characters more"


def _answer(tool: Tool, arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
    """What the tool replies, whatever happens in it. Runs in a thread."""
    return _guarded(tool.name, lambda: _conforming(tool.name, tool.run(arguments, context)))


def _guarded(name: str, work: Callable[[], ToolReply]) -> ToolReply:
    """A fault becomes an error with an id, and its traceback goes to the log under the same id."""
    try:
        return work()
    except RegreenError as e:
        return refusal(e)
    except BaseException:  # noqa: BLE001 - SystemExit and the like, too: a tool must not end the run
        identity = secrets.token_hex(4)
        _log.exception("fault %s in the tool %s", identity, name)
        return failure("internal", f"unexpected fault in `{name}` ({identity})",
                       f"go another way; the log has the details under {identity}")  # fmt: skip


def _conforming(name: str, reply: object) -> ToolReply:
    """The reply, or an error where it is none: a tool's author is told in the log, the model in words."""
    if isinstance(reply, ToolReply) and isinstance(reply.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return reply
    found = type(reply.text if isinstance(reply, ToolReply) else reply).__name__
    _log.warning("the tool %s replied with %s instead of a ToolReply of text", name, found)
    return failure("bad_reply", f"`{name}` replied with {found}, which cannot be shown", "go another way")


def _by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for tool in tools:
        if not _NAME.fullmatch(tool.name):
            raise UsageError("invalid_arguments", f"`{tool.name}` is no name for a tool",
                             "letters, digits, _ and -, at most 64")  # fmt: skip
        if tool.name in found:
            raise UsageError("invalid_arguments", f"two tools are called `{tool.name}`", "rename one of them")
        found[tool.name] = tool
    return found


def _check_settings(tools: Mapping[str, Tool], settings: AgentSettings) -> None:
    for option, names in (("enabled", settings.enabled), ("concurrency_safe", settings.concurrency_safe)):
        for name in names:
            if MCP_MARK not in name and not any(fnmatchcase(t, name) for t in tools):
                raise ConfigError("config_refused", f"[tools] {option} names `{name}`, which the agent does not have",
                                  f"it has: {', '.join(tools)}")  # fmt: skip
    for name in settings.concurrency_safe:
        if name in tools and not tools[name].read_only:
            raise ConfigError("config_refused", f"[tools] concurrency_safe names `{name}`, which changes things",
                              "leave it out: only tools that read can run beside others")  # fmt: skip


def _named(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _say_nothing(text: str) -> None:
    pass
