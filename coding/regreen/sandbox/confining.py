"""From a command to what the supervisor is told: the argv of its level, what the child closes, and its limits."""

from __future__ import annotations

import errno
import math
import os
import platform
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from regreen.sandbox.isolation import Confinement
from regreen.sandbox.streams import start_fault
from regreen.sandbox.values import Command

OPEN_FILES, MOST_OPEN_FILES = 4096, 65536
CPU_SLACK_S = 60.0  # for what starts and ends around a run
TREE_MEMORY = 2  # a tree may hold this many times what one process may
MEMORY_PART = 0.75  # of the machine's memory, at most
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
_COUNT_EVERY_S = 60.0
_MIB = 1024 * 1024


def confined(command: Command) -> dict[str, object]:
    """The parts of a supervisor's job that depend on the confinement: `argv` (words), `box`, `filter`, `closing`, and
    `farewell`, what the supervisor is to start when it is left alone."""
    confinement = command.confinement
    plain: dict[str, object] = {"argv": command.argv, "box": False, "filter": b"", "closing": None, "farewell": []}
    if confinement is None:
        return plain
    match confinement.isolation.level:
        case "bwrap":
            from regreen.sandbox import bwrap

            argv = bwrap.wrap(_startable(command), confinement)
            return {**plain, "argv": argv, "box": True, "filter": bwrap.filter_program(confinement)}
        case "landlock":
            return {**plain, "closing": _closing(command, confinement)}
        case "seatbelt":
            from regreen.sandbox import seatbelt

            return {**plain, "argv": seatbelt.wrap(_startable(command), confinement)}
        case "container":
            from regreen.sandbox import container

            argv = container.wrap(_startable_folder(command), confinement)
            return {**plain, "argv": argv, "farewell": [os.fsencode(w) for w in container.farewell(argv)]}
        case _:  # a job object is put around a process, not in front of it
            return plain


def _startable(command: Command) -> Command:
    """The command, when it can be started at all: a wrapper's complaint is harder to tell from the program's own."""
    _startable_folder(command)
    if not os.access(command.argv[0], os.X_OK):
        raise start_fault(errno.EACCES if os.path.exists(command.argv[0]) else errno.ENOENT, "program")  # noqa: PTH110
    return command


def _startable_folder(command: Command) -> Command:
    if not os.path.isdir(command.cwd):  # noqa: PTH112
        raise start_fault(errno.ENOENT, "working folder")
    return command


def farewell(command: Command, argv: tuple[str, ...]) -> None:
    """Do what is to be done when the started process has ended, and what it was for may live on elsewhere."""
    if command.confinement is not None and command.confinement.isolation.level == "container":
        from regreen.sandbox import container

        container.end(argv, command.env)


def _closing(command: Command, confinement: Confinement) -> dict[str, object]:
    """What the child closes (`closing.Closing`)."""
    from regreen.sandbox import hiding, namespaces, seccomp

    level = confinement.isolation
    writable = [Path(os.path.realpath(p)) for p in (confinement.root, *confinement.writable)]
    families = _families(confinement)
    return {
        "namespaces": level.namespaces.encode(),
        "network": confinement.network,
        "places": _places(command, confinement, writable) if level.namespaces else [],
        "writable_folders": [os.fsencode(p) for p in (*writable, Path("/dev/shm"))],
        "writable_files": [f"/dev/{name}".encode() for name in _DEVICES],
        "capabilities": namespaces.FOREIGN_FILES if hiding.is_foreign(confinement.root) else 0,
        "landlock": level.landlock,
        "filter": seccomp.program(platform.machine(), families),
    }


