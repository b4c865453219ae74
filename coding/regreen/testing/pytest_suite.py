"""The pytest runner: one process, or several where a test crashes or hangs and the others are still to be known."""

from __future__ import annotations

import re
import secrets
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from regreen import commands, sandbox
from regreen.errors import RegreenError, UsageError
from regreen.model import CaseOutcome, Counts, Failure, SuiteReport, SuiteStatus
from regreen.redact import Redactor
from regreen.sandbox import Cancel
from regreen.testing.channel import Frame, RawFailure, Record
from regreen.testing.condense import group, make_failure, neutral
from regreen.testing.interpreter import Interpreter, NoInterpreter, find_interpreter
from regreen.testing.pytest_process import Launch, Part, run_part
from regreen.testing.request import OnProgress, Progress, SuiteRequest
from regreen.testing.selection import Selected, find_name, select
from regreen.testing.verdict import Culprit, Facts, Verdict, decide, ending

MAX_CULPRITS = 20
KEPT_LOGS = 20
MAX_WRITTEN = 5000
_LAST_FAILED = frozenset({"--lf", "--last-failed"})
# every failing test is wanted, whatever `-x` says in the project's settings, and one file that cannot be imported
# must not hide the results of all others; words of the caller come later and win
_THOROUGH = ("--maxfail=0", "--continue-on-collection-errors")
_DEPENDENCY_FOLDERS = frozenset({"node_modules", "site-packages", ".venv", "venv", ".tox", ".nox", "__pycache__"})
_LOG_TAIL_BYTES = 16 * 1024
_STACK_LINE = re.compile(r'^  File "(?P<path>.+)", line (?P<line>\d+) in (?P<name>.+)$')


@dataclass
class Tally:
    """All processes of one run put together."""

    collected: tuple[str, ...] = ()
    outcomes: dict[str, CaseOutcome] = field(default_factory=dict[str, CaseOutcome])
    durations: dict[str, float] = field(default_factory=dict[str, float])
    failures: dict[str, RawFailure] = field(default_factory=dict[str, RawFailure])
    kinds: dict[str, str] = field(default_factory=dict[str, str])  # failures that are no exception: collection, ...
    collection: dict[str, RawFailure] = field(default_factory=dict[str, RawFailure])
    culprits: dict[str, Culprit] = field(default_factory=dict[str, Culprit])
    unsupervised: bool = False

    def add(self, part: Part) -> None:
        record = part.record
        self.unsupervised = self.unsupervised or part.completed.unsupervised
        self.collected = self.collected or record.collected or ()
        self.collection.update(record.collection)
        for test, outcome in record.outcomes.items():
            self.outcomes[test] = outcome
            self.durations[test] = record.durations.get(test, 0.0)
        self.failures.update(record.failures)
        for test, raw in (*record.collection.items(), *_of_conftest(record)):
            self.outcomes[test] = "error"
            self.failures[test] = raw
            self.kinds[test] = "collection"

    def blame(self, part: Part, log: str) -> bool:
        """Make failures of the tests that ended or held up this process. True if there are any."""
        found = _culprits(part)
        for test, culprit in found.items():
            frames = _stack_frames(part.stack if culprit.kind == "timeout" else log)
            place = part.record.places.get(test) or (test.partition("::")[0], 0)
            self.outcomes[test] = "failed"
            message = _BLAME[culprit.kind] + culprit.how
            self.failures[test] = RawFailure(test, culprit.kind, message, frames, place=place)
            self.kinds[test] = culprit.kind
            self.culprits[test] = culprit
        return bool(found)


_BLAME = {"timeout": "did not end in time: ", "crash": "the test process ended here: "}


def _of_conftest(record: Record) -> list[tuple[str, RawFailure]]:
    return [(record.conftest.id, record.conftest)] if record.conftest is not None else []


def _culprits(part: Part) -> dict[str, Culprit]:
    lost = {test: Culprit("crash", said) for test, said in part.record.lost_workers.items()}
    if part.completed.cancelled or part.record.exit_code is not None:
        return lost
    standing = tuple(part.record.running)
    if not standing and part.record.collecting is not None:
        standing = (part.record.collecting[0],)
    if part.completed.timed_out:
        return {**lost, **dict.fromkeys(part.overdue or standing, Culprit("timeout", "it was stopped"))}
    return {**lost, **dict.fromkeys(standing, Culprit("crash", ending(part.completed)))}


def _stack_frames(text: str) -> tuple[Frame, ...]:
    """Frames of the current thread from a faulthandler dump, innermost last."""
    block = text.rpartition("Current thread")[2] if "Current thread" in text else ""
    frames: list[Frame] = []
    for line in block.splitlines()[1:]:
        match = _STACK_LINE.match(line)
        if match is None:
            break
        frames.append(Frame(match["path"], int(match["line"]), match["name"]))
    return tuple(reversed(frames))


def run_pytest(request: SuiteRequest, cancel: Cancel, on_progress: OnProgress | None) -> SuiteReport:
    """Run the tests of a Python project."""
    started = time.monotonic()
    level = sandbox.require(request.settings.sandbox)
    request.store_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    arguments = _caller_arguments(request)
    root = request.workspace.root
    selected = select(request.selection, root)
    interpreter = request.interpreter or find_interpreter(request.workspace, request.settings, cancel)
    blank = SuiteReport(SuiteStatus.NO_TESTS, "pytest", (), "", level, Counts(), (), (), 0.0)
    if isinstance(interpreter, NoInterpreter):
        if cancel.is_set():
            return replace(blank, status=SuiteStatus.CANCELLED, message="the run was cancelled")
        return replace(blank, status=SuiteStatus.ENVIRONMENT, message=interpreter.message)
    blank = replace(blank, interpreter=interpreter.path, argv=_shown(interpreter, (*arguments, *request.selection)))
    if selected.unknown:
        return replace(blank, message=f"matches no test: {', '.join(selected.unknown)} (no such file or folder)")
    run = _Run(request, interpreter, cancel, on_progress, started)
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
        started: float,
    ) -> None:
        self._request = request
        self._interpreter = interpreter
        self._cancel = cancel
        self._on_progress = on_progress
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
        part = run_part(self._launch(("--collect-only", "-q")), self._request, self._cancel, self._tell_written)
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

            part = run_part(launch, self._request, self._cancel, changed)
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
            counts=_counts(tally.outcomes),
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
        notes = [f"interpreter: {who.source} (Python {who.version}, pytest {who.pytest_version})"]
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


def _counts(outcomes: dict[str, CaseOutcome]) -> Counts:
    c = Counter(outcomes.values())
    return Counts(c["passed"], c["failed"], c["error"], c["skipped"], c["xfailed"], c["xpassed"], len(outcomes))
