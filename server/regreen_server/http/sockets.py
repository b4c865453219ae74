"""The listening sockets, bound before anything is told: TCP on one address, or a UNIX socket for its owner alone."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from regreen.errors import ConfigError

_BACKLOG = 256
_MAX_PATH_BYTES = 100  # what fits into every system's socket address


def listen_tcp(host: str, port: int) -> socket.socket:
    """A socket that listens on this IP address. Raises ConfigError."""
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if ":" in host:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as e:
        listener.close()
        if e.errno == errno.EADDRINUSE:
            raise ConfigError("config_refused", f"port {port} on {host} is in use by another program",
                              "give another port, or 0 for any free one") from None  # fmt: skip
        raise ConfigError("config_refused", f"cannot listen on {host} port {port}: {e.strerror}",
                          "give an address of this machine, and a port from 1024 on") from None  # fmt: skip
    return listener


class UnixListener:
    """A UNIX socket at a path, for its owner alone; a file that nobody listens on is replaced."""

    def __init__(self, path: Path) -> None:
        if len(os.fsencode(path)) > _MAX_PATH_BYTES:
            raise _bad(path, f"is longer than {_MAX_PATH_BYTES} bytes", "name a shorter path")
        self.path = path
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            with _alone_in(path.parent):
                _make_way(path)
                self.socket = _bound(path)
            found = path.lstat()
        except OSError as e:
            raise _bad(path, f"cannot be made: {e.strerror}", "name a path in a folder that you can write") from None
        self._identity = (found.st_dev, found.st_ino)

    def remove(self) -> None:
        """Take the file away, if it is still the one that was made here."""
        try:
            found = self.path.lstat()
            if (found.st_dev, found.st_ino) == self._identity:
                self.path.unlink()
        except FileNotFoundError:
            pass


@contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """Two servers that start at once do not take each other's file for an old one."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        found = os.fstat(fd)
        others = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
        if others or found.st_uid not in (os.geteuid(), 0):
            raise _bad(folder, "can be written by others", "name a folder that only you can write")
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _make_way(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.geteuid():
        raise _bad(path, "exists, and is no socket of yours", "name another path")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError:  # somebody listens, and is too busy to answer
            pass
    raise _bad(path, "is in use by another server", "name another path, or end that server")


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listener.bind(os.fspath(path))
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(before)
    return listener


def _bad(path: Path, what: str, hint: str) -> ConfigError:
    return ConfigError("config_refused", f"{path} {what}", hint)
