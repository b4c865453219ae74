"""The first messages of a client, answered from data: pure decisions, no SDK, no engine.

The data (`opening.json`, made by `scripts/opening_data.py` from the real server) holds what the SDK would answer. The
SDK is told everything as soon as it is there: `held` are the lines for it, in their order. Among them are the requests
that were answered here and that it has to know of (`initialize`, and the request that settled the era), under ids of
ours, so that its own answer to them can be told apart and dropped.

Rule: what is not understood to the last bit is held, and from then on everything is.
"""

from __future__ import annotations

import json
from typing import Any, cast

from regreen_server.shapes import INITIALIZE, envelope_fits, enveloped, fits, plain_params

MAX_READ_BYTES = 1024 * 1024
_DEEPEST = 100
_KEYS = {"jsonrpc", "id", "method", "params"}
_LEGACY, _MODERN = "legacy", "modern"


class Opening:
    """One connection from its beginning until the SDK takes over. `prefix` begins the ids of ours."""

    def __init__(self, data: dict[str, Any], offer: str, prefix: str) -> None:
        self._data = data
        self._offered = data["offers"][offer]
        self._prefix = prefix
        self._era = ""
        self._initialized = False
        self._answering = True
        self._replays = 0
        self._held: list[tuple[bytes, dict[str, Any] | None]] = []

    @property
    def held(self) -> list[bytes]:
        """The lines for the SDK."""
        return [line for line, _ in self._held]

    def take(self, line: bytes) -> dict[str, Any] | None:
        """Look at one line: its answer, or None, and then it is among `held` if the SDK has to see it."""
        message = understood(line)
        if message is None:
            self._hold(line, None)
            self._answering = self._answering and not line.strip()
            return None
        if "id" in message:
            return self._request(line, message)
        if message["method"] != "notifications/cancelled" or not self._cancelled(message):
            self._hold(line, message)
        return None

    def _request(self, line: bytes, message: dict[str, Any]) -> dict[str, Any] | None:
        method: str = message["method"]
        params: dict[str, Any] | None = message.get("params")
        modern = method != "initialize" and enveloped(params)
        settles = not self._era
        self._era = self._era or (_MODERN if modern else _LEGACY)
        result = self._result(method, params, modern) if self._answering else None
        if result is None:
            self._hold(line, message)
            self._answering = self._answering and method != "initialize"
            return None
        if method == "initialize":
            self._initialized = True
            self._replay({**message, "params": {**(params or {}), "protocolVersion": result["protocolVersion"]}})
        elif settles:
            self._replay(message)
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def _result(self, method: str, params: dict[str, Any] | None, modern: bool) -> dict[str, Any] | None:
        if modern is not (self._era == _MODERN):
            return None
        known = self._data[self._era]
        if method == "initialize":
            return None if self._initialized or not fits(params, INITIALIZE) else _welcome(known, params or {})
        if not plain_params(params) or (modern and not envelope_fits(params, known["versions"])):
            return None
        if not modern and not self._initialized and method != "ping":
            return None
        result = known["results"].get(method)
        return result if result is None or method not in self._offered else {**result, **self._list(method)}

    def _list(self, method: str) -> dict[str, Any]:
        """The elements of a list that are offered."""
        kind, elements = self._data["lists"][method]
        return {kind: [element for element in elements if element["name"] in self._offered[method]]}

    def _hold(self, line: bytes, message: dict[str, Any] | None) -> None:
        self._held.append((line, message))

    def _replay(self, message: dict[str, Any]) -> None:
        line = self._as_ours(message)
        self._held.append((line, None))

    def _as_ours(self, message: dict[str, Any]) -> bytes:
        self._replays += 1
        return json.dumps({**message, "id": f"{self._prefix}{self._replays}"}).encode()

    def _cancelled(self, message: dict[str, Any]) -> bool:
        """Put something without effect in the place of the held request that is cancelled: it may settle the era."""
        params: dict[str, Any] = message.get("params", {})
        wanted = as_key(params.get("requestId"))
        for at in reversed(range(len(self._held))):
            request = self._held[at][1]
            if wanted is None or request is None or request["method"] == "initialize":
                continue
            if "id" in request and as_key(request["id"]) == wanted:
                self._held[at] = (self._as_ours(_without_effect(request)), None)
                return True
        return False


def _welcome(known: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    asked = params["protocolVersion"]
    return {**known["initialize"], "protocolVersion": asked if asked in known["versions"] else known["versions"][-1]}


def _without_effect(request: dict[str, Any]) -> dict[str, Any]:
    if not enveloped(params := request.get("params")):
        return {"jsonrpc": "2.0", "method": "ping"}
    return {"jsonrpc": "2.0", "method": "server/discover", "params": {"_meta": (params or {})["_meta"]}}


def as_key(identity: object) -> int | str | None:
    """What an id is compared by, as in the SDK: "7" is 7. None if it is no id."""
    if isinstance(identity, bool) or not isinstance(identity, int | str):
        return None
    try:
        return int(identity)
    except ValueError:
        return identity


def understood(line: bytes) -> dict[str, Any] | None:
    """The request or notification on a line, or None if there is any doubt about how the SDK reads it."""
    if len(line) > MAX_READ_BYTES:
        return None
    try:
        data: object = json.loads(line.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_once)
        if b"\\u" in line:
            json.dumps(data, ensure_ascii=False).encode("utf-8")  # an escape that stands alone is no character
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not _shallow(cast("object", data), _DEEPEST):
        return None
    message = cast("dict[str, Any]", data)
    sound = set(message) <= _KEYS and message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    sound = sound and isinstance(message.get("params", {}), dict)
    return message if sound and ("id" not in message or as_key(message["id"]) is not None) else None


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice")
    return made


def _shallow(value: object, most: int) -> bool:
    if isinstance(value, dict):
        return most > 0 and all(_shallow(inner, most - 1) for inner in cast("dict[str, object]", value).values())
    if isinstance(value, list):
        return most > 0 and all(_shallow(inner, most - 1) for inner in cast("list[object]", value))
    return True
