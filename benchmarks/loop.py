"""What a fix run costs beside its tests and its proposer: snapshots, marks, putting back, and whole attempts.

    python benchmarks/loop.py [--files 7000] [--rounds 15]

Makes a repository of so many committed files in a temporary folder, and one with 5 GB of untracked data (sparse) and
500 pointers to data elsewhere. Every round does each thing once, `git status --porcelain` among them, so that a change
of the machine's load falls on all alike. Prints median and least milliseconds, and the ratio of each to `git status`
of the same repository: of the medians, then of the least. Attempts are wrong fixes in a real run, whose tests have
their report ready at once; all else of it is real: events, records, journal, snapshots.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from regreen.events import EventLog
from regreen.fix import FixBench, FixRequest, FixRun, Insight, StopRules
from regreen.git import Git
from regreen.model import Counts, Failure, Proposal, Replacement, Snapshot, SuiteReport, SuiteStatus
from regreen.redact import Redactor
from regreen.session.recording import Recorder
from regreen.settings import Limits, default_environ
from regreen.snapshots import Snapshots
from regreen.store import Store, new_id, repo_key
from regreen.workspace import Change, Journal, Workspace

LINE = "def value_{0}(first, second):\n    return first * {0} + second\n\n\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{0:064x}\nsize 1000000\n"
SETTLED_S = 4.0  # a file that changed just now is not trusted yet
LIMITS = {
    "take": "1x", "restore_run, 5 edits, 5 side effects": "2x", "rewind, 3 files": "20 ms", "one attempt": "30 ms",
    "take, data and pointers, first": "200 ms", "take, data and pointers": "200 ms",
}  # fmt: skip
RULES = StopRules(max_attempts=10**6, budget_s=1e6, patience=10**6, repeats=10**6, regressions=10**6, tamperings=10**6)


class Place:
    """A repository, opened with a state folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repository"
        self.store = Store(folder / "state")
        self.workspace = Workspace(self.root)
        self.journal = Journal(self.store, self.workspace)
        self.git = Git.open(self.root, default_environ())
        self.snapshots = Snapshots(self.store, self.workspace, self.journal, self.git)

    def close(self) -> None:
        self.snapshots.close()
        self.workspace.close()
        self.store.close()

    def run_id(self) -> str:
        """A run that has begun, as the store knows it."""
        run_id = new_id("job")
        with self.store.transaction() as db:
            db.execute("INSERT INTO runs (id, repo, kind, state, created, pid, request) VALUES (?, ?, ?, ?, ?, ?, ?)",
                       (run_id, repo_key(self.root), "fix", "running", time.time(), os.getpid(), "{}"))  # fmt: skip
        return run_id

    def ended(self, run_id: str) -> None:
        with self.store.transaction() as db:
            db.execute("UPDATE runs SET finished = ?, state = 'done' WHERE id = ?", (time.time(), run_id))

    def edit(self, run_id: str, paths: Sequence[str]) -> None:
        changes = [Change(p, self.workspace.image(p).sha256, f"x = {time.time_ns()}\n".encode()) for p in paths]
        self.journal.commit(changes, label="edit", run_id=run_id)

    def status(self) -> None:
        git(self.root, "status", "--porcelain")


class Times:
    """Milliseconds by name."""

    def __init__(self) -> None:
        self.of: dict[str, list[float]] = {}

    @contextmanager
    def timed(self, name: str) -> Generator[None]:
        begun = time.perf_counter()
        yield
        self.of.setdefault(name, []).append((time.perf_counter() - begun) * 1000)


def git(folder: Path, *args: str) -> None:
    who = ("-c", "user.name=b", "-c", "user.email=b@localhost", "-c", "gc.auto=0")
    subprocess.run(("git", *who, *args), cwd=folder, capture_output=True, check=True)


def make(folder: Path, files: dict[str, str]) -> Path:
    root = folder / "repository"
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    git(root, "repack", "-adq")
    return root


