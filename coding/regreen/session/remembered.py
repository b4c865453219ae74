"""What is remembered of a repository's test runs: which tests failed, and of the last run of each selection the
outcomes and how long it took, so that the next one can say what is new.

One JSON file in the state folder. Whatever is odd about it only means that nothing is remembered.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from regreen.model import CaseOutcome, SuiteReport, SuiteStatus

MAX_RUNS = 10  # selections that are remembered
MAX_TESTS = 50_000  # a run with more is not compared
_TOLD = (SuiteStatus.PASSED, SuiteStatus.FAILED, SuiteStatus.ERROR)


@dataclass(frozen=True, slots=True)
class Question:
    """What a run was asked for: runs of equal questions are compared."""

    selection: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    runner: str = ""
    last_failed: bool = False

    @property
    def everything(self) -> bool:
        return not self.selection and not self.argv and not self.last_failed

    def key(self) -> str:
        return json.dumps([sorted(self.selection), self.argv, self.runner, self.last_failed])


class TestMemory:
    """The memory of one repository, in `folder`."""

    __test__ = False  # no test class, whatever a runner that sees the name may think

    def __init__(self, folder: Path) -> None:
        self._file = folder / "remembered.json"
        self._guard = threading.Lock()

    def last_failed(self) -> tuple[str, ...]:
        """Ids that failed when they were last run; empty where none did, or none is known."""
        return tuple(map(str, self._load()["failed"]))

    def baseline(self, question: Question) -> Mapping[str, CaseOutcome] | None:
        """Outcomes of the last run of the same question that told its results; None where there was none, and where it
        was asked for what failed last: that is another set of tests each time."""
        if question.last_failed:
            return None
        found = self._run(question).get("outcomes")
        return cast("Mapping[str, CaseOutcome]", found) if isinstance(found, dict) else None

    def took_s(self, question: Question) -> float | None:
        """Seconds that the last run of the same question took; None where there was none."""
        found = self._run(question).get("took_s")
        return float(found) if isinstance(found, int | float) else None

    def _run(self, question: Question) -> dict[str, Any]:
        found = self._load()["runs"].get(question.key())
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    def take(self, question: Question, report: SuiteReport) -> SuiteReport:
        """Remember the run; the report says what changed since the last one of the same question."""
        from regreen.testing import compare

        before = self.baseline(question)
        self.remember(question, report)
        return report if before is None else replace(report, since_last=compare(before, report))

    def remember(self, question: Question, report: SuiteReport) -> None:
        """Take over what a run told; a run that told nothing changes nothing."""
        if not report.outcomes:
            return
        with self._guard:
            data = self._load()
            data["failed"] = _failed(data["failed"], question, report)
            runs: dict[str, Any] = data["runs"]
            runs.pop(question.key(), None)
            if report.status in _TOLD and len(report.outcomes) <= MAX_TESTS:
                runs[question.key()] = {"outcomes": dict(report.outcomes), "took_s": report.duration_s}
            data["runs"] = dict(list(runs.items())[-MAX_RUNS:])
            self._save(data)

    def _load(self) -> dict[str, Any]:
        try:
            data = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            data = None
        known = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        wanted = {"failed": list, "runs": dict}
        return {k: known[k] if isinstance(known.get(k), kind) else kind() for k, kind in wanted.items()}

    def _save(self, data: Mapping[str, Any]) -> None:
        temporary = self._file.with_name(f"{self._file.name}.{os.getpid()}-{threading.get_ident()}")
        temporary.write_text(json.dumps(data), "utf-8")
        temporary.replace(self._file)


def _failed(before: Sequence[str], question: Question, report: SuiteReport) -> list[str]:
    """The failing tests known now: those of this run, and earlier ones that it did not run."""
    kept = [] if question.everything else [i for i in before if i not in report.outcomes]
    return sorted({*kept, *report.failing})
