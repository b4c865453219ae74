"""What tests of edit formats share: a parser's result as a short text, the corpus by format, counting work."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regreen.edits.parsed import Parsed

_CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "edits.json"
_OF_PARSERS = ("parse", "no_edits", "unsupported")


def corpus(format: str) -> list[dict[str, Any]]:  # noqa: A002 - the field's name in the corpus
    """The reference cases of a format."""
    return [case for case in json.loads(_CORPUS.read_text("utf-8"))["cases"] if case["format"] == format]


def check_case(parsed: Parsed, case: dict[str, Any]) -> None:
    """A parser refuses what is its to refuse, and nothing else."""
    wanted = case["expect"].get("error_kind", "")
    found = parsed.problem.kind if parsed.problem is not None else ""
    assert found == (wanted if wanted in _OF_PARSERS else ""), parsed.problem
    assert bool(parsed.edits) or found


def edits_of(parsed: Parsed) -> list[Any]:
    """The edits of what could be read."""
    assert parsed.problem is None, parsed.problem
    assert parsed.problem_at == len(parsed.edits)
    return list(parsed.edits)


def problem_of(parsed: Parsed) -> str:
    """`kind: message | hint` of what could not."""
    assert parsed.problem is not None, parsed.edits
    assert parsed.problem.hint
    return f"{parsed.problem.kind}: {parsed.problem.message} | {parsed.problem.hint}"


def steps(work: Callable[[], object]) -> int:
    """How many calls, of Python and of built-in functions, `work` makes: a count, not a clock."""
    count = 0

    def hook(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(hook)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count
