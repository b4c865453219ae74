"""The files that a plan speaks of: each opened once, by its real path, and refused with a reason where it must be.

Rule: a path is used as it is named or not at all; a similar one is offered in words, never taken.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice

from regreen.edits.closest import Neighbourhood
from regreen.edits.explain import WHOLE, printable
from regreen.edits.ladder import MAX_CANDIDATES
from regreen.edits.lines import MAX_LINES, FileLines, Rows
from regreen.edits.parsed import Beside
from regreen.edits.paths import names_a_file
from regreen.edits.placing import Placed
from regreen.errors import EnvironmentFault, RegreenError
from regreen.model import EditError, EditErrorKind
from regreen.wire import MAX_PATH
from regreen.workspace import FileImage, Text, TextProblem, Workspace

_KINDS: dict[str, EditErrorKind] = {
    "path_outside_workspace": "path_outside",
    "path_protected": "path_protected",
    "path_invalid": "path_invalid",
    "not_regular_file": "unsupported",
    "limit_exceeded": "too_large",
    "not_found": "file_not_found",
}
_MAX_SCANNED = 20_000  # folders and files looked at for a similar path
_MAX_ASKED = 5
_MAX_NEAR = 2_000
_SKIPPED = frozenset({"node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".pytest_cache", "target"})
_MARK = "\ufeff"
_ENCODING_MARKS = {"utf-8": _MARK}


@dataclass(slots=True)
class Target:
    """One file of the plan, as it is on disk (`image`, `before`) and as the edits so far leave it (`lines`)."""

    path: str
    image: FileImage
    text: Text
    lines: FileLines
    exists: bool
    before: Rows = field(default_factory=lambda: Rows([], []))
    stale: EditError | None = None  # set if the file is not the one that was read
    confirmed: bool = False  # whether it was said to be the one that was read, and is
    is_link: bool = False  # whether the path that was named is a link to the file
    source: Target | None = None  # the file that was moved here
    moved: Target | None = None  # where this file was moved to
    unsure: bool = False  # whether the planned bytes may be read in another way than they were written
    failed: set[str] = field(default_factory=set[str])  # REPLACE lines of edits that did not fit
    _near: Neighbourhood | None = None
    _original: FileLines | None = None

    @property
    def created(self) -> bool:
        return self.image.kind == "absent"

    @property
    def mark(self) -> str:
        """The byte order mark as a diff shows it."""
        return _ENCODING_MARKS.get(self.text.encoding, "") if self.text.bom else ""

    def near(self) -> Neighbourhood | None:
        """The file on disk, prepared for hints; None for a file that is not there."""
        if self._near is None and not self.created:
            self._near = Neighbourhood(self.before.bodies)
        return self._near

    def original(self) -> FileLines:
        """The lines on disk, prepared for finding."""
        if self._original is None:
            self._original = FileLines(self.before.part(0, len(self.before)))
        return self._original

    def overtaken(self, search: tuple[str, ...]) -> tuple[int, int, int] | None:
        """(first line, last line, number of the edit) if SEARCH stood on disk where an earlier edit changed it."""
        if not self.lines.blocks:
            return None
        for start in islice(self.original().places(search, "exact"), MAX_CANDIDATES):
            by = self.lines.changed_by(start, start + len(search))
            if by:
                return start + 1, start + len(search), by
        return None

    def replace(self, placed: Placed, edit: int) -> bool:
        """Take one replacement of lines, by the edit of that number. Tells whether any byte changed."""
        fresh = placed.new_lines()
        self.unsure = self.unsure or placed.start < 2 or any(body.endswith("\r") for body in fresh)
        return self.lines.replace(
            placed.start, placed.search, placed.replace, placed.fresh, open_end=placed.open_end, edit=edit
        )

    def fill(self, text: str) -> None:
        """Take the content of a file that had none. A mark at its beginning is the file's, not the first line's."""
        if self.moved is not None:
            self.moved.source = self.moved = None  # what went there is a copy of a file that is here again
        if not self.exists:
            self.text = Text(codecs.BOM_UTF8 if text.startswith(_MARK) else b"", "utf-8", "")
            text = text.removeprefix(_MARK)
        self.lines, self.exists, self.unsure = FileLines.instead_of(self.before, Rows.of(text)), True, True

    def delete(self) -> None:
        """Be gone; what was moved here is gone as well, and where it came from it was deleted."""
        if self.source is not None:
            self.source.moved = self.source = None
        self.lines, self.exists = FileLines.instead_of(self.before, Rows([], [])), False

    def move(self, to: Target) -> None:
        """Become the file at `to`, where nothing is."""
        origin = self.source or self
        to.lines, to.text, to.before, to.exists = self.lines, self.text, self.before, True
        to.unsure = self.unsure
        self.delete()
        if not origin.created:
            origin.moved, to.source = to, origin

    def encoded(self) -> bytes | TextProblem:
        """The planned bytes; a problem if reading them back would not give the planned text."""
        rows = self.lines.rows
        if rows and rows.bodies[0].startswith(_MARK) and not self.text.text.startswith(_MARK):
            return TextProblem("encoding", "the new text begins with a byte order mark; leave it out")
        return encode(self.text, rows, unsure=self.unsure)


def encode(form: Text, rows: Rows, *, unsure: bool) -> bytes | TextProblem:
    """The bytes of a file's lines in the form of `form`. With `unsure` they are read back to compare."""
    made = form.with_text(rows.text)
    data = made.encode()
    if isinstance(data, TextProblem) or not unsure:
        return data
    again = Text.decode(data)
    if isinstance(again, TextProblem) or again.text != made.text or Rows.of(made.text).bodies != rows.bodies:
        return TextProblem("encoding", "the outcome would not be read back as it was planned: an encoding "
                           "line or a carriage return at the end of a line changes its meaning")  # fmt: skip
    return data