def project(files: int) -> dict[str, str]:
    return {f"package{n % 70}/part{n % 10}/module{n}.py": LINE.format(n) * 10 for n in range(files)}


def names(first: int, number: int) -> list[str]:
    return [f"package{n % 70}/part{n % 10}/module{n}.py" for n in range(first, first + number)]


# --- the steps -------------------------------------------------------------------------------------


def takes(place: Place, times: Times, name: str, rounds: int) -> None:
    """Snapshots of an unchanged tree: of one that was never seen, and of one that was."""
    with times.timed("git status"):
        place.status()
    run_id = place.run_id()
    with times.timed(f"{name}, first"):
        snapshot = place.snapshots.take(run_id)
    place.snapshots.release(snapshot)
    time.sleep(SETTLED_S)
    place.snapshots.release(place.snapshots.take(run_id))
    for _ in range(rounds):
        with times.timed("git status"):
            place.status()
        with times.timed(name):
            snapshot = place.snapshots.take(run_id)
        place.snapshots.release(snapshot)
    place.ended(run_id)


def one_round(place: Place, times: Times) -> None:
    """A run's steps, one by one."""
    with times.timed("git status"):
        place.status()
    run_id = place.run_id()
    with times.timed("take"):
        snapshot = place.snapshots.take(run_id)
    with times.timed("mark, first (walks)"):
        mark = place.snapshots.mark(snapshot)
    with times.timed("side_effects, thorough (walks)"):
        place.snapshots.side_effects(snapshot, mark, thorough=True)
    with times.timed("mark"):
        mark = place.snapshots.mark(snapshot)
    with times.timed("side_effects, none"):
        place.snapshots.side_effects(snapshot, mark)
    place.edit(run_id, names(100, 5))
    mark = place.snapshots.mark(snapshot)
    tests_write(place, snapshot)
    with times.timed("side_effects, 5 files"):
        place.snapshots.side_effects(snapshot, mark)
    with times.timed("restore_run, 5 edits, 5 side effects"):
        report = place.snapshots.restore_run(run_id, snapshot)
    assert len(report.restored) + len(report.deleted) == 10, report
    place.edit(run_id, names(300, 3))
    with times.timed("rewind, 3 files"):
        place.journal.rewind(run_id)
    with times.timed("release"):
        place.snapshots.release(snapshot)
    place.ended(run_id)


def tests_write(place: Place, snapshot: Snapshot) -> None:
    for name in names(200, 3):
        (place.root / name).write_text("written by tests\n", "utf-8")
    for name in ("made-by-tests", "package1/made-by-tests"):
        (place.root / name).write_text("new\n", "utf-8")
    place.snapshots.note_written(snapshot, [*names(200, 3), "made-by-tests", "package1/made-by-tests"])


def dirty_take(place: Place, times: Times, rounds: int) -> None:
    """Snapshots of a tree with the user's own changes in it."""
    for name in names(400, 10):
        (place.root / name).write_text("the user's change\n", "utf-8")
    for n in range(5):
        (place.root / f"untracked{n}.py").write_text("new\n", "utf-8")
    takes(place, times, "take, 10 changed and 5 untracked files", rounds)


def attempts(place: Place, times: Times, rounds: int) -> None:
    """Wrong fixes in a run whose tests take no time."""
    run_id = place.run_id()
    log = EventLog(run_id, place.store.run_folder(run_id) / "events.jsonl", Redactor.from_environ({}), time.time)
    recorder = Recorder(place.store, run_id)
    bench = FixBench(
        workspace=place.workspace,
        journal=place.journal,
        snapshots=place.snapshots,
        run_tests=Ready(),
        insight=lambda _report: Insight(),
        protected_files=lambda: (),
        cancelled=lambda: False,
        limits=Limits(),
        record=lambda proposal, attempt: recorder.attempt(attempt.number, proposal, attempt),
    )
    run = FixRun(FixRequest(run_id, rules=RULES), bench, log)
    run.start()
    numbers = count()
    for _ in range(rounds):
        with times.timed("git status"):
            place.status()
        proposal = wrong(next(numbers))
        with times.timed("one attempt"):
            attempt = run.submit(proposal)
        assert attempt.state == "same", attempt
    run.give_up()
    assert run.outcome is not None and run.outcome.restored, run.outcome
    place.ended(run_id)


