"""What a model is told: the brief and the files involved, as one system text and one message. Pure but for `Sources`.

Rule: the texts never take more than the room they are given, whatever a brief or a file holds. What stays the same from
one attempt to the next stands first, so that a provider can keep it: rules, failures, map, files; then what was tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from string import Template
from typing import Protocol, cast

from regreen import edits
from regreen.errors import ConfigError
from regreen.fix.brief import EDIT_RULE
from regreen.model import AttemptState, Brief, Failure, SuspiciousLine, Tried
from regreen.proposers.fitting import Part, Piece, fenced, fitted, parts, room_of, size
from regreen.proposers.involved import Involved, involved
from regreen.repo.budget import estimate_tokens
from regreen.wire import encodable, shortened

Mask = Callable[[str], str]

FORMATS = ("search_replace", "unified_diff", "apply_patch", "str_replace")
_LEAST_TOKENS = 1_000  # for the message; less says nothing of use
_MAP_TOKENS = 2_000
_MOST_NAMED = 300  # characters of an id or a note
_FRAME = 120  # bytes of a file's heading and fence
_SIGNED = re.compile(r":\d+[ :]|: ")  # what stands between a signature and the path before it
_SHARES = {"task": 0.1, "failing": 0.3, "map": 0.1, "places": 0.05, "signatures": 0.07, "tried": 0.25, "end": 0.08}


class Sources(Protocol):
    """The repository, as a model may see it: secrets are masked in what comes from here."""

    def map(self, focus: Sequence[str], max_tokens: int) -> str:
        """The most important definitions, as seen from these files; "" where there is none."""
        ...

    def read(self, path: str) -> str | None:
        """The text of a file; None where it is missing, binary or too large."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """The system text, and the user's message."""

    system: str
    user: str


def build(brief: Brief, sources: Sources, mask: Mask, *, edit_format: str, max_tokens: int) -> Prompt:
    """The prompt for a brief in at most `max_tokens`. Raises ConfigError where these are too few to say anything."""
    system = system_text(edit_format)
    room = room_of(enough_room(max_tokens, edit_format)) - size(system)
    return Prompt(system, _Message(_masked(brief, mask), _Read(sources), room).text())


def least_tokens(edit_format: str) -> int:
    """The smallest number of tokens in which a failure can be told: the rules, and something of the brief."""
    return _LEAST_TOKENS + estimate_tokens(system_text(edit_format))


def enough_room(max_tokens: int, edit_format: str) -> int:
    """`max_tokens`, if a failure can be told in so many; else ConfigError."""
    if max_tokens < least_tokens(edit_format):
        raise ConfigError(
            "config_refused",
            f"{max_tokens} tokens are too few to tell a model of a failure",
            f"leave {least_tokens(edit_format)} besides those of the answer: raise `max_input_tokens`, or lower "
            "`max_tokens`",
        )
    return max_tokens


def system_text(edit_format: str) -> str:
    """The role, the rules, and the edit format with an example."""
    return Template(read_prompt("fix")).substitute(
        format=edits.prompt(edit_format), example=read_prompt(f"example_{edit_format}").rstrip()
    )


def refused_text(tried: Tried, advice: str, mask: Mask) -> str:
    """The answer to edits that were refused or repeated: why, and what to do."""
    result = fenced(_clean(tried.result, mask))
    said = Template(read_prompt("refused")).substitute(state=tried.state.value, result=result).rstrip()
    return f"{said}\n\n{_clean(advice, mask)}" if advice else said


def read_prompt(name: str) -> str:
    """A prompt file of the package."""
    return (files("regreen.proposers") / "prompts" / f"{name}.md").read_text("utf-8")


class _Read:
    """Sources that read each file once for one prompt."""

    def __init__(self, sources: Sources) -> None:
        self.map = sources.map
        self._sources = sources
        self._seen: dict[str, str | None] = {}

    def __call__(self, path: str) -> str | None:
        if path not in self._seen:
            text = self._sources.read(path)
            self._seen[path] = None if text is None else _encodable(text)
        return self._seen[path]


