"""Landlock by hand: no write below anything that was not named, no TCP, no way out to other processes.

Used on both sides: we ask for the version that the kernel speaks, and the supervisor's forked child restricts itself
with it. So nothing of regreen is imported here, and nothing that is slow to import. What cannot be had from an older
kernel is left out, never an error: the version decides, and the level's description says what that means.

Reading is not restricted: a right can only be given to a folder and all below it, so "all but the secrets" cannot be
said. `chmod` and `utime` are no rights of Landlock and pass where `namespaces` cannot make the machine read-only.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION_FLAG = 1
_PATH_BENEATH = 1
_O_PATH = getattr(os, "O_PATH", 0)

_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = sum(1 << n for n in range(4, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15  # since version 2, 3, 5
_BIND_AND_CONNECT_TCP = 3  # since version 4
_ABSTRACT_SOCKETS_AND_SIGNALS = 3  # since version 6


def version() -> int:
    """The version that the kernel speaks; 0 where there is none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _call(_CREATE, None, 0, _VERSION_FLAG))


def write_rights(abi: int) -> int:
    """Everything that changes a file system, as far as this version knows it."""
    rights = _WRITE_FILE | _REMOVE_AND_MAKE
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        rights |= right if abi >= since else 0
    return rights


def restrict(abi: int, folders: Iterable[bytes], files: Iterable[bytes], *, block_tcp: bool) -> None:
    """Restrict this thread and all that comes of it, for good. Needs no_new_privs. Raises OSError.

    Writing stays possible below `folders` and to `files` (devices); those that do not exist are passed over.
    """
    rights = write_rights(abi)
    attributes = struct.pack(
        "=QQQ",
        rights,
        _BIND_AND_CONNECT_TCP if block_tcp and abi >= 4 else 0,
        _ABSTRACT_SOCKETS_AND_SIGNALS if abi >= 6 else 0,
    )[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    ruleset = _checked(_call(_CREATE, attributes, len(attributes), 0))
    try:
        for folder in folders:
            _allow(ruleset, folder, rights)
        for file in files:
            _allow(ruleset, file, rights & (_WRITE_FILE | _TRUNCATE | _IOCTL_DEV))
        _checked(_call(_RESTRICT, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: bytes, rights: int) -> None:
    try:
        fd = os.open(path, _O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        _checked(_call(_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, fd), 0))
    finally:
        os.close(fd)


def _call(number: int, *arguments: int | bytes | None) -> int:
    passed = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
    return int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *passed))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
