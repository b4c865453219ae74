"""`setup`: the configuration of an MCP client, printed, written or removed."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
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
    from regreen.store import Store

    door: Any = import_module("regreen_bridge.client_config")
    client: Any = import_module("regreen_bridge.clients").find(args.client)
    roots = () if args.remove and args.scope == "user" else _roots(invocation)
    request = door.SetupRequest(
        client=args.client, roots=roots, mode=args.mode, environ=invocation.environ, platform=sys.platform,
        python=Path(sys.executable), stamp=time.strftime("%Y%m%d-%H%M%S"), scope=args.scope,
    )  # fmt: skip
    if not args.print_only:  # what cannot be used is said before a client's file is touched
        Store(invocation.settings().state_dir).close()
    report = door.remove(request) if args.remove else door.show(request) if args.print_only else door.write(request)
    if args.print_only:
        return Answer(report.as_json(), tuple(_lines(report)), 0)
    keys = () if args.remove else tuple(_keys(invocation, client))
    report = replace(report, notes=(*report.notes, *keys))
    return Answer(report.as_json(), (*_lines(report), *_trust(invocation, door, request)), 0)


def _keys(invocation: Invocation, client: Any) -> Iterator[str]:
    """How a key that is in the environment reaches the server: it is never written to a client's file."""
    from regreen.providers import keys
    from regreen.settings.extras import how_to_keep_a_key

    settings = invocation.settings()
    for provider in keys.PROVIDERS:
        name = keys.key_variable(provider, settings)
        if not invocation.environ.get(name, "").strip():
            continue
        kept = f"keep it in the keyring: {how_to_keep_a_key(provider)}"
        how = [f'add `"{name}": "{client.passing.format(name=name)}"` to its variables'] if client.passing else []
        how += [client.besides.format(name=name)] if client.besides else []
        yield f"{name} is not written down; for {client.title} {'; '.join(how)}; or {kept}" if how else (
            f"{name} is not written down, and {client.title} may not hand it on: {kept}")  # fmt: skip


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


def _trust(invocation: Invocation, door: Any, request: Any) -> Iterator[Line]:
    """Let what setup trusts be the folders that the clients' entries serve now, and say so."""
    if request.scope == "project":
        root = request.roots[0]
        served, how = ((root,) if door.configured(request.where, root) else ()), f"setup in {root}"
    else:
        served, how = tuple(dict.fromkeys(r for f in door.configured(request.where) for r in f.roots)), "setup"
    for path in set_by(invocation.settings(), served, how):
        yield Line(f"no longer trusted: {path}")
    for root in request.roots if not invocation.args.remove else ():
        yield Line(f"trusted: {root}: tests there may be run; `regreen trust {shlex.quote(str(root))} --remove` "
                   "withdraws that")  # fmt: skip


def _lines(report: Any) -> list[Line]:
    if report.shown:
        return [Line(text) for text in report.shown.split("\n")]
    lines = [*diff(report.diff)]
    if report.backup:
        lines.append(Line(f"the file as it was: {report.backup}", "dim"))
    return [*lines, *(Line(note) for note in report.notes)]
