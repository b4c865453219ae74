"""Results in pages: what a model is given at once stays small, and a cursor reaches the rest. Pure.

A tool's large fields are named here, each with its share of a page. A cursor says where each of those that are not at
their end goes on, as `FIELD:OFFSET,FIELD:OFFSET`; a page that begins there leaves the others empty. Items of lists and
lines of texts stay whole; a single one that is larger than its share is cut, and says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from regreen.errors import UsageError
from regreen.wire import Json, shortened

Data: TypeAlias = Mapping[str, Any]
Cursor: TypeAlias = Mapping[str, int]
"""Where a page begins: for each field that has more, the items (of a list) or characters (of a text) before it."""

MAX_CHARS = 64_000
"""Of the JSON of one page, whatever is in it."""
MAIN_CHARS = 56_000
"""Of the JSON of the field that a tool keeps small itself, by a budget of its own (`MAIN`)."""
USUAL_CHARS = 24_000
MOST_FOUND = 20_000
"""Of what is looked for, in all pages together."""
START: Cursor = MappingProxyType({})
_MAX_STRING_CHARS = 6_000
_MAX_SMALL_ITEMS = 100


@dataclass(frozen=True, slots=True)
class Field:
    """A field that may be large: where it is (`outcome.diff`), and how many characters of its JSON a page holds."""

    path: str
    chars: int


_OF_JOBS = (
    Field("brief.failures", 10_000), Field("brief.failing", 3_000), Field("brief.tried", 8_000),
    Field("failures", 12_000), Field("groups", 4_000), Field("attempts", 8_000), Field("outcome.fixed_tests", 3_000),
    Field("outcome.kept_files", 3_000), Field("outcome.conflicts", 3_000), Field("outcome.diff", 12_000),
    Field("diff", 12_000),
)  # fmt: skip
PAGED: Mapping[str, tuple[Field, ...]] = {
    "find_symbol": (Field("definitions", 16_000), Field("references", 16_000)),
    "search_text": (Field("matches", 24_000),),
    "show_changes": (Field("files", 8_000), Field("diff", 16_000)),
    "apply_edits": (Field("files", 24_000), Field("edits", 12_000)),
    "restore": (Field("restored", 6_000), Field("deleted", 6_000), Field("conflicts", 6_000), Field("merged", 3_000)),
    **dict.fromkeys(("run_tests", "fix_tests", "submit_fix", "coding_task", "job_status", "job_cancel"), _OF_JOBS),
}  # fmt: skip


MAIN: Mapping[str, str] = {"repo_skeleton": "tree", "extract_signatures": "files", "repo_map": "text"}


def read_cursor(text: str, tool: str) -> Cursor:
    """The cursor that a result of this tool has told. Raises UsageError for any other text."""
    found: dict[str, int] = {}
    known = [field.path for field in PAGED[tool]]
    for part in text.split(",") if text else ():
        path, _, offset = part.rpartition(":")
        if path not in known or path in found or not (offset.isascii() and offset.isdigit()) or len(offset) > 12:
            raise UsageError("invalid_arguments", f"no result has told the cursor {shortened(text, 80)!r}",
                             "give that of the result before as it stands, or none")  # fmt: skip
        found[path] = int(offset)
    return found


def page(tool: str, data: Data, cursor: Cursor = START, chars: int = 0) -> dict[str, Json]:
    """The page of a result that begins at `cursor`, of about so many characters (0: as usual). Its own `cursor` is
    where the next one begins, absent in the last; `truncated` is then true where the tool has that. `totals` has the
    lengths of the lists that are not whole in it."""
    out: dict[str, Json] = dict(data)
    following: dict[str, int] = {}
    totals: dict[str, Json] = {}
    for field in PAGED.get(tool, ()):
        value = _at(out, field.path)
        if value is None:
            continue
        share = field.chars * chars // USUAL_CHARS if chars else field.chars
        start = cursor.get(field.path, 0 if not cursor else len(value))
        end = _end(value, start, share)
        out = _with(out, field.path.split("."), _clipped(value[start:end], share))
        if end < len(value) or (end > start and _goes_on(data, field.path, end)):
            following[field.path] = end
        if isinstance(value, list) and (start, end) != (0, len(value)):
            totals[field.path] = len(value)
    out = cast("dict[str, Json]", _clipped_beside(out, tool))
    if totals:
        out["totals"] = totals
    if following:
        out["cursor"] = ",".join(f"{path}:{offset}" for path, offset in following.items())
        if "truncated" in out:
            out["truncated"] = True
    return out


def _goes_on(data: Data, path: str, end: int) -> bool:
    """Is there more than was looked for? A search stops at its limit; the next page looks further, up to the most that
    is looked for at all."""
    total = data.get(f"{path}_total", 0)
    return end < MOST_FOUND and (total > end or (path == "matches" and data["truncated"] is True))


def _end(value: list[Any] | str, start: int, chars: int) -> int:
    """Up to where the value fits into so many characters from `start`; at least one item or line."""
    return _line_end(value, start, chars) if isinstance(value, str) else _item_end(value, start, chars)


def _line_end(text: str, start: int, chars: int) -> int:
    if len(text) - start <= chars:
        return len(text)
    return text.rfind("\n", start, start + chars) + 1 or start + chars


def _item_end(items: list[Any], start: int, chars: int) -> int:
    size = 0
    for end in range(start, len(items)):
        size += json_chars(items[end])
        if end > start and size > chars:
            return end
    return len(items)


def json_chars(value: object) -> int:
    """Characters of a value as JSON, with what stands between it and the next."""
    return len(json.dumps(value, ensure_ascii=False)) + 2


def _clipped(value: list[Any] | str, chars: int) -> list[Any] | str:
    """The value; where one item alone is larger than its share, that with its texts and lists cut."""
    if isinstance(value, str) or len(value) != 1 or json_chars(value) <= chars:
        return value
    return cast("list[Any]", _cut(value, max(200, chars // 4), 20))


def _clipped_beside(out: Mapping[str, Any], tool: str) -> Any:
    """The page, with what is not paged cut where that alone is larger than anybody reads."""
    if json_chars(out) <= MAX_CHARS:
        return dict(out)
    cut: Any = out
    for strings, items in ((_MAX_STRING_CHARS, _MAX_SMALL_ITEMS), (1_000, 30), (200, 10)):
        cut = {k: v if _is_paged(tool, k) else _cut(v, strings, items) for k, v in out.items()}
        if json_chars(cut) <= MAX_CHARS:
            return cut
    return cut if MAIN.get(tool) else _cut(cut, 200, 10)


def _is_paged(tool: str, name: str) -> bool:
    return name == MAIN.get(tool) or any(field.path == name for field in PAGED.get(tool, ()))


def _cut(value: Any, strings: int, items: int) -> Any:
    match value:
        case str():
            return shortened(value, strings)
        case list():
            listed = cast("list[Any]", value)
            return [_cut(v, strings, items) for v in listed[:items]]
        case dict():
            fields = cast("dict[str, Any]", value)
            return {k: _cut(v, strings, items) for k, v in fields.items()}
        case _:
            return value


def _at(data: Data, path: str) -> list[Any] | str | None:
    """The list or text there; None where there is none."""
    value: Any = data
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = cast("Data", value).get(name)
    return cast("list[Any] | str", value) if isinstance(value, list | str) else None


def _with(data: Mapping[str, Any], names: list[str], value: Any) -> dict[str, Any]:
    first, *rest = names
    return {**data, first: _with(data[first], rest, value) if rest else value}


def count(data: Data, path: str) -> int:
    """How many items the list there has, in this page and in all others."""
    items = _at(data, path)
    return data.get("totals", {}).get(path, len(items) if items is not None else 0)


def rest_of(tool: str, data: Data) -> str:
    """How the rest of a page's result is reached, in a line; "" where there is none."""
    cursor = data.get("cursor")
    if not cursor or tool not in PAGED:
        return ""
    if tool in ("find_symbol", "search_text", "show_changes", "job_status"):
        return f'(more: the same call with cursor="{cursor}")'
    if job := data.get("job_id"):
        return f'(more: job_status(job_id="{job}", cursor="{cursor}"))'
    if transaction := data.get("transaction"):
        return f'(more: show_changes(since="{transaction}") has all of it)'
    return "(more: send fewer edits at a time to see all of them)"
