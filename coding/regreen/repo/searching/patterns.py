"""What a search looks for: literal text, or a regular expression in RE2's dialect, which is matched in linear time.

Patterns look at UTF-8 bytes whose lines end in LF. A regular expression stays within a line unless it speaks of line
ends itself. An error says what is not understood, where, and what to write instead.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from regreen.errors import EnvironmentFault, UsageError

MAX_LITERAL = 10_000  # characters
MAX_REGEX = 2000
_MAX_PROGRAM = 40_000  # instructions; what is larger takes seconds for a file
_WORK = 100_000_000  # instructions times bytes in one call of the engine: half a second at the worst
_LOOKED_AT = 200  # characters, for whether text is meant as a regular expression
_ANY_SIZE = 1 << 62  # what looks for plain text needs no bounds
_MEMORY_BYTES = 8 << 20  # of the engine, for a pattern

_CROSSES_LINES = re.compile(
    r"(?<!\\)(?:\\\\)*\\n|\n|\(\?[A-Za-z]*s[A-Za-z]*[:)]|\[\\s\\S\]|\[\\S\\s\]|\[\\[dD]\\[dD]\]|\[\\[wW]\\[wW]\]"
)
_ESCAPED = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]?|[()]", re.DOTALL)
_LITERALLY = "to search for the text as it is, leave out `regex`"

_HINTS = (  # what the engine does not know, and what to write instead
    (r"\(\?<?[=!]", "look-around is not supported: match the wider text and look at the lines found"),
    (r"\\[1-9]|\\g<|\\k<|\(\?P=", "references to groups are not supported: write out what is to be repeated"),
    (r"\\Z", r"the end of the text is `\z`"),
    (r"\(\?>|[+*?}]\+", "atomic groups and possessive repetition are not supported, nor needed: matching is linear"),
    (r"\\u|\\U", r"write the character itself, or `\x{e9}` with its number"),
    (r"\\h", r"write `[ \t]` for blanks"),
    (r"\(\?x|\(\?#", "comments and free spacing are not supported: leave them out"),
    (r"\{\d*,?\d*\}", "at most 1000 repetitions, nested ones multiplied: use `*` or `+`, or smaller numbers"),
    (r"\\[pP]", r"`\p{L}` are letters, `\p{Lu}` capitals, `\p{Greek}` a script"),
    (r"\[", r"write `\[` for a bracket; a range goes from the lower character to the higher one"),
    (r"[*+?]", rf"write `\*`, `\+`, `\?` for the characters themselves; {_LITERALLY}"),
    (r"\\", rf"write `\\` for a backslash; {_LITERALLY}"),
)
_MISLEADING = (  # means something else in other tools, and finds nothing here
    (re.compile(r"(?<!\\)(?:\\\\)*\\[<>]"), r"`\<` and `\>` are the plain characters here: a word's border is `\b`"),
    (re.compile(r"(?<!\\)(?:\\\\)*\\\|"), r"`\|` is the plain character here: alternatives are `a|b`"),
)
_LIKE_A_REGEX = re.compile(r"\\[bBdDsSwW(.)\[]|\.[*+]|[)\]][*+?]|^\^|\$$|\w\|\w|\[[^\]]+\][*+]")

Find = Callable[[bytes, int, int], "tuple[int, int] | None"]


class _Match(Protocol):
    def span(self) -> tuple[int, int]: ...


class _Compiled(Protocol):
    @property
    def programsize(self) -> int: ...

    def search(self, text: bytes, pos: int, endpos: int) -> _Match | None: ...


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern ready to search. `find(data, start, end)` gives the first match between two offsets.

    `needle`: every text with a match holds these bytes, in every encoding in which ASCII is ASCII if they are;
    b"" if nothing is known. `piece_bytes` may be given to `find` at once. `spans_lines`: a match may go over line ends.
    `doubts`: what to tell the caller if nothing matches.
    """

    find: Find
    needle: bytes
    piece_bytes: int
    spans_lines: bool = False
    doubts: tuple[str, ...] = ()


def compile_pattern(pattern: str, *, regex: bool, ignore_case: bool) -> Pattern:
    """The pattern, checked. UsageError `invalid_arguments` for one that cannot be searched for."""
    _check(pattern, MAX_REGEX if regex else MAX_LITERAL)
    if regex:
        return _regex(pattern, ignore_case)
    text = pattern.replace("\r\n", "\n")
    doubts = ("no file has this text as it is; to use it as a regular expression, set `regex`",) \
        if _LIKE_A_REGEX.search(pattern[:_LOOKED_AT]) else ()  # fmt: skip
    needle = text.encode()
    if not ignore_case:
        known = b"" if "\ufffd" in text or "\n" in text or "\r" in text else needle
        return Pattern(_finder(needle), known, _ANY_SIZE, "\n" in text, doubts)
    compiled = _compile(needle, literal=True, never_nl=False, case_sensitive=False)
    return Pattern(_searcher(compiled), b"", _ANY_SIZE, "\n" in text, doubts)


