"""Which places a confined child must not see, must not change, and must see wherever they lie. Looks at the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from regreen.sandbox.isolation import Confinement
from regreen.sandbox.values import Command

SECRETS = (
    ".ssh", ".aws", ".gnupg", ".config/gh", ".netrc", ".docker", ".kube", ".config/gcloud", ".azure", ".npmrc",
    ".pypirc", ".git-credentials", ".config/git/credentials",
)  # fmt: skip
SERVICES = (Path("/run"), Path("/tmp/.X11-unix"), Path("/tmp/.ICE-unix"))  # where services of the machine listen
_DAEMONS = ("/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
            "/run/dbus/system_bus_socket", "/run/user/{uid}/bus", "/run/user/{uid}/systemd/private",
            "/run/user/{uid}/podman/podman.sock", "/run/user/{uid}/docker.sock")  # fmt: skip
_POINTER_BYTES = 4096
_PROGRAM_FOLDERS = ("bin", "sbin", "Scripts")
_MAX_LINKS = 16


def secrets(command: Command, confinement: Confinement) -> list[Path]:
    """The existing places that are hidden, links resolved: secrets of the user, and what the confinement names."""
    homes = dict.fromkeys(h for h in (command.env.get("HOME", ""), _home()) if h)
    named = [Path(h, s) for h in homes for s in SECRETS]
    found = dict.fromkeys(Path(os.path.realpath(p)) for p in (*named, *confinement.hidden) if exists(p))
    return [p for p in found if p != Path("/")]


def is_foreign(root: Path) -> bool:
    """Whether we are root and the project is somebody else's: without any rights root could not write there."""
    return os.geteuid() == 0 and root.stat().st_uid != 0


def _home() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return ""


def reachable_daemon() -> str:
    """A service of the machine that takes orders from this user over a socket in the file system; "" if none."""
    sockets = (s.format(uid=os.getuid()) for s in _DAEMONS)
    return next((s for s in sockets if os.access(s, os.W_OK)), "")


def repositories(folder: Path) -> tuple[Path, ...]:
    """What holds a git repository together in `folder`: `.git`, and where that is a pointer, what it points to."""
    top = folder / ".git"
    found = [p for p in (top, *(folder / s / ".git" for s in _submodules(folder))) if exists(p)]
    for pointer in list(found):
        if not is_folder(pointer):
            found += _pointed(pointer)
    return tuple(dict.fromkeys(found))


def kept(confinement: Confinement) -> Iterator[Path]:
    """Places in the writable ones that are to stay as they are, under their real names: git's own, and those named."""
    writable = [Path(os.path.realpath(p)) for p in (confinement.root, *confinement.writable)]
    for path in dict.fromkeys(Path(os.path.realpath(p)) for p in (*repositories(writable[0]), *confinement.readonly)):
        if exists(path) and any(path.is_relative_to(w) for w in writable):
            yield path


def _pointed(pointer: Path) -> Iterator[Path]:
    real = _joined(pointer.parent, _first_line(pointer).removeprefix("gitdir:").strip())
    if real is not None:
        yield real
        common = _joined(real, _first_line(real / "commondir"))
        if common is not None:
            yield common


def _joined(base: Path, text: str) -> Path | None:
    path = Path(os.path.normpath(base / text)) if text else None
    return path if path is not None and is_folder(path) else None


def _submodules(folder: Path) -> list[str]:
    lines = (line.partition("=") for line in _read(folder / ".gitmodules", 64 * 1024).splitlines())
    return [value.strip() for name, _, value in lines if name.strip() == "path" and value.strip()]


def _first_line(path: Path) -> str:
    return (_read(path, _POINTER_BYTES).splitlines() or [""])[0].strip()


def _read(path: Path, limit: int) -> str:
    try:
        with path.open("rb") as file:
            return file.read(limit).decode(errors="replace")
    except OSError:
        return ""


def needed(command: Command) -> list[Path]:
    """What the child must be able to read to start at all: its programs and everything that its argv names."""
    programs = [Path(command.argv[0]), *_folders(command.env)]
    words = [Path(w) for w in command.argv[1:] if w.startswith("/") and "\0" not in w]
    own = Path(__file__).resolve().parents[1]
    found = [own, command.cwd, *(place for p in programs for place in _chain(p))]
    found += [p if is_folder(p) else p.parent for p in words if exists(p)]
    return list(dict.fromkeys(found))


def exists(path: Path) -> bool:
    """Whether there is something that we can reach; what we may not look at is not there, for us and for a child."""
    return os.path.exists(path)  # noqa: PTH110 (the method of a path raises where it may not look)


def is_folder(path: Path) -> bool:
    """Whether it is a folder that we can reach."""
    return os.path.isdir(path)  # noqa: PTH112


def _folders(env: Mapping[str, str]) -> Iterator[Path]:
    for entry in (*env.get("PATH", "").split(os.pathsep), env.get("VIRTUAL_ENV", "")):
        if entry.startswith("/") and is_folder(Path(entry)):
            yield Path(entry)


def _chain(program: Path) -> Iterator[Path]:
    """Where the program lies and, link by link, where it really does: the folder above its `bin`, if it has one."""
    for _ in range(_MAX_LINKS):
        yield _prefix(program)
        if not os.path.islink(program):  # noqa: PTH114
            break
        program = Path(os.path.normpath(program.parent / os.readlink(program)))  # noqa: PTH115 (one step, as written)
    yield _prefix(Path(os.path.realpath(program)))


def _prefix(path: Path) -> Path:
    folder = path if is_folder(path) else path.parent
    return folder.parent if folder.name in _PROGRAM_FOLDERS else folder
