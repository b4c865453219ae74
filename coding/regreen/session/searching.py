"""The offline search in a fix run, and what it knows for others: where the failure probably sits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from regreen.events import Event
from regreen.fix import FixRun, Insight
from regreen.model import Brief, Proposal, SuiteReport, SuspiciousLine
from regreen.sandbox import Cancel
from regreen.session.repository import Session

if TYPE_CHECKING:
    from regreen.proposers.search import SearchProgress, SearchProposer
    from regreen.testing import Interpreter

_PYTHON = ("pytest", "unittest", "custom")  # runners whose tests the search may be able to run
_SHARE = 0.8  # of the budget that is left: what a search finds must still be verified within the budget
_INSIGHT_S = 8.0
_INSIGHT_FILES = 6
_INSIGHT_TOKENS = 1500


def project_interpreter(session: Session, cancel: Cancel) -> Interpreter | None:
    """The interpreter that the project's tests run in, if there is one."""
    from regreen.testing import Interpreter, find_interpreter

    found = find_interpreter(session.workspace, session.settings, cancel)
    return found if isinstance(found, Interpreter) else None


class OfflineSearch:
    """The search proposer, set up at its first turn: only then are the budget left and the files known."""

    name = "search"
    costs_budget = True

    def __init__(
        self,
        session: Session,
        run: FixRun,
        cancel: Cancel,
        *,
        limit_s: float,
        on_progress: Callable[[SearchProgress], None],
        hints: Hints,
    ) -> None:
        self._session, self._run, self._cancel = session, run, cancel
        self._limit_s = limit_s
        self._on_progress = on_progress
        self._hints = hints
        self._search: SearchProposer | None = None
        self._why_not = ""

    async def propose(self, brief: Brief) -> Proposal | None:
        self._search = self._search or self._make()
        if self._search is None:
            return None
        proposal = await self._search.propose(brief)
        self._hints.suspect(self._search.suspicious)
        return proposal

    @property
    def why(self) -> str:
        """Why there is no further proposal."""
        return self._why_not or (self._search.why if self._search is not None else "")

    def _make(self) -> SearchProposer | None:
        from regreen.proposers.search import SearchProposer
        from regreen.testing import Interpreter, find_interpreter
        from regreen.testing.selection import resolved

        report = self._hints.report
        if report is not None and report.runner not in _PYTHON:
            self._why_not = f"The offline search repairs Python only, and these tests are run by {report.runner}."
            return None
        interpreter = find_interpreter(self._session.workspace, self._session.settings, self._cancel)
        if not isinstance(interpreter, Interpreter):
            self._why_not = f"The offline search found no interpreter: {interpreter.message.rstrip('.')}."
            return None
        request = self._run.request
        ran = report.outcomes if report is not None else ()
        left_s = min(max(0.0, request.rules.budget_s - self._run.work_s), self._limit_s)
        files = self._session.files()
        return SearchProposer(
            self._session.workspace,
            files,
            interpreter,
            self._session.settings,
            selection=resolved(request.selection, self._session.root, ran),
            paths=[p for p in files.paths if request.scope.allows(p)],
            budget_s=left_s * _SHARE,
            wall_s=left_s,
            cancel=self._cancel,
            on_progress=self._on_progress,
            flaky=self._hints.flaky,
        )


class Hints:
    """Gathers what helps a caller: suspicious lines, and signatures of the files they stand in. Kept once gathered.

    Also what the run has found out so far: `report` of the best tree, and which tests are `flaky`. Only with `gathers`
    are the suspicious lines looked for, which takes seconds.
    """

    def __init__(self, session: Session, cancel: Cancel, allows: Callable[[str], bool], *, gathers: bool) -> None:
        self._session, self._cancel, self._allows = session, cancel, allows
        self.gathers = gathers
        self.report: SuiteReport | None = None
        self.flaky: frozenset[str] = frozenset()
        self._known: Insight | None = None
        self._suspicious: tuple[SuspiciousLine, ...] = ()

    def hear(self, event: Event) -> None:
        """Listen to the run."""
        if event.kind == "baseline_taken":
            self.flaky = frozenset(cast("list[str]", event.data["flaky"]))

    def suspect(self, lines: Sequence[SuspiciousLine]) -> None:
        """Take over what a search has found out already."""
        self._suspicious = tuple(lines)

    def __call__(self, report: SuiteReport) -> Insight:
        self.report = report
        if not self.gathers:
            return Insight()
        if self._known is None:
            suspicious = self._suspicious or self._localise(report)
            self._known = Insight(suspicious, self._signatures(report, suspicious))
        return self._known

    def _localise(self, report: SuiteReport) -> tuple[SuspiciousLine, ...]:
        from regreen.proposers.search import localise

        interpreter = project_interpreter(self._session, self._cancel)
        if interpreter is None:
            return ()
        files = self._session.files()
        return localise(
            self._session.workspace,
            files,
            interpreter,
            self._session.settings,
            paths=[p for p in files.paths if self._allows(p)],
            failing=sorted(report.failing),
            budget_s=_INSIGHT_S,
            cancel=self._cancel,
        )

    def _signatures(self, report: SuiteReport, suspicious: Sequence[SuspiciousLine]) -> tuple[str, ...]:
        named = dict.fromkeys([s.path for s in suspicious] + [f.file for f in report.failures if f.file])
        known = set(self._session.files().paths)
        paths = [p for p in named if p in known and p.endswith(".py")][:_INSIGHT_FILES]
        if not paths:
            return ()
        found = self._session.signatures(paths, max_tokens=_INSIGHT_TOKENS)
        return tuple(f"{f.path}:{s.line} {s.signature}" for f in found.files for s in f.symbols)
