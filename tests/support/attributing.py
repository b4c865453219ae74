"""A snapshot bench whose tests are seen writing: what changes while they run is reported as written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from regreen.model import Snapshot
from regreen.snapshots import SideEffects
from regreen.workspace import Stat
from support.snapshotting import Bench


class Watched(Bench):
    """`run_tests` reports every path that its function changes; or the paths in `seen`, and no other."""

    def run_tests(
        self, snapshot: Snapshot, tests: Callable[[], object], *, seen: Sequence[str] | None = None
    ) -> SideEffects:
        mark = self.snapshots.mark(snapshot)
        before = self._everything()
        tests()
        self.snapshots.note_written(snapshot, self._changed(before) if seen is None else seen)
        return self.snapshots.side_effects(snapshot, mark)

    def _everything(self) -> dict[str, Stat]:
        return self.workspace.scan(skip=lambda _: False)

    def _changed(self, before: dict[str, Stat]) -> list[str]:
        now = self._everything()
        return [p for p in {*before, *now} if _told(before.get(p)) != _told(now.get(p))]


def _told(row: Stat | None) -> object:
    return row.kind if row is not None and row.kind == "directory" else row
