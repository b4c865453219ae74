"""What one script of the crash fuzz does: a repository, proposals, tests with side effects, a user, and a kill.

All of it follows from the seed. Nothing here touches a disk.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["steps", "clock", "real"]
WRONG = 99
FILES = ("calc.py", "lib/util.py")
VALUES = 6  # the first four are in calc.py


@dataclass(frozen=True, slots=True)
class File:
    """A file of the repository. `state` says where it is: tracked as it is, changed since, untracked, ..."""

    path: str
    data: bytes
    state: Literal["clean", "changed", "staged", "deleted", "untracked", "ignored"]
    mode: int = 0o644
    link: str = ""


@dataclass(frozen=True, slots=True)
class UserEdit:
    """Something that the user does to a file; `token` marks each line that he writes."""

    token: str
    path: str
    verb: Literal["append", "prepend", "rewrite", "delete", "create"]
    by_rename: bool

    def apply(self, data: bytes | None) -> bytes | None:
        """The file after it; None for no file."""
        line = b"# user %s\n" % self.token.encode()
        match self.verb:
            case "delete":
                return None
            case "rewrite" | "create":
                return line * 3
            case "prepend":
                return line + (data or b"")
            case "append":
                end = b"" if not data or data.endswith(b"\n") else b"\n"
                return (data or b"") + end + line


@dataclass(frozen=True, slots=True)
class TestOp:
    """What tests do to a path, and when it is heard of."""

    __test__ = False

    verb: Literal["append", "write", "remove", "folder"]
    path: str
    heard: Literal["before", "after", "never"]


@dataclass(frozen=True, slots=True)
class Plan:
    """One script."""

    seed: int
    kind: Kind
    files: tuple[File, ...]
    folders: tuple[str, ...]
    nested: bool
    stash: bool
    bugs: frozenset[int]
    proposals: tuple[dict[str, Any], ...]
    ops: tuple[tuple[TestOp, ...], ...]  # of the first, second, ... test run, and over again
    edits: tuple[tuple[float, UserEdit], ...]  # at which step, or after how many seconds
    edits_after: tuple[UserEdit, ...]  # between the end of the run and its recovery
    kill_at: float
    whole_session: bool
    second_kill: int  # the step of the first recovery at which that is killed; 0 = not
    keep_partial: bool


def plan_of(seed: int, kind: Kind | None = None) -> Plan:
    """The script of a seed."""
    r = random.Random(seed)
    kinds: tuple[Kind, ...] = ("steps", "clock", "real")
    drawn = r.choices(kinds, (60, 32, 8))[0]
    kind = kind or drawn
    bugs = frozenset(r.sample(range(VALUES), r.choice((1, 1, 2, 3))))
    crlf = r.random() < 0.25
    files = [
        File("calc.py", _values(range(4), bugs, "\r\n" if crlf else "\n"), r.choice(("clean", "changed", "staged"))),
        File("lib/util.py", _values(range(4, VALUES), bugs, "\n"), r.choice(("clean", "changed", "untracked"))),
        *[f for f in _OTHERS if r.random() < 0.7],
    ]
    areas = [f.path for f in files if f.path in _WRITTEN] + ["out/report.xml", "build/cache.bin", "tmp.log", "made.txt"]
    ops = tuple(_ops(r, areas) for _ in range(r.choice((1, 2, 3))))
    steps = kind == "steps"
    edits = tuple(_edit(r, n, files, areas, steps=steps) for n in range(r.choice((0, 0, 1, 2, 3, 4))))
    latest = {"steps": 0.0, "clock": 3.0, "real": 12.0}[kind]
    kill_at = float(_step(r)) if steps else r.uniform(0.02, latest)
    return Plan(
        seed=seed,
        kind=kind,
        files=tuple(files),
        folders=tuple(f for f in ("empty", "a/b/c") if r.random() < 0.5),
        nested=r.random() < 0.3,
        stash=r.random() < 0.3,
        bugs=bugs,
        proposals=tuple(_proposals(r, bugs, {f.path for f in files if f.state != "deleted"})),
        ops=ops,
        edits=tuple(sorted(edits, key=lambda e: e[0])),
        edits_after=tuple(_edit(r, n, files, areas, steps=steps)[1] for n in range(10, 10 + r.choice((0, 0, 1, 2)))),
        kill_at=kill_at,
        whole_session=r.random() < 0.5,
        second_kill=r.randint(1, 40) if r.random() < 0.4 else 0,
        keep_partial=r.random() < 0.3,
    )


def line_of(number: int, value: int) -> str:
    return f"value_{number} = {value}"


def _step(r: random.Random) -> int:
    """One of a run's 200 to 700 steps; early ones more often, and some that it never comes to."""
    return r.choice((r.randint(1, 60), r.randint(1, 250), r.randint(1, 500), r.randint(1, 800)))


