"""The offline proposer: copies the project, localises the fault, tries candidates within its budget, proposes patches.

Nothing is written in the user's tree: candidates run in a private copy, and what passes is handed in as a proposal.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from regreen.errors import EnvironmentFault, RegreenError
from regreen.model import Brief, Proposal, SuspiciousLine
from regreen.proposers.search.candidates import Candidate, CandidateStream
from regreen.proposers.search.link import Link, Place, WorkerGone
from regreen.proposers.search.localise import ochiai, suspects, suspicious_lines
from regreen.proposers.search.patches import changed_characters, replacements
from regreen.proposers.search.rank import patch_order
from regreen.proposers.search.source import Source
from regreen.proposers.search.tree import TooLarge, copy_tree
from regreen.proposers.search.trial import Baseline, Trial, Verdict, run_baseline
from regreen.repo import FileList, is_test_file
from regreen.sandbox import Cancel
from regreen.settings import Settings
from regreen.testing import Interpreter
from regreen.wire import counted
from regreen.workspace import Workspace

MAX_PLAUSIBLE = 5
_MAX_SOURCE_BYTES = 400_000
_MANY_FILES = 200
_PARTIAL_S = 8.0  # CPU time after which a partial repair is proposed, if nothing better was found


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How far the search is."""

    tried: int
    plausible: int
    cpu_s: float
    budget_s: float
    message: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """A candidate that passed, wholly or in part."""

    candidate: Candidate
    verdict: Verdict
    before: str
    order: int

    @property
    def key(self) -> tuple[float, int]:
        removed, added = changed_characters(self.before, self.candidate.source)
        return patch_order(self.candidate.prior, removed, added, self.order)


@dataclass
class _Round:
    """The search in one state of the tree."""

    texts: Mapping[str, str]
    sources: Mapping[str, Source] = field(default_factory=dict[str, Source])
    stream: Iterator[Candidate] | None = None
    plausible: list[Patch] = field(default_factory=list[Patch])
    partial: list[Patch] = field(default_factory=list[Patch])
    late: list[Candidate] = field(default_factory=list[Candidate])  # ran out of time at first
    tried: int = 0
    goals: int = 0
    cpu_s: float = 0.0
    found_s: float = 0.0  # CPU time when the first plausible patch was found
    partial_s: float = 0.0
    offered: int = 0
    done: bool = False
    in_time: bool = True  # was everything tried?
    shut: bool = False  # do goal tests fail to load?
    failed: str = ""  # why the search could not go on


