"""Ids may be cut short where only one begins so."""

from contextlib import closing

import pytest

from regreen.cli.ids import full_id
from regreen.errors import UsageError
from regreen.store import Store


@pytest.fixture
def store(tmp_path):
    with closing(Store(tmp_path / "state")) as store:
        with store.transaction() as db:
            for run, repo in (("job-abc1", "here"), ("job-abd2", "here"), ("job-fff0", "elsewhere")):
                db.execute(
                    "INSERT INTO runs (id, repo, kind, state, created, pid, request)"
                    " VALUES (?, ?, 'fix', 'done', 0, 1, '')",
                    (run, repo),
                )
            db.execute("INSERT INTO transactions VALUES ('txn-abc9', 'here', '', 'apply_edits', 'applied', 0)")
        yield store


@pytest.mark.parametrize(
    "typed, bare, found",
    [
        ("job-abc", True, "job-abc1"),
        ("abd", True, "job-abd2"),
        ("txn-", True, "txn-abc9"),
        ("job-abd", False, "job-abd2"),
        ("abd", False, "abd"),  # may be a commit
        ("HEAD", False, "HEAD"),
        ("job-none", True, "job-none"),
        ("job-fff0", True, "job-fff0"),  # of another repository: left to the engine
        ("", True, ""),
    ],
)
def test_the_beginning_of_an_id_will_do(store, typed, bare, found):
    assert full_id(store, "here", typed, bare=bare) == found


@pytest.mark.parametrize("typed", ["job-ab", "abc"])
def test_a_beginning_of_several_is_refused_and_names_them(store, typed):
    with pytest.raises(UsageError, match="may be any of 2: job-ab"):
        full_id(store, "here", typed, bare=True)
