"""What the go driver tells, put together into what was heard. Decisions over values only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regreen.testing.channel import Frame, RawFailure
from regreen.testing.heard import Case, Heard

_FRAMING = re.compile(
    r"^\s*(?:=== (?:RUN|PAUSE|CONT|NAME)\b.*|--- (?:FAIL|PASS|SKIP): .*|FAIL\t.*|FAIL|exit status \d+)$"
)
_SAID = re.compile(r"^\s*(?P<file>[\w.+-]{1,200}\.go):(?P<line>\d{1,7}): ?(?P<text>.*)$")
_PANIC = re.compile(r"^(?:panic|fatal error): (?P<message>.*?)(?: \[recovered(?:, repanicked)?\])?$", re.MULTILINE)
_TRACE = re.compile(
    r"^(?P<name>[\w./*()-]+\.[\w.()*\[\]-]+)\(.*\)\n\t(?P<file>/[^\n]+\.go):(?P<line>\d+)", re.MULTILINE
)
_GOROUTINE = re.compile(r"^goroutine \d+ \[", re.MULTILINE)
_BUILD = re.compile(r"^(?P<file>[\w./+-]{1,500}\.go):(?P<line>\d{1,7})(?::\d+)?: (?P<text>.+)$", re.MULTILINE)
_MISSING = re.compile(
    r"GOPROXY=off|missing go\.sum entry|no required module provides package|cannot find module providing|"
    r"dial tcp|toolchain not available|go\.mod requires go >=|cannot find package"
)


@dataclass
class Told:
    """Grows with every message. `base` is the project's folder, relative to the root."""

    base: str = ""
    cases: dict[str, Case] = field(default_factory=dict[str, Case])
    errors: dict[str, RawFailure] = field(default_factory=dict[str, RawFailure])
    running: dict[str, None] = field(default_factory=dict[str, None])
    crashed: list[str] = field(default_factory=list[str])
    unmatched: tuple[str, ...] = ()
    missing: str = ""
    done: bool = False

    def take(self, m: Mapping[str, Any]) -> None:
        match m["k"]:
            case "start":
                self.running[m["id"]] = None
            case "end":
                self._end(m)
            case "crash":
                self._crash(m["id"], m["text"])
            case "package":
                self._package(m)
            case "build" | "broken":
                self._build(m["text"])
            case "unmatched":
                self.unmatched = tuple(m["entries"])
            case "done":
                self.done = True
            case _:
                pass

    def _end(self, m: Mapping[str, Any]) -> None:
        test, text = str(m["id"]), str(m["text"])
        self.running.pop(test, None)
        if m["outcome"] != "failed":
            self.cases[test] = Case(test, m["outcome"], float(m["time"]))
        elif _panicked(text):
            self._crash(test, text)
        else:
            whole = "/".join(p for p in (self.base, str(m["folder"])) if p not in ("", "."))
            failure = _failure(test, text, f"{whole}/" if whole else "", m["place"])
            self.cases[test] = Case(test, "failed", float(m["time"]), failure)

    def _crash(self, test: str, text: str) -> None:
        self.running.pop(test, None)
        self.crashed.append(test)
        panic = _PANIC.search(text)
        lines = [line for line in text.strip().splitlines() if not _FRAMING.match(line)]
        said = f"panic: {panic['message']}" if panic else "\n".join(lines[-3:])
        frames = tuple(reversed([Frame(t["file"], int(t["line"]), t["name"]) for t in _TRACE.finditer(text)]))
        inside = tuple(f for f in frames if "/src/testing/" not in f.path and "/src/runtime/" not in f.path)
        message = f"the package's test program ended here: {said}".rstrip(": ")
        raw = RawFailure(test, "crash", message, inside, sections=(("output", text),))
        self.cases[test] = Case(test, "failed", 0.0, raw)

    def _package(self, m: Mapping[str, Any]) -> None:
        lines = [line for line in str(m["text"]).splitlines() if not _FRAMING.match(line)]
        said = "\n".join(lines).strip()[:2000] or "it ended with a failure of its own, and said nothing"
        message = f"no test failed, and the package did: {said}" if m["tests"] else said
        self.errors[m["label"]] = RawFailure(str(m["label"]), "package", message, (), text=m["text"])

    def _build(self, text: str) -> None:
        found = list(_BUILD.finditer(text))
        missing = _MISSING.search(text)
        if missing:
            said = "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
            self.missing = (f"packages that the project needs are not here: {said[:1500]}\n"
                            "Run `go mod download` once with the network.")  # fmt: skip
            return
        for m in found:
            file = m["file"].removeprefix("./")
            path = f"{self.base}/{file}" if self.base and not file.startswith("/") else file
            frame = Frame(path, int(m["line"]), "")
            self.errors.setdefault(file, RawFailure(file, "build", m["text"], (frame,), text=text))
        if not found:
            said = text.strip()[:2000] or "go test ended without a word"
            self.errors["go.mod"] = RawFailure("go.mod", "build", said, (), text=text, place=("go.mod", 0))

    def heard(self) -> Heard:
        return Heard(
            cases=tuple(self.cases.values()),
            errors=tuple(self.errors.values()),
            finished=self.done and not self.crashed,
            running=(*self.crashed, *self.running),
            missing=self.missing,
            unmatched=self.unmatched,
        )


def _function(test: str) -> str:
    """The function of a test's id, for all tests inside it."""
    return next((p for p in test.split("/") if re.match(r"(?:Test|Example|Fuzz)", p)), test)


def _panicked(text: str) -> bool:
    """Whether the test's panic ended the program: it prints the stacks of the program behind it."""
    panic = _PANIC.search(text)
    return panic is not None and _GOROUTINE.search(text, panic.end()) is not None


def _failure(test: str, text: str, folder: str, place: tuple[str, int]) -> RawFailure:
    where = (f"{folder}{place[0]}" if place[0] else "", place[1])
    lines = [line for line in text.splitlines() if not _FRAMING.match(line)]
    first = next((i for i, line in enumerate(lines) if _SAID.match(line)), -1)
    if first < 0:
        message = "\n".join(lines).strip() or "it failed, or tests inside it did, and it said nothing"
        return RawFailure(test, "", message, (), text=text, place=where)
    said = [_SAID.match(line) for line in lines[first:]]
    told = "\n".join(m["text"] if m else line.strip() for m, line in zip(said, lines[first:], strict=True)).strip()
    places = [(m["file"], int(m["line"])) for m in said if m]
    frames = tuple(Frame(f"{folder}{file}", line, _function(test)) for file, line in places[:1])
    output = "\n".join(lines[:first])
    return RawFailure(test, "", told, frames, sections=(("output", output),), place=where)
