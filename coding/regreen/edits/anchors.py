"""Where the lines that stand above a place (`@@ class A`, `@@ def f`) say that the place is.

Rule: an anchor must be one line of the file, and only one within the anchor before it. What it names is the block that
it heads, told by indentation, with the decorators and comments right above it; a line that heads no block names
everything below it. The method is that of the V4A patch format, where `@@` gives "the class or function to which the
snippet belongs", but nothing is taken because it came first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from regreen.edits.explain import WHOLE, printable
from regreen.edits.ladder import MAX_CANDIDATES, indent_of
from regreen.edits.lines import FileLines, Key
from regreen.edits.operations import is_blank
from regreen.model import EditError

_KEYS: tuple[Key, ...] = ("exact", "trailing", "stripped")
# how lines begin that end no block although they are not indented: brackets, comments, preprocessor lines
_INERT = re.compile(
    r"[})\]{]|//|/\*|\*(?:[ /]|$)|#(?:[ !#]|$)"
    r"|#\s*(?:if|ifdef|ifndef|else|elif|endif|define|undef|include|pragma|error|line|warning|region|endregion)\b"
)
_CONTROL = re.compile(
    r"(?:\}\s*)?(?:if|elif|else|for|while|try|except|catch|finally|switch|match|case|with|do|begin)\b"
)
_BRANCH = re.compile(r"(?:else|elif|except|finally|catch|rescue|ensure|case|when|default)\b")
_LABEL = re.compile(r"\w{1,60}:\s*$")
_LABELLED = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".go", ".java", ".js", ".ts", ".cs", ".rs", ".swift")
_DEFINES = re.compile(
    r"(?:(?:export|default|async|public|private|protected|static|final|abstract|pub|extern|inline|unsafe)\s+)*"
    r"(?:def|class|function|func|fn|interface|struct|enum|impl|trait|type|module|namespace|record|object)\b"
)
_SECTIONS = {".md": "#", ".mdx": "#", ".markdown": "#", ".toml": "[", ".ini": "[", ".cfg": "[", ".conf": "["}
_ABOVE = ("@", "#", "//", "/*", "*", "[")  # decorators, attributes and comments belong to what they stand on
_QUOTES = re.compile(r"\"\"\"|'''")
_OPEN = tuple("([,\\+-*/=&|.<?")
_TAB = 8
_LINES_PER_CHARGE = 32


@dataclass(frozen=True, slots=True)
class Scope:
    """The lines that an anchor names: from `start` to `end` (0-based, half open), headed by line `head`."""

    start: int
    head: int
    end: int


def scope(path: str, lines: FileLines, anchors: Sequence[str]) -> Scope | EditError:
    """What the last of the anchors names; or why there is no such place. Raises TooRepetitive."""
    head, end = 0, len(lines)
    for anchor in anchors:
        places = _places(lines, anchor, head, end)
        if len(places) != 1:
            return _unusable(path, lines, anchor, places)
        head = places[0]
        if head not in lines.block_ends:
            lines.block_ends[head] = _block_end(path, lines, head)
        end = min(end, lines.block_ends[head])
    return Scope(_with_above(lines, head), head, end)


def is_unfinished(bodies: Sequence[str], head: int) -> bool:
    """Whether a heading goes on in the next line, so that nothing can be put right behind it."""
    heading = bodies[head].strip()
    after = next((body.lstrip() for body in bodies[head + 1 : head + 3] if not is_blank(body)), "")
    return heading.endswith(_OPEN) or heading.startswith("@") or after.startswith("{")


def _places(lines: FileLines, anchor: str, start: int, end: int) -> list[int]:
    for key in _KEYS:
        places = list(islice((n for n in lines.places((anchor,), key) if start <= n < end), MAX_CANDIDATES + 1))
        if places:
            return places
    return list(islice(_begun(lines, anchor.strip(), start, end), MAX_CANDIDATES + 1))


def _begun(lines: FileLines, anchor: str, start: int, end: int) -> Iterator[int]:
    """Lines that go on behind the anchor: `class A` for `class A(Base):`."""
    for number, body in enumerate(lines.bodies(start, end), start):
        lines.charge(number % _LINES_PER_CHARGE == 0)
        text = body.lstrip()
        if text.startswith(anchor) and not (text[len(anchor)].isalnum() or text[len(anchor)] == "_"):
            yield number


def _block_end(path: str, lines: FileLines, head: int) -> int:
    """Where the block that a line heads ends; the end of the file if it heads none."""
    bodies = lines.rows.bodies
    heading = bodies[head].lstrip()
    suffix = path[path.rfind(".") :].lower()
    section = _SECTIONS.get(suffix, "")
    if section and heading.startswith(section):
        return _section_end(bodies, head, heading, section)
    depth, goes_on = _depth(bodies[head]), _going_on(heading, suffix)
    indented, quote = False, ""
    for number in range(head + 1, len(bodies)):
        body = bodies[number]
        lines.charge(number % _LINES_PER_CHARGE == 0)
        inside, quote = quote, _quote_behind(body, quote)
        if inside or is_blank(body):
            continue
        if _depth(body) > depth:
            indented = True
        elif not goes_on(body.lstrip()):
            return number if indented or _DEFINES.match(heading) else len(bodies)
    return len(bodies)


def _going_on(heading: str, suffix: str) -> Callable[[str], bool]:
    """Which lines, not indented, do not end the block of a heading."""
    control, labels = _CONTROL.match(heading), suffix in _LABELLED

    def goes_on(text: str) -> bool:
        return bool(
            _INERT.match(text) or (control and _BRANCH.match(text)) or (labels and _LABEL.match(text))
        )  # fmt: skip

    return goes_on


def _section_end(bodies: Sequence[str], head: int, heading: str, mark: str) -> int:
    """Where the section ends that a heading of Markdown, or one in brackets, begins."""
    level = len(heading) - len(heading.lstrip(mark)) if mark == "#" else 1
    for number in range(head + 1, len(bodies)):
        text = bodies[number]
        if text.startswith(mark) and (mark != "#" or len(text) - len(text.lstrip("#")) <= level):
            return number
    return len(bodies)


def _quote_behind(body: str, quote: str) -> str:
    """The triple quotes that are open behind a line, if `quote` are before it."""
    for mark in _QUOTES.findall(body):
        quote = "" if mark == quote else quote or mark
    return quote


def _with_above(lines: FileLines, head: int) -> int:
    bodies, start = lines.rows.bodies, head
    indent = indent_of(bodies[head])
    while start and indent_of(bodies[start - 1]) == indent and bodies[start - 1].lstrip().startswith(_ABOVE):
        start -= 1
    return start


def _depth(body: str) -> int:
    return len(indent_of(body).expandtabs(_TAB))


def _unusable(path: str, lines: FileLines, anchor: str, places: list[int]) -> EditError:
    shown = printable(anchor.strip()[:80])
    if not places:
        return EditError("no_match", f"`{path}`: the anchor `@@ {shown}` is no line of the file (or not within the "
                         "anchor before it)", f"copy the line from the file behind `@@ `, or leave the anchor out; "
                         f"{WHOLE}")  # fmt: skip
    known = tuple(n for n in (lines.origin_of(place) for place in places[:MAX_CANDIDATES]) if n)
    several = f"more than {MAX_CANDIDATES}" if len(places) > MAX_CANDIDATES else str(len(places))
    return EditError("ambiguous", f"`{path}`: the anchor `@@ {shown}` stands at {several} places: lines "
                     f"{', '.join(map(str, known))}", "put the line of the enclosing class or function before it, as "
                     f"another `@@` line, or more context lines into the hunk; {WHOLE}", candidates=known)  # fmt: skip
