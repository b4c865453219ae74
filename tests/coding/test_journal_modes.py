"""Going back to a text keeps the mode that the user gave the file since; and what is called merged was merged."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from support.journal_merging import BEFORE, BOTH, OURS, THEIRS, USER, Bench, told


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path) as made:
        yield made


def mode(bench: Bench, path: str = "a.py") -> int:
    return stat.S_IMODE((bench.root / path).stat().st_mode)


def given(bench: Bench, bits: int, path: str = "a.py") -> None:
    (bench.root / path).chmod(bits)


def begun(bench: Bench) -> None:
    bench.write(BEFORE)
    given(bench, 0o644)
    bench.commit(OURS)
    given(bench, 0o755)


def test_mode_that_the_user_sets_on_an_edited_file_stays_when_its_text_goes_back(bench: Bench) -> None:
    begun(bench)
    assert told(bench.journal.rewind("r")) == ((), [])
    assert (bench.read(), mode(bench)) == (BEFORE, 0o755)


@pytest.mark.parametrize("again", [OURS + b"more\n", None], ids=["edited", "deleted"])
def test_mode_that_the_user_set_stays_through_every_later_rewind(bench: Bench, again: bytes | None) -> None:
    begun(bench)
    for _ in range(2):
        bench.journal.rewind("r")
        assert (bench.read(), mode(bench)) == (BEFORE, 0o755)
        bench.commit(again)
    assert told(bench.journal.rewind("r")) == ((), [])
    assert (bench.read(), mode(bench)) == (BEFORE, 0o755)


def test_last_mode_that_the_user_set_is_the_one_that_stays(bench: Bench) -> None:
    begun(bench)
    bench.journal.rewind("r")
    bench.commit(OURS)
    given(bench, 0o600)
    bench.journal.rewind("r")
    bench.journal.rewind("r")
    assert (bench.read(), mode(bench)) == (BEFORE, 0o600)


def test_mode_that_tests_set_on_an_edited_file_goes_back_now_and_later(bench: Bench) -> None:
    begun(bench)
    bench.journal.rewind("r", ours={"a.py": {sha256(OURS).hexdigest()}})
    assert (bench.read(), mode(bench)) == (BEFORE, 0o644)
    bench.commit(OURS)
    bench.journal.rewind("r")
    assert (bench.read(), mode(bench)) == (BEFORE, 0o644)


def test_nothing_is_called_merged_where_the_users_text_had_nothing_of_ours_in_it(bench: Bench) -> None:
    bench.write(THEIRS)  # not committed to git yet, say
    bench.commit(BOTH)
    bench.write(BEFORE)  # and now stashed
    bench.journal.rewind("r")
    bench.commit(OURS)
    assert told(bench.journal.rewind("r")) == ((), [])
    assert bench.read() == BEFORE


def test_what_was_merged_once_stays_called_so_when_the_user_edits_on(bench: Bench) -> None:
    bench.write(BEFORE)
    bench.commit(OURS)
    bench.write(BOTH)
    bench.journal.rewind("r")
    bench.write(THEIRS + b"seven\n")
    bench.commit(OURS.replace(b"five\n", USER) + b"seven\n")
    assert told(bench.journal.rewind("r")) == (("a.py",), [])
    assert bench.read() == THEIRS + b"seven\n"
