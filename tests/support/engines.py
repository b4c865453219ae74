"""An engine on a repository, and the ways tests talk to it."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from regreen.session import Engine, FixOptions
from regreen.settings import Limits, load_settings

QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # of what lies about here none is needed, and all of it is slow


def settings_of_user(home: Path, *more: str) -> None:
    """The settings file of the user with this home: tests start quickly, and these lines besides."""
    file = home / ".config" / "regreen" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    quick = ", ".join(f"{name} = {json.dumps(value)}" for name, value in QUICK.items())
    file.write_text("\n".join((f"env = {{{quick}}}", *more, "")), "utf-8")


@contextmanager
def engine_on(
    root: Path,
    *,
    mode: str = "auto",
    trusted: bool = True,
    limits: Limits | None = None,
    **chosen: Any,
) -> Generator[Engine]:
    settings = load_settings(dict(os.environ), roots=(root,) if trusted else (), mode=mode)
    settings = replace(
        settings, **{"test_environ": QUICK, **chosen}, **({"limits": limits} if limits is not None else {})
    )
    with Engine(settings, cwd=root) as engine:
        yield engine


def ok(engine: Engine, tool: str, **arguments: object) -> dict[str, Any]:
    """The structured result of a call that must not be refused."""
    result = engine.call(tool, arguments)
    assert not result.is_error, result.text
    assert result.text
    return result.data


def refused(engine: Engine, tool: str, **arguments: object) -> dict[str, str]:
    """The error of a call that must be refused."""
    result = engine.call(tool, arguments)
    assert result.is_error, result.text
    error = result.data["error"]
    assert isinstance(error, dict)
    assert result.text.startswith(f"{error['kind']}: ")
    return {k: str(v) for k, v in error.items()}


def replacement(path: str, search: str, replace_by: str) -> dict[str, str]:
    return {"path": path, "search": search, "replace": replace_by}


def script(folder: Path, proposals: Sequence[Sequence[dict[str, str]]]) -> Path:
    """A scripted proposer's file: one proposal a line."""
    path = folder / "script.jsonl"
    path.write_text("".join(json.dumps({"replacements": list(p)}) + "\n" for p in proposals), "utf-8")
    return path


def run_script(engine: Engine, path: Path, **options: Any) -> dict[str, Any]:
    """A fix run with a scripted proposer, waited for; its job's data."""
    fix_job = engine.fix(engine.session(), FixOptions(proposer="scripted", script=path, **options))
    assert fix_job.job.wait(100) == "done"
    return fix_job.job.data()


def waiting_for_edits(engine: Engine, **arguments: object) -> str:
    """The id of a fix run that has taken its baseline and waits for its caller's edits."""
    job_id: str = ok(engine, "fix_tests", proposer="caller", wait_s=0, **arguments)["job_id"]
    job = engine.jobs.live(job_id)
    assert job is not None
    assert job.wait(100) == "waiting_for_edits"
    return job_id
