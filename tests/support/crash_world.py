"""The world of a crash script: the repository on disk, its exact state, the user who edits, the tests that write."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regreen.model import Counts, Failure, SuiteReport, SuiteStatus
from support.crash_plans import FILES, VALUES, File, Plan, TestOp, UserEdit, line_of
from support.gitrepos import git, git_state, write

TESTS = "test_calc.py"


@dataclass(frozen=True, slots=True)
class Thing:
    """What stands at a path."""

    kind: str
    data: bytes
    mode: int
    mtime_ns: int

    @property
    def content(self) -> tuple[str, bytes, int]:
        return self.kind, self.data, self.mode


def build(plan: Plan, root: Path) -> None:
    """The repository as the user has it when the run begins."""
    root.mkdir(parents=True)
    git(root, "init", "-q")
    write(root / ".gitignore", "*.env\nbuild/\n__pycache__/\n.pytest_cache/\n")
    write(root / TESTS, _tests(plan))
    for file in plan.files:
        if file.state in ("clean", "changed", "staged", "deleted"):
            first = file.data if file.state == "clean" else b"as committed\n"
            _put(root, file.path, first, file.mode, file.link)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "start")
    if plan.stash:
        write(root / TESTS, "stashed\n")
        git(root, "stash", "-q")
    for file in plan.files:
        _change(root, file)
    for folder in plan.folders:
        (root / folder).mkdir(parents=True)
    if plan.nested:
        git(root, "init", "-q", "nested")
        write(root / "nested" / "inner.txt", "inner\n")


def _change(root: Path, file: File) -> None:
    """What the user has done to a file since the commit."""
    if file.state == "deleted":
        (root / file.path).unlink()
    elif file.state != "clean":
        _put(root, file.path, file.data, file.mode, file.link)
    if file.state == "staged":
        git(root, "add", "--", file.path)
        if file.path not in FILES:
            write(root / file.path, file.data + b"and more, not staged\n")


def _put(root: Path, path: str, data: bytes, mode: int, link: str) -> None:
    if link:
        (root / path).symlink_to(link)
        return
    write(root / path, data).chmod(mode)


def state_of(root: Path) -> dict[str, Thing]:
    """Everything below the root except git's own."""
    found: dict[str, Thing] = {}
    for folder, dirs, names in os.walk(root):
        if ".git" in dirs:
            dirs.remove(".git")
        for name in (*dirs, *names):
            path = Path(folder, name)
            try:
                found[path.relative_to(root).as_posix()] = _thing(path)
            except FileNotFoundError:
                continue
    return found


def _thing(path: Path) -> Thing:
    info = path.lstat()
    if stat.S_ISDIR(info.st_mode):
        return Thing("folder", b"", info.st_mode, 0)
    if stat.S_ISLNK(info.st_mode):
        return Thing("link", os.fsencode(path.readlink()), info.st_mode, 0)
    return Thing("file", path.read_bytes(), info.st_mode, info.st_mtime_ns)


def git_of(root: Path) -> Mapping[str, object]:
    return git_state(root)


# --- the user ----------------------------------------------------------------------------------------


def do_edit(root: Path, edit: UserEdit, log: Path) -> None:
    """The user's edit, now; written down with what it made."""
    path = root / edit.path
    try:
        data = path.read_bytes()
    except OSError:
        data = None
    after = edit.apply(data)
    if after is None:
        path.unlink(missing_ok=True)
    else:
        _save(path, after, by_rename=edit.by_rename and data is not None)
    row = {"token": edit.token, "path": edit.path, "verb": edit.verb, "after": None if after is None else after.hex()}
    with log.open("a") as file:
        file.write(json.dumps(row) + "\n")


def _save(path: Path, data: bytes, *, by_rename: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not by_rename:
        path.write_bytes(data)
        return
    beside = path.with_name(path.name + ".user~")
    beside.write_bytes(data)
    beside.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644)
    beside.replace(path)


