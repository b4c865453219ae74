"""The one way to git: every call is hardened so that a repository's configuration cannot make it run a program.

GitPython's `Git.execute` starts git; argument list and environment are ours, from nothing: explicit --git-dir and
--work-tree, no inherited GIT_* variable, no optional locks, no pager, hooks, fsmonitor or network, and every filter,
merge and diff driver that the configuration names is switched off. Subcommands outside the table are a bug of ours.
Nothing here writes the user's index or moves a branch.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, cast

from regreen.errors import EnvironmentFault

if TYPE_CHECKING:
    from subprocess import Popen

_CONFIG = {
    "core.fsmonitor": "false", "core.hooksPath": "/dev/null", "core.pager": "cat", "core.editor": "/bin/false",
    "core.sshCommand": "/bin/false", "core.askPass": "/bin/false", "core.attributesFile": "/dev/null",
    "core.alternateRefsCommand": "/bin/false", "core.gitProxy": "/bin/false", "core.logAllRefUpdates": "false",
    "core.quotePath": "false", "core.splitIndex": "false", "core.untrackedCache": "false", "index.sparse": "false",
    "core.trustctime": "true", "core.checkStat": "default", "core.ignoreStat": "false", "core.bare": "false",
    "credential.helper": "", "diff.external": "", "diff.orderFile": "/dev/null", "diff.noprefix": "false",
    "diff.mnemonicPrefix": "false", "diff.renames": "false", "diff.relative": "false", "color.ui": "false",
    "gpg.program": "/bin/false", "gpg.ssh.program": "/bin/false", "gpg.x509.program": "/bin/false",
    "log.showSignature": "false", "protocol.allow": "never", "submodule.recurse": "false", "gc.auto": "0",
    "maintenance.auto": "false",
}  # fmt: skip
_DRIVER_OFF = {
    "filter": (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")),
    "merge": (("driver", ""),),
    "diff": (("command", ""), ("textconv", ""), ("cachetextconv", "false")),
}

_PLUMBING = frozenset({
    "cat-file", "check-attr", "check-ignore", "commit-tree", "config", "for-each-ref", "ls-files", "ls-tree",
    "rev-list", "rev-parse", "unpack-objects", "update-index", "update-ref", "write-tree",
})  # fmt: skip
_DIFFS = frozenset({"diff", "diff-files", "diff-index", "diff-tree"})
# A submodule is another repository: git would look into it with a second git that does not have our configuration.
_DIFF_ARGS = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color", "--no-renames")
_NEVER = re.compile(
    r"--(output|no-index|ext-diff|textconv|filters|exec|open-files-in-pager|upload-pack|contents|submodule"
    r"|refresh|really-refresh|again|stdin-paths|path=)"
)
_READS_FILES = _DIFFS | {"ls-files", "update-index", "write-tree"}  # compare contents: drivers are looked up, each time
_NAMES_ONLY = frozenset({"-z", "-s", "-t", "-c", "-o", "--others", "--exclude-standard"})  # with these it compares none

_OLDEST = (2, 31)  # GIT_CONFIG_COUNT, which takes a driver name holding "=" apart correctly
_INSTALL = "install git 2.31 or newer, and see that it is on the PATH"


class GitFault(EnvironmentFault):
    """A git command that failed: `environment`, `timeout` or `limit_exceeded`. `status` is its exit status."""

    def __init__(self, kind: str, message: str, hint: str = "", status: int = -1) -> None:
        super().__init__(kind, message, hint)
        self.status = status


def find_top(path: Path) -> Path | None:
    """The nearest enclosing git work tree, found by looking at names only; no git is started."""
    start = Path(os.path.realpath(path))
    with contextlib.suppress(OSError):
        device = start.stat().st_dev
        for folder in (start, *start.parents):
            if folder.stat().st_dev != device:
                break
            if _git_dir(folder) is not None:
                return folder
    return None


def _git_dir(top: Path) -> Path | None:
    """The repository of the work tree `top`: its `.git` folder, or where its `.git` file points."""
    entry = top / ".git"
    try:
        if entry.is_file():
            if entry.stat().st_size > 8192:
                return None
            line = os.fsdecode(entry.read_bytes()).rstrip("\r\n")
            if not line.startswith("gitdir: "):
                return None
            entry = top / line.removeprefix("gitdir: ")
        if not (entry / "HEAD").exists() and not (entry / "HEAD").is_symlink():
            return None
        return Path(os.path.realpath(entry)) if (common_dir(entry) / "objects").is_dir() else None
    except OSError:
        return None


def common_dir(git_dir: Path) -> Path:
    """Where refs and objects are: `git_dir` itself, except for a linked work tree."""
    try:
        return git_dir / os.fsdecode((git_dir / "commondir").read_bytes()).rstrip("\r\n")
    except OSError:
        return git_dir


class Git:
    """Git for one folder inside a work tree. Paths in arguments and answers are relative to `root`, which is the
    current folder of every call; only what goes to `update-index` counts from `top`.
    """

    def __init__(self, root: Path, top: Path, git_dir: Path, program: str, environ: Mapping[str, str]) -> None:
        self.root = root
        self.top = top
        self.git_dir = git_dir
        self.prefix = "" if root == top else root.relative_to(top).as_posix() + "/"
        self._program = program
        self._format = ""
        self.environ = _environment(environ, root)

    @classmethod
    def open(cls, root: Path, environ: Mapping[str, str]) -> Git | None:
        """Git for `root`, or None: no work tree around it (a bare repository has none), or no git 2.31.

        Who owns the repository does not matter, since none of its configuration can run anything.
        """
        root = Path(os.path.realpath(root))
        top = find_top(root)
        program = shutil.which("git", path=_search_path(environ, top or root))
        if top is None or program is None or _version(program) < _OLDEST:
            return None
        git_dir = _git_dir(top)
        if git_dir is None or root == git_dir or git_dir in root.parents:
            return None
        return cls(root, top, git_dir, program, environ)

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        index: Path | None = None,
        timeout_s: float = 60.0,
        max_bytes: int = 256 * 1024 * 1024,
        ok: Sequence[int] = (0,),
    ) -> bytes:
        """The standard output of `git args`. Raises GitFault on an exit status not in `ok`, and past a limit.

        `index` names a private index file to work on instead of the user's. Standard input is `stdin`, never ours.
        """
        command, rest = args[0], args[1:]
        if command not in _PLUMBING | _DIFFS:
            raise ValueError(f"git {command} is not among the subcommands in use")
        if bad := [a for a in _options(rest) if _NEVER.match(a)]:
            raise ValueError(f"git {command} {bad[0]} could write, or read outside, or start a program")
        reads = command in _READS_FILES and not (command == "ls-files" and _NAMES_ONLY.issuperset(rest))
        drivers = self._drivers() if reads else ()
        extra = _DIFF_ARGS if command in _DIFFS else ()
        return self._execute((command, *extra, *rest), drivers, stdin, index, (timeout_s, max_bytes), ok)

    def tracked(self) -> list[str]:
        """Every path in the index under `root`, present on disk or not; submodules are not listed."""
        names = (n for mode, _, n in self._staged() if mode != "160000")
        return sorted(set(names))

    def submodules(self) -> list[str]:
        """The folders under `root` that the index holds as submodules."""
        return sorted({n for mode, _, n in self._staged() if mode == "160000"})

    def untracked(self) -> list[str]:
        """Files under `root` that git neither tracks nor ignores; not what lies in nested repositories."""
        names = _split(self.run("ls-files", "-z", "--others", "--exclude-standard"))
        return sorted(n for n in names if not n.endswith("/"))

    def ignored(self, paths: Iterable[str], submodules: Iterable[str] | None = None) -> set[str]:
        """Those of `paths` that git ignores. What is tracked, or lies in a submodule, is not."""
        modules = tuple(m + "/" for m in (self.submodules() if submodules is None else submodules))
        asked = [p for p in paths if p and not p.startswith(modules)] if modules else [p for p in paths if p]
        if not asked:
            return set()
        stdin = b"".join(b"./" + os.fsencode(p) + b"\0" for p in asked)  # "./", since ":" would be a pathspec's magic
        try:
            found = self.run("check-ignore", "-z", "--stdin", stdin=stdin, ok=(0, 1))
            return {name.removeprefix("./") for name in _split(found)}
        except GitFault as fault:  # a path beyond a symbolic link makes git give up on all of them
            if fault.status != 128:
                raise
        listed = _split(self.run("ls-files", "-z", "--others", "--ignored", "--exclude-standard"))
        return set(asked) & set(listed)

    def head(self) -> str:
        """The commit checked out; empty on an unborn branch."""
        return self.commit("HEAD")

    def commit(self, name: str) -> str:
        """The id of the commit that `name` stands for; empty where there is none."""
        if not name or "\0" in name:
            return ""
        out = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}", ok=(0, 1, 128))
        return out.decode("ascii", "replace").strip()

    def diff(self, since: str, paths: Sequence[str] = (), *, max_bytes: int = 16 * 1024 * 1024) -> str:
        """Unified diff of the tracked files under `root` from the commit `since` to the work tree."""
        commit = self.commit(since)
        if not commit:
            raise GitFault("environment", f"there is no commit `{since}` in {self.top}", "name a commit, or HEAD")
        return self.run("diff", "--relative", commit, "--", *paths, max_bytes=max_bytes).decode("utf-8", "replace")

    def changed(self) -> list[str]:
        """Tracked files under `root` that may differ from HEAD: their content does, or their stat since git looked."""
        return sorted(_split(self.run("diff-index", "--relative", "--name-only", "-z", "HEAD", "--")))

    def object_format(self) -> str:
        """`sha1` or `sha256`."""
        if not self._format:
            out = self.run("rev-parse", "--show-object-format")
            self._format = out.decode("ascii", "replace").strip()
        return self._format

    def has_drivers(self) -> bool:
        """Whether the configuration names any filter, merge or diff driver (all are switched off here)."""
        return bool(self._drivers())

    def _staged(self) -> list[tuple[str, str, str]]:
        rows = (e.split(b"\t", 1) for e in self.run("ls-files", "-z", "-s").split(b"\0") if e)
        return [(*_mode_and_id(info), os.fsdecode(name)) for info, name in rows]

    def _drivers(self) -> tuple[tuple[str, str], ...]:
        """Settings that switch off every driver named anywhere in the configuration, included files too."""
        listing = self._execute(("config", "--list", "--includes", "--name-only", "-z"), (), b"", None,
                                (20.0, 8 * 1024 * 1024), (0,))  # fmt: skip
        names: dict[tuple[str, str], None] = {}
        for key in _split(listing):
            section, _, rest = key.partition(".")
            if section in _DRIVER_OFF and "." in rest:
                names[section, rest.rpartition(".")[0]] = None
        return tuple((f"{s}.{n}.{var}", value) for s, n in names for var, value in _DRIVER_OFF[s])

    def _execute(
        self, args: Sequence[str], drivers: Sequence[tuple[str, str]], stdin: bytes, index: Path | None,
        limits: tuple[float, int], ok: Sequence[int],
    ) -> bytes:  # fmt: skip
        environ = dict(self.environ)
        config = [*_CONFIG.items(), *drivers]
        if args[0] == "check-attr":  # it runs nothing, and the attributes in force are what it is asked for
            config.remove(("core.attributesFile", "/dev/null"))
        environ["GIT_CONFIG_COUNT"] = str(len(config))
        for n, (key, value) in enumerate(config):
            environ[f"GIT_CONFIG_KEY_{n}"] = key
            environ[f"GIT_CONFIG_VALUE_{n}"] = value
        if index is not None:
            environ["GIT_INDEX_FILE"] = str(index)
        if args[0] == "check-ignore":
            del environ["GIT_LITERAL_PATHSPECS"]  # it refuses to work with it
        argv = (self._program, "--no-pager", "--no-optional-locks", f"--git-dir={self.git_dir}",
                f"--work-tree={self.top}", *args)  # fmt: skip
        with contextlib.ExitStack() as stack:
            source = stack.enter_context(tempfile.TemporaryFile()) if stdin else None
            if source is not None:
                source.write(stdin)
                source.seek(0)
            status, out, err = _start(argv, environ, self.root, source, limits)
        if status not in ok:
            text = err.decode("utf-8", "replace").strip()[:500]
            raise GitFault("environment", f"git {args[0]} failed in {self.top} (exit {status}): {text}",
                           "see whether `git status` works in that folder", status)  # fmt: skip
        return out


def merge_file(folder: Path, environ: Mapping[str, str], inside: Path) -> bytes | None:
    """The files `ours` and `theirs` of `folder`, both made from `base`, merged by lines; None where that is not clean.

    Works in no repository and without any configuration. None also without a git; none in `inside` is started.
    """
    program = shutil.which("git", path=_search_path(environ, inside))
    if program is None:
        return None
    outside = {"PATH": _search_path(environ, inside), "LC_ALL": "C", "GIT_DIR": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    argv = (program, "merge-file", "--quiet", "-p", "ours", "base", "theirs")
    limits = (10.0, 2 * sum((folder / name).stat().st_size for name in argv[-3:]) + 4096)
    with contextlib.suppress(GitFault):
        status, out, _ = _start(argv, outside, folder, None, limits)
        return out if status == 0 else None
    return None


class _Started(Protocol):
    """What `Git.execute` hands over: it ends the process when it is dropped."""

    proc: Popen[bytes]


def _start(
    argv: Sequence[str], environ: Mapping[str, str], cwd: Path, stdin: IO[bytes] | None, limits: tuple[float, int]
) -> tuple[int, bytes, bytes]:
    """Start git with exactly `environ` and collect what it says, within `limits` (seconds, bytes)."""
    try:
        from git import Git as Launcher  # not at the top: it costs a third of a second
        from git.exc import GitCommandNotFound
    except ImportError as e:  # it looks for git on the PATH when it is imported
        raise GitFault("environment", f"git is not on the PATH: {e}", _INSTALL) from e

    # GitPython adds to the environment that it inherits and cannot take away; env(1) begins an empty one.
    command = ["/usr/bin/env", "-i", *(f"{k}={v}" for k, v in environ.items()), *argv]
    try:
        execute = cast("Callable[..., _Started]", Launcher(cwd).execute)
        handle = execute(command, istream=stdin, as_process=True, shell=False, start_new_session=True)
    except (GitCommandNotFound, OSError) as e:
        raise GitFault("environment", f"git could not be started in {cwd}: {e}", _INSTALL) from e
    process = handle.proc
    try:
        out, err = _collect(process, *limits)
        return process.wait(timeout=limits[0]), out, err
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def _collect(process: Popen[bytes], timeout_s: float, max_bytes: int) -> tuple[bytes, bytes]:
    assert process.stdout is not None
    assert process.stderr is not None
    deadline = time.monotonic() + timeout_s
    parts: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    size = 0
    with selectors.DefaultSelector() as ready:
        for fd in parts:
            ready.register(fd, selectors.EVENT_READ)
        while ready.get_map():
            events = ready.select(max(0.0, deadline - time.monotonic()))
            if not events or time.monotonic() > deadline:
                raise GitFault("timeout", f"git did not end within {timeout_s:g} s", "see what holds the repository up")
            for key, _ in events:
                chunk = os.read(key.fd, 1 << 17)
                if not chunk:
                    ready.unregister(key.fd)
                parts[key.fd].append(chunk)
                size += len(chunk)
            if size > max_bytes:
                raise GitFault("limit_exceeded", f"git printed more than {max_bytes} bytes", "ask for less")
    out, err = parts.values()
    return b"".join(out), b"".join(err)


@lru_cache(maxsize=8)
def _version(program: str) -> tuple[int, ...]:
    try:
        _, out, _ = _start((program, "version"), {"LC_ALL": "C"}, Path("/"), None, (20.0, 1 << 16))
    except GitFault:
        return ()
    found = re.search(rb"(\d+)\.(\d+)", out)
    return (int(found[1]), int(found[2])) if found else ()


def _environment(environ: Mapping[str, str], inside: Path) -> dict[str, str]:
    """All that git gets to see. The user's own configuration stays in force (ignore rules), minus its programs."""
    kept = {k: environ[k] for k in ("HOME", "XDG_CONFIG_HOME", "TMPDIR") if k in environ}
    who = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER")
           for part, value in (("NAME", "regreen"), ("EMAIL", "regreen@localhost"))}  # fmt: skip
    return {
        **kept, **who, "PATH": _search_path(environ, inside), "LC_ALL": "C", "LANGUAGE": "C",
        "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "/bin/false", "GIT_PAGER": "cat",
        "GIT_EDITOR": "/bin/false", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_LAZY_FETCH": "1", "GIT_ATTR_NOSYSTEM": "1",
    }  # fmt: skip


def _search_path(environ: Mapping[str, str], inside: Path) -> str:
    """The PATH without relative folders and without folders of the repository, whose `git` would be theirs."""
    folders = (f for f in environ.get("PATH", "/usr/bin:/bin").split(os.pathsep) if f.startswith("/"))
    return os.pathsep.join(f for f in folders if not Path(os.path.realpath(f)).is_relative_to(inside))


def _options(args: Sequence[str]) -> Sequence[str]:
    stops = [args.index(stop) for stop in ("--", "--end-of-options") if stop in args]
    return args[: min(stops)] if stops else args


def _split(listing: bytes) -> list[str]:
    return [os.fsdecode(n) for n in listing.split(b"\0") if n]


def _mode_and_id(info: bytes) -> tuple[str, str]:
    mode, oid, _ = info.decode("ascii").split(" ")
    return mode, oid
