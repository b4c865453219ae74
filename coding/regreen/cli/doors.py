"""The doors that stay open, started by name: `serve` (the MCP server)."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from regreen.cli.invocation import Invocation
from regreen.errors import UsageError


def serve(invocation: Invocation) -> int:
    """Serve MCP on stdin and stdout until the client leaves, or over HTTP until a signal ends it. Each --root (and
    --repo) is trusted."""
    args = invocation.args
    if args.json:
        raise UsageError("invalid_arguments", "serve has no result to print: stdout carries the protocol",
                         "leave out --json")  # fmt: skip
    roots = [invocation.folder(text) for text in (*args.root, *([args.repo] if args.repo else []))]
    settings = invocation.settings(*roots)
    if args.http is not None or args.socket is not None or args.token_file or args.allow_remote:
        options: Any = import_module("regreen_server.http.options").http_options(
            settings, http=args.http, socket=args.socket, token_file=args.token_file, allow_remote=args.allow_remote
        )
        offer: Any = import_module("regreen_server.tool_list").Offer(args.toolsets == "core", args.read_only)
        return cast("int", import_module("regreen_server.http.running").serve(settings, options, offer))
    door: Any = import_module("regreen_server.main")
    return cast("int", door.serve(settings, read_only=args.read_only, toolsets=args.toolsets))
