"""Replacing a piece of text that may begin and end within lines: where it stands, and the lines that come of it.

Rule: to the letter, but line ends are compared as LF. It must stand at one place (counted by start, overlaps too), and
never in the middle of a word. What is outside of the piece keeps its bytes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from regreen.edits.explain import already_applied, outsized, several_pieces, within_words
from regreen.edits.ladder import MAX_CANDIDATES
from regreen.edits.lines import FileLines
from regreen.edits.operations import ReplaceText
from regreen.edits.placing import Placed
from regreen.model import EditError


def place_text(lines: FileLines, edit: ReplaceText, max_chars: int) -> tuple[Placed, ...] | EditError | None:
    """The line replacements that put `new` for `old`, in order. None: `old` stands nowhere.

    What would make the file larger than `max_chars` is refused before it is made.
    """
    old, new = _unified(edit.old), _unified(edit.new)
    text = lines.text
    starts = _starts(text, old, edit.everywhere)
    if not starts:
        return _standing(lines, edit.path, text, old, new)
    if edit.everywhere and len(text) + len(starts) * (len(new) - len(old)) > max_chars:
        return outsized(edit.path, max_chars)
    numbers = _line_numbers(text, starts)
    if len(starts) > 1 and not edit.everywhere:
        return several_pieces(edit.path, [lines.origin_of(n) for n in numbers], overlapping=False)
    if any(b < a + len(old) for a, b in pairwise(starts)):
        return several_pieces(edit.path, [lines.origin_of(n) for n in numbers], overlapping=True)
    broken = [n for start, n in zip(starts, numbers, strict=True) if _breaks_a_word(text, start, start + len(old))]
    if broken:
        return within_words(edit.path, [lines.origin_of(n) for n in broken], len(starts))
    again = next((n for s, n in zip(starts, numbers, strict=True) if _stands(text, s, old, new)), None)
    if again is not None:
        return already_applied(edit.path, lines.origin_of(again))
    return tuple(_placed(text, starts, numbers, old, new))


def _unified(text: str) -> str:
    return text.replace("\r\n", "\n")


def _starts(text: str, old: str, everywhere: bool) -> list[int]:
    """Where `old` stands, by start; no more than tell that it is too often, unless it may be everywhere."""
    starts: list[int] = []
    at = text.find(old)
    while at >= 0 and (everywhere or len(starts) <= MAX_CANDIDATES):
        starts.append(at)
        at = text.find(old, at + 1)
    return starts


def _line_numbers(text: str, positions: Sequence[int]) -> list[int]:
    """The line (0-based) of each of the rising positions."""
    numbers: list[int] = []
    line = before = 0
    for position in positions:
        line += text.count("\n", before, position)
        before = position
        numbers.append(line)
    return numbers


def _breaks_a_word(text: str, start: int, end: int) -> bool:
    """Whether the piece begins or ends between two characters of one word."""
    return (start > 0 and _in_word(text[start - 1]) and _in_word(text[start])) or (
        end < len(text) and _in_word(text[end - 1]) and _in_word(text[end])
    )


def _in_word(c: str) -> bool:
    """Letters of scripts that are written without blanks between words do not count."""
    return c == "_" or (c.isalnum() and (c.isascii() or unicodedata.category(c) != "Lo"))


def _stands(text: str, start: int, old: str, new: str) -> bool:
    """Whether `new`, which holds `old` and something more around it, stands at that place already."""
    if len(new) <= len(old) or not new.replace(old, "", 1).strip():
        return False
    lead = new.find(old)
    while lead >= 0:
        if text.startswith(new, start - lead) and start >= lead:
            return True
        lead = new.find(old, lead + 1)
    return False


def _standing(lines: FileLines, path: str, text: str, old: str, new: str) -> EditError | None:
    """`old` is gone. If `new`, with more than blanks and not a mere part of `old`, stands at one place: done before."""
    if not new.strip() or new in old:
        return None
    starts = [s for s in _starts(text, new, everywhere=False) if not _breaks_a_word(text, s, s + len(new))]
    if len(starts) != 1:
        return None
    return already_applied(path, lines.origin_of(_line_numbers(text, starts)[0]))


def _placed(text: str, starts: Sequence[int], numbers: Sequence[int], old: str, new: str) -> list[Placed]:
    """One replacement of whole lines for each run of places that share a line."""
    placed: list[Placed] = []
    run: list[int] = []
    first = 0
    for start, number in zip(starts, numbers, strict=True):
        if run and text.find("\n", run[-1] + len(old), start) >= 0:
            placed.append(_of_run(text, run, first, old, new))
            run = []
        if not run:
            first = number
        run.append(start)
    placed.append(_of_run(text, run, first, old, new))
    return placed


def _of_run(text: str, run: Sequence[int], first: int, old: str, new: str) -> Placed:
    """The whole lines that the places of `run` touch, and what becomes of them."""
    begin = text.rfind("\n", 0, run[0]) + 1
    tail = run[-1] + len(old)
    stop = text.find("\n", tail)
    end = len(text) if stop < 0 else stop
    pieces = [text[begin : run[0]]]
    for start, after in zip(run, [*run[1:], end], strict=True):
        pieces += [new, text[start + len(old) : after]]
    made = "".join(pieces)
    search, replace = text[begin:end].split("\n"), made.split("\n")
    open_end = None
    if stop >= 0:
        if text[tail - 1] == "\n" and search[-1] == replace[-1]:  # the line behind the piece is untouched
            del search[-1], replace[-1]
    else:
        del search[len(search) - (not search[-1]) :], replace[len(replace) - (not replace[-1]) :]
        open_end = not made.endswith("\n")
    return Placed("exact", first, tuple(search), tuple(replace), tuple(replace), open_end)