@dataclass(slots=True)
class Targets:
    """Opens files for a plan and remembers them."""

    workspace: Workspace
    expected: Mapping[str, str]
    protected: Callable[[str], bool] | None
    by_real: dict[str, Target] = field(default_factory=dict[str, Target])
    notes: list[str] = field(default_factory=list[str])
    unused: set[str] = field(default_factory=set[str])  # expectations about files that no edit names
    _seen: dict[str, Target | EditError] = field(default_factory=dict[str, "Target | EditError"])
    _names: list[str] | None = None
    _asked: int = 0

    def __post_init__(self) -> None:
        self.unused.update(self.expected)

    def open(self, path: str) -> Target | EditError:
        """The file that `path` names (present or not), or why it cannot be edited."""
        if path not in self._seen:
            try:
                self._seen[path] = self._open(path)
            except EnvironmentFault as e:
                self._seen[path] = EditError("io", e.message, e.hint)
            except RegreenError as e:
                self._seen[path] = EditError(_KINDS.get(e.kind, "path_invalid"), e.message, e.hint)
        return self._seen[path]

    def _open(self, path: str) -> Target | EditError:
        clean = self.workspace.normalise(path)
        if self._is_protected(clean):
            return _protected(clean)
        image = self.workspace.image(clean)
        real = image.real or clean
        refusal = _refusal(clean, image) or (self.below_a_file(real) if image.kind == "absent" else None)
        if refusal is not None:
            return refusal
        if real != clean and self._is_protected(real):
            return _protected(clean)
        stale = self._stale(clean, path, image)
        if stale is not None and image.kind == "absent":
            return stale
        if real not in self.by_real:
            opened = _opened(real, image)
            if isinstance(opened, EditError):
                return opened
            self.by_real[real] = opened
        target = self.by_real[real]
        target.stale = stale or target.stale
        target.confirmed = target.confirmed or (stale is None and any(n in self.expected for n in (clean, path, real)))
        if real != clean:
            target.is_link = target.is_link or self.workspace.image(clean, follow=False).kind == "symlink"
            self.notes.append(f"`{clean}` leads to `{real}`: that file is the one to be changed")
        return target

    def is_file(self, name: str) -> bool:
        """Whether a word of a response names a file that is there: by its path, or by its last part."""
        try:
            if self.workspace.image_kind(self.workspace.normalise(name)) == "file":
                return True
        except RegreenError:
            return False
        if "/" in name or not names_a_file(name):
            return False
        return any(path.rpartition("/")[2] == name for path in self._listed())

    def shows(self, code: Beside) -> bool:
        """Whether code that stands in a response is nothing but lines of the file that it names."""
        try:
            image = self.workspace.image(self.workspace.normalise(code.path)) if code.path else None
        except RegreenError:
            return False
        text = Text.decode(image.data) if image is not None and image.kind == "file" else None
        if not isinstance(text, Text):
            return False
        known = {line.strip() for line in text.text.split("\n")}
        return all(line.strip() in known or line.strip("#/*-. \t…") == "" for line in code.lines)

    def below_a_file(self, real: str) -> EditError | None:
        """Why nothing can be created at `real`: a folder on the way is a file, on disk or by an edit of this plan."""
        for folder in _folders(real):
            planned = self.by_real.get(folder)
            kind = self.workspace.image_kind(folder)
            if (planned is not None and planned.exists) or kind not in ("absent", "directory"):
                return EditError("path_invalid", f"`{real}`: `{folder}` is a file, not a folder", "use another path")
            if kind == "directory":
                break
        return None

    def _is_protected(self, path: str) -> bool:
        return self.workspace.protected(path) or (self.protected is not None and self.protected(path))

    def _stale(self, clean: str, path: str, image: FileImage) -> EditError | None:
        named = next((name for name in (clean, path, image.real) if name in self.expected), None)
        expected = self.expected[named] if named is not None else None
        self.unused.discard(named or "")
        if expected is None or expected.lower() == image.sha256:
            return None
        found = f"now {image.sha256}" if image.sha256 else "now it is gone"
        return EditError(
            "stale",
            f"`{clean}` is not the file that was read: expected sha256 {expected or 'none'}, {found}",
            f"read the file again and write the edits for it as it is now; {WHOLE}",
        )

    def missing(self, path: str, how: str) -> EditError:
        """The error for an edit of a file that does not exist, with paths that may have been meant.

        `how` tells the way to create a file in the edit's own format.
        """
        gone = self.by_real.get(path)
        if gone is not None and not gone.created:
            how = f"moved to `{gone.moved.path}`" if gone.moved is not None else "deleted"
            return EditError("file_not_found", f"`{path}` is {how} by an earlier edit of this response",
                             f"name the file where it is then, or put this edit before; {WHOLE}")  # fmt: skip
        similar = self._similar(path)
        hint = f"did you mean {' or '.join(f'`{printable(s)}`' for s in similar)}? " if similar else ""
        return EditError("file_not_found", f"`{path}` does not exist", f"{hint}give the path relative to the "
                         f"repository's root; to create a file, say so ({how}); {WHOLE}")  # fmt: skip

    def _similar(self, path: str) -> list[str]:
        """Up to three paths that may have been meant; only for the first few that are missing."""
        self._asked += 1
        if self._asked > _MAX_ASKED or len(path) > MAX_PATH:
            return []
        names = self._listed()
        base = path.rpartition("/")[2].lower()
        same = sorted(name for name in names if name.rpartition("/")[2].lower() == base)
        near = [name for name in names if abs(len(name) - len(path)) <= 3 and name[-2:] == path[-2:]]
        return list(dict.fromkeys([*same[:3], *get_close_matches(path, near[:_MAX_NEAR], 3, 0.8)]))[:3]

    def _listed(self) -> list[str]:
        if self._names is None:
            self._names = self._list()
        return self._names

    def _list(self) -> list[str]:
        asked = 0

        def skip(folder: str) -> bool:
            nonlocal asked
            asked += 1
            return asked > _MAX_SCANNED or folder.rpartition("/")[2] in _SKIPPED

        found = self.workspace.scan(skip=skip)
        return [path for path, entry in found.items() if entry.kind == "file"][:_MAX_SCANNED]


