"""Cuts a response into the file sections and hunks of its unified diff, whatever the numbers in `@@` lines say.

    ```diff
    --- a/path
    +++ b/path
    @@ ... @@
     a line that stays
    -a line that goes
    +a line that comes
    ```

Rule: a hunk's extent is told by its lines. The counts of its header are asked only where its lines can be read in two
ways, and whether something is missing: behind a hunk with less lines than declared nothing may stand but the next file.
What stands outside of sections and looks like a part of one is a parse error, and so is a response that was cut off.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from regreen.edits.diff_headers import (
    HUNK,
    NEW,
    OLD,
    anchor_of,
    begins_section,
    line_at,
    read_headers,
    refuse_unsupported,
    stray_header,
)
from regreen.edits.diff_paths import Headers, Subject, subject_of
from regreen.edits.fences import Fence, fence_of
from regreen.edits.operations import is_blank
from regreen.edits.parsed import EDIT_WAS_HERE, Unreadable, quoted

SHAPE = (
    "send the whole response again; the change of a file is: `--- a/path`, `+++ b/path`, then hunks, each of a line "
    "`@@ ... @@` and lines that begin with a blank (stays), `-` (goes) or `+` (comes)"
)
_COUNTS = re.compile(r"@@\s*-\d{1,9}(?:,(\d{1,9}))?\s+\+\d{1,9}(?:,(\d{1,9}))?(?=\s|@@|$)")
_PREFIXED_NEW = re.compile(r"\+\+\+ (?:[abciow12]/|/dev/null|\"[abciow12]/)")
_DIFF_FENCES = frozenset({"diff", "patch", "udiff", "unified_diff", "unified-diff", "gitdiff", "git-diff"})
_VERSION = re.compile(r"\d{1,9}\.\d{1,9}")
_LOOSE = re.compile(r"(?!->)[+-](?:[^\s+-]|[ \t]{2,}\S|\t|$)|\+-|-\+|\+\+[^+\s]|--[^->\s]")
_BETWEEN = re.compile(r"Index: \S|={10,}$|diff -")
_ONLY = re.compile(r"Only in \S")
_BEGUN = ("-", "--", "---", "--- ")  # how a `---` header begins
_LEFT = (
    "begin every line that stays with a blank, also one that looks like a code fence; if the counts in the `@@` line "
    f"are wrong, write `@@ ... @@` instead; {SHAPE}"
)
_APART = f"leave an empty line before prose, or put the diff into a code fence; {SHAPE}"
_CUT_OFF = f"it may have been cut off; {SHAPE}"


@dataclass(slots=True)
class Hunk:
    """The lines below one `@@` line (number `line`), with their signs; `crlf` tells that the `@@` line ends with CR.

    `anchor` is a line that the `@@` line names; empty if it names none.
    """

    line: int
    crlf: bool
    raw: list[str] = field(default_factory=list[str])
    anchor: str = ""

    def bodies(self, *, literal: bool = False) -> list[str]:
        """The lines without line ends; `literal` keeps a CR that is the file's own, not the response's."""
        cut = not literal or self.crlf
        rows = [row[:-1] if cut and row.endswith("\r") else row for row in self.raw]
        return [row if row and row != "\r" else " " + row for row in rows]


@dataclass(slots=True)
class Section:
    """One file's part of a diff. `complete` is False if the response cannot be read on within it."""

    line: int
    subject: Subject
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    complete: bool = False


@dataclass(slots=True)
class _Open:
    """An open code fence, line number `line`, and `at` in `rest`. `before` is the number of sections that stand above
    it; `strict` says that only a diff may go on in it; `stray` that it may be the end of a fence which never began."""

    fence: Fence
    line: int
    at: int
    before: int
    of_diff: bool
    stray: bool
    filled: bool = False
    strict: bool = False


