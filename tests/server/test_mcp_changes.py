"""Changes: who subscribed hears of a run and of files, in both protocol eras, and a connection's end leaves nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourcesListChanged, ResourceUpdated
from support.engines import replacement
from support.fixing import FIXED, RIGHT, fixable
from support.mcp_clients import REGREEN, raw_server, server_environment
from support.served import LIMIT_S, Heard, Served, connected, served, text_of

from regreen.jobs import Job
from regreen_server import changes

pytestmark = [
    pytest.mark.usefixtures("few_looks"),
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served]:
    folder = tmp_path_factory.mktemp("changes")
    with served(folder, [fixable(folder / "repo")]) as found:
        yield found


@pytest.fixture
def root(here: Served) -> Generator[Path]:
    """The repository, put back afterwards."""
    root = here.engine.settings.roots[0]
    before = (root / "calc.py").read_text("utf-8")
    yield root
    (root / "calc.py").write_text(before, "utf-8")


async def begun(client: Any) -> str:
    """The id of a run that takes its baseline now."""
    answer = await client.call_tool("fix_tests", {"proposer": "caller", "wait_s": 0})
    job: str = answer.structured_content["job_id"]
    return job


async def ended(client: Any, job: str) -> None:
    """Let the run end, as soon as it waits for its caller: fixed."""
    while (await client.call_tool("job_status", {"job_id": job})).structured_content["state"] == "running":
        pass
    done = await client.call_tool("submit_fix", {"job_id": job, "replacements": RIGHT, "wait_s": 45})
    assert done.structured_content["outcome"]["fixed"], done


def test_a_client_of_the_handshake_era_hears_of_a_run_until_its_end_and_then_reads_it(here: Served, root: Path) -> None:
    async def talk() -> None:
        heard = Heard()
        async with connected(here, "legacy", heard) as client:
            job = await begun(client)
            watched = {f"run://{job}", f"run://{job}/events", "repo://file/calc.py"}
            for uri in watched:
                await client.subscribe_resource(uri)
            await ended(client, job)
            await heard.until(lambda h: watched <= set(h.updated) and h.lists >= 2)
            assert "done" in (await text_of(client, f"run://{job}")).partition("\n")[0]
            assert set(heard.updated) == watched
            await client.unsubscribe_resource(f"run://{job}")

    asyncio.run(talk())
    assert (root / "calc.py").read_text("utf-8") == FIXED
    assert here.listeners == 0


def test_a_raw_client_on_stdio_hears_of_the_end_of_a_run_and_reads_it(tmp_path: Path) -> None:
    repo = fixable(tmp_path / "repo")
    argv = [*REGREEN, "serve", "--root", str(repo)]
    with raw_server(argv, cwd=tmp_path, env=server_environment(tmp_path)) as server:
        assert server.initialize()["capabilities"]["resources"] == {"subscribe": True, "listChanged": True}
        job = server.call("fix_tests", proposer="caller", wait_s=0).data["job_id"]
        assert server.request("resources/subscribe", {"uri": f"run://{job}"}) == {}
        server.call("job_cancel", job_id=job)
        while (note := server.notes.get(timeout=LIMIT_S))["method"] != "notifications/resources/updated":
            assert note["method"] == "notifications/resources/list_changed"
        assert note["params"] == {"uri": f"run://{job}"}
        (report,) = server.request("resources/read", {"uri": f"run://{job}"})["contents"]
        assert report["mimeType"] == "text/plain" and report["text"].startswith(f"{job}: done\ncancelled ")
        assert server.close() == 0
        assert not server.noise


def test_a_client_of_the_later_era_hears_what_it_listens_to(here: Served) -> None:
    async def talk() -> None:
        async with connected(here, "auto") as client:
            job = ""
            async with client.listen(resources_list_changed=True) as lists:
                job = await begun(client)
                async with client.listen(resource_subscriptions=[f"run://{job}"]) as updates:
                    await client.call_tool("job_cancel", {"job_id": job})
                    assert await asyncio.wait_for(anext(aiter(updates)), LIMIT_S) == ResourceUpdated(uri=f"run://{job}")
                    assert await asyncio.wait_for(anext(aiter(lists)), LIMIT_S) == ResourcesListChanged()
            assert "done" in (await text_of(client, f"run://{job}")).partition("\n")[0]

    asyncio.run(talk())


def test_a_client_that_leaves_in_the_middle_of_a_run_leaves_nothing(here: Served) -> None:
    async def talk() -> None:
        async with connected(here, "legacy") as client:
            job = await begun(client)
            await client.subscribe_resource(f"run://{job}")
            assert here.listeners == 1
        assert here.listeners == 0
        async with connected(here, "auto") as client:
            async with client.listen(resource_subscriptions=[f"run://{job}"]):
                pass
            await client.call_tool("job_cancel", {"job_id": job})
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left

    asyncio.run(talk())


def test_applied_edits_and_their_restore_are_told_to_who_watches_the_file(here: Served, root: Path) -> None:
    edits = [replacement(path="calc.py", search=RIGHT[0]["search"], replace_by="    return s")]

    async def talk() -> None:
        heard = Heard()
        async with connected(here, "legacy", heard) as client:
            await client.subscribe_resource("repo://signatures/calc.py")
            await client.call_tool("apply_edits", {"replacements": edits, "dry_run": True})
            applied = await client.call_tool("apply_edits", {"replacements": edits})
            await heard.until(lambda h: len(h.updated) == 1)
            await client.call_tool("restore", {"to": applied.structured_content["transaction"]})
            await heard.until(lambda h: len(h.updated) == 2)

    asyncio.run(talk())


@pytest.mark.parametrize("uri", ["run://job-000000000000", "run://../x", "file:///etc/passwd", "repo://nothing/x"])
def test_nobody_subscribes_to_what_is_no_resource_of_this_server(here: Served, uri: str) -> None:
    async def talk() -> Any:
        async with connected(here, "legacy") as client:
            with pytest.raises(MCPError) as caught:
                await client.subscribe_resource(uri)
            return caught.value.error

    error = asyncio.run(talk())
    assert (error.code, error.data["kind"], error.data["uri"]) == (-32602, "not_found", uri)


def test_a_connection_has_no_more_than_so_many_subscriptions(here: Served) -> None:
    async def talk() -> Any:
        async with connected(here, "legacy") as client:
            for number in range(changes.MAX_SUBSCRIPTIONS):
                await client.subscribe_resource(f"repo://file/{number}.py")
            await client.subscribe_resource("repo://file/0.py")
            with pytest.raises(MCPError) as caught:
                await client.subscribe_resource("repo://file/more.py")
            await client.unsubscribe_resource("repo://file/0.py")
            await client.subscribe_resource("repo://file/more.py")
            return caught.value.error

    assert asyncio.run(talk()).data["kind"] == "limit_exceeded"


def test_progress_in_quick_succession_is_told_in_few_updates_and_the_end_always(here: Served) -> None:
    session = here.engine.session()
    job = Job("job-quick", "fix", session.key, here.engine.store, {})

    def work() -> None:
        for step in range(200):
            job.set_progress(f"step {step}")
            job.on_change()

    async def talk() -> list[str]:
        heard = Heard()
        async with connected(here, "legacy", heard) as client:
            await client.subscribe_resource("run://job-quick")
            here.engine.jobs.add(job)
            job.start(work, dict)
            await heard.until(lambda h: h.updated and h.lists >= 1 and job.state == "done")
            assert "done" in (await text_of(client, "run://job-quick")).partition("\n")[0]
        return heard.updated

    assert 1 <= len(asyncio.run(talk())) <= 3


@pytest.mark.parametrize(("told_at", "now", "is_news", "rest"), [
    (None, 5.0, False, 0.0), (5.0, 5.2, False, 0.8), (5.0, 6.0, False, 0.0), (5.0, 5.2, True, 0.0),
])  # fmt: skip
def test_progress_is_told_once_a_second_and_a_new_state_at_once(
    told_at: float | None, now: float, is_news: bool, rest: float
) -> None:
    assert changes.rest_s(told_at, now, is_news=is_news) == pytest.approx(rest)


def test_every_transport_declares_what_is_sent_and_no_more(here: Served) -> None:
    capabilities = here.server.create_initialization_options().capabilities
    assert capabilities.resources is not None and capabilities.prompts is not None
    assert (capabilities.resources.subscribe, capabilities.resources.list_changed) == (True, True)
    assert capabilities.tools is not None and not capabilities.tools.list_changed
    assert capabilities.completions is not None and not capabilities.prompts.list_changed
