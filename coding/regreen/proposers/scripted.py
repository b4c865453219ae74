"""Fixes read from a file, one JSON object a line: the proposer of tests, demonstrations and replays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from regreen.errors import UsageError
from regreen.jsonl import objects
from regreen.model import Brief, Proposal, Replacement, Usage
from regreen.wire import shortened

_WORDS = {"text": "", "format": "auto", "note": "", "needs_test_change": ""}
_KINDS = ("text", "replacements", "needs_test_change")
_KEYS = frozenset((*_WORDS, "replacements", "usage"))
_WANTED = (
    'write one a line: {"text": "..."}, {"replacements": [{"path", "search", "replace"}]} or'
    ' {"needs_test_change": "why"}, with an optional "note" and "usage": {"tokens", "usd"}'
)
_SHOWN_KEY = 80
_USAGE = "`usage` holds more than `tokens` (a whole number) and `usd` (a number), none below 0"


class ScriptedProposer:
    """Hands in its proposals in order, whatever came of the earlier ones; after the last it gives up.

    `why` is what is said then; `left` is what has not been handed in.
    """

    name = "scripted"
    costs_budget = True

    def __init__(self, proposals: Sequence[Proposal], why: str = "") -> None:
        self._left = list(proposals)
        self.why = why

    @classmethod
    def from_file(cls, path: Path) -> ScriptedProposer:
        """Read a script; blank lines are skipped. Raises UsageError that names the file and the line."""
        return cls([_parse(fields, where) for where, fields in objects(path, _WANTED)])

    @property
    def left(self) -> tuple[Proposal, ...]:
        return tuple(self._left)

    async def propose(self, brief: Brief) -> Proposal | None:  # noqa: ARG002 (a script knows in advance)
        return self._left.pop(0) if self._left else None


def _parse(fields: Mapping[str, object], where: str) -> Proposal:
    unknown = sorted(set(fields) - _KEYS)
    if unknown:
        raise _bad(where, f"unknown key {shortened(unknown[0], _SHOWN_KEY)!r}")
    if sum(key in fields for key in _KINDS) != 1:
        raise _bad(where, "exactly one of `text` and `replacements` is needed, or `needs_test_change` without edits")
    words = {k: fields.get(k, d) for k, d in _WORDS.items()}
    for key, value in words.items():
        if not isinstance(value, str):
            raise _bad(where, f"`{key}` is not a string")
    if "needs_test_change" in fields and not str(words["needs_test_change"]).strip():
        raise _bad(where, "`needs_test_change` gives no reason")
    return Proposal(
        text=cast("str", words["text"]),
        replacements=_replacements(fields.get("replacements", []), where),
        format=cast("str", words["format"]),
        note=cast("str", words["note"]),
        needs_test_change=cast("str", words["needs_test_change"]),
        usage=_usage(fields.get("usage", {}), where),
    )


def _usage(value: object, where: str) -> Usage:
    fields = cast("Mapping[str, object]", value) if isinstance(value, dict) else {"": value}
    tokens, usd = fields.get("tokens", 0), fields.get("usd", 0.0)
    if set(fields) - {"tokens", "usd"} or isinstance(tokens, bool) or isinstance(usd, bool):
        raise _bad(where, _USAGE)
    if not isinstance(tokens, int) or not isinstance(usd, int | float) or tokens < 0 or not 0 <= usd < math.inf:
        raise _bad(where, _USAGE)
    return Usage(tokens, float(usd))


def _replacements(value: object, where: str) -> tuple[Replacement, ...]:
    if not isinstance(value, list):
        raise _bad(where, "`replacements` is not a list")
    found: list[Replacement] = []
    for item in cast("list[object]", value):
        fields: Mapping[str, object] = cast("Mapping[str, object]", item) if isinstance(item, dict) else {}
        if set(fields) != {"path", "search", "replace"} or not all(isinstance(v, str) for v in fields.values()):
            raise _bad(where, "a replacement needs the strings `path`, `search` and `replace`, and nothing else")
        found.append(Replacement(*(cast("str", fields[k]) for k in ("path", "search", "replace"))))
    return tuple(found)


def _bad(where: str, found: str) -> UsageError:
    return UsageError("invalid_arguments", f"{where}: {found}", _WANTED)
