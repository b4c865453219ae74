"""Which isolation children get on this machine, found out by trying it, and what one child may touch.

Nothing is assumed from a version or a name: a level counts when a program has really run in it. The strongest that
works is taken; what kept us from a stronger one is said in `why`. Modules of other systems are imported when used.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from regreen.errors import Refused
from regreen.settings import Settings, own_interpreter

Level: TypeAlias = Literal["bwrap", "landlock", "seatbelt", "job", "container", "none"]
Network: TypeAlias = Literal["isolated", "tcp-blocked", "open"]

if TYPE_CHECKING:
    from regreen.sandbox.values import Command

_CLOSING = Path(__file__).with_name("closing.py")
_PROBE_S = 20.0


@dataclass(frozen=True, slots=True)
class Isolation:
    """What children get on this machine.

    `loopback`: whether 127.0.0.1 can be used inside. `why`: why nothing stronger. `program` is what the level is made
    with, a path; `landlock` and `namespaces` ("", "root", "user") are what the kernel offers, and `sizes` says whether
    the private places in memory can be bounded. `hidden`: our own places, which no child is to read.
    """

    level: Level = "none"
    network: Network = "open"
    loopback: bool = True
    why: str = ""
    program: str = ""
    landlock: int = 0
    namespaces: str = ""
    sizes: bool = False
    hidden: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one child may touch. Everything can be read but `hidden` and the usual places of secrets.

    `root`: the project, writable. `writable`: further folders, which must exist. `readonly`: kept as they are although
    they lie in a writable one, where the level can. `network`: the operator switched the network on.
    """

    isolation: Isolation
    root: Path
    writable: tuple[Path, ...] = ()
    readonly: tuple[Path, ...] = ()
    network: bool = False
    hidden: tuple[Path, ...] = ()


def isolation(settings: Settings) -> Isolation:
    """The isolation of children under these settings. Raises Refused where one level is demanded and cannot be had."""
    if settings.sandbox == "off":
        return Isolation(why="switched off (sandbox = off)")
    found = _pinned(settings) if settings.sandbox_level else _best(settings)
    found = replace(found, hidden=(settings.state_dir,))
    return replace(found, network="open", loopback=True) if settings.network else found


def require(settings: Settings) -> Isolation:
    """The isolation, or Refused (`sandbox_required`) where it is demanded and there is none."""
    found = isolation(settings)
    if settings.sandbox == "required" and found.level == "none":
        raise Refused(
            "sandbox_required",
            f"tests were to run only in a sandbox, and there is none here: {found.why}",
            "install bubblewrap, or use `--sandbox auto`: it runs with the best level there is and says which",
        )
    return found


def confined(settings: Settings, root: Path, writable: Sequence[Path] = ()) -> Confinement | None:
    """What a child that works on `root` may touch under these settings; None where there is no isolation. `writable`
    are folders besides those that the user named. Raises Refused as `require` does."""
    return confine(require(settings), root, (*writable, *settings.writable), network=settings.network)


def confine(
    isolation: Isolation,
    root: Path,
    writable: Sequence[Path] = (),
    *,
    network: bool = False,
    hidden: Sequence[Path] = (),
) -> Confinement | None:
    """What a child that works on `root` may touch; None where there is no isolation."""
    if isolation.level == "none":
        return None
    return Confinement(isolation, root, tuple(writable), network=network, hidden=(*isolation.hidden, *hidden))


def _pinned(settings: Settings) -> Isolation:
    level = cast("Level", settings.sandbox_level)
    if level == "none":
        return Isolation(why="switched off (sandbox_level = none)")
    found = _LEVELS[level](settings)
    if found.level != level:
        raise Refused("sandbox_required", f"the sandbox level {level} cannot be had here: {found.why}",
                      "choose another level, or leave the setting `sandbox_level` empty")  # fmt: skip
    return found


def _best(settings: Settings) -> Isolation:
    reasons: list[str] = []
    levels: tuple[Level, ...] = ("container",) if settings.container_image else ()
    for level in (*levels, *_ORDER.get(sys.platform, ())):
        found = _LEVELS[level](settings)
        if found.level == level:
            return replace(found, why="; ".join((*reasons, *([found.why] if found.why else []))))
        reasons.append(f"{level}: {found.why}")
    return Isolation(why="; ".join(reasons) or f"no level of isolation is known for {sys.platform}")


def _bwrap(settings: Settings) -> Isolation:
    program = _trusted_program("bwrap", settings)
    return _try_bwrap(program) if program else Isolation(why="not installed")


def _trusted_program(name: str, settings: Settings) -> str:
    """The program on PATH, where only root or we could have put it; never one of a project."""
    for folder in settings.environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which(name, path=folder) if Path(folder).is_absolute() else None
        if found and _is_trusted(Path(os.path.realpath(found)), settings.roots):
            return os.path.realpath(found)
    return ""


