"""`setup`: the configuration of an MCP client, printed, written or removed."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from regreen.cli.invocation import Answer, Invocation
from regreen.cli.lines import Line, diff
from regreen.cli.trusting import set_by
from regreen.errors import UsageError


def setup(invocation: Invocation) -> Answer:
    """Print, write or remove a client's entry; writing it trusts the folders that it serves, removing ends that."""
    args = invocation.args
    if args.print_only and args.remove:
        raise UsageError("invalid_arguments", "--print writes nothing, --remove writes", "leave one of them out")
    door: Any = import_module("regreen_bridge.client_config")
    roots = () if args.remove else _roots(invocation)
    request = door.SetupRequest(
        client=args.client, roots=roots, mode=args.mode, environ=invocation.environ, platform=sys.platform,
        python=Path(sys.executable), stamp=time.strftime("%Y%m%d-%H%M%S"),
    )  # fmt: skip
    report = door.remove(request) if args.remove else door.show(request) if args.print_only else door.write(request)
    said = [] if args.print_only else list(_trust(invocation, roots))
    return Answer(report.as_json(), (*_lines(report), *said), 0)


def _roots(invocation: Invocation) -> tuple[Path, ...]:
    """The folders to be served: those that were typed, else the git work tree around the working folder."""
    from regreen.git import find_top

    args = invocation.args
    if args.root:
        return tuple(dict.fromkeys(invocation.to_trust(invocation.folder(text)) for text in args.root))
    folder = invocation.repo()
    if not args.repo and find_top(folder) != folder:  # none around, or the home folder's
        raise UsageError("not_found", f"{folder} is not in a git work tree", "name what to serve with --root DIR")
    return (invocation.to_trust(folder),)


def _trust(invocation: Invocation, roots: tuple[Path, ...]) -> Iterator[Line]:
    """Let what setup trusts be these folders, and say so."""
    for path in set_by(invocation.settings(), roots, "setup"):
        yield Line(f"no longer trusted: {path}")
    for root in roots:
        yield Line(f"trusted: {root}: tests there may be run; `regreen trust {shlex.quote(str(root))} --remove` "
                   "withdraws that")  # fmt: skip


def _lines(report: Any) -> list[Line]:
    if report.shown:
        return [Line(text) for text in report.shown.split("\n")]
    lines = [*diff(report.diff)]
    if report.backup:
        lines.append(Line(f"the file as it was: {report.backup}", "dim"))
    return [*lines, *(Line(note) for note in report.notes)]
