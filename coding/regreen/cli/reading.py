"""Commands that only read: `skeleton`, `signatures`, `read`."""

from __future__ import annotations

from regreen.cli.calls import call
from regreen.cli.engine import opened
from regreen.cli.invocation import Answer, Invocation, answer


def skeleton(invocation: Invocation) -> Answer:
    """The file tree."""
    return _ask(invocation, "repo_skeleton", invocation.given("path", "depth", "max_tokens", "cursor"))


def signatures(invocation: Invocation) -> Answer:
    """Symbols of files, folders or globs; of the whole repository when none is named."""
    given = invocation.given("paths", "docstrings", "max_tokens", "cursor")
    return _ask(invocation, "extract_signatures", {"paths": ["."], **given})


def read(invocation: Invocation) -> Answer:
    """The text of a file, or of some of its lines."""
    first, last = invocation.args.lines
    lines = {"start_line": first, "end_line": last}
    return _ask(invocation, "read_file", {"path": invocation.args.path, **{k: v for k, v in lines.items() if v}})


def _ask(invocation: Invocation, tool: str, arguments: dict[str, object]) -> Answer:
    repo = invocation.repo()
    with opened(invocation, repo) as engine:
        return answer(tool, call(engine, invocation.screen, tool, {"repo": str(repo), **arguments}))