def _check(pattern: str, limit: int) -> None:
    if not pattern:
        raise UsageError("invalid_arguments", "the pattern is empty", "give the text to look for")
    if len(pattern) > limit:
        raise UsageError("invalid_arguments", f"the pattern has {len(pattern)} characters, {limit} are possible",
                         "a shorter part of it will do")  # fmt: skip
    if "\0" in pattern:
        at = pattern.index("\0") + 1
        raise UsageError("invalid_arguments", f"the pattern has a NUL character at position {at}",
                         "text files hold none: leave it out")  # fmt: skip
    try:
        pattern.encode()
    except UnicodeEncodeError as e:
        raise UsageError("invalid_arguments", f"position {e.start + 1} of the pattern is half a character",
                         "give valid Unicode") from e  # fmt: skip


def _finder(needle: bytes) -> Find:
    size = len(needle)

    def find(data: bytes, start: int, end: int) -> tuple[int, int] | None:
        at = data.find(needle, start, end)
        return (at, at + size) if at >= 0 else None

    return find


def _searcher(compiled: _Compiled) -> Find:
    def find(data: bytes, start: int, end: int) -> tuple[int, int] | None:
        match = compiled.search(data, start, end)
        return match.span() if match is not None else None

    return find


def _piece_bytes(compiled: _Compiled) -> int:
    return max(4096, _WORK // max(1, compiled.programsize))


def _regex(pattern: str, ignore_case: bool) -> Pattern:
    spans_lines = _CROSSES_LINES.search(pattern) is not None
    flags = "(?mi)" if ignore_case else "(?m)"
    engine = _engine()
    try:
        compiled = _compile((flags + pattern).encode(), never_nl=not spans_lines)
    except engine.error as e:
        raise _explained(pattern, cast("bytes", e.args[0]).decode("utf-8", "replace").replace(flags, "", 1)) from None
    if compiled.programsize > _MAX_PROGRAM:
        raise _too_large()
    doubts = tuple(doubt for sign, doubt in _MISLEADING if sign.search(pattern))
    return Pattern(_searcher(compiled), b"", _piece_bytes(compiled), spans_lines, doubts)


def _engine() -> Any:
    try:
        return importlib.import_module("re2")
    except ImportError as e:
        raise EnvironmentFault("environment", "regular expressions need the package google-re2, which is not there",
                               "install google-re2, or search for plain text with its case") from e  # fmt: skip


def _compile(pattern: bytes, *, literal: bool = False, never_nl: bool = True, case_sensitive: bool = True) -> _Compiled:
    engine = _engine()
    options = engine.Options()
    options.literal, options.never_nl, options.case_sensitive = literal, never_nl, case_sensitive
    options.log_errors, options.never_capture, options.max_mem = False, True, _MEMORY_BYTES
    try:
        return cast("_Compiled", engine.compile(pattern, options))
    finally:
        engine.purge()  # it would keep 128 patterns with their automata, up to 1 GiB


def _explained(pattern: str, problem: str) -> UsageError:
    """The engine's "what: where" as an error with a position and a way out."""
    what, _, fragment = problem.partition(": ")
    if what.startswith("pattern too large"):
        return _too_large()
    if what in ("missing )", "unexpected )"):
        at = _unbalanced(pattern)
        bracket, partner = ("(", "never closed") if what == "missing )" else (")", "never opened")
        return UsageError(
            "invalid_arguments", f"the regular expression has a `{bracket}` at position {at + 1} that is {partner}",
            f"write `\\{bracket}` for the character itself; {_LITERALLY}")  # fmt: skip
    if fragment == "(?P" and "(?P=" in pattern:  # the engine names no more than the start of it
        fragment = "(?P="
    at = pattern.find(fragment) if fragment else len(pattern) - 1
    hint = next((hint for sign, hint in _HINTS if re.match(sign, pattern[max(at, 0) :])), "") or next(
        (hint for sign, hint in _HINTS if re.search(sign, fragment)), f"the dialect is that of RE2; {_LITERALLY}"
    )
    shown = f" `{fragment[:60]}`" if fragment else ""
    message = f"the regular expression cannot be read at position {max(at, 0) + 1}: {what}{shown}"
    return UsageError("invalid_arguments", message, hint)


def _too_large() -> UsageError:
    return UsageError("invalid_arguments", "the regular expression is too large once its repetitions are written out",
                      "use `*` or `+` instead of large numbers, or search for a shorter part")  # fmt: skip


def _unbalanced(pattern: str) -> int:
    """Where the first parenthesis without a partner is."""
    opened: list[int] = []
    for token in _ESCAPED.finditer(pattern):
        if token[0] == "(":
            opened.append(token.start())
        elif token[0] == ")":
            if not opened:
                return token.start()
            opened.pop()
    return opened[0] if opened else 0
