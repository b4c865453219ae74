"""Sets up what a case of the attack corpus says, and does what it says, through the engine.

A set-up is a list of clauses, separated by semicolons and blanks; each form of a clause has a function here. A clause
of an unknown form is an error: a case is never passed over in silence.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from regreen.session import Engine

Case: TypeAlias = dict[str, Any]

_MEANS = {
    "edit_ambiguous": {"ambiguous"},
    "edit_no_match": {"no_match"},
    "edit_conflict": {"stale", "no_match", "busy"},
    "limit_exceeded": {"limit_exceeded", "too_large"},
    "path_outside_workspace": {"path_outside_workspace", "path_outside"},
    "not_regular_file": {"not_regular_file", "unsupported"},
    "not_found": {"not_found", "file_not_found"},
}


def meant(case: Case) -> set[str]:
    """Our names of the errors that would be right."""
    named = case["expect"].get("error_any") or [case["expect"]["error"]]
    return {kind for name in named for kind in _MEANS.get(name, {name})}


@dataclass
class Stage:
    """Where a case plays: a workspace, a folder beside it that nothing may get to, a string that may not get out."""

    ws: Path
    out: Path
    canary: str = field(default_factory=lambda: "CANARY" + secrets.token_hex(12))
    env: dict[str, str] = field(default_factory=dict[str, str])
    root: Path = Path()  # the name under which the workspace is opened
    contents: dict[str, bytes] = field(default_factory=dict[str, bytes])  # of files that may be read, by clean path

    def fill(self, value: Any) -> Any:
        """The value with all placeholders filled in."""
        if isinstance(value, dict):
            return {k: self.fill(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        if not isinstance(value, str):
            return value
        value = value.replace("{WS}", str(self.ws)).replace("{OUT}", str(self.out)).replace("{CANARY}", self.canary)
        return re.sub(r"\{REPEAT:(.):(\d+)\}", lambda m: m[1] * int(m[2]), value)

    def put(self, path: str, data: str) -> Path:
        """Write a file, given by its full path or by one in the workspace."""
        file = self.ws / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode("utf-8", "surrogatepass"))
        if file.is_relative_to(self.ws):
            self.contents[file.relative_to(self.ws).as_posix()] = file.read_bytes()
        return file


def stage(case: Case, folder: Path) -> Stage:
    """Set the case up below `folder`."""
    made = Stage(folder / "ws", folder / "out")
    made.ws.mkdir()
    made.out.mkdir()
    made.root = made.ws
    for clause in case["setup"].split("; "):
        _clause(made, case, clause.strip())
    for clause in re.findall(r"\(create ([^()]+)\)", case["must"]):
        _clause(made, case, f"file {clause}")
    return made


def _clause(to: Stage, case: Case, clause: str) -> None:
    for form, do in _FORMS:
        found = re.fullmatch(form, clause)
        if found:
            do(to, case, *(to.fill(part or "") for part in found.groups()))
            return
    raise NotImplementedError(f"{case['id']}: set-up {clause!r} is of an unknown form")


def _nothing(to: Stage, case: Case, *_: str) -> None:
    pass


def _file(to: Stage, case: Case, path: str, data: str) -> None:
    if data.startswith("PEM block"):
        dashes = "-----"
        data = f"{dashes}BEGIN RSA PRIVATE KEY{dashes}\n{to.canary}\n{dashes}END RSA PRIVATE KEY{dashes}"
    to.put(path, data + "\n")


def _link(to: Stage, case: Case, path: str, target: str) -> None:
    (to.ws / path).symlink_to(target)


def _env(to: Stage, case: Case, name: str, value: str) -> None:
    to.env[name] = value


def _socket(to: Stage, case: Case, path: str) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path)


def _repository(to: Stage, case: Case, path: str) -> None:
    (Path(path) / "hooks").mkdir(parents=True)
    (Path(path) / "HEAD").write_bytes(b"ref: refs/heads/main\n")


def _searched(to: Stage, case: Case, names: str, times: str) -> None:
    """Files that hold what the case's edits look for. An edit that shall fail looks for what is not there."""
    edits = edits_of(case)
    for name in names.replace(" ", "").split(","):
        last_fails = len(edits) > 1 and edits[-1]["path"] == name
        lines = [e["search"] for e in edits if e["path"] == name and not last_fails and e["search"]]
        to.put(name, "# first\n" + "".join(f"{line}\n" for line in lines) * (2 if times else 1))


def _read_only(to: Stage, case: Case, name: str, mode: str) -> None:
    _searched(to, case, name, "")
    (to.ws / name).chmod(int(mode, 8))


def _opened_by_link(to: Stage, case: Case, *_: str) -> None:
    to.root = to.ws.parent / "link"
    to.root.symlink_to(to.ws, target_is_directory=True)
    to.put(case["action"]["args"]["path"], "ok\n")


def _red_suite(to: Stage, case: Case, test: str) -> None:
    to.put("calc.py", "def add(a, b):\n    return a - b\n")
    to.put(test, "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n")
    to.put("pytest.ini", "[pytest]\npythonpath = .\n")


def _scripts(to: Stage, case: Case, *_: str) -> None:
    to.put("package.json", '{"scripts": {\n"test": "jest"\n}}\n')


def _raced(to: Stage, case: Case, *_: str) -> None:
    """What a second process plays with during the case; the test of that case does it."""
    path = case["action"]["args"].get("path", "f.txt")
    to.put(path, "a\n")
    (to.out / Path(path).name).write_bytes(b"a\n")


