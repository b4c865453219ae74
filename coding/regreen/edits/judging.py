"""Decides what one edit does to the file that it names: an effect, or the error that says why not. Writes nothing.

Rule: one function per kind of operation and one row in the `match`. Whether a file may be touched at all has been
decided by `Targets`; what the lines say is decided by `placing` and `substring`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from regreen.edits.closest import Work
from regreen.edits.elision import placeholder
from regreen.edits.explain import (
    WHOLE,
    already_applied,
    both_insert,
    elsewhere,
    no_match,
    not_all,
    only_written,
    outdated,
    overtaken,
    several_numberings,
)
from regreen.edits.ladder import find
from regreen.edits.naming import named
from regreen.edits.operations import (
    CreateFile,
    DeleteFile,
    FillFile,
    InsertLines,
    MoveFile,
    Operation,
    ReplaceFile,
    ReplaceLines,
    ReplaceText,
    is_blank,
    lines_of,
)
from regreen.edits.placing import Placed, insertions, place, place_insertion, standing
from regreen.edits.substring import place_text
from regreen.edits.target import Target, Targets
from regreen.model import EditError
from regreen.redact import MASK

_MARK = "\ufeff"
_MAX_MENTIONS = 200  # words of the text between two blocks
_EMPTY_SEARCH = "leave SEARCH empty"
_ADDED = "add it in the form for a new file"
_CREATE = "use the command `create`"


@dataclass(frozen=True, slots=True)
class Placement:
    """Lines are replaced at these places of the file as it is before the edit, in order."""

    places: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class NewContent:
    """A file that is missing or empty gets this text."""

    text: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """The file goes."""


@dataclass(frozen=True, slots=True)
class Move:
    """The file goes to where `to` is."""

    to: Target


Effect: TypeAlias = Placement | NewContent | Deletion | Move


@dataclass(slots=True)
class Judge:
    """Judges the edits of one plan, in order. `strict` allows exact matches only; `max_chars` bounds a file."""

    targets: Targets
    strict: bool = False
    max_chars: int = 8 << 20
    work: Work = field(default_factory=Work)

    def judge(self, target: Target, edit: Operation) -> Effect | EditError:
        """What the edit does to `target` as the edits before it leave it."""
        verdict = self._other_meant(edit) or _masked(target, edit) or self._judge(target, edit)
        if isinstance(verdict, EditError):
            target.failed.update(_wanted(edit))
            verdict = named(verdict, edit)
        if target.stale is None:
            return verdict
        return verdict if _found_by_text(edit, verdict) else outdated(target.stale, verdict)

    def _judge(self, target: Target, edit: Operation) -> Effect | EditError:
        match edit:
            case ReplaceLines():
                return self._replace_lines(target, edit)
            case ReplaceText():
                return self._replace_text(target, edit)
            case FillFile():
                return _fill(target, edit)
            case InsertLines():
                return self._insert(target, edit)
            case CreateFile():
                return _create(target, edit)
            case ReplaceFile():
                return _replace_file(target, edit)
            case DeleteFile():
                return self._delete(target, edit)
            case MoveFile():
                return self._move(target, edit)

    def _other_meant(self, edit: Operation) -> EditError | None:
        """Refuse a block that took its path from the one before, where the text in between names another file."""
        names = edit.mentions if isinstance(edit, ReplaceLines | FillFile) else ()
        for name in names[:_MAX_MENTIONS]:
            if not f"/{edit.path}".endswith(f"/{name}") and self.targets.is_file(name):
                return EditError(
                    "parse",
                    f"it is not clear which file this block is for: the text above mentions `{name}`, the block before "
                    f"was for `{edit.path}`",
                    f"put the path alone on the line above each block; {WHOLE}",
                )
        return None

    def _replace_lines(self, target: Target, edit: ReplaceLines) -> Effect | EditError:
        elided = _elided(target, edit.search, edit.replace)
        if elided is not None:
            return elided
        if not target.exists and edit.may_create:
            return NewContent(_text(edit))
        if not target.exists:
            return self.targets.missing(target.path, _ADDED if edit.as_on_disk else _EMPTY_SEARCH)
        if not edit.search and not edit.anchors and not len(target.lines):
            return NewContent(_text(edit))
        target.lines.eol = target.lines.eol or edit.eol
        if target.created and target.source is None:
            edit = replace(edit, as_on_disk=False)
        edit = _without_mark(target, replace(edit, path=target.path))
        on_disk = edit.as_on_disk and bool(target.lines.blocks)
        placed = place(target.original() if on_disk else target.lines, edit, strict=self.strict)
        if isinstance(placed, Placed):
            moved = _moved(target, placed) if on_disk else placed
            return moved if isinstance(moved, EditError) else Placement((moved,))
        return placed if placed is not None else self._unplaced(target, edit)

    def _unplaced(self, target: Target, edit: ReplaceLines) -> EditError:
        before = target.overtaken(edit.search)
        if before is not None:
            return overtaken(target.path, *before)
        at = self._applied_at(target, edit)
        if at is not None:
            return already_applied(target.path, target.lines.origin_of(at))
        written = find(target.lines, edit.search, (), strict=True) if edit.as_on_disk and target.lines.blocks else None
        if written is not None:
            start = written.fits[0].start
            return only_written(target.path, target.lines.written_by(start, start + len(edit.search)))
        if edit.anchors or edit.at_end:
            found = find(target.lines, edit.search, (), strict=True)
            origins = [target.lines.origin_of(fit.start) for fit in found.fits] if found is not None else []
            if any(origins):
                wanted = f"in what `@@ {edit.anchors[-1].strip()[:80]}` heads" if edit.anchors else "at the end"
                return elsewhere(target.path, origins, wanted)
        return self._nowhere(target, edit.search)

    def _applied_at(self, target: Target, edit: ReplaceLines) -> int | None:
        """Where REPLACE stands, if SEARCH would be looked for there: not merely some line like it somewhere."""
        at = standing(target.lines, edit)
        if at is None:
            return None
        near = target.near()
        window = near.closest(edit.search, self.work) if near is not None else None
        first = target.lines.origin_of(at) - 1
        overlaps = window is None or first < 0 or (first < window[1] and window[0] < first + len(edit.replace))
        return at if overlaps else None

    def _nowhere(self, target: Target, search: tuple[str, ...]) -> EditError:
        waits = any(body in target.failed for body in search if not is_blank(body))
        note = "an earlier edit of this response that would have written these lines does not fit either"
        return no_match(target.path, search, target.near(), self.work, note=note if waits else "")

    def _replace_text(self, target: Target, edit: ReplaceText) -> Effect | EditError:
        search = lines_of(edit.old)
        elided = _elided(target, search, lines_of(edit.new)) if edit.old else None
        if elided is not None:
            return elided
        if not target.exists:
            return self.targets.missing(target.path, _CREATE)
        if not edit.old:
            empty = not len(target.lines)
            return NewContent(edit.new) if empty else _empty_search(target, "old_str is empty", "old_str")
        placed = place_text(target.lines, replace(edit, path=target.path), self.max_chars)
        if placed is not None:
            return placed if isinstance(placed, EditError) else Placement(placed)
        before = target.overtaken(search)
        return overtaken(target.path, *before) if before is not None else self._nowhere(target, search)

    def _insert(self, target: Target, edit: InsertLines) -> Effect | EditError:
        if not target.exists:
            return self.targets.missing(target.path, _CREATE)
        elided = _elided(target, (), lines_of(edit.text))
        if elided is not None:
            return elided
        rows = target.lines.rows
        if edit.line > max(len(rows), len(target.before)):
            count = f"{len(rows)} line{'s' if len(rows) != 1 else ''}"
            return EditError("range", f"`{target.path}`: insert_line is {edit.line}, but the file has {count}",
                             f"give a number from 0 (before the first line) to {len(rows)}; {WHOLE}")  # fmt: skip
        if not target.created and (not _is_line(target, edit.line) or target.lines.added_by(edit.line)):
            return several_numberings(target.path, edit.line)
        placed = place_insertion(target.lines, replace(edit, path=target.path))
        return placed if isinstance(placed, EditError) else Placement((placed,))

    def _delete(self, target: Target, edit: DeleteFile) -> Effect | EditError:
        refused = self._unmovable(target, edit.path)
        if refused is not None:
            return refused
        wanted = list(edit.lines or ())
        if target.text.bom and wanted:
            wanted[0] = wanted[0].removeprefix(_MARK)
        if edit.lines is not None and target.lines.rows.bodies != wanted:
            return not_all(target.path, wanted, target.lines.rows.bodies)
        return Deletion()

    def _move(self, target: Target, edit: MoveFile) -> Effect | EditError:
        refused = self._unmovable(target, edit.path)
        if refused is not None:
            return refused
        to = self.targets.open(edit.to)
        if isinstance(to, EditError):
            return to
        if to.exists or not to.created:
            return EditError("file_exists", f"`{edit.to}` exists already, so `{target.path}` cannot be moved there",
                             f"use another path; {WHOLE}")  # fmt: skip
        return self.targets.below_a_file(to.path) or Move(to)

    def _unmovable(self, target: Target, path: str) -> EditError | None:
        if not target.exists:
            return self.targets.missing(target.path, _ADDED)
        if target.is_link:
            return EditError("unsupported", f"`{path}` is a link to `{target.path}`; links are not deleted or moved",
                             f"name `{target.path}` itself, or leave the edit out; {WHOLE}")  # fmt: skip
        return None


def _is_line(target: Target, number: int) -> bool:
    """Whether the line of this number now is the one that has it on disk."""
    return number == 0 or (number <= len(target.lines) and target.lines.origin_of(number - 1) == number)


def _moved(target: Target, placed: Placed) -> Placed | EditError:
    """A place in the file on disk as a place in the file as the edits so far leave it."""
    by = target.lines.changed_by(placed.start, placed.end)
    if by:
        return overtaken(target.path, placed.start + 1, placed.end, by)
    for point in insertions(placed):
        by = target.lines.added_by(point)
        if by:
            return both_insert(target.path, point + 1, by)
    return replace(placed, start=target.lines.position_of(placed.start))


def _without_mark(target: Target, edit: ReplaceLines) -> ReplaceLines:
    """The edit without the byte order mark that the first line of a diff shows: it is no part of the line."""
    if not target.text.bom or not edit.search or not edit.search[0].startswith(_MARK):
        return edit
    search, new = ((rows[0].removeprefix(_MARK), *rows[1:]) if rows else () for rows in (edit.search, edit.replace))
    return replace(edit, search=search, replace=new)


def _masked(target: Target, edit: Operation) -> EditError | None:
    """Refuse to write the mask of a secret, as a reader shows it, in the place of the secret itself."""
    found = {mask for line in _wanted(edit) for mask in MASK.findall(line)} if target.exists else set[str]()
    new = sorted(found - set(MASK.findall(target.lines.text)) if found else ())
    if not new:
        return None
    return EditError("elision", f"`{target.path}`: the new text holds {new[0]}, the mask of a secret that was left out "
                     "when the file was read: the secret itself would be lost",
                     f"leave such lines out of the edit, as they are; {WHOLE}")  # fmt: skip


def _fill(target: Target, edit: FillFile) -> Effect | EditError:
    new = lines_of(edit.text)
    elided = _elided(target, (), new)
    if elided is not None:
        return elided
    if not target.exists or not len(target.lines):
        return NewContent(edit.text)
    if target.lines.rows.bodies == list(new):
        return already_applied(target.path, 1)
    return _empty_search(target, "SEARCH holds blank lines only" if edit.blank else "SEARCH is empty", "SEARCH")


def _create(target: Target, edit: CreateFile) -> Effect | EditError:
    elided = _elided(target, (), lines_of(edit.text))
    if elided is not None:
        return elided
    if not target.exists:
        return NewContent(edit.text)
    if len(target.lines) and target.lines.rows.text == edit.text:
        return already_applied(target.path, 1)
    return EditError("file_exists", f"`{target.path}` exists already, and a new file is never written over another",
                     f"edit its lines, or use another path; {WHOLE}")  # fmt: skip


def _replace_file(target: Target, edit: ReplaceFile) -> Effect | EditError:
    new = lines_of(edit.text)
    old = tuple(target.lines.rows.bodies) if target.exists else ()
    elided = _elided(target, old, new)
    if elided is not None:
        return elided
    if not target.exists:
        return NewContent(edit.text)
    if target.stale is not None:
        return target.stale
    if not target.confirmed:
        return EditError("file_exists", f"`{target.path}` exists; it is replaced as a whole only with the hash of what "
                         "was read, so that nothing is lost that you have not seen",
                         "read the file, give its sha256 as expected_sha256 of this path, send it again")  # fmt: skip
    return Placement((Placed("exact", 0, old, new, new),))


def _elided(target: Target, search: Sequence[str], new: Sequence[str]) -> EditError | None:
    left_out = placeholder(search, new)
    if not left_out:
        return None
    return EditError("elision", f"`{target.path}`: the new text holds the placeholder {left_out[:80]!r}, which what it "
                     "replaces does not: the code it stands for would be deleted",
                     f"write out every line, or replace less; {WHOLE}")  # fmt: skip


def _empty_search(target: Target, what: str, name: str) -> EditError:
    return EditError("empty_search", f"`{target.path}`: {what}, but the file exists and is not empty",
                     f"to change it, put the text to be replaced into {name}; to add lines, put a neighbouring line "
                     f"into both sides; {WHOLE}")  # fmt: skip


def _text(edit: ReplaceLines) -> str:
    """The lines of REPLACE as all that a file holds."""
    lines = edit.replace
    return edit.eol.join(lines) + (edit.eol if lines and not edit.open_end else "")


def _wanted(edit: Operation) -> tuple[str, ...]:
    """The lines that an edit would have written, had it fitted."""
    match edit:
        case ReplaceLines():
            return edit.replace
        case ReplaceText():
            return lines_of(edit.new)
        case DeleteFile() | MoveFile():
            return ()
        case _:
            return lines_of(edit.text)


def _found_by_text(edit: Operation, verdict: Effect | EditError) -> bool:
    """Whether the edit says by its own text, to the letter, what it changes: then changes elsewhere do not matter."""
    if isinstance(verdict, EditError):
        return verdict.kind not in ("no_match", "ambiguous", "range")  # the others hold whatever was read
    if isinstance(edit, ReplaceLines | ReplaceText):
        named = bool(edit.search) if isinstance(edit, ReplaceLines) else not edit.everywhere
        return named and isinstance(verdict, Placement) and all(placed.level == "exact" for placed in verdict.places)
    return isinstance(edit, DeleteFile) and edit.lines is not None
