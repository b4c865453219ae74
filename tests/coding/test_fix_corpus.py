"""Fix runs over the bug corpus: traps end as they must, fixes in parts come together, right fixes are kept.

A sample here, of every trap and every end; all of it with REGREEN_ALL_CASES=1, or as a table by
`python scripts/corpus_runs.py`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.bug_cases import (
    CASES,
    REPEATING,
    Trial,
    part_trials,
    parts,
    patch_of,
    single_trials,
    trap_trials,
    try_out,
)
from support.cases import sample
from support.fixing import LOOKS
from support.js_projects import need, need_node

from regreen.settings import Limits

TRAPS = [pytest.param(t, id=t.id, marks=[pytest.mark.thorough] * (t.id in REPEATING)) for t in trap_trials()]
PARTS = part_trials()
OTHER_LANGUAGES = [t for t in single_trials() if CASES[t.case]["runner"] not in ("pytest",)]
PYTHON = [t for t in single_trials() if CASES[t.case]["runner"] == "pytest"]
_TOOLS = {"cargo": "cargo", "make": "make"}


@pytest.fixture(autouse=True)
def _looks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "trap-flaky" not in request.node.name:
        monkeypatch.setattr("regreen.fix.baseline.RUNS", LOOKS)


def need_tools(trial: Trial) -> None:
    runner = CASES[trial.case]["runner"]
    if runner in ("jest", "vitest"):
        need(runner)
    elif runner == "node":
        need_node()
    elif (tool := _TOOLS.get(runner)) and shutil.which(tool) is None:
        pytest.skip(f"NOT RUN: {tool} is not installed")


@pytest.mark.timeout(400)
@pytest.mark.parametrize("trial", TRAPS)
def test_every_trap_ends_as_it_must(trial: Trial, tmp_path: Path) -> None:
    limits = Limits(budget_s=30.0) if trial.case == "trap-hang" else None
    assert try_out(tmp_path, trial, limits=limits).problems == ()


@pytest.mark.parametrize("trial", sample(PARTS, 34, 3), ids=lambda t: t.id)
def test_a_fix_in_two_parts_comes_together_in_either_order_and_among_wrong_ones(trial: Trial, tmp_path: Path) -> None:
    assert try_out(tmp_path, trial).problems == ()


@pytest.mark.parametrize("trial", sample(PYTHON, 60, 30), ids=lambda t: t.id)
def test_the_right_fix_is_kept_to_the_byte(trial: Trial, tmp_path: Path) -> None:
    assert try_out(tmp_path, trial).problems == ()


@pytest.mark.timeout(400)
@pytest.mark.parametrize("trial", sample(OTHER_LANGUAGES, 6), ids=lambda t: t.id)
def test_the_right_fix_is_kept_with_other_runners(trial: Trial, tmp_path: Path) -> None:
    need_tools(trial)
    assert try_out(tmp_path, trial).problems == ()


def test_patches_are_taken_apart_whole() -> None:
    for case in CASES:
        patch = patch_of(case)
        changed = [x for x in patch.splitlines() if x[:1] in "+-" and x[:4] not in ("--- ", "+++ ")]
        found = parts(patch)
        lines = [*"\n".join(p.before for p in found).splitlines(), *"\n".join(p.after for p in found).splitlines()]
        assert sorted(x for x in lines if x) == sorted(x[1:] for x in changed if x[1:]), case
