"""`regreen serve` on stdio: the composition of pipes, guard, engine and SDK.

Rules: the pipes are claimed before anything else is imported; `initialize` is answered before the engine is loaded;
nothing is printed, the log goes to standard error and is quiet.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from regreen_server import pipes
from regreen_server.app import create_server
from regreen_server.calls import Caller, EngineSlot, ToolEngine
from regreen_server.lifecycle import CLOSE_LIMIT_S, EXIT_DONE, Guard
from regreen_server.tool_list import Offer

if TYPE_CHECKING:
    from regreen.settings import Settings

log = logging.getLogger(__name__)

_RECOVERY_DELAY_S = 0.3  # leaves the first answers to the SDK; the first call does not wait for it
_DRAIN_S = 1.0


def _engine(settings: Settings) -> ToolEngine:
    from regreen.session import Engine

    return Engine(settings)


def serve(
    settings: Settings,
    *,
    read_only: bool = False,
    toolsets: str = "all",
    make_engine: Callable[[Settings], ToolEngine] = _engine,
    close_limit_s: float = CLOSE_LIMIT_S,
) -> int:
    """Serve MCP on standard input and output until the client ends it; returns the exit code.

    `toolsets` is "all" or "core"; `read_only` offers only tools that change nothing, whatever else is asked for.

    Runs in the main thread, once per process. On a signal or a dead parent it does not return: the process ends.
    """
    wire = pipes.claim()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="regreen: %(levelname)s: %(message)s")
    if os.isatty(wire[0]):
        log.warning("this is for an MCP client; `regreen setup` configures one. Waiting for messages, ^C ends it")
    slot = EngineSlot(lambda: make_engine(settings))
    guard = Guard(slot.close, limit_s=close_limit_s)
    guard.watch()
    try:
        asyncio.run(_serve(slot, Offer(toolsets == "core", read_only), *wire))
    finally:
        guard.shut_down(EXIT_DONE)
    return EXIT_DONE


async def _serve(slot: EngineSlot, offer: Offer, wire_in: int, wire_out: int) -> None:
    inbox = pipes.Inbox(wire_in)
    outbox = pipes.Outbox(wire_out, on_broken=inbox.close)
    server = create_server(Caller(slot), offer)
    asyncio.get_running_loop().call_later(_RECOVERY_DELAY_S, slot.start)
    inbox.start(outbox)
    await server.run(inbox.stream, outbox, server.create_initialization_options())
    outbox.drain(_DRAIN_S)