class _Message:
    """The user's message in `room` bytes: each section has its share, and the files have all that is left."""

    def __init__(self, brief: Brief, read: _Read, room: int) -> None:
        self._brief = brief
        self._read = read
        self._room = room
        self._left = room

    def text(self) -> str:
        brief = self._brief
        about = involved(brief, self._read)
        task = self._section("task", "Task", [Piece(brief.task.replace(EDIT_RULE, "").strip())])
        failing = self._section("failing", "Failing tests", _failing(brief))
        places = self._section("places", "Suspicious lines", _places(brief.suspicious))
        tried = self._section("tried", "Tried so far", _tried(brief.tried))
        end = self._section("end", "Now", _last_words(brief))
        drawn = self._section("map", "Map of the repository", self._map(about))
        shown, whole = self._files(about)
        others = [row for row in brief.signatures if _SIGNED.split(row, maxsplit=1)[0] not in whole]
        signatures = self._section("signatures", "Signatures", _listed(others))
        return "\n\n".join(s for s in (task, failing, drawn, shown, places, signatures, tried, end) if s)

    def _section(self, share: str, title: str, pieces: Sequence[Piece]) -> str:
        head = f"# {title}\n\n"
        body = fitted(pieces, min(int(self._room * _SHARES[share]), self._left) - size(head) - 2)
        if not body:
            return ""
        self._left -= size(head) + size(body) + 2
        return head + body

    def _map(self, about: Sequence[Involved]) -> list[Piece]:
        tokens = min(_MAP_TOKENS, int(self._room * _SHARES["map"] / room_of(1)))
        drawn = _encodable(self._read.map([f.path for f in about], tokens)).strip("\n")
        return [Piece("", drawn)] if drawn else []

    def _files(self, about: Sequence[Involved]) -> tuple[str, frozenset[str]]:
        """The files: whole where they fit, else the parts that are spoken of; and which of them are whole."""
        head = "# Files, as they are now"
        left = self._left - size(head) - 2 - int(self._room * _SHARES["signatures"])
        out: list[str] = []
        whole: set[str] = set()
        for file in about:
            text = self._read(file.path) or ""
            shown = _whole(file, text)
            fits = size(shown) + 2 <= left
            if not fits:
                shown = _in_parts(file, text, left // 2)
            if shown and size(shown) + 2 <= left:
                out.append(shown)
                whole.update([file.path] if fits else [])
                left -= size(shown) + 2
        body = "\n\n".join((head, *out)) if out else ""
        self._left -= size(body) + 2
        return body, frozenset(whole)


def _whole(file: Involved, text: str) -> str:
    return f"## {file.path}{' (a test)' if file.is_test else ''}\n\n{fenced(text)}"


def _in_parts(file: Involved, text: str, room: int) -> str:
    total = text.count("\n") + (not text.endswith("\n"))
    found = parts(text, file.lines, room, _FRAME + size(file.path))
    return "\n\n".join(_part(file, part, total) for part in found)


def _part(file: Involved, part: Part, total: int) -> str:
    note = "a test, " if file.is_test else ""
    return f"## {file.path} ({note}only lines {part.first}-{part.last} of {total})\n\n{fenced(part.text)}"


_LEFT = {
    AttemptState.IMPROVED: ", kept: it is in the files above",
    AttemptState.PASSED: ", kept: it is in the files above",
    AttemptState.REFUSED: ", nothing was written",
    AttemptState.REPEATED: ", nothing was written",
}


def _failing(brief: Brief) -> list[Piece]:
    told = [_failure(n, f) for n, f in enumerate(brief.failures, 1)]
    total = max(brief.failing_total, len(brief.failing))
    if {f.id for f in brief.failures} >= set(brief.failing) and total <= len(brief.failures):
        return told
    more = f"and {total - len(brief.failing)} more" if total > len(brief.failing) else ""
    return [*told, Piece(f"All {total} that fail:", "\n".join(brief.failing), more)]


def _failure(number: int, failure: Failure) -> Piece:
    """All that comes from the test stands in the fence, its name too."""
    place = f" at {failure.file}:{failure.line}" if failure.file else ""
    head = f"{_one_line(failure.id)}\n{_one_line(failure.kind)}{place}"
    quoted = f"{head}\n\n{failure.excerpt.rstrip() or failure.message}"
    return Piece(f"## Failure {number}", quoted, _one_line(failure.note))


def _places(suspicious: Sequence[SuspiciousLine]) -> list[Piece]:
    head = "Failing tests run these, passing ones mostly do not (1.00 is the most suspicious):"
    rows = [f"{s.path}:{s.line}  {s.score:.2f}  {s.text.strip()}" for s in suspicious]
    return [Piece(head, "\n".join(rows))] if rows else []


def _listed(lines: Sequence[str]) -> list[Piece]:
    return [Piece("", "\n".join(lines))] if lines else []


def _tried(tried: Sequence[Tried]) -> list[Piece]:
    """The newest first, so that it is the oldest that finds no room."""
    return [piece for one in reversed(tried) for piece in _try(one)]


def _try(tried: Tried) -> Iterator[Piece]:
    note = f"\n\nMeant as: {_one_line(tried.note)}" if tried.note else ""
    head = f"## Try {tried.number}: {tried.state.value}{_LEFT.get(tried.state, ', rolled back')}{note}"
    if tried.diff:
        yield Piece(head, tried.diff.rstrip())
        head = ""
    yield Piece(f"{head}\n\nWhat came of try {tried.number}:".strip(), tried.result or tried.state.value)


def _last_words(brief: Brief) -> list[Piece]:
    left = brief.attempts_left
    tries = "This is the last try." if left == 1 else f"{left} tries are left, this one among them."
    words = Piece(f"{tries} Answer with the cause and the edits.")
    return [words, Piece(brief.advice)] if brief.advice else [words]


def _one_line(text: str) -> str:
    return shortened(" ".join(text.split()), _MOST_NAMED)


def _encodable(text: str) -> str:
    return cast("str", encodable(text))


def _clean(text: str, mask: Mask) -> str:
    return _encodable(mask(text))


def _masked(brief: Brief, mask: Mask) -> Brief:
    """The brief without secrets, and without what no provider can be sent."""

    def clean(text: str) -> str:
        return _clean(text, mask)

    return replace(
        brief,
        task=clean(brief.task),
        advice=clean(brief.advice),
        failing=tuple(clean(i) for i in brief.failing),
        signatures=tuple(clean(s) for s in brief.signatures),
        suspicious=tuple(replace(s, path=clean(s.path), text=clean(s.text)) for s in brief.suspicious),
        tried=tuple(replace(t, note=clean(t.note), diff=clean(t.diff), result=clean(t.result)) for t in brief.tried),
        failures=tuple(
            replace(f, id=clean(f.id), kind=clean(f.kind), file=clean(f.file), message=clean(f.message),
                    excerpt=clean(f.excerpt), note=clean(f.note))
            for f in brief.failures
        ),
    )  # fmt: skip
