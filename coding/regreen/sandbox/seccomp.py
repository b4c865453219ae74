"""A filter of system calls, written as classic BPF by hand: what no test needs and what leads out of the sandbox.

Refused: new namespaces and mounts, io_uring (its requests pass no filter), key rings, kernel modules, pushing
characters into a terminal, a signal to everybody, sockets of families that the level does not offer, and set-user-id
or set-group-id modes: a file that has one stays when the sandbox is gone, and gives whoever starts it our rights.
Where a mode is behind a pointer (`openat2`) the call is answered as missing, and libraries take the older one.
The numbers differ by machine: there are tables for x86_64 and aarch64, and no filter elsewhere. No import of regreen:
the supervisor's child uses it.
"""

from __future__ import annotations

import ctypes
import os
import struct

_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in `struct seccomp_data`
_X32_BIT = 0x40000000  # x86_64 calls of the x32 kind: the same calls under other numbers
_NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW* flag
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# name: (x86_64, aarch64); -1 where the machine has no such call
_CALLS = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "setns": (308, 268),
    "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "open_by_handle_at": (304, 265),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266), "iopl": (172, -1),
    "ioperm": (173, -1),
}  # fmt: skip
_ABSENT = {"io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
           "clone3": (435, 435), "openat2": (437, 437)}  # "no such call": libraries take the older way # fmt: skip
_UNSHARE, _CLONE, _IOCTL, _SOCKET, _SOCKETPAIR = (272, 97), (56, 220), (16, 29), (41, 198), (53, 199)
_KILL, _EVERYBODY = (62, 129), 0xFFFFFFFF
# name: (x86_64, aarch64, which argument is the mode, which one says whether it counts; -1: it always does). Not those
# that make folders: the kernel itself drops these bits there, and tools that copy a folder with them hand them on.
_MODES = {
    "open": (2, -1, 2, 1), "openat": (257, 56, 3, 2), "creat": (85, -1, 1, -1), "chmod": (90, -1, 1, -1),
    "fchmod": (91, 52, 1, -1), "fchmodat": (268, 53, 2, -1), "fchmodat2": (452, 452, 2, -1),
    "mknod": (133, -1, 1, -1), "mknodat": (259, 33, 2, -1),
}  # fmt: skip
_SET_ID = 0o6000
_CREATES = 0x400040  # O_CREAT or O_TMPFILE: elsewhere nothing has set the mode, and the kernel does not look at it


def program(machine: str, families: tuple[int, ...] | None) -> bytes:
    """The filter for a machine (as `os.uname` names it), empty where there is no table for it.

    `families` are the socket families that may be made; None does not look at them. A pair of UNIX sockets, which
    leads nowhere, can always be made.
    """
    if machine not in ARCHES:
        return b""
    column = list(ARCHES).index(machine)
    code = _Assembler()
    code.add(_LOAD, _ARCH)
    code.unless(_EQUAL, ARCHES[machine], _ENOSYS)
    code.add(_LOAD, _NUMBER)
    if machine == "x86_64":
        code.when(_AT_LEAST, _X32_BIT, _ENOSYS)
    for calls, answer in ((_CALLS, _EPERM), (_ABSENT, _ENOSYS)):
        for numbers in calls.values():
            if numbers[column] >= 0:
                code.when(_EQUAL, numbers[column], answer)
    code.argument(_UNSHARE[column], 0, ((_ANY_BIT, _NEW_NAMESPACES),), _EPERM)
    code.argument(_CLONE[column], 0, ((_ANY_BIT, _NEW_NAMESPACES & ~0x80),), _EPERM)  # 0x80 is no flag of clone
    code.argument(_IOCTL[column], 1, ((_EQUAL, _TIOCSTI), (_EQUAL, _TIOCLINUX)), _EPERM)
    code.argument(_KILL[column], 0, ((_EQUAL, _EVERYBODY),), _EPERM)
    for *numbers, mode, flags in _MODES.values():
        if numbers[column] >= 0:
            code.mode(numbers[column], mode, flags)
    if families is not None:
        common = AF_INET in families
        code.only(_SOCKET[column], families, _EAFNOSUPPORT if common else _EPERM)
        code.only(_SOCKETPAIR[column], (AF_UNIX,), _EAFNOSUPPORT)
    code.add(_RETURN, _ALLOW)
    return bytes(code.data)


class _Assembler:
    """Instructions in order. Every test that refuses has its answer right behind it, so no jump is ever long."""

    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, code: int, value: int, yes: int = 0, no: int = 0) -> None:
        self.data += struct.pack("=HBBI", code, yes, no, value)

    def when(self, test: int, value: int, answer: int) -> None:
        self.add(test, value, 0, 1)
        self.add(_RETURN, _ERRNO | answer)

    def unless(self, test: int, value: int, answer: int) -> None:
        self.add(test, value, 1, 0)
        self.add(_RETURN, _ERRNO | answer)

    def argument(self, call: int, index: int, tests: tuple[tuple[int, int], ...], answer: int) -> None:
        """Refuse `call` where the low half of an argument passes any of the tests."""
        self.add(_EQUAL, call, 0, 2 * len(tests) + 2)
        self.add(_LOAD, _ARGUMENTS + 8 * index)
        for test, value in tests:
            self.when(test, value, answer)
        self.add(_RETURN, _ALLOW)

    def mode(self, call: int, index: int, flags: int) -> None:
        """Refuse `call` where an argument is a set-id mode, and the argument `flags`, if there is one, creates."""
        self.add(_EQUAL, call, 0, 4 if flags < 0 else 6)
        if flags >= 0:
            self.add(_LOAD, _ARGUMENTS + 8 * flags)
            self.add(_ANY_BIT, _CREATES, 0, 3)
        self.add(_LOAD, _ARGUMENTS + 8 * index)
        self.when(_ANY_BIT, _SET_ID, _EPERM)
        self.add(_RETURN, _ALLOW)

    def only(self, call: int, allowed: tuple[int, ...], answer: int) -> None:
        """Refuse `call` unless its first argument is one of the allowed."""
        self.add(_EQUAL, call, 0, len(allowed) + 3)
        self.add(_LOAD, _ARGUMENTS)
        for position, value in enumerate(allowed):
            self.add(_EQUAL, value, len(allowed) - position, 0)
        self.add(_RETURN, _ERRNO | answer)
        self.add(_RETURN, _ALLOW)


def install(filter_program: bytes) -> None:
    """Put the filter on this thread and all that comes of it, for good. Needs no_new_privs. Raises OSError."""
    lines = ctypes.create_string_buffer(filter_program, len(filter_program))
    head = struct.pack("@HP", len(filter_program) // 8, ctypes.addressof(lines))
    set_seccomp, filter_mode = 22, 2
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(set_seccomp, ctypes.c_ulong(filter_mode), ctypes.c_char_p(head), 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
