"""Starting fix runs and test runs as jobs: puts the run, its proposers and its effects together."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from regreen.errors import UsageError
from regreen.events import Event, EventKind, EventLog
from regreen.fix import FixRequest, FixRun, Scope, StopRules, drive
from regreen.fix.proposer import Proposer
from regreen.fix.scope import matches
from regreen.jobs import Job
from regreen.model import Attempt, Outcome, Proposal, StopReason, TamperPolicy, Tried
from regreen.proposers.caller import CallerProposer
from regreen.proposers.chain import ChainProposer
from regreen.proposers.scripted import ScriptedProposer
from regreen.session import asking
from regreen.session.diary import DIARY
from regreen.session.fix_bench import bench_of
from regreen.session.modelling import Models, close
from regreen.session.recording import masked, request_of
from regreen.session.repository import Session
from regreen.session.scoping import default_paths
from regreen.session.searching import Hints, OfflineSearch
from regreen.store import new_id
from regreen.tools.diff_text import cut
from regreen.wire import Json, counted, shortened, to_json, to_object

if TYPE_CHECKING:
    from regreen.providers.sampling import SamplingAsk

ProposerName: TypeAlias = Literal["auto", "search", "anthropic", "openai", "sampling", "caller", "scripted"]

_AUTO_SEARCH_S = 60.0
_MAX_ATTEMPTS_SHOWN = 20
_MAX_DIFF_CHARS = 8_000
_MOST_NOTED = 200
_SHOWN_AT: frozenset[EventKind] = frozenset({"baseline_taken", "attempt_finished"})


@dataclass(frozen=True, slots=True)
class FixOptions:
    """What `fix` was asked for. Zero numbers mean the default of the settings."""

    selection: tuple[str, ...] = ()
    proposer: ProposerName = "auto"
    paths: tuple[str, ...] = ()
    tests: TamperPolicy = "readonly"
    max_attempts: int = 0
    budget_s: float = 0.0
    keep_partial: bool = False
    script: Path | None = None
    budget_cpu_s: float = 0.0  # of processor time for tests; 0 = no limit, as for the next two
    budget_tokens: int = 0
    budget_usd: float = 0.0
    script_from: int = 0  # proposals of the script that an earlier run has judged
    first: tuple[Proposal, ...] = ()  # handed in before any proposer is asked: what an earlier run had kept
    history: tuple[Tried, ...] = ()  # tries of an earlier run, told to the proposer
    resumes: str = ""  # the run that this one goes on from
    caller_present: bool = False  # is there a caller who can submit fixes after the start?
    model: str = ""  # of the provider; "" = the settings' one
    sampling: SamplingAsk | None = field(default=None, repr=False, compare=False)  # asks the caller's own model


@dataclass(slots=True)
class FixJob:
    """A fix run as a job, and the inbox for a caller's fixes."""

    job: Job
    run: FixRun
    caller: CallerProposer | None
    proposers: list[Proposer] = field(default_factory=list["Proposer"])

    def submit(self, proposal: Proposal) -> int:
        """Hand in a caller's fix; returns the number that its attempt will have."""
        if self.caller is None:
            raise UsageError(
                "invalid_arguments",
                f"{self.job.id} takes no fixes: its proposer works alone",
                "start fix_tests with proposer=caller",
            )
        if not self.job.resume():
            done = self.job.state == "done"
            raise UsageError(
                "invalid_arguments" if done else "busy",
                f"{self.job.id} is {self.job.state}",
                "start a new run" if done else "wait with job_status until it waits for edits",
            )
        number = len(self.run.attempts) + 1  # it is ours to say: nobody else can hand in anything now
        self.caller.put(proposal)
        return number

    def attempt(self, number: int) -> Attempt | None:
        return self.run.attempts[number - 1] if len(self.run.attempts) >= number else None

    def view(self) -> dict[str, Json]:
        shown = self.run.attempts[-_MAX_ATTEMPTS_SHOWN:]
        out: dict[str, Json] = {"attempts": [_brief_attempt(a) for a in shown]}
        if self.run.outcome is not None:
            out["outcome"] = to_json(self.run.outcome)
        elif self.job.state == "waiting_for_edits":
            out["brief"] = to_json(self.run.brief)
        elif (known := self.run.brief_so_far) is not None:
            out["brief"] = to_json(known)
        return out


