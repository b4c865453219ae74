"""What a run is given: the request, and the effects that it works with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from regreen.fix.brief import Insight
from regreen.fix.convergence import StopRules
from regreen.fix.gates import Gate, GateReport
from regreen.fix.scope import Scope
from regreen.model import Attempt, Proposal, SuiteReport, Tried
from regreen.settings import Limits
from regreen.snapshots import Snapshots
from regreen.workspace import Journal, Workspace


class RunTests(Protocol):
    """Runs tests cold, going on after one that crashes or hangs. An empty selection means: all.

    `on_written` is told, while they run, the paths that the test process itself writes, makes or removes.
    """

    def __call__(
        self,
        selection: Sequence[str],
        timeout_s: float,
        per_test_timeout_s: float,
        on_written: Callable[[Sequence[str]], None],
    ) -> SuiteReport: ...


@dataclass(frozen=True, slots=True)
class FixRequest:
    """What a run is asked to do. `selection` is the scope: the tests that count, empty for all.

    `history` holds the tries of an earlier run that this one goes on from: told to the proposer, and counted nowhere.
    """

    run_id: str
    selection: tuple[str, ...] = ()
    scope: Scope = field(default_factory=Scope)
    rules: StopRules = field(default_factory=StopRules)
    keep_partial: bool = False
    history: tuple[Tried, ...] = ()


def no_gate(gate: Gate) -> GateReport:
    """What there is to run gates with where none is configured."""
    raise AssertionError(f"no way to run the gate {gate.name}")


@dataclass(frozen=True, slots=True)
class FixBench:
    """The effects that a run works with.

    `insight` gathers what helps a proposer to read the failures; `protected_files` lists the files that decide what a
    test run says, `project_files` all that git does not ignore; `remarks` are said at every end; `record` makes an
    attempt durable, with the proposal behind it.
    """

    workspace: Workspace
    journal: Journal
    snapshots: Snapshots
    run_tests: RunTests
    insight: Callable[[SuiteReport], Insight]
    protected_files: Callable[[], Sequence[str]]
    cancelled: Callable[[], bool]
    limits: Limits
    strict_edits: bool = False
    gates: tuple[Gate, ...] = ()
    remarks: tuple[str, ...] = ()
    run_gate: Callable[[Gate], GateReport] = no_gate
    project_files: Callable[[], Sequence[str]] = tuple
    read_text: Callable[[str], str] = lambda _path: ""
    record: Callable[[Proposal, Attempt], None] = lambda _proposal, _attempt: None
