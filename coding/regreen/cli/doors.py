"""The doors that stay open, started by name: `serve` (the MCP server)."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from regreen.cli.invocation import Invocation
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
