"""How a refusal reads over HTTP: `{"error": {"kind", "message", "hint"}}`, with a status by its kind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

STATUS: Mapping[str, int] = {
    "bad_request": 400, "invalid_arguments": 400, "unknown_argument": 400, "unauthorized": 401,
    "origin_forbidden": 403, "not_found": 404, "session_unknown": 404, "method_not_allowed": 405, "busy": 409,
    "limit_exceeded": 413, "unsupported_media_type": 415, "host_forbidden": 421, "internal": 500,
}  # fmt: skip
_OTHER = 422  # understood, and refused: by policy, by trust, by the state of the repository

Headers = tuple[tuple[bytes, bytes], ...]


def status_of(kind: str) -> int:
    """The HTTP status of an error of this kind."""
    return STATUS.get(kind, _OTHER)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is not served. `status` 0 is the one of its kind; `headers` go with the answer."""

    kind: str
    message: str
    hint: str = ""
    status: int = 0
    headers: Headers = ()

    @property
    def code(self) -> int:
        return self.status or status_of(self.kind)

    @property
    def body(self) -> bytes:
        return error_body(self.kind, self.message, self.hint)


def error_body(kind: str, message: str, hint: str) -> bytes:
    """The JSON that every error has, of whatever route."""
    return json.dumps({"error": {"kind": kind, "message": message, "hint": hint}}).encode()


def answer_headers(body: bytes, more: Headers = ()) -> list[tuple[bytes, bytes]]:
    """The headers of an answer with this JSON body. It is never kept by a cache."""
    length = str(len(body)).encode()
    return [(b"content-type", b"application/json"), (b"content-length", length), (b"cache-control", b"no-store"), *more]
