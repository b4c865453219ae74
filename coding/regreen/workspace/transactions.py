"""Carrying out one journalled transaction, and rolling one back: the steps between the store's rows and the files.

Order: rows and old bytes durable, then the files one by one, then the mark `applied`. Rolling back goes through the
entries in reverse, looks at what is really there, and may itself be interrupted and repeated.
"""

from __future__ import annotations

import contextlib
import errno
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from regreen.errors import EnvironmentFault
from regreen.store import Store, new_id
from regreen.workspace.attributes import Attributes, attributes_of
from regreen.workspace.beneath import Folder
from regreen.workspace.files import Workspace
from regreen.workspace.looking import look
from regreen.workspace.merging import is_mergeable, is_plain
from regreen.workspace.records import Entry, Records, Txn, Version
from regreen.workspace.writing import (
    MAX_OURS,
    Content,
    OnStep,
    StaleFile,
    Temp,
    bring_back,
    change_mode,
    discard,
    is_torn,
    place,
    sha_at,
    write_into,
)

_IN_USE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY})
_MOST_KEPT = 64  # open folders


@dataclass(frozen=True, slots=True)
class Step:
    """One entry, the content it brings, the bytes it replaces, and empty folders that stand where it goes.

    `like` is the real path of a file whose owner and attributes a new one takes.
    """

    entry: Entry
    content: Content
    old: bytes
    clear: tuple[str, ...] = ()
    like: str = ""


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
        shared = {step.entry.seq: inode for step in steps if (inode := self._inode_if_shared(step))}
        blobs |= {
            s.entry.after.sha: s.content.data
            for s in steps
            if s.content.data is not None
            and (s.entry.seq in shared or (is_plain(s.entry.before) and _both_mergeable(s)))
        }
        self._on_step("planned")
        self._records.begin(txn, label, now, blobs)
        kept = _Kept()
        try:
            self._on_step("journalled")
            for step in steps:
                if step.clear:  # a kept file may lie in a folder that is to go
                    kept.drop()
                self._apply(txn.id, step, kept, in_place=shared.get(step.entry.seq, 0))
            kept.drop()
            self._on_step("swept")
            for folder in empty:
                self._workspace.remove_empty_folder(folder)
            self._on_step("all placed")
            self._records.mark(txn.id, "applied")
        except BaseException as e:
            self._undo_failed(txn, e)
            with contextlib.suppress(OSError):
                kept.drop()  # in folders that were moved meanwhile
            if isinstance(e, OSError | EnvironmentFault):
                raise _failed(e) from e
            raise
        finally:
            kept.close()
        self._on_step("applied")
        return txn.id

    def _undo_failed(self, txn: Txn, cause: BaseException) -> None:
        try:
            self.roll_back(txn)
        except (OSError, EnvironmentFault) as e:
            raise EnvironmentFault(
                "io", f"writing failed ({_why(cause)}), and so did putting the old files back: {_why(e)}",
                "they are safe in the state folder; start again when the disk is writable") from cause  # fmt: skip

    def _apply(self, txn: str, step: Step, kept: _Kept, *, in_place: int) -> None:
        entry = step.entry
        for path in step.clear:
            self._workspace.remove_empty_folder(path)
        for path in entry.made_dirs:
            self._make_folder(path)
        parent, _, name = entry.path.rpartition("/")
        temp = Temp.of(txn, entry.seq, "do")
        try:
            with self._tree.folder(parent) as folder:
                if entry.before.sha == entry.after.sha:
                    change_mode(folder, name, step.content)
                    self._on_step("mode changed")
                    return
                content = step.content
                if step.like:
                    content = replace(content, attributes=self.attributes(step.like))
                place(
                    folder, name, temp, content, entry.before.sha,
                    in_place=in_place, keep_old=bool(entry.before.sha) and kept.add(folder, temp.whole),
                    on_step=self._on_step)  # fmt: skip
        except StaleFile as e:
            raise StaleFile(entry.path) from e
        except OSError as e:
            if e.errno in (errno.ELOOP, errno.ENOTDIR):  # a folder became a link, or a file
                raise StaleFile(entry.path) from e
            raise

    def attributes(self, path: str) -> Attributes | None:
        """What the file at a real path carries; None if there is none."""
        parent, _, name = path.rpartition("/")
        if not name:
            return None
        with self._tree.folder(parent) as folder:
            return attributes_of(folder, name)

    def roll_back(self, txn: Txn) -> str:
        """Put back the old state of every file that is still as the transaction left it. Returns the id."""
        for entry in reversed(txn.entries):
            self._revert(txn.id, entry)
            for path in reversed(entry.made_dirs):  # at once: an earlier entry may want its name back for a file
                self._unmake_folder(path)
        self._on_step("reverted")
        self._records.mark(txn.id, "rolled_back")
        return txn.id

    def _revert(self, txn: str, entry: Entry) -> None:
        parent, _, name = entry.path.rpartition("/")
        try:
            if entry.before.sha and not entry.after.sha:
                for path in missing_folders(self._workspace, entry.path):
                    self._make_folder(path)
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
            _settle(folder, name, temp, landed, known, keeps=entry.before.sha if stage == "do" else "")
        now = sha_at(folder, name)
        inode = self._shared(folder, name)
        if now == entry.after.sha:
            temp = Temp.of(txn, entry.seq, "undo")
            place(folder, name, temp, old, entry.after.sha, in_place=inode, on_step=self._on_step)
        elif now == entry.before.sha and inode:  # perhaps its bytes are back, but not yet its mode and mtime
            change_mode(folder, name, old)

    def _mend(self, folder: Folder, name: str, whole: str, was: str, landed: str) -> None:
        """Finish a write into a file with several names that a crash interrupted: then it has one of two contents."""
        new = look(folder, whole, MAX_OURS)
        now = look(folder, name, MAX_OURS)
        if new is None or now is None or now.info is None or new.sha != landed or now.sha in (was, landed):
            return
        if was and now.info.st_nlink > 1 and is_torn(now.content, self._store.blob(was), new.content):
            write_into(folder, name, Content(new.content), now.info.st_ino)

    def _inode_if_shared(self, step: Step) -> int:
        if not step.entry.before.sha or not step.entry.after.sha:
            return 0
        parent, _, name = step.entry.path.rpartition("/")
        try:
            with self._tree.folder(parent) as folder:
                return self._shared(folder, name)
        except OSError:
            return 0

    def _shared(self, folder: Folder, name: str) -> int:
        """The inode of a file with several names, if all of them are in the workspace: then it keeps them. Else 0.

        A name outside (a package cache, the user's own file) must not change with it: there the link is broken.
        """
        try:
            info = folder.stat(name)
        except FileNotFoundError:
            return 0
        if not stat.S_ISREG(info.st_mode) or info.st_nlink < 2:
            return 0
        rows = self._workspace.scan(skip=lambda _: False)
        found = sum(row.ino == info.st_ino and row.kind == "file" for row in rows.values())
        return info.st_ino if found >= info.st_nlink else 0

    def _make_folder(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        with self._tree.folder(parent) as folder:
            try:
                folder.mkdir(name)
            except FileExistsError:
                return
            folder.sync()
        self._on_step("folder made")

    def _unmake_folder(self, path: str) -> None:
        """Remove a folder that we made, if it still is one and empty."""
        parent, _, name = path.rpartition("/")
        try:
            with self._tree.folder(parent) as folder:
                folder.rmdir(name)
                folder.sync()
        except OSError as e:
            if e.errno not in _IN_USE:
                raise


class _Kept:
    """The old files of a transaction, kept under temporary names until it is through.

    So they can come back themselves, with their owner, attributes and other names, and on a full disk. Each is
    reached through the folder that was opened for it, wherever that is moved.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], tuple[Folder, list[str]]] = {}

    def add(self, folder: Folder, name: str) -> bool:
        """Whether there is room for one more. `folder` is opened once more, so its owner may close it."""
        info = folder.stat(".")
        key = (info.st_dev, info.st_ino)
        if key not in self._held:
            if len(self._held) >= _MOST_KEPT:
                return False
            self._held[key] = (folder.again(), [])
        self._held[key][1].append(name)
        return True

    def drop(self) -> None:
        """Let go of the old files, and make that, and what was done to their folders before, durable."""
        for key in tuple(self._held):
            folder, names = self._held[key]
            for name in names:
                discard(folder, name)
            folder.sync()
            del self._held[key]
            folder.close()

    def close(self) -> None:
        """Close the folders; what was not dropped stays for the next start."""
        for folder, _ in self._held.values():
            folder.close()
        self._held.clear()


def _both_mergeable(step: Step) -> bool:
    """Whether a merge may later ask what we left: then that is kept too."""
    return is_plain(step.entry.after) and is_mergeable(step.old) and is_mergeable(step.content.data)


def _why(error: BaseException) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)


def _failed(cause: BaseException) -> EnvironmentFault:
    return EnvironmentFault("io", f"writing failed: {_why(cause)}; everything is as it was before",
                            "free disk space or make the folder writable, then try again")  # fmt: skip


def _settle(folder: Folder, name: str, temp: Temp, landed: str, known: Collection[str], *, keeps: str) -> None:
    """Clear away what a crash left under temporary names; what was somebody's work goes back to its name.

    So does the old file itself (hash `keeps`), if it was kept.
    """
    discard(folder, temp.part)
    stray = sha_at(folder, temp.whole)
    if stray and stray == keeps:
        bring_back(folder, name, temp.whole, landed)
    elif stray and stray not in known and sha_at(folder, name) == landed:
        folder.replace(temp.whole, name)
    else:
        discard(folder, temp.whole)


def content_of(store: Store, version: Version) -> Content:
    """A version's content, its bytes from the store. EnvironmentFault `io` where the store lost them."""
    if not version.sha:
        return Content(None)
    try:
        return Content(store.blob(version.sha), version.mode, version.mtime_ns, version.attributes)
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
