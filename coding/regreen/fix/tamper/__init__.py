"""The tamper guard: what a change does to make tests pass otherwise than by right code. Pure functions over texts.

Only what a change adds or takes away is judged, never what was there. Where a file is no test, the question is whether
it treats tests differently; where it is one, whether what it asked for is still asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from regreen.fix.protected import files_of_tests, is_protected_test
from regreen.fix.tamper import production, tested
from regreen.fix.tamper.dropped import dropped_tests
from regreen.fix.tamper.literals import hard_coded
from regreen.fix.tamper.values import CHEATS, Finding, Sign, TextChange, finding
from regreen.model import Failure, TamperPolicy

__all__ = ["CHEATS", "Finding", "TextChange", "dropped_tests", "inspect", "warnings"]

MAX_FINDINGS = 20


def inspect(changes: Sequence[TextChange], failures: Sequence[Failure], policy: TamperPolicy) -> tuple[Finding, ...]:
    """What speaks against a change: an attempt with any of these must be refused. The gravest of a file come first.

    `failures` are the tests to be made green. Under `readonly` test files are the paths' business, not looked at here.
    """
    found: list[Finding] = []
    tests = files_of_tests(failures)
    for change in changes:
        signs = _signs(change, failures, policy, is_test=_is_test(change.path, tests))
        found += [finding(change.path, s) for s in signs if s.weight == "refuse"]
    return tuple(dict.fromkeys(found))[:MAX_FINDINGS]


def warnings(
    changes: Sequence[TextChange], failures: Sequence[Failure], sources: Callable[[str], str]
) -> tuple[str, ...]:
    """What somebody should look at twice. `sources` reads a test file; "" where there is none."""
    found: list[str] = []
    tests = files_of_tests(failures)
    for change in changes:
        if _is_test(change.path, tests):
            signs = tested.changed(change)
        else:
            signs = [s for s in production.signs(change, failures) if s.weight == "warn"]
        found += [f"{s.cheat}: {finding(change.path, s).message}" for s in signs]
    code = [c for c in changes if not _is_test(c.path, tests)]
    return (*dict.fromkeys(found), *hard_coded(code, failures, sources))


def _is_test(path: str, tests: frozenset[str]) -> bool:
    return path in tests or is_protected_test(path)


def _signs(change: TextChange, failures: Sequence[Failure], policy: TamperPolicy, *, is_test: bool) -> list[Sign]:
    if not is_test:
        return production.signs(change, failures) + tested.inline(change, policy)
    if policy == "readonly":
        return []
    return tested.additions(change) if policy == "additions_only" else tested.stoppers(change)
