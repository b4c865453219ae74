"""How a run leaves the tree: with its changes, or as it was found. What its tests changed is put back either way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from regreen.events import EventLog
from regreen.fix.bench import FixBench
from regreen.fix.cold_runs import ColdRuns
from regreen.model import RestoreReport
from regreen.wire import names


@dataclass(frozen=True, slots=True)
class Left:
    """What a run left. `report` tells what was put back; `old_bytes` is the transaction that holds what stood in files
    that could not be ("" = none); `uncovered` counts files too large to be put back; `remarks` are for the outcome."""

    report: RestoreReport = field(default_factory=RestoreReport)
    old_bytes: str = ""
    kept_files: tuple[str, ...] = ()
    uncovered: int = 0
    remarks: tuple[str, ...] = ()


class Leaving:
    """Leaves the tree of one run. `rewind` brings the run's own edits back to what is to be kept of them."""

    def __init__(
        self, run_id: str, bench: FixBench, runs: ColdRuns, log: EventLog, rewind: Callable[[], RestoreReport]
    ) -> None:
        self._run_id = run_id
        self._bench = bench
        self._runs = runs
        self._log = log
        self._rewind = rewind

    def leave(self, *, keep: bool) -> Left:
        """Leave the tree with the run's changes, or as it was."""
        snapshot = self._runs.snapshot
        if snapshot is None:
            return Left()
        uncovered = self._bench.snapshots.uncovered(snapshot)
        if keep:
            merged = self._rewind().merged
            report = self._runs.put_back(final=True)
            report = replace(report, merged=tuple(dict.fromkeys((*merged, *report.merged))))
        else:
            report = self._runs.put_back(final=True, edits=True)
        old_bytes = self._bench.snapshots.release(snapshot)
        self._log.emit("restored", restored=report.restored, deleted=report.deleted, conflicts=report.conflicts)
        files = self._kept_files() if keep else ()
        return Left(report, old_bytes, files, uncovered, tuple(self._noticed(report, old_bytes)))

    def _kept_files(self) -> tuple[str, ...]:
        touched = self._bench.journal.touched(self._run_id)
        return tuple(sorted(p for p, (before, after) in touched.items() if before != after))

    def _noticed(self, restored: RestoreReport, old_bytes: str) -> Iterator[str]:
        """What happened to files while tests ran that nobody was seen doing."""
        if inferred := self._runs.inferred:
            undo = " or ".join(f"`regreen restore {txn}`" for txn in list(dict.fromkeys(inferred.values()))[-2:])
            yield (f"{names(inferred)} was put back as the tests' doing, though none was seen writing it: it came to"
                   " the same bytes in three test runs in a row, or lay in a folder that they made; if it was you, "
                   f"{undo} brings it back")  # fmt: skip
        if restored.ignored:
            undo = f" (`regreen restore {old_bytes}`: as it was)" if old_bytes else ""
            yield restored.about_ignored + undo