class SearchProposer:
    """Proposes single edits that make the failing tests pass; later calls give the next best, or go on from a new tree.

    `budget_s` is the CPU time of all calls together, of the worker and its children; `wall_s` limits the time on the
    clock (2.5 times the budget if not given). `paths` are the files that may be edited; test files never are. `flaky`
    tests say nothing about a candidate. `notes` says what the search could not do.
    """

    name = "search"
    costs_budget = True

    def __init__(
        self,
        workspace: Workspace,
        files: FileList,
        interpreter: Interpreter,
        settings: Settings,
        *,
        selection: Sequence[str] = (),
        paths: Sequence[str],
        budget_s: float,
        wall_s: float = 0.0,
        cancel: Cancel,
        on_progress: Callable[[SearchProgress], None] | None = None,
        flaky: Collection[str] = (),
    ) -> None:
        self._workspace = workspace
        self._files = files
        self._interpreter = interpreter
        self._settings = settings
        self._selection = tuple(selection)
        self._paths = tuple(p for p in paths if p.endswith(".py") and not is_test_file(p))
        self._budget_s = budget_s
        self._max_wall_s = wall_s or 2.5 * budget_s
        self._cancel = cancel
        self._on_progress = on_progress
        self._flaky = frozenset(flaky)
        self._round: _Round | None = None
        self._cpu_s = 0.0
        self._wall_s = 0.0
        self.suspicious: tuple[SuspiciousLine, ...] = ()
        self.notes: tuple[str, ...] = ()

    @property
    def cpu_s(self) -> float:
        """CPU seconds used so far."""
        return self._cpu_s

    @property
    def why(self) -> str:
        """Why there is no further proposal, in a sentence for the user; "" before the first."""
        round_ = self._round
        if round_ is None:
            return ""
        if not round_.texts:
            return "The offline search repairs Python only, and this run may edit no Python file but tests."
        if round_.failed:
            return f"The offline search could not do its work: {round_.failed}."
        if round_.shut and (broken := unparsable(round_.texts)):
            return f"`{broken}` has a syntax error: the offline search changes only files that can be parsed."
        ended = "its time was used up" if not round_.in_time else "it has no more to try"
        found = "no other passes the tests" if round_.offered else "none made a failing test pass"
        return f"The offline search tried {round_.tried} changes; {found}, and {ended}."

    async def propose(self, brief: Brief) -> Proposal | None:
        """The next patch, or None. Blocks its thread; ends soon after the cancel flag is set."""
        texts = read_texts(self._workspace, self._paths)
        if self._round is None or self._round.texts != texts:
            self._round = _Round(texts)
        round_ = self._round
        if not round_.plausible and not round_.done:
            self._search(round_, brief)
        return None if self._cancel.is_set() else self._next(round_)

    def _next(self, round_: _Round) -> Proposal | None:
        if round_.plausible:
            rivals = round_.offered + len(round_.plausible) - 1
            patch = round_.plausible.pop(0)
            round_.offered += 1
            return _proposal(patch, round_, rivals)
        if round_.partial and round_.done:
            patch = round_.partial[0]
            round_.partial = []
            return _proposal(patch, round_, 0)
        return None

    def _search(self, round_: _Round, brief: Brief) -> None:
        began = time.monotonic()
        try:
            with self._worker() as link:
                self._run(round_, brief, link, began)
        except (WorkerGone, TooLarge, EnvironmentFault) as e:
            round_.done = True
            round_.failed = str(e)
            self.notes = (*self.notes, f"the search stopped: {e}")
        self._wall_s += time.monotonic() - began

    @contextmanager
    def _worker(self) -> Generator[Link]:
        with private_worker(
            self._workspace, self._files, self._interpreter, self._settings, self._selection, self._cancel
        ) as link:
            try:
                yield link
            finally:
                self._cpu_s += link.cpu_s

    def _run(self, round_: _Round, brief: Brief, link: Link, began: float) -> None:
        stop_s = max(5.0, self._budget_s / 3)
        baseline = run_baseline(link, list(round_.texts), brief.failing, flaky=self._flaky, stop_s=stop_s)
        if not baseline.goals:
            round_.done = True
            round_.failed = "the failing tests pass in a copy of the listed files"
            self.notes = (*self.notes, round_.failed)
            return
        if round_.stream is None:
            round_.goals, round_.shut = len(baseline.goals), bool(baseline.errors)
            round_.sources = parse(round_.texts, baseline.touched)
            round_.stream = iter(self._candidates(round_.sources, baseline))
        trial = Trial(link, baseline, round_.sources)
        for candidate in round_.stream:
            self._try(round_, trial, candidate)
            if self._enough(round_, link, began):
                break
        else:
            self._late(round_, trial, link, began)
            round_.done = True
        round_.plausible.sort(key=lambda p: p.key)
        round_.partial.sort(key=lambda p: (-len(p.verdict.fixed), p.key))

    def _candidates(self, sources: Mapping[str, Source], baseline: Baseline) -> CandidateStream:
        scores = ochiai(baseline.ran)
        self.suspicious = suspicious_lines(scores, {p: s.lines for p, s in sources.items()})
        facts = baseline.facts
        return CandidateStream(suspects(sources, scores, facts), sources, facts, baseline.seen)

    def _try(self, round_: _Round, trial: Trial, candidate: Candidate, *, patient: bool = False) -> None:
        verdict = trial.run(candidate, patient=patient)
        round_.cpu_s += verdict.cpu_s
        if verdict.state == "skipped":
            return
        round_.tried += 1
        patch = Patch(candidate, verdict, round_.sources[candidate.path].text, round_.tried)
        if verdict.state == "plausible":
            round_.found_s = round_.found_s or round_.cpu_s
            round_.plausible.append(patch)
        elif verdict.state == "partial":
            round_.partial_s = round_.partial_s or round_.cpu_s
            round_.partial.append(patch)
        elif verdict.state == "timeout" and not patient:
            round_.late.append(candidate)
        if self._on_progress is not None and round_.tried % 20 == 1:
            used = self._cpu_s + trial.link.cpu_s
            self._on_progress(SearchProgress(round_.tried, len(round_.plausible), used, self._budget_s))

    def _late(self, round_: _Round, trial: Trial, link: Link, began: float) -> None:
        """Candidates that hit the first time limit, with a longer one: only while nothing else was found."""
        for candidate in round_.late:
            if round_.plausible or self._enough(round_, link, began):
                return
            self._try(round_, trial, candidate, patient=True)

    def _enough(self, round_: _Round, link: Link, began: float) -> bool:
        """Is it time to propose? Out of budget, enough rivals collected, or a partial repair to go on from."""
        used = self._cpu_s + link.cpu_s
        if used >= self._budget_s or self._wall_s + time.monotonic() - began >= self._max_wall_s:
            round_.done, round_.in_time = True, False
            return True
        if round_.plausible:
            more = max(0.5, round_.found_s / 3)
            return len(round_.plausible) >= MAX_PLAUSIBLE or round_.cpu_s >= round_.found_s + more
        if round_.partial and round_.cpu_s >= max(min(0.4 * self._budget_s, _PARTIAL_S), 2 * round_.partial_s):
            round_.done = True
            return True
        return False


