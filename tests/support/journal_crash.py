"""Kills a process at every step of a journalled change, then recovers, and prints what it found. Run as a script.

Steps are those of the journal and, between them, every call that writes into the project. A step is killed by SIGKILL
in a forked child, so that one interpreter start serves all steps. Output: one JSON list: for each step its name and
the state (`old`, `new`, or a description) after recovery.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from regreen.store import Store
from regreen.workspace import Change, Journal, Workspace
from support.faults import watched

Action: TypeAlias = Callable[[Journal], object]
Tree: TypeAlias = dict[str, tuple[str, int, int]]
LONG = b"".join(b"line %d\n" % i for i in range(3000))


def build(root: Path) -> None:
    """The project before the change: files to modify, delete and rename, one with two names, one to leave alone."""
    (root / "pkg").mkdir(parents=True)
    (root / "pkg/mod.py").write_bytes(b"old\n")
    (root / "gone.py").write_bytes(b"to be deleted\n")
    (root / "twin.py").write_bytes(LONG)
    (root / "other.py").hardlink_to(root / "twin.py")
    (root / "untouched.py").write_bytes(b"mine\n")
    (root / "moved.sh").write_bytes(b"#!/bin/sh\n")
    (root / "pkg/mod.py").chmod(0o750)
    (root / "moved.sh").chmod(0o755)
    for number, path in enumerate(sorted(p for p in root.rglob("*") if p.is_file())):
        os.utime(path, ns=(10**18 + number, 10**18 + number))
    os.utime(root / "twin.py", ns=(10**18 + 77, 10**18 + 77))


def changes() -> list[Change]:
    return [
        Change("new/deep/made.py", "", b"created\n"),
        Change("pkg/mod.py", sha256(b"old\n").hexdigest(), b"new\n"),
        Change("twin.py", sha256(LONG).hexdigest(), LONG.replace(b"line", b"row")),
        Change("gone.py", sha256(b"to be deleted\n").hexdigest(), None),
        Change("moved.sh", sha256(b"#!/bin/sh\n").hexdigest(), None),
        Change("bin/moved.sh", "", b"#!/bin/sh\n", 0o755),
    ]


def tree(root: Path, *, times: bool) -> Tree:
    """Everything below the root: hash, mode, and mtime where `times`; folders too."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        sha = sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        found[str(path.relative_to(root))] = (sha, info.st_mode, info.st_mtime_ns if times and path.is_file() else 0)
    return found


class Bomb:
    """A hook of steps and calls that ends the process at its n-th call; n = 0 never."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.names: list[str] = []

    def __call__(self, name: str) -> None:
        self.names.append(name)
        if len(self.names) == self.number:
            os.kill(os.getpid(), signal.SIGKILL)


def in_child(work: Callable[[Bomb], None], number: int) -> tuple[bool, list[str]]:
    """Run `work` in a fork; whether it was killed, and (if not) the steps that it went through."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        bomb = Bomb(number)
        work(bomb)
        os.write(write_end, json.dumps(bomb.names).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        said = pipe.read()
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return True, []
    if os.waitstatus_to_exitcode(status):
        raise SystemExit("the child failed")
    return False, json.loads(said)


def with_journal(root: Path, state: Path, bomb: Bomb, work: Action) -> None:
    store = Store(state)
    try:
        with Workspace(root) as workspace, watched(bomb):
            work(Journal(store, workspace, on_step=bomb))
    finally:
        store.close()


class Trial:
    """One action on the project of `build`, and what the project is before and after it when nothing goes wrong."""

    def __init__(self, folder: Path, action: Action, start: Action) -> None:
        self.root, self.state, self._kept = folder / "ws", folder / "state", folder / "kept"
        self.action = action
        build(self.root)
        self._run(start, 0)
        for made in (self.root, self.state):
            shutil.move(made, self._kept / made.name)
        self._prepare()
        self.old = tree(self.root, times=True)
        self.steps = self._run(action, 0)[1]
        self.new = tree(self.root, times=False)

    def _run(self, work: Action, kill: int) -> tuple[bool, list[str]]:
        return in_child(lambda bomb: with_journal(self.root, self.state, bomb, work), kill)

    def _prepare(self) -> None:
        """Project and state as they are before the action."""
        for folder in (self.root, self.state):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(self._kept / folder.name, folder)
        (self.root / "other.py").unlink()
        (self.root / "other.py").hardlink_to(self.root / "twin.py")

    def _recover(self, journal: Journal) -> None:
        journal.recover()
        now = tree(self.root, times=True)
        if journal.recover() or tree(self.root, times=True) != now:
            raise SystemExit("a second recovery changed something")

    def after(self, kill: int, *recovery_kills: int) -> str:
        """The state after the action killed at step `kill`, recoveries killed at theirs, and one that is not."""
        self._prepare()
        if not self._run(self.action, kill)[0]:
            return "was not killed"
        for number in recovery_kills:
            self._run(Journal.recover, number)
        self._run(self._recover, 0)
        if not (self.root / "twin.py").samefile(self.root / "other.py"):
            return "a file lost its second name"
        now = tree(self.root, times=True)
        if now == self.old:
            return "old"
        return "new" if tree(self.root, times=False) == self.new else f"neither: {json.dumps(now)}"


def commit(journal: Journal) -> object:
    return journal.commit(changes(), label="three files", run_id="run-1")


def rewind(journal: Journal) -> object:
    return journal.rewind("run-1")


def nothing(_: Journal) -> object:
    return None


def main(folder: Path, what: str, recovery: str) -> None:
    """`recovery` is killed too when it is "twice", and "by turns" after every other step."""
    trial = Trial(folder, *((commit, nothing) if what == "commit" else (rewind, commit)))
    ends: list[tuple[str, str]] = []
    for number, name in enumerate(trial.steps, 1):
        second = 1 + number // 2 * 7 % 40  # one of the recovery's own steps, ever another one
        twice = recovery == "twice" or (recovery == "by turns" and number % 2 == 0)
        label = f"{number} {name}" + (f", recovery {second}" if twice else "")
        ends.append((label, trial.after(number, *((second,) if twice else ()))))
    print(json.dumps(ends))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
