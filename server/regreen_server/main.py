"""`regreen serve` on stdio: the composition of front, guard, engine and SDK.

Rules: the front has the pipes, and answers, before anything else is imported; `initialize` is answered before the
engine is loaded; nothing is printed, the log goes to standard error and is quiet.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from regreen_server import front

if TYPE_CHECKING:
    from regreen.settings import Settings
    from regreen_server.calls import EngineSlot, ToolEngine
    from regreen_server.tool_list import Offer

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
    close_limit_s: float | None = None,
) -> int:
    """Serve MCP on standard input and output until the client ends it; returns the exit code.

    `toolsets` is "all" or "core"; `read_only` offers only tools that change nothing, whatever else is asked for.

    Runs in the main thread, once per process. On a signal or a dead parent it does not return: the process ends.
    """
    begun = front.begin(toolsets == "core", read_only)
    gc.disable()  # nearly all that loading makes stays: looking through it again and again is a tenth of the time

    import asyncio
    import logging

    from regreen_server import logs
    from regreen_server.calls import EngineSlot
    from regreen_server.lifecycle import CLOSE_LIMIT_S, EXIT_DONE, Guard
    from regreen_server.tool_list import Offer

    logs.begin()
    if os.isatty(begun.wire_in):
        logging.getLogger(__name__).warning(
            "this is for an MCP client; `regreen setup` configures one. Waiting for messages, ^C ends it"
        )
    slot = EngineSlot(lambda: make_engine(settings))

    def close() -> None:
        begun.let_signals_in()  # the guard's thread began without them, and would hand that on to its children
        slot.close()

    guard = Guard(close, limit_s=CLOSE_LIMIT_S if close_limit_s is None else close_limit_s)
    guard.watch()
    begun.let_signals_in()
    try:
        asyncio.run(_serve(slot, Offer(toolsets == "core", read_only), begun))
    finally:
        guard.shut_down(EXIT_DONE)
    return EXIT_DONE


async def _serve(slot: EngineSlot, offer: Offer, begun: front.Front) -> None:
    from regreen_server.app import create_server
    from regreen_server.calls import Caller
    from regreen_server.inbox import Inbox

    server = create_server(Caller(slot), offer)
    gc.freeze()
    gc.enable()
    inbox = Inbox(begun.outbox)
    begun.outbox.when_broken(inbox.close)
    slot.start()  # the client has its first answers already
    begun.hand_over(inbox.take, inbox.close)
    await server.run(inbox.stream, begun.outbox, server.create_initialization_options())
    begun.outbox.drain(_DRAIN_S)
