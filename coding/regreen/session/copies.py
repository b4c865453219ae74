"""The temporary folders that replays work in, noted in the state folder, so that those of dead processes are removed.

A folder is noted before it is made, under a name that nobody can guess, with the process that makes it; a lock beside
the note is held as long as that process needs the folder. It is removed by others only when the lock is free and the
process is dead; a folder that is not noted is nobody's to remove.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from regreen.jobs import born, lives
from regreen.store import Store

_PREFIX = "regreen-replay-"
_MAX_NOTE_BYTES = 16_384


@contextmanager
def copy_folder(store: Store) -> Generator[Path]:
    """An empty folder, gone at the end; those of dead processes go first."""
    sweep(store)
    name = _PREFIX + secrets.token_hex(12)
    place = Path(os.path.realpath(tempfile.gettempdir()), name)
    lock = store.lock(name)
    with lock:
        note = _write_note(store, place)
        try:
            place.mkdir(mode=0o700)
            yield place
        finally:
            _forget(note, place, lock)


def sweep(store: Store) -> None:
    """Remove the folders of processes that were killed."""
    for note in sorted(_notes(store).glob(f"{_PREFIX}*.json")):
        place = _of_the_dead(note)
        if place is None:
            continue
        lock = store.lock(note.stem)
        with suppress(Timeout), lock.acquire(timeout=0):
            _forget(note, place, lock)


def _notes(store: Store) -> Path:
    return store.folder / "replays"


def _write_note(store: Store, place: Path) -> Path:
    folder = _notes(store)
    folder.mkdir(mode=0o700, exist_ok=True)
    note = folder / f"{place.name}.json"
    new = note.with_suffix(".new")
    pid = os.getpid()
    new.write_text(json.dumps({"path": str(place), "pid": pid, "born": born(pid) or ""}), "utf-8")
    new.replace(note)
    return note


def _of_the_dead(note: Path) -> Path | None:
    """The folder that it notes; None where its process lives, or the note is none of ours."""
    try:
        with note.open("rb") as file:
            said = json.loads(file.read(_MAX_NOTE_BYTES))
        place, pid, was_born = Path(said["path"]), int(said["pid"]), str(said["born"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if place.name != note.stem or not place.is_absolute() or lives(pid, was_born) else place


def _forget(note: Path, place: Path, lock: FileLock) -> None:
    """Remove the folder and then its note; what cannot be removed now stays noted for the next time."""
    _remove(place)
    if not os.path.lexists(place):
        with suppress(OSError):
            note.unlink(missing_ok=True)
            Path(lock.lock_file).unlink(missing_ok=True)  # the name is never used again


def _remove(place: Path) -> None:
    """The folder with all that is in it, also where tests took away the right to; links are not followed."""
    shutil.rmtree(place, ignore_errors=True)
    if not os.path.lexists(place):
        return
    for folder, names, _ in os.walk(place):  # from the top: a folder is opened up before it is entered
        for path in (folder, *(os.path.join(folder, n) for n in names)):  # noqa: PTH118
            if not os.path.islink(path):  # noqa: PTH114
                with suppress(OSError):
                    os.chmod(path, 0o700)  # noqa: PTH101
    shutil.rmtree(place, ignore_errors=True)
