"""Several processes and one index: parsers that die, indexers that are killed, two at once, and none left behind."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path

import pytest
from filelock import FileLock
from support.indexing import (
    bulky,
    bulky_project,
    database_of,
    indexed,
    lines_of,
    listed,
    say_go,
    start_other,
    write,
)  # fmt: skip
from support.processes import carrying, children_of, is_alive, until

from regreen.model import FileSymbols, Skipped
from regreen.repo.index import Index, IndexLimits, Progress
from regreen.repo.index.indexing import _CHUNK_FILES  # pyright: ignore[reportPrivateUsage]
from regreen.repo.index.pool import TOO_SLOW

SCRIPT = "index/worker.py"
ALONE = IndexLimits(alone_bytes=0, processes=2)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def lock_of(cache: Path) -> Path:
    return database_of(cache).with_suffix(".lock")


def own_parsers() -> list[int]:
    return [pid for pid in children_of(os.getpid()) if pid in carrying(SCRIPT)]


def reasons(index: Index, paths: tuple[str, ...]) -> dict[str, str]:
    found = {path: index.file(path) for path in paths}
    assert None not in found.values()
    return {path: skipped.reason for path, skipped in found.items() if isinstance(skipped, Skipped)}


def test_parsing_in_processes_gives_what_parsing_here_gives(root: Path, tmp_path: Path) -> None:
    bulky_project(root, 12, 20)
    write(root, {"broken.py": "def f(:\n  class", "empty.py": "", "ü.py": "größe = 'ß'\n"})
    results: list[object] = []
    for name, limits in (("here", IndexLimits()), ("there", ALONE)):
        with indexed(root, tmp_path / name, limits) as (index, workspace):
            files = listed(workspace)
            index.refresh(files)
            defined = [(f.path, f.role, len(f.defines), sum(f.uses[1::2])) for f in index.facts()]
            results.append(([index.file(path) for path in files.paths], defined, index.totals()))
    assert results[0] == results[1]
    assert not own_parsers()


def test_the_environment_of_the_project_does_not_reach_the_parsers(
    root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"json.py": "raise SystemExit", "regreen.py": "raise SystemExit", "a.py": "A_NAME = 1\n"})
    monkeypatch.chdir(root)
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("PYTHONSTARTUP", str(root / "json.py"))
    with indexed(root, cache, ALONE) as (index, workspace):
        index.refresh(listed(workspace))
        assert index.definitions("A_NAME")[1] == 1


def test_a_file_that_takes_too_long_costs_that_file_only(root: Path, cache: Path) -> None:
    write(root, {"slow.py": bulky(1, 20_000), "a.py": "A_NAME = 1\n", "z.py": "Z_NAME = 1\n"})
    limits = IndexLimits(alone_bytes=0, processes=1, parse_s=0.3)
    with indexed(root, cache, limits) as (index, workspace):
        files = listed(workspace)
        assert index.refresh(files) == Progress(3, 3)
        assert reasons(index, files.paths) == {"slow.py": TOO_SLOW}
        assert (index.definitions("A_NAME")[1], index.definitions("Z_NAME")[1]) == (1, 1)
        parsed = index.parsed
        index.refresh(files)
        assert index.parsed == parsed


def test_a_file_that_crashes_the_parser_costs_that_file_only(root: Path, cache: Path) -> None:
    write(root, {"big.py": bulky(1, 30_000), "a.py": "A_NAME = 1\n", "z.py": "Z_NAME = 1\n"})
    limits = IndexLimits(alone_bytes=0, processes=1, memory_bytes=110 << 20)
    with indexed(root, cache, limits) as (index, workspace):
        files = listed(workspace)
        index.refresh(files)
        assert set(reasons(index, files.paths)) == {"big.py"}
        assert (index.definitions("A_NAME")[1], index.definitions("Z_NAME")[1]) == (1, 1)


def test_a_parser_that_does_not_answer_is_replaced(root: Path, cache: Path) -> None:
    bulky_project(root, 3 * _CHUNK_FILES, 150)
    limits = IndexLimits(alone_bytes=0, processes=1, answer_s=2.0)
    with indexed(root, cache, limits) as (index, workspace):
        files = listed(workspace)
        index.refresh(files, wait_s=0)
        assert until(lambda: bool(own_parsers()))
        (parser,) = own_parsers()
        assert until(lambda: index.refresh(files, wait_s=0).done > 0 or index.totals()[0] > 0 or _busy(parser))
        os.kill(parser, signal.SIGSTOP)
        progress = index.refresh(files)
        assert progress.done == progress.total
        assert not is_alive(parser)
        assert list(reasons(index, files.paths).values()) in ([TOO_SLOW], [])
        assert index.totals()[0] == len(files.paths)


def _busy(pid: int) -> bool:
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) > 20


def test_a_parser_that_is_killed_is_replaced_and_nothing_is_lost(root: Path, cache: Path) -> None:
    bulky_project(root, 3 * _CHUNK_FILES, 150)
    with indexed(root, cache, IndexLimits(alone_bytes=0, processes=1)) as (index, workspace):
        files = listed(workspace)
        index.refresh(files, wait_s=0)
        assert until(lambda: any(map(_busy, own_parsers())))
        os.kill(own_parsers()[0], signal.SIGKILL)
        index.refresh(files)
        assert reasons(index, files.paths) == {}


def test_closing_ends_the_parsers_and_keeps_what_was_committed(root: Path, cache: Path) -> None:
    bulky_project(root, 300, 150)
    with indexed(root, cache, IndexLimits(alone_bytes=0, batch_files=40)) as (index, workspace):
        files = listed(workspace)
        index.refresh(files, wait_s=0)
        assert until(lambda: index.totals()[0] > 0)
        parsers = own_parsers()
        assert parsers
    assert not any(map(is_alive, parsers))
    with indexed(root, cache) as (index, _):
        assert 0 < index.totals()[0] < 300


def test_after_kill_9_the_next_process_goes_on_and_no_parser_is_left(root: Path, cache: Path) -> None:
    bulky_project(root, 300, 150)
    child = start_other(root, cache, batch=40)
    say_go(child)
    for line in lines_of(child):
        if " % " in line and not line.startswith(("index: 0 ", "index: 100 ")):
            break
    parsers = [pid for pid in children_of(child.pid) if is_alive(pid)]
    child.kill()
    child.communicate()
    assert parsers
    assert until(lambda: not any(map(is_alive, parsers)))
    with indexed(root, cache) as (index, workspace):
        kept = index.totals()[0]
        assert 0 < kept < 300
        index.refresh(listed(workspace))
        assert index.parsed <= 300 - kept
        assert index.totals() == (300, 300 * 150)
        db = sqlite3.connect(database_of(cache))
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        db.close()


def test_two_processes_at_once_do_the_work_once(root: Path, cache: Path) -> None:
    bulky_project(root, 120, 100)
    children = [start_other(root, cache, batch=20) for _ in range(2)]
    for child in children:
        say_go(child)
    results: list[list[str]] = []
    for child in children:
        output, _ = child.communicate(timeout=60)
        assert child.returncode == 0
        results.append(output.splitlines()[-1].split())
    assert [result[0] for result in results] == ["parsed", "parsed"]
    assert sum(int(result[1]) for result in results) == 120
    assert [result[2:] for result in results] == [["120", "120"]] * 2


def test_a_process_that_is_stuck_is_not_waited_for(root: Path, cache: Path) -> None:
    write(root, {"a.py": "A_NAME = 1\n"})
    with indexed(root, cache, IndexLimits(stuck_s=0.2)) as (index, workspace), FileLock(lock_of(cache)):
        assert index.refresh(listed(workspace), wait_s=0).done == 0
        assert index.refresh(listed(workspace)) == Progress(1, 1)
        assert index.definitions("A_NAME")[1] == 1


def test_two_that_write_at_the_same_time_agree(root: Path, cache: Path) -> None:
    bulky_project(root, 60, 50)
    limits = IndexLimits(alone_bytes=0, batch_files=3, stuck_s=0.0, spare_contents=0)
    with indexed(root, cache, limits) as (one, workspace), indexed(root, cache, limits) as (two, _):
        files = listed(workspace)
        one.refresh(files, wait_s=0)
        two.refresh(files, wait_s=0)
        assert one.refresh(files) == two.refresh(files) == Progress(60, 60)
        names = [f"name_{n}_{i}" for n in range(60) for i in range(50)]
        numbers = one.identifiers(names)
        assert one.note == two.note == ""
        assert numbers == two.identifiers(names)
        assert len(set(numbers.values())) == len(names)
        assert all(index.definitions(name)[1] == 1 for index in (one, two) for name in names[::100])


def test_a_reader_sees_the_last_committed_state_while_another_process_writes(root: Path, cache: Path) -> None:
    bulky_project(root, 120, 100)
    with indexed(root, cache) as (index, workspace):
        before = index.generation
        child = start_other(root, cache, batch=20)
        say_go(child)
        while child.poll() is None:
            files, symbols = index.totals()
            assert symbols == files * 100
            index.keep("mine", b"%d" % files)
        child.communicate()
        assert index.generation > before
        index.refresh(listed(workspace))
        assert index.parsed == 0
        assert index.totals() == (120, 120 * 100)


def test_a_change_during_indexing_is_taken_up_at_once(root: Path, cache: Path) -> None:
    bulky_project(root, 150, 100)
    with indexed(root, cache, IndexLimits(alone_bytes=0, batch_files=30)) as (index, workspace):
        index.refresh(listed(workspace), wait_s=0)
        write(root, {"new.py": "A_NEW_NAME = 1\n"})
        files = listed(workspace)
        index.refresh(files, first=["new.py"], wait_s=0)
        assert until(lambda: isinstance(index.file("new.py"), FileSymbols))
        assert index.refresh(files) == Progress(151, 151)
        assert index.definitions("A_NEW_NAME")[1] == 1
        assert index.parsed == 151


def test_a_caller_that_cancels_waits_no_more(root: Path, cache: Path) -> None:
    class Cancelled:
        def is_set(self) -> bool:
            return True

    bulky_project(root, 120, 100)
    with indexed(root, cache, IndexLimits(alone_bytes=0)) as (index, workspace):
        files = listed(workspace)
        assert index.refresh(files, cancel=Cancelled()).done < 120
        assert index.refresh(files).done == 120
