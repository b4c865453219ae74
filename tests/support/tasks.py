"""Coding tasks with a scripted model: replies, and a run to the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regreen.events import Event
from regreen.session import Engine
from regreen.session.tasks import TaskOptions


def says(text: str) -> dict[str, Any]:
    return {"text": text}


def calls(*named: tuple[str, dict[str, Any]], text: str = "") -> dict[str, Any]:
    """A reply that calls tools."""
    return {"calls": [{"name": name, "arguments": arguments} for name, arguments in named], "text": text}


def edits(path: str, search: str, replace: str) -> dict[str, Any]:
    return calls(("apply_edits", {"replacements": [{"path": path, "search": search, "replace": replace}]}))


def replies(folder: Path, lines: Sequence[dict[str, Any]]) -> Path:
    path = folder / "replies.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def run_task(
    engine: Engine, script: Path, task: str = "do it", events: list[Event] | None = None, **options: Any
) -> dict[str, Any]:
    """The data of a task at its end."""
    asked = TaskOptions(task, provider="scripted", script=script, **options)
    heard = events.append if events is not None else None
    job = engine.task(engine.session(), asked, on_event=heard).job
    assert job.wait(100) == "done"
    return job.data()
