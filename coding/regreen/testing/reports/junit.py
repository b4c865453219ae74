"""JUnit reports of one run, whoever wrote them, as what a runner hears.

Files that stood there before the run and were not written by it say nothing about it: they are told apart by what
`standing` saw before the start, not by clocks.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from regreen.model import CaseOutcome
from regreen.testing.channel import Frame, RawFailure
from regreen.testing.heard import Case, Heard
from regreen.testing.reports.hardened_xml import MAX_BYTES
from regreen.testing.reports.junit_xml import Document, JunitCase, parse
from regreen.testing.verdict import names

MAX_FILES = 20_000
MAX_TOTAL_BYTES = 256 * 1024 * 1024
MAX_SEARCHED = 60_000
_MAX_FRAMES = 30

Standing = Mapping[Path, tuple[int, int, int]]
"""Which reports stood where before the run: inode, size, time of change."""

_PLACE = re.compile(r"(?<![\w./\\@+:-])(?P<path>(?:[A-Za-z]:)?[\w./\\@+-]{1,300}\.[A-Za-z]\w{0,5}):(?P<line>\d{1,7})\b")
_PYTHON_PLACE = re.compile(r'File "(?P<path>[^"\n]{1,500})", line (?P<line>\d{1,7})(?:, in (?P<name>\S+))?')


@dataclass(frozen=True, slots=True)
class Reports:
    """The files of one run. `problems` are those that could not be read to the end, `stale` those of earlier runs."""

    cases: tuple[JunitCase, ...] = ()
    read: int = 0
    stale: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        return self.read > 0 and not self.problems


def gather(root: Path, patterns: Iterable[str]) -> tuple[Path, ...]:
    """The regular files below `root` that fit one of the globs, sorted; links are left out."""
    top = root.resolve()
    found: dict[Path, None] = {}
    for pattern in patterns:
        for path in sorted(root.glob(pattern)):
            if (
                len(found) < MAX_FILES
                and path.is_file()
                and not path.is_symlink()
                and path.resolve().is_relative_to(top)
            ):
                found[path] = None
    return tuple(found)


def standing(files: Iterable[Path]) -> Standing:
    """What stands there before the run, for `read_reports`."""
    found = {path: _mark(path) for path in files}
    return {path: mark for path, mark in found.items() if mark is not None}


def read_reports(files: Iterable[Path], before: Standing | None = None) -> Reports:
    """Read the files that this run wrote."""
    cases: list[JunitCase] = []
    stale: list[str] = []
    problems: list[str] = []
    read, room = 0, MAX_TOTAL_BYTES
    for path in files:
        if before and before.get(path) == _mark(path):
            stale.append(path.name)
            continue
        document = _document(path, room)
        read += 1
        room -= _size(path)
        cases += document.cases
        if document.problem:
            problems.append(f"{path.name}: {document.problem}")
    return Reports(tuple(cases), read, tuple(stale), tuple(problems))


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_ino, info.st_size, info.st_mtime_ns


def _size(path: Path) -> int:
    mark = _mark(path)
    return mark[1] if mark else 0


def _document(path: Path, room: int) -> Document:
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except OSError as e:
        return Document(problem=f"it cannot be opened ({e.strerror})")
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return Document(problem="it is no regular file")
        if info.st_size > room:
            return Document(problem="the reports are too large together")
        return parse(file.read(MAX_BYTES + 1))


def full_name(case: JunitCase) -> str:
    """Class and name with a dot between, unless the name says the class already."""
    if not case.classname or case.name.startswith(case.classname):
        return case.name or case.classname
    return f"{case.classname}.{case.name}"


def frames_in(text: str) -> tuple[Frame, ...]:
    """Places that a text names as `path:line` or as Python does, in order; the last is taken for the innermost."""
    found: list[tuple[int, Frame]] = []
    for pattern in (_PYTHON_PLACE, _PLACE):
        for match in pattern.finditer(text[:MAX_SEARCHED]):
            name = match.groupdict().get("name") or ""
            found.append((match.start(), Frame(match["path"], int(match["line"]), name)))
    return tuple(frame for _, frame in sorted(found, key=lambda f: f[0])[-_MAX_FRAMES:])


def as_heard(
    reports: Reports,
    *,
    name: Callable[[JunitCase], str] = full_name,
    frames: Callable[[JunitCase], tuple[Frame, ...]] = lambda case: frames_in(case.text),
    base: str = "",
    error_is_failure: bool = True,
) -> Heard:
    """The reports as a runner hears them.

    `name` makes ids; `frames` reads the language's traces, outermost first; `base` is the project's folder, relative
    to the root, that relative files are below. `error_is_failure`: an `<error>` is a test that raised something other
    than an assertion, as most writers have it, and so a failed test.
    """
    cases: list[Case] = []
    errors: list[RawFailure] = []
    for one in reports.cases:
        failure = _failure(one, name(one), frames(one), base) if one.result in ("failed", "error") else None
        if one.whole_suite and failure is not None:
            errors.append(failure)
            continue
        cases.append(Case(name(one), _outcome(one, error_is_failure), one.duration_s, failure))
    return Heard(
        cases=tuple(cases), errors=tuple(errors), finished=reports.finished, notes=tuple(_notes(reports, name))
    )


def _outcome(case: JunitCase, error_is_failure: bool) -> CaseOutcome:
    if case.result == "error" and error_is_failure:
        return "failed"
    if case.result == "skipped" and case.kind == "pytest.xfail":
        return "xfailed"
    return case.result


def _failure(case: JunitCase, test: str, frames: tuple[Frame, ...], base: str) -> RawFailure:
    placed = tuple(Frame(_below(f.path, base), f.line, f.name, f.first, f.lines) for f in frames)
    sections = tuple((title, text) for title, text in (("stdout", case.stdout), ("stderr", case.stderr)) if text)
    return RawFailure(
        id=test,
        kind=case.kind,
        message=case.message,
        frames=placed,
        text=case.text,
        sections=sections,
        place=(_below(case.file, base), max(0, case.line - 1)),
    )


def _below(path: str, base: str) -> str:
    path = path.replace("\\", "/")
    if not path or not base or path.startswith("/") or re.match(r"[A-Za-z]:/", path):
        return path
    return f"{base}/{path.removeprefix('./')}"


def _notes(reports: Reports, name: Callable[[JunitCase], str]) -> list[str]:
    notes: list[str] = []
    flaky = [name(c) for c in reports.cases if c.flaky and c.result == "passed"]
    if flaky:
        notes.append(f"passed only when they were run again: {names(flaky)}")
    if reports.stale:
        notes.append(f"reports of earlier runs were left aside: {names(reports.stale)}")
    if reports.problems:
        notes.append(f"reports that cannot be read to their end: {'; '.join(reports.problems[:3])}")
    return notes
