"""`regreen fix`: a fix run from start to end, as `fix_tests` with the waiting done here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from regreen.cli.calls import complete
from regreen.cli.diary import asked_of, asking_of, goal_of
from regreen.cli.engine import opened
from regreen.cli.exit_codes import of_result
from regreen.cli.fix_lines import attempt_lines, failing_tests
from regreen.cli.invocation import Answer, Invocation
from regreen.cli.lines import Line
from regreen.cli.render import render
from regreen.cli.wording import worded
from regreen.errors import UsageError
from regreen.wire import Json, to_object

if TYPE_CHECKING:
    from regreen.cli.screen import Screen
    from regreen.redact import Redactor
    from regreen.session import Engine, FixOptions
    from regreen.session.fixing import FixJob

_SEARCH_EVERY_S = 15.0
_POLL_S = 1.0
_BASELINE_POLL_S = 0.1  # until the failing tests are told: a fast run may be over within a second


def fix(invocation: Invocation) -> Answer:
    """Run it, telling the failing tests as soon as they are known."""
    _no_test(invocation)
    repo = invocation.repo(invocation.args.path)
    invocation.tell_repo(repo)
    options = _options(invocation, repo)
    with opened(invocation, repo) as engine:
        return followed(invocation, engine, lambda: engine.fix(engine.session(str(repo)), options))


def followed(invocation: Invocation, engine: Engine, start: Callable[[], FixJob]) -> Answer:
    """Start a run and follow it to its end. On a screen that shows the attempts as they come, the end leaves them
    out."""
    from regreen.redact import Redactor

    screen, redact = invocation.screen, Redactor.from_environ(invocation.settings().may_be_told)

    def diary(job_id: object) -> Path:
        return engine.store.run_folder(str(job_id)) / "events.jsonl"

    follower = Follower(screen, lambda job_id: goal_of(diary(job_id)), lambda job_id: asking_of(diary(job_id)))
    data = complete(
        engine,
        screen,
        lambda: engine.call("job_status", {"job_id": start().job.id, "wait_s": 0}),
        lambda news: follower(_with_brief(engine, redact, _with_edits(engine, redact, news))),
    )
    data = _with_edits(engine, redact, data)
    shown = {**data, "told": screen.logs and screen.together}
    if job_id := data.get("job_id"):
        shown["asked"] = asked_of(diary(job_id))
    return Answer(data, tuple(render("fix_tests", shown)), of_result("fix_tests", data))


def _with_edits(engine: Engine, redact: Redactor, data: Mapping[str, Json]) -> dict[str, Json]:
    """The job's data, and in refused attempts why which edit did not fit."""
    job = engine.fix_job(str(data.get("job_id", "")))
    attempts = job.run.attempts if job is not None else ()
    bad = {a.number: [e for e in a.edits if e.error is not None] for a in attempts}
    shown: list[Any] = []
    for attempt in cast("list[dict[str, Any]]", data.get("attempts") or []):
        edits = [to_object(e) for e in bad.get(attempt["number"], ())]
        shown.append(attempt | {"edits": redact.deep(cast("Json", edits))} if edits else attempt)
    return {**data, "attempts": shown} if shown else dict(data)


def _no_test(invocation: Invocation) -> None:
    """PATH is a repository. Whoever names tests there is told how: run as a repository, they would be all there is."""
    from regreen.git import find_top
    from regreen.repo import is_test_file

    typed = invocation.args.path or ""
    path = (invocation.cwd / typed.partition("::")[0]).resolve()
    top = find_top(path) if path.is_dir() else None
    inside = top is not None and path != top and is_test_file(f"{path.relative_to(top).as_posix()}/x.py")
    if typed and ("::" in typed or path.is_file() or inside):
        other = " A repository in there is named with --repo." if path.is_dir() else ""
        raise UsageError("invalid_arguments", f"{typed} is no repository", f"did you mean `--tests {typed}`?{other}")


def _options(invocation: Invocation, repo: Path) -> FixOptions:
    from regreen.session import FixOptions

    args, script = invocation.args, script_of(invocation)
    return FixOptions(
        selection=tuple(invocation.inside(repo, args.tests)),
        proposer="scripted" if script is not None else args.proposer,
        paths=tuple(invocation.inside(repo, args.paths)),
        tests=args.tests_policy,
        max_attempts=args.max_attempts or 0,
        budget_s=args.budget_s or 0.0,
        budget_cpu_s=args.budget_cpu_s or 0.0,
        budget_tokens=args.budget_tokens or 0,
        budget_usd=args.budget_usd or 0.0,
        keep_partial=args.keep_partial,
        script=script,
        model=model_of(invocation, args.proposer),
    )


