"""Private keys in armour, whole or in part: with the prefixes of a diff or a report before their lines, without their
beginning or their end, and their lines alone once the whole was seen."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from itertools import islice

_MASK = "[redacted:private-key]"
_MARK = "PRIVATE KEY"
_ARMOUR = re.compile(
    r"-----(?P<side>BEGIN|END) [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|^(?:@@ -\d|diff --git )", re.MULTILINE
)
_PREFIX = re.compile(
    r"(?:E\s{1,8})?(?:[ ]*[-+](?=\s*(?:[^\s-]|$|-----(?:BEGIN|END)))|[> ]?\s*\d+ ?[|:\t])?\s*"
)  # what diffs and reports put before a line
_DECOR = re.compile(r"""(?:\\+[nrt]|[\s"'`,+(\\])*""")
_ONLY = re.compile(r"""([A-Za-z0-9+/]{4,}={0,2})(?:\\+[rn])*[\s"'`,;+()\\]*""")
_HEADER = re.compile(r"[A-Z][A-Za-z-]{2,20}: \S")
_RUN = re.compile(r"[A-Za-z0-9+/]{12,}={0,2}")
_LONG = 24
_STRANGERS = 2  # lines of another kind that a key may hold between its beginning and its end
_MAX_KEY_LINES = 2_000
_MAX_HEAD = 8  # lines before the first of the key itself
_PIECE, _STRIDE = 12, 4  # 15 characters in a row hold one of the pieces that are remembered
_MAX_PIECES = 40_000
_MAX_SHORTS = 400


def without_private_keys(text: str) -> tuple[str, int]:
    """The text without the private keys in it, and how many there were. Lines stay lines, and keep their prefixes."""
    out: list[str] = []
    done = hits = 0
    for start, end in _blocks(text):
        out += [text[done:start], _masked_lines(text[start:end])]
        done = end
        hits += 1
    return "".join([*out, text[done:]]), hits


class Learned:
    """The lines of private keys that were seen whole. Safe from several threads; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._pieces: dict[str, None] = {}
        self._shorts: dict[str, None] = {}
        self._short: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._pieces) + len(self._shorts)

    def look(self, text: str | bytes) -> None:
        """Remember what must not be shown of this text, or of these bytes of a text file in whatever encoding."""
        if isinstance(text, bytes):
            if b"PRIVATE KEY" not in text and b"P\0R\0I\0V\0A\0T\0E" not in text:
                return
            text = text.replace(b"\0", b"").decode("latin-1")
        if _MARK not in text:
            return
        for start, end in _blocks(text):
            self._learn(text[start:end])

    def masked(self, text: str) -> tuple[str, int]:
        """The text without what is remembered, and how many places that were."""
        if not self._pieces:
            return text, 0
        hits = 0

        def without(match: re.Match[str]) -> str:
            nonlocal hits
            run = match[0]
            if not any(run[n : n + _PIECE] in self._pieces for n in range(len(run) - _PIECE + 1)):
                return run
            hits += 1
            return _before(text, match.start()) + _MASK

        masked = _RUN.sub(without, text)
        if self._short is not None:
            masked, n = self._short.subn(_MASK, masked)
            hits += n
        return masked, hits

    def _learn(self, block: str) -> None:
        runs = [run for run in _RUN.findall(block) if _is_random(run)]
        if any(len(run) >= _LONG for run in runs):  # a real key: every line of it counts, random or not
            runs += [m[1] for line in block.split("\n") if (m := _ONLY.fullmatch(_bare(line)))]
        pieces = [piece for run in runs for piece in _pieces(run) if piece not in self._pieces]
        shorts = [run for run in runs if len(run) < _PIECE and not run.isalpha() and run not in self._shorts]
        with self._lock:
            _remember(self._pieces, pieces, _MAX_PIECES)
            if shorts:
                _remember(self._shorts, shorts, _MAX_SHORTS)
                words = "|".join(map(re.escape, self._shorts))
                self._short = re.compile(rf"(?:(?<![A-Za-z0-9/=])|(?<=\\[rn]))(?:{words})(?![A-Za-z0-9+/=])")


LEARNED = Learned()
"""What this process has learned: a secret is one at every door through which text leaves."""


def _pieces(run: str) -> list[str]:
    last = len(run) - _PIECE
    return [run[n : n + _PIECE] for n in (*range(0, last, _STRIDE), last)] if last >= 0 else []


def _remember(known: dict[str, None], fresh: list[str], most: int) -> None:
    known.update(dict.fromkeys(fresh))
    for old in list(islice(known, max(0, len(known) - most))):
        del known[old]


def _before(text: str, at: int) -> str:
    """What looks like the first character of a run, but is the sign of a diff or the end of an escaped line."""
    first = text[at]
    return first if first == "+" or (first in "nrt" and at and text[at - 1] == "\\") else ""


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where private keys stand, in order; of some only the beginning or the end may be there."""
    begun: re.Match[str] | None = None
    done = 0
    for mark in _ARMOUR.finditer(text):
        if begun is not None and _closes(text, begun, mark):
            yield begun.start(), mark.end()
            done, begun = mark.end(), None
            continue
        if begun is not None and (end := _down(text, begun, mark.start())) > begun.end():
            yield begun.start(), end
            done = end
        if mark["side"] == "END" and (start := _up(text, mark.start(), done)) < mark.start():
            yield start, mark.end()
            done = mark.end()
        begun = mark if mark["side"] == "BEGIN" else None
    if begun is not None and (end := _down(text, begun, len(text))) > begun.end():
        yield begun.start(), end


def _closes(text: str, begun: re.Match[str], mark: re.Match[str]) -> bool:
    """Whether these are the two ends of a key, and not of code or output between two that only speak of keys."""
    if mark["side"] != "END":
        return False
    between = (_bare(line) for line in text[begun.end() : mark.start()].split("\n")[1:-1])
    return sum(1 for bare in between if bare and not _is_of_key(bare) and not _HEADER.match(bare)) <= _STRANGERS


def _down(text: str, begun: re.Match[str], limit: int) -> int:
    """The end of the lines of a key that begins there; the end of its mark where none follow."""
    rest, *lines = text[begun.end() : limit].split("\n", _MAX_KEY_LINES)[:_MAX_KEY_LINES]
    bare = _bare(rest)
    if bare and not _is_of_key(bare):
        return begun.end()
    size, end = len(rest), len(rest) if bare else 0
    for number, line in enumerate(lines):
        bare = _bare(line)
        size += len(line) + 1
        if _is_of_key(bare):
            end = size
        elif end or number >= _MAX_HEAD or (bare and not _HEADER.match(bare)):
            break
    return begun.end() + end if _holds_random(text[begun.end() : begun.end() + end]) else begun.end()


def _up(text: str, at: int, limit: int) -> int:
    """The start of the lines of a key that go on to `at`; `at` itself where there are none."""
    *lines, rest = text[limit:at].rsplit("\n", _MAX_KEY_LINES)[-_MAX_KEY_LINES:]
    bare = _bare(rest)
    if bare and not _is_of_key(bare):
        return at
    start = at - len(rest)
    for line in reversed(lines):
        if not _is_of_key(_bare(line)):
            break
        start -= len(line) + 1
    return start if _holds_random(text[start:at]) else at


def _is_of_key(bare: str) -> bool:
    return bool(_ONLY.fullmatch(bare)) or any(len(run) >= _LONG and _is_random(run) for run in _RUN.findall(bare))


def _holds_random(text: str) -> bool:
    return any(map(_is_random, _RUN.findall(text)))


def _is_random(run: str) -> bool:
    """Whether it has the three kinds of characters that random bytes have in base64, and words seldom."""
    return not run.islower() and not run.isupper() and any(map(str.isdigit, run)) and any(map(str.isalpha, run))


def _bare(line: str) -> str:
    """A line without what stands around a line of a key: prefixes, quotes."""
    line = line[_length(_PREFIX, line) :]
    return line[_length(_DECOR, line) :].rstrip()


def _length(pattern: re.Pattern[str], line: str) -> int:
    found = pattern.match(line)
    return found.end() if found is not None else 0


def _masked_lines(block: str) -> str:
    first, *rest = block.split("\n")
    lines = [_MASK if first.startswith("-----BEGIN") else _masked_line(first), *map(_masked_line, rest)]
    return "\n".join(lines)


def _masked_line(line: str) -> str:
    return line[: _length(_PREFIX, line)] + _MASK + ("\r" if line.endswith("\r") else "")
