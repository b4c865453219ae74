"""What a plan's report says besides the edits' own errors, and how much of it: bounded on any input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regreen.edits.explain import printable
from regreen.model import EditError, EditResult
from regreen.wire import shortened

_MAX_CLOSEST_CHARS = 20_000  # of all closest places in one report
_MAX_PATH_CHARS = 4_096  # no path is longer
_MAX_DETAILED = 50  # failed edits of one report that carry hints


def nothing_applied(failed: int, total: int) -> str:
    """The sentence that a refused response begins with."""
    if total == 1:
        return "NOTHING was applied. Correct what is reported and send the edit again."
    return (
        f"NOTHING was applied: {failed} of {total} edits cannot be, so none was. "
        f"Correct what is reported and send all {total} edits again."
    )


def changing_nothing(results: Sequence[EditResult]) -> list[EditResult]:
    """The results where all edits hold, but every file stays as it is; or there is no edit at all."""
    if not results:
        error = EditError("no_edits", "the proposal holds no edit", "send a block, or replacements")
        return [EditResult(0, "", "failed", error=error)]
    return [replace(result, status="failed", error=_no_op(result.path)) for result in results]


def _no_op(path: str) -> EditError:
    return EditError("no_op", f"`{path}`: the edits leave every file as it is",
                     "send only edits that change something")  # fmt: skip


def bounded(results: Sequence[EditResult]) -> tuple[EditResult, ...]:
    """The results, with as much detail as the size of a report allows; kind and message are always kept."""
    left = _MAX_CLOSEST_CHARS
    detailed = _MAX_DETAILED
    rows: list[EditResult] = []
    for given in results:
        result = replace(given, path=shortened(given.path, _MAX_PATH_CHARS))
        if result.error is None:
            rows.append(result)
            continue
        error = replace(result.error, message=printable(result.error.message), hint=printable(result.error.hint))
        left -= len(error.closest.text) if error.closest is not None else 0
        detailed -= 1
        if left < 0:
            error = replace(error, closest=None)
        if detailed < 0:
            error = EditError(error.kind, error.message, candidates=error.candidates)
        rows.append(replace(result, error=error))
    return tuple(rows)
