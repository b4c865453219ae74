"""Small projects for the offline search, and a search over them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from regreen.model import AttemptState, Brief, Proposal, Tried
from regreen.proposers.search import SearchProgress, SearchProposer
from regreen.repo import FileList, is_test_file
from regreen.sandbox import Cancel
from regreen.settings import Settings, default_environ
from regreen.testing import Interpreter
from regreen.workspace import Workspace

INTERPRETER = Interpreter(sys.executable, "", "", "the tests' own")


def make_project(root: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    return root


def listed(root: Path) -> tuple[str, ...]:
    return tuple(sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()))


def settings_for(folder: Path) -> Settings:
    return Settings(state_dir=folder / "state", cache_dir=folder / "cache", environ=default_environ())


def search(
    root: Path,
    folder: Path,
    *,
    budget_s: float = 6.0,
    cancel: Cancel | None = None,
    on_progress: Callable[[SearchProgress], None] | None = None,
    writable: tuple[Path, ...] = (),
    flaky: tuple[str, ...] = (),
) -> SearchProposer:
    files = listed(root)
    return SearchProposer(
        Workspace(root), FileList(files), INTERPRETER, replace(settings_for(folder), writable=writable),
        paths=tuple(p for p in files if not is_test_file(p)), budget_s=budget_s, wall_s=budget_s * 12,
        cancel=cancel or Cancel(), on_progress=on_progress, flaky=flaky,
    )  # fmt: skip


def brief(*failing: str, refused: int = 0) -> Brief:
    tried = tuple(Tried(n + 1, AttemptState.WORSE, "", "", "") for n in range(refused))
    return Brief("", failing, (), (), (), tried, 6)


def propose(proposer: SearchProposer, told: Brief) -> Proposal | None:
    return asyncio.run(proposer.propose(told))


def apply(root: Path, proposal: Proposal) -> None:
    """As the loop does: every SEARCH must occur exactly once."""
    for r in proposal.replacements:
        path = root / r.path
        text = path.read_text("utf-8")
        assert text.count(r.search) == 1, r
        path.write_text(text.replace(r.search, r.replace), "utf-8")
