"""Searching the text of a repository's files: which lines hold a text or match a regular expression.

The text searched is the text that `read_file` shows: decoded, without byte order mark, lines ended by LF. A file is
looked at in its raw bytes first and decoded only if that finds something. What is not searched is counted in the notes.
"""

from __future__ import annotations

import codecs
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from regreen.errors import EnvironmentFault, Refused, UsageError
from regreen.model import SearchMatch, SearchReport
from regreen.repo.files import FileList
from regreen.repo.searching.excerpts import Lines, cut, excerpt
from regreen.repo.searching.patterns import Pattern, compile_pattern
from regreen.repo.selecting import select
from regreen.wire import counted
from regreen.workspace import Text, TextProblem, Workspace, is_secret
from regreen.workspace.reading import Reader, Unread

if TYPE_CHECKING:
    from regreen.sandbox import Cancel

MAX_MATCHES = 20_000
MAX_CONTEXT = 10
BUDGET_S = 5.0
_NAMED = 10  # files named in a note
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class _Stopped(Exception):
    """The time is over, or the caller has cancelled."""


class _Span(NamedTuple):
    """A match and the lines it lies in, as offsets."""

    start: int
    line_start: int
    line_end: int


class _Watch:
    """Says when to stop."""

    def __init__(self, budget_s: float, cancel: Cancel | None) -> None:
        self.budget_s, self._cancel = budget_s, cancel
        self._end = time.monotonic() + budget_s
        self.why = ""

    def check(self) -> None:
        """Raises _Stopped if no more is to be done."""
        if self._cancel is not None and self._cancel.is_set():
            self.why = "cancelled"
        elif time.monotonic() >= self._end:
            self.why = f"stopped after {self.budget_s:g} s"
        if self.why:
            raise _Stopped


def search(
    workspace: Workspace,
    files: FileList,
    pattern: str,
    *,
    regex: bool = False,
    globs: Sequence[str] = (),
    context: int = 0,
    limit: int = 100,
    ignore_case: bool = False,
    budget_s: float = BUDGET_S,
    cancel: Cancel | None = None,
    mask: Callable[[str], str] | None = None,
) -> SearchReport:
    r"""The lines that match, by path and line, at most `limit` of them, each with up to `context` lines around it.

    Case counts unless `ignore_case`. `regex` is RE2's dialect: `\w`, `\d`, `\s` and `\b` know ASCII, `\p{L}` all
    letters; a match stays in its line unless the expression names line ends (`\n`, `(?s)`, `[\s\S]`). `globs` are
    files, folders and globs as `select` takes them; with a `!` in front they are left out.
    A line is a match once, at its first column; a match over several lines is one, at its first line. No line is shown
    twice: `before` begins after what is already shown, `after` ends before the next match.
    `mask` takes the secrets out of a text, line by line; what it takes out is not found.
    Ends with what it has, `truncated`, after `budget_s` or when cancelled. UsageError `invalid_arguments` for a
    pattern that cannot be searched for, `not_found` for a glob without files.
    """
    _check(context, limit)
    looked_for = compile_pattern(pattern, regex=regex, ignore_case=ignore_case)
    watch = _Watch(budget_s, cancel)
    paths, named = _chosen(workspace, files, globs)
    found = _Found(looked_for, context, limit, watch, mask)
    done = 0
    with Reader(workspace) as reader:
        try:
            for path in paths:
                watch.check()
                data = _named(workspace, path) if path in named else reader.read(path)
                found.look(path, data)
                done += 1
        except _Stopped:
            pass
    return found.report(done, len(paths), 0 if globs else len(files.links))


def _check(context: int, limit: int) -> None:
    if not 0 <= context <= MAX_CONTEXT:
        raise UsageError("invalid_arguments", f"context is {context}", f"give 0 to {MAX_CONTEXT} lines")
    if not 1 <= limit <= MAX_MATCHES:
        raise UsageError("invalid_arguments", f"limit is {limit}", f"give 1 to {MAX_MATCHES} matches")


