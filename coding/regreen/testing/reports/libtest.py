"""What the cargo driver tells, put together into what was heard. Decisions over values only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regreen.testing.channel import Frame, RawFailure
from regreen.testing.heard import Case, Heard
from regreen.testing.reports.panics import panic_in
from regreen.testing.reports.rust_source import function_place
from regreen.wire import counted

_MISSING_CRATES = re.compile(
    r"--offline|offline mode|no matching package|failed to (?:download|fetch|load source)|registry .* was not found"
)
_TOOLCHAIN = re.compile(r"toolchain '[^']*' is not installed|no default toolchain|rustup could not choose")
_NO_TARGET = re.compile(
    r"error: no (?:\S+ )?target (?:named|matches)|did not match any packages|package ID specification"
)
_DOC_LINE = re.compile(r"^(?P<file>\S+\.rs) - .*\(line (?P<line>\d+)\)$")


@dataclass
class Told:
    """Grows with every message."""

    root: Path = field(default_factory=Path)
    folders: dict[str, Path] = field(default_factory=dict[str, Path])
    sources: dict[str, Path] = field(default_factory=dict[str, Path])
    cases: list[Case] = field(default_factory=list[Case])
    compile_errors: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict[str, list[Mapping[str, Any]]])
    broken: Mapping[str, Any] | None = None
    running: dict[str, None] = field(default_factory=dict[str, None])
    ended: set[str] = field(default_factory=set[str])
    crashed: list[str] = field(default_factory=list[str])
    lost: list[str] = field(default_factory=list[str])
    errors: list[RawFailure] = field(default_factory=list[RawFailure])
    unmatched: tuple[str, ...] = ()
    left_out: str = ""
    done: bool = False

    def take(self, m: Mapping[str, Any]) -> None:
        match m["k"]:
            case "targets":
                self.root = Path(m["root"])
                self.folders = {label: Path(folder) for label, (folder, _) in m["targets"].items()}
                self.sources = {label: Path(source) for label, (_, source) in m["targets"].items()}
            case "start":
                self.running[m["id"]] = None
            case "end":
                self._end(m)
            case "crash":
                self._crash(m)
            case "lost":
                self.lost.append(f"the tests of {m['label']} ended with {m['how']}")
            case "unmatched":
                self.unmatched = tuple(m["entries"])
            case "left_out":
                more = f" and {m['total'] - len(m['members'])} more" if m["total"] > len(m["members"]) else ""
                self.left_out = f"not run: members of the workspace ({', '.join(m['members'])}{more}); " \
                                "`cargo test --workspace` runs them"  # fmt: skip
            case "done":
                self.done = True
            case _:
                self._trouble(m)

    def _trouble(self, m: Mapping[str, Any]) -> None:
        match m["k"]:
            case "compile_error":
                self.compile_errors.setdefault(m["file"] or m["label"], []).append(m)
            case "broken":
                self.broken = m
            case "doc_error":
                message = f"the documentation tests could not be run ({m['how']}): {_said(m['text'])}"
                self.errors.append(RawFailure("documentation tests", "cargo", message, (), text=m["text"]))
            case _:
                pass

    def _end(self, m: Mapping[str, Any]) -> None:
        self.running.pop(m["id"], None)
        failure = self._failure(m) if m["outcome"] == "failed" else None
        self.cases = [case for case in self.cases if case.id != m["id"]] if m["id"] in self.ended else self.cases
        self.ended.add(m["id"])
        self.cases.append(Case(m["id"], m["outcome"], float(m["time"]), failure))

    def _crash(self, m: Mapping[str, Any]) -> None:
        self.running.pop(m["id"], None)
        self.crashed.append(m["id"])
        message = f"the test program ended here: {m['how']}"
        panic = panic_in(m["text"], m["id"].partition("::")[2])
        frames = self._frames(m["id"], panic.file, panic.line, panic.frames) if panic is not None else ()
        if panic is not None:
            message += f"; {panic.message}"
        elif tail := m["text"].strip().splitlines()[-3:]:
            message += "\n" + "\n".join(tail)
        raw = RawFailure(m["id"], "crash", message, frames, sections=(("stderr", m["text"]),))
        self.cases.append(Case(m["id"], "failed", 0.0, raw))

    def _failure(self, m: Mapping[str, Any]) -> RawFailure:
        test, text, said = str(m["id"]), str(m["text"]), str(m.get("said", ""))
        panic = panic_in(text, test.partition("::")[2])
        place = self._doc_place(m.get("doc", "")) if m.get("doc") else ("", 0)
        if not place[0] and not (panic and panic.file):
            place = self._function_place(test)
        if said and (panic is None or "panic" in said):
            frames = self._frames(test, panic.file, panic.line, panic.frames) if panic is not None else ()
            return RawFailure(test, "should_panic" if "panic" in said else "exit", said, frames,
                              sections=(("output", text),), place=place)  # fmt: skip
        if panic is None:
            message = _said(text)
            return RawFailure(test, "failed", message, (), text=text, sections=(("output", text),), place=place)
        frames = () if place[0] else self._frames(test, panic.file, panic.line, panic.frames)
        output = text.partition("\nthread '")[0] if "\nthread '" in text else ""
        return RawFailure(test, panic.kind, panic.message, frames, sections=(("stdout", output),), place=place)

    def _frames(self, test: str, file: str, line: int, trace: Sequence[Frame]) -> tuple[Frame, ...]:
        """The trace with absolute paths; the place of the panic is its innermost."""
        label = test.partition("::")[0]
        frames = [Frame(self._path(f.path, label), f.line, f.name) for f in trace]
        if file:
            path = self._path(file, label)
            if not any(f.path == path and f.line == line for f in frames):
                frames.append(Frame(path, line, frames[-1].name if frames else test))
        return tuple(frames)

    def _path(self, path: str, label: str) -> str:
        for base in (self.root, self.folders.get(label, self.root)):
            if (base / path).exists():
                return str((base / path).resolve())
        return path

    def _function_place(self, test: str) -> tuple[str, int]:
        """Where the function of a test stands that says nothing of it, as one that returns an error."""
        label, _, path = test.partition("::")
        source = self.sources.get(label)
        return function_place(source, path.split("::")) if source is not None and path else ("", 0)

    def _doc_place(self, name: str) -> tuple[str, int]:
        match = _DOC_LINE.match(name)
        return (self._path(match["file"], ""), int(match["line"]) - 1) if match else ("", 0)

    def heard(self, *, scoped: bool) -> Heard:
        """Everything told so far. `scoped`: the build was narrowed by a caller's words."""
        errors = [*self.errors, *(self._build_error(file, ms) for file, ms in self.compile_errors.items())]
        missing = refused = ""
        if self.broken is not None:
            text = str(self.broken["text"])
            missing = _missing(text)
            refused = _said(text) if scoped and _NO_TARGET.search(text) else ""
            if not missing and not refused:
                errors.append(RawFailure("Cargo.toml", "cargo", _said(text), (), text=text, place=("Cargo.toml", 0)))
        linker = [m["said"] for ms in self.compile_errors.values() for m in ms if "linker `" in m["said"]]
        if linker and "not found" in linker[0]:
            missing = f"{linker[0]}: install a C compiler (Debian: `apt-get install gcc`)"
        return Heard(
            cases=tuple(self.cases),
            errors=tuple(errors),
            finished=self.done and not self.crashed and not self.lost,
            running=(*self.crashed, *self.running),
            missing=missing,
            refused=refused,
            unmatched=self.unmatched,
            notes=(*self.lost, *([self.left_out] if self.left_out else [])),
        )

    def _build_error(self, file: str, messages: Sequence[Mapping[str, Any]]) -> RawFailure:
        """All errors in one file, as one: the first stands for them."""
        distinct = list({(m["line"], m["said"]): m for m in messages}.values())
        first = distinct[0]
        more = f" (and {counted(len(distinct) - 1, 'more error')} in this file)" if len(distinct) > 1 else ""
        path = self._path(first["file"], "") if first["file"] else ""
        code = first["code"] or "error"
        frames = (Frame(path, int(first["line"]), first["label"]),) if path else ()
        text = "\n".join(str(m["text"]) for m in distinct[:5])
        detail = f": {first['detail']}" if first.get("detail") else ""
        return RawFailure(file, code, f"{first['said']}{detail}{more}", frames, text=text)


def _said(text: str) -> str:
    """The first error that cargo names, with what it says about it."""
    lines = [line for line in text.splitlines() if line.strip()]
    at = next((i for i, line in enumerate(lines) if line.startswith("error")), 0)
    return "\n".join(lines[at : at + 6])[:2000] or "it said nothing"


def _missing(text: str) -> str:
    if _TOOLCHAIN.search(text):
        return f"{_said(text)}\nInstall the toolchain (`rustup toolchain install`)."
    if _MISSING_CRATES.search(text):
        return f"crates that the project needs are not here: {_said(text)}\nRun `cargo fetch` once with the network."
    return ""
