"""Runs over plain HTTP: started, listed, looked at and spoken to, at the server that owns them and at another one."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.engines import engine_on
from support.repos import red_repo
from support.tasks import replies, says

from regreen.session.tasks import TaskOptions
from regreen_server.calls import Caller, EngineSlot
from regreen_server.http.messages import Desk
from regreen_server.tool_list import Offer

JSON = {"Content-Type": "application/json"}


def test_a_run_is_started_at_once_and_found_under_its_address(shop: Any) -> None:
    begun = shop.start("run_tests", repo=shop.repo("green"))
    assert begun.status == 202
    run = begun.json["job_id"]
    assert begun.headers["location"] == f"/runs/{run}"
    done = shop.ended(run)
    assert (done["state"], done["status"], done["counts"]["passed"]) == ("done", "passed", 1)
    page = shop.server.request("GET", f"/runs/{run}?log_offset=0").json
    assert "1 passed" in page["log_text"]


def test_a_second_run_in_the_same_tree_is_busy_and_names_the_first(shop: Any) -> None:
    reply = shop.start("fix_tests", repo=shop.repo("shop"))
    assert (reply.status, reply.kind) == (409, "busy")
    assert shop.waiting in reply.json["error"]["message"]


def test_the_list_is_newest_first_and_goes_on_from_its_cursor(shop: Any) -> None:
    shop.start("run_tests", repo=shop.repo("green"))
    every = shop.server.request("GET", "/runs?limit=100").json["runs"]
    assert [run["created"] for run in every] == sorted((run["created"] for run in every), reverse=True)
    states = {run["job_id"]: (run["tool"], run["state"]) for run in every}
    assert states[shop.waiting] == ("fix_tests", "waiting_for_edits")
    found, cursor = [], ""
    while True:
        page = shop.server.request("GET", f"/runs?limit=2{f'&cursor={cursor}' if cursor else ''}").json
        found += [run["job_id"] for run in page["runs"]]
        if not (cursor := page.get("cursor", "")):
            break
    assert found == [run["job_id"] for run in every]


def test_edits_that_do_not_fit_are_judged_and_the_run_waits_on(shop: Any) -> None:
    edit = {"path": "value.py", "search": "NOTHING", "replace": "VALUE = 2"}
    reply = shop.send(shop.waiting, kind="fix", replacements=[edit], wait_s=20)
    assert reply.status == 200
    assert (reply.json["state"], reply.json["attempt"]["state"]) == ("waiting_for_edits", "refused")


@pytest.mark.parametrize(
    ("message", "status", "kind"),
    [
        ({}, 400, "invalid_arguments"),
        ({"kind": "dance"}, 400, "invalid_arguments"),
        ({"kind": "cancel", "reason": "x"}, 400, "unknown_argument"),
        ({"kind": "fix", "repo": "/"}, 400, "unknown_argument"),
        ({"kind": "fix", "replacement": []}, 400, "unknown_argument"),
        ({"kind": "fix"}, 400, "invalid_arguments"),
        ({"kind": "message", "text": "look at value.py"}, 400, "invalid_arguments"),
        ({"kind": "message", "text": "x" * 16_001}, 413, "limit_exceeded"),
    ],
    ids=["empty", "kind", "reason", "repo", "misspelt", "no edits", "to a fix run", "too long"],
)
def test_a_message_that_cannot_be_taken_is_refused(shop: Any, message: dict[str, Any], status: int, kind: str) -> None:
    reply = shop.send(shop.waiting, **message)
    assert (reply.status, reply.kind) == (status, kind)


@pytest.mark.parametrize(
    ("body", "headers", "status", "kind"),
    [
        ("{}", JSON, 400, "invalid_arguments"),
        ("[1]", JSON, 400, "bad_request"),
        ("{", JSON, 400, "bad_request"),
        ('{"tool": "run_tests", "arguments": {"timeout_s": NaN}}', JSON, 400, "bad_request"),
        ("{}", {"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
        ("{}", {"Content-Type": "application/json; charset=latin-1"}, 415, "unsupported_media_type"),
        ('{"tool": "read_file"}', JSON, 400, "invalid_arguments"),
        ('{"tool": "run_tests", "arguments": []}', JSON, 400, "invalid_arguments"),
        ('{"tool": "run_tests", "repo": "x"}', JSON, 400, "unknown_argument"),
        ('{"tool": "run_tests", "arguments": {"env": {}}}', JSON, 422, "argument_not_allowed"),
        ('{"tool": "run_tests", "arguments": {"repo": "/etc"}}', JSON, 422, "path_outside_workspace"),
    ],
)  # fmt: skip
def test_a_start_that_is_wrong_is_refused(
    shop: Any, body: str, headers: dict[str, str], status: int, kind: str
) -> None:
    reply = shop.server.request("POST", "/runs", headers, body)
    assert (reply.status, reply.kind) == (status, kind)


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/runs/job-none", 404, "not_found"),
        ("GET", "/runs/job-none/events", 404, "not_found"),
        ("POST", "/runs/job-none/messages", 404, "not_found"),
        ("DELETE", "/runs", 405, "method_not_allowed"),
        ("GET", "/runs/x/messages", 405, "method_not_allowed"),
        ("GET", "/runs?prompt=fix", 400, "unknown_argument"),
        ("GET", "/runs?limit=0", 400, "invalid_arguments"),
        ("GET", "/runs?limit=2&limit=3", 400, "invalid_arguments"),
        ("GET", "/runs?cursor=x", 400, "invalid_arguments"),
        ("POST", "/runs?tool=run_tests", 400, "unknown_argument"),
    ],
)  # fmt: skip
def test_an_address_that_names_nothing_is_told_as_every_error(
    shop: Any, method: str, path: str, status: int, kind: str
) -> None:
    reply = shop.server.request(method, path, JSON, '{"kind": "cancel"}' if method == "POST" else None)
    assert (reply.status, reply.kind) == (status, kind)


def test_every_route_needs_the_token(shop: Any) -> None:
    for path in ("/runs", f"/runs/{shop.waiting}", f"/runs/{shop.waiting}/events?token={shop.server.token}"):
        assert shop.server.request("GET", path, {"Authorization": ""}).status == 401


def test_a_server_tells_of_runs_in_its_own_folders_alone(shop: Any) -> None:
    listed = [run["job_id"] for run in shop.second.request("GET", "/runs?limit=100").json["runs"]]
    assert shop.waiting in listed and shop.to_fix not in listed
    for path in ("", "/events"):
        assert shop.second.request("GET", f"/runs/{shop.to_fix}{path}").kind == "not_found"
    assert shop.send(shop.to_fix, shop.second, kind="cancel").kind == "not_found"
    assert shop.second.request("GET", f"/runs/{shop.waiting}").json["state"] == "waiting_for_edits"


def test_a_read_only_server_starts_nothing_and_takes_no_fixes(shop: Any) -> None:
    assert shop.start("run_tests", shop.second, repo=shop.repo("red")).kind == "denied_by_mode"
    reply = shop.send(shop.waiting, shop.second, kind="fix", text="x")
    assert (reply.status, reply.kind) == (422, "denied_by_mode")


def test_a_run_is_cancelled_from_another_server_and_puts_its_files_back(shop: Any) -> None:
    run = shop.start("fix_tests", proposer="caller", repo=shop.repo("red")).json["job_id"]
    reply = shop.send(run, shop.second, kind="cancel")
    assert (reply.status, reply.json["state"]) == (200, "done"), reply.body
    assert shop.ended(run)["outcome"]["reason"] == "cancelled"
    assert json.loads(shop.server.request("GET", f"/runs/{run}").body)["state"] == "done"


def test_words_reach_the_agent_of_a_coding_task(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    script = replies(tmp_path, [says("done."), says("done again.")])
    told: list[dict[str, Any]] = []
    heard: list[str] = []
    with engine_on(root) as engine, ThreadPoolExecutor(1) as pool:
        desk = Desk(Caller(EngineSlot(lambda: engine)), Offer())

        def hear(event: Any) -> None:
            if event.kind == "model_response" and not told:
                words = {"kind": "message", "text": "calc.py only"}
                told.append(pool.submit(lambda: asyncio.run(desk.take(event.run_id, words))).result(60))
            if event.kind == "steered":
                heard.append(event.data["text"])

        job = engine.task(engine.session(), TaskOptions("do it", provider="scripted", script=script), on_event=hear).job
        assert job.wait(100) == "done"
    assert told[0]["job_id"] == job.id and heard == ["calc.py only"]