def _chosen(workspace: Workspace, files: FileList, globs: Sequence[str]) -> tuple[Sequence[str], frozenset[str]]:
    """The paths to search, sorted, and those of them that are not in the listing."""
    wanted = [glob for glob in globs if not glob.startswith("!")]
    unwanted = [glob[1:] for glob in globs if glob.startswith("!")]
    paths: Sequence[str] = files.paths
    named: frozenset[str] = frozenset()
    if wanted:
        selected = select(workspace, files, wanted)
        paths, named = selected.paths, frozenset(path for path in selected.named if path not in files.sizes_bytes)
    left_out: set[str] = set()
    for glob in unwanted:
        try:
            left_out.update(select(workspace, files, [glob]).paths)
        except UsageError as e:
            if e.kind != "not_found":  # what is not there is left out already
                raise
    return ([path for path in paths if path not in left_out] if left_out else paths), named


def _named(workspace: Workspace, path: str) -> bytes | Unread:
    """A file that the caller named; unlike one of the listing it may be a link that stays inside."""
    try:
        image = workspace.image(path)
    except UsageError:
        return Unread.LARGE
    except Refused:
        return Unread.ODD
    except EnvironmentFault:
        return Unread.UNREADABLE
    if is_secret(path) or is_secret(image.real):
        return Unread.SECRET
    if image.kind != "file":
        return Unread.GONE if image.kind == "absent" else Unread.ODD
    return image.data


class _Found:
    """What has been found so far."""

    def __init__(
        self, pattern: Pattern, context: int, limit: int, watch: _Watch, mask: Callable[[str], str] | None
    ) -> None:
        self._pattern, self._context, self._limit, self._watch = pattern, context, limit, watch
        self._mask = mask
        self._matches: list[SearchMatch] = []
        self._unread: Counter[Unread] = Counter()
        self._matched = 0
        self._further: list[str] = []  # files with matches that are not shown, the first of them
        self._more = False
        self._long_lines = 0
        self._in_pieces = 0

    def look(self, path: str, data: bytes | Unread) -> None:
        """Search one file."""
        if not isinstance(data, Unread):
            data = text_to_search(data, self._pattern)
        if isinstance(data, Unread):
            self._unread[data] += 1
            return
        if not data:
            return
        if self._mask is not None and next(self._spans(data), None) is not None:
            data = self._mask(data.decode("utf-8", "replace")).encode("utf-8", "replace")
        room = self._limit - len(self._matches)
        spans: list[_Span] = []
        try:
            for span in self._spans(data):
                spans.append(span)
                if len(spans) > room:
                    break
        finally:
            if spans:
                self._matched += 1
                self._take(path, data, spans, room)

    def _take(self, path: str, data: bytes, spans: list[_Span], room: int) -> None:
        self._matches.extend(_matches(path, data, spans[:room], self._context))
        if len(spans) > room:
            self._more = True
            if not room and len(self._further) < _NAMED:
                self._further.append(path)

    def _spans(self, data: bytes) -> Iterator[_Span]:
        lines = Lines(data)
        size = len(data)
        ends = data.endswith(b"\n")
        at = 0
        for start, end in self._pieces(data):
            at = max(at, start)
            while at < end:
                found = self._pattern.find(data, at, end)
                if found is None or (found[0] >= end and (end < size or ends)):  # that is where the next line begins
                    break
                line_end = lines.end(found[0])
                last = line_end if found[1] <= line_end + 1 else lines.end(found[1] - 1)
                yield _Span(found[0], lines.start(found[0]), last)
                self._watch.check()
                at = max(line_end + 1, found[1])

    def _pieces(self, data: bytes) -> Iterator[tuple[int, int]]:
        """What may be given to the engine at once: all of it, or runs of whole lines, or the start of a long line."""
        size, most = len(data), self._pattern.piece_bytes
        start = 0
        if size > most and self._pattern.spans_lines:
            self._in_pieces += 1
        while start < size:
            end = size
            next_start = size
            if size - start > most:
                end = next_start = data.rfind(b"\n", start, start + most) + 1
                if not end:
                    end = start + most
                    next_start = data.find(b"\n", end) + 1 or size
                    self._long_lines += 1
            yield start, end
            self._watch.check()
            start = next_start

    def report(self, done: int, total: int, links: int) -> SearchReport:
        """All of it, `done` of `total` files having been looked at, and `links` having been left alone."""
        searched = done - self._unread.total()
        self._unread[Unread.ODD] += links
        notes = self._notes(done, total)
        truncated = self._more or bool(self._watch.why)
        return SearchReport(tuple(self._matches), truncated, searched, self._matched, tuple(notes))

    def _notes(self, done: int, total: int) -> Iterator[str]:
        if why := self._watch.why:
            yield f"{why}: {done} of {total} files were looked at; name folders or globs for the rest"
        if self._more:
            where = f"; also in {_and_more(self._further, self._matched)}" if self._further else ""
            yield f"limit reached, matches shown: {len(self._matches)}{where}"
        if counts := sorted((+self._unread).items(), key=lambda item: (-item[1], item[0])):
            yield "not searched: " + ", ".join(f"{count} {reason}" for reason, count in counts)
        if self._long_lines:
            yield f"{_lines(self._long_lines)} searched at the start only: too long for so large a pattern"
        if self._in_pieces:
            yield f"large files searched in parts, a match across parts is not found: {self._in_pieces}"
        if not self._matched and not why:
            yield from self._pattern.doubts


