"""Threads for blocking work: always another one, no traces of what ran in one before."""

import asyncio
import contextvars
import gc
import threading
import weakref

import pytest

from regreen_server.workers import MOST_WAITING, Workers

MARK = contextvars.ContextVar("MARK", default="")


def test_work_gives_its_result_or_raises_under_its_own_name() -> None:
    async def talk() -> None:
        workers = Workers()
        assert await workers.run("one", lambda: threading.current_thread().name) == "one"
        with pytest.raises(ValueError, match="no"):
            await workers.run("two", lambda: int("no"))
        assert await workers.run("three", lambda: threading.current_thread().name) == "three"

    asyncio.run(talk())


def test_what_waits_keeps_nothing_else_from_running_and_few_threads_stay() -> None:
    async def talk() -> None:
        workers, release = Workers(), threading.Event()
        blocked = [workers.run("blocked", release.wait) for _ in range(40)]
        assert await asyncio.wait_for(workers.run("quick", lambda: 7), 30) == 7
        release.set()
        await asyncio.gather(*blocked)
        busy = {t.name for t in threading.enumerate()}
        assert "quick" in busy or "blocked" in busy, "they wait under the name of what they did last"
        again = await asyncio.gather(*(workers.run("again", threading.get_ident) for _ in range(200)))
        assert len(set(again)) < 200, "threads are used again"

    before = threading.active_count()
    asyncio.run(talk())
    for thread in threading.enumerate():
        if thread.name in ("blocked", "quick", "again"):
            thread.join(0.05)
    assert threading.active_count() <= before + MOST_WAITING


def test_no_work_sees_the_context_of_another() -> None:
    async def talk() -> None:
        workers = Workers()
        await workers.run("sets", lambda: MARK.set("mine"))
        assert await workers.run("looks", MARK.get) == ""

    asyncio.run(talk())


def test_a_thread_that_waits_keeps_nothing_of_what_it_did() -> None:
    class Held:
        def look(self) -> int:
            return 1

    async def talk() -> weakref.ref[Held]:
        workers, held = Workers(), Held()
        await asyncio.gather(*(workers.run("holds", held.look) for _ in range(4)))
        return weakref.ref(held)

    held = asyncio.run(talk())
    gc.collect()
    assert held() is None
