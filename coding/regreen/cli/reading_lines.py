"""How a person sees what the reading commands found: trees, definitions, maps, places, lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from regreen.cli.lines import Line, count, split
from regreen.cli.wording import worded

Data = Mapping[str, Any]


def skeleton(data: Data) -> Iterator[Line]:
    yield from split(data.get("tree", "").rstrip("\n"))
    yield Line(f"{count(data.get('files', 0), 'file')}, {count(data.get('dirs', 0), 'folder')}", "dim")
    yield from truncated(data)


def signatures(data: Data) -> Iterator[Line]:
    from regreen.repo.outline import Row, definition_lines  # not at the top: most commands show none

    for file in data.get("files", []):
        yield Line(file["path"], "strong")
        rows = [Row(*(symbol[k] for k in Row._fields)) for symbol in file.get("symbols", [])]
        yield from (Line(text) for text in definition_lines(rows))
        yield from (Line(f"  {error}", "warn") for error in file.get("errors", []))
    for skipped in data.get("skipped", []):
        yield Line(f"skipped {skipped['path']}: {skipped['reason']}", "warn")
    yield from truncated(data)


def file_text(data: Data) -> Iterator[Line]:
    yield from split(data.get("text", "").removesuffix("\n"))


def ranked_map(data: Data) -> Iterator[Line]:
    for line in data.get("text", "").splitlines():
        yield Line(line, "" if line.startswith(" ") else "strong")
    yield from _notes(data)


def symbols(data: Data) -> Iterator[Line]:
    """One definition or use a line, so that an editor's problem matcher finds the place."""
    for found in data.get("definitions", []):
        last = f" (to line {found['end_line']})" if found["end_line"] > found["line"] else ""
        yield Line(f"{found['path']}:{found['line']}: {found['kind']} {found['qualified_name']}{last}", "strong")
        yield Line(f"    {found['signature']}")
    yield from _left(data, "definitions")
    for used in data.get("references", []):
        inside = f" in {used['symbol']}" if used.get("symbol") else ""
        yield Line(f"{used['path']}:{used['line']}:{used['column']}: {used['kind']}{inside}: {used['signature']}")
    yield from _left(data, "references")
    if not data.get("definitions"):
        near = data.get("suggestions", [])
        yield Line(f"no definition; did you mean: {', '.join(near)}?" if near else "no definition", "warn")
    yield from _notes(data)


def matches(data: Data) -> Iterator[Line]:
    """As grep writes them: `path:line: text`, the lines around with a dash."""
    last: tuple[str, int] = ("", 0)
    for match in data.get("matches", []):
        path, line = match["path"], match["line"]
        first = line - len(match["before"])
        if last[0] and (match["before"] or match["after"]) and (path != last[0] or first > last[1] + 1):
            yield Line("--", "dim")
        yield from (Line(f"{path}-{first + i}- {text}", "dim") for i, text in enumerate(match["before"]))
        yield Line(f"{path}:{line}:{match['column']}: {match['text']}")
        yield from (Line(f"{path}-{line + 1 + i}- {text}", "dim") for i, text in enumerate(match["after"]))
        last = (path, line + len(match["after"]))
    if not data.get("matches"):
        yield Line(f"no match in {count(data.get('files_searched', 0), 'file')}", "warn")
    elif data.get("truncated"):
        yield Line("there may be more matches", "warn")
    yield from _notes(data)


def truncated(data: Data) -> Iterator[Line]:
    """That there is more, and how to go on."""
    if data.get("cursor"):
        yield Line(f"truncated; go on with --cursor {data['cursor']}", "warn")
    elif data.get("truncated"):
        yield Line("truncated", "warn")


def _left(data: Data, what: str) -> Iterator[Line]:
    left = data.get(f"{what}_total", 0) - len(data.get(what, []))
    if left > 0:
        yield Line(f"... and {left} more {what}; --limit shows more", "warn")


def _notes(data: Data) -> Iterator[Line]:
    yield from (Line(f"note: {worded(note)}", "warn") for note in data.get("notes", []))
