"""`regreen setup CLIENT`: the entry that makes an MCP client start our server, printed, written or removed.

Clients start servers with hardly any environment, so the entry holds absolute paths and a PATH on which git is found.
The client's file is replaced in one step, after a backup that overwrites none; a file that is not understood is left
alone.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from regreen.errors import ConfigError, EnvironmentFault, UsageError
from regreen.wire import Json, encodable, internal, to_object
from regreen_bridge import client_files, clients, documents
from regreen_bridge.clients import Client, Scope, Where
from regreen_bridge.documents import KeyPath
from regreen_bridge.shapes import Launch, is_text, launch_of, odd_part

SERVER_NAME = "regreen"
_PLAIN_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_NEEDED = "git"
_USED = ("node", "uv")  # by runs, where they are there
_FOLDERS = ("REGREEN_STATE_DIR", "REGREEN_CACHE_DIR")  # trust is kept there: the server must look in the same place
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class SetupRequest:
    """What is wanted. `python` is the interpreter that runs regreen, `stamp` marks the backup. The scope `project`
    means the client's file inside of the one root."""

    client: str
    roots: tuple[Path, ...]
    mode: str
    environ: Mapping[str, str]
    platform: str
    python: Path
    stamp: str
    scope: Scope = "user"

    @property
    def where(self) -> Where:
        """The machine as the table of clients sees it."""
        return Where(self.platform, clients.home_folder(self.environ), self.environ)


@dataclass(frozen=True, slots=True)
class Found:
    """Our entry in the file of a client, and how it starts the server."""

    client: str
    file: Path
    launch: Launch

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders that it serves."""
        pairs = zip(self.launch.args, self.launch.args[1:], strict=False)
        return tuple(Path(value) for name, value in pairs if name == "--root")


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """A client's file that is there and cannot be used."""

    client: str
    file: Path
    error: ConfigError


@dataclass(frozen=True, slots=True)
class SetupReport:
    """What was done. `shown` is the document to paste, where only that was asked for; `backup` the file as it was."""

    client: str
    file: str
    changed: bool
    config: dict[str, Json] = field(default_factory=dict[str, Json])
    diff: str = ""
    backup: str = ""
    notes: tuple[str, ...] = ()
    shown: str = internal(default="")
    written: bool = internal(default=False)

    def as_json(self) -> dict[str, Json]:
        return cast("dict[str, Json]", encodable(to_object(self)))


def show(request: SetupRequest) -> SetupReport:
    """The document to paste; nothing is written."""
    client = clients.find(request.client)
    path, shape = client.layout({})
    made = shape(launch(request))
    text = documents.with_entry("", path, SERVER_NAME, made, dialect=client.dialect, where="")
    return SetupReport(client.name, str(_file(client, request)), changed=False, config=_under(path, made),
                       shown=text.rstrip("\n"))  # fmt: skip


def write(request: SetupRequest) -> SetupReport:
    """Set our entry in the client's file. Doing it again changes nothing. Raises ConfigError, EnvironmentFault."""
    client = clients.find(request.client)
    file = _file(client, request)
    before = client_files.read(file)
    text = (before or "").removeprefix(_BOM)
    content = documents.read(text, client.dialect, str(file))
    path, shape = client.layout(content)
    old = documents.find_entry(content, path, SERVER_NAME, str(file))
    made = _kept(old, shape(launch(request)))
    after = documents.with_entry(text, path, SERVER_NAME, made, dialect=client.dialect, where=str(file))
    changed = after != text
    backup = client_files.replace(file, before, (before or "")[: len(before or "") - len(text)] + after, request.stamp)
    what = f"{client.title} will start regreen: {client.afterwards}" if changed else f"{file}: already as wanted"
    shown = json.loads(json.dumps(made, default=str))  # what was there before may hold a date of TOML's
    return SetupReport(client.name, str(file), changed, _under(path, shown),
                       documents.difference(text, after, str(file)), backup, (what, *_warnings(request)),
                       written=True)  # fmt: skip


def remove(request: SetupRequest) -> SetupReport:
    """Take our entry out; everything else stays. Raises ConfigError, EnvironmentFault."""
    client = clients.find(request.client)
    file = _file(client, request)
    before = client_files.read(file)
    text = (before or "").removeprefix(_BOM)
    content = documents.read(text, client.dialect, str(file))
    path, _ = client.layout(content)
    after = documents.before_entry(text, path, SERVER_NAME, dialect=client.dialect, where=str(file))
    if after is None:
        after = documents.without_entry(text, path, SERVER_NAME, dialect=client.dialect, where=str(file))
    if before is None or after == text:
        return SetupReport(client.name, str(file), changed=False, notes=(f"{file}: regreen is not in it",))
    if not after.strip():  # the file is there for our entry alone
        backup = client_files.delete(file, request.stamp)
    else:
        backup = client_files.replace(file, before, before[: len(before) - len(text)] + after, request.stamp)
    return SetupReport(client.name, str(file), changed=True, diff=documents.difference(text, after, str(file)),
                       backup=backup, notes=(f"removed: {client.afterwards}",), written=True)  # fmt: skip


def entry(request: SetupRequest) -> dict[str, Json]:
    """The server's entry in a new file of the client."""
    _, shape = clients.find(request.client).layout({})
    return shape(launch(request))


