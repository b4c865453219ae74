"""Tools of the MCP servers that the user has configured, for the agent.

Rules: a server is started when its tools are first asked for, outside of our sandbox, since the user named its command;
never from anything that a repository says, and not in its folder. What it says of itself is bounded and marked as its
own. A server that does not start, dies or breaks the protocol is a note or an error output, and no more: what the SDK
logs of it goes there too. `close` ends every process, and all that came of it; so does our death.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from regreen.agent.schemas import PROPERTY_NAME, Schema, flat
from regreen.agent.tool import Tool, ToolContext, ToolReply, failure
from regreen.agent.toolbox import MCP_MARK
from regreen.sandbox import Cancel
from regreen.sandbox.kept import Kept, kept
from regreen.wire import Json, shortened

if TYPE_CHECKING:
    import anyio
    from mcp import Client
    from mcp.types import CallToolResult
    from mcp.types import Tool as ListedTool

START_S = 20.0
CLOSE_S = 15.0
MAX_TOOLS = 64  # of one server
MAX_PAGES = 20
MAX_NOTES = 10  # on one server
MAX_DESCRIPTION = 800
MAX_SCHEMA = 8_000
_STDERR_KEPT = 2_000  # bytes
_STDERR_S = 0.5  # until the last of it has come, where all who could write have ended
_SAID_LINES, _SAID_CHARS = 3, 300  # of them, in a note
_log = logging.getLogger(__name__)


class McpServers:
    """The configured servers, and their tools. Use it in a `with`, or close it."""

    def __init__(
        self,
        servers: Mapping[str, Sequence[str]],
        *,
        cwd: Path,
        redact: Callable[[str], str] = str,
        start_s: float = START_S,
    ) -> None:
        """`servers` are the settings' (name -> argv). `cwd` is where they run: not the repository, in which a name
        could mean a program of its own."""
        self._servers = [_Server(name, tuple(argv), cwd, redact, start_s) for name, argv in servers.items()]
        self.notes: tuple[str, ...] = ()
        """What is left out, and why; known after `tools`."""

    def tools(self, cancel: Cancel | None = None) -> tuple[Tool, ...]:
        """The servers' tools, called `server__tool`; starts the servers that do not run, all at once. Where `cancel` is
        set in the meantime, the servers are stopped, and what is known is returned at once."""
        found: list[Tool] = []
        notes: list[str] = []
        with (cancel or Cancel()).waking(self._stop):
            for server in self._servers:
                server.start()
            for server in self._servers:
                tools, said = server.tools()
                found += tools
                notes += said
        self.notes = tuple(notes)
        return tuple(found)

    def _stop(self) -> None:
        for server in self._servers:
            server.stop()

    def close(self) -> None:
        """End the servers' processes. Waits for that, for some seconds at most."""
        self._stop()
        for server in self._servers:
            server.join(CLOSE_S)

    def __enter__(self) -> McpServers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Server:
    """One server: its process lives in a thread with an event loop of its own."""

    def __init__(
        self, name: str, argv: tuple[str, ...], cwd: Path, redact: Callable[[str], str], start_s: float
    ) -> None:
        self.name = name
        self._argv = argv
        self._cwd = cwd
        self._redact = redact
        self._start_s = start_s
        self._thread: threading.Thread | None = None
        self._ready: Future[tuple[ListedTool, ...]] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scope: anyio.CancelScope | None = None
        self._kept: Kept | None = None
        self._stopped = False
        self._client: Client | None = None
        self._errors = _Tail(_STDERR_KEPT)

    # --- its life ------------------------------------------------------------------------------------

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._live, name=f"regreen-mcp-{self.name}", daemon=True)
            self._thread.start()

    def _live(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as e:  # noqa: BLE001 - whatever a foreign server does is told, and ends nothing else
            _log.debug("the MCP server %s: %s", self.name, e, exc_info=True)
            self._errors.wait(_STDERR_S)
            self._failed(_reason(e))
        finally:
            self._client = None
            self._failed("it has ended")

    def _failed(self, why: str) -> None:
        lines = [line.strip() for line in self._redact(self._errors.text()).splitlines() if line.strip()]
        said = " / ".join(lines[-_SAID_LINES:])
        said = said if len(said) <= _SAID_CHARS else "…" + said[-_SAID_CHARS:]
        with suppress(InvalidStateError):  # it had started, or failed before
            self._ready.set_exception(_NotStarted(why + (f"; it said: {said}" if said else "")))

    async def _serve(self) -> None:
        import anyio
        from mcp import Client, StdioServerParameters, stdio_client

        if not self._argv:
            raise ValueError("its command is empty")
        self._loop = asyncio.get_running_loop()
        with _SdkLog() as sdk, self._errors.file() as errors, kept(self._argv) as self._kept:
            command, *arguments = self._kept.argv
            parameters = StdioServerParameters(command=command, args=arguments, env=dict(self._kept.env),
                                               cwd=self._cwd, encoding_error_handler="replace")  # fmt: skip
            with anyio.CancelScope() as scope:
                scope.deadline = anyio.current_time() + self._start_s
                self._scope = scope
                if self._stopped:
                    return
                # The way out of here is the scope alone: it lets the SDK end the process in its own time.
                async with Client(stdio_client(parameters, errlog=errors), cache=None) as client:
                    listed = await _all_tools(client)
                    scope.deadline = math.inf
                    self._client = client
                    with suppress(InvalidStateError):  # it was stopped
                        self._ready.set_result(listed)
                    await anyio.sleep_forever()
            if not self._stopped:
                self._failed(f"it did not answer within {self._start_s:g} s" + (f"; {sdk.last}" if sdk.last else ""))

    def stop(self) -> None:
        """Tell it to end. One that has started may do so in its own time; one that has not is killed."""
        self._stopped = True
        self._client = None
        self._failed("it was stopped")
        loop, scope = self._loop, self._scope
        if loop is not None and scope is not None:
            with suppress(RuntimeError):  # the loop has ended by itself
                loop.call_soon_threadsafe(scope.cancel)
        if self._kept is not None and self._ready.exception() is not None:
            self._kept.end()

    def join(self, timeout_s: float) -> None:
        if self._thread is not None:
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                _log.warning("the MCP server %s has not ended within %g s", self.name, timeout_s)

    # --- its tools -----------------------------------------------------------------------------------

    def tools(self) -> tuple[list[Tool], list[str]]:
        """Its tools as ours, and notes on what is left out."""
        try:
            listed = self._ready.result(self._start_s + CLOSE_S)
        except (_NotStarted, TimeoutError) as e:
            why = str(e) or "it did not start"
            return [], [f"the MCP server `{self.name}` is left out: {why}; see its argv in [tools.mcp.{self.name}]"]
        found: dict[str, Tool] = {}
        notes: list[str] = []
        for tool in listed[:MAX_TOOLS]:
            made = self._as_ours(tool)
            if isinstance(made, str):
                notes.append(f"`{shortened(tool.name, 80)}` of the MCP server `{self.name}` is left out: {made}")
            elif made.name in found:
                notes.append(f"the MCP server `{self.name}` has two tools `{made.name}`: the second is left out")
            else:
                found[made.name] = made
        if len(listed) > MAX_TOOLS:
            notes.append(f"the MCP server `{self.name}` has {len(listed)} tools: the first {MAX_TOOLS} are taken")
        more = len(notes) - MAX_NOTES
        return list(found.values()), notes[:MAX_NOTES] + (
            [f"and {more} more notes on `{self.name}`"] if more > 0 else []
        )

    def _as_ours(self, tool: ListedTool) -> Tool | str:
        """The tool, or why there is none."""
        name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{self.name}{MCP_MARK}{tool.name}")
        if len(name) > 64:
            return "its name is too long"
        schema = bounded_schema(tool.input_schema)
        if isinstance(schema, str):
            return schema
        reads = tool.annotations is not None and tool.annotations.read_only_hint is True
        says = self._redact(" ".join((tool.description or tool.title or tool.name).split()))
        return Tool(
            name=name,
            description=f"[MCP server {self.name}] {shortened(says, MAX_DESCRIPTION)}",
            schema=schema,
            run=lambda arguments, context: self._call(tool.name, arguments, context),
            read_only=reads,
            requires_approval=not reads,
        )

    def _call(self, name: str, arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
        """Run one of its tools. Blocks; ends when the call's cancel is set."""
        client, loop = self._client, self._loop
        if client is None or loop is None:
            return self._fault("it has ended")
        try:
            answer = asyncio.run_coroutine_threadsafe(client.call_tool(name, dict(arguments)), loop)
            with context.cancel.waking(lambda: _give_up(answer)):
                return self._as_reply(answer.result())
        except CancelledError:
            return failure("cancelled", f"the call of `{name}` was given up")
        except Exception as e:  # noqa: BLE001 - a foreign program and its client: whatever it is, the loop goes on
            _log.debug("the MCP server %s, tool %s: %s", self.name, name, e, exc_info=True)
            return self._fault(_reason(e))

    def _fault(self, why: str) -> ToolReply:
        return failure("mcp_failed", f"the MCP server `{self.name}` gave no answer: {shortened(why, 500)}",
                       "do without it, or go another way")  # fmt: skip

    def _as_reply(self, result: CallToolResult) -> ToolReply:
        text = "\n".join(said for block in result.content if (said := _block_text(block)))
        if not text and result.structured_content is not None:
            text = json.dumps(result.structured_content, ensure_ascii=False)
        if not result.is_error:
            return ToolReply(text, empty=not text.strip())
        return failure(
            "mcp_error", f"the MCP server `{self.name}` says: {text.strip() or 'no more than that it failed'}"
        )


class _NotStarted(Exception):
    pass


def _give_up(answer: Future[Any]) -> None:
    answer.cancel()


async def _all_tools(client: Client) -> tuple[ListedTool, ...]:
    """The tools of all pages; of a server that has no end of them, the first pages'."""
    found: list[ListedTool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor or len(found) > MAX_TOOLS:
            break
    return tuple(found)


def bounded_schema(schema: Mapping[str, Any]) -> Schema | str:
    """A foreign schema as models take it, or why they would not. One that is too large keeps its first level."""
    try:
        found = flat(schema, recursion=True)
    except (ValueError, RecursionError) as e:
        return f"its schema cannot be used: {e}"
    wrong = [n for n in found["properties"] if not PROPERTY_NAME.fullmatch(n)]
    if wrong:
        return f"models take no argument called `{shortened(wrong[0], 80)}`"
    if len(json.dumps(found)) > MAX_SCHEMA:
        found["properties"] = {k: {w: v[w] for w in ("type",) if w in v} for k, v in found["properties"].items()}
    return found if len(json.dumps(found)) <= MAX_SCHEMA else "its schema is too large"


def _block_text(block: Any) -> str:
    """A piece of a result in words: of what is no text, what it is."""
    match block.type:
        case "text":
            return str(block.text)
        case "image" | "audio":
            return f"[{block.type} {block.mime_type}, {len(block.data)} characters of base64, not shown]"
        case "resource":
            inner = block.resource
            return str(getattr(inner, "text", "")) or f"[resource {inner.uri}, not text]"
        case "resource_link":
            return f"[resource {block.uri} {block.name}]"
        case other:
            return f"[{other}, not shown]"


def _reason(error: BaseException) -> str:
    """The innermost message of an error, one line: task groups wrap them."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    text = str(error).strip().split("\n")[0] or type(error).__name__
    return "it ended, or closed its output" if text == "Connection closed" else shortened(text, 300)


class _SdkLog(logging.Filter):
    """Keeps what the SDK logs in this thread, with tracebacks, from those who did not start it; has the last line."""

    def __enter__(self) -> _SdkLog:
        self.last = ""
        self._thread = threading.get_ident()
        known = [n for n in logging.root.manager.loggerDict if n == "mcp" or n.startswith("mcp.")]
        self._loggers = [logging.getLogger(name) for name in known]
        for logger in self._loggers:
            logger.addFilter(self)
        return self

    def __exit__(self, *_: object) -> None:
        for logger in self._loggers:
            logger.removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.thread != self._thread:
            return True
        self.last = shortened(record.getMessage().split("\n")[0], 200)
        _log.debug("%s: %s", record.name, self.last, exc_info=record.exc_info)
        return False


class _Tail:
    """The end of what a process writes to a file that it is given."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._text = b""
        self._over = threading.Event()
        self._over.set()

    def file(self) -> TextIO:
        """A pipe's end for the process. A thread reads the other until nobody holds this one any more."""
        self._over.clear()
        read, write = os.pipe()
        threading.Thread(target=self._read, args=(read,), name="regreen-mcp-stderr", daemon=True).start()
        return os.fdopen(write, "w", encoding="utf-8")

    def _read(self, end: int) -> None:
        with os.fdopen(end, "rb", buffering=0) as f:
            while piece := f.read(4096):
                self._text = (self._text + piece)[-self._most :]
        self._over.set()

    def wait(self, timeout_s: float) -> None:
        """Until nobody can write any more."""
        self._over.wait(timeout_s)

    def text(self) -> str:
        return self._text.decode("utf-8", "replace")
