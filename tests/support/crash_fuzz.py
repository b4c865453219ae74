"""Kills fix runs at random moments, recovers, and looks for a lost byte. Everything follows from a seed.

    python -m support.crash_fuzz FOLDER SEED...     (in tests/; output: a JSON line for each seed)

A run is a real one (engine, job, journal, snapshots, git) in a process of its own, forked from this one. Most have a
stub for the tests, whose side effects a real process makes; some run pytest. SIGKILL comes at a numbered step, which
is the same each time, or from outside at any moment. So do the user's edits.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from regreen.git import merge_file
from regreen.session import Engine, FixOptions
from regreen.settings import load_settings
from regreen.workspace import Journal
from support.crash_checks import Ended, complaints, merges
from support.crash_plans import Plan, plan_of
from support.crash_world import StubTests, build, do_edit, git_of, state_of
from support.faults import watched

LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of one script."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "repo"

    @property
    def log(self) -> Path:
        return self.folder / "user.jsonl"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "REGREEN_STATE_DIR": str(self.folder / "state"),
            "REGREEN_CACHE_DIR": str(self.folder / "cache"),
        }

    @contextmanager
    def engine(self) -> Generator[Engine]:
        settings = load_settings(self.environ, roots=(self.root,), mode="auto")
        with Engine(settings, cwd=self.root) as engine:
            yield engine


@dataclass(slots=True)
class Steps:
    """Counts the steps of a process, and does at some of them what is to be done there."""

    at: Mapping[int, Callable[[], None]]
    count: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    only_jobs: bool = True  # the main thread only waits, and how often is not the same each time

    def __call__(self, _: str) -> None:
        if self.only_jobs and threading.current_thread() is threading.main_thread():
            return
        number = next(self.count)
        if number in self.at:
            self.at[number]()


@contextmanager
def counted(engine: Engine, steps: Steps) -> Generator[None]:
    """While the block runs, each transaction of the store and each writing call in the project is a step."""
    real = engine.store.transaction

    @contextmanager
    def transaction() -> Generator[Any]:
        steps("transaction")
        with real() as db:
            yield db
        steps("committed")

    engine.store.transaction = transaction  # pyright: ignore[reportAttributeAccessIssue]
    with watched(steps):
        yield


def run_child(place: Place, plan: Plan) -> None:
    """The fix run that is to die."""
    at: dict[int, Callable[[], None]] = {}
    if plan.kind == "steps":
        for when, edit in plan.edits:
            at[int(when)] = partial(do_edit, place.root, edit, place.log)
        at[int(plan.kill_at)] = partial(_die, whole_session=plan.whole_session)
    steps = Steps(at)
    script = place.folder / "script.jsonl"
    with place.engine() as engine, counted(engine, steps):
        session = engine.session()
        merge = partial(merge_file, environ=place.environ, inside=place.root)
        session.journal = Journal(engine.store, session.workspace, on_step=steps, merge=merge)
        if plan.kind != "real":
            session.run_suite = StubTests(place.root, plan, steps)  # pyright: ignore[reportAttributeAccessIssue]
        options = FixOptions(proposer="scripted", script=script, keep_partial=plan.keep_partial)
        job = engine.fix(session, options).job
        job.wait(LIMIT_S)
        if job.error is not None:
            raise job.error


def _die(*, whole_session: bool) -> None:
    if whole_session:
        os.killpg(0, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def recover_child(place: Place, kill_at: int) -> dict[str, Any]:
    """Opening the repository again; what was put back."""
    steps = Steps({kill_at: partial(_die, whole_session=False)}, only_jobs=False)
    with place.engine() as engine:
        if not kill_at:
            engine.session()
        else:
            with counted(engine, steps):
                engine.session()
        reports = {
            run: sorted({*(c.path for c in report.conflicts), *report.ignored})
            for run, report in engine.recovered.items()
        }
        merged = {path for report in engine.recovered.values() for path in report.merged}
    return {"conflicts": reports, "merged": sorted(merged)}


def look_child(place: Place) -> dict[str, Any]:
    """What the store knows of the run, and whether the tree can be worked with."""
    with place.engine() as engine:
        session = engine.session()
        runs = [dict(r) for r in engine.store.rows("SELECT id, finished, result FROM runs")]
        touched = session.journal.touched(runs[0]["id"]) if runs else {}
        blobs = [bytes(r["data"]) for r in engine.store.rows("SELECT data FROM blobs")]
        left = engine.store.rows("SELECT id FROM snapshots") + engine.store.rows(
            "SELECT id FROM transactions WHERE state = 'open'"
        )
        works = engine.call("apply_edits", {"replacements": [{"path": "w/x.py", "search": "", "replace": "x = 1\n"}]})
        undone = engine.call("restore", {"to": works.data.get("transaction", "none")})
        return {
            "recovered": sorted(engine.recovered),
            "runs": runs,
            "touched": touched,
            "blobs": [b.hex() for b in blobs],
            "left": len(left),
            "works": not works.is_error and not undone.is_error and not (place.root / "w").exists(),
            "said": works.text if works.is_error else undone.text if undone.is_error else "",
        }


def _tokens(log: Path) -> list[str]:
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [row["token"] for row in rows if row["after"] is not None]


# --- processes ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Child:
    """A fork that does some work in a session of its own, and tells a JSON value."""

    work: Callable[[], Any]
    cwd: Path
    pid: int = 0
    pipe: int = -1

    def start(self) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(writing)
            self.pipe = reading
            return
        os.close(reading)
        status = 1
        try:
            os.setsid()
            os.chdir(self.cwd)
            data = json.dumps(self.work()).encode()
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(data)
            status = 0
        finally:
            if status:
                sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
            sys.stderr.flush()
            os._exit(status)

    def ended(self, within_s: float) -> bool:
        """Wait for its end; whether it came. (Its pipe ends with it.)"""
        return bool(select.select([self.pipe], [], [], max(0.0, within_s))[0])

    def kill(self, *, whole_session: bool) -> None:
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if whole_session else os.kill)(self.pid, signal.SIGKILL)

    def result(self) -> tuple[bool, Any]:
        """Whether it was killed, and what it said."""
        if not self.ended(LIMIT_S):
            self.kill(whole_session=True)
            raise AssertionError("a process hangs")
        with os.fdopen(self.pipe, "rb") as pipe:
            said = pipe.read()
        status = os.waitpid(self.pid, 0)[1]
        if os.WIFSIGNALED(status):
            return True, None
        assert os.waitstatus_to_exitcode(status) == 0, "a process failed"
        return False, json.loads(said)


def run_and_kill(place: Place, plan: Plan) -> bool:
    """The run, with the user's edits and the kill; whether it was killed."""
    child = Child(partial(run_child, place, plan), place.root)
    begin = time.monotonic()
    child.start()
    if plan.kind != "steps":
        todo: list[tuple[float, Callable[[], None]]] = [
            (when, partial(do_edit, place.root, edit, place.log)) for when, edit in plan.edits
        ]
        todo.append((plan.kill_at, partial(child.kill, whole_session=plan.whole_session)))
        for when, act in sorted(todo, key=lambda item: item[0]):
            if child.ended(begin + when - time.monotonic()):
                break
            act()
    return child.result()[0]


