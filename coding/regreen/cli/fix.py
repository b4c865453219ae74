"""`regreen fix`: a fix run from start to end, as `fix_tests` with the waiting done here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from regreen.cli.calls import complete
from regreen.cli.engine import opened
from regreen.cli.invocation import Answer, Invocation, answer
from regreen.cli.render import failing_tests
from regreen.errors import UsageError
from regreen.wire import Json

if TYPE_CHECKING:
    from regreen.cli.screen import Screen
    from regreen.session import Engine, FixOptions, ToolResult


def fix(invocation: Invocation) -> Answer:
    """Run it, telling the failing tests as soon as they are known."""
    repo = invocation.repo(invocation.args.path)
    options = _options(invocation)
    with opened(invocation, repo) as engine:
        data = complete(engine, invocation.screen, lambda: _start(engine, repo, options), _Failing(invocation.screen))
    return answer("fix_tests", data)


def _start(engine: Engine, repo: Path, options: FixOptions) -> ToolResult:
    job = engine.fix(engine.session(str(repo)), options).job
    return engine.call("job_status", {"job_id": job.id, "wait_s": 0})


def _options(invocation: Invocation) -> FixOptions:
    from regreen.session import FixOptions

    args, script = invocation.args, _script(invocation)
    return FixOptions(
        selection=tuple(args.tests),
        proposer="scripted" if script is not None else args.proposer,
        paths=tuple(args.paths),
        max_attempts=args.max_attempts or 0,
        budget_s=args.budget_s or 0.0,
        keep_partial=args.keep_partial,
        script=script,
    )


def _script(invocation: Invocation) -> Path | None:
    """The script's path; naming one chooses the scripted proposer. Raises UsageError."""
    proposer, script = invocation.args.proposer, invocation.args.script
    if proposer == "scripted" and not script:
        raise UsageError("invalid_arguments", "the scripted proposer needs its proposals", "add --script FILE.jsonl")
    if proposer == "search" and script:
        raise UsageError("invalid_arguments", "--script is for the scripted proposer", "leave one of them out")
    return (invocation.cwd / cast("str", script)).resolve() if script else None


class _Failing:
    """Tells a person which tests fail, once, as soon as the run knows."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._told = screen.as_json

    def __call__(self, data: Mapping[str, Json]) -> None:
        brief = cast("Mapping[str, Any]", data.get("brief") or {})
        if not self._told and brief.get("failing"):
            self._told = True
            self._screen.tell(failing_tests(brief.get("failures", []), brief["failing"]))
