"""What must hold after a crash and a recovery: the list of what does not."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.crash_plans import FILES, VALUES, Plan, line_of
from support.crash_world import Thing, done_edits


@dataclass(frozen=True, slots=True)
class Ended:
    """A script that is over: the tree at first, after recovery, and after opening it once more."""

    plan: Plan
    before: Mapping[str, Thing]
    after: Mapping[str, Thing]
    later: Mapping[str, Thing]
    git_before: Mapping[str, object]
    git_after: Mapping[str, object]
    said: Mapping[str, Any]
    known: Mapping[str, Any]
    gone: bool
    log: Path

    @property
    def outcome(self) -> Mapping[str, Any]:
        """How the run ended, if it ended by itself."""
        runs = self.known["runs"]
        return json.loads(runs[0]["result"]).get("outcome", {}) if runs else {}

    @property
    def finished(self) -> str:
        """The reason, if the run ended by itself and before it was killed."""
        runs = self.known["runs"]
        ended = bool(runs) and runs[0]["id"] not in self.said["conflicts"]
        return str(self.outcome.get("reason", "")) if ended else ""

    @property
    def kept(self) -> Mapping[str, str]:
        """The files that the run kept changed, with their hashes ("" = deleted)."""
        if not self.finished or not self.outcome.get("kept"):
            return {}
        return {p: after for p, (first, after) in self.known["touched"].items() if first != after}

    @property
    def shared(self) -> set[str]:
        """Paths that tests write; who does so at the same time cannot be told from them."""
        return {op.path for ops in self.plan.ops for op in ops}

    @property
    def kept_bytes(self) -> list[bytes]:
        """All that the store holds."""
        return [bytes.fromhex(data) for data in self.known["blobs"]]

    @property
    def told(self) -> set[str]:
        """Paths that somebody was told of as left."""
        recovered = {p for paths in self.said["conflicts"].values() for p in paths}
        return recovered | {c["path"] for c in self.outcome.get("conflicts", [])} | {*self.outcome.get("ignored", ())}


def complaints(e: Ended) -> list[str]:
    edits = done_edits(e.log)
    by_user: dict[str, list[dict[str, Any]]] = {}
    for edit in edits:
        by_user.setdefault(edit["path"], []).append(edit)
    wrong: list[str] = []
    for path in sorted({*e.before, *e.after, *by_user}):
        if path in by_user:
            wrong += _of_user(e, path, by_user[path])
        elif not _above(path, by_user):
            wrong += _of_nobody(e, path)
    wrong += [f"git: {k} changed" for k in {*e.git_before, *e.git_after} if e.git_before.get(k) != e.git_after.get(k)]
    wrong += [f"left in the tree: {p}" for p in e.after if ".regreen" in p]
    if e.finished == "fixed" and not by_user:
        lines = set(b"\n".join(e.after[p].data for p in FILES).replace(b"\r", b"").splitlines())
        wrong += [f"fixed, but value_{n} is wrong" for n in range(VALUES) if line_of(n, n).encode() not in lines]
    wrong += [] if e.gone else ["a process is left"]
    wrong += [f"recovered again: {e.known['recovered']}"] if e.known["recovered"] else []
    wrong += [] if e.after == e.later else ["opening it once more changed the tree"]
    wrong += [] if e.known["works"] else [f"cannot be worked with: {e.known['said']}"]
    wrong += [f"{e.known['left']} snapshots or open transactions are left"] if e.known["left"] else []
    return wrong


def merges(e: Ended) -> int:
    """How many files of the user's are his edit upon what was there before the run's change."""
    last = {edit["path"]: edit["after"] for edit in done_edits(e.log) if edit["path"] not in e.shared}
    there = {path: bytes.fromhex(after) for path, after in last.items() if after is not None and path in e.after}
    return sum(e.after[path].data != after for path, after in there.items())


def _above(path: str, by_user: Mapping[str, object]) -> bool:
    """Whether it is a folder that the user made for his file."""
    return any(mine.startswith(f"{path}/") for mine in by_user)


def _of_nobody(e: Ended, path: str) -> list[str]:
    """A path that the user did not touch since: as it was at first, as the run kept it, or told of."""
    was, now = e.before.get(path), e.after.get(path)
    if path in e.kept:
        sha = hashlib.sha256(now.data).hexdigest() if now is not None else ""
        return [] if sha == e.kept[path] else [f"{path}: is not what the run kept"]
    if now is not None and now.kind == "folder" and was is None and _above(path, e.kept):
        return []
    if was == now or _is_told(e, path):
        return []
    if was is not None and now is not None and was.content == now.content:
        return [f"{path}: has another time"]
    return [f"{path}: was {_short(was)}, is {_short(now)}, and nobody was told"]


def _is_told(e: Ended, path: str) -> bool:
    """Told of itself; or, a folder, of what is in it. Only what tests wrote may be left and told."""
    mine = [p for p in e.shared if p == path or p.startswith(f"{path}/")]
    return any(told == path or told.startswith(f"{path}/") or path.startswith(f"{told}/") for told in e.told) and bool(
        mine
    )


def _of_user(e: Ended, path: str, edits: list[dict[str, Any]]) -> list[str]:
    """A path that the user edited: as he left it, or (merged) his edit upon what was there before."""
    now = e.after.get(path)
    last = edits[-1]
    if path in e.shared or path.startswith("out/"):  # a folder that tests make, which speaks for all in it
        return _of_both(e, path, edits)
    if last["after"] is None:
        return [] if now is None else [f"{path}: the user deleted it, is {_short(now)}"]
    left = bytes.fromhex(last["after"])
    if now is None:
        return [f"{path}: the user's edit is gone"]
    if now.data == left:
        return []
    was = e.before.get(path)
    allowed = [was.data] if was is not None else []
    stripped = _without(now.data)
    if not allowed or _users(now.data) != _users(left):
        return [f"{path}: is neither the user's edit nor that merged: {now.data!r}, he left {left!r}"]
    kept = e.kept.get(path)
    if stripped not in [_without(data) for data in allowed] and kept is None:
        return [f"{path}: merged, but with something of the run's: {now.data!r}"]
    if was is not None and stat.S_IMODE(now.mode) != stat.S_IMODE(was.mode):
        return [f"{path}: merged, but has another mode"]
    return []


def _of_both(e: Ended, path: str, edits: list[dict[str, Any]]) -> list[str]:
    """A path that tests write too: what the user saved there, and what he had, is in the tree or in the store."""
    now = e.after.get(path)
    there = [now.data if now is not None else b"", *e.kept_bytes]
    verbs = {op.verb for ops in e.plan.ops for op in ops if op.path == path}
    if verbs - {"append"}:  # the tests may have written over it before anybody saw it
        return []
    last = edits[-1]["after"]
    lines = bytes.fromhex(last).splitlines() if last is not None else []
    lost = [line for line in lines if not any(line in data for data in there)]
    return [f"{path}: nowhere any more: {lost!r}"] if lost else []


def _users(data: bytes) -> list[bytes]:
    return [line for line in data.splitlines() if line.startswith(b"# user ")]


def _without(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"# user ")).rstrip(b"\n")


def _short(thing: Thing | None) -> str:
    return "nothing" if thing is None else f"{thing.kind} {thing.data[:80]!r} {oct(thing.mode)}"
