"""The pytest runner: one process, or several where a test crashes or hangs and the others are still to be known.

How one process comes about is handed in (`RunPart`): a cold start, or a fork of a warm one. All else is the same.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from regreen import commands, sandbox
from regreen.errors import RegreenError, UsageError
from regreen.model import Counts, Failure, SuiteReport, SuiteStatus
from regreen.redact import Redactor
from regreen.sandbox import Cancel
from regreen.testing.channel import Frame, RawFailure, Record
from regreen.testing.condense import group, make_failure, neutral
from regreen.testing.interpreter import Interpreter, NoInterpreter, find_interpreter
from regreen.testing.pytest_process import Launch, Part, RunPart, run_part
from regreen.testing.request import OnProgress, Progress, SuiteRequest
from regreen.testing.selection import Selected, find_name, select
from regreen.testing.tally import Tally, counts
from regreen.testing.verdict import Facts, Verdict, decide

MAX_CULPRITS = 20
KEPT_LOGS = 20
MAX_WRITTEN = 5000
_LAST_FAILED = frozenset({"--lf", "--last-failed"})
# every failing test is wanted, whatever `-x` says in the project's settings, and one file that cannot be imported
# must not hide the results of all others; words of the caller come later and win
_THOROUGH = ("--maxfail=0", "--continue-on-collection-errors")
_DEPENDENCY_FOLDERS = frozenset({"node_modules", "site-packages", ".venv", "venv", ".tox", ".nox", "__pycache__"})
_LOG_TAIL_BYTES = 16 * 1024


def run_pytest(
    request: SuiteRequest, cancel: Cancel, on_progress: OnProgress | None, *, process: RunPart = run_part
) -> SuiteReport:
    """Run the tests of a Python project. `process` runs one pytest process; what it raises is raised here."""
    started = time.monotonic()
    isolation = sandbox.require(request.settings)
    request.store_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    arguments = _caller_arguments(request)
    selected = select(request.selection, request.folder)
    interpreter = request.interpreter or find_interpreter(request.workspace, request.settings, cancel)
    blank = SuiteReport(
        SuiteStatus.NO_TESTS, "pytest", (), "", isolation.level, Counts(), (), (), 0.0, isolation.network
    )
    if isinstance(interpreter, NoInterpreter):
        if cancel.is_set():
            return replace(blank, status=SuiteStatus.CANCELLED, message="the run was cancelled")
        return replace(blank, status=SuiteStatus.ENVIRONMENT, message=interpreter.message)
    blank = replace(blank, interpreter=interpreter.path, argv=_shown(interpreter, (*arguments, *request.selection)))
    if selected.unknown:
        return replace(blank, message=f"matches no test: {', '.join(selected.unknown)} (no such file or folder)")
    run = _Run(request, interpreter, cancel, on_progress, process, started)
    if selected.names:
        found = run.find_names(selected)
        if isinstance(found, Verdict):
            return replace(blank, status=found.status, message=found.message, log=str(run.log))
        selected = found
    to_be_matched = () if request.last_failed else selected.arguments
    facts, tally = run.rounds((*arguments, *selected.arguments), to_be_matched)
    return run.report(blank, facts, tally)


def _caller_arguments(request: SuiteRequest) -> tuple[str, ...]:
    if not request.argv:
        return ()
    checked = commands.check(request.argv, request.workspace.root)
    if checked.runner != "pytest":
        raise UsageError("invalid_arguments", f"`{checked.words[0]}` is not pytest", "name the right runner")
    if request.last_failed:
        return tuple(a for a in checked.arguments if a not in _LAST_FAILED)
    return checked.arguments


def _shown(interpreter: Interpreter, arguments: Iterable[str]) -> tuple[str, ...]:
    return (interpreter.path, "-m", "pytest", *arguments)


def _new_log(folder: Path) -> Path:
    """A fresh name for the complete output; of the older ones in the folder only the newest stay."""
    dated = sorted((p.stat().st_mtime_ns, p) for p in folder.glob("tests-*.log"))
    for _, old in dated[: -(KEPT_LOGS - 1)]:
        old.unlink(missing_ok=True)
    return folder / f"tests-{secrets.token_hex(4)}.log"


class _Run:
    """One call: its clock, its log, and the processes it takes."""

    def __init__(
        self,
        request: SuiteRequest,
        interpreter: Interpreter,
        cancel: Cancel,
        on_progress: OnProgress | None,
        process: RunPart,
        started: float,
    ) -> None:
        self._request = request
        self._interpreter = interpreter
        self._cancel = cancel
        self._on_progress = on_progress
        self._process = process
        self._started = started
        self.log = _new_log(request.store_folder)
        self._redact = Redactor.from_environ(request.settings.environ)
        self._written: set[str] = set()
        self._written_full = False

    def _left_s(self) -> float:
        return self._request.timeout_s - (time.monotonic() - self._started)

    def _launch(self, arguments: tuple[str, ...], *, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()) -> Launch:
        return Launch(self._interpreter, (*_THOROUGH, *arguments), self.log, max(0.1, self._left_s()), only, skip)

    def find_names(self, selected: Selected) -> Selected | Verdict:
        """The ids of bare names, by collecting everything once; or why there are none."""
        launch = self._launch(("--collect-only", "-q"))
        part = self._process(launch, self._request, self._cancel, self._tell_written)
        ids = part.record.collected
        if ids is None:
            tally = Tally()
            tally.add(part)
            return decide(self._facts(part, tally, ()))
        found: list[str] = []
        for name in selected.names:
            meant = find_name(name, ids)
            if not meant:
                return Verdict(SuiteStatus.NO_TESTS, f"matches no test: {name}")
            if len(meant) > 1:
                shown = ", ".join(meant[:5])
                return Verdict(SuiteStatus.NO_TESTS, f"`{name}` is the name of {len(meant)} tests, use one of: {shown}")
            found += meant
        return Selected((*selected.arguments, *found))

    def rounds(self, arguments: tuple[str, ...], selection: tuple[str, ...]) -> tuple[Facts, Tally]:
        """Run; where a test ended or held up the process, and the caller wants it, go on without that test."""
        tally = Tally()
        more: tuple[str, ...] = ()
        skip: tuple[str, ...] = ()
        while True:
            launch = self._launch((*arguments, *more), only=self._request.last_failed, skip=skip)
            teller = _Teller(self._on_progress, tally)

            def changed(record: Record, teller: _Teller = teller) -> None:
                self._tell_written(record)
                teller(record)

            part = self._process(launch, self._request, self._cancel, changed)
            tally.add(part)
            blamed = tally.blame(part, self._log_tail())
            if not (blamed and self._request.isolate and self._worth_another(tally, selection)):
                return self._facts(part, tally, selection), tally
            skip = tuple(tally.outcomes)
            more = tuple(f"--ignore={t}" for t in tally.culprits if "::" not in t)

    def _worth_another(self, tally: Tally, selection: tuple[str, ...]) -> bool:
        """Whether tests are left that could still become known."""
        if len(tally.culprits) >= MAX_CULPRITS or self._left_s() <= 0:
            return False
        if any(t in tally.culprits for s in selection for t in (s, s.partition("::")[0])):
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

    def _facts(self, part: Part, tally: Tally, selection: tuple[str, ...]) -> Facts:
        return Facts(
            record=part.record,
            completed=part.completed,
            collected=tally.collected,
            outcomes=tally.outcomes,
            collection=tally.collection,
            culprits=tally.culprits,
            selection=selection,
            modules=self._modules() if tally.collection or part.record.conftest else (),
            interpreter=self._interpreter.path,
            log=neutral(self._redact(self._log_tail())),
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

    def _log_tail(self) -> str:
        try:
            with self.log.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(0, size - _LOG_TAIL_BYTES))
                return file.read().decode(errors="replace")
        except OSError:
            return ""

    def report(self, blank: SuiteReport, facts: Facts, tally: Tally) -> SuiteReport:
        verdict = decide(facts)
        failures = tuple(self._failure(test, raw, tally) for test, raw in tally.failures.items())
        return replace(
            blank,
            status=verdict.status,
            message=verdict.message,
            counts=counts(tally.outcomes),
            failures=failures,
            groups=group(failures),
            duration_s=round(time.monotonic() - self._started, 3),
            log=str(self.log),
            notes=self._notes(facts, tally),
            outcomes=dict(tally.outcomes),
            durations_s=dict(tally.durations),
        )

    def _failure(self, test: str, raw: RawFailure, tally: Tally) -> Failure:
        root = self._request.workspace.root
        if tally.kinds.get(test) in ("crash", "timeout"):
            inside = [f for f in raw.frames if Path(f.path).is_relative_to(root)]
            raw = replace(raw, frames=tuple(self._with_source(f) for f in inside[-3:]))
        return make_failure(raw, root, self._redact, kind=tally.kinds.get(test, ""))

    def _with_source(self, frame: Frame) -> Frame:
        path = Path(frame.path).relative_to(self._request.workspace.root).as_posix()
        first = max(1, frame.line - 1)
        try:
            text = self._request.workspace.read_text(path, first, frame.line + 1).text
        except RegreenError:
            return frame
        return replace(frame, first=first, lines=tuple(text.splitlines()))

    def _notes(self, facts: Facts, tally: Tally) -> tuple[str, ...]:
        completed = facts.completed
        who = self._interpreter
        notes = [f"interpreter: {who.source} (Python {who.version}, pytest {who.pytest_version})", *tally.notes]
        if tally.unsupervised:
            notes.append("the supervisor of the tests was killed, by a test perhaps; what could be found of the "
                         "processes that they had started was ended")  # fmt: skip
        if completed.left_processes:
            notes.append("the tests left processes running; they were ended")
        if completed.output_cut:
            notes.append(f"output cut: {completed.output_bytes} bytes came, only the first part was kept")
        if facts.record.foreign:
            notes.append("something else than the runner wrote on its private channel; that was ignored")
        if self._written_full:
            notes.append(f"the tests wrote more than {MAX_WRITTEN} paths of the project; the others were not told")
        if facts.not_run:
            notes.append(f"{len(facts.not_run)} collected tests did not run")
        if tally.culprits and self._request.isolate:
            notes.append("tests that crash or hang were left out and the others run again without them")
        return tuple(notes)


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
