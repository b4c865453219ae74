"""Error values for edits that do not fit: what was found, what was wanted, what to send next.

Rule: every text in them is bounded and cut between characters; a report over many edits stays readable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regreen.edits.closest import Neighbourhood, Work
from regreen.edits.clues import clue, clue_of_search, first_difference, shown
from regreen.edits.ladder import MAX_CANDIDATES, Found
from regreen.edits.lines import FileLines
from regreen.edits.parsed import Beside
from regreen.model import ClosestPlace, EditError, FirstDifference

_MAX_SHOWN_LINES = 30
_MAX_SHOWN_CHARS = 2_000
_MAX_LINE = 200

WHOLE = "send all edits of the response again"


def ambiguous(path: str, found: Found, lines: FileLines) -> EditError:
    """More than one place fits."""
    origins = [lines.origin_of(fit.start) for fit in found.fits[:MAX_CANDIDATES]]
    known = tuple(origin for origin in origins if origin)
    several = f"more than {MAX_CANDIDATES}" if len(found.fits) > MAX_CANDIDATES else str(len(found.fits))
    added = len(origins) - len(known)
    where = [f"lines {', '.join(map(str, known))}"] if known else []
    where += [f"{added} in text that earlier edits of this response add"] if added else []
    return EditError(
        "ambiguous",
        f"`{path}`: SEARCH fits {several} places (level {found.level}): {'; '.join(where)}",
        f"add lines around it to SEARCH and REPLACE until only one place fits; {WHOLE}",
        candidates=known,
    )


def repetitive(path: str) -> EditError:
    """Too many places come near to tell whether one of them is the only one that fits."""
    return EditError(
        "ambiguous",
        f"`{path}`: too many lines would have to be compared to tell whether SEARCH fits one place only (very many "
        "differ from it in indentation only, or the anchors head very long blocks)",
        f"copy SEARCH from the file with its indentation, with lines that occur only there, without anchors; {WHOLE}",
    )


def several_pieces(path: str, lines: Sequence[int], *, overlapping: bool) -> EditError:
    """A piece of text stands at several places, or overlaps itself."""
    known = tuple(dict.fromkeys(n for n in lines if n))[:MAX_CANDIDATES]
    several = f"more than {MAX_CANDIDATES}" if len(lines) > MAX_CANDIDATES else str(len(lines))
    where = f": lines {', '.join(map(str, known))}" if known else ""
    if overlapping:
        return EditError("ambiguous", f"`{path}`: the places at which old_str stands overlap{where}",
                         f"send a longer old_str; {WHOLE}", candidates=known)  # fmt: skip
    return EditError("ambiguous", f"`{path}`: old_str stands at {several} places{where}",
                     f"add text around it to both strings until only one place fits, or set replace_all; {WHOLE}",
                     candidates=known)  # fmt: skip


def beside(code: Beside) -> EditError:
    """Code stands beside the edits that may be meant as an edit too."""
    what = f"a code fence for `{code.path}`, which may be meant as its content" if code.path else (
        "a code fence with a diff that names no file" if code.lines else
        "the beginning of a code fence that does not end (has it been cut off?)"
    )  # fmt: skip
    return EditError("parse", f"beside its edits the response holds {printable(what)}; it is unclear whether it shall "
                     "be applied", "send every change as an edit of one format, with its path, and other code without "
                     "the name of a file above it; then send the whole response again")  # fmt: skip


def outsized(path: str, limit: int) -> EditError:
    """The outcome would be larger than files may be."""
    return EditError("too_large", f"`{path}` would have over {limit} characters", f"write less into one file; {WHOLE}")


def within_words(path: str, lines: Sequence[int], count: int) -> EditError:
    """A piece of text stands there, but begins or ends in the middle of a word."""
    known = tuple(dict.fromkeys(n for n in lines if n))[:MAX_CANDIDATES]
    where = f" (line{'s' if len(known) > 1 else ''} {', '.join(map(str, known))})" if known else ""
    some = "it stands there only" if count == len(lines) else f"{len(lines)} of {count} places are"
    return EditError("no_match", f"`{path}`: old_str begins or ends in the middle of a word: {some} as a part of a "
                     f"longer name or number{where}",
                     f"word boundary: send the whole word in both strings; {WHOLE}", candidates=known)  # fmt: skip


def elsewhere(path: str, places: Sequence[int], wanted: str) -> EditError:
    """The lines stand in the file (1-based), but not where the edit says that they do."""
    known = tuple(n for n in places if n)[:MAX_CANDIDATES]
    where = f"line{'s' if len(known) > 1 else ''} {', '.join(map(str, known))}"
    return EditError("no_match", f"`{path}`: SEARCH stands at {where}, but not {wanted}",
                     f"correct the anchor or the end mark, or leave it out; {WHOLE}", candidates=known)  # fmt: skip


def not_open(path: str) -> EditError:
    """The diff says that the file's last line has no line end, but it has one."""
    return EditError("no_match", f"`{path}`: the hunk says that the file ends without a line end, but it ends with one",
                     f"leave `\\ No newline at end of file` out behind the old lines; {WHOLE}")  # fmt: skip


