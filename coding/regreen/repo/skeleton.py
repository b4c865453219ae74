"""The folder tree of a repository as text: files and folders, no symbols; within a budget, every file within reach.

If the whole tree fits, it is shown. Else the first page shows it down to the deepest level that fits, with counts for
folded folders, and the pages after that show what is in them. A cursor holds level, part and last path shown, so that
pages stay right when files come and go in between.

Of a folder with very many entries the first ones are shown and the others are counted, and folders of other people's
code are counted only; who names such a folder as `path` gets all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from regreen.errors import Refused, UsageError
from regreen.model import Skeleton
from regreen.repo.budget import BYTES_PER_TOKEN, Page, read_cursor, write_cursor
from regreen.repo.classes import role_of_path
from regreen.repo.files import FileList
from regreen.repo.selecting import missing
from regreen.workspace import Workspace

LARGE_BYTES = 100_000  # files from this size on show it
MANY = 100  # files, or folders, in one folder: of more than these the first ones are shown

_FIRST = 50  # of many
_OVERVIEW, _REST = 0, 1
_MORE = "\U0010ffff"  # stands for the name of what is not shown: after all others
_ALL_LEVELS = 1 << 30

_Key = tuple[tuple[int, str], ...]  # orders a tree: a folder's files, then its folders; the latter end in `/`


@dataclass(slots=True)
class _Folder:
    """`path` ends in `/`; "" is the whole. Counts and size are those of all that is below."""

    path: str
    names: list[str] = field(default_factory=list[str])
    below: list[_Folder] = field(default_factory=list["_Folder"])
    files: int = 0
    folders: int = 0
    size_bytes: int = 0
    vendored: bool = False

    @property
    def counted(self) -> str:
        counts = [_many(self.files, "file")]
        if self.folders:
            counts.append(_many(self.folders, "folder"))
        if self.size_bytes >= LARGE_BYTES:
            counts.append(_size(self.size_bytes))
        if self.vendored:
            counts.append("vendored")
        return f" ({', '.join(counts)})"


class _Entry(NamedTuple):
    """One line. `folder`: what is in it, if it is a folder that can be unfolded here."""

    path: str
    label: str
    counted: str
    folder: _Folder | None

    @property
    def key(self) -> tuple[int, str]:
        name = self.path.removesuffix("/").rpartition("/")[2]
        return (1 if self.path.endswith("/") else 0, name)


@dataclass(frozen=True, slots=True)
class _Tree:
    """What is below `base` (which ends in `/`, or is ""). `named`: somebody asked for this very folder."""

    whole: _Folder
    files: FileList
    links: frozenset[str]
    base: str
    named: bool

    def entries(self, folder: _Folder) -> Iterator[_Entry]:
        """The lines for what is directly in a folder, in order."""
        fold = not (self.named and folder is self.whole)
        names = sorted(folder.names)
        shown = names[:_FIRST] if fold and len(names) > MANY else names
        for name in shown:
            yield _Entry(folder.path + name, name + self._remark(folder.path + name), "", None)
        if left := len(names) - len(shown):
            yield _Entry(folder.path + _MORE, f"... {_many(left, 'more file')}", "", None)
        below = sorted(folder.below, key=_path)
        unfolded = below[:_FIRST] if fold and len(below) > MANY else below
        for inner in unfolded:
            name = inner.path[len(folder.path) :]
            if inner.vendored:
                yield _Entry(inner.path, name + inner.counted, "", None)
            else:
                yield _Entry(inner.path, name, inner.counted, inner)
        if folded := below[len(unfolded) :]:
            files = _many(sum(inner.files for inner in folded), "file")
            yield _Entry(f"{folder.path}{_MORE}/", f"... {_many(len(folded), 'more folder')} ({files})", "", None)

    def _remark(self, inner: str) -> str:
        path = self.base + inner
        if path in self.links:
            return " (link)"
        stat = self.files.stats.get(path)
        return f" ({_size(stat.size)})" if stat is not None and stat.size >= LARGE_BYTES else ""

    def lines(self, first: int, last: int, after: _Key) -> Iterator[tuple[int, _Entry]]:
        """The entries of these levels that come after a key, with their levels. Whole folders before it are passed."""
        stack = [(self.entries(self.whole), after)]
        while stack:
            entries, bound = stack[-1]
            entry = next(entries, None)
            if entry is None:
                stack.pop()
                continue
            if bound and entry.key < bound[0]:
                continue
            within = bound[1:] if bound and entry.key == bound[0] else ()
            if first <= len(stack) and (not bound or entry.key != bound[0]):
                yield len(stack), entry
            if entry.folder is not None and len(stack) < last:
                stack.append((self.entries(entry.folder), within))


def skeleton(
    files: FileList,
    workspace: Workspace,
    *,
    path: str = "",
    depth: int = 0,
    max_tokens: int = 4000,
    cursor: str = "",
) -> Skeleton:
    """The tree below `path`. With a `depth`, deeper folders are only counted; 0 means all, in pages.

    Raises Refused (`path_outside_workspace`) for a link that leads out, and UsageError: `not_found` for a path
    without listed files, `invalid_arguments` for a bad number or cursor.
    """
    if depth < 0:
        raise UsageError("invalid_arguments", f"depth is {depth}", "give 0 for no limit, or a number of levels")
    base = workspace.normalise(path or ".")
    if base and workspace.image_kind(base) == "symlink":
        raise Refused(
            "path_outside_workspace", f"`{path}` is a link that leads out of the root", "name a folder inside the root"
        )
    tree = _build(files, base, named=bool(path))
    if base and not tree.whole.files:
        raise missing(workspace, files, base)
    page = Page(max_tokens)
    part, level, done = _OVERVIEW, depth, ""
    if cursor:
        (level, part), done = read_cursor(cursor, 2)
    else:
        notes = [f"# {note}" for note in files.notes] if not base else []
        level = depth or _level(tree, int(max_tokens * BYTES_PER_TOKEN) + 1 - sum(map(_bytes, notes)))
        for note in notes:
            page.add(note)
    if part not in (_OVERVIEW, _REST) or level < 1:
        raise UsageError("invalid_arguments", f"{cursor!r} is no cursor of this tool", "begin without a cursor")
    parts = (_OVERVIEW,) if depth else (_OVERVIEW, _REST)
    left = _fill(page, tree, [p for p in parts if p >= part], done, level)
    return Skeleton(
        root=base or ".",
        tree=page.text,
        files=tree.whole.files,
        dirs=tree.whole.folders,
        truncated=bool(left),
        cursor=left,
    )


def _build(files: FileList, base: str, *, named: bool) -> _Tree:
    """The tree below a folder, or the one file that `base` is. One pass over the files, one over the folders."""
    prefix = base + "/" if base else ""
    whole = _Folder("")
    folders = {"": whole}
    for path in (*files.paths, *files.links):
        if not path.startswith(prefix):
            if path == base:
                prefix = path.rpartition("/")[0] + "/" if "/" in path else ""
            else:
                continue
        head, _, name = path[len(prefix) :].rpartition("/")
        folder = folders.get(head)
        if folder is None:
            folder = _grown(folders, head, path)
        folder.names.append(name)
        stat = files.stats.get(path)
        if stat is not None:
            folder.size_bytes += stat.size
        if path == base:
            break
    for folder in reversed(folders.values()):  # what is below comes first
        folder.files += len(folder.names)
        folder.folders += len(folder.below)
        for inner in folder.below:
            folder.files += inner.files
            folder.folders += inner.folders
            folder.size_bytes += inner.size_bytes
    return _Tree(whole, files, frozenset(files.links), prefix, named)


def _grown(folders: dict[str, _Folder], path: str, example: str) -> _Folder:
    """The new folder `path`, and those above it that are new, too. `example` is a file in it."""
    new: list[str] = []
    at = path
    while at not in folders:
        new.append(at)
        at = at.rpartition("/")[0]
    folder = folders[at]
    vendored = role_of_path(example) == "vendored"
    for inner in reversed(new):
        name = inner.rpartition("/")[2]
        below = _Folder(inner + "/", vendored=vendored and role_of_path(f"{name}/x") == "vendored")
        folder.below.append(below)
        folder = folders[inner] = below
    return folder


def _level(tree: _Tree, left_bytes: int) -> int:
    """The deepest level down to which the tree fits on one page; at least the first. Looks no deeper than it must."""
    level, folders = 1, [tree.whole]
    while True:
        plain = counted = 0
        inner: list[_Folder] = []
        for folder in folders:
            for entry in tree.entries(folder):
                size = _bytes(entry.label) + 2 * (level - 1)
                plain += size
                counted += size + len(entry.counted)
                if entry.folder is not None:
                    inner.append(entry.folder)
                if counted > left_bytes:
                    return max(1, level - 1)
        if not inner:
            return level
        left_bytes -= plain
        level, folders = level + 1, inner


def _fill(page: Page, tree: _Tree, parts: Sequence[int], done: str, level: int) -> str:
    """Put entries after `done` on the page until it is full; the cursor for the rest, "" if nothing is left."""
    after = _key(done) if done else ()
    last_part, last = parts[0], done
    for part in parts:
        opened: list[str] = []  # the folders that a line stands under, outermost first
        overview = part == _OVERVIEW
        for at, entry in tree.lines(1 if overview else level + 1, level if overview else _ALL_LEVELS, after):
            counted = entry.counted if overview and at == level else ""
            if not page.add(*_placed(entry.path, entry.label + counted, opened)):
                return write_cursor(level, last_part, path=last)
            last_part, last = part, entry.path
        after = ()
    return ""


def _placed(path: str, label: str, opened: list[str]) -> list[str]:
    """The lines for an entry, with its folder's path above it where the page has not named that folder yet."""
    folder = path.rstrip("/").rpartition("/")[0]
    folder = folder + "/" if folder else ""
    while opened and opened[-1] != folder:
        opened.pop()
    lines: list[str] = []
    if folder and not opened:
        lines.append(folder)
        opened.append(folder)
    lines.append("  " * len(opened) + label)
    if path.endswith("/"):
        opened.append(path)
    return lines


def _key(path: str) -> _Key:
    names = path.rstrip("/").split("/")
    return (*((1, n) for n in names[:-1]), (1 if path.endswith("/") else 0, names[-1]))


def _path(folder: _Folder) -> str:
    return folder.path


def _bytes(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:.0f} kB"