def _places(command: Command, confinement: Confinement, writable: list[Path]) -> list[tuple[bytes, bytes]]:
    """What is laid where, the shallower first, as `bwrap` does: at one place the later of the kinds wins."""
    from regreen.sandbox import hiding, namespaces

    services = [Path(os.path.realpath(p)) for p in hiding.SERVICES if hiding.exists(p)]
    hidden = dict.fromkeys((*services, *hiding.secrets(command, confinement)))
    covered = [p for p in hidden if hiding.is_folder(p) and p not in writable]
    needed = hiding.back(hiding.needed(command) + hiding.resolver(confinement), covered, writable)
    kinds: tuple[tuple[bytes, Iterable[Path]], ...] = (
        (namespaces.HIDDEN, covered),
        (namespaces.BLANK, (p for p in hidden if not hiding.is_folder(p))),
        (namespaces.READABLE, needed),
        (namespaces.WRITABLE, (*writable, *hiding.pinned(confinement, covered), Path("/dev/shm"))),
        (namespaces.READABLE, hiding.kept(confinement)),
    )
    found = [(path, n, kind) for n, (kind, paths) in enumerate(kinds) for path in dict.fromkeys(paths)]
    ordered = sorted(found, key=lambda p: (len(p[0].parts), p[1], p[0]))
    return [(kind, os.fsencode(path)) for path, _, kind in ordered if hiding.exists(path)]


def _families(confinement: Confinement) -> tuple[int, ...] | None:
    """The socket families that may be made. Without a network of one's own only those that stay on the machine; and
    not even those where one of its services would take orders."""
    from regreen.sandbox import hiding, seccomp

    if confinement.network:
        return None
    if confinement.isolation.namespaces:
        return (seccomp.AF_UNIX, seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK)
    return () if hiding.reachable_daemon() else (seccomp.AF_UNIX,)


def limits(command: Command) -> dict[str, object]:
    """The parts of a job that bound it: `limits` as (number, soft, hard), `processes` and `memory` of the tree."""
    import resource

    each: list[tuple[int, int, int]] = [(resource.RLIMIT_CORE, 0, 0)]
    cpu_s = math.ceil(command.max_cpu_s or command.timeout_s * (os.cpu_count() or 1) + CPU_SLACK_S)
    each.append((resource.RLIMIT_CPU, cpu_s, cpu_s))
    each.append((resource.RLIMIT_NOFILE, OPEN_FILES, MOST_OPEN_FILES))
    if command.max_file_bytes:
        each.append((resource.RLIMIT_FSIZE, command.max_file_bytes, command.max_file_bytes))
    tree_bytes = 0
    linux = sys.platform.startswith("linux")
    if command.memory_mib and linux:
        size = command.memory_mib * _MIB
        each.append((resource.RLIMIT_DATA, size, size))
        tree_bytes = min(TREE_MEMORY * size, int(MEMORY_PART * _physical_bytes()))
    if command.max_processes and linux and os.geteuid() != 0:
        # a backstop behind the count of the tree: it counts the threads of the user, of all programs
        most = _used.threads() + 4 * command.max_processes
        each.append((resource.RLIMIT_NPROC, most, most))
    return {"limits": each, "processes": command.max_processes if linux else 0, "memory": tree_bytes}


def exceeded(command: Command, signal_number: int, cpu_s: float) -> str:
    """The limit that explains how a child ended, as far as that can be told from outside: "", `cpu`, `file_size`."""
    import resource
    import signal

    if signal_number == signal.SIGXFSZ:
        return "file_size"
    table: Any = limits(command)["limits"]
    allowed = next(soft for number, soft, _ in table if number == resource.RLIMIT_CPU)
    return "cpu" if signal_number in (signal.SIGKILL, signal.SIGXCPU) and cpu_s >= allowed - 0.5 else ""


def _physical_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


class _Used:
    """How many threads the user has, counted now and then: a count for every child would cost more than the child."""

    def __init__(self) -> None:
        self._count = 0
        self._until = 0.0

    def threads(self) -> int:
        now = time.monotonic()
        if now >= self._until:
            self._until = now + _COUNT_EVERY_S
            self._count = sum(_threads(p) for p in Path("/proc").iterdir() if p.name.isdigit())
        return self._count


def _threads(process: Path) -> int:
    try:
        if process.stat().st_uid != os.getuid():
            return 0
        return int((process / "stat").read_bytes().rpartition(b")")[2].split()[17])
    except (OSError, IndexError, ValueError):
        return 0


_used = _Used()
