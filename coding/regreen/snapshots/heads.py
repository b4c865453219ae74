"""Where git stood when a snapshot was taken: HEAD, every ref but our own, the stash. Only looked at, never moved."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import dataclass

from regreen.git import Git, GitFault, common_dir
from regreen.snapshots.objects import HIDDEN_REFS

_MAX_NAMES = 5
_MAX_REFS = 5_000  # beyond this only that something moved is known, not what


@dataclass(frozen=True, slots=True)
class Heads:
    """`symbolic` is the branch's full name, "" where HEAD is detached; `refs` maps names to objects."""

    symbolic: str = ""
    commit: str = ""
    refs_hash: str = ""
    refs: tuple[tuple[str, str], ...] = ()
    stash: str = ""

    @classmethod
    def of(cls, git: Git | None) -> Heads | None:
        """As it is now; None where that cannot be told."""
        if git is None:
            return None
        try:
            head = (git.git_dir / "HEAD").read_bytes()[:4096].decode("utf-8", "replace").strip()
            symbolic = head.removeprefix("ref:").strip() if head.startswith("ref:") else ""
            lines = git.run("for-each-ref", "--format=%(refname) %(objectname)").decode("utf-8", "replace").split("\n")
            commit = git.head()
        except (GitFault, OSError):
            return None
        pairs = [(name, oid) for name, _, oid in (line.rpartition(" ") for line in lines) if name]
        refs = [p for p in pairs if not p[0].startswith(HIDDEN_REFS) and p[0] != "refs/stash"]
        log = b""
        with contextlib.suppress(OSError):
            log = (common_dir(git.git_dir) / "logs" / "refs" / "stash").read_bytes()
        top = next((oid for name, oid in pairs if name == "refs/stash"), "")
        stash = hashlib.sha256(log).hexdigest() + top if top or log else ""
        refs_hash = hashlib.sha256(repr(refs).encode("utf-8", "replace")).hexdigest()
        return cls(symbolic, commit, refs_hash, tuple(refs) if len(refs) <= _MAX_REFS else (), stash)

    def rows(self) -> list[object]:
        return [self.symbolic, self.commit, self.refs_hash, [list(pair) for pair in self.refs], self.stash]

    @classmethod
    def from_rows(cls, rows: tuple[str, str, str, list[list[str]], str]) -> Heads:
        symbolic, commit, refs_hash, refs, stash = rows
        return cls(symbolic, commit, refs_hash, tuple((name, oid) for name, oid in refs), stash)


def moved(before: Heads | None, now: Heads | None) -> str:
    """What of git moved, in words; "" for nothing."""
    if before is None or before == now:
        return ""
    if now is None:
        return "the repository could be read when the run began, and cannot be now; left as it is"
    said: list[str] = []
    if before.symbolic != now.symbolic:
        said.append(f"HEAD moved from {_short(before)} to {_short(now)}")
    elif before.commit != now.commit:
        said.append(f"{_short(now) if now.symbolic else 'HEAD'} moved from {_id(before.commit)} to {_id(now.commit)}")
    if before.refs_hash != now.refs_hash:
        names = [n for n in _different(before, now) if n != now.symbolic or before.symbolic != now.symbolic]
        if names:
            more = ", ..." if len(names) > _MAX_NAMES else ""
            said.append(f"refs moved: {', '.join(names[:_MAX_NAMES])}{more}")
        elif not said:
            said.append("refs moved")
    if before.stash != now.stash:
        said.append("the stash changed")
    return "; ".join(said) + " during the run; left as it is" if said else ""


def _different(before: Heads, now: Heads) -> list[str]:
    return sorted({name for name, _ in set(before.refs) ^ set(now.refs)}) if before.refs or now.refs else []


def _short(heads: Heads) -> str:
    return heads.symbolic.removeprefix("refs/heads/") or _id(heads.commit)


def _id(commit: str) -> str:
    return commit[:10] or "no commit"
