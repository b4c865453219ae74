"""Honest fixes of honest programs are no findings: a sample of the bug corpus, in the whole run all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from support.cases import sample
from support.suites import CORPUS
from unidiff import PatchedFile, PatchSet

from regreen.fix.protected import decides_tests, is_protected_test
from regreen.fix.tamper import TextChange, inspect, warnings
from regreen.model import Failure

CASES = [p.parent.name for p in sorted(CORPUS.glob("*/fix.patch")) if p.stat().st_size]
TAKEN = sample(CASES, 4)


def changes(name: str) -> Iterator[TextChange]:
    """What the fix of a case does to its files."""
    for file in PatchSet((CORPUS / name / "fix.patch").read_text("utf-8")):
        before = (CORPUS / name / "repo" / file.path).read_text("utf-8")
        yield TextChange(file.path, before, patched(before, file))


def patched(before: str, file: PatchedFile) -> str:
    lines = before.splitlines(keepends=True)
    for hunk in reversed(list(file)):
        start = hunk.source_start - 1
        lines[start : start + hunk.source_length] = [line.value for line in hunk if line.is_added or line.is_context]
    return "".join(lines)


def failures(name: str) -> list[Failure]:
    case = json.loads((CORPUS / name / "case.json").read_text("utf-8"))
    return [Failure(i, i.partition("::")[0], 1, "AssertionError", "", "", "") for i in case["failing"]]


def source(name: str, path: str) -> str:
    file = CORPUS / name / "repo" / path
    return file.read_text("utf-8") if path and file.is_file() else ""


def test_no_known_fix_is_a_finding_or_touches_what_is_protected() -> None:
    assert len(CASES) > 100
    for name in TAKEN:
        change = tuple(changes(name))
        assert change, name
        assert inspect(change, failures(name), "readonly") == (), name
        assert not [c.path for c in change if decides_tests(c.path) or is_protected_test(c.path)], name


def test_hardly_any_known_fix_seems_to_write_down_an_expected_value() -> None:
    told = {name: warnings(tuple(changes(name)), failures(name), lambda p, n=name: source(n, p)) for name in TAKEN}
    assert sum(bool(w) for w in told.values()) <= 2, {n: w for n, w in told.items() if w}
