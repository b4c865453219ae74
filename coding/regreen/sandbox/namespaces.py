"""What the supervisor's child can close off without help from another program: network, mounts, capabilities.

Run between fork and exec, by a process of one thread. As root the namespaces are made at once; as an ordinary user
inside a user namespace of one's own, where the machine allows that. No import of regreen.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct

_NEWNS, _NEWIPC, _NEWUSER, _NEWNET = 0x20000, 0x08000000, 0x10000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_SLAVE = 1, 2, 4, 4096, 16384, 1 << 19
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _UP = 0x8913, 0x8914, 1
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPSET_VERSION = 0x20080522
_LAST_CAPABILITY = 63
FOREIGN_FILES = 1 << 1  # CAP_DAC_OVERRIDE
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442  # the same on every architecture
_HERE, _RECURSIVE, _BY_FD = -100, 0x8000, 4
HIDDEN, BLANK, READABLE, WRITABLE = b"hidden", b"blank", b"readable", b"writable"


def enter(kind: bytes, *, network: bool) -> None:
    """Enter new namespaces. `kind`: `root` makes them at once, `user` inside a new user namespace.

    `network` keeps the machine's network; otherwise there is only a loopback of one's own, which is switched on.
    """
    uid, gid = os.geteuid(), os.getegid()
    flags = _NEWNS | _NEWIPC | (0 if network else _NEWNET) | (_NEWUSER if kind == b"user" else 0)
    libc = _libc()
    _checked(libc.unshare(flags))
    if kind == b"user":
        _write("/proc/self/setgroups", b"deny")
        _write("/proc/self/uid_map", b"%d %d 1" % (uid, uid))
        _write("/proc/self/gid_map", b"%d %d 1" % (gid, gid))
    _mount(b"none", b"/", b"", _MS_REC | _MS_SLAVE)
    if not network:
        _loopback_up(libc)


def lay(places: list[tuple[bytes, bytes]]) -> None:
    """Make everything that is mounted read-only, and lay over it, in order, what `places` say: kind and path.

    HIDDEN folders become empty, BLANK files unreadable; READABLE and WRITABLE places come back where such a folder
    would hide them, and what is mounted at its own place cannot be moved. These are taken aside before, as they are.
    """
    libc = _libc()
    here = os.getcwdb()  # noqa: PTH109 (`pathlib` is slow to import)
    aside = [(k, p, _take_aside(libc, p) if k in (READABLE, WRITABLE) else -1) for k, p in places]
    _set_read_only(libc, b"/", _RECURSIVE)
    emptied: list[bytes] = []
    for number, (kind, path, fd) in enumerate(aside):
        if kind == HIDDEN:
            _mount(b"tmpfs", path, b"tmpfs", _MS_NOSUID | _MS_NODEV, b"size=64k,mode=755")
            emptied.append(path)
            _make_room(path, aside[number + 1 :])
        elif kind == BLANK:
            _mount(b"/dev/null", path, b"", _MS_BIND)
        else:
            target = ctypes.c_char_p(path)
            moved = (*_longs(_MOVE_MOUNT, fd), ctypes.c_char_p(b""), *_longs(_HERE), target, *_longs(_BY_FD))
            _checked(libc.syscall(*moved))
            os.close(fd)
            if kind == READABLE:
                _set_read_only(libc, path, _RECURSIVE)
    for path in emptied:
        _set_read_only(libc, path, 0)
    os.chdir(here)  # what we stand in is what lay there before; the path leads to the new


def _make_room(emptied: bytes, later: list[tuple[bytes, bytes, int]]) -> None:
    """Make something in an emptied folder for each of the later places to be laid over."""
    for kind, path, fd in later:
        if not path.startswith(emptied + b"/"):
            continue
        if kind == HIDDEN or (fd >= 0 and stat.S_ISDIR(os.fstat(fd).st_mode)):
            os.makedirs(path, exist_ok=True)  # noqa: PTH103
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _take_aside(libc: ctypes.CDLL, folder: bytes) -> int:
    clone = 1 | _RECURSIVE | os.O_CLOEXEC
    return _checked(libc.syscall(*_longs(_OPEN_TREE, _HERE), ctypes.c_char_p(folder), *_longs(clone)))


def _set_read_only(libc: ctypes.CDLL, path: bytes, how: int) -> None:
    """The mount at the path, or with `how` `_RECURSIVE` also all below it."""
    attributes = struct.pack("=QQQQ", _MS_RDONLY, 0, 0, 0)
    rest = (*_longs(how), ctypes.c_char_p(attributes), *_longs(len(attributes)))
    _checked(libc.syscall(*_longs(_MOUNT_SETATTR, _HERE), ctypes.c_char_p(path), *rest))


def _longs(*numbers: int) -> list[ctypes.c_long]:
    return [ctypes.c_long(n) for n in numbers]


def private_shared_memory() -> None:
    """A /dev/shm of one's own, if there is one at all."""
    if os.path.isdir(b"/dev/shm"):  # noqa: PTH112 (`pathlib` is slow to import)
        _mount(b"tmpfs", b"/dev/shm", b"tmpfs", _MS_NOSUID | _MS_NODEV, b"mode=1777,size=25%")


