"""Keeps the index of an open session fresh between calls: with the setting `watch`, where watchfiles is installed.

Rule: nothing is decided here. The watcher hears that something has changed and has the session look for itself; every
answer looks again anyway, so that an event that is lost costs time and is no error. It opens no file of the project.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from regreen.errors import RegreenError
from regreen.repo.listing.sources import DEPENDENCY_FOLDERS
from regreen.settings.extras import how_to_install

MISSING = "`watch` is on, but watchfiles is not installed"
HINT = f"{how_to_install('watch')}; without it answers are right too, after a large change later"

_log = logging.getLogger(__name__)

_QUIET_MS = 100  # a burst of changes is over when nothing has happened for so long,
_BURST_MS = 2_000  # ... or after this time; the former is also how often the thread looks whether it shall end
_REST = 4  # a look is followed by so many times its duration without one
_LEAVE_S = 1.0
_OF_GIT = frozenset({"HEAD", "index", "info/exclude", "info/sparse-checkout"})  # decide what is listed, or is changed


def installed() -> bool:
    return find_spec("watchfiles") is not None


def matters(path: str, root: str) -> bool:
    """Whether a change of `path` is worth a look. Of what lies below `.git` only what decides about the listing is."""
    parts = path.removeprefix(root).strip("/\\").replace("\\", "/").split("/")
    if ".git" in parts:
        return "/".join(parts[parts.index(".git") + 1 :]) in _OF_GIT
    return DEPENDENCY_FOLDERS.isdisjoint(parts)


class Watcher:
    """A thread that calls `look` at its start and after changes below `root`, until it is closed."""

    def __init__(self, root: Path, look: Callable[[], object]) -> None:
        self._root = root
        self._look = look
        self._looking = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._live, name="regreen-watch", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        """When this returns, `look` is not at work and will not be called again."""
        self._stop.set()
        with self._looking:
            pass
        self._thread.join(_LEAVE_S)  # it may be entering very many folders, and ends after that

    def _live(self) -> None:
        self._look_once()
        try:
            try:
                self._follow(all_of_it=True)
            except PermissionError as e:
                _log.warning("%s: some of it is not watched: %s", self._root, e)
                self._follow(all_of_it=False)
        except (OSError, RuntimeError) as e:  # more folders than the system's limit, or the root is gone
            _log.warning("%s is not watched: %s; the index is brought up to date when it is asked", self._root, e)

    def _follow(self, *, all_of_it: bool) -> None:
        """Look after each burst of changes, until the watcher is closed."""
        from watchfiles import watch

        root = str(self._root)
        changes = watch(
            root,
            watch_filter=lambda _change, path: matters(path, root),
            debounce=_BURST_MS,
            step=_QUIET_MS,
            stop_event=self._stop,
            force_polling=False,  # reading a large tree again and again is dearer than what it saves
            ignore_permission_denied=not all_of_it,  # hides every other problem, too
            raise_interrupt=False,
        )
        for _ in changes:
            self._look_once()

    def _look_once(self) -> None:
        started = time.monotonic()
        with self._looking:
            if self._stop.is_set():
                return
            try:
                self._look()
            except (RegreenError, OSError) as e:
                _log.warning("%s: could not look what has changed: %s", self._root, e)
        self._stop.wait((time.monotonic() - started) * _REST)


def start(root: Path, look: Callable[[], object]) -> Watcher | None:
    """A watcher at work, or None, with a line in the log, where it cannot be."""
    if not installed():
        _log.warning("%s: %s", MISSING, HINT)
        return None
    return Watcher(root, look)