def _program(to: Stage, case: Case, path: str, mark: str) -> None:
    to.put(path, f"#!/bin/sh\ntouch {mark}\n").chmod(0o755)


def _conftest(to: Stage, case: Case, folder: str, mark: str) -> None:
    to.put(f"{folder}/conftest.py", f"open({mark!r}, 'w').close()\n")
    to.put(f"{folder}/test_there.py", "def test_there():\n    pass\n")


def _passing_project(to: Stage, case: Case, *_: str) -> None:
    """A project that passes with pytest; of another kind it is only looked at."""
    to.put("tests/test_x.py", _PASSING)


_PASSING = """\
import pytest


@pytest.mark.parametrize("p", ["a;b", "x>y", "a|b", "../x", "a b c"])
def test_p(p):
    assert p


@pytest.mark.slow
def test_slow():
    pass
"""

_Do: TypeAlias = Callable[..., None]
_FORMS: Sequence[tuple[str, _Do]] = (
    (r"a passing project of that kind", _passing_project),
    (r"file (\S+) \(executable script that writes (\S+)\)", _program),
    (r"dir (\S+) with conftest\.py touching (\S+)", _conftest),
    (r"file ([^\s=]+)()", _file),
    (r"none|second block fails|a repository|macOS .*", _nothing),
    (r"file (\S+?\.py) (with the text twice)", _searched),
    (r"file ([^=]+?) ?= ?(.*?)(?: \([^()]*\))?", _file),
    (r"symlink (\S+) -> (\S+)", _link),
    (r"env (\w+)=(\S+)", _env),
    (r"unix socket at (\S+)", _socket),
    (r"nested repo (\S+)", _repository),
    (r"((?:\w+\.py(?:, )?)+)()", _searched),
    (r"(\w+\.py) is (0[0-7]+)", _read_only),
    (r"(\w+\.py) holds .* as text()", _searched),
    (r"workspace itself opened through a symlinked path .*", _opened_by_link),
    (r"(tests/\S+) fails", _red_suite),
    (r"package\.json|approved command file .*", _scripts),
    (r"same swap during .*|temp file name predicted .*|two edits of one file .*", _raced),
    (r"shared-machine user pre-creates .*", _nothing),
)


def edits_of(case: Case) -> list[dict[str, str]]:
    """The replacements of an `apply_edit` case."""
    args = case["action"]["args"]
    return args.get("edits") or [{k: args[k] for k in ("path", "search", "replace")}]


@dataclass(frozen=True)
class Answer:
    """What one call of a tool came to: the kinds of its errors, and everything that the caller gets to see."""

    kinds: frozenset[str]
    data: dict[str, Any]
    seen: str


def call(engine: Engine, tool: str, **arguments: Any) -> Answer:
    result = engine.call(tool, arguments)
    data: dict[str, Any] = dict(result.data)
    found = [data["error"]] if result.is_error else [e["error"] for e in data.get("edits", []) if e.get("error")]
    assert result.is_error == ("error" in data)
    return Answer(frozenset(e["kind"] for e in found), data, f"{result.text}\n{data!r}")


def act(engine: Engine, on: Stage, case: Case) -> list[Answer]:
    """Do what the case says; a search, for which there is no tool, by the tools that go through a whole tree."""
    args = on.fill(case["action"]["args"])
    match case["action"]["tool"]:
        case "read":
            return [call(engine, "read_file", path=args["path"])]
        case "list" | "skeleton":
            return [call(engine, "repo_skeleton", path=args["path"])]
        case "apply_edit":
            return [call(engine, "apply_edits", replacements=on.fill(edits_of(case)))]
        case "search":
            path = args.get("path", "")
            return [
                call(engine, "repo_skeleton", path=path),
                call(engine, "extract_signatures", paths=[path or "."]),
            ]
        case "run_tests" | "run_command":
            return [call(engine, "run_tests", **_of_run(on, args))]
        case other:
            raise NotImplementedError(f"{case['id']}: action {other!r}")


def _of_run(on: Stage, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments of run_tests; a working folder is named as the repository that the tests are of."""
    given = {name: value for name, value in args.items() if name != "cwd"}
    return {**given, "repo": str(on.ws / args["cwd"])} if "cwd" in args else given


_STARTS = frozenset(("subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty", "os.exec", "os.system"))
_watchers: list[list[str]] = []


@contextmanager
def starts_seen() -> Generator[list[str]]:
    """Collects what this process starts: for all that is refused before anything runs."""
    if not hasattr(starts_seen, "installed"):
        sys.addaudithook(_seen)
        starts_seen.installed = True  # type: ignore[attr-defined]
    seen: list[str] = []
    _watchers.append(seen)
    try:
        yield seen
    finally:
        _watchers.remove(seen)


def _seen(event: str, args: tuple[Any, ...]) -> None:
    if _watchers and event in _STARTS:
        for watcher in _watchers:
            watcher.append(f"{event} {args!r}"[:200])


def everything_below(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes (or target) of all that is in a folder."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        data = bytes(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (path.lstat().st_mode, data)
    return found


def holds(folder: Path, text: str) -> list[str]:
    """The files of a folder that hold a text."""
    return [str(p) for p in folder.rglob("*") if p.is_file() and text.encode() in p.read_bytes()]


def precreate_for_other(folder: Path, uid: int) -> Path:
    """A folder of another user, where the state is to be: made by root, else one that is there."""
    if os.geteuid() != 0:
        return Path("/")
    folder.mkdir(mode=0o777)
    shutil.chown(folder, uid, uid)
    return folder
