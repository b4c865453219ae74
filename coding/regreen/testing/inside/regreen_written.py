"""Which paths below the project the test process itself writes: an audit hook, installed only where that is asked for.

Standalone as `regreen_inside`, which loads it. What happens in other processes, and in extension modules that raise no
audit event, is not seen. The hook comes before the operation, so an attempt that fails is told too.

The hook runs inside whatever the tests call. So it never raises, takes no lock, and calls only functions that were
bound here before any test could replace them.
"""

# ruff: noqa: PTH109, PTH115, PTH116
from __future__ import annotations

import sys
from collections import deque
from os import (
    O_APPEND,
    O_CREAT,
    O_RDWR,
    O_TRUNC,
    O_WRONLY,
    fspath,
    getcwd,
    lstat,
    readlink,
    scandir,
    stat,
)
from stat import S_ISDIR, S_ISLNK
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

ENCODING, ERRORS = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
MAX_PATHS = 5000
MAX_LINKS = 40
WRITES = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND
TEMPORARY = getattr(__import__("os"), "O_TMPFILE", 0)  # of a nameless file: the path is that of its folder

# event -> places of (path, folder descriptor) in its arguments; -1: there is no such descriptor. `shutil` and
# `tempfile` raise events of their own, but what they do comes down to these
EVENTS = {
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.link": ((0, 2), (1, 3)),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.removexattr": ((0, -1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.setxattr": ((0, -1),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, -1),),
    "os.utime": ((0, 3),),
    "shutil.rmtree": ((0, 1),),
    "socket.bind": ((1, -1),),
    "sqlite3.connect": ((0, -1),),
}
# of these the target of a link is what is written
FOLLOWING = frozenset({"open", "os.chmod", "os.chown", "os.setxattr", "os.removexattr", "os.truncate", "os.utime",
                       "sqlite3.connect"})  # fmt: skip


class Written:
    """The paths, in the order in which they were met. `ignored` are folders that belong to this run.

    `on_fresh` is called, inside the hook, when there is something to take.
    """

    def __init__(self, root: str, ignored: Iterable[str], on_fresh: Callable[[], None]) -> None:
        self.on_fresh = on_fresh
        self.root = resolve(root)
        folders = (resolve(p) + "/" for p in ignored)
        self.ignored = tuple(f for f in folders if not f"{self.root}/".startswith(f))
        self.found: dict[str, None] = {}
        self.fresh: deque[str] = deque()
        self.folders: dict[tuple[int, int], str] = {}

    def take(self) -> list[str]:
        """What has not been taken yet. Safe against threads that write meanwhile."""
        paths: list[str] = []
        while self.fresh:
            paths.append(self.fresh.popleft())
        return paths

    @property
    def full(self) -> bool:
        return len(self.found) >= MAX_PATHS

    def hook(self) -> Callable[[str, tuple[Any, ...]], None]:
        """The audit hook. What it needs is in its own scope: the module may already be gone when it is called."""

        def heard(
            event: str,
            args: tuple[Any, ...],
            *,
            known: Callable[[str], Any] = EVENTS.get,
            writes: int = WRITES,
            take: Callable[[str, tuple[Any, ...]], None] = self._take,
        ) -> None:
            if event == "open":
                try:
                    if args[2] & writes or (args[1] and not args[1].startswith("r")):
                        take(event, args)
                except Exception:  # noqa: BLE001 (whatever it is, it must not become the test's)
                    pass
            elif known(event) is not None:
                take(event, args)

        return heard

    def _take(self, event: str, args: tuple[Any, ...]) -> None:
        try:
            if self.full or (event == "open" and TEMPORARY and args[2] & TEMPORARY == TEMPORARY):
                return
            if event in ("os.rename", "os.rmdir", "shutil.rmtree"):
                self.folders.clear()  # folders get other names
            for place, folder in EVENTS.get(event, ((0, -1),)):
                path = absolute(event, args[place], args[folder] if 0 <= folder < len(args) else -1)
                if path:
                    self._add(event, path)
            if event == "os.rename":
                self._add_moved(args)
            if self.fresh:
                self.on_fresh()  # at once: a test that never ends is killed
        except Exception:  # noqa: BLE001
            pass

    def _add(self, event: str, path: str) -> None:
        parent, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            parent, _, name = resolve(path).rpartition("/")
        full = f"{self._folder(parent or '/')}/{name}"
        try:
            mode = lstat(full).st_mode
        except OSError:
            mode = 0
        if event == "os.mkdir" and mode:
            return  # it is there already
        self._note(full)
        if event in FOLLOWING and S_ISLNK(mode):
            full = resolve(full)
            self._note(full)
        if event == "sqlite3.connect":
            for suffix in ("-journal", "-wal", "-shm"):
                self._note(full + suffix)

    def _folder(self, path: str) -> str:
        """The real path of a folder. Links may change, so it is looked up by what the folder is."""
        info = stat(path)
        known = self.folders.get((info.st_dev, info.st_ino))
        if known is None:
            if len(self.folders) > MAX_PATHS:
                self.folders.clear()
            known = self.folders[info.st_dev, info.st_ino] = resolve(path).rstrip("/")
        return known

    def _note(self, full: str) -> None:
        if not full.startswith(self.root + "/") or full.startswith(self.ignored) or "/__pycache__/" in full:
            return
        path = full[len(self.root) + 1 :]
        if path not in self.found and path != "__pycache__" and not path.endswith("/__pycache__") and not self.full:
            self.found[path] = None
            self.fresh.append(path)

    def _add_moved(self, args: tuple[Any, ...]) -> None:
        """With a folder, everything in it gets another name."""
        source, target = (absolute("os.rename", args[n], args[n + 2]) for n in (0, 1))
        if source and target and S_ISDIR(lstat(source).st_mode):
            olds = (self._folder(source), resolve(target))
            for inner in below(source):
                if self.full:
                    return
                for base in olds:
                    self._note(f"{base}/{inner}")


def absolute(event: str, path: Any, folder: Any) -> str:
    """The path as it was meant when it was used; "" for what is none: a descriptor, a database in memory."""
    if isinstance(path, int) or path is None:
        return ""
    text = "" if isinstance(path, tuple) else decoded(path)
    if event == "sqlite3.connect":
        text = database(text)
    if not text or "\0" in text or text.startswith("/"):
        return "" if "\0" in text else text
    base = getcwd() if folder is None or folder < 0 else of_descriptor(folder)
    return f"{base}/{text}"


def decoded(path: str | bytes) -> str:
    """As `os.fsdecode`, which calls what a test may have replaced."""
    text = fspath(path)
    return text.decode(ENCODING, ERRORS) if isinstance(text, bytes) else text


def database(name: str) -> str:
    """The file of an sqlite database; names may be addresses (`file:NAME?mode=ro`)."""
    if name.startswith("file:"):
        name, _, query = name[5:].partition("#")[0].partition("?")
        if "mode=ro" in query or "mode=memory" in query:
            return ""
        name = unquote(name)
        if name.startswith("//"):
            name = "/" + name[2:].partition("/")[2]
    return "" if name == ":memory:" else name


def of_descriptor(fd: int) -> str:
    """The path of an open folder."""
    if sys.platform == "darwin":
        from fcntl import fcntl

        return decoded(fcntl(fd, 50, bytes(1024)).rstrip(b"\0"))  # F_GETPATH
    return readlink(f"/proc/self/fd/{fd}")


def resolve(path: str) -> str:
    """The real path of an absolute path, of which the end need not exist."""
    todo = path.split("/")[::-1]
    real = ""
    links = 0
    while todo:
        name = todo.pop()
        if name == "..":
            real = real.rpartition("/")[0]
        elif name not in ("", "."):
            try:
                target = readlink(f"{real}/{name}")
            except OSError:
                real = f"{real}/{name}"
                continue
            links += 1
            if links > MAX_LINKS:
                raise OSError("too many links")
            if target.startswith("/"):
                real = ""
            todo += target.split("/")[::-1]
    return real or "/"


def below(folder: str) -> Iterator[str]:
    """Everything in a folder, relative to it; links are not followed."""
    todo = [""]
    while todo:
        inner = todo.pop()
        with scandir(f"{folder}/{inner}") as entries:
            for entry in entries:
                yield f"{inner}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{inner}{entry.name}/")


def install(root: str, ignored: Iterable[str], on_fresh: Callable[[], None]) -> Written:
    """Watch from now on; there is no way back, the hook ends with the process."""
    written = Written(root, ignored, on_fresh)
    sys.addaudithook(written.hook())
    return written
