"""What all processes of one run told, put together; and which test it was that ended a process or held it up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from regreen.model import CaseOutcome, Counts
from regreen.testing.channel import Frame, RawFailure, Record
from regreen.testing.pytest_process import Part
from regreen.testing.verdict import Culprit, ending

_NAMED = 5
_STACK_LINE = re.compile(r'^  File "(?P<path>.+)", line (?P<line>\d+) in (?P<name>.+)$')


@dataclass
class Tally:
    """All processes of one run put together."""

    collected: tuple[str, ...] = ()
    outcomes: dict[str, CaseOutcome] = field(default_factory=dict[str, CaseOutcome])
    durations: dict[str, float] = field(default_factory=dict[str, float])
    failures: dict[str, RawFailure] = field(default_factory=dict[str, RawFailure])
    kinds: dict[str, str] = field(default_factory=dict[str, str])  # failures that are no exception: collection, ...
    collection: dict[str, RawFailure] = field(default_factory=dict[str, RawFailure])
    culprits: dict[str, Culprit] = field(default_factory=dict[str, Culprit])
    subtests: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # test -> those of it that failed
    unmatched: tuple[str, ...] | None = None  # targets that took in no test, where the inside says that
    unsupervised: bool = False
    notes: dict[str, None] = field(default_factory=dict[str, None])

    def add(self, part: Part) -> None:
        record = part.record
        self.unsupervised = self.unsupervised or part.completed.unsupervised
        self.notes.update(dict.fromkeys(part.notes))
        self.collected = self.collected or record.collected or ()
        self.collection.update(record.collection)
        for test, outcome in record.outcomes.items():
            self.outcomes[test] = outcome
            self.durations[test] = record.durations.get(test, 0.0)
        self.failures.update(record.failures)
        self.subtests.update(record.subtests)
        self.failures.update({t: _of_subtests(record.failures[t], subs) for t, subs in record.subtests.items()})
        self.unmatched = record.unmatched if self.unmatched is None else self.unmatched
        for test, raw in (*record.collection.items(), *_of_conftest(record)):
            self.outcomes[test] = "error"
            self.failures[test] = raw
            self.kinds[test] = "collection"

    def blame(self, part: Part, log: str) -> bool:
        """Make failures of the tests that ended or held up this process. True if there are any."""
        found = _culprits(part)
        for test, culprit in found.items():
            frames = _stack_frames(part.stack if culprit.kind == "timeout" else log)
            place = part.record.places.get(test) or (test.partition("::")[0], 0)
            self.outcomes[test] = "failed"
            message = _BLAME[culprit.kind] + culprit.how
            self.failures[test] = RawFailure(test, culprit.kind, message, frames, place=place)
            self.kinds[test] = culprit.kind
            self.culprits[test] = culprit
        return bool(found)


def _of_subtests(raw: RawFailure, subs: list[str]) -> RawFailure:
    """A test of which subtests failed: the first of them stands for all."""
    others = ", ".join(subs[1 : _NAMED + 1]) + (f" and {len(subs) - _NAMED - 1} more" if len(subs) > _NAMED + 1 else "")
    said = f"{subs[0]} {raw.message}" + (f"\n{len(subs)} subtests failed: also {others}" if others else "")
    return replace(raw, message=said)


_BLAME = {"timeout": "did not end in time: ", "crash": "the test process ended here: "}


def _of_conftest(record: Record) -> list[tuple[str, RawFailure]]:
    return [(record.conftest.id, record.conftest)] if record.conftest is not None else []


def _culprits(part: Part) -> dict[str, Culprit]:
    lost = {test: Culprit("crash", said) for test, said in part.record.lost_workers.items()}
    if part.completed.cancelled or part.record.exit_code is not None:
        return lost
    loading = part.record.collecting[0] if part.record.collecting is not None else ""
    standing = tuple(part.record.running) or ((loading,) if loading else ())
    kind, how, found = "crash", ending(part.completed), standing
    if part.completed.timed_out:
        kind, how, found = "timeout", "it was stopped", part.overdue or standing
    return {**lost, **{t: Culprit(kind, how, t == loading) for t in found}}


def _stack_frames(text: str) -> tuple[Frame, ...]:
    """Frames of the current thread from a faulthandler dump, innermost last."""
    block = text.rpartition("Current thread")[2] if "Current thread" in text else ""
    frames: list[Frame] = []
    for line in block.splitlines()[1:]:
        match = _STACK_LINE.match(line)
        if match is None:
            break
        frames.append(Frame(match["path"], int(match["line"]), match["name"]))
    return tuple(reversed(frames))


def counts(outcomes: Mapping[str, CaseOutcome]) -> Counts:
    c = Counter(outcomes.values())
    return Counts(c["passed"], c["failed"], c["error"], c["skipped"], c["xfailed"], c["xpassed"], len(outcomes))
