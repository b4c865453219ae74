"""The place in a file that looks most like a SEARCH that was not found. A hint for the proposer, never written to.

Rule: work is bounded by a count that all edits of a response share, not by the clock, so equal input gives equal
hints. Where the budget is spent the hint is left out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate

from regreen.edits.operations import is_blank

_TOKEN = re.compile(r"\w+")
_MAX_TOKENS = 48  # distinct tokens of SEARCH that are looked up
_MAX_HITS = 40  # places of one token that vote
_MAX_LINES = 200  # lines of SEARCH that are looked at
_MAX_LINE = 400  # characters of a line that are looked at
_FINALISTS = 5
_MAX_PAIRS = 4_000  # above this, similarity counts tokens without their order
_ENOUGH = 0.34


@dataclass(slots=True)
class Work:
    """What is left to spend, in characters read."""

    left: int = 300_000_000

    def spend(self, amount: int) -> None:
        self.left -= amount


class Neighbourhood:
    """A file prepared for looking up tokens: its text in one piece, and where its lines begin."""

    def __init__(self, bodies: Sequence[str]) -> None:
        self.bodies = bodies
        rows = [body.lower() for body in bodies]
        self._text = "\n".join(rows)
        self._starts = list(accumulate((len(row) + 1 for row in rows), initial=0))

    def closest(self, search: Sequence[str], work: Work) -> tuple[int, int] | None:
        """(start, end), 0-based and half open, of the most similar run of lines; None if nothing comes near."""
        lead = next((n for n, body in enumerate(search) if not is_blank(body)), len(search))
        wanted = [body[:_MAX_LINE].lower() for body in search[lead : lead + _MAX_LINES]]
        height = len(search) - lead
        while height > 1 and is_blank(search[lead + height - 1]):
            height -= 1
        votes = self._votes(wanted, height, work)
        if not votes:
            return None
        best = sorted(votes, key=lambda start: (-votes[start], start))[:_FINALISTS]
        rated = [(self._similarity(wanted, start, work), -rank, start) for rank, start in enumerate(best)]
        score, _, start = max(rated)
        if score < _ENOUGH:
            return None
        return start, min(start + height, len(self.bodies))

    def _votes(self, wanted: Sequence[str], height: int, work: Work) -> dict[int, float]:
        """Starts of a window, voted for by the places of SEARCH's tokens: the rarer the token, the heavier."""
        offsets: dict[str, list[int]] = {}
        for number, body in enumerate(wanted):
            for token in _TOKEN.findall(body):
                offsets.setdefault(token, []).append(number)
        scores: dict[int, float] = {}
        for token in sorted(offsets, key=lambda t: (-len(t), t))[:_MAX_TOKENS]:
            if work.left <= 0:
                break
            places = self._lines_with(token, work)
            for line in places:
                for offset in offsets[token][:4]:
                    start = max(0, min(line - offset, len(self.bodies) - height))
                    scores[start] = scores.get(start, 0.0) + 1 / len(places)
        return scores

    def _lines_with(self, token: str, work: Work) -> list[int]:
        """Up to _MAX_HITS lines that hold the token."""
        lines: list[int] = []
        at = self._text.find(token)
        while at >= 0 and len(lines) < _MAX_HITS:
            line = bisect_right(self._starts, at) - 1
            lines.append(line)
            at = self._text.find(token, self._starts[line + 1])
        work.spend(at if at >= 0 else len(self._text))
        return lines

    def _similarity(self, wanted: Sequence[str], start: int, work: Work) -> float:
        window = [body[:_MAX_LINE].lower() for body in self.bodies[start : start + len(wanted)]]
        sent, found = _tokens(wanted), _tokens(window)
        seen_sent, seen_found = Counter(sent), Counter(found)
        pairs = sum(count * seen_found[token] for token, count in seen_sent.items())
        work.spend(pairs * 8)
        matcher = SequenceMatcher(None, sent, found, autojunk=False)
        return matcher.ratio() if pairs <= _MAX_PAIRS else matcher.quick_ratio()


def _tokens(rows: Sequence[str]) -> list[str]:
    return [token for row in rows for token in re.findall(r"\w+|[^\w\s]", row)]
