"""The events of a run as a stream: complete, resumed from any server, and no burden when nobody reads."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.http_server import HttpServer

from regreen.events import EventLog
from regreen.jobs import Job
from regreen.redact import Redactor
from regreen.session import Engine, diary
from regreen.session.diary import DIARY, Diary
from regreen.settings import load_settings
from regreen_server.calls import Caller, EngineSlot
from regreen_server.http import events

SSE = {"Accept": "text/event-stream"}


@dataclass(frozen=True)
class Sent:
    """One server-sent event."""

    event: str
    data: dict[str, Any]
    id: str = ""


def stream(
    server: HttpServer, run: str, until: Callable[[Sent], bool], query: str = "", **headers: str
) -> tuple[list[Sent], http.client.HTTPResponse]:
    """The events of a stream, up to the first for which `until` holds; then the client goes."""
    link = http.client.HTTPConnection(server.host, server.port, timeout=60)
    sent = {**server.bearer, **SSE, **{k.replace("_", "-"): v for k, v in headers.items()}}
    link.request("GET", f"/runs/{run}/events{query}", headers=sent)
    answer = link.getresponse()
    found: list[Sent] = []
    fields: dict[str, str] = {}
    while not (found and until(found[-1])):
        line = answer.readline().decode()
        assert line, found
        name, _, value = line.rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif "event" in fields:
            found.append(Sent(fields["event"], json.loads(fields["data"]), fields.get("id", "")))
            fields = {}
    link.close()
    return found, answer


def waits(sent: Sent) -> bool:
    return sent.event == "state" and sent.data["state"] == "waiting_for_edits"


def test_a_stream_that_was_cut_goes_on_at_another_server(shop: Any) -> None:
    first, answer = stream(shop.server, shop.waiting, lambda sent: sent.event == "tests_finished")
    assert answer.getheader("content-type") == "text/event-stream; charset=utf-8"
    assert answer.getheader("cache-control") == "no-cache, no-transform"
    assert answer.getheader("x-accel-buffering") == "no"
    rest, _ = stream(shop.second, shop.waiting, waits, last_event_id=first[-1].id)
    same, _ = stream(shop.second, shop.waiting, waits, f"?after={first[-1].id}")
    whole, _ = stream(shop.server, shop.waiting, waits)
    told = [sent for sent in (*first, *rest) if sent.id]
    assert told == [sent for sent in whole if sent.id] and [s for s in same if s.id] == [s for s in rest if s.id]
    assert [int(sent.id) for sent in told] == [sent.data["seq"] for sent in told]
    assert [sent.event for sent in told] == [sent.data["kind"] for sent in told]


def test_the_pages_of_json_hold_the_same_events(shop: Any) -> None:
    streamed, _ = stream(shop.server, shop.waiting, waits)
    page = shop.second.request("GET", f"/runs/{shop.waiting}/events").json
    assert page["events"] == [sent.data for sent in streamed if sent.id]
    assert (page["next"], page["state"]) == (page["events"][-1]["seq"], "waiting_for_edits")
    after = shop.server.request("GET", f"/runs/{shop.waiting}/events?after={page['next']}").json
    assert (after["events"], after["next"]) == ([], page["next"])


def test_a_stream_ends_with_the_run_and_says_why(shop: Any) -> None:
    run = shop.start("fix_tests", proposer="caller", repo=shop.repo("green")).json["job_id"]
    told, _ = stream(shop.server, run, lambda sent: sent.event == "end")
    assert told[-1] == Sent("end", {"state": "done", "reason": "already_green"})
    assert [sent.event for sent in told if sent.id][-1] == "run_finished"
    again = shop.server.request("GET", f"/runs/{run}/events", {**SSE, "Last-Event-ID": "1000000"})
    assert again.body.decode().splitlines()[2] == "event: end"  # and the answer is over


def test_a_run_that_only_runs_tests_tells_its_state_and_its_end(shop: Any) -> None:
    run = shop.start("run_tests", repo=shop.repo("green")).json["job_id"]
    told, _ = stream(shop.server, run, lambda sent: sent.event == "end")
    assert {sent.event for sent in told[:-1]} <= {"state"}
    assert told[-1].data == {"state": "done", "reason": "passed"}
    assert shop.server.request("GET", f"/runs/{run}/events").json == {
        "events": [], "next": 0, "state": "done", "reason": "passed"}  # fmt: skip


@pytest.mark.parametrize(
    ("query", "headers"), [("?after=-1", {}), ("?after=x", {}), ("?from=2", {}), ("", {"Last-Event-ID": "x"})]
)
def test_a_place_that_no_stream_has_told_is_refused(shop: Any, query: str, headers: dict[str, str]) -> None:
    assert shop.server.request("GET", f"/runs/{shop.waiting}/events{query}", {**SSE, **headers}).status == 400


# --- one stream, its parts in hand -------------------------------------------------------------------


@dataclass(frozen=True)
class Running:
    """A run that goes on in this process, and a caller on its engine."""

    job: Job
    log: EventLog
    engine: Engine

    @property
    def caller(self) -> Caller:
        return Caller(EngineSlot(lambda: self.engine))

    def diary(self, after: int = 0) -> Diary:
        return self.engine.diary(self.job.id, after)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    settings = replace(load_settings({"REGREEN_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)}), roots=())
    with Engine(settings, cwd=tmp_path) as engine:
        job = Job("job-1", "fix", "repo", engine.store, {})
        engine.jobs.add(job)
        log = EventLog(job.id, engine.store.run_folder(job.id) / DIARY, Redactor.from_environ({}), time.time)
        yield Running(job, log, engine)
        job.set_state("done")


def told_to(running: Running, send: Callable[[Any], Any], receive: Callable[[], Any], streams: events.Streams) -> Any:
    answer = events._Stream(events.frames(running.caller, running.job.id, running.diary()), streams)  # pyright: ignore
    return answer({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)


def test_a_slow_reader_is_read_for_one_page_at_a_time(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diary, "PAGE_BYTES", 4096)
    for number in range(200):
        running.log.emit("error", message="x" * 100, number=number)

    async def work() -> int:
        read: list[int] = []
        follower = events.follow(running.caller, running.job.id, book := running.diary())
        async for told in follower:
            if told.kind == "event":
                read.append(book.after - told.data["seq"])  # type: ignore[operator]
            else:
                break
        await follower.aclose()
        assert len(read) == 200
        return max(read)

    assert asyncio.run(work()) < 40


def test_a_reader_that_goes_ends_its_stream_at_once_even_where_it_is_stuck(running: Running) -> None:
    running.log.emit("error", message="first")

    async def work() -> int:
        streams, stuck, gone = events.Streams(), asyncio.Event(), asyncio.Event()

        async def send(message: Any) -> None:
            if b"first" in message.get("body", b""):
                stuck.set()
                await asyncio.Event().wait()

        async def receive() -> Any:
            await gone.wait()
            return {"type": "http.disconnect"}

        task = asyncio.create_task(told_to(running, send, receive, streams))
        await asyncio.wait_for(stuck.wait(), 30)
        assert streams.open == 1
        gone.set()
        await asyncio.wait_for(task, 30)
        assert len(asyncio.all_tasks()) == 1
        return streams.open

    assert asyncio.run(work()) == 0


def test_the_stream_of_a_run_whose_process_died_ends_once_its_files_are_put_back(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    settings = load_settings({"REGREEN_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)}, roots=(repo,))
    with Engine(settings, cwd=tmp_path) as engine:
        session = engine.session(str(repo))
        job = Job("job-1", "fix", session.key, engine.store, {})
        log = EventLog(job.id, engine.store.run_folder(job.id) / DIARY, Redactor.from_environ({}), time.time)
        log.emit("run_started")
        with engine.store.transaction() as db:
            db.execute("UPDATE runs SET born = 'of another boot'")
        caller = Caller(EngineSlot(lambda: engine))

        async def work() -> list[events.Told]:
            return [told async for told in events.follow(caller, job.id, engine.diary(job.id))]

        told = asyncio.run(work())
        assert told[0].data["kind"] == "run_started"
        assert told[-1] == events.Told("end", {"state": "done", "reason": "cancelled"})


def test_more_streams_than_there_may_be_are_refused() -> None:
    streams = events.Streams()
    streams.open = events.MAX_STREAMS
    assert streams.refusal and (streams.refusal.code, streams.refusal.kind) == (503, "busy")


def test_a_quiet_stream_says_that_it_lives(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.1)

    async def work() -> str:
        async for frame in events.frames(running.caller, running.job.id, running.diary()):
            if frame.startswith(":"):
                return frame
        return ""

    assert asyncio.run(work()) == ": alive\n\n"


# --- the file ----------------------------------------------------------------------------------------


def test_a_line_is_given_once_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / DIARY
    book = Diary(file)
    assert book.page() == () and not book.has_more
    file.write_text('{"seq": 1}\n{"seq"', "utf-8")
    assert [e["seq"] for e in book.page()] == [1]
    assert book.has_more and book.page() == ()
    with file.open("a", encoding="utf-8") as more:
        more.write(': 2}\nbroken\n{"seq": 3}\n')
    assert [e["seq"] for e in book.page()] == [2, 3]
    assert not book.has_more


def test_a_line_longer_than_a_page_is_given_and_one_beyond_all_bounds_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diary, "PAGE_BYTES", 64)
    monkeypatch.setattr(diary, "MAX_LINE_BYTES", 512)
    lines = [json.dumps({"seq": n, "text": "x" * size}) for n, size in enumerate((1, 300, 5000, 2, 1200, 3), 1)]
    (tmp_path / DIARY).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    book = Diary(tmp_path / DIARY)
    pages = iter(book.page, ())
    assert [event["seq"] for page in pages for event in page] == [1, 2, 4, 6]
    assert [e["seq"] for e in Diary(tmp_path / DIARY, 3).page()] == [4]
