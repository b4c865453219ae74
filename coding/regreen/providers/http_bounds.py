"""The HTTP client that we give to the SDKs: it goes nowhere but to the configured address, and takes no more from a
server than an answer can be.

It follows no redirect: a question holds source code, and the user named one host for it. Answers that are errors are
read as far as anybody looks at them, all others up to a limit, counted as they are when they are unpacked.

Loads the HTTP package: import it where a provider is made.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any, TypeVar

from httpx2 import AsyncByteStream, AsyncClient, Response

from regreen.providers.errors import BadReply, EndlessReply
from regreen.providers.http_faults import Asked, shown

MAX_ERROR = 64 * 1024
MAX_WHOLE = 4 * 1024 * 1024  # of an answer that is no stream
MAX_STREAM = 64 * 1024 * 1024
_PIECE = 64 * 1024
_GZIP_OR_ZLIB = 47

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, EOFError)
"""What the SDKs let through when they stumble over what a server sent: each parses in places that expect good will."""

Client = TypeVar("Client", bound=AsyncClient)


def bounded(make: Callable[..., Client], asked: Asked, **options: Any) -> Client:
    """A client of the SDK's own kind (`make`), with its time limits, proxies and connections, and our bounds."""

    async def bound(response: Response) -> None:
        _bind(response, asked)

    return make(
        follow_redirects=False,
        headers={"accept-encoding": "gzip"},
        event_hooks={"response": [bound]},
        **options,
    )


def _bind(response: Response, asked: Asked) -> None:
    """Bound an answer whose body nobody has read yet."""
    response.encoding = "utf-8"  # the server's word for it may name a codec that is none of text
    packed = response.headers.get("content-encoding", "").strip().lower()
    if packed not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise BadReply(
            f"{asked} at {asked.base_url} packed its answer in a way that was not asked for: {shown(packed)}",
            "Check the proxy or gateway at `base_url` in [provider]: it must leave answers as they are, or use gzip.",
        )
    response.headers.pop("content-encoding", None)
    if isinstance(response.stream, AsyncByteStream):
        is_error = response.status_code >= 300
        most = MAX_ERROR if is_error else _most(response.headers.get("content-type", ""))
        response.stream = _Bounded(response.stream, asked, most, cut=is_error, packed=packed not in ("", "identity"))


def _most(content_type: str) -> int:
    return MAX_WHOLE if "json" in content_type or "html" in content_type else MAX_STREAM


class _Bounded(AsyncByteStream):
    """Another stream, unpacked, up to `most` bytes: then it ends (`cut`), or is an EndlessReply."""

    def __init__(self, inner: AsyncByteStream, asked: Asked, most: int, *, cut: bool, packed: bool) -> None:
        self._inner = inner
        self._asked = asked
        self._most = most
        self._cut = cut
        self._packed = packed

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        left = self._most
        async with aclosing(self._pieces()) as pieces:
            async for piece in pieces:
                if len(piece) <= left:
                    left -= len(piece)
                    yield piece
                elif self._cut:
                    yield piece[:left]
                    return
                else:
                    raise EndlessReply(
                        f"{self._asked} at {self._asked.base_url} answered with more than {self._most} bytes",
                        "Check that `base_url` in [provider] is the API of a model, or choose another model.",
                    )

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _pieces(self) -> AsyncGenerator[bytes]:
        inflate = zlib.decompressobj(_GZIP_OR_ZLIB)
        chunks = aiter(self._inner)
        try:
            async for chunk in chunks:
                for piece in self._unpacked(inflate, chunk) if self._packed else (chunk,):
                    yield piece
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    def _unpacked(self, inflate: Any, chunk: bytes) -> Iterator[bytes]:
        """What a chunk holds, a bounded piece at a time: a small chunk may hold very much."""
        try:
            while True:
                piece: bytes = inflate.decompress(chunk, _PIECE)
                chunk = inflate.unconsumed_tail
                if piece:
                    yield piece
                elif not chunk:
                    return
        except zlib.error as error:
            raise BadReply(
                f"{self._asked} at {self._asked.base_url} sent packed bytes that cannot be unpacked: {error}",
                "Try again; if it stays so, check the proxy or gateway at `base_url` in [provider].",
            ) from error
