"""From what a caller names (files, folders, globs) to files of the listing; and names like one that is not there."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from regreen.errors import UsageError
from regreen.repo.files import FileList
from regreen.repo.globs import matches
from regreen.wire import nearest
from regreen.workspace import Workspace

_CANDIDATES = 5000  # names compared for a hint
_HINTS = 3
_GLOB = re.compile(r"[*?\[]|\{[^{}]*,[^{}]*\}")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_ALTERNATIVES = 100


class Selected(NamedTuple):
    """Paths in order. `named` are those that were named themselves, not found in a folder or by a glob."""

    paths: tuple[str, ...]
    named: frozenset[str]


def select(workspace: Workspace, files: FileList, wanted: Sequence[str]) -> Selected:
    """The files that `wanted` means; nothing wanted means all. UsageError `not_found` for what matches nothing.

    A file that is named is taken even if it is ignored; a link out of the root is Refused. A glob without `/` matches
    names in every folder.
    """
    chosen: set[str] = set()
    named: set[str] = set()
    for path in wanted or (".",):
        clean = workspace.normalise(path)
        if clean not in files.sizes_bytes and (inside := folder_members(files, clean)):
            chosen.update(inside)
        elif (kind := workspace.image_kind(clean)) == "symlink":
            workspace.read(clean)  # raises: a link that was not followed leaves the root
        elif kind in ("file", "other"):
            named.add(clean)
        elif matched := _matching(files.paths, clean):
            chosen.update(matched)
        elif clean:
            raise missing(workspace, files, clean)
    return Selected(tuple(sorted(chosen | named)), frozenset(named))


def is_glob(text: str) -> bool:
    """Whether a name is a pattern of names."""
    return _GLOB.search(text) is not None


def alternatives(glob: str) -> list[str]:
    """The globs that one with braces stands for: `*.{ts,tsx}` is `*.ts` and `*.tsx`. One without is itself."""
    waiting, done = [glob], list[str]()
    while waiting and len(done) + len(waiting) <= _ALTERNATIVES:
        text = waiting.pop()
        match = _BRACES.search(text)
        if match is None:
            done.append(text)
        else:
            waiting.extend(text[: match.start()] + part + text[match.end() :] for part in match[1].split(","))
    return sorted({*done, *waiting})


def folder_members(files: FileList, folder: str) -> list[str]:
    """The listed files below a folder ("" is the root)."""
    prefix = folder + "/" if folder else ""
    return [path for path in files.paths if path.startswith(prefix)]


def missing(workspace: Workspace, files: FileList, path: str) -> UsageError:
    """The error for a path that the listing does not have, with names like it."""
    if is_glob(path):
        return UsageError("not_found", f"`{path}` matches no file", "`*` stays within a folder, `**` goes below")
    if workspace.image_kind(path) == "directory":
        return UsageError("not_found", f"`{path}` holds no listed file: it is empty or ignored",
                          "name a file in it, or see the skeleton of the folder above")  # fmt: skip
    close = similar(files, path)
    hint = f"did you mean {' or '.join(f'`{c}`' for c in close)}?" if close else "see the skeleton for what there is"
    return UsageError("not_found", f"`{path}` does not exist", hint)


def similar(files: FileList, path: str) -> tuple[str, ...]:
    """Listed files and folders whose names are like that of `path`, best first: same name elsewhere, then alike."""
    known = _with_folders(files.paths)
    name = path.rpartition("/")[2].casefold()
    by_name: dict[str, list[str]] = {}
    for candidate in known:
        by_name.setdefault(candidate.rpartition("/")[2].casefold(), []).append(candidate)
    names = [name] if name in by_name else []
    names += [n for n in nearest(name, list(by_name)[:_CANDIDATES], _HINTS) if n != name]
    found = [c for n in names for c in sorted(by_name[n], key=lambda c: (-_shared(c, path), c))]
    return tuple(found[:_HINTS])


def _shared(a: str, b: str) -> int:
    return len(set(a.split("/")) & set(b.split("/")))


def _with_folders(paths: Iterable[str]) -> list[str]:
    known: dict[str, None] = {}
    for path in paths:
        known[path] = None
        folder = path.rpartition("/")[0]
        while folder and folder not in known:
            known[folder] = None
            folder = folder.rpartition("/")[0]
    return list(known)


def _matching(paths: Sequence[str], glob: str) -> set[str]:
    if not is_glob(glob):
        return set()
    found: set[str] = set()
    for one in alternatives(glob):
        names = one.split("/") if "/" in one else ["**", one]
        parts = [None if name == "**" else re.compile(fnmatch.translate(name)) for name in names]
        found.update(path for path in paths if matches(parts, path))
    return found