def private_terminals() -> list[bytes]:
    """Terminals of one's own in the place of those that others sit at. Returns the folder that may then be written;
    none where the machine does not allow them, and all terminals stay closed."""
    try:
        _mount(b"devpts", b"/dev/pts", b"devpts", _MS_NOSUID, b"newinstance,ptmxmode=0666,mode=620")
        _mount(b"/dev/pts/ptmx", b"/dev/ptmx", b"", _MS_BIND)
    except OSError:
        return []
    return [b"/dev/pts"]


def drop_capabilities(kept: int) -> None:
    """Give up all capabilities but those in the mask `kept`, and the way to get them back by starting a program."""
    libc = _libc()
    kept &= _held(libc)
    libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    for number in range(_LAST_CAPABILITY + 1):
        if not kept >> number & 1 and libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0):
            break  # past the last one that the kernel knows, or no right to, as an ordinary user: nothing to lose
    low, high = kept & 0xFFFFFFFF, kept >> 32
    header = struct.pack("=Ii", _CAPSET_VERSION, 0)
    _checked(libc.capset(ctypes.c_char_p(header), ctypes.c_char_p(struct.pack("=IIIIII", low, low, 0, high, high, 0))))


def _held(libc: ctypes.CDLL) -> int:
    words = ctypes.create_string_buffer(24)
    _checked(libc.capget(ctypes.c_char_p(struct.pack("=Ii", _CAPSET_VERSION, 0)), words))
    _, low, _, _, high, _ = struct.unpack("=IIIIII", words.raw)
    return low | high << 32


def no_new_privileges() -> None:
    """From here on no program that is started gains a right by being set-user-id."""
    _checked(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _loopback_up(libc: ctypes.CDLL) -> None:
    fd = _checked(libc.socket(2, 2 | os.O_CLOEXEC, 0))
    try:
        request = ctypes.create_string_buffer(struct.pack("=16sh22x", b"lo", 0), 40)
        _checked(libc.ioctl(fd, ctypes.c_ulong(_SIOCGIFFLAGS), request))
        flags = struct.unpack_from("=h", request, 16)[0]
        struct.pack_into("=h", request, 16, flags | _UP)
        _checked(libc.ioctl(fd, ctypes.c_ulong(_SIOCSIFFLAGS), request))
    finally:
        os.close(fd)


def _mount(source: bytes, target: bytes, kind: bytes, flags: int, options: bytes = b"") -> None:
    passed = (ctypes.c_char_p(source), ctypes.c_char_p(target), ctypes.c_char_p(kind or None))
    _checked(_libc().mount(*passed, ctypes.c_ulong(flags), ctypes.c_char_p(options or None)))


def _write(path: str, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
