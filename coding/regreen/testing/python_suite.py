"""Runs the tests of a Python project: one process, or several where a test crashes or hangs and the others are still to
be known. What differs between the runners is a value (`PythonRunner`); all else is the same.

How one process comes about is handed in (`RunPart`): a cold start, or a fork of a warm one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from regreen import commands, sandbox
from regreen.commands import CheckedCommand
from regreen.errors import UsageError
from regreen.model import CaseOutcome, Counts, Failure, SuiteReport, SuiteStatus
from regreen.redact import Redactor
from regreen.sandbox import Cancel
from regreen.testing.channel import RawFailure, Record
from regreen.testing.condense import group, make_failure, neutral
from regreen.testing.interpreter import Interpreter, Needs, NoInterpreter, find_interpreter
from regreen.testing.logs import new_log, tail
from regreen.testing.pytest_process import Launch, OnChange, Part, RunPart
from regreen.testing.reported import process_notes
from regreen.testing.request import OnProgress, Progress, SuiteRequest
from regreen.testing.selection import Selected
from regreen.testing.sources import Sources
from regreen.testing.tally import Tally, counts
from regreen.testing.verdict import Facts, Verdict, decide, names
from regreen.wire import counted

MAX_CULPRITS = 20
_LEAST_PROBE_S = 5.0  # a busy machine may take that long to start an interpreter
MAX_WRITTEN = 5000
_DEPENDENCY_FOLDERS = frozenset({"node_modules", "site-packages", ".venv", "venv", ".tox", ".nox", "__pycache__"})


@dataclass(frozen=True, slots=True)
class PythonRunner:
    """One runner. `inside` is the module that runs in the project's interpreter; `thorough` are words that go before
    all others, `collecting` those that make it only name its tests.

    `words` are those of a caller's command that the inside is given; `select` sorts the selection, and what else of
    the command says which tests are meant; `apart`: these are not words for the runner, but go to the inside by
    themselves. `find_name` gives the ids that a bare name means, or every candidate; `unmatched` what of a selection
    took in no test. `notes` are added to every report.
    """

    name: Needs
    inside: str
    thorough: tuple[str, ...]
    collecting: tuple[str, ...]
    apart: bool
    words: Callable[[SuiteRequest, CheckedCommand], tuple[str, ...]]
    select: Callable[[SuiteRequest, CheckedCommand | None], Selected]
    find_name: Callable[[str, Iterable[str]], tuple[str, ...]]
    unmatched: Callable[[Sequence[str], Tally], list[str]]
    notes: Callable[[SuiteRequest], list[str]]


def run_python(
    runner: PythonRunner,
    request: SuiteRequest,
    cancel: Cancel,
    on_progress: OnProgress | None,
    *,
    process: RunPart,
) -> SuiteReport:
    """Run the tests of a Python project. `process` runs one process; what it raises is raised here."""
    started = time.monotonic()
    isolation = sandbox.require(request.settings)
    request.store_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    command = _checked(runner, request)
    arguments = (*request.workers, *(runner.words(request, command) if command else ()))
    selected = runner.select(request, command)
    interpreter = request.interpreter or find_interpreter(
        request.workspace,
        request.settings,
        cancel,
        start=request.project,
        needs=runner.name,
        limit_s=max(_LEAST_PROBE_S, request.timeout_s),
    )
    blank = SuiteReport(SuiteStatus.NO_TESTS, runner.name, (), "", "", Counts(), (), (), 0.0)
    if isinstance(interpreter, NoInterpreter):
        if cancel.is_set():
            return replace(blank, status=SuiteStatus.CANCELLED, message="the run was cancelled")
        return replace(blank, status=SuiteStatus.ENVIRONMENT, message=interpreter.message)
    argv = _shown(runner, interpreter, command, request)
    blank = replace(blank, interpreter=interpreter.path, argv=argv, borrowed=interpreter.borrowed)
    if selected.unknown:
        return replace(blank, message=f"matches no test: {', '.join(selected.unknown)} (no such file or folder)")
    run = _Run(runner, request, interpreter, cancel, on_progress, process, started)
    blank = replace(blank, sandbox=isolation.level, network=isolation.network)
    if selected.names:
        found = run.find_names(selected)
        if isinstance(found, Verdict):
            return replace(blank, status=found.status, message=found.message, log=str(run.log), cpu_s=run.cpu_s)
        selected = found
    facts, tally = run.rounds(arguments, selected)
    return run.report(blank, facts, tally)


def _checked(runner: PythonRunner, request: SuiteRequest) -> CheckedCommand | None:
    if not request.argv:
        return None
    checked = commands.check(request.argv, request.workspace.root)
    if checked.runner != runner.name:
        raise UsageError("invalid_arguments", f"`{checked.words[0]}` is not {runner.name}", "name the right runner")
    return checked


def _shown(
    runner: PythonRunner, interpreter: Interpreter, command: CheckedCommand | None, request: SuiteRequest
) -> tuple[str, ...]:
    words = command.words[3:] + command.arguments if command else ()  # behind `python -m unittest`
    return (interpreter.path, "-m", runner.name, *words, *request.selection)


class _Run:
    """One call: its clock, its log, and the processes it takes."""

    def __init__(
        self,
        runner: PythonRunner,
        request: SuiteRequest,
        interpreter: Interpreter,
        cancel: Cancel,
        on_progress: OnProgress | None,
        process: RunPart,
        started: float,
    ) -> None:
        self._runner = runner
        self._request = request
        self._interpreter = interpreter
        self._cancel = cancel
        self._on_progress = on_progress
        self._process = process
        self._started = started
        self.log = new_log(request.store_folder)
        self._redact = Redactor.from_environ(request.settings.may_be_told)
        self._sources = Sources(request.workspace)
        self._written: set[str] = set()
        self._written_full = False
        self._used_s = 0.0

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all processes so far."""
        return round(self._used_s, 3)

    def _part(self, launch: Launch, on_change: OnChange) -> Part:
        part = self._process(launch, self._request, self._cancel, on_change)
        self._used_s += part.completed.cpu_s
        return part

    def _left_s(self) -> float:
        return self._request.timeout_s - (time.monotonic() - self._started)

    def _launch(
        self, words: tuple[str, ...], tests: tuple[str, ...], *, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()
    ) -> Launch:
        apart = self._runner.apart
        return Launch(
            self._interpreter,
            (*self._runner.thorough, *words, *(() if apart else tests)),
            self.log,
            max(0.1, self._left_s()),
            only,
            skip,
            inside=self._runner.inside,
            targets=tests if apart else (),
        )

    def find_names(self, selected: Selected) -> Selected | Verdict:
        """The ids of bare names, by collecting everything once; or why there are none."""
        launch = self._launch(self._runner.collecting, selected.everything)
        part = self._part(launch, self._tell_written)
        ids = part.record.collected
        if ids is None:
            tally = Tally()
            tally.add(part)
            return decide(self._facts(part, tally, Selected()))
        found: dict[str, str] = {}
        for name in selected.names:
            meant = self._runner.find_name(name, ids)
            if not meant:
                return Verdict(SuiteStatus.NO_TESTS, f"matches no test: {name}")
            if len(meant) > 1:
                shown = ", ".join(meant[:5])
                return Verdict(SuiteStatus.NO_TESTS, f"`{name}` is the name of {len(meant)} tests, use one of: {shown}")
            found[next(iter(meant))] = name
        return selected.with_ids(found)

    def rounds(self, words: tuple[str, ...], selected: Selected) -> tuple[Facts, Tally]:
        """Run; where a test ended or held up the process, and the caller wants it, go on without that test."""
        tally = Tally()
        more = tuple[str, ...]()
        skip = tuple[str, ...]()
        while True:
            launch = self._launch((*words, *more), selected.arguments, only=self._request.last_failed, skip=skip)
            teller = _Teller(self._on_progress, tally)

            def changed(record: Record, teller: _Teller = teller) -> None:
                self._tell_written(record)
                teller(record)

            part = self._part(launch, changed)
            tally.add(part)
            blamed = tally.blame(part, tail(self.log))
            if not (blamed and self._request.isolate and self._worth_another(tally, selected)):
                return self._facts(part, tally, selected), tally
            skip = tuple(tally.outcomes)
            more = tuple(f"--ignore={t}" for t, culprit in tally.culprits.items() if culprit.loading)

    def _worth_another(self, tally: Tally, selected: Selected) -> bool:
        """Whether tests are left that could still become known."""
        if len(tally.culprits) >= MAX_CULPRITS or self._left_s() <= 0:
            return False
        if any(t in tally.culprits for s in selected.asked for t in (s, s.partition("::")[0])):
            return False  # a selected file itself cannot be imported
        return not tally.collected or any(t not in tally.outcomes for t in tally.collected)

    def _tell_written(self, record: Record) -> None:
        on_written = self._request.on_written
        if on_written is None or not record.written:
            return
        fresh = [p for p in record.written if p not in self._written][: MAX_WRITTEN - len(self._written)]
        self._written.update(fresh)
        self._written_full = self._written_full or record.written_full or len(self._written) >= MAX_WRITTEN
        record.written.clear()
        if fresh:
            on_written(fresh)

    def _facts(self, part: Part, tally: Tally, selected: Selected) -> Facts:
        asked: Mapping[str, str] = selected.asked
        if self._request.last_failed:
            asked = {}
        return Facts(
            runner=self._runner.name,
            record=part.record,
            completed=part.completed,
            collected=tally.collected,
            outcomes=tally.outcomes,
            collection=tally.collection,
            culprits=tally.culprits,
            selection=tuple(asked.values()),
            unmatched=tuple(asked[s] for s in self._runner.unmatched(tuple(asked), tally)),
            modules=self._modules() if tally.collection or part.record.conftest else (),
            interpreter=self._interpreter.path,
            log=neutral(self._redact(tail(self.log))),
            out_of_time=self._left_s() <= 0 and part.record.exit_code is None,
        )

    def _modules(self) -> frozenset[str]:
        """The names under which files and folders of the project could be imported."""
        names: set[str] = set()
        for path in self._request.workspace.scan(skip=lambda p: PurePosixPath(p).name in _DEPENDENCY_FOLDERS):
            if path.endswith(".py"):
                pure = PurePosixPath(path)
                names.update((pure.stem, *pure.parts[:-1]))
        return frozenset(names)

    def report(self, blank: SuiteReport, facts: Facts, tally: Tally) -> SuiteReport:
        verdict = decide(facts)
        failures = tuple(self._failure(test, raw, tally) for test, raw in tally.failures.items())
        outcomes = dict(tally.outcomes) if not facts.deaf else _reds(tally.outcomes)
        return replace(
            blank,
            status=verdict.status,
            message=self._redact(verdict.message),
            counts=counts(outcomes),
            failures=failures,
            groups=group(failures),
            duration_s=round(time.monotonic() - self._started, 3),
            cpu_s=self.cpu_s,
            log=str(self.log),
            notes=self._notes(facts, tally),
            outcomes=outcomes,
            durations_s=dict(tally.durations),
        )

    def _failure(self, test: str, raw: RawFailure, tally: Tally) -> Failure:
        workspace = self._request.workspace
        file, line = raw.place
        raw = replace(raw, place=(str(self._request.folder / file) if file else "", line))
        if tally.kinds.get(test) in ("crash", "timeout"):
            raw = replace(raw, frames=self._sources.around(raw.frames))
        else:
            self._sources.look(raw.frames)
        return make_failure(raw, workspace.root, self._redact, kind=tally.kinds.get(test, ""))

    def _notes(self, facts: Facts, tally: Tally) -> tuple[str, ...]:
        completed = facts.completed
        if tally.unsupervised:
            completed = replace(completed, unsupervised=True)
        notes = [f"interpreter: {self._interpreter.shown}", *tally.notes, *process_notes(completed)]
        if completed.limit:
            notes.append(f"the tests reached the {completed.limit.replace('_', ' ')} limit")
        if facts.record.foreign:
            notes.append("something else than the runner wrote on its private channel; that was ignored")
        if self._written_full:
            notes.append(f"the tests wrote more than {MAX_WRITTEN} paths of the project; the others were not told")
        if facts.not_run:
            notes.append(f"{counted(len(facts.not_run), 'collected test')} did not run")
        if tally.culprits and self._request.isolate:
            notes.append("tests that crash or hang were left out and the others run again without them")
        shared = [i for i, n in Counter(tally.collected).items() if n > 1]
        if shared:
            notes.append(f"several tests share a name, and the worst outcome stands for them: {names(shared)}")
        if tally.subtests:
            parts = sum(map(len, tally.subtests.values()))
            notes.append(f"{counted(parts, 'subtest')} failed, of {counted(len(tally.subtests), 'test')}")
        return (*notes, *self._runner.notes(self._request))


def _reds(outcomes: Mapping[str, CaseOutcome]) -> dict[str, CaseOutcome]:
    return {t: o for t, o in outcomes.items() if o in ("failed", "error")}


class _Teller:
    """Tells progress when a test has started or ended, not on every message."""

    def __init__(self, on_progress: OnProgress | None, tally: Tally) -> None:
        self._on_progress = on_progress
        self._before = len(tally.outcomes)
        self._failing = sum(o in ("failed", "error") for o in tally.outcomes.values())
        self._total = len(tally.collected)
        self._last: Progress | None = None

    def __call__(self, record: Record) -> None:
        if self._on_progress is None:
            return
        total = self._total or len(record.collected or ())
        current = next(reversed(record.running), "")
        now = Progress(self._before + len(record.ended), total, self._failing + len(record.failures), current)
        if now != self._last:
            self._last = now
            self._on_progress(now)