def _lines(count: int) -> str:
    return counted(count, "line was", "lines were")


def _and_more(names: Sequence[str], matched: int) -> str:
    shown = ", ".join(names)
    return f"{shown} and others ({matched} files match in all)" if len(names) == _NAMED else shown


def text_to_search(data: bytes, pattern: Pattern) -> bytes | Unread:
    """The file's text as UTF-8 with LF ends; b"" if a look at the raw bytes shows that nothing can match."""
    if data[:2] not in _WIDE:
        if b"\0" in data:
            return Unread.BINARY
        needle = pattern.needle
        if needle and needle not in data and (needle.isascii() or not _names_encoding(data)):
            return b""
        if not _names_encoding(data):
            return _utf8(data.removeprefix(codecs.BOM_UTF8))
    text = Text.decode(data)
    if isinstance(text, TextProblem):
        return Unread.BINARY if text.kind == "binary" else Unread.ENCODING
    return _utf8(text.text.encode("utf-8", "surrogateescape" if text.raw else "replace"))


def _names_encoding(data: bytes) -> bool:
    """Whether one of the first two lines may name an encoding."""
    return b"coding" in data[: data.find(b"\n", data.find(b"\n") + 1) if b"\n" in data else None]


def _utf8(data: bytes) -> bytes:
    """With LF ends, and what is not UTF-8 replaced as it is when shown."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if data.isascii():
        return data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


def _matches(path: str, data: bytes, spans: Iterable[_Span], context: int) -> Iterator[SearchMatch]:
    """The matches of one file; the lines around them are shared out so that each is shown once."""
    lines = Lines(data)
    spans = list(spans)
    shown = 0  # up to where lines are shown
    for i, span in enumerate(spans):
        following = spans[i + 1].line_start if i + 1 < len(spans) else len(data)
        before = _before(data, min(shown, span.line_start), span.line_start, context)
        after, shown = _after(data, span.line_end + 1, following, context)
        column, text = excerpt(data, span.line_start, span.start, span.line_end)
        yield SearchMatch(path, lines.number(span.line_start), column, text, before, after)


def _before(data: bytes, first: int, line_start: int, context: int) -> tuple[str, ...]:
    lines: list[str] = []
    while len(lines) < context and line_start > first:
        end = line_start - 1
        line_start = data.rfind(b"\n", 0, end) + 1
        lines.append(cut(data, line_start, end))
    return tuple(reversed(lines))


def _after(data: bytes, start: int, following: int, context: int) -> tuple[tuple[str, ...], int]:
    lines: list[str] = []
    while len(lines) < context and start < following:
        end = data.find(b"\n", start)
        end = end if end >= 0 else len(data)
        lines.append(cut(data, start, end))
        start = end + 1
    return tuple(lines), start
