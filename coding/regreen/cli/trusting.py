"""`regreen trust`: which folders may have their tests run. A trusted folder covers the repositories inside it."""

from __future__ import annotations

import os
from pathlib import Path

from regreen.cli.invocation import Answer, Invocation
from regreen.cli.lines import Line
from regreen.errors import UsageError
from regreen.settings import Settings
from regreen.wire import to_object


def trust(invocation: Invocation) -> Answer:
    """Grant, take away or list trust. The answer always lists what is trusted afterwards."""
    args = invocation.args
    if args.list and (args.remove or args.folder):
        raise UsageError("invalid_arguments", "--list stands alone", "leave out the rest")
    if args.list:
        return _answer(invocation, None, "")
    if args.remove:
        # The folder may be gone by now: its trust can be taken away all the same.
        typed = args.folder and Path(os.path.realpath(invocation.cwd / Path(args.folder).expanduser()))
        return _answer(invocation, typed or invocation.repo(), "remove")
    return _answer(invocation, invocation.repo(args.folder), "grant")


def grant(settings: Settings, folders: tuple[Path, ...], how: str) -> None:
    """Trust folders, and the repositories in them."""
    from regreen.session import trust
    from regreen.store import Store

    store = Store(settings.state_dir)
    for folder in folders:
        trust.grant(store, folder, how)
    store.close()


def _answer(invocation: Invocation, folder: Path | None, action: str) -> Answer:
    from regreen.session import trust
    from regreen.store import Store

    store = Store(invocation.settings().state_dir)
    said = ""
    if folder is not None and action == "grant":
        trust.grant(store, folder, "typed")
        said = f"trusted: {folder}"
    elif folder is not None:
        said = f"no longer trusted: {folder}" if trust.withdraw(store, folder) else f"was not trusted: {folder}"
    names = trust.granted(store)
    store.close()
    lines = [Line(said)] if said else [Line(name) for name in names] or [Line("no folder is trusted")]
    return Answer(to_object({"folder": folder, "trusted": names}), tuple(lines), 0)
