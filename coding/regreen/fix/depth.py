"""Does a test that still fails get further than before? Judged by the place where it fails, never by what it says.

| before                            | now                                                   |           |
| --------------------------------- | ----------------------------------------------------- | --------- |
| in the test's own function        | on a later line of it                                 | further   |
| in the code under test            | an assertion in the test's own file                   | further   |
| not loaded, crashed, hanging      | an assertion in the test's own file                   | further   |
| in the test's own file            | in the code under test, or not ended at all           | back      |
| in the test's own function        | on an earlier line of it                              | back      |
| passed, or failed                 | failed, or not run                                    | back      |
| anything                          | the same place with another message, another helper   | no change |
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from regreen.fix.identities import (
    COLLECTION,
    FAILING,
    FILE_MARKS,
    PASSING,
    STOPPED,
    holds_tests,
    in_module,
    module_names,
)
from regreen.model import Failure, SuiteReport

_ASSERTS = re.compile(r"assert|expect|comparison|\A(?:Failure|Failed|Error)\Z", re.IGNORECASE)
_PARTS = re.compile(r"::| > |[/.\\#]")
_NAMELESS = ("", "<anonymous>")  # a callback, as the tests of JavaScript are
_NOT_ENDED, _ELSEWHERE, _OWN = range(3)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a test fails. `function` is set only inside the test's own function."""

    rank: int
    line: int
    function: str | None
    asserts: bool


def further(still: Iterable[str], now: SuiteReport, best: SuiteReport) -> frozenset[str]:
    """Those of the failing tests that get further than in the best tree; none at all if any of them falls back.

    Of a failure that a bounded report leaves out nothing is known: it counts neither way.
    """
    before = {f.id: f for f in best.failures}
    after = {f.id: f for f in now.failures}
    gained: set[str] = set()
    for test in still:
        step = _lost(test, now, best) or _step(before.get(test), after.get(test), best.project)
        if step < 0:
            return frozenset()
        if step > 0:
            gained.add(test)
    return frozenset(gained)


def _lost(test: str, now: SuiteReport, best: SuiteReport) -> int:
    was, is_now = best.outcomes.get(test), now.outcomes.get(test)
    return -1 if was in PASSING or (was in FAILING and is_now not in FAILING) else 0


def _step(before: Failure | None, after: Failure | None, project: str) -> int:
    if before is None or after is None:
        return 0
    was, is_now = place(before, project), place(after, project)
    if is_now.rank < was.rank:
        return -1
    if was.rank < is_now.rank:
        return int(is_now.rank == _OWN and is_now.asserts)
    if was.function is None or was.function != is_now.function:
        return 0
    return (is_now.line > was.line) - (is_now.line < was.line)


def place(failure: Failure, project: str = "") -> Place:
    """The place of a failure; `project` is the folder that ids are relative to."""
    asserts = _ASSERTS.search(failure.kind) is not None or (
        failure.kind == "panic" and failure.message.startswith("assert")
    )
    if failure.kind == COLLECTION or failure.kind in STOPPED:
        return Place(_NOT_ENDED, 0, None, asserts=False)
    function = _function(failure)
    named = _is_named(function, failure.id)
    if not _is_own_file(failure, project) and not ("::" in function and named):
        return Place(_ELSEWHERE, 0, None, asserts)
    return Place(_OWN, failure.line, function if named or function in _NAMELESS else None, asserts)


def _function(failure: Failure) -> str:
    """The innermost function, which a signature has between the file and the hash."""
    where = failure.signature.removeprefix(f"{failure.kind} ").rpartition(" ")[0]
    start = f"{failure.file}:"
    return where.removeprefix(start) if where.startswith(start) else ""


def _is_named(function: str, test_id: str) -> bool:
    """Is it the test's own function? `tests::adds` in `target::tests::adds`, `test_a` in `t.py::C::test_a[1]`."""
    if "::" in function:
        return test_id == function or test_id.endswith(f"::{function}")
    bare = test_id.partition("[")[0]
    return function not in _NAMELESS and function.rpartition(".")[2] in _PARTS.split(bare)


def _is_own_file(failure: Failure, project: str) -> bool:
    file = failure.file
    for mark in FILE_MARKS:
        head, found, _ = failure.id.partition(mark)
        if found and ("." in head or "/" in head):
            return file == (f"{project}/{head}" if project else head)
    if file.endswith((".py", ".pyi")):
        return in_module(failure.id, module_names(file))
    return holds_tests(file) and not file.endswith(".rs")
