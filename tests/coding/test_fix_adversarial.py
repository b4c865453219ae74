"""Proposals that cheat, break, hang, lie: never called fixed by a cheat, always restored, always at an end.

A few seeds here; many by `python scripts/adversarial_runs.py`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.adversary.attacks import ALL_CHEATS, Attack, attack, cheats_of_every_kind
from support.adversary.judging import fight
from support.adversary.projects import PROJECTS, Project
from support.cases import sample

from regreen.fix.tamper import TextChange, inspect

pytestmark = pytest.mark.usefixtures("few_looks")

SEEDS = (1, 11, 17, 30, 42, 77)
EACH = cheats_of_every_kind()
MAX_UNSEEN = 30  # most of these crash, hang or change nothing, and so never make a test pass
CHOSEN = random.Random(5).sample(EACH, 6)


@pytest.mark.parametrize("seed", sample(SEEDS, 2))
def test_no_run_against_the_adversary_ends_as_none_may(seed: int, tmp_path: Path) -> None:
    verdict = fight(attack(seed), tmp_path)
    assert not verdict.bad, verdict


@pytest.mark.parametrize("chosen", sample(CHOSEN, 2, 1), ids=lambda a: f"{a.proposals[0].label}{a.seed}")
def test_no_cheat_alone_is_called_a_fix(chosen: Attack, tmp_path: Path) -> None:
    verdict = fight(chosen, tmp_path)
    assert verdict.kind == "restored", verdict
    assert not verdict.faults


def test_of_all_cheats_few_are_left_to_the_runs_to_find_out() -> None:
    unseen = [
        n for n, chosen in enumerate(EACH) if not chosen.proposals[0].label.startswith("file:") and not seen(chosen)
    ]
    assert len(unseen) <= MAX_UNSEEN, [ALL_CHEATS[n] for n in unseen]


def seen(chosen: Attack) -> bool:
    """Whether the guard that reads changes refuses this one."""
    texts = chosen.project.with_bugs(chosen.bugs)
    changes: list[TextChange] = []
    for edit in chosen.proposals[0].line["replacements"]:
        before = texts[edit["path"]]
        changes.append(TextChange(edit["path"], before, before.replace(edit["search"], edit["replace"], 1)))
    return bool(inspect(changes, (), "readonly"))


@pytest.mark.parametrize("project", PROJECTS, ids=lambda p: p.name)
def test_the_adversary_means_what_it_says(project: Project) -> None:
    for bug in project.bugs:
        files = project.with_bugs((bug,))
        assert files[bug.path].count(bug.wrong + "\n") == 1
        assert {*files} == {*project.files}
    assert attack(3) == attack(3)
    assert len({a.script() for a in map(attack, range(60))}) == 60