def wrong(number: int) -> Proposal:
    """A fix of two files that helps nothing."""
    edits = [Replacement(name, f"def value_{n}(first, second):\n    return first * {n} + second\n\n\n" * 10,
                         f"def value_{n}(first, second):\n    return {number}\n")
             for n, name in zip((7, 8), names(7, 2), strict=True)]  # fmt: skip
    return Proposal(replacements=tuple(edits))


FAILURE = Failure("test_a.py::test_a", "test_a.py", 1, "AssertionError", "1 != 2", "assert 1 == 2", "s")
RED = SuiteReport(
    SuiteStatus.FAILED, "pytest", (), "", "", Counts(passed=1, failed=1, total=2), (FAILURE,), (), 0.01,
    outcomes={FAILURE.id: "failed", "test_a.py::test_b": "passed"},
)  # fmt: skip


class Ready:
    """Tests that take no time, and stay as red as they were."""

    def __call__(self, *_given: object, **_named: object) -> SuiteReport:
        return RED


# --- the table -------------------------------------------------------------------------------------


def show(title: str, times: Times) -> None:
    base = times.of["git status"]
    print(f"{title:42} {'median':>8} {'least':>8} {'ratio':>7} {'ratio':>7}   limit")
    for name, found in times.of.items():
        median, least = statistics.median(found), min(found)
        ratios = f"{median / statistics.median(base):6.2f}x {least / min(base):6.2f}x"
        print(f"{name:42} {median:8.1f} {least:8.1f} {ratios}   {LIMITS.get(name, '')}".rstrip())


def size_of(folder: Path) -> int:
    return sum(p.stat().st_blocks * 512 for p in folder.rglob("*") if p.is_file())


def measured(folder: Path, files: dict[str, str], measure: Callable[[Place, Times], None]) -> Times:
    make(folder, files)
    times = Times()
    place = Place(folder)
    try:
        measure(place, times)
    finally:
        place.close()
    return times


def data_and_pointers(place: Place, times: Times, rounds: int) -> None:
    for n in range(5):
        with (place.root / f"huge{n}.dat").open("wb") as file:
            file.truncate(1 << 30)
    before = size_of(place.root)
    takes(place, times, "take, data and pointers", rounds)
    state = size_of(place.store.folder)
    print(f"disk use: repository {(size_of(place.root) - before) >> 10:+} KiB, state folder {state >> 10} KiB")


def main() -> None:
    parser = argparse.ArgumentParser(description="What a fix run costs beside its tests and its proposer.")
    parser.add_argument("--files", type=int, default=7000, help="files of the repository")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    rounds: int = given.rounds

    def run(place: Place, times: Times) -> None:
        takes(place, times, "take", 1)
        for _ in range(rounds):
            one_round(place, times)
        attempts(place, times, 2 * rounds)
        dirty_take(place, times, rounds)

    pointers = {f"data/{n}.bin": POINTER.format(n) for n in range(500)}
    lfs = {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", **pointers, **project(100)}
    with tempfile.TemporaryDirectory(prefix="regreen-bench-") as one, tempfile.TemporaryDirectory() as two:
        show(f"{given.files} files", measured(Path(one), project(given.files), run))
        show("500 pointers, 5 GB of untracked data",
             measured(Path(two), lfs, lambda place, times: data_and_pointers(place, times, rounds)))  # fmt: skip
    sys.stdout.flush()


if __name__ == "__main__":
    main()
