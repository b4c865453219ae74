"""What servers of chat completions say when they do not answer: bodies of many shapes, read into one `Refusal`.

OpenAI has codes for what went wrong; local servers have only their words, which are known here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

from regreen.providers.errors import ConnectionLost, ModelNotFound, ProviderError, RequestRefused
from regreen.providers.http_faults import Asked, Refusal, connection_lost, shown, typed

_TOO_LONG_CODES = ("context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded")
_TOO_LONG = re.compile(  # vLLM, llama.cpp, LM Studio, Ollama, OpenRouter, Mistral, xAI, and what stands behind them
    r"(?i)(?:context|model|prompt|input)[ -](?:length|size|window|limit)\b.{0,60}\b(?:exceed|overflow)"
    r"|(?:exceed|longer than|greater than|larger than|too (?:long|large) for)\w*\b.{0,60}"
    r"\b(?:context|maximum (?:model|input|prompt|number of)|input (?:length|tokens)|max_(?:model_len|seq_len))"
    r"|maximum (?:context|prompt|model) length is|context length of only|context the overflows"
    r"|(?:prompt|input) (?:is )?too long|too large for model with|reduce the length of the (?:messages|input)"
)
_NOT_TOO_LONG = re.compile(
    r"(?i)rate.?limit|tokens per (?:min|day)|too many requests|throttl|please wait|\bTP[MD]\b"
    r"|max(?:imum)?[ _](?:output|completion)[ _]tokens|at most \d+ completion tokens"
)
_LONGEST_WORD = 200
_MAY_BE_TOO_LONG = (400, 413, 422, 500)
_NO_SUCH_MODEL = re.compile(
    r"(?i)\bmodel\b.{0,120}\b(?:not found|does not exist)|\bno such model\b"
    r"|not a valid model id|\bunknown model\b|\binvalid model\b|\bno models? loaded\b"
)
_NO_TOOLS = re.compile(
    r"(?i)does not support (?:tools|function calling)|tool choice requires|no endpoints found that support tool"
)
_KINDS: Mapping[str, int] = {  # what is said in the middle of a stream, where there is no status
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "overloaded_error": 529,
    "overloaded": 529,
    "server_overloaded": 529,
    "insufficient_quota": 429,
    "authentication_error": 401,
    "invalid_request_error": 400,
    "badrequesterror": 400,
}


def read(
    status: int,
    body: object,
    secrets: tuple[str, ...] = (),
    retry_after_s: float | None = None,
    location: str = "",
) -> Refusal:
    """A refusal from a body: an object with `error` (an object, or text), its inside, an object with `detail`, or
    text. The status 0 is an error in the middle of a stream: it is the body's own, or a fault of the server."""
    held = _inside(body)
    code, kind = _word(held.get("code")), _word(held.get("type"))
    text = _said(held, body)
    status = status or _status(code, kind)
    if _is_too_long(status, code, kind, text):
        code = "context_length_exceeded"
    return Refusal(status, kind, code, shown(text, secrets), retry_after_s, location)


def whole_text(body: object) -> str:
    """All that a body says, to look for a field's name in."""
    return body if isinstance(body, str) else _dumped(body)


def typed_error(refusal: Refusal, asked: Asked) -> ProviderError:
    """The error of a refusal, with hints for servers that the user runs."""
    if 300 <= refusal.status < 400:
        return typed(refusal, asked)
    said = f": {refusal.text}" if refusal.text else ""
    if _means_no_model(refusal):
        return ModelNotFound(
            f"{asked} was not found at {asked.base_url} ({refusal.status}){said}", _where(asked, refusal)
        )
    if _NO_TOOLS.search(refusal.text):
        return RequestRefused(
            f"{asked} does not take tools ({refusal.status}){said}",
            "Choose a model that can call tools (`model` in [provider]), or start the server with tool calls enabled.",
        )
    return typed(refusal, asked)


def in_chunk(chunk: Mapping[str, object]) -> object:
    """What a piece of a stream says about an error, which has no place of its own there; None: it is none."""
    if chunk.get("object") == "error":  # older vLLM
        return chunk
    choices = chunk.get("choices")
    first = cast("list[object]", choices)[0] if isinstance(choices, list) and choices else None
    return cast("dict[str, object]", first).get("error") if isinstance(first, dict) else None  # OpenRouter


def whole_answer(asked: Asked, content_type: str, text: str, secrets: tuple[str, ...] = ()) -> Mapping[str, object]:
    """An answer 200 that is no stream: the answer of a server that does not stream. Raises ModelNotFound where it is
    something else, a web page mostly."""
    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, dict) and "choices" in data:
        return cast("dict[str, object]", data)
    said = shown(text, secrets)
    raise ModelNotFound(
        f"{asked.base_url} sent `{content_type}`, not an answer of a model" + (f": {said}" if said else ""),
        "Check `base_url` in [provider]: it is the root of an OpenAI-compatible API, and mostly ends with /v1.",
    )


def unreachable(asked: Asked, why: str, begun: bool) -> ConnectionLost:
    """The error of a connection that was not made, or broke off (`begun`)."""
    lost = connection_lost(asked, why, begun)
    if begun or not is_local(asked.base_url):
        return lost
    hint = "Start the model server (for Ollama: `ollama serve`), or set its address as `base_url` in [provider]."
    return ConnectionLost(lost.message, hint)


def is_local(base_url: str) -> bool:
    """Whether the address is one of this machine: a server that the user starts."""
    host = urlsplit(base_url).hostname or ""
    return host in ("localhost", "::1", "0.0.0.0", "host.docker.internal") or host.startswith("127.")


def _means_no_model(refusal: Refusal) -> bool:
    if refusal.status == 404 or refusal.code == "model_not_found":
        return True
    return refusal.status in (400, 422) and bool(_NO_SUCH_MODEL.search(refusal.text))


def _where(asked: Asked, refusal: Refusal) -> str:
    if refusal.status == 404 and "model" not in refusal.text.lower():
        return "Check `base_url` in [provider]: it is the root of an OpenAI-compatible API, and mostly ends with /v1."
    if is_local(asked.base_url):
        return f"Get the model first (for Ollama: `ollama pull {asked.model}`), or name one that is there (`model`)."
    return "Check the model's name (`model` in [provider]), and that the key may use it."


def _is_too_long(status: int, code: str, kind: str, text: str) -> bool:
    if code in _TOO_LONG_CODES or kind in _TOO_LONG_CODES:
        return True
    return status in _MAY_BE_TOO_LONG and bool(_TOO_LONG.search(text)) and not _NOT_TOO_LONG.search(text)


def _inside(body: object) -> dict[str, object]:
    if not isinstance(body, dict):
        return {}
    held = cast("dict[str, object]", body)
    error = held.get("error")
    return cast("dict[str, object]", error) if isinstance(error, dict) else held


def _said(held: Mapping[str, object], body: object) -> str:
    for name in ("message", "error", "detail"):
        value = held.get(name)
        if value:
            return value if isinstance(value, str) else _dumped(value)
    return body if isinstance(body, str) else _dumped(body) if body else ""


def _dumped(value: object) -> str:
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""  # nested more deeply than anything that is meant to be read


def _word(value: object) -> str:
    return str(value)[:_LONGEST_WORD] if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _status(code: str, kind: str) -> int:
    if len(code) == 3 and code.isdecimal() and 400 <= int(code) <= 599:
        return int(code)
    return _KINDS.get(code.lower()) or _KINDS.get(kind.lower()) or 500
