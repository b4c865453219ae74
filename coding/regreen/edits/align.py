"""Which lines of one list stand unchanged in another: the base of byte-faithful replacing and of diffs.

Rule: cost stays near linear on any input (anchors are lines that are unique on both sides), never quadratic.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

_MAX_DEPTH = 8


def align(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs (index in old, index in new) of equal lines, rising on both sides."""
    pairs: list[tuple[int, int]] = []
    _align(old, new, (0, len(old), 0, len(new)), pairs, 0)
    return pairs


def _align(
    old: Sequence[str], new: Sequence[str], box: tuple[int, int, int, int], pairs: list[tuple[int, int]], depth: int
) -> None:
    a1, a2, b1, b2 = box
    while a1 < a2 and b1 < b2 and old[a1] == new[b1]:
        pairs.append((a1, b1))
        a1, b1 = a1 + 1, b1 + 1
    tail: list[tuple[int, int]] = []
    while a1 < a2 and b1 < b2 and old[a2 - 1] == new[b2 - 1]:
        a2, b2 = a2 - 1, b2 - 1
        tail.append((a2, b2))
    if a1 < a2 and b1 < b2 and depth < _MAX_DEPTH:
        anchors = _anchors(old, new, (a1, a2, b1, b2))
        for a, b in anchors:
            _align(old, new, (a1, a, b1, b), pairs, depth + 1)
            pairs.append((a, b))
            a1, b1 = a + 1, b + 1
        if anchors:
            _align(old, new, (a1, a2, b1, b2), pairs, depth + 1)
    pairs.extend(reversed(tail))


def _anchors(old: Sequence[str], new: Sequence[str], box: tuple[int, int, int, int]) -> list[tuple[int, int]]:
    """The longest rising chain of lines that occur once on either side."""
    a1, a2, b1, b2 = box
    seen_old, seen_new = Counter(old[a1:a2]), Counter(new[b1:b2])
    at_new = {new[b]: b for b in range(b1, b2)}
    unique = [(a, at_new[old[a]]) for a in range(a1, a2) if seen_old[old[a]] == 1 and seen_new[old[a]] == 1]
    ends: list[int] = []  # smallest b that ends a chain of each length
    owners: list[int] = []  # index into `unique` of that chain's last pair
    before: list[int] = []
    for index, (_, b) in enumerate(unique):
        length = bisect_left(ends, b)
        before.append(owners[length - 1] if length else -1)
        ends[length : length + 1] = [b]
        owners[length : length + 1] = [index]
    chain: list[tuple[int, int]] = []
    index = owners[-1] if owners else -1
    while index >= 0:
        chain.append(unique[index])
        index = before[index]
    return chain[::-1]
