"""What the runner inside the project's interpreter told us: its lines, checked and put together into one record.

A line without this run's nonce is not ours, whoever wrote it; it is counted and otherwise ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from regreen.model import CaseOutcome

MAX_LINE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in a file of the project, with the source lines around it as they were when it ran."""

    path: str
    line: int
    name: str
    first: int = 0
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RawFailure:
    """A failure as it came: nothing cut, masked or normalised yet. `place` is (file, 0-based line) of the test."""

    id: str
    kind: str
    message: str
    frames: tuple[Frame, ...]
    text: str = ""
    sections: tuple[tuple[str, str], ...] = ()
    place: tuple[str, int] = ("", 0)
    missing: str = ""  # a module that an import during collection did not find


@dataclass
class Record:
    """One process of a Python runner, as far as it told. Grows with every message; `clock` gives the time of a
    test's start."""

    nonce: str
    clock: Callable[[], float]
    hello: bool = False
    no_pytest: str = ""
    collected: tuple[str, ...] | None = None
    collecting: tuple[str, float] | None = None
    running: dict[str, float] = field(default_factory=dict[str, float])
    places: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    ended: set[str] = field(default_factory=set[str])
    outcomes: dict[str, CaseOutcome] = field(default_factory=dict[str, CaseOutcome])
    durations: dict[str, float] = field(default_factory=dict[str, float])
    failures: dict[str, RawFailure] = field(default_factory=dict[str, RawFailure])
    collection: dict[str, RawFailure] = field(default_factory=dict[str, RawFailure])
    conftest: RawFailure | None = None
    internal: str = ""
    interrupted: str = ""
    lost_workers: dict[str, str] = field(default_factory=dict[str, str])  # test -> what pytest-xdist said
    subtests: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # test -> those of it that failed
    unmatched: tuple[str, ...] | None = None  # targets that took in no test
    canary: str | None = None  # what did not fail although it must; None: that was not tried
    exit_code: int | None = None
    exit_at: float = float("inf")
    foreign: int = 0
    written: dict[str, None] = field(default_factory=dict[str, None])  # paths that the process itself wrote
    written_full: bool = False
    aside: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])  # what only a warm run tells
    _rest: bytes = b""

    def feed(self, data: bytes) -> None:
        """Take bytes as they come off the socket."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest = b""
            self.foreign += 1
        for line in lines:
            message = _parse(line)
            if message is None or message.get("n") != self.nonce:
                self.foreign += 1
            else:
                self._take(message)

    def _take(self, m: dict[str, Any]) -> None:
        match m["k"]:
            case "hello":
                self.hello = True
            case "no_pytest":
                self.no_pytest = m["text"]
            case "collecting":
                self.collecting = (m["id"], self.clock())
            case "collected":
                self.collected = tuple(m["ids"])
                self.collecting = None
            case "start":
                self.running[m["id"]] = self.clock()
                self.places[m["id"]] = _place(m)
            case "end":
                self.running.pop(m["id"], None)
                self.ended.add(m["id"])
            case "report":
                self._report(m)
            case _:
                self._troubles(m)

    def _troubles(self, m: dict[str, Any]) -> None:
        match m["k"]:
            case "collect_error":
                self.collection[m["id"]] = _failure(m)
            case "conftest":
                self.conftest = _failure({**m, "id": m["path"]})
            case "internal":
                self.internal = m["text"]
            case "interrupted":
                self.interrupted = m["text"]
            case "unmatched":
                self.unmatched = tuple(m["words"])
            case "exit":
                self.exit_code = m["rc"]
                self.exit_at = self.clock()
            case "written":
                self.written.update(dict.fromkeys(p for p in m["paths"] if _inner(p)))
                self.written_full = m["full"]
            case "canary":
                self.canary = m["text"]
            case "loaded" | "touched":
                self.aside.append(m)
            case _:
                pass

    def _report(self, m: dict[str, Any]) -> None:
        name: str = m["id"]
        self.durations[name] = self.durations.get(name, 0.0) + m["duration"]
        outcome = _outcome(m)
        if outcome is None:
            return
        if self.outcomes.get(name) not in ("failed", "error"):
            self.outcomes[name] = outcome
        if m["when"] == "???":
            self.lost_workers[name] = m["detail"]["message"]
        if m.get("sub"):
            self.subtests.setdefault(name, []).append(m["sub"])
        if outcome in ("failed", "error"):
            self.failures.setdefault(name, _failure(m))


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(line)
    except ValueError:
        return None
    return cast("dict[str, Any]", data) if isinstance(data, dict) else None


def _inner(path: str) -> bool:
    """Whether it is a clean relative path."""
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def _outcome(m: Mapping[str, Any]) -> CaseOutcome | None:
    """What one phase of a test says of the whole; None for a phase that decides nothing."""
    match m["when"], m["outcome"]:
        case "setup" | "teardown", "failed":
            return "error"
        case _, "failed":
            return "failed"
        case _, "skipped":
            return "xfailed" if m["xfail"] else "skipped"
        case "call", "passed":
            return "xpassed" if m["xfail"] else "passed"
        case _:
            return None


def _failure(m: Mapping[str, Any]) -> RawFailure:
    detail = m["detail"]
    frames = tuple(Frame(f["path"], f["line"], f["name"], f["first"], tuple(f["lines"])) for f in detail["frames"])
    return RawFailure(
        id=m["id"],
        kind=detail["type"],
        message=detail["message"],
        frames=frames,
        text=m.get("text", ""),
        sections=tuple((title, text) for title, text in m.get("sections", ())),
        place=_place(m),
        missing=m.get("missing", ""),
    )


def _place(m: Mapping[str, Any]) -> tuple[str, int]:
    place = m.get("place") or ("", 0)
    return str(place[0]), int(place[1] or 0)
