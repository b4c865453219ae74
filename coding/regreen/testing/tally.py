"""What all processes of one run told, put together; and which test it was that ended a process or held it up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from regreen.model import CaseOutcome, Counts
from regreen.testing.channel import Frame, RawFailure, Record
from regreen.testing.pytest_process import Part
from regreen.testing.verdict import Culprit, ending

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


_BLAME = {"timeout": "did not end in time: ", "crash": "the test process ended here: "}


def _of_conftest(record: Record) -> list[tuple[str, RawFailure]]:
    return [(record.conftest.id, record.conftest)] if record.conftest is not None else []


def _culprits(part: Part) -> dict[str, Culprit]:
    lost = {test: Culprit("crash", said) for test, said in part.record.lost_workers.items()}
    if part.completed.cancelled or part.record.exit_code is not None:
        return lost
    standing = tuple(part.record.running)
    if not standing and part.record.collecting is not None:
        standing = (part.record.collecting[0],)
    if part.completed.timed_out:
        return {**lost, **dict.fromkeys(part.overdue or standing, Culprit("timeout", "it was stopped"))}
    return {**lost, **dict.fromkeys(standing, Culprit("crash", ending(part.completed)))}


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
