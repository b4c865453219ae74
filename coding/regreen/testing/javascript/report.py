"""What our reporters tell, made into what the frame reads. The messages of all four reporters are of one form:

`start` (id), `ended` (id), `end` (id, outcome, ms, file, line, fail), `error` (what stands before any test: id is the
file), `blame` (an error that a test is to carry), `note` (text), and `done` or `finished`: the runner told everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from regreen.model import CaseOutcome
from regreen.testing.channel import Frame, RawFailure
from regreen.testing.heard import Asked, Case, Ended, Heard
from regreen.testing.javascript import parsing, stack
from regreen.testing.javascript.chosen import Chosen
from regreen.testing.javascript.packages import absent_packages
from regreen.testing.javascript.titles import SEPARATOR
from regreen.testing.logs import tail
from regreen.testing.sources import relative_to
from regreen.testing.verdict import ending, names
from regreen.wire import counted

_OUTCOMES = frozenset(("passed", "failed", "error", "skipped", "xfailed", "xpassed"))
_MAX_BLAMED = 3


@dataclass
class Told:
    """The messages of one run, sorted. `errors` and `cases` by id, in the order in which they came."""

    asked: Asked
    cases: list[Case] = field(default_factory=list[Case])
    errors: dict[str, RawFailure] = field(default_factory=dict[str, RawFailure])
    blamed: dict[str, RawFailure] = field(default_factory=dict[str, RawFailure])
    early: dict[str, CaseOutcome] = field(default_factory=dict[str, CaseOutcome])  # told as it ended, without details
    running: dict[str, None] = field(default_factory=dict[str, None])
    notes: dict[str, None] = field(default_factory=dict[str, None])
    crashes: dict[str, RawFailure] = field(default_factory=dict[str, RawFailure])
    crash: str = ""
    unrun: list[str] = field(default_factory=list[str])
    exit_may_lie: bool = False
    finished: bool = False

    def take(self, messages: Iterable[Mapping[str, Any]]) -> Told:
        """Take messages in; those that are of no known form are left out."""
        for message in messages:
            self._take(message)
        return self

    def _take(self, m: Mapping[str, Any]) -> None:
        test = str(m.get("id", ""))
        match m.get("k"):
            case "start":
                self.running[test] = None
            case "ended":
                self.running.pop(test, None)
                if m.get("outcome") in _OUTCOMES:
                    self.early[test] = cast("CaseOutcome", m["outcome"])
            case "end":
                self.running.pop(test, None)
                self.cases.append(self._case(test, m))
            case "error":
                self.errors.setdefault(test, self.unloaded(test, m))
            case "blame":
                self.blamed.setdefault(test, self.failure(test, m))
            case "note":
                self.notes[str(m.get("text", ""))] = None
            case "done" | "finished":
                self.finished = True
            case _:
                pass

    def _case(self, test: str, m: Mapping[str, Any]) -> Case:
        outcome = m.get("outcome")
        outcome = outcome if outcome in _OUTCOMES else "error"
        seconds = number(m.get("ms")) / 1000
        failure = self.failure(test, m) if outcome in ("failed", "error") else None
        return Case(test, outcome, seconds, failure)

    def failure(self, test: str, m: Mapping[str, Any]) -> RawFailure:
        """The failure that a message describes."""
        said = m.get("fail")
        fail = cast("dict[str, Any]", said) if isinstance(said, dict) else dict[str, Any]()
        trace = str(fail.get("stack", ""))
        message = str(fail.get("message", ""))
        compared = str(fail.get("compared", ""))
        if compared and not all(part in message for part in compared.splitlines()):
            message = f"{message.rstrip()}\n{compared}"
        return RawFailure(
            id=test,
            kind=str(fail.get("kind", "")) or "Error",
            message=message,
            frames=stack.frames(trace),
            sections=tuple((str(t), str(x)) for t, x in m.get("sections", ())),
            place=(self.below(str(m.get("file", ""))), max(0, int(number(m.get("line"))) - 1)),
        )

    def unloaded(self, test: str, m: Mapping[str, Any], output: str = "") -> RawFailure:
        """The failure of a file that could not be loaded: where one cannot be parsed, its place comes first."""
        raw = self.failure(test, m)
        said = m.get("fail")
        trace = str(cast("dict[str, Any]", said).get("stack", "")) if isinstance(said, dict) else ""
        return self.parsed(raw, parsing.broken(raw.message, trace, output))

    def parsed(self, raw: RawFailure, found: parsing.Broken | None) -> RawFailure:
        """`raw` with the place that cannot be parsed as its innermost frame."""
        path = self._within(found.path) if found is not None else ""
        if found is None or not path:
            return raw
        raw = replace(raw, frames=(*raw.frames, Frame(path, found.line, "")))
        return replace(raw, kind=found.kind, message=f"{path}: {found.said}") if found.said else raw

    def _within(self, path: str) -> str:
        """A path that a compiler tells, relative to the root; "" for what is not in the project."""
        look = self.asked.look
        inside = relative_to(path, self.asked.request.workspace.root) if path.startswith("/") else ""
        bare = path.removeprefix("./").lstrip("/")  # some write paths below the project's folder with a slash
        return inside or (look.at(bare) if look.exists(bare) else "")

    def below(self, file: str) -> str:
        """A file as the frame wants it: absolute, or relative to the root."""
        return file if not file or file.startswith("/") else self.asked.look.at(file)

    def heard(self, chosen: Chosen, ended: Ended) -> Heard:
        """The whole report. Tests that were not meant are left out."""
        if not self.finished:
            self._complete()
        told = [*(c.id for c in self.cases), *self.running]
        chosen = chosen.settled(told)
        kept = chosen.kept(told)
        cases = [self._judged(c) for c in self.cases if c.id in kept]
        left_out = [c for c in self.cases if c.id not in kept]
        seen = [*(c.id for c in cases), *self.errors, *(e for e in self.running if e in kept)]
        crashed = not self.finished and not ended.completed.timed_out and not ended.completed.cancelled
        running = tuple(self.running)
        if crashed and not self.crashes:
            self.crashes = {t: self._crash(t, ended) for t in running[:_MAX_BLAMED]}
        errors = self._meant(chosen, seen)
        missing = absent_packages(self.asked, errors)
        if crashed or self.crash:  # a crash counts for more than what could not be loaded
            cases += [Case(e.id, "error", 0.0, e) for e in (*self.crashes.values(), *errors)]
            errors = ()
        if self.unrun:
            self.notes[f"{counted(len(self.unrun), 'test was', 'tests were')} not run: {names(self.unrun)}"] = None
        return Heard(
            cases=tuple(cases),
            errors=errors,
            finished=self.finished and not self.crash,
            running=running,
            missing=missing,
            unmatched=chosen.unmatched(seen) if self.finished else (),
            notes=tuple(self.notes),
            crash=self.crash,
            exit_may_lie=self.exit_may_lie or any(c.outcome in ("failed", "error") for c in left_out),
        )

    def _complete(self) -> None:
        """Where the results are missing, what was told while the tests ran stands for them."""
        known = {c.id for c in self.cases}
        for test, outcome in self.early.items():
            if test in known:
                continue
            fail = {"fail": {"kind": "Error", "message": "it failed; the run ended before the details were told"}}
            failure = self.failure(test, fail) if outcome in ("failed", "error") else None
            self.cases.append(Case(test, outcome, 0.0, failure))

    def _meant(self, chosen: Chosen, seen: Collection[str]) -> tuple[RawFailure, ...]:
        """Files that could not be loaded, without those that have nothing to do with titles that were found."""
        if not chosen.titles or chosen.whole or chosen.unmatched(seen):
            return tuple(self.errors.values())
        files = {t.partition(SEPARATOR)[0] for t in seen if SEPARATOR in t}
        other = [e for e in self.errors if e not in files]
        if other:
            self.exit_may_lie = True
            self.notes[f"could not be loaded, and is not what was selected: {names(other)}"] = None
        return tuple(e for e in self.errors.values() if e.id in files)

    def _judged(self, case: Case) -> Case:
        blame = self.blamed.get(case.id)
        return replace(case, outcome="error", failure=blame) if blame is not None else case

    def crashed(self, test: str, how: str, within: str) -> None:
        """A process is gone without its results, while `test` ran in it."""
        place = (self.below(test.partition(SEPARATOR)[0]), 0)
        self.crashes.setdefault(test, RawFailure(test, "crash", f"{how}, while this ran", (), place=place))
        self.crash = self.crash or f"{within}: {how}" + (f", while {test} ran" if test != within else "")

    def _crash(self, test: str, ended: Ended) -> RawFailure:
        place = (self.below(test.partition(SEPARATOR)[0]), 0)
        return RawFailure(test, "crash", f"the test process ended here: {ending(ended.completed)}", (), place=place)


def number(value: Any) -> float:
    """A number of a message; 0 for what is none."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if good else 0.0


def refused_start(heard: Heard, ended: Ended) -> Heard:
    """The report where the runner ended by itself before our reporter was even loaded: it could not start."""
    if ended.messages or ended.completed.timed_out or not ended.completed.returncode:
        return heard
    lines = [line.strip()[:200] for line in tail(ended.log).splitlines() if line.strip()]
    return replace(heard, refused=" / ".join(lines[:4]) or "it said nothing")