def done_edits(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


# --- the tests ---------------------------------------------------------------------------------------


class StubTests:
    """Stands for the test suite: a real process writes, and what the tests say is read off the files."""

    def __init__(self, root: Path, plan: Plan, on_step: Callable[[str], None]) -> None:
        self._root = root
        self._plan = plan
        self._on_step = on_step
        self._runs = 0

    def __call__(self, selection: Sequence[str] = (), **given: Any) -> SuiteReport:
        ops = self._plan.ops[self._runs % len(self._plan.ops)]
        self._runs += 1
        self._on_step("tests begin")
        if ops:
            self._write(ops, given["on_written"])
        self._on_step("tests end")
        return self._report(selection)

    def _write(self, ops: Sequence[TestOp], heard: Callable[[Sequence[str]], None]) -> None:
        shell = 'while IFS= read -r line; do eval "$line"; echo ok; done 2>/dev/null'
        with subprocess.Popen(["/bin/sh", "-c", shell], cwd=self._root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:  # fmt: skip
            assert process.stdin is not None
            assert process.stdout is not None
            for number, op in enumerate(ops):
                if op.heard == "before":
                    heard(_heard(op))
                self._on_step(f"test op {number}")
                process.stdin.write(_command(op, self._runs, number) + "\n")
                process.stdin.flush()
                process.stdout.readline()
                self._on_step(f"test op {number} done")
                if op.heard == "after":
                    heard(_heard(op))

    def _report(self, selection: Sequence[str]) -> SuiteReport:
        text = ""
        for path in FILES:
            try:
                text += (self._root / path).read_bytes().decode("latin-1") + "\n"
            except OSError:
                continue
        lines = set(re.split(r"\r?\n", text))
        ids = [f"{TESTS}::test_{n}" for n in range(VALUES)]
        passed = {i: line_of(n, n) in lines for n, i in enumerate(ids)}
        if selection and not any(s == TESTS for s in selection):
            passed = {i: ok for i, ok in passed.items() if i in selection}
        failed = [i for i, ok in passed.items() if not ok]
        failures = tuple(
            Failure(i, TESTS, 5, "AssertionError", "assert 99 == 1", "", f"AssertionError {i}") for i in failed
        )
        counts = Counts(passed=len(passed) - len(failed), failed=len(failed), total=len(passed))
        return SuiteReport(
            SuiteStatus.FAILED if failed else SuiteStatus.PASSED, "pytest", (), "", "", counts, failures, (), 0.01,
            outcomes={i: "passed" if ok else "failed" for i, ok in passed.items()},
        )  # fmt: skip


def _heard(op: TestOp) -> list[str]:
    """As tests are seen: the file, and a folder that they make for it."""
    parents = [p.as_posix() for p in Path(op.path).parents if p.as_posix() != "."]
    return [op.path, *parents] if parents and parents[-1] in ("out",) else [op.path]


def _command(op: TestOp, run: int, number: int) -> str:
    folder = Path(op.path).parent.as_posix()
    make = f"mkdir -p '{folder}'; "
    match op.verb:
        case "append":
            return f"{make}echo 'by tests {run} {number}' >> '{op.path}'"
        case "write":
            return f"{make}echo 'by tests {run} {number}' > '{op.path}'"
        case "remove":
            return f"rm -f '{op.path}'"
        case "folder":
            return f"mkdir -p '{op.path}'"


def _tests(plan: Plan) -> str:
    """The same as real tests: each checks one value, the first one does what the tests of this script do."""
    ops = [(op.verb, op.path) for op in plan.ops[0]]
    checks = "".join(
        f"\n\ndef test_{n}():\n    assert {'calc' if n < 4 else 'util'}.value_{n} == {n}\n" for n in range(VALUES)
    )
    return f"""\
import os
import sys

sys.path.insert(0, "lib")
import calc
import util

OPS = {ops!r}


def test_a_writes():
    for verb, path in OPS:
        os.makedirs(path if verb == "folder" else os.path.dirname(path) or ".", exist_ok=True)
        if verb in ("append", "write"):
            with open(path, "a" if verb == "append" else "w") as file:
                file.write("by tests\\n")
        elif verb == "remove" and os.path.exists(path):
            os.unlink(path)
{checks}"""
