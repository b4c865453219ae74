"""Part of the fork server: importing other people's modules ahead of the runs, and seeing what that did.

Standard library and pytest only; Python 3.8 or newer. A module whose import starts threads or processes, leaves
descriptors open, or reaches for a module of the project is named, and this process is then of no use any more.
"""

# ruff: noqa: PTH115, PTH118, PTH120, PTH206, PTH208, BLE001
from __future__ import annotations

import gc
import importlib
import os
import stat
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from regreen.testing.warm.inside import regreen_ready as ready
else:
    import regreen_ready as ready

LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
SITES = ("site-packages", "dist-packages")
# imported in each run, as without us: they touch the terminal, patch the interpreter, or do not survive a fork
NEVER = frozenset({
    "readline", "rlcompleter", "tkinter", "_tkinter", "turtle", "curses", "antigravity", "this", "gevent", "eventlet",
    "grpc", "tensorflow", "jpype", "cupy", "pycuda", "ray", "pyspark", "uwsgi", "coverage",
})  # fmt: skip


def installed(path: str) -> bool:
    """Whether a file belongs to the standard library or to an installed package."""
    return path.startswith(LIBRARY) or any(part in SITES for part in path.split(os.sep))


class Guard:
    """Leads `sys.meta_path` while modules are imported ahead: notes, and refuses, a module that is not installed."""

    def __init__(self) -> None:
        self.hit = ""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                origin = spec.origin if spec.has_location else ""
                places = [origin] if origin else list(spec.submodule_search_locations or ())
                if any(p and not installed(str(p)) for p in places):
                    self.hit = self.hit or name
                    raise ModuleNotFoundError(f"{name} belongs to the project", name=name)
                return spec
        return None


class Zygote:
    """What this process is made of, and whether it may still be forked."""

    def __init__(self, path: Iterable[str], own_fds: set[int]) -> None:
        self.path = list(path)
        self.own_fds = {0, 1, 2, *own_fds}
        self.modules: frozenset[str] = frozenset()
        self.tops: frozenset[str] = frozenset()
        self.marked: set[str] = set()
        self.mutated: dict[str, str] = {}

    def settle(self) -> None:
        """From now on everything that exists is to be shared by the runs."""
        self.modules = frozenset(sys.modules)
        self.tops = frozenset(n.partition(".")[0] for n in sys.modules)
        ready.look_at_modules(installed)
        gc.collect()
        gc.freeze()

    def trouble(self, known: Iterable[int] = ()) -> str:
        """Why this process must not be forked; "" if it may."""
        if threading.active_count() > 1 or tasks() > 1:
            return "it has threads"
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
        else:
            return "it has started processes"
        strange = [fd for fd in descriptors() if fd not in self.own_fds.union(known) and not harmless(fd)]
        return f"it has open descriptors ({what(strange[0])})" if strange else ""

    def preload(self, m: dict[str, Any]) -> dict[str, Any]:
        """Import `names`, with `path` as the search path and `environ` added, as they were when tests imported them."""
        guard = Guard()
        before = dict(os.environ)
        os.environ.update(m["environ"])
        given = dict(os.environ)
        sys.path[:] = m["path"]
        hook = rewriting(m["rewritten"])
        sys.meta_path[:0] = [guard, *([hook] if hook else [])]
        try:
            answer = self._import(m, guard, unrewritable=not hook)
        finally:
            for finder in (guard, hook):
                if finder in sys.meta_path:
                    sys.meta_path.remove(finder)  # pyright: ignore[reportArgumentType]
        self.marked = set(getattr(hook, "_must_rewrite", ()))
        self.mutated = {k: v for k, v in os.environ.items() if given.get(k) != v}
        os.environ.clear()
        os.environ.update(before)
        self.reset_path()
        self.settle()
        return answer

    def _import(self, m: dict[str, Any], guard: Guard, *, unrewritable: bool) -> dict[str, Any]:
        tops = {n.partition(".")[0] for n in m["rewritten"]} if unrewritable else set[str]()
        count = 0
        for name in m["names"]:
            top = name.partition(".")[0]
            if name in sys.modules or top in NEVER or top in tops:
                continue
            failed = ""
            try:
                importlib.import_module(name)
                count += 1
            except BaseException as e:
                failed = f"{type(e).__name__}: {e}"[:200]
            trouble = f"it imports `{guard.hit}` of the project" if guard.hit else self.trouble()
            if trouble or failed:
                return {"preloaded": count, "avoid": top, "why": trouble or failed}
        return {"preloaded": count, "avoid": "", "why": ""}

    def reset_path(self) -> None:
        """The search path of a fresh interpreter; what was seen in folders of the project is forgotten."""
        sys.path[:] = self.path
        for folder in list(sys.path_importer_cache):
            if not installed(os.path.join(folder, "")):
                del sys.path_importer_cache[folder]

    def shadowed(self) -> list[str]:
        """Modules imported ahead that a run on its own would have taken from elsewhere: names in folders before
        those of the installed packages."""
        found: set[str] = set()
        for folder in sys.path:
            if installed(os.path.join(folder, "")):
                break
            try:
                names = os.listdir(folder or ".")
            except OSError:
                continue
            found.update(
                self.tops.intersection(n.partition(".")[0] for n in names if n.endswith(".py") or "." not in n)
            )
        return sorted(found)


def rewriting(names: Iterable[str]) -> Any:
    """pytest's own import hook for these modules, of which it rewrites the assertions; None if it cannot be had."""
    try:
        from _pytest.assertion import AssertionState
        from _pytest.assertion.rewrite import AssertionRewritingHook, assertstate_key
        from _pytest.config import get_config

        config = get_config()
        state = AssertionState(config, "rewrite")
        hook = state.hook = AssertionRewritingHook(config)
        config.stash[assertstate_key] = state
        hook.mark_rewrite(*names)
    except Exception:  # an interface of pytest that is not public
        return None
    return hook


def tasks() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def descriptors() -> list[int]:
    try:
        return [int(n) for n in os.listdir("/proc/self/fd")]
    except OSError:
        return []


def harmless(fd: int) -> bool:
    """Devices such as /dev/urandom hold no state, and a closed number is none."""
    try:
        return stat.S_ISCHR(os.fstat(fd).st_mode)
    except OSError:
        return True


def what(fd: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""
