"""Runs a runner that leaves a machine report: plan, one supervised process, read the report, decide, condense.

A runner says how to start and how to read; everything else is the same for all and stands here.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from regreen import commands, sandbox
from regreen.commands.programs import batch_problem
from regreen.errors import UsageError
from regreen.model import CaseOutcome, Counts, Failure, SuiteReport, SuiteStatus
from regreen.redact import Redactor
from regreen.sandbox import Cancel, Command, Completed, child_environment
from regreen.testing.channel import RawFailure
from regreen.testing.condense import group, make_failure, neutral
from regreen.testing.heard import Absent, Asked, Ended, Facts, Heard, Plan, decide
from regreen.testing.lasting import LASTED, Lasting
from regreen.testing.logs import new_log, tail
from regreen.testing.looking import Look
from regreen.testing.messages import Messages
from regreen.testing.request import OnProgress, Progress, Runner, SuiteRequest
from regreen.testing.sources import Sources
from regreen.testing.verdict import names


class Reported(Protocol):
    """A runner that leaves a machine report."""

    @property
    def name(self) -> str: ...

    def plan(self, asked: Asked) -> Plan | Absent:
        """How to start it; or what is missing. Raises Refused for a selection that is not allowed."""
        ...

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        """What its report says. Never raises over a report that is broken: that is `finished=False`."""
        ...


def reported(runner: Reported) -> Runner:
    """The runner as an entry of the table."""

    def run(request: SuiteRequest, cancel: Cancel, on_progress: OnProgress | None) -> SuiteReport:
        return _run(runner, request, cancel, on_progress)

    return run


def _run(runner: Reported, request: SuiteRequest, cancel: Cancel, on_progress: OnProgress | None) -> SuiteReport:
    started = time.monotonic()
    isolation = sandbox.require(request.settings)
    request.store_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    words, arguments = _caller(runner.name, request)
    blank = SuiteReport(SuiteStatus.NO_TESTS, runner.name, (), "", "", Counts(), (), (), 0.0)
    with tempfile.TemporaryDirectory(prefix="regreen-", ignore_cleanup_errors=True) as name:
        private = Path(name).resolve()
        look = Look(request.workspace, request.project)
        asked = Asked(request, look.path, look, private, cancel, words, arguments)
        plan = runner.plan(asked)
        if isinstance(plan, Absent):
            return replace(blank, status=plan.status, message=plan.message)
        problem = batch_problem(Path(plan.argv[0]), plan.argv[1:])
        if problem:
            return replace(blank, status=SuiteStatus.ENVIRONMENT, message=problem)
        blank = replace(
            blank,
            argv=plan.shown or plan.argv,
            interpreter=plan.interpreter,
            sandbox=isolation.level,
            network=isolation.network,
            log=str(new_log(request.store_folder)),
        )
        ended, foreign = _start(asked, plan, Path(blank.log), on_progress)
        heard = runner.read(asked, plan, ended)
    return _Report(asked, plan, heard, ended).put_together(blank, started, foreign)


def _caller(runner: str, request: SuiteRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not request.argv:
        return (), ()
    checked = commands.check(request.argv, request.workspace.root)
    if checked.runner != runner:
        raise UsageError("invalid_arguments", f"`{' '.join(checked.words)}` is not {runner}", "name the right runner")
    return checked.words, checked.arguments


def _start(asked: Asked, plan: Plan, log: Path, on_progress: OnProgress | None) -> tuple[Ended, int]:
    nonce = secrets.token_hex(16)
    teller, lasting = _Teller(on_progress), Lasting()

    def take(message: Mapping[str, Any]) -> None:
        lasting.take(message)
        teller(message)

    messages = Messages(nonce, take)
    completed = sandbox.run(
        child_command(asked, plan, log),
        cancel=asked.cancel,
        on_channel=messages.feed if plan.live else None,
        first_words=f"{nonce}\n".encode() if plan.live else b"",
        watch=lasting.deadline,
    )
    completed, lasted = lasting.judge(completed)
    return Ended(completed, log, tuple(messages.heard), lasted), messages.foreign


def child_command(asked: Asked, plan: Plan, log: Path) -> Command:
    """The plan as a command of the sandbox, with the isolation, environment and limits that tests have."""
    request, limits = asked.request, asked.request.settings.limits
    temporary = asked.private / "tmp"
    temporary.mkdir(mode=0o700, exist_ok=True)
    env = child_environment(
        request.settings.environ,
        {**dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary)), **plan.env, **request.environment},
        root=request.workspace.root,
    )
    return Command(
        argv=plan.argv,
        cwd=plan.cwd or asked.folder,
        env=env,
        timeout_s=request.timeout_s,
        output_path=log,
        max_output_bytes=limits.max_output_bytes,
        memory_mib=limits.memory_mib,
        max_file_bytes=sandbox.MAX_FILE_BYTES,
        scrap=asked.private,
        confinement=sandbox.confined(request.settings, request.workspace.root, (asked.private, *plan.writable)),
    )


class _Report:
    """What was heard, made into the report that is shown."""

    def __init__(self, asked: Asked, plan: Plan, heard: Heard, ended: Ended) -> None:
        self._asked, self._plan, self._heard, self._ended = asked, plan, heard, ended
        self._redact = Redactor.from_environ(asked.request.settings.may_be_told)

    def put_together(self, blank: SuiteReport, started: float, foreign: int) -> SuiteReport:
        heard = self._heard
        log = neutral(self._redact(tail(self._ended.log)))
        facts = Facts(blank.runner, heard, self._ended.completed, self._asked.request.selection, log)
        verdict = decide(facts)
        outcomes, durations = _outcomes(heard)
        failures = self._failures()
        return replace(
            blank,
            status=verdict.status,
            message=self._redact(verdict.message),
            counts=_counts(heard),
            failures=failures,
            groups=group(failures),
            duration_s=round(time.monotonic() - started, 3),
            cpu_s=round(self._ended.completed.cpu_s, 3),
            notes=self._notes(foreign),
            outcomes=outcomes,
            durations_s=durations,
        )

    def _failures(self) -> tuple[Failure, ...]:
        kinds = {e.id: "collection" for e in self._heard.errors}
        raws: dict[str, RawFailure] = {e.id: e for e in self._heard.errors}
        for case in self._heard.cases:
            if case.failure is not None and case.outcome in ("failed", "error"):
                raws.setdefault(case.id, case.failure)
        workspace = self._asked.request.workspace
        sources = Sources(workspace)
        return tuple(
            make_failure(
                replace(raw, frames=sources.around(raw.frames)),
                workspace.root,
                self._redact,
                kind=kinds.get(test, ""),
            )
            for test, raw in raws.items()
        )

    def _notes(self, foreign: int) -> tuple[str, ...]:
        notes = [*self._plan.notes, *self._heard.notes, *process_notes(self._ended.completed)]
        if self._ended.lasted:
            notes.append(LASTED)
        shared = [i for i, n in Counter(c.id for c in self._heard.cases).items() if n > 1]
        if shared:
            notes.append(f"several tests share a name, and the worst outcome stands for them: {names(shared)}")
        if foreign:
            notes.append("something else than the runner wrote on its private channel; that was ignored")
        return tuple(notes)


def process_notes(completed: Completed) -> list[str]:
    """What is worth telling about how the process ended."""
    notes: list[str] = []
    if completed.unsupervised:
        notes.append("the supervisor of the tests was killed, by a test perhaps; what could be found of the "
                     "processes that they had started was ended")  # fmt: skip
    if completed.left_processes:
        notes.append("the tests left processes running; they were ended")
    if completed.output_cut:
        notes.append(f"output cut: {completed.output_bytes} bytes came, only the first part was kept")
    return notes


class _Teller:
    """Progress from a reporter's messages: `collected` (`total`), `start` and `end` (`id`, `outcome`)."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress
        self._now = Progress(0, 0, 0, "")

    def __call__(self, message: Mapping[str, Any]) -> None:
        now = self._now
        match message.get("k"):
            case "collected":
                now = replace(now, total=int(message.get("total", 0)))
            case "start":
                now = replace(now, current=str(message.get("id", "")))
            case "end":
                bad = message.get("outcome") in ("failed", "error")
                now = replace(now, done=now.done + 1, failing=now.failing + bad)
            case _:
                return
        if now != self._now and self._on_progress is not None:
            self._on_progress(now)
        self._now = now


def _outcomes(heard: Heard) -> tuple[dict[str, CaseOutcome], dict[str, float]]:
    """Outcome and time by id. Where an id stands for several tests the worst of them counts."""
    outcomes: dict[str, CaseOutcome] = {}
    durations: dict[str, float] = {}
    for case in heard.cases:
        known = outcomes.get(case.id)
        if known is None or _WORST.index(case.outcome) < _WORST.index(known):
            outcomes[case.id] = case.outcome
        durations[case.id] = durations.get(case.id, 0.0) + case.duration_s
    for error in heard.errors:
        outcomes[error.id] = "error"
    return outcomes, durations


_WORST: tuple[CaseOutcome, ...] = ("error", "failed", "passed", "xpassed", "xfailed", "skipped")


def _counts(heard: Heard) -> Counts:
    cases = {c.id for c in heard.cases}
    c = Counter([*(case.outcome for case in heard.cases), *("error" for e in heard.errors if e.id not in cases)])
    return Counts(c["passed"], c["failed"], c["error"], c["skipped"], c["xfailed"], c["xpassed"], c.total())