def processes_in(folder: Path) -> list[int]:
    """Processes that stand in a folder."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "cwd").readlink().is_relative_to(folder):
                    found.append(int(entry.name))
    return found


def until_gone(folder: Path, limit_s: float = 15.0) -> bool:
    """Whether all processes that stood in a folder end by themselves."""
    end = time.monotonic() + limit_s
    while processes_in(folder):
        if time.monotonic() > end:
            return False
        select.select([], [], [], 0.01)
    return True


# --- one script --------------------------------------------------------------------------------------


def run_script(folder: Path, seed: int) -> dict[str, Any]:
    """Run one script; `wrong` names what is not as it must be."""
    plan = plan_of(seed)
    place = Place(folder / str(seed))
    (place.folder / "home").mkdir(parents=True)
    build(plan, place.root)
    lines = "".join(json.dumps(p) + "\n" for p in plan.proposals)
    (place.folder / "script.jsonl").write_text(lines, "utf-8")
    before, git_before = state_of(place.root), git_of(place.root)
    begin = time.monotonic()
    killed = run_and_kill(place, plan)
    gone = until_gone(place.root)
    for edit in plan.edits_after:
        do_edit(place.root, edit, place.log)
    again = plan.second_kill and Child(partial(recover_child, place, plan.second_kill), place.root)
    twice = False
    conflicts: dict[str, Any] = {"conflicts": {}, "merged": []}
    if again:
        again.start()
        twice, said = again.result()
        conflicts = said or conflicts
    last = Child(partial(recover_child, place, 0), place.root)
    last.start()
    _, said = last.result()
    conflicts = {
        "conflicts": conflicts["conflicts"] | said["conflicts"],
        "merged": conflicts["merged"] + said["merged"],
    }
    after = state_of(place.root)
    looking = Child(partial(look_child, place), place.root)
    looking.start()
    _, known = looking.result()
    ended = Ended(plan, before, after, state_of(place.root), git_before, git_of(place.root), conflicts, known,
                  gone and until_gone(place.root), place.log)  # fmt: skip
    wrong, edited, merged = complaints(ended), len(_tokens(place.log)), merges(ended)
    if not wrong:
        shutil.rmtree(place.folder, ignore_errors=True)
    return {
        "seed": seed, "kind": plan.kind, "killed": killed, "twice": twice, "merged": merged,
        "conflicts": sum(len(c) for c in conflicts["conflicts"].values()), "edits": edited,
        "took_s": round(time.monotonic() - begin, 2), "finished": ended.finished, "wrong": wrong,
    }  # fmt: skip


def main(folder: Path, seeds: Sequence[int]) -> None:
    for seed in seeds:
        try:
            told = run_script(folder, seed)
        except AssertionError as e:
            told = {"seed": seed, "wrong": [f"the harness stopped: {e}"]}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(seed) for seed in sys.argv[2:]])
