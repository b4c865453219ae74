"""Every row of the whitelist, on command lines as they are written by people and agents, and on hostile options."""

import pytest
from support.commands import GIT, HOSTILE, HOSTILE_GIT, ORDINARY, ordinary, project

from regreen.commands import check, check_git
from regreen.commands.table import READS_GIT, RUNS_TESTS
from regreen.errors import Refused


def named(argv):
    return " ".join(argv)


@pytest.mark.parametrize("runner,argv", [pytest.param(r, a, id=named(a)) for r, a in ordinary()])
def test_ordinary_command_is_allowed(runner, argv, tmp_path):
    checked = check(argv, project(tmp_path))
    assert checked.runner == runner
    assert [w for w in (*checked.words, *checked.arguments) if w != "--"] == [w for w in argv if w != "--"]


@pytest.mark.parametrize("argv", GIT, ids=named)
def test_ordinary_reading_of_git_is_allowed(argv, tmp_path):
    checked = check_git(argv, project(tmp_path))
    assert checked.runner == "git"
    assert (*checked.words, *checked.arguments) == tuple(argv)


def test_every_row_has_an_ordinary_command():
    lines = [argv for _, argv in ordinary()] + GIT
    assert {row.runner for row in RUNS_TESTS} == set(ORDINARY)
    for row in (*RUNS_TESTS, *READS_GIT):
        if all(isinstance(word, str) for word in row.words) and row.words[0] not in ("pnpm", "yarn", "npx", "npm"):
            assert any(row.matches(argv) for argv in lines), row.words


def test_no_row_is_there_twice():
    words = [row.words for row in (*RUNS_TESTS, *READS_GIT)]
    assert len(words) == len(set(words))


def spellings(option):
    yield [option]
    yield [f"{option}=x"]
    yield [option, "x"]
    if len(option) == 2:
        yield [f"{option}x.evil"]
    elif option.startswith("--"):
        yield [f"{option}:x"]
        yield [option.upper()]


@pytest.mark.parametrize("start,option", HOSTILE, ids=lambda v: v if isinstance(v, str) else named(v))
def test_hostile_option_is_refused_in_every_spelling(start, option, tmp_path):
    for words in spellings(option):
        with pytest.raises(Refused) as caught:
            check([*start, *words], tmp_path)
        assert caught.value.kind in ("argument_not_allowed", "argument_value_invalid"), words


@pytest.mark.parametrize("start,option", HOSTILE_GIT, ids=lambda v: v if isinstance(v, str) else named(v))
def test_hostile_option_of_git_is_refused_in_every_spelling(start, option, tmp_path):
    for words in spellings(option):
        with pytest.raises(Refused) as caught:
            check_git([*start, *words], tmp_path)
        assert caught.value.kind in ("argument_not_allowed", "argument_value_invalid"), words