@dataclass(slots=True)
class _Behind:
    """What stands between the last section and here."""

    loose: bool = False  # whether lines with `+` or `-` here would be the remains of a hunk
    near: bool = False  # whether no empty line stands between, nor the end of the section's fence
    direct: bool = False  # whether nothing stands between, not even a fence line
    closed: bool = False  # whether the fence of the section was closed, and no empty line stands since
    fenced: bool = False  # whether the section stands in a code fence
    shut: bool = False  # whether that fence was closed
    short: bool = False  # whether its last hunk has less lines than its header declares
    owed: int = 0  # the number of a line that only another section may follow


class Recount:
    """Reads a response once, from the first line to the last."""

    def __init__(self, text: str) -> None:
        self.raw = text.removeprefix("\ufeff").split("\n")
        self._ended = not self.raw[-1]
        if self._ended:
            self.raw.pop()  # what stands behind the last line end is no line
        self.lines = [line[:-1] if line.endswith("\r") else line for line in self.raw]
        self.at = 0
        self.sections: list[Section] = []
        self.rest: list[str] = []
        self._fences: list[_Open] = []
        self._behind = _Behind()

    def read(self) -> None:
        """Fill `sections` and `rest`. Raises Unreadable at the first place that is not clear."""
        while self.at < len(self.lines):
            if begins_section(self.lines, self.at):
                self._section()
            elif self._may_be_signed() and self._is_signature(self.at):
                self._skip_signature()
            else:
                self._outside(self.lines[self.at])
        self._check_end()

    def _check_end(self) -> None:
        """Refuse a response that ends where more must follow."""
        for fence in self._fences:
            self._check_fence(fence)
        if self._behind.owed:
            raise Unreadable(f"the response ends behind line {self._behind.owed}, where the change of another file "
                             "should follow", _CUT_OFF)  # fmt: skip
        for fence in self._fences:
            if self._holds_diff(fence) or (self.sections and not fence.stray):
                raise Unreadable(f"the response ends within a code fence, which begins at line {fence.line}", _CUT_OFF)
            self.rest[fence.at] = ""
        if self._behind.short and not self._behind.fenced and not self._ended:
            raise Unreadable("the response ends without a line end, and its last hunk has less lines than its header "
                             "declares", _CUT_OFF)  # fmt: skip

    def _outside(self, line: str) -> None:
        behind = self._behind
        if line:
            self._check_outside(line)
        else:
            behind.loose = behind.loose and not behind.closed
            behind.near = behind.direct = behind.closed = False
        self.rest.append(line)
        self.at += 1

    def _check_outside(self, line: str) -> None:
        refuse_unsupported(line, self.at + 1)
        if self._took_fence(line):
            return
        wrong, hint = stray_header(self.lines, self.at), SHAPE
        if not wrong and not is_blank(line):
            wrong, hint = self._leftover(line)
        if wrong:
            raise Unreadable(f"line {self.at + 1} of the response is {wrong}: {quoted(line)}", hint)
        if self._fences and line.strip():
            self._fences[-1].filled = True

    def _took_fence(self, line: str) -> bool:
        """Whether the line is a code fence; opens or closes it."""
        fence = fence_of(line)
        if fence is None or fence.deep:
            return False
        inner, behind = self._fences[-1] if self._fences else None, self._behind
        if inner and not fence.info and fence.rivals(inner.fence):
            self._fences.pop()
            self._check_fence(inner)
            used = self._holds_diff(inner)
            behind.closed = behind.closed or used
            behind.shut = behind.shut or used
            behind.near = behind.near and not used
        elif (inner and inner.strict) or (behind.short and behind.shut and line[0] == " "):  # or a row of that hunk
            return False
        else:
            language = fence.info.partition(" ")[0].lower()
            stray = not fence.info and behind.direct and not behind.fenced
            place = (self.at + 1, len(self.rest), len(self.sections))
            self._fences.append(_Open(fence, *place, language in _DIFF_FENCES, stray))
            behind.owed = behind.owed or (self.at + 1 if behind.short and not behind.shut else 0)
        behind.direct = False
        return True

    def _holds_diff(self, fence: _Open) -> bool:
        return len(self.sections) > fence.before

    def _check_fence(self, fence: _Open) -> None:
        """Called at its end."""
        if fence.of_diff and fence.filled and not self._holds_diff(fence):
            raise Unreadable(f"the code fence for a diff at line {fence.line} of the response names no file", SHAPE)

    def _leftover(self, line: str) -> tuple[str, str]:
        """What is wrong with a line that stands in no hunk, but where the lines of one could be; and a hint."""
        behind, strict = self._behind, bool(self._fences) and self._fences[-1].strict
        if (strict or behind.short or behind.direct) and self._is_between(line):
            return "", ""
        if behind.owed:
            return f"behind line {behind.owed}, where the change of another file should follow", _LEFT
        if strict:
            return ("within the diff, but begins with none of blank, `+`, `-` (a line that stays begins with a blank)",
                    SHAPE)  # fmt: skip
        if behind.short and (not behind.shut or line[0] in " +-"):  # a closed fence, and then prose: badly counted
            return "behind a hunk that has less lines than its header declares", _LEFT
        if self._is_like_a_row(line):
            return ("outside of any hunk, but looks like a line of one (has a line above it lost its leading blank?)",
                    SHAPE)  # fmt: skip
        if behind.direct:
            return "directly behind the change of a file, and begins with none of blank, `+`, `-`", _APART
        return "", ""

    def _is_between(self, line: str) -> bool:
        """Whether other tools than git write the line between the changes of two files."""
        if _BETWEEN.match(line):
            self._behind.owed = self.at + 1
            return True
        return _ONLY.match(line) is not None and not self._behind.short and not self._behind.owed

    def _is_like_a_row(self, line: str) -> bool:
        inner = self._fences[-1] if self._fences else None
        loose = self._behind.loose or (inner is not None and inner.of_diff and not self._holds_diff(inner))
        pair = loose and line.startswith("-") and line_at(self.lines, self.at + 1).startswith("+")
        near = self._behind.near and line.startswith(("+", "-"))
        return bool(pair or near or (loose and _LOOSE.match(line)))

    def _section(self) -> None:
        headers, at = read_headers(self.lines, self.at)
        section = Section(headers.line, subject_of(headers))
        self.sections.append(section)
        self.rest.append(EDIT_WAS_HERE)
        self._behind = _Behind(loose=True, near=True, direct=True, fenced=bool(self._fences))
        self.at = at
        while not line_at(self.lines, at) and at < len(self.lines):
            at += 1
        if HUNK.match(line_at(self.lines, at)):
            self.at = at
        while HUNK.match(line_at(self.lines, self.at)):
            section.hunks.append(self._hunk(headers))
            refuse_unsupported(line_at(self.lines, self.at), self.at + 1)
        if not section.hunks and not _may_lack_hunks(headers):
            raise Unreadable(f"the file section at line {headers.line} of the response has headers without hunk",
                             f"the response may have been cut off; {SHAPE}")  # fmt: skip
        section.complete = True
        if self._fences:
            self._fences[-1].strict = True

    def _skip_signature(self) -> None:
        """Behind the signature of a mailed patch, everything up to the next section is prose."""
        self._behind = _Behind(fenced=self._behind.fenced)
        self.rest += self.lines[self.at : self.at + 2]
        self.at += 2
        if self._fences:
            self._fences[-1].strict = False

    def _may_be_signed(self) -> bool:
        return self._behind.loose and not self._behind.short and not self._behind.owed

    def _is_signature(self, at: int) -> bool:
        return self.lines[at : at + 1] in (["-- "], ["--"]) and bool(_VERSION.match(line_at(self.lines, at + 1)))

    def _hunk(self, headers: Headers) -> Hunk:
        """The hunk whose `@@` line is the current one."""
        start = self.at
        count = _Count.of(self.lines[start])
        at = start + 1
        while at < len(self.lines):
            line = self.lines[at]
            if not line:
                count.pending += 1
            elif line[0] == "\\":
                if not line.startswith("\\ "):
                    raise Unreadable(f"line {at + 1} of the response begins with `\\` but is no end-of-file marker: "
                                     f"{quoted(line)}", SHAPE)  # fmt: skip
                count.take_pending()
            elif line[0] not in " +-" or self._ends_hunk(at, count, headers):
                break
            else:
                count.take(line[0])
            at += 1
        end = at - count.pending + count.kept()
        if end == start + 1:
            raise Unreadable(f"the hunk at line {start + 1} of the response has no lines", SHAPE)
        if at == len(self.lines) and self.lines[-1] in _BEGUN and not self._ended and not count.fulfilled():
            raise Unreadable(f"the response ends with what may be the beginning of a header: {quoted(self.lines[-1])}",
                             _CUT_OFF)  # fmt: skip
        self._behind.short = count.short()
        self._behind.direct = not count.kept()
        self.at = at if HUNK.match(line_at(self.lines, at)) else end
        return Hunk(start + 1, self.raw[start].endswith("\r"), self.raw[start + 1 : end],
                    anchor_of(self.lines[start]))  # fmt: skip

    def _ends_hunk(self, at: int, count: _Count, headers: Headers) -> bool:
        """Whether a line that could be one of the hunk begins something else."""
        line, after = self.lines[at], line_at(self.lines, at + 1)
        if OLD.match(line):
            if NEW.match(after) and HUNK.match(line_at(self.lines, at + 2)):
                return not count.fulfilled_with(1, 1)
            cut_off = NEW.match(after) and line_at(self.lines, at + 2)[:1] in ("", "`", "~")
            return bool(cut_off or HUNK.match(after)) and count.fulfilled()
        if NEW.match(line) and HUNK.match(after):
            return self._begins_headless(at, count, headers)
        return self._is_signature(at) and not count.fulfilled_with(1, 0)

    def _begins_headless(self, at: int, count: _Count, headers: Headers) -> bool:
        """Whether a `+++` line in a hunk, a hunk behind it, names the next file: its `---` line is missing then."""
        if count.fulfilled_with(0, 1):
            return False
        if count.fulfilled() or headers.old is None or _PREFIXED_NEW.match(self.lines[at]):
            return True
        raise Unreadable(
            f"line {at + 1} of the response may be a file header without `---` line, or an added line: "
            f"{quoted(self.lines[at])}",
            SHAPE,
        )


