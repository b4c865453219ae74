"""Scripts of proposers and models: files of one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from regreen.errors import UsageError


def objects(path: Path, wanted: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The object of each line that is not blank, with the name of its place: `FILE:LINE`.

    Raises UsageError that names the place; `wanted` is its hint, what a line should be.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(
            "invalid_arguments", f"{path}: the script cannot be read: {e}", "name a UTF-8 JSONL file"
        ) from e
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            where = f"{path}:{number}"
            yield where, _object(line, where, wanted)


def _object(line: str, where: str, wanted: str) -> Mapping[str, object]:
    try:
        data: object = json.loads(line)
    except ValueError as e:
        raise UsageError("invalid_arguments", f"{where}: not JSON: {e}", wanted) from e
    except RecursionError:
        raise UsageError("invalid_arguments", f"{where}: JSON that is nested too deeply", wanted) from None
    if not isinstance(data, dict):
        raise UsageError("invalid_arguments", f"{where}: a JSON {type(data).__name__}, not an object", wanted)
    return cast("Mapping[str, object]", data)
