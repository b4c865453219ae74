"""The other doors, started by name: `serve` (the MCP server) and `setup` (configuration of its clients)."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from regreen.cli.invocation import Answer, Invocation
from regreen.cli.lines import Line, diff
from regreen.cli.trusting import grant
from regreen.errors import UsageError


def serve(invocation: Invocation) -> int:
    """Serve MCP on stdin and stdout until the client leaves. Each --root (and --repo) is trusted."""
    args = invocation.args
    if args.json:
        raise UsageError("invalid_arguments", "serve has no result to print: stdout carries the protocol",
                         "leave out --json")  # fmt: skip
    roots = [invocation.folder(text) for text in (*args.root, *([args.repo] if args.repo else []))]
    door: Any = import_module("regreen_server.main")
    return cast("int", door.serve(invocation.settings(*roots), read_only=args.read_only, toolsets=args.toolsets))


def setup(invocation: Invocation) -> Answer:
    """Print, write or remove a client's entry; writing it trusts the folders that it serves."""
    args = invocation.args
    door: Any = import_module("regreen_bridge.client_config")
    roots = [invocation.folder(text) for text in args.root] or ([] if args.remove else [invocation.repo()])
    request = door.SetupRequest(
        client=args.client, roots=tuple(roots), mode=args.mode, environ=invocation.environ, platform=sys.platform,
        python=Path(sys.executable), stamp=time.strftime("%Y%m%d-%H%M%S"),
    )  # fmt: skip
    report = door.remove(request) if args.remove else door.show(request) if args.print_only else door.write(request)
    if report.written and not args.remove:
        grant(invocation.settings(), tuple(roots), "setup")
    return Answer(report.as_json(), tuple(_lines(report)), 0)


def _lines(report: Any) -> list[Line]:
    if report.shown:
        return [Line(text) for text in report.shown.split("\n")]
    lines = [*diff(report.diff)]
    if report.backup:
        lines.append(Line(f"the file as it was: {report.backup}", "dim"))
    return [*lines, *(Line(note) for note in report.notes)]
