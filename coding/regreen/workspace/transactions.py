"""Carrying out one journalled transaction, and rolling one back: the steps between the store's rows and the files.

Order: rows and old bytes durable, then the files one by one, then the mark `applied`. Rolling back goes through the
entries in reverse, looks at what is really there, and may itself be interrupted and repeated.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from regreen.errors import EnvironmentFault
from regreen.store import Store, new_id
from regreen.workspace.beneath import Folder
from regreen.workspace.files import Workspace
from regreen.workspace.looking import look
from regreen.workspace.records import Entry, Records, Txn, Version
from regreen.workspace.writing import (
    MAX_OURS,
    Content,
    OnStep,
    StaleFile,
    Temp,
    change_mode,
    discard,
    is_torn,
    place,
    sha_at,
    write_into,
)


@dataclass(frozen=True, slots=True)
class Step:
    """One entry, the content it brings, the bytes it replaces, and empty folders that stand where it goes."""

    entry: Entry
    content: Content
    old: bytes
    clear: tuple[str, ...] = ()


class Transactions:
    """Carries out and rolls back transactions of one workspace. The caller holds the commit lock."""

    def __init__(self, store: Store, workspace: Workspace, records: Records, on_step: OnStep) -> None:
        self._store = store
        self._workspace = workspace
        self._tree = workspace.tree
        self._records = records
        self._on_step = on_step

    def carry_out(
        self, steps: Sequence[Step], *, label: str, run_id: str, now: float, empty: Sequence[str] = ()
    ) -> str:
        """All steps or none; then the folders `empty` are removed where they are. Returns the transaction's id."""
        txn = Txn(new_id("txn"), run_id, "open", tuple(step.entry for step in steps))
        blobs = {step.entry.before.sha: step.old for step in steps if step.entry.before.sha}
        shared = {step.entry.seq: step for step in steps if self._is_shared(step)}
        blobs |= {s.entry.after.sha: s.content.data for s in shared.values() if s.content.data is not None}
        self._on_step("planned")
        self._records.begin(txn, label, now, blobs)
        try:
            self._on_step("journalled")
            for step in steps:
                self._apply(txn.id, step, in_place=step.entry.seq in shared)
            for folder in empty:
                self._workspace.remove_empty_folder(folder)
            self._on_step("all placed")
            self._records.mark(txn.id, "applied")
        except BaseException as e:
            self._undo_failed(txn, e)
            if isinstance(e, OSError):
                raise EnvironmentFault(
                    "io", f"writing failed: {e.strerror}; everything is as it was before",
                    "free disk space or make the folder writable, then try again") from e  # fmt: skip
            raise
        self._on_step("applied")
        return txn.id

    def _undo_failed(self, txn: Txn, cause: BaseException) -> None:
        try:
            self.roll_back(txn)
        except OSError as e:
            raise EnvironmentFault(
                "io", f"writing failed ({cause}), and so did putting the old files back: {e.strerror}",
                "they are safe in the state folder; start again when the disk is writable") from cause  # fmt: skip

    def _apply(self, txn: str, step: Step, *, in_place: bool) -> None:
        entry = step.entry
        for path in step.clear:
            self._workspace.remove_empty_folder(path)
        for path in entry.made_dirs:
            self._make_folder(path)
        parent, _, name = entry.path.rpartition("/")
        try:
            with self._tree.folder(parent) as folder:
                if entry.before.sha == entry.after.sha:
                    change_mode(folder, name, step.content)
                    self._on_step("mode changed")
                    return
                temp = Temp.of(txn, entry.seq, "do")
                place(folder, name, temp, step.content, entry.before.sha, in_place=in_place, on_step=self._on_step)
        except StaleFile as e:
            raise StaleFile(entry.path) from e
        except OSError as e:
            if e.errno == errno.ELOOP:  # a folder became a link
                raise StaleFile(entry.path) from e
            raise

    def roll_back(self, txn: Txn) -> str:
        """Put back the old state of every file that is still as the transaction left it. Returns the id."""
        for entry in reversed(txn.entries):
            self._revert(txn.id, entry)
            for path in reversed(entry.made_dirs):  # at once: an earlier entry may want its name back for a file
                self._workspace.remove_empty_folder(path)
        self._on_step("reverted")
        self._records.mark(txn.id, "rolled_back")
        return txn.id

    def _revert(self, txn: str, entry: Entry) -> None:
        parent, _, name = entry.path.rpartition("/")
        if entry.before.sha and not entry.after.sha:
            for path in missing_folders(self._workspace, entry.path):
                self._make_folder(path)
        try:
            with self._tree.folder(parent) as folder:
                self._put_old_back(folder, name, txn, entry)
        except StaleFile:
            return  # somebody else's work by now
        except OSError as e:
            if e.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise

    def _put_old_back(self, folder: Folder, name: str, txn: str, entry: Entry) -> None:
        old = content_of(self._store, entry.before)
        if entry.before.sha == entry.after.sha:
            if sha_at(folder, name) == entry.before.sha:
                change_mode(folder, name, old)
            return
        known = (entry.before.sha, entry.after.sha)
        for stage, was, landed in (("do", *known), ("undo", *known[::-1])):
            temp = Temp.of(txn, entry.seq, stage)
            self._mend(folder, name, temp.whole, was, landed)
            self._on_step(f"mended {stage}")
            _settle(folder, name, temp, landed, known)
        now = sha_at(folder, name)
        shared = self._shared(folder, name)
        if now == entry.after.sha:
            temp = Temp.of(txn, entry.seq, "undo")
            place(folder, name, temp, old, entry.after.sha, in_place=shared, on_step=self._on_step)
        elif now == entry.before.sha and shared:  # perhaps its bytes are back, but not yet its mode and mtime
            change_mode(folder, name, old)

    def _mend(self, folder: Folder, name: str, whole: str, was: str, landed: str) -> None:
        """Finish a write into a file with several names that a crash interrupted: then it has one of two contents."""
        new = look(folder, whole, MAX_OURS)
        now = look(folder, name, MAX_OURS)
        if new is None or now is None or now.info is None or new.sha != landed or now.sha in (was, landed):
            return
        if was and now.info.st_nlink > 1 and is_torn(now.content, self._store.blob(was), new.content):
            write_into(folder, name, Content(new.content))

    def _is_shared(self, step: Step) -> bool:
        if not step.entry.before.sha or not step.entry.after.sha:
            return False
        parent, _, name = step.entry.path.rpartition("/")
        try:
            with self._tree.folder(parent) as folder:
                return self._shared(folder, name)
        except OSError:
            return False

    def _shared(self, folder: Folder, name: str) -> bool:
        """Whether a file has several names, all of them in the workspace: then it keeps them.

        A name outside (a package cache, the user's own file) must not change with it: there the link is broken.
        """
        try:
            info = folder.stat(name)
        except FileNotFoundError:
            return False
        if not stat.S_ISREG(info.st_mode) or info.st_nlink < 2:
            return False
        rows = self._workspace.scan(skip=lambda _: False)
        return sum(row.ino == info.st_ino and row.kind == "file" for row in rows.values()) >= info.st_nlink

    def _make_folder(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        with self._tree.folder(parent) as folder:
            try:
                folder.mkdir(name)
            except FileExistsError:
                return
            folder.sync()
        self._on_step("folder made")


def _settle(folder: Folder, name: str, temp: Temp, landed: str, known: Collection[str]) -> None:
    """Clear away what a crash left under temporary names; what was somebody's work goes back to its name."""
    discard(folder, temp.part)
    stray = sha_at(folder, temp.whole)
    if stray and stray not in known and sha_at(folder, name) == landed:
        folder.replace(temp.whole, name)
    else:
        discard(folder, temp.whole)


def content_of(store: Store, version: Version) -> Content:
    """A version's content, its bytes from the store. EnvironmentFault `io` where the store lost them."""
    if not version.sha:
        return Content(None)
    try:
        return Content(store.blob(version.sha), version.mode, version.mtime_ns)
    except KeyError:
        raise EnvironmentFault("io", f"the state folder {store.folder} has lost the old content of a file",
                               "restore the state folder from a backup; nothing was changed") from None  # fmt: skip


def missing_folders(workspace: Workspace, path: str) -> tuple[str, ...]:
    """The folders that must be made before `path` can be, outermost first."""
    missing: list[str] = []
    parent = path.rpartition("/")[0]
    while parent:
        try:
            workspace.tree.folder(parent).close()
        except OSError as e:
            if e.errno not in (errno.ENOENT, errno.ENOTDIR):
                break
            missing.append(parent)
            parent = parent.rpartition("/")[0]
        else:
            break
    return tuple(reversed(missing))


def made_folders(entries: Sequence[Entry]) -> list[str]:
    """All folders that the entries made, innermost first."""
    return sorted({path for entry in entries for path in entry.made_dirs}, key=lambda p: -p.count("/"))
