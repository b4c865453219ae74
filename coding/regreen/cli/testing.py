"""`regreen test`: one test run, condensed."""

from __future__ import annotations

from pathlib import Path

from regreen.cli.calls import complete
from regreen.cli.engine import opened
from regreen.cli.invocation import Answer, Invocation, answer


def _project_here(invocation: Invocation, repo: Path) -> str:
    """The project below the root that the person stands in; "" where that is the root's own."""
    if invocation.cwd == repo or not invocation.cwd.is_relative_to(repo):
        return ""
    from regreen.testing import ROWS, Project, find_project
    from regreen.workspace import Workspace

    with Workspace(repo) as workspace:
        found = find_project(workspace, ROWS, [invocation.cwd.relative_to(repo).as_posix()])
    return found.folder if isinstance(found, Project) else ""


def test(invocation: Invocation) -> Answer:
    """Run the selected tests and wait for their end."""
    repo = invocation.repo()
    invocation.tell_repo(repo)
    arguments = {"repo": str(repo), "wait_s": 0.5, **invocation.given("last_failed", "timeout_s", "runner", "argv")}
    if invocation.args.selection:
        arguments["selection"] = invocation.inside(repo, invocation.args.selection)
    elif not {"argv", "runner"} & arguments.keys() and (here := _project_here(invocation, repo)):
        arguments["selection"] = [here]
    with opened(invocation, repo) as engine:
        data = complete(engine, invocation.screen, lambda: engine.call("run_tests", arguments))
    return answer("run_tests", data)
