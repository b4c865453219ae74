"""Attacks by command line, and their harmless look-alikes, through run_tests: what is refused starts nothing at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.attacks import Case, Stage, act, everything_below, meant, stage, starts_seen
from support.cases import sample
from support.engines import engine_on

from regreen.commands import check, check_git

CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "attacks.json"
ALL: list[Case] = json.loads(CORPUS.read_text("utf-8"))["cases"]
CASES = [case for case in ALL if case["surface"] == "command" or "env" in case["action"]["args"]]
ORDINARY = [c for c in CASES if c["expect"]["outcome"] == "allow" and "pytest" in c["action"]["args"]["argv"]]
RUN_HERE = [c["id"] for c in sample(ORDINARY, 2, 1)]  # the other commands are only checked


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_command_ends_as_it_must(case: Case, tmp_path: Path) -> None:
    on = stage(case, tmp_path)
    outside = everything_below(on.out)
    OUTCOMES[case["expect"]["outcome"]](on, case)
    assert everything_below(on.out) == outside


def refused_before_anything_starts(on: Stage, case: Case) -> None:
    before = everything_below(on.ws)
    with engine_on(on.root) as engine:
        engine.session()
        with starts_seen() as started:
            (answer,) = act(engine, on, case)
    assert answer.kinds
    assert answer.kinds <= meant(case), answer.seen[:500]
    assert started == []
    assert everything_below(on.ws) == before


def allowed_and_run(on: Stage, case: Case) -> None:
    argv = case["action"]["args"]["argv"]
    checked = (check_git if argv[0] == "git" else check)(argv, on.ws)
    assert (*checked.words, *checked.arguments) == tuple(argv)
    if case["id"] in RUN_HERE:
        with engine_on(on.root) as engine, starts_seen() as started:
            (answer,) = act(engine, on, case)
        assert not answer.kinds, answer.seen[:500]
        assert answer.data["status"] == "passed", answer.seen[:500]
        assert started


OUTCOMES: dict[str, Callable[[Stage, Case], None]] = {
    "refuse": refused_before_anything_starts,
    "allow": allowed_and_run,
}


def test_corpus_is_complete() -> None:
    assert len(CASES) >= 50
    assert {c["expect"]["outcome"] for c in CASES} == set(OUTCOMES)