def _folders(path: str) -> list[str]:
    """The folders that hold a path, innermost first, without the root."""
    folders: list[str] = []
    while "/" in path:
        path = path.rpartition("/")[0]
        folders.append(path)
    return folders


def _protected(path: str) -> EditError:
    return EditError(
        "path_protected",
        f"`{path}` is protected: edits never write it",
        "leave this file as it is and solve it elsewhere; send the other edits again without it",
    )


def _refusal(path: str, image: FileImage) -> EditError | None:
    match image.kind:
        case "file" | "absent":
            return None
        case "symlink":
            return EditError("path_outside", f"`{path}` is a link that leaves the repository", "name a file inside it")
        case "directory":
            return EditError("path_invalid", f"`{path or '.'}` is a folder", "name a file")
        case _:
            return EditError("unsupported", f"`{path}` is no regular file", "name a regular file")


def _opened(path: str, image: FileImage) -> Target | EditError:
    if image.kind == "absent":
        return Target(path, image, Text(b"", "utf-8", ""), FileLines(Rows([], [])), exists=False)
    text = Text.decode(image.data)
    if isinstance(text, TextProblem):
        return EditError(text.kind, f"`{path}` {text.message}", "only text files can be edited; leave this edit out")
    rows = Rows.of(text.text)
    if len(rows) > MAX_LINES:
        return EditError("too_large", f"`{path}` has {len(rows)} lines; {MAX_LINES} are possible",
                         "work on a smaller file")  # fmt: skip
    return Target(path, image, text, FileLines(rows, text.text), exists=True, before=rows.part(0, len(rows)))
