"""What differs from an earlier state, as unified diffs that `git apply` takes; bounded in number and size.

Bytes that are not UTF-8 text, and files too large to compare, are named and counted, not shown.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from regreen.errors import UsageError
from regreen.git import Git
from regreen.model import ChangeReport, FileAction, FileDiff
from regreen.redact import LEARNED
from regreen.snapshots.capture import raw
from regreen.snapshots.looking import current
from regreen.snapshots.manifest import Manifest
from regreen.snapshots.sources import read_source
from regreen.store import Store
from regreen.workspace import FileImage, Journal, Stat, Workspace, is_secret

_MAX_FILES = 1_000
_MAX_DIFF_CHARS = 1 << 20
_MAX_COMPARED_BYTES = 512 * 1024


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a file's change. `data` None: absent, or (`known` false) not to be had."""

    data: bytes | None = None
    mode: int = 0
    known: bool = True

    @property
    def sha(self) -> str:
        return "" if self.data is None else hashlib.sha256(self.data).hexdigest()

    @property
    def exists(self) -> bool:
        return self.data is not None or not self.known


@dataclass(frozen=True, slots=True)
class Sources:
    """Where both sides come from."""

    store: Store
    workspace: Workspace
    git: Git | None

    def now(self, path: str) -> Side:
        return side_of(current(self.workspace, path))

    def before(self, tree: Manifest, path: str) -> Side:
        info = tree.entries.get(path)
        if info is None:
            return Side()
        data = read_source(self.store, self.git, tree.sources.get(path, ""), self.workspace.limits.max_file_bytes)
        return Side(data, info.mode, known=data is not None)


def side_of(image: FileImage | None) -> Side:
    """The side that an image shows; what could not be read is not known."""
    if image is None or image.kind in ("directory", "other"):
        return Side(known=image is not None and image.kind == "directory")
    return Side(raw(image), image.mode)


def since_manifest(sources: Sources, since: str, tree: Manifest, now: Mapping[str, Stat]) -> ChangeReport:
    """What differs from a snapshot."""
    delta = Manifest(now, {}).changed_from(tree)
    paths = sorted(p for p, info in delta.items() if (info or tree.entries[p]).kind != "directory")
    return _report(since, ((p, sources.before(tree, p), sources.now(p)) for p in paths))


def since_run(journal: Journal, workspace: Workspace, run_id: str) -> ChangeReport:
    """What a run's edits left different from what they found; the snapshot is not needed for it."""
    paths = sorted(journal.touched(run_id))
    rows = ((p, side_of(journal.before(run_id, p)), side_of(current(workspace, p))) for p in paths)
    return _report(run_id, rows)


def since_commit(sources: Sources, git: Git, since: str) -> ChangeReport:
    """What differs from a commit, in tracked files and in those that are neither tracked nor ignored."""
    commit = git.commit(since)
    if not commit and since != "HEAD":
        raise UsageError("not_found", f"`{since}` is no snapshot, no run and no commit", "name one, or HEAD")
    old: dict[str, tuple[str, int]] = {}
    if commit:
        fields = git.run("diff-index", "-z", "--raw", "--no-abbrev", commit, "--", ".").split(b"\0")
        for meta, name in zip(fields[0::2], fields[1::2], strict=False):
            mode, _, oid, *_ = meta.decode("ascii").removeprefix(":").split(" ")
            old[os.fsdecode(name)[len(git.prefix) :]] = (oid if int(mode, 8) else "", int(mode, 8))
    else:
        old = dict.fromkeys(git.tracked(), ("", 0))
    old |= dict.fromkeys(git.untracked(), ("", 0))
    limit = sources.workspace.limits.max_file_bytes

    def before(path: str) -> Side:
        oid, mode = old[path]
        if not oid:
            return Side()
        data = read_source(sources.store, git, f"git:{oid}", limit)
        return Side(data, mode, known=data is not None)

    return _report(since, ((p, before(p), sources.now(p)) for p in sorted(old)))


def _report(since: str, rows: Iterable[tuple[str, Side, Side]]) -> ChangeReport:
    files: list[FileDiff] = []
    chars = 0
    truncated = False
    for path, before, after in rows:
        if before.known and after.known and (before.data, _git_mode(before)) == (after.data, _git_mode(after)):
            continue
        if len(files) == _MAX_FILES:
            truncated = True
            break
        file = file_diff(path, before, after)
        chars += len(file.diff)
        if chars > _MAX_DIFF_CHARS:
            truncated = True
            file = FileDiff(path, file.action, file.added, file.removed, file.sha_before, file.sha_after, "")
        files.append(file)
    return ChangeReport(since, tuple(files), "".join(f.diff for f in files), truncated)


def file_diff(path: str, before: Side, after: Side) -> FileDiff:
    """One file's change, with its unified diff."""
    action: FileAction = "modify"
    if not before.exists:
        action = "create"
    elif not after.exists:
        action = "delete"
    old, new = (None, None) if is_secret(path) else (_lines(before), _lines(after))
    for side in (before, after):
        LEARNED.look(side.data or b"")  # a diff shows a few lines of each
    head = _head(path, before, after)
    if old is None or new is None:
        text = head if before.data == after.data and before.known and after.known else _unshown(head, path)
        return FileDiff(path, action, 0, 0, before.sha, after.sha, text)
    from_name = _ended(_name("a/", path)) if before.exists else "/dev/null"
    to_name = _ended(_name("b/", path)) if after.exists else "/dev/null"
    body = list(difflib.unified_diff(old, new, from_name, to_name))
    added = sum(1 for line in body[2:] if line.startswith("+"))
    removed = sum(1 for line in body[2:] if line.startswith("-"))
    marked = "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in body)
    return FileDiff(path, action, added, removed, before.sha, after.sha, head + marked)


def _ended(name: str) -> str:
    """A name for a `---` line: as git does, a tab says where one with blanks in it ends."""
    return name + "\t" if " " in name and not name.startswith('"') else name


def _lines(side: Side) -> list[str] | None:
    """The lines with their ends, split at LF only; None for what is no UTF-8 text, or too large."""
    if not side.exists:
        return []
    if side.data is None or len(side.data) > _MAX_COMPARED_BYTES or b"\0" in side.data:
        return None
    try:
        text = side.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _head(path: str, before: Side, after: Side) -> str:
    head = f"diff --git {_name('a/', path)} {_name('b/', path)}\n"
    old, new = _git_mode(before), _git_mode(after)
    if not before.exists:
        return f"{head}new file mode {new}\n"
    if not after.exists:
        return f"{head}deleted file mode {old}\n"
    return head if old == new else f"{head}old mode {old}\nnew mode {new}\n"


def _unshown(head: str, path: str) -> str:
    return f"{head}Binary files {_name('a/', path)} and {_name('b/', path)} differ\n"


def _git_mode(side: Side) -> str:
    if not side.exists:
        return ""
    if stat.S_ISLNK(side.mode):
        return "120000"
    return "100755" if side.mode & stat.S_IXUSR else "100644"


def _name(prefix: str, path: str) -> str:
    """A name as git writes it: quoted, as bytes, where it holds control characters, quotes or foreign bytes."""
    data = os.fsencode(prefix + path)
    try:
        plain = data.decode("utf-8")
    except UnicodeDecodeError:
        plain = ""
    if plain and plain.isprintable() and not {'"', "\\"} & set(plain):
        return plain
    return '"' + "".join(_ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in data) + '"'


_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", ord("\n"): "\\n", ord("\t"): "\\t"}
