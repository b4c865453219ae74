"""Commands that change files or show changes: `edit`, `changes`, `restore`, `undo`."""

from __future__ import annotations

import sys
from pathlib import Path

from regreen.cli.calls import call
from regreen.cli.engine import opened
from regreen.cli.invocation import Answer, Invocation, answer
from regreen.errors import UsageError


def edit(invocation: Invocation) -> Answer:
    """Apply the blocks of a response, read from a file or from standard input."""
    text = _response(invocation.args.file, invocation.cwd)
    return _ask(invocation, "apply_edits", {"text": text, **invocation.given("format", "dry_run")})


def changes(invocation: Invocation) -> Answer:
    """What differs from HEAD, a snapshot or a run's start."""
    return _ask(invocation, "show_changes", {"since": invocation.args.since})


def restore(invocation: Invocation) -> Answer:
    """Put back what a transaction or a run changed."""
    return _ask(invocation, "restore", {"to": invocation.args.to, **invocation.given("dry_run")})


def undo(invocation: Invocation) -> Answer:
    """Put back what the latest edit changed."""
    repo = invocation.repo()
    with opened(invocation, repo) as engine:
        latest = engine.session(str(repo)).last_change()
        if not latest:
            raise UsageError("not_found", f"no edit of regreen stands in {repo}", "see `regreen changes`")
        arguments = {"repo": str(repo), "to": latest, **invocation.given("dry_run")}
        return answer("restore", call(engine, invocation.screen, "restore", arguments))


def _ask(invocation: Invocation, tool: str, arguments: dict[str, object]) -> Answer:
    repo = invocation.repo()
    with opened(invocation, repo) as engine:
        return answer(tool, call(engine, invocation.screen, tool, {"repo": str(repo), **arguments}))


def _response(name: str, cwd: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else (cwd / name).read_bytes()
    except OSError as e:
        raise UsageError("not_found", f"{name}: {e.strerror}", "name a readable file, or - for standard input") from e
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise UsageError("invalid_arguments", f"{name}: not UTF-8 at byte {e.start}", "save the text as UTF-8") from e
