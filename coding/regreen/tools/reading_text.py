"""What the tools that only read say in words: trees, definitions, maps, places, lines. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, TypeAlias

from regreen.wire import counted

Data: TypeAlias = Mapping[str, Any]


def skeleton(d: Data) -> str:
    more = f"\n(more: cursor={d['cursor']})" if d.get("cursor") else ""
    return f"{d['root']}: {counted(d['files'], 'file')}, {counted(d['dirs'], 'folder')}\n{d['tree']}{more}"


def signatures(d: Data) -> str:
    from regreen.repo.outline import Row, definition_lines, head_lines  # heavy, and few calls want it

    out: list[str] = []
    for file in d["files"]:
        out.extend(head_lines(file["path"], file["language"], file["errors"]))
        out.extend(definition_lines(Row(*(s[k] for k in Row._fields)) for s in file["symbols"]))
    out.extend(f"skipped {s['path']}: {s['reason']}" for s in d["skipped"])
    if d.get("cursor"):
        out.append(f"(more: cursor={d['cursor']})")
    return "\n".join(out) or "no definitions"


def ranked_map(d: Data) -> str:
    return "\n".join([d["text"], *_noted(d)]) if d["text"] else "\n".join(["no definitions", *_noted(d)])


def symbols(d: Data) -> str:
    out = [f"{s['path']}:{_lines(s)} {s['kind']} {s['qualified_name']}: {s['signature']}" for s in d["definitions"]]
    if (left := d["definitions_total"] - len(d["definitions"])) > 0:
        out.append(f"... and {counted(left, 'more definition')} (limit)")
    out.extend(_references(d))
    if not d["definitions"]:
        near = f"; did you mean: {', '.join(d['suggestions'])}?" if d["suggestions"] else ""
        out.insert(0, f"no definition{near}")
    return "\n".join([*out, *_noted(d)])


def _references(d: Data) -> Iterator[str]:
    """Grouped by file, each with what it is and the definition around it."""
    if not d["references"]:
        return
    yield f"{counted(d['references_total'], 'reference')}:"
    for path, group in groupby(d["references"], lambda r: r["path"]):
        yield path
        for r in group:
            where = f"{r['kind']} in {r['symbol']}" if r["symbol"] else r["kind"]
            yield f"  {r['line']}: {r['signature']}  [{where}]"
    if (left := d["references_total"] - len(d["references"])) > 0:
        yield f"... and {counted(left, 'more reference')} (limit)"


def _lines(symbol: Data) -> str:
    return f"{symbol['line']}-{symbol['end_line']}" if symbol["end_line"] > symbol["line"] else str(symbol["line"])


def matches(d: Data) -> str:
    out: list[str] = []
    for path, group in groupby(d["matches"], lambda m: m["path"]):
        out.append(path)
        last = 0
        for m in group:
            first = m["line"] - len(m["before"])
            if last and m["before"] and first > last + 1:
                out.append("  --")
            out.extend(f"  {first + i}- {text}" for i, text in enumerate(m["before"]))
            out.append(f"  {m['line']}: {m['text']}")
            out.extend(f"  {m['line'] + 1 + i}- {text}" for i, text in enumerate(m["after"]))
            last = m["line"] + len(m["after"])
    if not d["matches"]:
        out.append(f"no match in {counted(d['files_searched'], 'file')}")
    elif d["truncated"]:
        out.append(f"... there may be more: {counted(len(d['matches']), 'line')} shown")
    return "\n".join([*out, *_noted(d)])


def _noted(d: Data) -> list[str]:
    return [f"note: {n}" for n in d["notes"]]


def file_text(d: Data) -> str:
    head = f"lines {d['start_line']}-{d['end_line']} of {d['total_lines']}, {d['encoding']}, sha256 {d['sha256']}"
    secrets = counted(d["redacted"], "secret")
    masked = f", {secrets} masked: such lines cannot be edited by search" if d["redacted"] else ""
    more = f"\n(more: start_line={d['end_line'] + 1})" if d["end_line"] < d["total_lines"] else ""
    return f"{head}{masked}\n{d['text']}{more}"
