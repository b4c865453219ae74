"""The two Linux system calls that Python does not offer: `openat2` and `renameat2`, by ctypes.

Where the kernel or a container's filter lacks them, the callers have slower ways; nothing here is required.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

_OPENAT2 = 437  # the same number on every architecture that Linux numbers in common
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RENAME_EXCHANGE = 2


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_libc: ctypes.CDLL | None = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def openat2(dir_fd: int, path: str, flags: int) -> int:
    """Open `path` below `dir_fd`; any symbolic link or `..` that leaves it is an OSError (ELOOP, EXDEV)."""
    if _libc is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), path)
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS
    how = _OpenHow(flags | os.O_CLOEXEC, 0, resolve)
    code = 0
    for _ in range(50):
        fd = _libc.syscall(
            ctypes.c_long(_OPENAT2), ctypes.c_int(dir_fd), ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how), ctypes.c_size_t(ctypes.sizeof(how)))  # fmt: skip
        if fd >= 0:
            return int(fd)
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)


def has_openat2(dir_fd: int) -> bool:
    """Whether this kernel, and the filter that we may run under, let `openat2` through."""
    try:
        os.close(openat2(dir_fd, ".", os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        return False
    return True


def exchange(dir_fd: int, one: str, two: str) -> bool:
    """Swap two names of a folder in one step. False: the system or the file system cannot; nothing was changed."""
    call = getattr(_libc, "renameat2", None)
    if call is None:
        return False
    args = (dir_fd, ctypes.c_char_p(os.fsencode(one)), dir_fd, ctypes.c_char_p(os.fsencode(two)))
    if call(*args, ctypes.c_uint(_RENAME_EXCHANGE)) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.EPERM):
        return False
    raise OSError(code, os.strerror(code), two)
