"""The pytest runner: how its words and ids are made. The running itself is the same for all runners of Python."""

from __future__ import annotations

from collections.abc import Sequence

from regreen.commands import CheckedCommand
from regreen.model import SuiteReport
from regreen.sandbox import Cancel
from regreen.testing.pytest_process import RunPart, run_part
from regreen.testing.python_suite import PythonRunner, run_python
from regreen.testing.request import OnProgress, SuiteRequest
from regreen.testing.selection import Selected, find_name, select, selects
from regreen.testing.tally import Tally

_LAST_FAILED = frozenset({"--lf", "--last-failed"})
# every failing test is wanted, whatever `-x` says in the project's settings, and one file that cannot be imported
# must not hide the results of all others; words of the caller come later and win
_THOROUGH = ("--maxfail=0", "--continue-on-collection-errors")


def run_pytest(
    request: SuiteRequest, cancel: Cancel, on_progress: OnProgress | None, *, process: RunPart = run_part
) -> SuiteReport:
    """Run the tests of a Python project. `process` runs one pytest process; what it raises is raised here."""
    return run_python(PYTEST, request, cancel, on_progress, process=process)


def _words(request: SuiteRequest, command: CheckedCommand) -> tuple[str, ...]:
    if request.last_failed:
        return tuple(a for a in command.arguments if a not in _LAST_FAILED)
    return command.arguments


def _select(request: SuiteRequest, _command: CheckedCommand | None) -> Selected:
    return select(request.selection, request.folder)


def _unmatched(selection: Sequence[str], tally: Tally) -> list[str]:
    return [s for s in selection if not any(selects(s, test) for test in tally.collected)]


def _notes(_request: SuiteRequest) -> list[str]:
    return []


PYTEST = PythonRunner(
    name="pytest",
    inside="regreen_inside",
    thorough=_THOROUGH,
    collecting=("--collect-only", "-q"),
    apart=False,
    words=_words,
    select=_select,
    find_name=find_name,
    unmatched=_unmatched,
    notes=_notes,
)
