"""An edit report as compact text, complete by itself: what a model or a person reads."""

from __future__ import annotations

from collections.abc import Iterator

from regreen.model import EditError, EditReport, EditResult

_MAX_DIFF_CHARS = 8_000
_MAX_EDITS = 20


def describe(report: EditReport, *, diffs: bool = True) -> str:
    """The report in words, at most some 40,000 characters. Edits are counted from 1."""
    return "\n".join(_ok(report, diffs) if report.ok else _refused(report))


def _ok(report: EditReport, diffs: bool) -> Iterator[str]:
    written = bool(report.transaction)
    head = "Applied" if written else "Would apply (nothing written yet)"
    ids = f"transaction {report.transaction}" if written else f"plan {report.plan}"
    yield f"{head}: {_count(len(report.edits), 'edit')} in {_count(len(report.files), 'file')}; {ids}"
    for file in report.files:
        yield f"{file.action} {file.path} +{file.added} -{file.removed} sha256 {file.sha_after}"
    yield from (f"warning: {text}" for text in report.warnings)
    left = _MAX_DIFF_CHARS
    for file in report.files if diffs else ():
        if len(file.diff) > left:
            yield f"(diff of {file.path} left out: {len(file.diff)} characters)"
            continue
        left -= len(file.diff)
        yield file.diff.rstrip("\n")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _refused(report: EditReport) -> Iterator[str]:
    yield from report.warnings
    failed = [result for result in report.edits if result.error is not None]
    for result in failed[:_MAX_EDITS]:
        if result.error is not None:
            yield from _error(result, result.error)
    if len(failed) > _MAX_EDITS:
        yield f"... and {len(failed) - _MAX_EDITS} more edits that cannot be applied"


def _error(result: EditResult, error: EditError) -> Iterator[str]:
    yield f"edit {result.index + 1}: {error.kind}: {error.message}"
    if error.first_difference is not None:
        first = error.first_difference
        yield f"  first difference at line {first.line}:\n    SEARCH: {first.expected}\n    file:   {first.found}"
    if error.closest is not None and error.closest.text:
        yield "  the file has:\n" + "\n".join("    " + row for row in error.closest.text.split("\n"))
    if error.hint:
        yield f"  hint: {error.hint}"
