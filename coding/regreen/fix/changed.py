"""What a run has changed in its tree so far, by the journal: a hash of it, and its texts."""

from __future__ import annotations

from collections.abc import Mapping

from regreen.fix.bench import FixBench
from regreen.fix.tamper import TextChange
from regreen.fix.tree import tree_hash
from regreen.workspace import FileImage


class Changed:
    """The changes of one run."""

    def __init__(self, run_id: str, bench: FixBench) -> None:
        self._run_id = run_id
        self._bench = bench

    def tree(self, planned: Mapping[str, bytes | None] | None = None) -> str:
        """The hash of the tree as it stands, or as it would with `planned` contents (None: absent) besides."""
        run_id, journal, workspace = self._run_id, self._bench.journal, self._bench.workspace
        changes = planned or {}
        touched = journal.touched(run_id)
        paths = sorted({*touched, *changes})
        now = {p: changes[p] if p in changes else _data(workspace.image(p)) for p in paths}
        base = {p: _data(journal.before(run_id, p) if p in touched else workspace.image(p)) for p in paths}
        return tree_hash(base, now)

    def texts(self) -> tuple[TextChange, ...]:
        """Every file that is otherwise than the run found it."""
        run_id, journal, workspace = self._run_id, self._bench.journal, self._bench.workspace
        sides = ((p, _data(journal.before(run_id, p)), _data(workspace.image(p))) for p in journal.touched(run_id))
        return tuple(TextChange(p, _text(before), _text(now)) for p, before, now in sides if before != now)


def _data(image: FileImage) -> bytes | None:
    return image.data if image.kind == "file" else None


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")
