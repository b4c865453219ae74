"""Cancel ends a fix run in whatever phase it is, although its processes do not listen, and leaves nothing behind.

How long it took is printed, and not judged: it is a matter of the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import pytest
from support.engines import ok
from support.fixing import BUG, FIX, RIGHT, WRONG, differences, fingerprint
from support.holding import LIMIT_S, Holding, holding
from support.processes import carrying, until

from regreen.sandbox import Cancel
from regreen.session.fixing import FixJob

pytestmark = pytest.mark.usefixtures("few_looks")


@pytest.fixture
def on(tmp_path: Path) -> Generator[Holding]:
    with holding(tmp_path) as made:
        yield made


def in_the_baseline(on: Holding) -> FixJob:
    on.arm(BUG, stubborn=True)
    return on.start([RIGHT])


def in_an_attempt(on: Holding) -> FixJob:
    on.arm("return s * rate", stubborn=True)
    return on.start([WRONG, RIGHT])


def in_the_verification(on: Holding) -> FixJob:
    on.arm(FIX, nth=2, stubborn=True)
    return on.start([RIGHT])


def in_the_search(on: Holding) -> FixJob:
    fix_job = on.start(proposer="search")
    assert until(lambda: fix_job.run.brief_so_far is not None, LIMIT_S)
    on.arm(stubborn=True)
    return fix_job


PHASES = (in_the_baseline, in_an_attempt, in_the_verification, in_the_search)


@pytest.mark.parametrize("phase", PHASES, ids=[p.__name__ for p in PHASES])
def test_cancel_ends_a_run_whose_processes_do_not_listen_and_restores(
    on: Holding, phase: Callable[[Holding], FixJob]
) -> None:
    before = fingerprint(on.root)
    fix_job = phase(on)
    on.wait()
    assert until(lambda: len(carrying(str(on.beside))) >= 2)
    is_cancelled(on, fix_job, before)


def is_cancelled(on: Holding, fix_job: FixJob, before: Mapping[str, object]) -> None:
    begin = time.monotonic()
    answer = ok(on.engine, "job_cancel", job_id=fix_job.job.id)
    print(f"cancelled in {time.monotonic() - begin:.2f} s")
    assert (answer["state"], answer["restored"]) == ("done", True)
    assert answer["outcome"]["reason"] == "cancelled"
    assert until(lambda: carrying(str(on.beside)) == [])
    assert differences(before, fingerprint(on.root)) == []
    again = ok(on.engine, "job_cancel", job_id=fix_job.job.id)  # once more is fine
    assert again == answer
    assert ok(on.engine, "job_status", job_id=fix_job.job.id)["outcome"] == answer["outcome"]
    assert ok(on.engine, "apply_edits", replacements=RIGHT)["ok"] is True  # the tree is free


def test_call_that_is_given_up_cancels_the_run_that_it_started(on: Holding) -> None:
    before = fingerprint(on.root)
    cancel = Cancel()
    on.arm(BUG, stubborn=True)
    told: list[str] = []

    def leave_once_tests_run(text: str) -> None:
        told.append(text)
        on.wait()
        cancel.set()

    answer = on.engine.call("fix_tests", {"proposer": "caller"}, on_progress=leave_once_tests_run, cancel=cancel)
    assert told
    assert answer.data["outcome"]["reason"] == "cancelled"  # type: ignore[index,call-overload]
    assert carrying(str(on.beside)) == []
    assert differences(before, fingerprint(on.root)) == []


def test_engine_that_is_closed_cancels_what_runs(tmp_path: Path) -> None:
    with holding(tmp_path) as on:
        before = fingerprint(on.root)
        on.arm("return s * rate", stubborn=True)
        fix_job = on.start([WRONG])
        on.wait()
    assert fix_job.job.state == "done"
    assert fix_job.run.outcome is not None
    assert fix_job.run.outcome.restored is True
    assert until(lambda: carrying(str(on.beside)) == [])
    assert differences(before, fingerprint(on.root)) == []
