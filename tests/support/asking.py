"""Asking a provider in a test: one event loop and few clients for many tests, since making a client takes long."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from regreen.providers.errors import ProviderError
from regreen.providers.messages import Delta, ModelRequest, ModelResponse, Provider, ToolDefinition, said

READ = ToolDefinition("read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
WRITE = ToolDefinition("write", "Writes a file.", {"type": "object", "properties": {"path": {"type": "string"}}})
HELLO = ModelRequest("Be brief.", (said("user", "Hello"),), (READ, WRITE), max_tokens=100)
PATIENCE_S = 5.0

Ask = Callable[..., ModelResponse]


@contextmanager
def asking(make: Callable[[], Provider]) -> Generator[tuple[asyncio.Runner, Provider]]:
    """A provider, and the loop that it is used from. No proxy of the user's stands between it and its server."""
    with asyncio.Runner() as runner, pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            patch.delenv(name)
        provider = make()
        try:
            yield runner, provider
        finally:
            runner.run(provider.aclose())


def streamed(
    runner: asyncio.Runner, provider: Provider, request: ModelRequest = HELLO
) -> tuple[ModelResponse, list[Delta]]:
    """The answer, and what was shown of it on the way."""
    deltas: list[Delta] = []
    return runner.run(provider.ask(request, deltas.append)), deltas


def failure(runner: asyncio.Runner, provider: Provider, request: ModelRequest = HELLO) -> ProviderError:
    """The error that a question ends with."""
    with pytest.raises(ProviderError) as caught:
        runner.run(provider.ask(request))
    return caught.value
