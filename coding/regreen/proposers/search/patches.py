"""A candidate as a proposal: whole original lines as SEARCH, with as much context as makes them occur once. Pure."""

from __future__ import annotations

import difflib

from regreen.model import Replacement


def replacements(path: str, before: str, after: str) -> tuple[Replacement, ...]:
    """The changed regions of a file, each found exactly once in `before` by its text."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    regions = [(i1, i2, j1, j2) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal"]
    return tuple(_one(path, old, new, region) for region in _grown(old, regions))


def _grown(old: list[str], regions: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Regions widened until each occurs once; regions that meet become one."""
    found: list[tuple[int, int, int, int]] = []
    for region in regions:
        i1, i2, j1, j2 = region
        while not _unique(old, i1, i2) and (i1 > 0 or i2 < len(old)):
            if i1 > 0:
                i1, j1 = i1 - 1, j1 - 1
            if i2 < len(old) and not _unique(old, i1, i2):
                i2, j2 = i2 + 1, j2 + 1
        if found and i1 <= found[-1][1]:
            last = found.pop()
            i1, j1 = min(i1, last[0]), min(j1, last[2])
        found.append((i1, i2, j1, j2))
    return found


def _unique(old: list[str], start: int, end: int) -> bool:
    """Lines that are not all blank, at one place only, whatever their indentation."""
    wanted = [line.strip() for line in old[start:end]]
    if not any(wanted):
        return False
    size = end - start
    return sum([line.strip() for line in old[i : i + size]] == wanted for i in range(len(old) - size + 1)) == 1


def _one(path: str, old: list[str], new: list[str], region: tuple[int, int, int, int]) -> Replacement:
    i1, i2, j1, j2 = region
    return Replacement(path, "".join(old[i1:i2]), "".join(new[j1:j2]))


def changed_characters(before: str, after: str) -> tuple[int, int]:
    """How much a change removes and adds, in characters, between the common start and the common end."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return len(before) - start - end, len(after) - start - end
