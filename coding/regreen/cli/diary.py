"""What a run's diary tells: the tests that it is about, which models were asked. Only read, and never insisted on: a
diary that is missing or broken off tells what it has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from regreen.wire import Json


def goal_of(diary: Path) -> list[str]:
    """The tests that failed for certain before a run's first attempt."""
    first = next(_events(diary, "baseline_taken"), None)
    return [] if first is None else [str(name) for name in first.get("goal", [])]


def asking_of(diary: Path) -> list[tuple[int, str]]:
    """The models that were asked so far, each with the number of the attempt that it was asked for."""
    turns = _events(diary, "turn_started")
    return [(int(turn["attempt"]), str(turn["model"])) for turn in turns if "attempt" in turn and "model" in turn]


def asked_of(diary: Path) -> dict[str, Json]:
    """The models that have answered, how often, and whether one of them has no known price."""
    answers = list(_events(diary, "model_response"))
    models: list[Json] = [*dict.fromkeys(str(answer.get("model", "")) for answer in answers)]
    return {"models": models, "questions": len(answers), "unpriced": any("usd" not in answer for answer in answers)}


def refused_of(diary: Path) -> dict[str, Json]:
    """How many calls of a task's model were not allowed, and what it was told of the last one."""
    denied = [result for result in _events(diary, "tool_result") if result.get("denied")]
    return {"calls": len(denied), "message": str(denied[-1].get("message", "")) if denied else ""}


def _events(diary: Path, kind: str) -> Iterator[dict[str, Any]]:
    with suppress(OSError), diary.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if f'"{kind}"' in line:
                with suppress(ValueError):
                    event = json.loads(line)
                    if event.get("kind") == kind:
                        yield event
