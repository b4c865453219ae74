"""Making failures short without losing what matters: the assertion, the last frames in the project, what they share.

Order matters: put together, mask secrets, neutralise, and only then cut. What is left out is said.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from regreen.model import Failure, FailureGroup, SuiteReport
from regreen.testing.channel import Frame, RawFailure
from regreen.wire import counted, outcomes_counted, to_object

MAX_EXCERPT = 1200
MAX_TOTAL = 8000
MAX_MESSAGE = 300
_MAX_ERROR_LINES = 600
_MAX_OUTPUT = 300
_MAX_IDS = 8
_NAMELESS = "Failure"  # where no exception stands behind it, as with a strict xpass

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]"
)
_POINTERS = re.compile(r"E\s+\?\s+[\^+-]")
_VARYING = (
    (re.compile(r"0x[0-9a-fA-F]+|\.{3}[0-9a-fA-F]{6,}(?=>)"), "0x#"),  # the latter is an address cut in the middle
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "#uuid"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "#time"),
    (re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+"), "#/"),
    (re.compile(r"\d+(?:\.\d+)?"), "#"),
    (re.compile(r"\s+"), " "),
)


def neutral(text: str) -> str:
    """`text` without terminal sequences, and with other control and direction marks written out."""
    text = _ANSI.sub("", text.replace("\r\n", "\n"))
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def normalised(message: str) -> str:
    """The message without what varies between runs: numbers, addresses, paths, times."""
    text = neutral(message)[:2000]
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text[:MAX_MESSAGE].strip()


def shorten(text: str, limit: int, *, tail: bool = False) -> str:
    """`text` in at most `limit` characters; says how much is missing. `tail` keeps the end besides the beginning."""
    if len(text) <= limit:
        return text
    mark = f" ... [{len(text) - limit + 40} characters left out] ... "
    room = max(0, limit - len(mark))
    if not tail:
        return text[:room] + mark.rstrip()
    return text[: room // 2] + mark + text[len(text) - (room - room // 2) :]


def make_failure(raw: RawFailure, root: Path, redact: Callable[[str], str], *, kind: str = "") -> Failure:
    """The failure as it is shown. `kind` replaces the exception's name (`collection`, `crash`, `timeout`)."""

    def clean(text: str) -> str:
        return neutral(redact(text))

    name = clean(raw.kind) or _NAMELESS
    message = clean(raw.message).strip()
    inner = raw.frames[-1] if raw.frames else Frame(raw.place[0], raw.place[1] + 1, raw.id.rpartition("::")[2])
    file = _relative(inner.path, root)
    said = f"{name}: {message}" if kind == "collection" else message
    code = f"{name}|{normalised(message)}"
    where = raw.id if kind == "timeout" else f"{file}:{inner.name}"  # where a hanging test is met varies
    return Failure(
        id=raw.id,
        file=file,
        line=inner.line,
        kind=kind or name,
        message=shorten(said or name, MAX_MESSAGE),
        excerpt=shorten(_excerpt(raw, name, message, root, clean), MAX_EXCERPT),
        signature=f"{kind or name} {where} {hashlib.sha256(code.encode()).hexdigest()[:8]}",
    )


def _excerpt(raw: RawFailure, name: str, message: str, root: Path, clean: Callable[[str], str]) -> str:
    parts = [shorten("\n".join(_error_lines(clean(raw.text), name, message)), _MAX_ERROR_LINES)]
    left = MAX_EXCERPT - len(parts[0])
    for frame in reversed(raw.frames):
        shown = _show_frame(frame, root, clean)
        if len(shown) + 1 > left:
            break
        parts.append(shown)
        left -= len(shown) + 1
    for title, text in raw.sections:
        body = clean(text).strip()
        if body and left > len(title) + 80:
            shown = f"{clean(title)}:\n{shorten(body, min(_MAX_OUTPUT, left - len(title) - 3), tail=True)}"
            parts.append(shown)
            left -= len(shown) + 1
    return "\n".join(parts)


def _error_lines(text: str, name: str, message: str) -> list[str]:
    """The lines that pytest marks with `E`; where it has none, the exception itself in that form."""
    marked = [line[1:] for line in text.splitlines() if line.startswith("E ") and not _POINTERS.match(line)]
    if marked:
        indent = min(len(line) - len(line.lstrip()) for line in marked if line.strip())
        return [f"E   {line[indent:]}".rstrip() for line in marked if line.strip()]
    bare = message.startswith("assert ") or name == _NAMELESS
    told = message if message and bare else f"{name}: {message}" if message else name
    return [f"E   {line}" for line in told.splitlines()]


def _show_frame(frame: Frame, root: Path, clean: Callable[[str], str]) -> str:
    inside = f" in {frame.name}" if frame.name else ""
    lines = [f"{_relative(frame.path, root)}:{frame.line}{inside}"]
    for number, text in enumerate(frame.lines, frame.first):
        lines.append(f"{'>' if number == frame.line else ' '} {number:4} | {clean(text)[:160]}")
    return "\n".join(lines)


def _relative(path: str, root: Path) -> str:
    place = Path(path)
    for base in (root, root.resolve()):
        if place.is_relative_to(base):
            return place.relative_to(base).as_posix()
    return place.as_posix() if path else ""


def group(failures: Iterable[Failure]) -> tuple[FailureGroup, ...]:
    """Failures of equal cause together, in order of their first appearance."""
    together: dict[str, list[Failure]] = {}
    for failure in failures:
        together.setdefault(failure.signature, []).append(failure)
    return tuple(FailureGroup(sign, fs[0].message, tuple(f.id for f in fs)) for sign, fs in together.items())


def condense(report: SuiteReport, max_chars: int = MAX_TOTAL) -> str:
    """The report as text for a reader or a model, in at most `max_chars` characters."""
    head = _head(report)
    foot = [f"note: {n}" for n in report.notes] + ([f"complete output: {report.log}"] if report.log else [])
    room = max_chars - len(head) - sum(len(line) + 1 for line in foot) - 80
    blocks: list[str] = []
    for shown, one in enumerate(report.groups):
        block = "\n" + _show_group(one, report.failures)
        if len(block) + 1 > room:
            rest = report.groups[shown:]
            tests = counted(sum(len(g.ids) for g in rest), "test")
            blocks.append(f"\n[{counted(len(rest), 'more group')}, {tests}, left out for length]")
            break
        blocks.append(block)
        room -= len(block) + 1
    return shorten("\n".join([head, *blocks, *foot]), max_chars, tail=True)


def _head(report: SuiteReport) -> str:
    counts = outcomes_counted(to_object(report.counts))
    head = f"{report.status.value}: {counts or 'no test ran'} in {report.duration_s:.2f} s ({report.runner})"
    return f"{head}\n{shorten(report.message, 1500, tail=True)}" if report.message else head


def _show_group(one: FailureGroup, failures: Sequence[Failure]) -> str:
    exemplar = next(f for f in failures if f.id == one.ids[0])
    lines = [f"{exemplar.id} ({exemplar.kind}, {exemplar.file}:{exemplar.line})", exemplar.excerpt]
    others = one.ids[1:]
    if others:
        more = f" and {len(others) - _MAX_IDS} more" if len(others) > _MAX_IDS else ""
        lines.append(f"same cause: {', '.join(others[:_MAX_IDS])}{more}")
    return "\n".join(lines)
