import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from regreen.errors import ConfigError, EnvironmentFault
from regreen.store import SCHEMA_VERSION, Store, new_id, repo_key

OPEN = """
import sys
from pathlib import Path
from regreen.store import Store
sys.stdin.readline()
Store(Path(sys.argv[1])).close()
"""
HOLD = """
import sys
from pathlib import Path
from regreen.store import Store
lock = Store(Path(sys.argv[1])).lock("x")
lock.acquire()
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "state")
    yield opened
    opened.close()


def trust(store: Store) -> list[str]:
    return [row["path"] for row in store.rows("SELECT path FROM trust ORDER BY path")]


def test_folder_and_files_are_for_their_user_only(store: Store) -> None:
    store.put_blob(b"x")
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    files = [p for p in store.folder.rglob("*") if p.is_file() and p.name.startswith("regreen.db")]
    assert len(files) >= 2
    assert {stat.S_IMODE(p.stat().st_mode) for p in files} == {0o600}
    assert stat.S_IMODE(store.run_folder("r").stat().st_mode) == 0o700


def test_folder_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    (tmp_path / "state").chmod(0o755)
    Store(tmp_path / "state").close()
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give folders away")
def test_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    os.chown(tmp_path / "state", 12345, 12345)
    with pytest.raises(ConfigError, match="another user"):
        Store(tmp_path / "state")


def test_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        Store(tmp_path / "state")
    assert caught.value.kind == "config_refused"


def test_records_outlive_the_process(tmp_path: Path) -> None:
    first = Store(tmp_path / "state")
    with first.transaction() as db:
        db.execute("INSERT INTO trust VALUES ('/a', 1.0, 'typed')")
    first.close()
    second = Store(tmp_path / "state")
    assert trust(second) == ["/a"]
    second.close()


_BACK_TO_5 = "DROP TABLE taken_seals; PRAGMA user_version=5;"
_BACK_TO_4 = f"{_BACK_TO_5} DROP TABLE messages; ALTER TABLE runs DROP COLUMN shown; PRAGMA user_version=4;"
_BACK_TO_3 = f"{_BACK_TO_4} ALTER TABLE seen_changed DROP COLUMN sha; PRAGMA user_version=3;"
_BACK_TO_2 = f"{_BACK_TO_3} DROP TABLE attempts; ALTER TABLE runs DROP COLUMN born; PRAGMA user_version=2;"
_BACK_TO_1 = f"{_BACK_TO_2} DROP TABLE plans; ALTER TABLE entries DROP COLUMN before_attributes; PRAGMA user_version=1;"


@pytest.mark.parametrize("back", [_BACK_TO_5, _BACK_TO_4, _BACK_TO_3, _BACK_TO_2, _BACK_TO_1])
def test_database_of_an_earlier_version_is_brought_up_to_date_and_keeps_its_rows(tmp_path: Path, back: str) -> None:
    Store(tmp_path / "state").close()
    database = sqlite3.connect(tmp_path / "state/regreen.db")
    database.executescript(
        f"{back} INSERT INTO trust VALUES ('/a', 0, 'test');"
        "INSERT INTO runs (id, repo, kind, state, created, pid, request, result)"
        " VALUES ('job-1', 'r', 'fix', 'done', 1, 7, '{\"selection\": []}', '{\"a\": 1}')"
    )
    database.close()
    store = Store(tmp_path / "state")
    assert trust(store) == ["/a"]
    assert [tuple(r) for r in store.rows("SELECT id, pid, born, result FROM runs")] == [("job-1", 7, "", '{"a": 1}')]
    assert store.rows("SELECT * FROM plans") == []
    assert store.rows("SELECT * FROM attempts") == []
    assert store.rows("SELECT before_attributes FROM entries") == []
    assert [tuple(r) for r in store.rows("SELECT shown FROM runs")] == [("",)]
    assert store.rows("SELECT * FROM messages") == []
    assert store.rows("SELECT * FROM taken_seals") == []
    store.close()


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99])
def test_database_of_a_newer_version_is_refused_and_not_touched(tmp_path: Path, version: int) -> None:
    Store(tmp_path / "state").close()
    database = sqlite3.connect(tmp_path / "state/regreen.db")
    database.execute(f"PRAGMA user_version={version}")
    database.close()
    with pytest.raises(ConfigError, match=f"schema {version}"):
        Store(tmp_path / "state")


def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    Store(tmp_path / "state").close()
    (tmp_path / "state/regreen.db").write_bytes(b"not a database at all" * 1000)
    with pytest.raises(ConfigError, match="state database"):
        Store(tmp_path / "state")


def test_first_start_of_many_processes_at_once_works(tmp_path: Path) -> None:
    for number in range(2):
        command = [sys.executable, "-c", OPEN, str(tmp_path / f"state{number}")]
        children = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)
        ]
        for child in children:
            assert child.stdin
            child.stdin.write("\n")
            child.stdin.flush()
        said = [child.communicate(timeout=60)[1] for child in children]
        assert [child.returncode for child in children] == [0] * 6, said


def test_failed_transaction_leaves_nothing(store: Store) -> None:
    with pytest.raises(RuntimeError), store.transaction() as db:
        db.execute("INSERT INTO trust VALUES ('/a', 1.0, 'typed')")
        raise RuntimeError
    assert trust(store) == []


def test_transactions_nest_into_the_outer_one(store: Store) -> None:
    with pytest.raises(RuntimeError), store.transaction() as db:
        db.execute("INSERT INTO trust VALUES ('/a', 1.0, 'typed')")
        sha = store.put_blob(b"inner")
        raise RuntimeError
    assert trust(store) == []
    with pytest.raises(KeyError):
        store.blob(sha)


def test_database_held_by_another_for_too_long_is_an_environment_fault(tmp_path: Path, store: Store) -> None:
    other = sqlite3.connect(store.folder / "regreen.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.rows("PRAGMA busy_timeout=50")
    with pytest.raises(EnvironmentFault) as caught, store.transaction():
        pass
    assert caught.value.kind == "io"
    other.close()
    store.put_blob(b"works again")


def test_threads_share_one_store(store: Store) -> None:
    def add(number: int) -> None:
        for step in range(10):
            with store.transaction() as db:
                db.execute("INSERT INTO trust VALUES (?, 1.0, 'typed')", (f"/{number}/{step}",))
            assert f"/{number}/{step}" in trust(store)

    threads = [threading.Thread(target=add, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(trust(store)) == 40


def test_blobs_are_kept_once_by_their_hash(store: Store) -> None:
    assert store.put_blob(b"a\0b") == store.put_blob(b"a\0b")
    assert store.blob(store.put_blob(b"")) == b""
    assert len(store.rows("SELECT sha FROM blobs")) == 2
    with pytest.raises(KeyError):
        store.blob("0" * 64)


def test_lock_of_a_dead_process_is_free(tmp_path: Path, store: Store) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout
    assert child.stdout.readline() == b"held\n"
    with pytest.raises(TimeoutError):
        store.lock("x").acquire(timeout=0)
    child.kill()
    child.communicate(timeout=30)
    store.lock("x").acquire(timeout=30).lock.release()


def test_repository_has_one_key_whatever_way_leads_to_it(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    (tmp_path / "link").symlink_to("repo")
    assert repo_key(tmp_path / "link") == repo_key(tmp_path / "repo") != repo_key(tmp_path)
    odd = repo_key(tmp_path / os.fsdecode(b"caf\xe9 \n*"))
    assert odd.encode("utf-8").isascii()
    assert not set(odd) & set("/\n* ")


def test_ids_do_not_repeat() -> None:
    assert len({new_id("run") for _ in range(1000)}) == 1000


def test_records_of_old_runs_go_but_not_while_their_changes_can_be_put_back(store: Store) -> None:
    with store.transaction() as db:
        for number in range(6):
            db.execute(
                "INSERT INTO runs (id, repo, kind, state, created, finished, pid, request)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (f"job-{number}", "r", "fix", "done", number, None if number == 1 else number, 1, "{}"),
            )
            db.execute("INSERT INTO attempts VALUES (?, 1, '{}', '{}', 0)", (f"job-{number}",))
            db.execute(
                "INSERT INTO messages VALUES (?, ?, 'fix', '', 0, 0, '{}', NULL)", (f"msg-{number}", f"job-{number}")
            )
        db.execute("INSERT INTO transactions VALUES ('txn-0', 'r', 'job-0', 'attempt 1', 'applied', 0)")
        db.execute("INSERT INTO transactions VALUES ('txn-2', 'r', 'job-2', 'attempt 1', 'rolled_back', 0)")
    store.prune_runs(keep_rows=2)
    left = ["job-0", "job-1", "job-4", "job-5"]
    assert [r["id"] for r in store.rows("SELECT id FROM runs ORDER BY id")] == left
    assert [r["run"] for r in store.rows("SELECT run FROM attempts ORDER BY run")] == left
    assert [r["run"] for r in store.rows("SELECT run FROM messages ORDER BY run")] == left
