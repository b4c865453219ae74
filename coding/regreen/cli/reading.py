"""Commands that only read: `skeleton`, `signatures`, `read`."""

from __future__ import annotations

from pathlib import Path

from regreen.cli.calls import call
from regreen.cli.engine import opened
from regreen.cli.invocation import Answer, Invocation, answer


def skeleton(invocation: Invocation) -> Answer:
    """The file tree."""
    repo, path = invocation.repo(), invocation.args.path
    folder: dict[str, object] = {"path": invocation.inside(repo, [path])[0]} if path else {}
    return _ask(invocation, repo, "repo_skeleton", {**folder, **invocation.given("depth", "max_tokens", "cursor")})


def signatures(invocation: Invocation) -> Answer:
    """Symbols of files, folders or globs; of the whole repository when none is named."""
    repo = invocation.repo()
    paths = invocation.inside(repo, invocation.args.paths) or ["."]
    given = invocation.given("docstrings", "max_tokens", "cursor")
    return _ask(invocation, repo, "extract_signatures", {"paths": paths, **given})


def read(invocation: Invocation) -> Answer:
    """The text of a file, or of some of its lines."""
    repo, (first, last) = invocation.repo(), invocation.args.lines
    lines = {"start_line": first, "end_line": last}
    path = invocation.inside(repo, [invocation.args.path])[0]
    return _ask(invocation, repo, "read_file", {"path": path, **{k: v for k, v in lines.items() if v}})


def _ask(invocation: Invocation, repo: Path, tool: str, arguments: dict[str, object]) -> Answer:
    with opened(invocation, repo) as engine:
        return answer(tool, call(engine, invocation.screen, tool, {"repo": str(repo), **arguments}))
