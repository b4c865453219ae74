"""What is not put back at the end of a run, and why; and keeping the bytes that it had before."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from regreen.git import Git, GitFault
from regreen.snapshots.capture import raw
from regreen.snapshots.effects import Effect, Ledger
from regreen.snapshots.evidence import LATE, UNSURE, Evidence, parents
from regreen.snapshots.looking import (
    FOLDER,
    NAMELESS,
    SPECIAL,
    UNKNOWN,
    can_be_opened,
    current,
    hash_of,
    is_blocked,
    name_of,
    stats_of,
)
from regreen.snapshots.manifest import Manifest
from regreen.snapshots.sources import image_of, read_source
from regreen.store import Store, new_id, repo_key
from regreen.workspace import FileImage, Stat, Workspace
from regreen.workspace.records import Entry, Records, Txn, Version

_NOTHING = Stat(0, 0, 0, 0, 0, "absent")
_UNREACHABLE = "written by the run's tests, and too large to keep a copy of, or not to be opened: left as it is"
_COPIED_AGAIN_BYTES = 32 << 20  # of files that a commit of the user's holds too


class Leftovers:
    """Speaks about effects that stay. Changes no file."""

    def __init__(self, store: Store, workspace: Workspace, git: Git | None, ledger: Ledger) -> None:
        self._store = store
        self._workspace = workspace
        self._git = git
        self._ledger = ledger

    def reasons(
        self, snapshot: str, keep: Collection[str], landed: Mapping[str, str], told: Collection[str], final: bool
    ) -> tuple[dict[str, str], set[str]]:
        """Path -> why an effect stays. `landed` are hashes that edits left, `told` paths that need no word more.

        What may be somebody else's is only spoken of at the end (`final`): a later test run may yet make it clear.
        Such files that git ignores come apart from the others: tools write there all the time.
        """
        evidence = self._ledger.witness.evidence(snapshot)
        found: dict[str, str] = {}
        folders: dict[str, str] = {}
        for path, effects in self._by_path(snapshot).items():
            if path in told:
                continue
            image = current(self._workspace, path)
            now = hash_of(image)
            sure = effects[-1].is_of_tests(evidence)
            if (sure and path in keep) or (landed.get(path) == now and (sure or path in keep)):
                continue
            if not sure and not final:
                continue
            reason = "" if self._is_first(effects[0], image) else self._why(effects, now, evidence)
            if reason:
                kind = folders if now in ("", FOLDER) and _only_folder(effects) else found
                kind[path] = reason
        inside = {folder for path in (*found, *told, *folders) for folder in parents(path)}
        found |= {path: reason for path, reason in folders.items() if path not in inside}
        ignored = self._ledger.ignored([path for path, reason in found.items() if reason == UNSURE])
        return {path: reason for path, reason in found.items() if path not in ignored}, ignored

    def _by_path(self, snapshot: str) -> dict[str, list[Effect]]:
        found: dict[str, list[Effect]] = {}
        for effect in self._ledger.effects(snapshot):
            found.setdefault(effect.path, []).append(effect)
        return found

    def _why(self, effects: list[Effect], now: str, evidence: Evidence) -> str:
        """Why a path stays as it is."""
        first, last = effects[0], effects[-1]
        if last.late:
            return LATE
        sure = last.is_of_tests(evidence)
        if now == SPECIAL:
            mode = (stats_of(self._workspace, [first.path]).get(first.path) or first.before or _NOTHING).mode
            return f"{name_of(mode)} stands there now: {'left as it is' if sure else UNSURE}"
        if not sure:
            return UNSURE
        if last.of_folder and first.before is None:
            return "" if can_be_opened(self._workspace, first.path) else _UNREACHABLE  # "": what it holds is told of
        return self._why_sure(first, last, now)

    def _why_sure(self, first: Effect, last: Effect, now: str) -> str:
        if UNKNOWN in (last.after_sha, now):
            return _UNREACHABLE
        if is_blocked(self._workspace, first.path):
            return "changed by the run's tests, and its folder is none any more: left as it is"
        if first.before is not None and first.before.kind not in ("file", "symlink"):
            return f"{name_of(first.before.mode)} stood here before the run's tests, and cannot be put back"
        if now == FOLDER:
            return "was a file before the run's tests; a folder that is not empty stands there now: left as it is"
        if now != last.after_sha:
            return "written by the run's tests, and changed since: left as it is"
        return "changed by the run's tests, and no copy of what it was is at hand: left as it is"

    def _is_first(self, first: Effect, now: FileImage | None) -> bool:
        """Whether a path is, by somebody's doing, what it was before anything changed it."""
        if first.before is None or now is None or now.kind == "absent":
            return first.before is None and now is not None and now.kind == "absent"
        if first.before.kind in ("directory", "other"):
            return now.kind == first.before.kind
        before = self._image_before(first)
        return before is not None and (before.sha256, before.mode) == (now.sha256, now.mode)

    def _image_before(self, effect: Effect) -> FileImage | None:
        if effect.before is None or effect.before.kind not in ("file", "symlink"):
            return None
        data = read_source(self._store, self._git, effect.source, self._workspace.limits.max_file_bytes)
        return None if data is None else image_of(effect.path, effect.before, data)

    def is_recorded(self, tree: Manifest, path: str) -> bool:
        """Whether a path is what `tree` recorded: same kind, bytes and mode; or still not there."""
        image = current(self._workspace, path)
        before = tree.entries.get(path)
        if image is None:
            return False
        if before is None or image.kind == "absent":
            return before is None and image.kind == "absent"
        if image.mode != before.mode:
            return False
        source = tree.sources.get(path, "")
        if source:
            return self._ledger.is_source(source, raw(image))
        now = stats_of(self._workspace, [path]).get(path)
        return image.kind == "directory" or (now is not None and now._replace(ctime_ns=before.ctime_ns) == before)

    def keep_bytes(self, snapshot: str, landed: Mapping[str, str], committed: str) -> str:
        """Move the old bytes of what is not put back into a transaction of the journal, whose undo puts them back.

        Returns its id, or "" for nothing to keep. `committed` is the commit that was checked out at first: of what it
        holds anyway, only so much is copied.
        """
        held = self._held(committed)
        images: list[tuple[FileImage, Version]] = []
        budget = _COPIED_AGAIN_BYTES
        for path, effects in self._by_path(snapshot).items():
            stands = current(self._workspace, path)
            now = hash_of(stands)
            image = self._image_before(effects[0])
            if image is None or landed.get(path) == now or self._is_first(effects[0], stands):
                continue
            if effects[0].source.removeprefix("git:") in held:
                budget -= len(image.content)
                if budget < 0:
                    continue
            mode = stands.mode if stands is not None and stands.kind in ("file", "symlink") else None
            images.append((image, Version("" if now in NAMELESS else now, mode)))
        if not images:
            return ""
        entries = tuple(
            Entry(seq, image.path, Version(image.sha256, image.mode, image.mtime_ns), now)
            for seq, (image, now) in enumerate(images)
        )
        txn = Txn(new_id("txn"), "", "applied", entries)
        blobs = {image.sha256: image.content for image, _ in images}
        label = f"undo left open: what changed during a run and was not put back ({snapshot})"
        Records(self._store, repo_key(self._workspace.root)).begin(txn, label, time.time(), blobs)
        return txn.id

    def _held(self, commit: str) -> set[str]:
        if self._git is None or not commit:
            return set()
        try:
            lines = self._git.run("ls-tree", "-r", "-z", commit).split(b"\0")
        except GitFault:
            return set()
        return {line.partition(b"\t")[0].rpartition(b" ")[2].decode("ascii") for line in lines if line}


def _only_folder(effects: list[Effect]) -> bool:
    """Whether nothing but a folder came or went."""
    before = effects[0].before
    return effects[-1].of_folder and (before is None or before.kind == "directory")