def launch(request: SetupRequest) -> Launch:
    """An absolute command, what it serves, the PATH it needs, the folders that regreen keeps. Never a key."""
    command, *arguments = _command(request.python)
    arguments += ["serve", *(part for root in request.roots for part in ("--root", str(root)))]
    if request.mode:
        arguments += ["--mode", request.mode]
    folders = {name: str(Path(request.environ[name]).absolute()) for name in _FOLDERS if request.environ.get(name)}
    made = Launch(command, tuple(arguments), {"PATH": _search_path(request.environ), **folders})
    if (odd := odd_part(made)) is not None:
        raise _not_text(odd)
    return made


def configured(where: Where, root: Path | None = None) -> tuple[Found, ...]:
    """Our entries in the files of all clients: the user's, or with `root` those inside of that project. A file that is
    not understood is passed over: its client does not start us by it."""
    return tuple(f for f in _looked_at(where, root) if isinstance(f, Found))


def not_understood(where: Where, root: Path | None = None) -> tuple[NotUnderstood, ...]:
    """The files of clients that `configured` passes over, and why."""
    return tuple(f for f in _looked_at(where, root) if isinstance(f, NotUnderstood))


def _looked_at(where: Where, root: Path | None) -> list[Found | NotUnderstood | None]:
    return [_found(c, _place(c, where, root)) for c in clients.CLIENTS if root is None or c.project]


def _found(client: Client, file: Path) -> Found | NotUnderstood | None:
    try:
        content = documents.read((client_files.read(file) or "").removeprefix(_BOM), client.dialect, str(file))
        path, _ = client.layout(content)
        made = launch_of(documents.find_entry(content, path, SERVER_NAME, str(file)))
        if made is not None and (odd := odd_part(made)) is not None:
            raise ConfigError("config_refused", f"{file}: no server can be started with {odd!r}",
                              f"write its entry again: `regreen setup {client.name}`")  # fmt: skip
    except ConfigError as e:
        return NotUnderstood(client.name, file, e)
    return Found(client.name, file, made) if made is not None else None


def _kept(old: object, made: dict[str, Json]) -> dict[str, Json]:
    """Our entry with what the person or the client added to the old one: approvals, variables."""
    if launch_of(old) is None:
        return made
    fields = cast("dict[str, Json]", old)
    merged = {**fields, **made}
    for name in ("env", "environment"):
        theirs, ours = fields.get(name), made.get(name)
        if isinstance(theirs, dict) and isinstance(ours, dict):
            usable = {k: v for k, v in theirs.items() if odd_part(Launch("", (), {k: str(v)})) is None}
            merged[name] = {**{k: v for k, v in usable.items() if k not in _FOLDERS}, **ours}
    return merged


def _under(path: KeyPath, made: dict[str, Json]) -> dict[str, Json]:
    config: dict[str, Json] = {SERVER_NAME: made}
    for key in reversed(path):
        config = {key: config}
    return config


def _command(python: Path) -> list[str]:
    """The console script beside the interpreter, which needs no activation; else the interpreter and the package."""
    script = python.parent / ("regreen.exe" if python.suffix == ".exe" else "regreen")
    return [str(script)] if os.access(script, os.X_OK) else [str(python), "-m", "regreen"]


def _search_path(environ: Mapping[str, str]) -> str:
    found = {name: shutil.which(name, path=environ.get("PATH", "")) for name in (_NEEDED, *_USED)}
    if found[_NEEDED] is None:
        raise EnvironmentFault("environment", "git was not found on PATH", "install git, or put it on PATH")
    folders = [str(Path(program).absolute().parent) for program in found.values() if program is not None]
    return os.pathsep.join(dict.fromkeys((*folders, *_PLAIN_PATH)))


def _warnings(request: SetupRequest) -> tuple[str, ...]:
    said: list[str] = []
    if any(part.startswith("archive-v") for part in request.python.parts):
        said.append("this regreen lives in a cache that may be cleared: install it with `uv tool install` first")
    if request.scope == "project":
        said.append("the file holds paths of this machine: leave it out of commits")
    return tuple(said)


def _file(client: Client, request: SetupRequest) -> Path:
    """The client's file, with links resolved: a linked file is written where it really is. Raises UsageError."""
    if request.scope == "user":
        return _place(client, request.where, None)
    if len(request.roots) != 1:
        raise UsageError("invalid_arguments", f"--scope project is about one folder, {len(request.roots)} are named",
                         "name one with --root DIR")  # fmt: skip
    if not is_text(str(request.roots[0])):
        raise _not_text(str(request.roots[0]))
    return _place(client, request.where, request.roots[0])


def _place(client: Client, where: Where, root: Path | None) -> Path:
    files = client.places(where) if root is None else clients.project_files(client, root)
    there = (f for f in files if os.path.exists(f))  # noqa: PTH110  (what cannot be looked at is not there)
    return Path(os.path.realpath(next(there, files[0])))


def _not_text(odd: str) -> UsageError:
    return UsageError("invalid_arguments", f"the name {odd!r} is not UTF-8: no client's file can hold it",
                      "rename that folder, or name another")  # fmt: skip