def only_written(path: str, by: int) -> EditError:
    """The lines of a hunk stand only in what an earlier edit of the response writes."""
    return EditError(
        "no_match",
        f"`{path}`: SEARCH stands only in what edit {by} of this response writes; hunks speak of the file before that",
        f"make one hunk of the two; {WHOLE}",
    )


def both_insert(path: str, line: int, by: int) -> EditError:
    """Two edits put lines at the same place: it is not clear which come first."""
    return EditError("ambiguous", f"`{path}`: edit {by} of this response adds lines at the same place, before line "
                     f"{line}; it is not clear which come first", f"make one edit of the two; {WHOLE}")  # fmt: skip


def placeless(path: str) -> EditError:
    """Lines shall be added or blank lines removed, and nothing says where."""
    return EditError(
        "ambiguous",
        f"`{path}`: no line that is not blank says where this applies, and a line number does not decide it",
        f"send an unchanged line before or behind the place as context (or mark the end of the file); {WHOLE}",
    )


def already_applied(path: str, line: int) -> EditError:
    """REPLACE stands there already."""
    where = f"at line {line}" if line else "in text that an earlier edit of this response adds"
    return EditError(
        "already_applied", f"`{path}`: the REPLACE lines already stand {where}",
        "leave this edit out if that is what you wanted; otherwise read the file and write SEARCH as it is now; "
        f"{WHOLE}", candidates=(line,) if line else (),
    )  # fmt: skip


def unconvertible(path: str, found: Found, window: Sequence[str], line: int) -> EditError:
    """SEARCH fits but for its indentation, and REPLACE cannot be re-indented the same way."""
    fit = found.fits[0]
    pairs = zip(fit.search, window, strict=True)
    sent, seen = next(((s, f) for s, f in pairs if s != f), (fit.search[0], window[0]))
    return EditError(
        "no_match",
        f"`{path}`: SEARCH fits at line {line} only with another indentation, and the REPLACE lines cannot be "
        "indented the same way without guessing",
        f"{clue(sent, seen) or 'copy the indentation from the file, also into REPLACE'}; {WHOLE}",
        candidates=(line,) if line else (),
        closest=excerpt(line - 1, line - 1 + len(window), window) if line else None,
        first_difference=FirstDifference(line, shown(sent), shown(seen)) if line else None,
    )


def no_match(
    path: str,
    search: Sequence[str],
    near: Neighbourhood | None,
    work: Work,
    *,
    note: str = "",
) -> EditError:
    """No place fits. `near` is the file as it is on disk; None if there is nothing on disk to show."""
    several = f"{len(search)} SEARCH lines do not stand there as whole lines"
    message = f"`{path}`: the {several if len(search) != 1 else 'SEARCH line does not stand there as a whole line'}"
    hints = [h for h in (note, clue_of_search(search)) if h]
    window = near.closest(search, work) if near is not None else None
    if near is None or window is None:
        if near is not None and not near.bodies:
            hints.append("the file is empty")
        return EditError("no_match", message, "; ".join([*hints, "read the file and copy SEARCH from it", WHOLE]))
    start, end = window
    body = near.bodies[start:end]
    line, sent, seen = _first_difference(search, body)
    told = clue(sent, seen) if line < len(body) else ""
    column = first_difference(sent, seen)
    return EditError(
        "no_match",
        f"{message}; the closest place is {_span(start + 1, end)}",
        "; ".join([*hints, *([told] if told else []), "copy SEARCH from the lines shown", WHOLE]),
        closest=excerpt(start, end, body),
        first_difference=FirstDifference(
            start + 1 + line, shown(sent, column), shown(seen, column) if line < len(body) else "(no further line)"
        ),
    )


