"""A real folder with its journal, for tests of the edit engine."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regreen.edits import EditPlan, commit, plan
from regreen.model import EditReport, Proposal, Replacement
from regreen.store import Store
from regreen.tools.text import say
from regreen.wire import to_object
from regreen.workspace import Journal, Workspace


class Bench:
    """`plan` and `apply` on one folder. Edits are given as text, or as (path, search, replace)."""

    def __init__(self, root: Path, workspace: Workspace, journal: Journal) -> None:
        self.root = root
        self.workspace = workspace
        self.journal = journal

    def put(self, **files: str | bytes) -> None:
        """Write files; `__` in a name stands for a dot."""
        for name, data in files.items():
            path = self.root / name.replace("__", ".")
            path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)

    def plan(self, *edits: str | tuple[str, str, str], **options: Any) -> EditPlan:
        if len(edits) == 1 and isinstance(edits[0], str):
            return plan(Proposal(text=edits[0], format=options.pop("format", "auto")), self.workspace, **options)
        return plan(Proposal(replacements=tuple(Replacement(*e) for e in edits)), self.workspace, **options)

    def apply(self, *edits: str | tuple[str, str, str], **options: Any) -> EditReport:
        return commit(self.plan(*edits, **options), self.journal, label="test")

    def commit(self, planned: EditPlan) -> EditReport:
        return commit(planned, self.journal, label="test")

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def files(self) -> dict[str, bytes | str]:
        return tree(self.root)


def tree(root: Path) -> dict[str, bytes | str]:
    """Everything below a folder: bytes of files, targets of links, `/` for folders."""
    found: dict[str, bytes | str] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        found[name] = f"-> {path.readlink()}" if path.is_symlink() else path.read_bytes() if path.is_file() else "/"
    return found


def told(report: EditReport) -> str:
    """The report as a model reads it."""
    return say("apply_edits", to_object(report))


@contextmanager
def bench(folder: Path, files: Mapping[str, bytes] | None = None) -> Generator[Bench]:
    """A fresh repository folder `ws` below `folder`, its state beside it."""
    root = folder / "ws"
    root.mkdir()
    for name, data in (files or {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    store = Store(folder / "state")
    workspace = Workspace(root)
    try:
        yield Bench(root, workspace, Journal(store, workspace))
    finally:
        workspace.close()
        store.close()
