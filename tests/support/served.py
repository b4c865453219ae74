"""A server object on a real engine and repository, and clients that talk to it in memory, of both protocol eras."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.server.lowlevel import Server

from regreen.session import Engine
from regreen.settings import load_settings
from regreen_server.app import create_server
from regreen_server.calls import Caller, EngineSlot
from regreen_server.tool_list import Offer
from support.engines import QUICK

MODES = ("legacy", "auto")
LIMIT_S = 60.0


@dataclass(frozen=True)
class Served:
    """The server, and the engine behind it; `listeners` counts the connections that it tells of changes."""

    engine: Engine
    server: Server[Any]

    @property
    def listeners(self) -> int:
        entry = self.server.get_request_handler("resources/subscribe")
        assert entry is not None
        changes: Any = entry.handler.__self__  # type: ignore[attr-defined]
        return changes.listeners


@contextmanager
def served(folder: Path, roots: Sequence[Path], offer: Offer = Offer()) -> Generator[Served]:  # noqa: B008 (frozen)
    """A server whose state lies in `folder`."""
    environ = {**os.environ, "REGREEN_STATE_DIR": str(folder / "state"), "REGREEN_CACHE_DIR": str(folder / "cache")}
    settings = replace(load_settings(environ, roots=tuple(roots), mode="auto"), test_environ=QUICK, watch=False)
    with Engine(settings, cwd=folder) as engine:
        yield Served(engine, create_server(Caller(EngineSlot(lambda: engine)), offer))


@dataclass
class Heard:
    """What a server of the handshake era has told without being asked."""

    updated: list[str] = field(default_factory=list[str])
    lists: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, message: Any) -> None:
        method = getattr(message, "method", "")
        if method == "notifications/resources/updated":
            self.updated.append(str(message.params.uri))
        self.lists += method == "notifications/resources/list_changed"
        self.news.set()

    async def until(self, claim: Any) -> None:
        """Wait until what was heard fulfils the claim."""

        async def wait() -> None:
            while not claim(self):
                self.news.clear()
                await self.news.wait()

        await asyncio.wait_for(wait(), LIMIT_S)


@asynccontextmanager
async def connected(to: Served, mode: str, heard: Heard | None = None) -> AsyncGenerator[Client]:
    async with Client(to.server, mode=mode, message_handler=heard) as client:  # type: ignore[arg-type]
        yield client


async def text_of(client: Client, uri: str) -> str:
    (contents,) = (await client.read_resource(uri)).contents
    text: str = contents.text  # type: ignore[union-attr]
    return text
