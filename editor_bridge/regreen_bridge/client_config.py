"""`regreen setup CLIENT`: the entry that makes an MCP client start our server, printed, written or removed.

Clients start servers with hardly any environment, so the entry holds absolute paths and a PATH on which git is found.
The client's file is replaced in one step, after a backup that overwrites none; a file that is not understood is left
alone.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from regreen.errors import ConfigError, EnvironmentFault
from regreen.wire import Json, internal, to_object
from regreen_bridge import clients, documents

SERVER_NAME = "regreen"
_PLAIN_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_FOLDERS = ("REGREEN_STATE_DIR", "REGREEN_CACHE_DIR")  # trust is kept there: the server must look in the same place


@dataclass(frozen=True, slots=True)
class SetupRequest:
    """What is wanted. `python` is the interpreter that runs regreen, `stamp` marks the backup."""

    client: str
    roots: tuple[Path, ...]
    mode: str
    environ: Mapping[str, str]
    platform: str
    python: Path
    stamp: str


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
        return to_object(self)


def show(request: SetupRequest) -> SetupReport:
    """The document to paste; nothing is written."""
    client = clients.find(request.client)
    config: dict[str, Json] = {client.key: {SERVER_NAME: entry(request)}}
    text = documents.with_entry("", client.key, SERVER_NAME, entry(request), where="")
    return SetupReport(client.name, str(_file(client, request)), changed=False, config=config, shown=text.rstrip("\n"))


def write(request: SetupRequest) -> SetupReport:
    """Set our entry in the client's file. Doing it again changes nothing. Raises ConfigError, EnvironmentFault."""
    client = clients.find(request.client)
    file = _file(client, request)
    before = _read(file)
    after = documents.with_entry(before or "", client.key, SERVER_NAME, entry(request), where=str(file))
    backup = _replace(file, before, after, request.stamp)
    changed = after != before
    config: dict[str, Json] = {client.key: {SERVER_NAME: entry(request)}}
    what = f"{client.title} will start regreen: {client.afterwards}" if changed else f"{file}: already as wanted"
    return SetupReport(client.name, str(file), changed, config, documents.difference(before or "", after, str(file)),
                       backup, (what, *_warnings(request)), written=True)  # fmt: skip


def remove(request: SetupRequest) -> SetupReport:
    """Take our entry out; everything else stays. Raises ConfigError, EnvironmentFault."""
    client = clients.find(request.client)
    file = _file(client, request)
    before = _read(file)
    after = documents.without_entry(before or "", client.key, SERVER_NAME, where=str(file))
    if before is None or after == before:
        return SetupReport(client.name, str(file), changed=False, notes=(f"{file}: regreen is not in it",))
    backup = _replace(file, before, after, request.stamp)
    return SetupReport(client.name, str(file), changed=True, diff=documents.difference(before, after, str(file)),
                       backup=backup, notes=(f"removed: {client.afterwards}",), written=True)  # fmt: skip


def entry(request: SetupRequest) -> dict[str, Json]:
    """The server's entry: an absolute command, what it serves, the PATH it needs, the folders that regreen keeps."""
    command, *arguments = _command(request.python)
    arguments += ["serve", *(part for root in request.roots for part in ("--root", str(root)))]
    if request.mode:
        arguments += ["--mode", request.mode]
    folders = {name: str(Path(request.environ[name]).absolute()) for name in _FOLDERS if request.environ.get(name)}
    return {"command": command, "args": [*arguments], "env": {"PATH": _search_path(request.environ), **folders}}


def _command(python: Path) -> list[str]:
    """The console script beside the interpreter, which needs no activation; else the interpreter and the package."""
    script = python.parent / ("regreen.exe" if python.suffix == ".exe" else "regreen")
    return [str(script)] if os.access(script, os.X_OK) else [str(python), "-m", "regreen"]


def _search_path(environ: Mapping[str, str]) -> str:
    git = shutil.which("git", path=environ.get("PATH", ""))
    if git is None:
        raise EnvironmentFault("environment", "git was not found on PATH", "install git, or put it on PATH")
    return os.pathsep.join(dict.fromkeys((str(Path(git).absolute().parent), *_PLAIN_PATH)))


def _warnings(request: SetupRequest) -> tuple[str, ...]:
    if any(part.startswith("archive-v") for part in request.python.parts):
        return ("this regreen lives in a cache that may be cleared: install it with `uv tool install` first",)
    return ()


def _file(client: clients.Client, request: SetupRequest) -> Path:
    """The client's file, with links resolved: a linked file is written where it really is."""
    home = clients.home_folder(request.environ)
    return Path(os.path.realpath(client.locate(request.platform, home, request.environ)))


def _read(file: Path) -> str | None:
    """The text of the file; None where there is none."""
    try:
        return file.read_text("utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError("config_refused", f"{file}: cannot be read: {e}", "it was left as it is") from e


def _replace(file: Path, before: str | None, after: str, stamp: str) -> str:
    """Write `after` in one step, keeping mode and a backup. Returns the backup's path, empty where none was needed."""
    if after == before:
        return ""
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        backup = _back_up(file, stamp) if before is not None else ""
        _create(temporary, after.encode("utf-8"), 0o666 if before is None else 0o600)
        if before is not None:
            shutil.copymode(file, temporary)
        temporary.replace(file)
    except OSError as e:
        temporary.unlink(missing_ok=True)
        raise EnvironmentFault("io", f"{file}: {e.strerror}", "make its folder writable, or use --print") from e
    return backup


def _back_up(file: Path, stamp: str) -> str:
    """Copy the file to a name that nothing has yet: an earlier backup may be all that is left of something."""
    data = file.read_bytes()
    for backup in _backup_names(file, stamp):
        try:
            _create(backup, data, 0o600)
        except FileExistsError:
            continue
        shutil.copystat(file, backup)
        return str(backup)
    raise AssertionError("the names never end")


def _backup_names(file: Path, stamp: str) -> Iterator[Path]:
    yield file.with_name(f"{file.name}.{stamp}.bak")
    yield from (file.with_name(f"{file.name}.{stamp}-{n}.bak") for n in count(2))


def _create(file: Path, data: bytes, mode: int) -> None:
    """Write a file that is not there yet; it may hold secrets, so nobody else ever reads it with a wider mode."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
