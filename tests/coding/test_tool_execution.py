"""Which tool calls run beside each other, and what becomes of those that take too long."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.agent_tools import LIMIT_S, Gate, a_call, a_tool, executed, said

from regreen.agent.execution import GRACE_S, KEPT_THREADS, Workers, partition
from regreen.agent.tool import Tool, ToolContext, ToolReply
from regreen.agent.toolbox import Toolbox
from regreen.providers.breaker import REST_S
from regreen.settings import AgentSettings
from regreen.wire import Json

SOON_S = 0.05


@contextmanager
def toolbox(
    *tools: Tool, now: list[float] | None = None, grace_s: float = GRACE_S, **chosen: Any
) -> Generator[Toolbox]:
    clock = time.monotonic if now is None else lambda: now[0]
    box = Toolbox(tools, settings=AgentSettings(**chosen), clock=clock, grace_s=grace_s)
    try:
        yield box
    finally:
        box.close()


# --- batches -----------------------------------------------------------------------------------------


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 5))
def test_partition_keeps_the_order_and_puts_only_safe_calls_together(safe: list[bool], most: int) -> None:
    calls = list(range(len(safe)))
    batches = partition(calls, lambda c: safe[c], most)
    assert [c for batch in batches for c in batch] == calls
    for batch in batches:
        assert len(batch) == 1 or all(safe[c] for c in batch)
        assert 1 <= len(batch) <= most
    for one, other in pairwise(batches):  # no batch is smaller than it has to be
        assert len(one) == most or not safe[one[-1]] or not safe[other[0]]


class Overlaps:
    """Which calls ran at the same time: each says when it begins, waits a moment for others, and says when it ends."""

    def __init__(self, together: int) -> None:
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self.seen: set[frozenset[str]] = set()
        self.order: list[str] = []
        self._barrier = threading.Barrier(together)

    def read(self, arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
        return self._run(f"r{arguments['n']}", meet=bool(arguments.get("meet")))

    def write(self, arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
        return self._run(f"w{arguments['n']}", meet=False)

    def _run(self, name: str, *, meet: bool) -> ToolReply:
        with self._lock:
            self._running.add(name)
            self.order.append(name)
            self.seen.add(frozenset(self._running))
        if meet:
            self._barrier.wait(LIMIT_S)
        with self._lock:
            self._running.remove(name)
        return ToolReply(name)


@settings(max_examples=25)
@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_writes_overlap_nothing_and_answers_come_in_the_order_of_the_calls(writes: list[bool]) -> None:
    it = Overlaps(1)
    calls = [a_call("write" if w else "read", i, n=i) for i, w in enumerate(writes)]
    with toolbox(a_tool("read", it.read), a_tool("write", it.write, read_only=False), max_parallel=4) as box:
        done = executed(box, calls)
    assert [e.output.text for e in done] == [f"{'w' if w else 'r'}{i}" for i, w in enumerate(writes)]
    assert [e.output.call_id for e in done] == [c.id for c in calls]
    assert all(len(running) == 1 for running in it.seen if any(n.startswith("w") for n in running))
    assert [n for n in it.order if n[0] == "w"] == [f"w{i}" for i, w in enumerate(writes) if w]


def test_reads_in_a_row_run_at_the_same_time() -> None:
    it = Overlaps(3)  # each waits for the two others: one after the other they would never end
    with toolbox(a_tool("read", it.read), a_tool("write", it.write, read_only=False)) as box:
        calls = [a_call("read", i, n=i, meet=True) for i in range(3)]
        done = executed(box, [*calls, a_call("write", 3, n=3), a_call("read", 4, n=4)])
    assert [e.output.text for e in done] == ["r0", "r1", "r2", "w3", "r4"]
    assert it.order[-2:] == ["w3", "r4"]


def test_only_tools_that_are_named_safe_run_beside_others() -> None:
    gate, other = Gate(), a_tool("other", "quick")
    with toolbox(a_tool("slow", gate), other, concurrency_safe=("slow",)) as box:

        async def work() -> Any:
            task = asyncio.ensure_future(box.execute([a_call("slow"), a_call("other", 2)]))
            await asyncio.to_thread(gate.has_begun)
            gate.go.set()
            return await task

        assert [e.output.text for e in asyncio.run(work())] == ["went through", "quick"]
    with toolbox(a_tool("read"), a_tool("ask", requires_approval=True)) as box:  # a person is asked one thing at a time
        assert [[c.name for c in b] for b in partition([a_call("read"), a_call("ask")], box._is_safe, 9)] == [
            ["read"], ["ask"],
        ]  # fmt: skip


# --- time --------------------------------------------------------------------------------------------


def test_a_call_that_takes_too_long_is_told_to_stop_and_the_answer_says_what_to_do() -> None:
    gate = Gate(listens=True)
    with toolbox(a_tool("slow", gate, timeout_s=SOON_S)) as box:
        late = said(box, "slow")
    assert gate.told_to_stop.is_set()
    assert late.output.is_error
    assert late.output.text == (
        f"timeout: `slow` did not end within {SOON_S:g} s and was told to stop\n"
        "narrow the call (fewer files, a smaller part), or go another way\nit said at its end: stopped early"
    )


def test_after_a_write_that_timed_out_the_model_is_told_to_look() -> None:
    gate = Gate(listens=True)
    with toolbox(a_tool("write", gate, read_only=False, timeout_s=SOON_S)) as box:
        assert "look before you call it again" in said(box, "write").output.text


def test_a_hung_tool_is_left_and_never_run_a_second_time_at_once() -> None:
    gate = Gate()
    with toolbox(a_tool("stuck", gate, read_only=False, timeout_s=SOON_S), a_tool("other"), grace_s=SOON_S) as box:
        late = said(box, "stuck").output.text
        assert "it has not stopped yet, and until then `stuck` is refused" in late
        again, other = executed(box, [a_call("stuck"), a_call("other", 2)])
        assert again.output.text.startswith("busy: `stuck` is still busy with an earlier call")
        assert (other.output.text, gate.runs) == ("ok", 1)
        gate.go.set()
        assert gate.ended.wait(LIMIT_S)
        while (now := said(box, "stuck")).output.text.startswith("busy"):  # its thread is just about to end
            pass
        assert (now.output.text, gate.runs) == ("went through", 2)


def test_after_three_timeouts_in_a_row_a_tool_is_refused_until_it_has_rested() -> None:
    now, gate = [100.0], Gate(listens=True)
    with toolbox(a_tool("slow", gate, timeout_s=SOON_S), now=now) as box:
        for _ in range(3):
            gate.go.clear()
            assert said(box, "slow").output.text.startswith("timeout: ")
        refused = said(box, "slow")
        assert refused.output.is_error
        assert refused.output.text == (
            "unavailable: `slow` timed out 3 times in a row; it is tried again in 60 s\ndo without it"
        )
        assert gate.runs == 3
        now[0] += REST_S
        gate.go.set()
        assert said(box, "slow").output.text == "went through"
        assert said(box, "slow").output.text == "went through"


def test_other_answers_between_timeouts_keep_a_tool_available() -> None:
    gate = Gate(listens=True)
    with toolbox(a_tool("slow", gate, timeout_s=SOON_S)) as box:
        for _ in range(2):
            for _ in range(2):
                gate.go.clear()
                said(box, "slow")
            gate.go.set()
            assert said(box, "slow").output.text == "went through"


# --- cancelling --------------------------------------------------------------------------------------


def test_cancelling_tells_running_tools_to_stop_at_once_and_starts_no_others() -> None:
    gates = [Gate(), Gate()]
    never = Gate()
    with toolbox(a_tool("a", gates[0]), a_tool("b", gates[1]), a_tool("w", never, read_only=False)) as box:

        async def work() -> None:
            task = asyncio.ensure_future(box.execute([a_call("a"), a_call("b", 2), a_call("w", 3)]))
            for gate in gates:
                await asyncio.to_thread(gate.has_begun)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert all(g.told_to_stop.is_set() and not g.ended.is_set() for g in gates)
            assert (await box.execute([a_call("a")]))[0].output.text.startswith("busy: ")

        asyncio.run(work())
        assert not box.close(wait_s=0.0)
        for gate in gates:
            gate.go.set()
        assert box.close(wait_s=LIMIT_S)  # so that nothing is put back while a write still goes on
        assert all(gate.ended.is_set() for gate in gates)
    assert never.runs == 0


# --- threads -----------------------------------------------------------------------------------------


def test_threads_are_used_again_and_end_when_they_are_closed() -> None:
    workers = Workers()
    threads: set[threading.Thread] = set()
    for _ in range(20):
        threads.add(workers.submit(threading.current_thread).result(LIMIT_S))
    assert len(threads) <= 3  # one may not be idle again yet when the next work comes
    workers.close()
    for thread in threads:
        thread.join(LIMIT_S)
        assert not thread.is_alive()
    with pytest.raises(RuntimeError):
        workers.submit(threading.current_thread)


def test_many_calls_at_once_each_have_a_thread_and_only_some_stay() -> None:
    workers, barrier = Workers(), threading.Barrier(KEPT_THREADS + 4)
    futures = [workers.submit(lambda: (barrier.wait(LIMIT_S), threading.current_thread())[1]) for _ in range(12)]
    threads = {f.result(LIMIT_S) for f in futures}
    assert len(threads) == 12
    workers.close()
    for thread in threads:
        thread.join(LIMIT_S)


def test_a_hanging_tool_does_not_keep_the_process_from_ending() -> None:
    program = (
        "import threading\nfrom regreen.agent.execution import Workers\n"
        "begun = threading.Event()\nworkers = Workers()\n"
        "workers.submit(lambda: (begun.set(), threading.Event().wait()))\nbegun.wait()\nworkers.close()\nprint('end')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "end\n"
