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
    return _answer(invocation, invocation.to_trust(invocation.repo(args.folder)), "grant")


def set_by(settings: Settings, folders: tuple[Path, ...], how: str) -> tuple[str, ...]:
    """Trust exactly these folders on behalf of `how`: what it trusted before and is not among them is withdrawn.

    What somebody else trusted stays as it is. Returns the folders that were withdrawn.
    """
    from regreen.session import trust
    from regreen.store import Store

    store = Store(settings.state_dir)
    wanted = {str(f) for f in folders}
    old = [r["path"] for r in store.rows("SELECT path FROM trust WHERE how = ? ORDER BY path", how)]
    gone = tuple(path for path in old if path not in wanted and trust.withdraw(store, Path(path)))
    for folder in wanted - set(trust.granted(store)):
        trust.grant(store, Path(folder), how)
    store.close()
    return gone


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