def _brief_attempt(attempt: Attempt) -> dict[str, Json]:
    """An attempt without what only its own answer needs: the failures and edits in full, and a diff of any size."""
    told = {k: v for k, v in to_object(attempt).items() if k not in ("failures", "edits")}
    return told | {"diff": cut(attempt.diff, _MAX_DIFF_CHARS)}


def start_fix(session: Session, options: FixOptions) -> FixJob:
    """Take the work tree, and start the run in a job. Raises Refused, Busy, UsageError or ConfigError before anything
    happens."""
    effect = asking.of_fix(options)
    session.allow("edit", effect=effect)
    session.allow("run", effect=effect)
    models = Models(session, options)
    lock = session.run_lock()
    session.acquire(lock)
    try:
        fix_job = _assemble(session, options, models)
    except BaseException:
        lock.release()
        raise

    def work() -> None:
        try:
            _drive(fix_job)
        finally:
            lock.release()

    fix_job.job.start(
        work,
        lambda: masked(session, fix_job.view()),
        on_cancel=fix_job.caller.close if fix_job.caller else _nothing,
        settled=lambda: fix_job.run.outcome is not None,
    )
    return fix_job


def fixed(session: Session, options: FixOptions, on_progress: Callable[[str], None] | None = None) -> Outcome:
    """Start a run and wait for its end. Raises RegreenError where the run could not be made."""
    fix_job = start_fix(session, options)
    fix_job.job.wait_for_end(on_progress=on_progress)
    assert fix_job.run.outcome is not None
    return fix_job.run.outcome


def _emit(log: EventLog, kind: EventKind, **data: object) -> None:
    log.emit(kind, **data)


def _nothing() -> None:
    return None


def _drive(fix_job: FixJob) -> None:
    run = fix_job.run
    try:
        run.start()
        if run.outcome is None:
            asyncio.run(_driven(run, fix_job.proposers))
    except BaseException:  # a fault of ours, too, leaves the tree as it was
        run.stop(StopReason.CANCELLED)
        raise


async def _driven(run: FixRun, proposers: list[Proposer]) -> None:
    try:
        await drive(run, ChainProposer(proposers))
    finally:
        await close(proposers)


def _assemble(session: Session, options: FixOptions, models: Models) -> FixJob:
    script = _script(options)  # before anything is recorded: a bad script is the caller's mistake
    _check_paths(session, options)
    limits = session.settings.limits
    run_id = new_id("job")
    rules = StopRules(
        max_attempts=options.max_attempts or limits.max_attempts,
        budget_s=options.budget_s or limits.budget_s,
        budget_cpu_s=options.budget_cpu_s,
        budget_tokens=options.budget_tokens,
        budget_usd=options.budget_usd,
    )
    scope = Scope(options.paths, options.tests)
    if not options.paths:
        scope = replace(scope, why_not=default_paths(session, options.selection).why_not)
    request = FixRequest(run_id, options.selection, scope, rules, options.keep_partial, options.history)
    folder = session.store.run_folder(run_id)
    log = EventLog(run_id, folder / DIARY, session.redact, time.time)
    asked = request_of(session, options, rules, script)
    job = Job(run_id, "fix", session.key, session.store, asked)
    job.log = log
    session.jobs.add(job)
    narrate = _Narrator()
    log.subscribe(lambda event: job.set_progress(narrate(event)))
    log.emit("run_started", repo=session.root, request=asked)
    caller = _caller(session, job, options)
    hints = Hints(session, job.cancel, request.scope.allows, gathers=caller is not None or models.is_asked)
    log.subscribe(hints.hear)
    bench = bench_of(session, job, log, folder, hints)
    run = FixRun(request, bench, log)
    fix_job = FixJob(job, run, caller)
    log.subscribe(lambda event: job.show() if event.kind in _SHOWN_AT else None)
    if options.first:
        fix_job.proposers.append(ScriptedProposer(options.first))
    if options.script is not None:
        why = "The script has no further proposal." if script else "The script is empty."
        fix_job.proposers.append(ScriptedProposer(script[options.script_from :], why))
    if options.proposer in ("auto", "search"):
        fix_job.proposers.append(_search(session, fix_job, options, log, hints))
    fix_job.proposers.extend(models.turns(run, job.cancel, log, hints))
    if caller is not None:
        fix_job.proposers.append(caller)
    return fix_job


