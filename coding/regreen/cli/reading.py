"""Commands that only read: `skeleton`, `signatures`, `map`, `symbol`, `search`, `read`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from regreen.cli.calls import call
from regreen.cli.engine import opened
from regreen.cli.exit_codes import INTERRUPTED
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


def ranked_map(invocation: Invocation) -> Answer:
    """The definitions that matter most, for what is named."""
    repo = invocation.repo()
    focus = [_focused(invocation, repo, text) for text in invocation.args.focus]
    given = invocation.given("tests", "max_tokens")
    return _ask(invocation, repo, "repo_map", {**({"focus": focus} if focus else {}), **given})


def _focused(invocation: Invocation, repo: Path, text: str) -> str:
    """What was typed, as a path from the root where it is one; names stay as they are."""
    is_path = any(c in text for c in "/*?") or (invocation.cwd / text).exists()
    return invocation.inside(repo, [text])[0] if is_path else text


def symbol(invocation: Invocation) -> Answer:
    """Where a name is defined, and used."""
    given = invocation.given("kind", "references", "limit")
    return _ask(invocation, invocation.repo(), "find_symbol", {"name": invocation.args.name, **given})


def search(invocation: Invocation) -> Answer:
    """Lines that contain a text or match an expression."""
    repo = invocation.repo()
    globs = invocation.inside(repo, invocation.args.globs)
    given = invocation.given("regex", "ignore_case", "context", "limit")
    return _ask(invocation, repo, "search_text", {"pattern": invocation.args.pattern,
                                                  **({"globs": globs} if globs else {}), **given})  # fmt: skip


def read(invocation: Invocation) -> Answer:
    """The text of a file, or of some of its lines."""
    repo, (first, last) = invocation.repo(), invocation.args.lines
    lines = {"start_line": first, "end_line": last}
    path = invocation.inside(repo, [invocation.args.path])[0]
    return _ask(invocation, repo, "read_file", {"path": path, **{k: v for k, v in lines.items() if v}})


def _ask(invocation: Invocation, repo: Path, tool: str, arguments: dict[str, object]) -> Answer:
    with opened(invocation, repo) as engine:
        told = answer(tool, call(engine, invocation.screen, tool, {"repo": str(repo), **arguments}))
    return replace(told, code=INTERRUPTED) if invocation.screen.interrupted.is_set() else told