def script_of(invocation: Invocation) -> Path | None:
    """The script's path; naming one chooses the scripted proposer. Raises UsageError."""
    proposer, script = invocation.args.proposer, invocation.args.script
    if proposer == "scripted" and not script:
        raise UsageError("invalid_arguments", "the scripted proposer needs its proposals", "add --script FILE.jsonl")
    if script and proposer not in (None, "auto", "scripted"):
        raise UsageError("invalid_arguments", "--script is for the scripted proposer", "leave one of them out")
    return (invocation.cwd / cast("str", script)).resolve() if script else None


def model_of(invocation: Invocation, proposer: str) -> str:
    """The model that was named, for a proposer that asks one. Raises UsageError, and ConfigError where `auto` would not
    come to it, since no provider is configured."""
    args = invocation.args
    if args.model and (args.script or proposer in ("search", "scripted")):
        raise UsageError("invalid_arguments", "--model is for a proposer that asks a model",
                         "leave it out, or choose --proposer anthropic or openai")  # fmt: skip
    if args.model and proposer == "auto":
        from regreen.providers.configured import choose

        choose(invocation.settings(), model=args.model)
    return cast("str", args.model)


def _with_brief(engine: Engine, redact: Redactor, data: Mapping[str, Json]) -> Mapping[str, Json]:
    """The job's data, for the follower also at the end with what was known at the start: it may not have seen it."""
    job = engine.fix_job(str(data.get("job_id", "")))
    brief = job.run.brief_so_far if job is not None and "brief" not in data else None
    return data if brief is None else {**data, "brief": redact.deep(cast("Json", to_object(brief)))}


class Follower:
    """Tells a person how the run goes: the failing tests once they are known; for a log, also each stage's end.

    Called with each answer of the run, the last one included; says in how many seconds it wants the next. `goal` tells
    the failing tests of a run that went on before they were seen, `asking` the attempts that a model was asked for.
    """

    def __init__(
        self,
        screen: Screen,
        goal: Callable[[str], list[str]] = lambda _: [],
        asking: Callable[[str], Sequence[tuple[int, str]]] = lambda _: (),
    ) -> None:
        self._screen = screen
        self._goal = goal
        self._asking = asking
        self._asked_told = 0
        self._models_told: set[str] = set()
        self._begun = False
        self._failing_told = False
        self._attempts_told = 0
        self._searched_at = -math.inf

    def __call__(self, data: Mapping[str, Json]) -> float:
        if self._screen.as_json or "error" in data:
            return _POLL_S
        if self._screen.logs and not self._begun and not self._screen.ci:
            self._say("baseline: running the tests")
        self._begun = True
        if not self._failing_told:
            self._baseline(cast("Mapping[str, Any]", data))
        asked = self._asking(str(data["job_id"]))[self._asked_told :]
        self._asked_told += len(asked)
        if self._screen.logs:
            self._log(data, asked)
        else:
            self._models(model for _, model in asked)
        return _POLL_S if self._failing_told else _BASELINE_POLL_S

    def _baseline(self, data: Mapping[str, Any]) -> None:
        """The failing tests: from the brief, unless that is of a later tree by now."""
        brief: Mapping[str, Any] = {} if any(a.get("kept") for a in data.get("attempts", ())) else data.get("brief", {})
        went_on = data.get("attempts") or data.get("outcome")
        failing = brief.get("failing") or (self._goal(str(data["job_id"])) if went_on else [])
        if not failing:
            return
        self._failing_told = True
        total = brief.get("failing_total") or len(failing)
        if self._screen.logs:
            self._say(f"baseline done: {total} failing")
        self._screen.tell(failing_tests(brief.get("failures", []), failing, total))

    def _models(self, models: Iterable[str]) -> None:
        """At a terminal, where no other stage is told: each model once."""
        for model in models:
            if model not in self._models_told:
                self._models_told.add(model)
                self._screen.tell([Line(f"asking {model}")])

    def _log(self, data: Mapping[str, Json], asked: Sequence[tuple[int, str]]) -> None:
        """What has happened since, in its order: a model is asked before the attempt that comes of it."""
        news = [(number, 0, [f"attempt {number}: asking {model}"]) for number, model in asked]
        for attempt in cast("list[Mapping[str, Any]]", data.get("attempts") or []):
            if attempt["number"] > self._attempts_told:
                self._attempts_told = attempt["number"]
                news.append((attempt["number"], 1, [line.text for line in attempt_lines(attempt)]))
        for _, _, lines in sorted(news):
            for text in lines:
                self._say(text)
        progress, now = str(data.get("progress", "")), time.monotonic()
        if progress.startswith("search") and now - self._searched_at >= _SEARCH_EVERY_S and not self._screen.ci:
            self._searched_at = now
            self._say(worded(progress))

    def _say(self, text: str) -> None:
        self._screen.tell([Line(f"regreen: {text}")])