def overtaken(path: str, start: int, end: int, by: int) -> EditError:
    """SEARCH stood in the file until an earlier edit of the same response changed its lines (1-based)."""
    return EditError(
        "no_match",
        f"`{path}`: SEARCH stood at {_span(start, end)}, but edit {by} of this response changes them first",
        "edits are applied in order: write SEARCH for what that edit leaves there, or make one edit of the two; "
        f"{WHOLE}",
        candidates=(start,),
    )


def not_all(path: str, sent: Sequence[str], found: Sequence[str]) -> EditError:
    """A file shall be deleted, but the lines given are not all that it holds."""
    number = next((n for n, (a, b) in enumerate(zip(sent, found, strict=False)) if a != b), min(len(sent), len(found)))
    told = [shown(rows[number]) if number < len(rows) else "(no further line)" for rows in (sent, found)]
    return EditError(
        "no_match",
        f"`{path}` is not deleted: the removed lines are not all it holds ({len(sent)} given, {len(found)} there)",
        f"read the file and send all of its lines as removed, or remove only these lines; {WHOLE}",
        closest=excerpt(number, min(number + 1, len(found)), found[number : number + 1]) if found[number:] else None,
        first_difference=FirstDifference(number + 1, *told),
    )


def several_numberings(path: str, line: int) -> EditError:
    """A line number that means one line on disk and another one after the edits before."""
    return EditError(
        "ambiguous",
        f"`{path}`: line {line} is another line on disk than after the edits before it in this response",
        f"put insertions of one file in order from its end to its beginning, or use str_replace; {WHOLE}",
    )


def outdated(stale: EditError, verdict: object) -> EditError:
    """The file is not the one that was read, and what the edit is about is not found unchanged in it."""
    if not isinstance(verdict, EditError):
        return replace(stale, message=f"{stale.message}; this edit does not say to the letter what it changes there")
    return replace(
        stale,
        message=f"{stale.message}; changed also where this edit applies: {verdict.message}",
        candidates=verdict.candidates,
        closest=verdict.closest,
        first_difference=verdict.first_difference,
    )


def _span(start: int, end: int) -> str:
    return f"lines {start}-{end}" if end > start else f"line {start}"


def _first_difference(search: Sequence[str], body: Sequence[str]) -> tuple[int, str, str]:
    """(index of the line, line sent, line found). Blank lines that SEARCH begins with beyond the place are skipped."""
    lead = next((n for n, line in enumerate(search) if line.strip()), 0)
    sent = search[lead:]
    for number, line in enumerate(sent):
        seen = body[number] if number < len(body) else ""
        if number >= len(body) or line != seen:
            return number, line, seen
    return 0, sent[0] if sent else "", body[0] if body else ""


def excerpt(start: int, end: int, window: Sequence[str]) -> ClosestPlace:
    """Lines `start` to `end` (0-based, half open) of a file, numbered, cut to what a message may hold."""
    rows: list[str] = []
    size = 0
    for number, body in enumerate(window[:_MAX_SHOWN_LINES], start + 1):
        row = f"{number}| {_cut(body)}"
        size += len(row)
        if size > _MAX_SHOWN_CHARS:
            break
        rows.append(row)
    left = len(window) - len(rows)
    if left:
        rows.append(f"... {left} more lines")
    return ClosestPlace(start + 1, end, "\n".join(rows))


def _cut(body: str) -> str:
    text = body if len(body) <= _MAX_LINE else body[:_MAX_LINE] + "…"
    return printable(text)


def printable(text: str) -> str:
    """`text` with what is no Unicode (bytes that could not be decoded) written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