def _values(numbers: range, bugs: frozenset[int], eol: str) -> bytes:
    lines = ['"""Values."""', ""]
    for n in numbers:
        lines += [line_of(n, WRONG if n in bugs else n), f"# filler {n}", f"# more filler {n}"]
    return eol.join([*lines, ""]).encode()


_OTHERS = (
    File("data.txt", b"one\r\ntwo\r\n", "clean"),
    File("log.txt", b"start\n", "clean"),
    File("run.sh", b"#!/bin/sh\n", "clean", 0o755),
    File("link", b"", "clean", link="data.txt"),
    File("dangling", b"", "untracked", link="nowhere/at/all"),
    File("notes.md", b"old\n", "changed"),
    File("staged.txt", b"one\n", "staged"),
    File("gone.txt", b"gone\n", "deleted"),
    File("new.txt", b"untracked, no newline", "untracked"),
    File("secret.env", b"K=1\n", "ignored", 0o600),
    File("build/out.bin", b"\0\1\2" * 300, "ignored"),
    File("wide.txt", "breit\n".encode("utf-16"), "changed"),
    File("sub dir/n\u00e4me.txt", b"n\n", "untracked"),
    File("junk.py", b"junk = 1\n", "clean"),
)  # fmt: skip
_WRITTEN = ("log.txt", "new.txt", "notes.md", "secret.env")


def _ops(r: random.Random, areas: list[str]) -> tuple[TestOp, ...]:
    ops: list[TestOp] = []
    for _ in range(r.randint(0, 4)):
        verb = r.choice(("append", "append", "write", "write", "remove", "folder"))
        heard = r.choices(("before", "after", "never"), (8, 3, 1))[0]
        ops.append(TestOp(verb, "out/deep/er" if verb == "folder" else r.choice(areas), heard))
    return tuple(ops)


def _edit(r: random.Random, number: int, files: list[File], areas: list[str], *, steps: bool) -> tuple[float, UserEdit]:
    verb = r.choice(("append", "append", "append", "prepend", "prepend", "rewrite", "create", "delete"))
    mine = [f.path for f in files if f.path not in areas and not f.link and f.state != "deleted"]
    token = f"{number}-{r.randrange(10**6)}"
    there = r.choice((FILES, FILES, FILES, mine, areas))
    path = f"mine/{token}.txt" if verb == "create" else r.choice(there or FILES)
    when = float(_step(r)) if steps else r.uniform(0.0, 2.5)
    return when, UserEdit(token, path, verb, r.random() < 0.5)


def _proposals(r: random.Random, bugs: frozenset[int], there: set[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for number in range(r.randint(1, 4)):
        choice = r.choice(("right", "right", "wrong", "half", "breaking"))
        ours = sorted(bugs)
        replacements: list[dict[str, str]] = []
        if choice in ("right", "breaking"):
            replacements = [_set(n, WRONG, n) for n in ours]
        elif choice == "half":
            replacements = [_set(ours[0], WRONG, ours[0])]
        else:
            replacements = [_set(ours[0], WRONG, 70 + number)]
        healthy = [n for n in range(VALUES) if n not in bugs]
        if choice == "breaking":
            replacements.append(_set(r.choice(healthy), -1, 80))
        if r.random() < 0.4:
            replacements.append({"path": f"fresh{number}/deep/new.py", "search": "", "replace": f"x = {number}\n"})
        if "junk.py" in there and r.random() < 0.25:
            found.append({"text": _patch(replacements, r.choice(("delete", "move")))})
        else:
            found.append({"replacements": replacements})
    return found


def _set(number: int, old: int, new: int) -> dict[str, str]:
    path = FILES[0] if number < 4 else FILES[1]
    return {
        "path": path,
        "search": line_of(number, number if old < 0 else old),
        "replace": line_of(number, new),
    }


def _patch(replacements: list[dict[str, str]], verb: str) -> str:
    parts = ["*** Begin Patch"]
    for path in dict.fromkeys(e["path"] for e in replacements):
        edits = [e for e in replacements if e["path"] == path]
        if not edits[0]["search"]:
            parts += [f"*** Add File: {path}", *(f"+{line}" for line in edits[0]["replace"].splitlines())]
            continue
        parts.append(f"*** Update File: {path}")
        for edit in edits:
            parts += ["@@", f"-{edit['search']}", f"+{edit['replace']}"]
    if verb == "delete":
        parts.append("*** Delete File: junk.py")
    else:
        parts += ["*** Update File: junk.py", "*** Move to: moved/junk2.py", "@@", "-junk = 1", "+junk = 2"]
    return "\n".join([*parts, "*** End Patch", ""])