def _check_paths(session: Session, options: FixOptions) -> None:
    """Globs that match nothing would make a run that can change nothing; a file to be created has no glob sign."""
    files = session.files().paths if options.paths else ()
    for glob in options.paths:
        if not any(matches(p, glob) for p in files) and set(glob) & set("*?["):
            raise UsageError(
                "invalid_arguments", f"`{glob}` matches no file", "give files, folders or globs that exist"
            )


def _script(options: FixOptions) -> tuple[Proposal, ...]:
    if (options.proposer == "scripted") != (options.script is not None):
        raise UsageError("invalid_arguments", "proposer `scripted` and a script belong together", "give both")
    return ScriptedProposer.from_file(options.script).left if options.script is not None else ()


def _caller(session: Session, job: Job, options: FixOptions) -> CallerProposer | None:
    if options.proposer != "caller" and not (options.proposer == "auto" and options.caller_present):
        return None
    return CallerProposer(
        silence_s=session.settings.limits.silence_s,
        on_wait=lambda waits: job.set_state("waiting_for_edits" if waits else "running"),
        on_silence=job.cancel.set,
    )


def _search(session: Session, fix_job: FixJob, options: FixOptions, log: EventLog, hints: Hints) -> OfflineSearch:
    return OfflineSearch(
        session,
        fix_job.run,
        fix_job.job.cancel,
        limit_s=_AUTO_SEARCH_S if options.proposer == "auto" else math.inf,
        on_progress=lambda p: _emit(log, "search_progress", tried=p.tried, plausible=p.plausible),
        hints=hints,
    )


class _Narrator:
    """Turns events into progress in words: where the run is, and what it does there."""

    def __init__(self) -> None:
        self._stage = "baseline"

    def __call__(self, event: Event) -> str:
        data = event.data
        match event.kind:
            case "attempt_started":
                self._stage = f"attempt {data['number']}"
                return f"{self._stage}: {shortened(str(data.get('note') or 'applying edits'), _MOST_NOTED)}"
            case "tests_progress":
                return f"{self._stage}: {_tests_text(data['done'], data['total'])}"
            case "turn_started":
                self._stage = f"attempt {data['attempt']}"
                return f"{self._stage}: writing the question to {data['model']}"
            case "model_request" | "model_retry" | "model_response":
                return f"{self._stage}: {_model_text(event)}"
            case "search_progress":
                tried = counted(cast("int", data["tried"]), "candidate")
                return f"search: {tried} tried, {data['plausible']} plausible"
            case "baseline_taken":
                return "baseline: done"
            case _:
                return f"{self._stage}: {event.kind.replace('_', ' ')}"


def _tests_text(done: object, total: object) -> str:
    return f"tests: {done} of {total}" if total else "collecting tests"


def _model_text(event: Event) -> str:
    model, data = event.data.get("model", "the model"), event.data
    match event.kind:
        case "model_request":
            return f"asking {model}"
        case "model_response":
            return f"{model} has answered"
        case _:
            return f"{shortened(str(data.get('message') or model), _MOST_NOTED)}; asking again"
