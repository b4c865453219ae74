"""The argv that starts a program under bubblewrap. Looks at which places exist, and changes nothing.

The machine is seen read-only; what is private is empty (/tmp, /run, /dev/shm, processes, network); secrets are
covered; the project and the other writable places are bound over that, and git's own files read-only over those. The
folders between a project and git's files in it are bound onto themselves, since what is mounted cannot be moved. All
of it is one list of places ordered by depth, so that the deeper always wins: a project below /tmp or in a home folder,
secrets in a project that is a home folder, git's files in the project.

Nothing is bound over a name that does not exist, since bubblewrap would leave an empty file there in the user's tree.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from regreen.sandbox import hiding, seccomp
from regreen.sandbox.isolation import Confinement
from regreen.sandbox.values import Command

STATUS_FD, FILTER_FD = "{status-fd}", "{filter-fd}"  # the supervisor puts its descriptors there
TRUE = "/bin/true"
AS_ROOT = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"),
    *("--cap-add", "CAP_DAC_OVERRIDE", "--cap-add", "CAP_FOWNER"),
)
_PRIVATE = (Path("/tmp"), Path("/run"), Path("/var/tmp"))
_BELOW_DEV = (Path("/dev/shm"),)
_PRIVATE_BYTES = 2 * 1024 * 1024 * 1024
_FAMILIES = (seccomp.AF_UNIX, seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK)


def wrap(command: Command, confinement: Confinement) -> tuple[str, ...]:
    """The argv to start, with words where the one who starts it puts his descriptors."""
    words = [
        *(confinement.isolation.program, "--die-with-parent", "--new-session"),
        *_rights(confinement),
        *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    ]
    for place in _places(command, confinement):
        words += place
    words += ("--json-status-fd", STATUS_FD)
    words += ("--seccomp", FILTER_FD) if filter_program(confinement) else ()
    return (*words, "--chdir", str(command.cwd), "--", *command.argv)


def _rights(confinement: Confinement) -> tuple[str, ...]:
    """Namespaces and capabilities: everything new and no right at all. Only where root works on somebody else's
    project, the rights to its files, which are worth nothing inside a user namespace: to open them, and to set modes
    and times as their owner could. Never to give files away: what a test makes is root's, as in root's own project."""
    network = ("--share-net",) if confinement.network else ()
    if not (confinement.isolation.namespaces == "root" and hiding.is_foreign(confinement.root)):
        return ("--unshare-all", *network, "--cap-drop", "ALL")
    return (*AS_ROOT, *(() if confinement.network else ("--unshare-net",)))


def filter_program(confinement: Confinement) -> bytes:
    """The filter of system calls that goes with it; empty where none is known for this machine."""
    return _filter_program(confinement.network)


@cache
def _filter_program(network: bool) -> bytes:
    return seccomp.program(platform.machine(), None if network else _FAMILIES)


def _places(command: Command, confinement: Confinement) -> list[tuple[str, ...]]:
    """The options that lay out the file system, the shallower first; at one place the later of the kinds wins."""
    secrets = {p: hiding.is_folder(p) for p in hiding.secrets(command, confinement)}
    covered = [*(p for p in _PRIVATE if hiding.is_folder(p)), *(p for p, is_folder in secrets.items() if is_folder)]
    files = [p for p, is_folder in secrets.items() if not is_folder]
    sized = ("--size", str(_most_bytes())) if confinement.isolation.sizes else ()
    places: list[tuple[Path, int, tuple[str, ...]]] = [(p, 0, (*sized, "--tmpfs", str(p))) for p in covered]
    places += [(p, 0, (*sized, "--tmpfs", str(p))) for p in _BELOW_DEV if sized]
    places += [(p, 0, ("--ro-bind", "/dev/null", str(p))) for p in files]
    places += [(p, 0, ("--ro-bind", str(p), str(p))) for p in _kernel_files() if hiding.exists(p)]
    writable = list(_writable(confinement))
    for path in hiding.back(hiding.needed(command) + hiding.resolver(confinement), [*covered, *_BELOW_DEV], writable):
        places.append((path, 1, ("--ro-bind", os.path.realpath(path), str(path))))
    for path in writable:
        places.append((path, 2, ("--bind", os.path.realpath(path), str(path))))
    for path in hiding.pinned(confinement, covered):
        if path not in writable:
            places.append((path, 2, ("--bind", str(path), str(path))))
    for path in hiding.kept(confinement):
        places.append((path, 3, ("--ro-bind", str(path), str(path))))
    return [words for _, _, words in sorted(places, key=lambda p: (len(p[0].parts), p[1], p[2]))]


def _kernel_files() -> tuple[Path, ...]:
    """What root, who owns these files, could set for the whole machine even without any right; an ordinary user could
    set things of his own namespaces."""
    names = ("sys", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "sysrq-trigger") if os.geteuid() == 0 else ("sys",)
    return tuple(Path("/proc", n) for n in names)


@cache
def _most_bytes() -> int:
    """What may be written to one private place, which is memory."""
    return min(_PRIVATE_BYTES, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4)


def _writable(confinement: Confinement) -> Iterator[Path]:
    """The writable folders under their real names, and under the given ones that lead through a private place."""
    for path in dict.fromkeys((confinement.root, *confinement.writable)):
        real = Path(os.path.realpath(path))
        if hiding.is_folder(real) and real != Path("/"):
            yield real
            if real != path and any(path.is_relative_to(p) for p in _PRIVATE):
                yield path
