"""How a person sees edits: what they would change, what came of them, why one does not fit. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from regreen.cli.lines import Line, diff, split
from regreen.cli.wording import worded

Data = Mapping[str, Any]


def planned(data: Data) -> Iterator[Line]:
    """What edits would change."""
    files = data.get("files", [])
    number = 0
    several = sum(file.get("hunks", 0) for file in files) > 1 and not data.get("transaction")
    for file in files:
        source = f"{file['from']} to " if file.get("from") else ""
        whole = file["action"] != "modify"  # then all of the file is one part to choose
        number += whole
        label = f" [hunk {number}]" if whole and several else ""
        yield Line(f"{file['action']} {source}{file['path']} (+{file['added']} -{file['removed']}){label}", "strong")
        for line in diff(file.get("diff", "")):
            starts = line.style == "hunk" and not whole
            number += starts
            yield Line(f"{line.text} [hunk {number}]", "hunk") if several and starts else line


def edited(data: Data) -> Iterator[Line]:
    """Edits that were applied, would be, or do not fit."""
    yield from planned(data)
    for edit in data.get("edits", []):
        if error := edit.get("error"):
            yield from edit_error(edit, error)
    yield from applied(data)


def applied(data: Data) -> Iterator[Line]:
    """What came of edits, without showing them."""
    for warning in data.get("warnings", []):
        yield Line(f"warning: {worded(warning)}", "warn")
    if data.get("transaction"):
        yield Line(f"applied as {data['transaction']}; `regreen undo` takes it back", "good")
    elif data.get("ok"):
        yield Line(f"would apply; nothing was written. `regreen edit --commit {data['plan']}` applies it", "good")
    else:
        yield Line("nothing was written", "bad")


def edit_error(edit: Data, error: Data) -> Iterator[Line]:
    """Why an edit was not applied, with the lines that it may have meant."""
    where = f" of {edit['path']}" if edit.get("path") else ""
    yield Line(f"edit {edit['index'] + 1}{where}: {error['kind']}: {worded(error['message'])}", "bad")
    if error.get("candidates"):
        yield Line(f"  at lines {', '.join(map(str, error['candidates']))}")
    if closest := error.get("closest"):
        several = closest["end"] > closest["start"]
        where = f"lines {closest['start']}-{closest['end']}" if several else f"line {closest['start']}"
        if "the closest place is" not in error["message"]:
            yield Line(f"  the closest place is {where}:")
        yield from split(closest["text"].rstrip("\n"), "dim", "  ")
    if first := error.get("first_difference"):
        yield Line(f"  line {first['line']} is {first['found']}, the edit has {first['expected']}")
    if hint := worded(error.get("hint", "")):
        yield Line(f"  hint: {hint}")
