"""The folder tree of a repository as text: files and folders, no symbols; within a budget, every file within reach.

If the whole tree fits, it is shown. Else the first page shows it down to the deepest level that fits, with counts for
folded folders, and the pages after that show what is in them. A cursor holds level, part and last path shown, so that
pages stay right when files come and go in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regreen.errors import Refused, UsageError
from regreen.model import Skeleton
from regreen.repo.budget import Page, read_cursor, write_cursor
from regreen.repo.files import FileList
from regreen.repo.selecting import missing
from regreen.workspace import Workspace

LARGE_BYTES = 100_000  # files from this size on show it

_OVERVIEW, _REST = 0, 1


class _Entry(NamedTuple):
    """A file, or a folder (its path ends in `/`). `key` orders a tree: a folder's files, then its folders."""

    key: tuple[tuple[int, str], ...]
    path: str
    label: str

    @property
    def level(self) -> int:
        return len(self.key)


@dataclass(slots=True)
class _Count:
    files: int = 0
    folders: int = 0


@dataclass(frozen=True, slots=True)
class _Tree:
    entries: tuple[_Entry, ...]
    counts: dict[str, _Count]  # by folder with its `/`; "" is the whole
    depth: int

    def part(self, part: int, level: int) -> list[_Entry]:
        """The entries of a part: down to `level`, or below it."""
        return [e for e in self.entries if (e.level <= level) == (part == _OVERVIEW)]


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
    tree = _build(files, base)
    if base and not tree.entries:
        raise missing(workspace, files, base)
    page = Page(max_tokens)
    part, level, done = _OVERVIEW, depth or _level(tree, max_tokens), ""
    if cursor:
        (level, part), done = read_cursor(cursor, 2)
    elif not base:
        for note in files.notes:
            page.add(f"# {note}")
    if part not in (_OVERVIEW, _REST) or level < 1:
        raise UsageError("invalid_arguments", f"{cursor!r} is no cursor of this tool", "begin without a cursor")
    parts = (_OVERVIEW,) if depth else (_OVERVIEW, _REST)
    left = _fill(page, tree, [(p, tree.part(p, level)) for p in parts if p >= part], done, level)
    whole = tree.counts[""]
    return Skeleton(
        root=base or ".",
        tree=page.text,
        files=whole.files,
        dirs=whole.folders,
        truncated=bool(left),
        cursor=left,
    )


def _build(files: FileList, base: str) -> _Tree:
    """The tree below a folder, or the one file that `base` is."""
    counts = {"": _Count()}
    entries: list[_Entry] = []
    for inner, label in _leaves(files, base):
        names = inner.split("/")
        above = [""]
        for i, name in enumerate(names[:-1]):
            folder = f"{above[-1]}{name}/"
            if folder not in counts:
                counts[folder] = _Count()
                entries.append(_Entry(tuple((1, n) for n in names[: i + 1]), folder, name + "/"))
                for outer in above:
                    counts[outer].folders += 1
            above.append(folder)
        for folder in above:
            counts[folder].files += 1
        entries.append(_Entry(_key(inner), inner, label))
    entries.sort()
    return _Tree(tuple(entries), counts, max((e.level for e in entries), default=1))


def _leaves(files: FileList, base: str) -> Iterator[tuple[str, str]]:
    """Files and links with their labels; paths relative to `base`, or the name if `base` is a file."""
    prefix = base + "/" if base else ""
    links = set(files.links)
    for path in (*files.paths, *files.links):
        if not path.startswith(prefix) and path != base:
            continue
        name = path.rpartition("/")[2]
        inner = name if path == base else path.removeprefix(prefix)
        size = files.sizes_bytes.get(path, 0)
        yield inner, name + (" (link)" if path in links else f" ({_size(size)})" if size >= LARGE_BYTES else "")


def _key(path: str) -> tuple[tuple[int, str], ...]:
    names = path.rstrip("/").split("/")
    return (*((1, n) for n in names[:-1]), (1 if path.endswith("/") else 0, names[-1]))


def _level(tree: _Tree, max_tokens: int) -> int:
    """The deepest level down to which the tree fits on one page; at least the first."""
    fits = 1
    for level in range(1, tree.depth + 1):
        if _fill(Page(max_tokens), tree, [(_OVERVIEW, tree.part(_OVERVIEW, level))], "", level):
            break
        fits = level
    return fits


def _fill(page: Page, tree: _Tree, parts: Sequence[tuple[int, Iterable[_Entry]]], done: str, level: int) -> str:
    """Put entries after `done` on the page until it is full; the cursor for the rest, "" if nothing is left."""
    after = _key(done) if done else ()
    last_part, last = parts[0][0], done
    for part, entries in parts:
        opened: list[str] = []  # the folders that a line stands under, outermost first
        for entry in entries:
            if after and entry.key <= after:
                continue
            if not page.add(*_lines(entry, tree, opened, level if part == _OVERVIEW else 0)):
                return write_cursor(level, last_part, path=last)
            last_part, last = part, entry.path
        after = ()
    return ""


def _lines(entry: _Entry, tree: _Tree, opened: list[str], level: int) -> list[str]:
    """The lines for an entry, with its folder's path above it where the page has not named that folder yet."""
    folder = entry.path.rstrip("/").rpartition("/")[0]
    folder = folder + "/" if folder else ""
    while opened and opened[-1] != folder:
        opened.pop()
    lines: list[str] = []
    if folder and not opened:
        lines.append(folder)
        opened.append(folder)
    label = entry.label
    if entry.path.endswith("/") and entry.level == level:
        label += " " + _counted(tree.counts[entry.path])
    lines.append("  " * len(opened) + label)
    if entry.path.endswith("/"):
        opened.append(entry.path)
    return lines


def _counted(count: _Count) -> str:
    files = f"{count.files} file{'' if count.files == 1 else 's'}"
    return f"({files}, {count.folders} folder{'' if count.folders == 1 else 's'})" if count.folders else f"({files})"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:.0f} kB"