def _is_trusted(program: Path, roots: tuple[Path, ...]) -> bool:
    if any(program.is_relative_to(r) for r in roots):
        return False
    for path in (program, program.parent):
        status = path.stat()
        shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if status.st_uid not in (0, os.geteuid()) or shared:
            return False
    return True


@cache
def _try_bwrap(program: str) -> Isolation:
    """Run something in it, with the arguments that real runs have."""
    import tempfile

    from regreen.sandbox import bwrap
    from regreen.sandbox.values import Command

    found = Isolation("bwrap", "isolated", loopback=True, program=program)
    with tempfile.TemporaryDirectory(prefix="regreen-probe-") as name:
        root = Path(name).resolve()
        work = Command((bwrap.TRUE,), root, {}, _PROBE_S)
        problem = _problem_with_descriptors(work, Confinement(replace(found, sizes=True), root))
        sizes = not problem
        if problem:  # an older version cannot bound them
            problem = _problem_with_descriptors(work, Confinement(found, root))
        minimal = (program, *bwrap.AS_ROOT, "--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "--", bwrap.TRUE)
        as_root = not problem and os.geteuid() == 0 and not _problem(minimal)
    if problem:
        return Isolation(why=problem)
    return replace(found, why=_unfiltered(), sizes=sizes, namespaces="root" if as_root else "")


def _unfiltered() -> str:
    """What is missing where no filter of system calls is known for the machine."""
    from regreen.sandbox import seccomp

    if os.uname().machine in seccomp.ARCHES:
        return ""
    return f"no filter of system calls is known for {os.uname().machine}: tests can make set-user-id files"


def _problem_with_descriptors(command: Command, confinement: Confinement) -> str:
    """The problem of the whole argv, with descriptors in it as the supervisor would put them."""
    from regreen.sandbox import bwrap

    argv = list(bwrap.wrap(command, confinement))
    with ExitStack() as stack:
        passed: list[int] = []
        for word, data in ((bwrap.STATUS_FD, None), (bwrap.FILTER_FD, bwrap.filter_program(confinement))):
            if word in argv:
                reads, writes = os.pipe()
                stack.callback(os.close, reads)
                if data is None:
                    stack.callback(os.close, writes)
                else:
                    os.write(writes, data)
                    os.close(writes)
                passed.append(writes if data is None else reads)
                argv[argv.index(word)] = str(passed[-1])
        return _problem(tuple(argv), passed)


def _problem(argv: tuple[str, ...], passed: Sequence[int] = ()) -> str:
    try:
        done = subprocess.run(argv, env={}, capture_output=True, timeout=_PROBE_S, check=False, pass_fds=passed)
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    text = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return "" if done.returncode == 0 else text.removeprefix("bwrap: ")[:200] or f"exit status {done.returncode}"


def _landlock(_settings: Settings) -> Isolation:
    return _try_landlock()


@cache
def _try_landlock() -> Isolation:
    from regreen.sandbox import seccomp

    try:
        done = subprocess.run(
            [own_interpreter(), "-I", "-S", str(_CLOSING)], capture_output=True, timeout=_PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        return Isolation(why=str(e))
    parts = done.stdout.decode(errors="replace").strip().split("|")
    if len(parts) != 4 or not int(parts[0]):
        return Isolation(why=parts[2] if len(parts) == 4 else done.stderr.decode(errors="replace")[-300:])
    abi, kind, _, without = int(parts[0]), parts[1], parts[2], parts[3]
    blocked = abi >= 4 or os.uname().machine in seccomp.ARCHES
    network: Network = "isolated" if kind else "tcp-blocked" if blocked else "open"
    why = "; ".join(w for w in (f"no namespaces: {without}" if without else "", _unfiltered()) if w)
    return Isolation("landlock", network, loopback=bool(kind) or not blocked, why=why, landlock=abi, namespaces=kind)


def _seatbelt(settings: Settings) -> Isolation:
    from regreen.sandbox import seatbelt

    problem = seatbelt.probe(settings)
    return Isolation(why=problem) if problem else Isolation("seatbelt", "isolated")


def _job(settings: Settings) -> Isolation:
    from regreen.sandbox import job_object

    problem = job_object.probe(settings)
    return Isolation(why=problem) if problem else job_object.isolation()


def _container(settings: Settings) -> Isolation:
    from regreen.sandbox import container

    return container.isolation(settings)


_LEVELS: dict[Level, Callable[[Settings], Isolation]] = {
    "bwrap": _bwrap, "landlock": _landlock, "seatbelt": _seatbelt, "job": _job, "container": _container,
}  # fmt: skip
_ORDER: dict[str, tuple[Level, ...]] = {"linux": ("bwrap", "landlock"), "darwin": ("seatbelt",), "win32": ("job",)}
