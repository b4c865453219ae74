"""What the go driver tells, put together into what was heard. Decisions over values only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from regreen.testing.channel import Frame, RawFailure
from regreen.testing.heard import Case, Heard
from regreen.testing.verdict import names

_FRAMING = re.compile(
    r"^\s*(?:=== (?:RUN|PAUSE|CONT|NAME)\b.*|--- (?:FAIL|PASS|SKIP): .*|FAIL\t.*|FAIL|exit status \d+)$"
)
_SAID = re.compile(r"^\s*(?P<file>[\w.+-]{1,200}\.go):(?P<line>\d{1,7}): ?(?P<text>.*)$")
_PANIC = re.compile(
    r"^(?P<kind>panic|fatal error): (?P<message>.*?)(?: \[recovered(?:, repanicked)?\])?$", re.MULTILINE
)
_TRACE = re.compile(
    r"^(?P<name>[\w./*()-]+\.[\w.()*\[\]-]+)\(.*\)\n\t(?P<file>/[^\n]+\.go):(?P<line>\d+)", re.MULTILINE
)
_GOROUTINE = re.compile(r"^goroutine \d+ \[", re.MULTILINE)
_BUILD = re.compile(r"^(?P<file>[\w./+-]{1,500}\.go):(?P<line>\d{1,7})(?::\d+)?: (?P<text>.+)$", re.MULTILINE)
_MISSING = re.compile(
    r"GOPROXY=off|missing go\.sum entry|no required module provides package|cannot find module providing|"
    r"dial tcp|toolchain not available|go\.mod requires go >=|cannot find package"
)
_EXITS = "unexpected call to os.Exit"
_OLD_GO = re.compile(r"toolchain not available|go\.mod requires go >=")
_UNKNOWN = re.compile(r"(?:no required module provides package|cannot find module providing package) ([\w./~-]+)")


_MAX_VANISHED = 10


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
    panicked: dict[str, str] = field(default_factory=dict[str, str])  # by package: the first test that did
    interrupted: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    unrun: dict[str, tuple[list[str], int]] = field(default_factory=dict[str, tuple[list[str], int]])
    vanished: dict[str, tuple[list[str], int]] = field(default_factory=dict[str, tuple[list[str], int]])
    done: bool = False

    def take(self, m: Mapping[str, Any]) -> None:
        match m["k"]:
            case "start":
                self.running[m["id"]] = None
            case "end":
                self._end(m)
            case "crash":
                self._crash(m["id"], m["text"], m["package"])
            case "unrun":
                self.unrun[m["package"]] = (list(m["tests"]), int(m["total"]))
            case "vanished":
                self.vanished[m["package"]] = (list(m["tests"]), int(m["total"]))
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
            self._crash(test, text, m["package"])
        else:
            whole = "/".join(p for p in (self.base, str(m["folder"])) if p not in ("", "."))
            failure = _failure(test, text, f"{whole}/" if whole else "", m["place"])
            self.cases[test] = Case(test, "failed", float(m["time"]), failure)

    def _crash(self, test: str, text: str, package: str) -> None:
        """The package's program ended: by a panic of this test, by one of another, or in a way that tells nothing."""
        self.running.pop(test, None)
        panic = _PANIC.search(text)
        if _panicked(text) and not (panic and panic["message"].startswith(_EXITS)):
            self.panicked.setdefault(package, test)
            self.cases[test] = Case(test, "failed", 0.0, _panic(test, text))
        elif package in self.panicked:
            self.interrupted.setdefault(package, []).append(test)
        else:
            self.crashed.append(test)
            lines = [line for line in text.strip().splitlines() if not _FRAMING.match(line)]
            said = panic["message"] if panic else "\n".join(lines[-3:])
            message = f"the package's test program ended here: {said}".rstrip(": ")
            raw = RawFailure(test, "crash", message, (), sections=(("output", text),))
            self.cases[test] = Case(test, "failed", 0.0, raw)

    def _notes(self) -> tuple[str, ...]:
        """What did not run because a panic ended the program of its package."""
        notes: list[str] = []
        for package, test in self.panicked.items():
            stopped = self.interrupted.get(package, [])
            never, total = self.unrun.get(package, ([], 0))
            more = f" and {total - len(never)} more" if total > len(never) else ""
            left = f"{total} of its tests did not run: {', '.join(never)}{more}" if total else ""
            ended = f"did not end: {names(stopped)}" if stopped else ""
            if left or ended:
                notes.append(f"{test} ended the program of its package; {'; '.join(filter(None, (left, ended)))}")
        return tuple(notes)

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
            self.missing = f"packages that the project needs are not here: {said[:1500]}\n{_advice(text)}"
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
            notes=self._notes(),
            crash=self._vanishing(),
        )

    def _vanishing(self) -> str:
        """Programs that ended with status 0, and not by themselves."""
        said: list[str] = []
        for package, (never, total) in self.vanished.items():
            left = f"; {total} of its tests did not run: {_some(never, total)}" if total else ""
            said.append(f"{package}: its test program ended before the testing package was done, with exit status 0 "
                        f"(os.Exit in TestMain, or syscall.Exit in a test?){left}")  # fmt: skip
        return "\n".join(said[:_MAX_VANISHED])


def _some(shown: list[str], total: int) -> str:
    return ", ".join(shown) + (f" and {total - len(shown)} more" if total > len(shown) else "")


def _advice(text: str) -> str:
    if _OLD_GO.search(text):
        return "Install that version of Go."
    unknown = dict.fromkeys(m[1] for m in _UNKNOWN.finditer(text))
    if unknown:
        return f"No go.mod names them: run `go get {' '.join(list(unknown)[:5])}` once with the network."
    return "Run `go mod download` once with the network."


def _panic(test: str, text: str) -> RawFailure:
    """The panic, its stack as frames, and what the test had written before."""
    panic = _PANIC.search(text)
    kind, message, start = (panic["kind"], panic["message"], panic.start()) if panic else ("panic", "", len(text))
    frames = tuple(reversed([Frame(t["file"], int(t["line"]), t["name"]) for t in _TRACE.finditer(text)]))
    inside = tuple(f for f in frames if "/src/testing/" not in f.path and "/src/runtime/" not in f.path)
    before = "\n".join(line for line in text[:start].splitlines() if not _FRAMING.match(line))
    return RawFailure(test, kind, message, inside, sections=(("output", before),))


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
