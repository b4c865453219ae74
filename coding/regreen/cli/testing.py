"""`regreen test`: one test run, condensed."""

from __future__ import annotations

from regreen.cli.calls import complete
from regreen.cli.engine import opened
from regreen.cli.invocation import Answer, Invocation, answer


def test(invocation: Invocation) -> Answer:
    """Run the selected tests and wait for their end."""
    repo = invocation.repo()
    invocation.tell_repo(repo)
    arguments = {"repo": str(repo), "wait_s": 0.5, **invocation.given("last_failed", "timeout_s", "runner", "argv")}
    if invocation.args.selection:
        arguments["selection"] = invocation.inside(repo, invocation.args.selection)
    with opened(invocation, repo) as engine:
        data = complete(engine, invocation.screen, lambda: engine.call("run_tests", arguments))
    return answer("run_tests", data)
