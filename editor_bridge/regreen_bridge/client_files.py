"""The files of clients: read as they are, replaced in one step, and never without a backup that overwrites none."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

from regreen.errors import ConfigError, EnvironmentFault

MAX_BYTES = 32 * 1024 * 1024
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


def read(file: Path) -> str | None:
    """The text of the file as it is, ends of lines and mark included; None where there is none. Raises ConfigError;
    what is no file is not waited for."""
    try:
        fd = os.open(file, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(fd, "rb") as opened:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise _refused(file, "is no regular file")
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise _refused(file, f"has more than {MAX_BYTES} bytes")
        return data.decode("utf-8")
    except FileNotFoundError:
        return None
    except OSError as e:
        raise _refused(file, f"cannot be read: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise _refused(file, f"cannot be read: byte {e.start} is not UTF-8") from e


def _refused(file: Path, what: str) -> ConfigError:
    return ConfigError("config_refused", f"{file}: {what}", "correct that; it was left as it is")


def replace(file: Path, before: str | None, after: str, stamp: str) -> str:
    """Write `after` in one step, keeping mode and a backup. Returns the backup's path, empty where none was needed.
    Raises EnvironmentFault, and then all is as it was."""
    if after == before:
        return ""
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    backup = ""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        backup = _back_up(file, stamp) if before is not None else ""
        _create(temporary, after.encode("utf-8"), 0o666 if before is None else 0o600)
        if before is not None:
            shutil.copymode(file, temporary)
        temporary.replace(file)
    except OSError as e:
        for made in (temporary, *([Path(backup)] if backup else [])):
            with suppress(OSError):  # where it could not be made at all, the first error is the one to tell
                made.unlink()
        raise _fault(file, e) from e
    return backup


def delete(file: Path, stamp: str) -> str:
    """Take the file away. Returns the path of its backup. Raises EnvironmentFault."""
    try:
        backup = _back_up(file, stamp)
        file.unlink()
    except OSError as e:
        raise _fault(file, e) from e
    return backup


def _fault(file: Path, e: OSError) -> EnvironmentFault:
    by_hand = "paste what --print shows"
    if e.errno in _NO_ROOM:
        return EnvironmentFault("io", f"{file}: {e.strerror}", "free disk space")
    denied = f"make its folder writable, or {by_hand}"
    return EnvironmentFault("io", f"{file}: {e.strerror}", denied if e.errno in _DENIED else by_hand)


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
    """Write a file that is not there yet; it may hold secrets, so nobody else ever reads it with a wider mode. All of
    it, or no file."""
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as f:
        try:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        except OSError:
            file.unlink(missing_ok=True)
            raise
