"""The index agrees with the files, reads only what has changed, and survives whatever is done to its database."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
from pathlib import Path

import pytest
from support.indexing import bulky, bulky_project, database_of, indexed, listed, write

from regreen.model import FileSymbols, Skipped
from regreen.repo import FileList, read_symbols
from regreen.repo.index import Index, IndexLimits, Progress
from regreen.workspace import Workspace, is_secret

SOME = {
    "app/models.py": 'class Model:\n    """A row."""\n\n    @property\n    def name(self) -> str:\n        return ""\n',
    "app/views.py": "from app.models import Model\n\n\ndef show(model: Model) -> str:\n    return model.name\n",
    "tests/test_models.py": "def test_name():\n    assert Model().name == ''\n",
    "README.md": "# Read me\n",
}
OLD_NS = 1_600_000_000_000_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "project", SOME)
    return tmp_path / "project"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "index"


def refreshed(index: Index, workspace: Workspace) -> int:
    """Bring it up to date; returns how many files were parsed for that."""
    before = index.parsed
    progress = index.refresh(listed(workspace))
    assert progress.done == progress.total
    return index.parsed - before


def test_a_file_in_the_index_is_what_reading_it_gives(root: Path, cache: Path) -> None:
    with indexed(root, cache) as (index, workspace):
        assert index.file("app/models.py") is None
        refreshed(index, workspace)
        for path in listed(workspace).paths:
            assert index.file(path) == read_symbols(workspace, path)
        assert isinstance(index.file("data.bin"), Skipped)


def test_nothing_is_parsed_again_in_another_process_or_after_a_rename_or_a_copy(root: Path, cache: Path) -> None:
    with indexed(root, cache) as (index, workspace):
        assert refreshed(index, workspace) >= 3
    with indexed(root, cache) as (index, workspace):
        generation = index.generation
        assert refreshed(index, workspace) == 0
        assert index.generation == generation
        (root / "app").rename(root / "core")
        write(root, {"copy.py": SOME["app/views.py"]})
        assert refreshed(index, workspace) == 0
        assert index.generation != generation
        assert index.file("app/models.py") is None
        found = index.file("core/models.py")
        assert isinstance(found, FileSymbols) and [s.name for s in found.symbols] == ["Model", "name"]
        assert isinstance(index.file("copy.py"), FileSymbols)


def test_only_the_changed_file_is_read(root: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in SOME:
        os.utime(root / path, ns=(OLD_NS, OLD_NS))
    with indexed(root, cache) as (index, workspace):
        refreshed(index, workspace)
        _make_trusted(cache)
        write(root, {"app/views.py": "def other(): ...\n"})
        seen: list[str] = []
        read = workspace.image
        monkeypatch.setattr(workspace, "image", lambda path, **more: (seen.append(path), read(path, **more))[1])
        assert refreshed(index, workspace) == 1
        assert seen == ["app/views.py"]


def _make_trusted(cache: Path) -> None:
    """Let the files have been read long after their last change."""
    db = sqlite3.connect(database_of(cache))
    with db:
        db.execute("UPDATE file SET mtime_ns = ?", (OLD_NS,))
        db.execute("UPDATE meta SET value = value + 1 WHERE key = 'changes'")
    db.close()


def test_a_change_that_the_times_do_not_show_is_found_if_the_file_was_just_written(root: Path, cache: Path) -> None:
    with indexed(root, cache) as (index, workspace):
        files = listed(workspace)
        index.refresh(files)
        write(root, {"app/views.py": SOME["app/views.py"].replace("show", "hide")})
        index.refresh(files)  # the same size, times and inode, as far as the list tells
        found = index.file("app/views.py")
        assert isinstance(found, FileSymbols) and [s.name for s in found.symbols] == ["hide"]


def test_a_touched_file_is_read_and_nothing_else_changes(root: Path, cache: Path) -> None:
    with indexed(root, cache) as (index, workspace):
        refreshed(index, workspace)
        generation = index.generation
        os.utime(root / "app/models.py", ns=(OLD_NS, OLD_NS))
        assert refreshed(index, workspace) == 0
        assert index.generation == generation


def test_switching_branches_back_and_forth_parses_each_content_once(root: Path, cache: Path) -> None:
    def git(*args: str) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(["git", *names, *args], cwd=root, check=True, capture_output=True, text=True).stdout

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    with indexed(root, cache) as (index, workspace):
        refreshed(index, workspace)
        git("switch", "-qc", "other")
        write(root, {"app/views.py": "def other(): ...\n", "new.py": "NEW = 1\n"})
        git("add", ".")
        git("commit", "-qm", "two")
        assert refreshed(index, workspace) == 2
        for branch in ("main", "other", "main"):
            git("switch", "-q", branch)
            assert refreshed(index, workspace) == 0
        assert index.file("new.py") is None
        assert git("status", "--porcelain", "--ignored") == ""


def test_contents_that_no_file_has_any_more_are_dropped_in_the_end(root: Path, cache: Path) -> None:
    with indexed(root, cache, IndexLimits(spare_contents=4)) as (index, workspace):
        for number in range(12):
            write(root, {"app/views.py": f"def name_{number}(): ...\n"})
            refreshed(index, workspace)
        assert index.definitions("name_11")[1] == 1
        assert index.definitions("name_0") == ([], 0)
        db = sqlite3.connect(database_of(cache))
        contents = db.execute("SELECT count(*) FROM content").fetchone()[0]
        names = {row[0] for row in db.execute("SELECT name FROM definition WHERE name LIKE 'name_%'")}
        facts = db.execute("SELECT count(*) FROM facts").fetchone()[0]
        db.close()
        assert contents == facts <= 4 + 5
        assert "name_11" in names and "name_10" in names and "name_0" not in names


def test_folder_and_file_are_the_users_own(root: Path, cache: Path) -> None:
    with indexed(root, cache) as (index, workspace):
        refreshed(index, workspace)
        assert stat.S_IMODE(cache.stat().st_mode) == 0o700
        assert {stat.S_IMODE(p.stat().st_mode) for p in cache.iterdir()} == {0o600}


@pytest.mark.parametrize("damage", ["text", "middle", "empty", "schema", "version"])
def test_a_damaged_database_is_made_anew(root: Path, cache: Path, damage: str) -> None:
    bulky_project(root, 10)
    with indexed(root, cache) as (index, workspace):
        refreshed(index, workspace)
    _damage(database_of(cache), damage)
    with indexed(root, cache) as (index, workspace):
        assert index.note == ""
        index.definitions("Model"), index.names_like("Modle"), list(index.facts())
        assert refreshed(index, workspace) >= 13
        assert index.definitions("Model")[1] == 1
        assert index.totals()[1] > 1500


def _damage(file: Path, damage: str) -> None:
    for ending in ("-wal", "-shm"):
        file.with_name(file.name + ending).unlink(missing_ok=True)
    data = bytearray(file.read_bytes())
    match damage:
        case "text":
            file.write_bytes(b"this is not a database at all\n" * 100)
        case "empty":
            file.write_bytes(b"")
        case "middle":
            data[8192:] = b"\xa5" * (len(data) - 8192)
            file.write_bytes(data)
        case _:
            db = sqlite3.connect(file)
            db.execute(
                "DROP TABLE facts" if damage == "schema" else "UPDATE meta SET value = 'x' WHERE key = 'made_by'"
            )
            db.commit()
            db.close()


def test_an_open_index_goes_on_when_its_database_is_damaged_or_deleted(root: Path, cache: Path) -> None:
    with indexed(root, cache) as (index, workspace):
        refreshed(index, workspace)
        generation = index.generation
        for file in cache.iterdir():
            file.unlink()
        assert refreshed(index, workspace) >= 3
        assert index.generation != generation
        file = database_of(cache)
        with file.open("r+b") as open_file:
            open_file.write(b"\xa5" * file.stat().st_size)
        file.with_name(file.name + "-wal").write_bytes(b"")
        write(root, {"new.py": "NEW = 1\n"})
        index.totals()
        refreshed(index, workspace)
        assert index.definitions("NEW")[1] == 1
        assert index.definitions("Model")[1] == 1


def test_without_a_place_to_write_the_index_is_in_memory(root: Path, tmp_path: Path) -> None:
    write(tmp_path, {"file": ""})
    with indexed(root, tmp_path / "file" / "index") as (index, workspace):
        assert refreshed(index, workspace) >= 3
        assert "memory" not in index.note and "cannot be kept" in index.note
        assert index.definitions("Model")[1] == 1
        index.keep("rank", b"data")
        assert index.kept("rank") == b"data"
        assert refreshed(index, workspace) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_no_error(root: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    cache.chmod(0o500)
    with indexed(root, cache) as (index, workspace):
        assert refreshed(index, workspace) >= 3
        assert index.note


def test_a_full_disk_is_no_error(root: Path, cache: Path) -> None:
    bulky_project(root, 20)
    with indexed(root, cache, IndexLimits(database_bytes=150_000, batch_files=4)) as (index, workspace):
        refreshed(index, workspace)
        assert "full" in index.note
        assert index.totals()[0] == 24 or index.totals()[0] == 23
        assert index.definitions("name_19_0")[1] == 1
        assert refreshed(index, workspace) == 0


def test_files_that_are_not_read_are_in_the_index_with_the_reason(root: Path, cache: Path) -> None:
    write(root, {"huge.py": "x = 1\n" * 200_000, ".env.py": "A = 1\n", "latin.py": "", "wide.js": ""})
    (root / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\ndef caf\xe9(): ...\n")
    (root / "nul.py").write_bytes(b"def f(): ...\0")
    (root / "wide.js").write_bytes(b"var a=1;" * 1000)
    with indexed(root, cache) as (index, workspace):
        refreshed(index, workspace)
        found = {path: index.file(path) for path in ("huge.py", "nul.py", "wide.js")}
        reasons = {path: skipped.reason for path, skipped in found.items() if isinstance(skipped, Skipped)}
        assert "too large" in reasons["huge.py"]
        assert "NUL" in reasons["nul.py"]
        assert reasons["wide.js"] == "minified"
        latin = index.file("latin.py")
        assert isinstance(latin, FileSymbols) and latin.symbols[0].name == "café"
        roles = {facts.path: facts.role for facts in index.facts()}
        assert [roles[path] for path in found] == ["huge", "binary", "minified"]
        assert refreshed(index, workspace) == 0


def test_secrets_are_never_read(root: Path, cache: Path) -> None:
    write(root, {"settings.secret.py": "KEY = 1\n", ".env.py": "KEY = 1\n", "id_rsa": "KEY"})
    with indexed(root, cache) as (index, workspace):
        secret = [path for path in listed(workspace).paths if is_secret(path)]
        refreshed(index, workspace)
        assert secret
        assert not set(secret) & {facts.path for facts in index.facts()}
        assert all(isinstance(index.file(path), Skipped) for path in secret)


def test_files_that_vanish_before_they_are_read_are_no_error(root: Path, cache: Path) -> None:
    with indexed(root, cache) as (index, workspace):
        files = listed(workspace)
        (root / "app/models.py").unlink()
        (root / "app/views.py").unlink()
        (root / "app/views.py").mkdir()
        progress = index.refresh(files)
        assert progress.done == progress.total
        assert isinstance(index.file("app/models.py"), Skipped)
        refreshed(index, workspace)
        assert index.file("app/models.py") is None


def test_many_files_are_indexed_in_the_order_that_matters(tmp_path: Path, cache: Path) -> None:
    root = tmp_path / "bulk"
    bulky_project(root, 60)
    write(root, {f"tests/test_{n}.py": bulky(1000 + n) for n in range(20)})
    told: list[str] = []
    with indexed(root, cache, IndexLimits(batch_files=10)) as (index, workspace):
        files = listed(workspace)
        start = index.refresh(files, first=["tests/test_7.py", "not/there.py"], wait_s=0)
        assert start.total == 80 and start.done < 80
        progress = index.refresh(files, on_progress=told.append)
        assert progress == Progress(80, 80)
        assert told[-1] == "index: 100 % (80 of 80 files)"
        db = sqlite3.connect(database_of(cache))
        order = [row[0] for row in db.execute("SELECT path FROM file JOIN content ON id = content ORDER BY id")]
        db.close()
        assert order[0] == "tests/test_7.py"
        assert all(path.startswith("tests/") for path in order[-10:])
        assert index.totals() == (80, 80 * 150)


def test_a_closed_index_refuses_and_its_database_stays(root: Path, cache: Path) -> None:
    with indexed(root, cache) as (index, workspace):
        refreshed(index, workspace)
    with pytest.raises(sqlite3.ProgrammingError):
        index.totals()
    with indexed(root, cache) as (index, workspace):
        assert refreshed(index, workspace) == 0


def test_an_empty_project_is_complete(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "empty").mkdir()
    with indexed(tmp_path / "empty", cache) as (index, _):
        progress = index.refresh(FileList(()))
        assert (progress.done, progress.total, progress.share) == (0, 0, 1.0)
        assert index.totals() == (0, 0)
        assert list(index.facts()) == []