def _may_lack_hunks(headers: Headers) -> bool:
    """Whether the headers say all: git leaves `---` and `+++` out where no hunk follows."""
    whole = headers.created or headers.deleted or headers.renamed_to is not None
    return whole and headers.old is None and headers.new is None


@dataclass(slots=True)
class _Count:
    """How many lines a hunk has so far on each side, and how many its header declares (None: it does not)."""

    declared: tuple[int, int] | None
    old: int = 0
    new: int = 0
    pending: int = 0  # empty lines at the end so far: lines that stay, if more of the hunk follows

    @classmethod
    def of(cls, header: str) -> _Count:
        found = _COUNTS.match(header)
        return cls(None if found is None else (int(found[1] or 1), int(found[2] or 1)))

    def take_pending(self) -> None:
        self.old += self.pending
        self.new += self.pending
        self.pending = 0

    def take(self, sign: str) -> None:
        self.take_pending()
        self.old += sign != "+"
        self.new += sign != "-"

    def kept(self) -> int:
        """How many of the empty lines at the end fulfil what is declared; 0 if that cannot be."""
        if self.declared is None:
            return 0
        more = self.declared[0] - self.old
        return more if 0 <= more <= self.pending and self.new + more == self.declared[1] else 0

    def short(self) -> bool:
        """Whether more is declared than there is, on either side."""
        kept = self.kept()
        return self.declared is not None and (self.declared[0] > self.old + kept or self.declared[1] > self.new + kept)

    def fulfilled(self) -> bool:
        return self.declared is not None and self.declared == (self.old + self.kept(), self.new + self.kept())

    def fulfilled_with(self, old: int, new: int) -> bool:
        """Whether the hunk is as declared if so many lines more belong to it."""
        return self.declared == (self.old + self.pending + old, self.new + self.pending + new)
