"""`regreen fix`: a fix run from start to end, as `fix_tests` with the waiting done here."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from regreen.cli.calls import complete
from regreen.cli.engine import opened
from regreen.cli.invocation import Answer, Invocation, answer
from regreen.cli.lines import Line
from regreen.cli.render import attempt_verdict, failing_tests
from regreen.errors import UsageError
from regreen.wire import Json

if TYPE_CHECKING:
    from regreen.cli.screen import Screen
    from regreen.session import Engine, FixOptions, ToolResult

_SEARCH_EVERY_S = 15.0


def fix(invocation: Invocation) -> Answer:
    """Run it, telling the failing tests as soon as they are known."""
    _no_test(invocation)
    repo = invocation.repo(invocation.args.path)
    invocation.tell_repo(repo)
    options = _options(invocation, repo)
    with opened(invocation, repo) as engine:
        data = complete(engine, invocation.screen, lambda: _start(engine, repo, options), Follower(invocation.screen))
    return answer("fix_tests", data)


def _start(engine: Engine, repo: Path, options: FixOptions) -> ToolResult:
    job = engine.fix(engine.session(str(repo)), options).job
    return engine.call("job_status", {"job_id": job.id, "wait_s": 0})


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
    )


def script_of(invocation: Invocation) -> Path | None:
    """The script's path; naming one chooses the scripted proposer. Raises UsageError."""
    proposer, script = invocation.args.proposer, invocation.args.script
    if proposer == "scripted" and not script:
        raise UsageError("invalid_arguments", "the scripted proposer needs its proposals", "add --script FILE.jsonl")
    if proposer == "search" and script:
        raise UsageError("invalid_arguments", "--script is for the scripted proposer", "leave one of them out")
    return (invocation.cwd / cast("str", script)).resolve() if script else None


class Follower:
    """Tells a person how the run goes: the failing tests once they are known; for a log, also each stage's end."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._silent = screen.as_json
        self._begun = False
        self._failing_told = False
        self._attempts_told = 0
        self._searched_at = -math.inf

    def __call__(self, data: Mapping[str, Json]) -> None:
        if not self._silent:
            if self._screen.logs and not self._begun and not self._screen.ci:
                self._say("baseline: running the tests")
            self._begun = True
            self._baseline(cast("Mapping[str, Any]", data.get("brief") or {}))
            if self._screen.logs:
                self._log(data)

    def _baseline(self, brief: Mapping[str, Any]) -> None:
        if brief.get("failing") and not self._failing_told:
            self._failing_told = True
            if self._screen.logs:
                self._say(f"baseline done: {len(brief['failing'])} failing")
            self._screen.tell(failing_tests(brief.get("failures", []), brief["failing"]))

    def _log(self, data: Mapping[str, Json]) -> None:
        for attempt in cast("list[Mapping[str, Any]]", data.get("attempts") or []):
            if attempt["number"] > self._attempts_told:
                self._attempts_told = attempt["number"]
                self._say(attempt_verdict(attempt))
        progress, now = str(data.get("progress", "")), time.monotonic()
        if progress.startswith("search") and now - self._searched_at >= _SEARCH_EVERY_S and not self._screen.ci:
            self._searched_at = now
            self._say(progress)

    def _say(self, text: str) -> None:
        self._screen.tell([Line(f"regreen: {text}")])
