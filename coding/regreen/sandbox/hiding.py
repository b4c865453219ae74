"""Which places a confined child must not see, must not change, and must see wherever they lie. Looks at the disk."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from regreen.sandbox import nested
from regreen.sandbox.isolation import Confinement
from regreen.sandbox.values import Command

# below a home folder. Not what tools need to work at all, although it may hold a password: `.m2/settings.xml` (where
# the local repository and the mirrors are; an empty one ends Maven), `.config/pip/pip.conf` and `NuGet.Config`
SECRETS = (
    ".ssh", ".aws", ".gnupg", ".config/gh", ".netrc", ".docker", ".kube", ".config/gcloud", ".azure", ".npmrc",
    ".pypirc", ".git-credentials", ".config/git/credentials", ".cargo/credentials", ".cargo/credentials.toml",
    ".m2/settings-security.xml", ".gradle/gradle.properties", ".pgpass", ".my.cnf", ".vault-token", ".claude.json",
    ".claude/.credentials.json", ".codex/auth.json", ".yarnrc.yml", ".config/hub", ".terraform.d/credentials.tfrc.json",
    ".subversion/auth", ".gem/credentials", ".composer/auth.json", ".config/composer/auth.json", ".password-store",
    ".local/share/keyrings", ".config/op", ".config/rclone", ".bash_history", ".zsh_history", ".python_history",
    ".node_repl_history", ".psql_history", ".mysql_history", ".local/share/fish/fish_history",
    ".colima", ".lima", ".rd", ".orbstack",  # where container engines listen
)  # fmt: skip
SERVICES = (Path("/run"), Path("/tmp/.X11-unix"), Path("/tmp/.ICE-unix"))  # where services of the machine listen
_SOCKETS = tuple(map(Path, (  # of services that take orders, where nothing private lies over their folder
    "/var/run/docker.sock", "/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/incus/unix.socket", "/var/lib/incus/unix.socket.user",
)))  # fmt: skip
_DAEMONS = (*map(str, _SOCKETS), "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
            "/run/dbus/system_bus_socket", "/run/user/{uid}/bus", "/run/user/{uid}/systemd/private",
            "/run/user/{uid}/podman/podman.sock", "/run/user/{uid}/docker.sock")  # fmt: skip
_POINTER_BYTES = 4096
_MOST_TREES = 256
_PROGRAM_FOLDERS = ("bin", "sbin", "Scripts")
_MAX_LINKS = 16


def secrets(command: Command, confinement: Confinement) -> list[Path]:
    """The existing places that are hidden, links resolved: secrets of the user, sockets of services of the machine,
    and what the confinement names."""
    homes = dict.fromkeys(h for h in (command.env.get("HOME", ""), _home()) if h)
    named = [Path(h, s) for h in homes for s in SECRETS]
    found = dict.fromkeys(Path(os.path.realpath(p)) for p in (*named, *_SOCKETS, *confinement.hidden) if exists(p))
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
    """What holds git repositories together in `folder`: `.git`, also of submodules, of work trees that lie there and
    of other repositories in it that are known, and where that is a pointer, what it points to."""
    found = [p for p in (tree / ".git" for tree in _trees(folder)) if exists(p)]
    for pointer in list(found):
        if not is_folder(pointer):
            found += _pointed(pointer)
    for repository in list(found):
        found += (p for p in _linked(repository) if p.is_relative_to(folder) and exists(p))
    return tuple(dict.fromkeys(found))


def kept_repositories(confinement: Confinement) -> Iterator[Path]:
    """The repositories of the project that are to stay as they are: all but those in a folder inside of it that was
    named as writable."""
    root = Path(os.path.realpath(confinement.root))
    named = [Path(os.path.realpath(p)) for p in confinement.writable]
    free = [w for w in named if w != root and w.is_relative_to(root)]
    return (p for p in repositories(root) if not any(p.is_relative_to(w) for w in free))


def kept(confinement: Confinement) -> Iterator[Path]:
    """Places in the writable ones that are to stay as they are, under their real names: git's own, and those named."""
    writable = [Path(os.path.realpath(p)) for p in (confinement.root, *confinement.writable)]
    places = (*kept_repositories(confinement), *confinement.readonly)
    for path in dict.fromkeys(Path(os.path.realpath(p)) for p in places):
        if exists(path) and any(path.is_relative_to(w) for w in writable):
            yield path


def pinned(confinement: Confinement, covered: Collection[Path]) -> list[Path]:
    """The folders between a writable place and what is kept in it. Who could move one of these could put another
    thing in the place of what is kept; what is mounted cannot be moved. Not those in a place of `covered`."""
    writable = [Path(os.path.realpath(p)) for p in (confinement.root, *confinement.writable)]
    kept_places = list(kept(confinement))
    found: dict[Path, None] = {}
    for place in kept_places:
        tops = [w for w in writable if place.is_relative_to(w)]
        depth = max(len(w.parts) for w in tops)
        for folder in place.parents:
            if len(folder.parts) <= depth:
                break
            hidden = any(folder.is_relative_to(c) and len(c.parts) > depth for c in covered)
            if not hidden and not any(folder.is_relative_to(k) for k in kept_places):
                found[folder] = None
    return list(found)


def back(paths: list[Path], covered: list[Path], writable: list[Path]) -> Iterator[Path]:
    """Those of `paths` that would be out of sight, never a covered folder itself, nor one that is bound anyway."""
    for path in dict.fromkeys(p for given in paths for p in (given, Path(os.path.realpath(given)))):
        seen = not any(path.is_relative_to(c) and path != c for c in covered)
        if not seen and exists(path) and not any(path.is_relative_to(w) for w in writable):
            yield path


def resolver(confinement: Confinement) -> list[Path]:
    """How names of hosts are found, which often is a link to a file below /run."""
    return [Path(os.path.realpath("/etc/resolv.conf"))] if confinement.network else []


def _trees(folder: Path) -> list[Path]:
    """The folder, the repositories known in it, and the submodules in all of these, also theirs."""
    found = list(dict.fromkeys((folder, *(path.parent for path in nested.known(folder)))))
    for tree in found:  # which grows
        inner = (Path(os.path.normpath(tree / s)) for s in _submodules(tree))
        found += [p for p in dict.fromkeys(inner) if p.is_relative_to(folder) and p not in found]
        if len(found) > _MOST_TREES:
            break
    return found[:_MOST_TREES]


def _linked(repository: Path) -> Iterator[Path]:
    """The `.git` of the further work trees of a repository."""
    try:
        names = sorted(os.listdir(repository / "worktrees"))[:_MOST_TREES]  # noqa: PTH208 (names only)
    except OSError:
        return
    for name in names:
        line = _first_line(repository / "worktrees" / name / "gitdir")
        if line:
            yield Path(os.path.normpath(repository / "worktrees" / name / line))


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
    return (_read(path, _POINTER_BYTES).splitlines() or [""])[0].strip().replace("\0", "")


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