@contextmanager
def private_worker(
    workspace: Workspace,
    files: FileList,
    interpreter: Interpreter,
    settings: Settings,
    selection: Sequence[str],
    cancel: Cancel,
) -> Generator[Link]:
    """A worker in a private copy of the listed files; both are gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="regreen-search-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        place = Place(workspace.root, folder)
        place.copy.mkdir(parents=True)
        copy_tree(workspace, files.paths, place.copy)
        link = Link(place, interpreter, settings, selection, cancel)
        try:
            yield link
        finally:
            link.close()


def localise(
    workspace: Workspace,
    files: FileList,
    interpreter: Interpreter,
    settings: Settings,
    *,
    selection: Sequence[str] = (),
    paths: Sequence[str],
    failing: Sequence[str] = (),
    budget_s: float = 5.0,
    cancel: Cancel,
) -> tuple[SuspiciousLine, ...]:
    """The most suspicious lines, for a brief. Runs each test once; empty when that cannot be done."""
    texts = read_texts(workspace, tuple(p for p in paths if p.endswith(".py") and not is_test_file(p)))
    try:
        with private_worker(workspace, files, interpreter, settings, selection, cancel) as link:
            baseline = run_baseline(link, list(texts), failing, stop_s=budget_s)
    except (WorkerGone, TooLarge, EnvironmentFault):
        return ()
    return suspicious_lines(ochiai(baseline.ran), {p: t.split("\n") for p, t in texts.items()})


def read_texts(workspace: Workspace, paths: Sequence[str]) -> dict[str, str]:
    """The editable files that are plain UTF-8, with LF as line end."""
    found: dict[str, str] = {}
    for path in paths:
        try:
            data = workspace.image(path).data
            text = data.decode("utf-8").replace("\r\n", "\n")
        except (RegreenError, UnicodeDecodeError):
            continue
        if len(data) <= _MAX_SOURCE_BYTES and not text.startswith("\ufeff") and "\r" not in text and "\f" not in text:
            found[path] = text
    return found


def unparsable(texts: Mapping[str, str]) -> str:
    """The first file that cannot be parsed; "" for none."""
    return next((path for path in sorted(texts) if Source.parse(path, texts[path]) is None), "")


def parse(texts: Mapping[str, str], touched: frozenset[str]) -> dict[str, Source]:
    """The files that this interpreter can parse; of many files only those that the failing tests touch."""
    chosen = sorted(texts) if len(texts) <= _MANY_FILES else sorted(touched & set(texts))[:_MANY_FILES]
    sources = {path: Source.parse(path, texts[path]) for path in chosen}
    return {path: source for path, source in sources.items() if source is not None}


def _proposal(patch: Patch, round_: _Round, rivals: int) -> Proposal:
    c = patch.candidate
    partial = patch.verdict.state == "partial"
    passing = counted(patch.verdict.pinned, "test passes", "tests pass")
    parts = [
        f"offline search: {c.template} at {c.path}:{c.line}: {c.about}.",
        f"{counted(round_.tried, 'candidate')} tried; {passing} with it,",
        f"{len(patch.verdict.fixed)} of {round_.goals} failing ones repaired.",
        "A step, not the whole repair." if partial else "Plausible, not proven correct",
    ]
    if not partial:
        parts[-1] += (
            f"; {counted(rivals, 'competing patch passes', 'competing patches pass')} the same tests."
            if rivals
            else "; no competing patch was found."
        )
    return Proposal(replacements=replacements(c.path, patch.before, c.source), note=" ".join(parts))
