"""Resources: the repository and its runs by URI, for clients of both protocol eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from support.engines import run_script, script
from support.fixing import LOOKS, RIGHT, WRONG, fixable
from support.gitrepos import make_repo
from support.served import MODES, Served, connected, served, text_of

from regreen.fix import baseline
from regreen.session.recording import RunRecord
from regreen_server import run_resources
from regreen_server.run_resources import Address, address

INVALID_PARAMS = -32602


@dataclass(frozen=True)
class World:
    here: Served
    folder: Path
    run: str


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    """A server whose repository has seen one run: a wrong fix, then the right one."""
    folder = tmp_path_factory.mktemp("world")
    repo = fixable(folder / "repo")
    with served(folder, [repo]) as here, pytest.MonkeyPatch.context() as patch:
        patch.setattr(baseline, "RUNS", LOOKS)
        data = run_script(here.engine, script(folder, [WRONG, RIGHT]))
        assert data["outcome"]["fixed"], data
        yield World(here, folder, data["job_id"])


def refused(world: World, uri: str, mode: str = "legacy") -> Any:
    async def talk() -> Any:
        async with connected(world.here, mode) as client:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            return caught.value.error

    return asyncio.run(talk())


@pytest.mark.parametrize("mode", MODES)
def test_a_run_is_listed_with_the_repository_and_read_in_its_parts(world: World, mode: str) -> None:
    async def talk() -> None:
        async with connected(world.here, mode) as client:
            listed = {r.uri: r for r in (await client.list_resources()).resources}
            assert {"repo://skeleton/", "repo://signatures/", "repo://map/", f"run://{world.run}"} <= set(listed)
            entry = listed[f"run://{world.run}"]
            assert (entry.title, entry.mime_type) == ("Fix run: fixed", "text/plain")
            report = await text_of(client, entry.uri)
            assert report.startswith(f"{world.run}: done\nfixed: ")
            assert "\n  1. " in report and "\n  2. passed" in report and "+    return " in report
            assert "test_calc.py" in await text_of(client, f"{entry.uri}/log")
            events = [json.loads(line) for line in (await text_of(client, f"{entry.uri}/events")).splitlines()]
            assert (events[0]["kind"], events[-1]["kind"]) == ("run_started", "run_finished")
            later = [json.loads(line) for line in (await text_of(client, f"{entry.uri}/events?after=3")).splitlines()]
            assert later == [event for event in events if event["seq"] > 3]

    asyncio.run(talk())


def test_every_template_is_listed_with_the_kind_of_its_contents(world: World) -> None:
    async def talk() -> dict[str, str | None]:
        async with connected(world.here, "auto") as client:
            templates = (await client.list_resource_templates()).resource_templates
            return {t.uri_template: t.mime_type for t in templates}

    assert asyncio.run(talk()) == {
        "repo://skeleton/{+path}": "text/plain",
        "repo://signatures/{+path}": "text/plain",
        "repo://file/{+path}": "text/plain",
        "run://{job_id}": "text/plain",
        "run://{job_id}/log": "text/plain",
        "run://{job_id}/events": "application/x-ndjson",
    }


@pytest.mark.parametrize("uri", [
    "run://", "run://..", "run://job-000000000000", "run://%2e%2e/log", "run://job-1%2f..%2fstate.db",
    "run://RUN/../state.db", "run://RUN/events/..", "run://RUN/attempts", "run://RUN/log?offset=-1",
    "run://RUN/events?after=1&after=2", "run://RUN?after=1", "file:///etc/passwd", "repo://file/../state/x",
    "repo://file/%2e%2e%2fstate", "repo://nothing/x", "",
])  # fmt: skip
def test_what_is_no_resource_of_this_server_is_refused_with_its_uri(world: World, uri: str) -> None:
    uri = uri.replace("RUN", world.run)
    error = refused(world, uri)
    assert (error.code, error.data["uri"]) == (INVALID_PARAMS, uri)
    assert error.data["kind"] in ("not_found", "path_outside_workspace") and error.data["hint"]


def test_the_beginning_of_an_id_names_no_run(world: World) -> None:
    assert refused(world, f"run://{world.run[:-1]}", "auto").data["kind"] == "not_found"


def test_a_run_of_a_repository_that_is_not_served_is_not_found(world: World, tmp_path: Path) -> None:
    other = make_repo(tmp_path / "other", {"a.py": "A = 1\n"})
    with served(world.folder, [other]) as elsewhere:
        there = World(elsewhere, world.folder, world.run)

        async def uris() -> set[str]:
            async with connected(elsewhere, "legacy") as client:
                return {r.uri for r in (await client.list_resources()).resources}

        assert not any(uri.startswith("run://") for uri in asyncio.run(uris()))
        for part in ("", "/log", "/events"):
            assert refused(there, f"run://{world.run}{part}").data["kind"] == "not_found"


def test_a_long_log_is_read_in_parts_each_saying_where_it_goes_on(world: World) -> None:
    whole = "".join(f"line {n} of the tests' output\n" for n in range(6000))
    (world.here.engine.store.run_folder(world.run) / "newest.log").write_text(whole, "utf-8")

    async def talk() -> list[str]:
        parts: list[str] = []
        async with connected(world.here, "auto") as client:
            uri = f"run://{world.run}/log"
            while uri:
                part, _, more = (await text_of(client, uri)).partition("\n... ")
                parts.append(part)
                assert not more or "job_status(job_id=" in more
                uri = more.partition("read ")[2].partition(",")[0]
        return parts

    try:
        parts = asyncio.run(talk())
        assert len(parts) == 4
        assert "".join(parts) == whole
    finally:
        (world.here.engine.store.run_folder(world.run) / "newest.log").unlink()


def test_events_that_do_not_fit_say_where_to_go_on_and_one_too_long_by_itself_is_cut() -> None:
    events = [{"seq": n, "kind": "text_delta", "text": "x" * 20_000} for n in (1, 2, 3)]
    lines = [json.loads(line) for line in run_resources.event_lines("job-1", events).splitlines()]
    assert [line.get("seq") for line in lines] == [1, 2, None]
    assert lines[-1]["hint"] == "read run://job-1/events?after=2"
    (only,) = run_resources.event_lines("job-1", [{"seq": 7, "kind": "text_delta", "text": "x" * 90_000}]).splitlines()
    assert json.loads(only)["seq"] == 7 and len(only) < 200


def test_a_report_with_a_huge_diff_is_cut_and_says_where_the_rest_is() -> None:
    diff = "".join(f"+line {n}\n" for n in range(20_000))
    report = run_resources.report_text("fixed", {"job_id": "job-1", "state": "done", "outcome": {"diff": diff}})
    assert len(report) < 48_200
    assert report.endswith("show_changes(since='job-1') has the diff")


def record(number: int) -> RunRecord:
    return RunRecord(f"job-{number}", "r", "/r", "fix", float(number), None, 1, "", {}, {})


def test_pages_of_the_list_stay_what_they_are_while_runs_begin_and_are_forgotten() -> None:
    runs = [record(n) for n in range(120, 0, -1)]
    first = run_resources.listed(runs, [], "")
    assert [r.name for r in first.resources] == [run.id for run in runs[:50]]
    assert first.next_cursor is not None
    second = run_resources.listed([record(121), *runs], [], first.next_cursor)
    assert [r.name for r in second.resources] == [run.id for run in runs[50:100]]
    forgotten = [run for run in runs if run.id != runs[49].id]
    assert run_resources.listed(forgotten, [], first.next_cursor).resources == second.resources
    assert second.next_cursor is not None
    last = run_resources.listed(runs, [], second.next_cursor)
    assert (len(last.resources), last.next_cursor) == (20, None)


def test_a_cursor_that_no_list_told_is_refused(world: World) -> None:
    async def talk() -> Any:
        async with connected(world.here, "legacy") as client:
            with pytest.raises(MCPError) as caught:
                await client.list_resources(cursor="page two")
            return caught.value.error

    error = asyncio.run(talk())
    assert (error.code, error.data["kind"]) == (INVALID_PARAMS, "invalid_arguments")


@pytest.mark.parametrize(("uri", "meant"), [
    ("run://job-1", Address("job-1")), ("run://job-1/", Address("job-1")),
    ("run://job%2D1/log", Address("job-1", "log")), ("run://job-1/log?offset=7", Address("job-1", "log", 7)),
    ("run://job-1/events?after=7", Address("job-1", "events", 7)),
    ("run://a b", None), ("run://job-1/log?after=7", None), ("run://job-1//log", None), ("repo://job-1", None),
])  # fmt: skip
def test_an_address_is_an_id_a_part_and_a_start(uri: str, meant: Address | None) -> None:
    assert address(uri) == meant
