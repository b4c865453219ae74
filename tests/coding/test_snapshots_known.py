"""What is known from the snapshot before saves time and changes nothing: copies, trees and recovery are the same."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import ALL
from support.gitrepos import ENVIRON, differences, git, make_repo, whole_state, write
from support.snapshotting import Bench

from regreen.git import Git
from regreen.model import Snapshot
from regreen.snapshots import Snapshots
from regreen.snapshots.known import Trees
from regreen.snapshots.manifest import Manifest
from regreen.snapshots.sources import read_source
from regreen.store import repo_key
from regreen.workspace import Stat

FILES = {
    "a.py": "a\n", "b.py": "b\n", "sub/c.py": "c\n", ".gitignore": "*.log\n", "crlf.txt": b"x\r\n",
    "__pycache__/kept.py": "k\n",
}  # fmt: skip
NAMES = ("a.py", "b.py", "sub/c.py", "sub/new.py", "x.log", "big.bin", "__pycache__/kept.py")


def later() -> float:
    """A clock by which nothing changed just now."""
    return time.time() + 10


def bench_of(beside: Path, root: Path) -> Bench:
    bench = Bench(beside, root)
    bench.snapshots = Snapshots(bench.store, bench.workspace, bench.journal, bench.git, clock=later)
    return bench


def manifest_of(bench: Bench, snapshot: Snapshot) -> Manifest:
    row = bench.store.rows("SELECT manifest FROM snapshots WHERE id = ?", snapshot.id)[0]
    return Trees(bench.store, repo_key(bench.root)).read(row["manifest"])


def contents(bench: Bench, manifest: Manifest) -> dict[str, bytes | None]:
    git = Git.open(bench.root, ENVIRON)
    return {path: read_source(bench.store, git, source, 1 << 20) for path, source in manifest.sources.items()}


def bytes_at(path: Path) -> bytes:
    return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()


def write_more(root: Path, name: str) -> None:
    path = root / name
    write(path, (path.read_bytes() if path.exists() else b"") + b"more\n")


def chmod(root: Path, name: str) -> None:
    (root / name).chmod((root / name).stat().st_mode ^ 0o100)


def replace_same_size(root: Path, name: str) -> None:
    write(root / name, bytes(255 - byte for byte in (root / name).read_bytes()))


def to_link(root: Path, name: str) -> None:
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to("a.py")


STEPS: dict[str, Callable[[Path, str], object]] = {
    "write": write_more,
    "chmod": chmod,
    "same size": replace_same_size,
    "delete": lambda root, name: (root / name).unlink(),
    "link": to_link,
    "add": lambda root, name: git(root, "add", "-f", "--", name),
    "add all": lambda root, _: git(root, "add", "-A"),
    "commit": lambda root, _: git(root, "commit", "-q", "--allow-empty", "-am", "more"),
    "uncache": lambda root, name: git(root, "rm", "-q", "--cached", "--", name),
    "assume": lambda root, name: git(root, "update-index", "--assume-unchanged", "--", name),
    "reset": lambda root, _: git(root, "reset", "-q", "--hard"),
    "ignore": lambda root, name: write(root / ".gitignore", f"*.log\n{name}\n"),
    "convert": lambda root, _: write(root / ".gitattributes", "*.py filter=x\n*.txt text eol=crlf\n"),
    "collect": lambda root, _: git(root, "gc", "-q", "--prune=now"),
    "release": lambda root, _: None,
}


@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.sampled_from(NAMES)), min_size=1, max_size=6))
@settings(max_examples=12 if ALL else 4, deadline=None)
@pytest.mark.timeout(600)
def test_snapshot_with_what_is_known_is_as_one_without(steps: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = make_repo(Path(folder, "r"))
        for name, text in FILES.items():
            write(root / name, text)
        git(root, "add", "-Af")
        git(root, "commit", "-qm", "start")
        with bench_of(Path(folder), root) as warm:
            snapshot = warm.snapshots.take("run-1")
            for number, (step, name) in enumerate(steps):
                try:
                    STEPS[step](root, name)
                except (OSError, AssertionError):
                    continue
                if step == "release":
                    warm.snapshots.release(snapshot)
                snapshot = warm.snapshots.take(f"run-{number}")
                with bench_of(Path(folder, f"cold-{number}"), root) as cold:
                    other = cold.snapshots.take("run-1")
                    ours, theirs = manifest_of(warm, snapshot), manifest_of(cold, other)
                    assert (ours.entries, ours.sources.keys()) == (theirs.entries, theirs.sources.keys())
                    assert snapshot.tree == other.tree
                    there = {
                        p: bytes_at(root / p) for p, row in ours.entries.items() if row.kind in ("file", "symlink")
                    }
                    assert contents(warm, ours) == contents(cold, theirs) == there


def test_nothing_is_asked_or_written_twice(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {f"{n}/{m}.py": f"{n} {m}\n" for n in range(10) for m in range(10)})
    with bench_of(tmp_path, root) as bench:
        first = bench.snapshots.take("run-1")
        (tree,) = (bench.store.folder / "trees").glob("*.tree")
        stood = tree.stat().st_mtime_ns
        second = bench.snapshots.take("run-2")
        assert manifest_of(bench, first) == manifest_of(bench, second)
        write(root / "1" / "1.py", "other\n")
        bench.snapshots.take("run-3")
        assert [p for p in (bench.store.folder / "trees").iterdir() if p.suffix != ".known"] == [tree]
        assert tree.stat().st_mtime_ns == stood
        sizes = bench.store.rows("SELECT LENGTH(manifest) AS size FROM snapshots")
        assert all(row["size"] < 1_000 for row in sizes)


def test_new_tree_takes_the_place_of_one_that_nothing_needs(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "a\n"})
    other = make_repo(tmp_path / "other", {"a.py": "a\n"})
    with bench_of(tmp_path, root) as bench, bench_of(tmp_path, other) as second:
        second.snapshots.release(second.snapshots.take("run-o"))
        kept = bench.snapshots.take("run-1")
        manifest = manifest_of(bench, kept)
        for n in range(300):
            write(root / "new" / str(n), "n\n")
        bench.snapshots.take("run-2")
        assert len(list((bench.store.folder / "trees").glob("*.tree"))) == 3
        assert manifest_of(bench, kept) == manifest
        bench.snapshots.release(kept)
        for n in range(300):
            (root / "new" / str(n)).unlink()
        bench.snapshots.take("run-3")
        assert len(list((bench.store.folder / "trees").glob("*.tree"))) == 3


def test_another_process_knows_it_too(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    with bench_of(tmp_path, root) as bench:
        snapshot = bench.snapshots.take("run-1")
    with bench_of(tmp_path, root) as bench:
        known = Trees(bench.store, repo_key(root)).known
        assert known.tree == manifest_of(bench, snapshot)
        assert manifest_of(bench, bench.snapshots.take("run-2")) == known.tree


@pytest.mark.parametrize("damage", ["known gone", "known torn", "tree gone", "tree torn"])
def test_lost_knowledge_costs_time_only(tmp_path: Path, damage: str) -> None:
    root = make_repo(tmp_path / "r", FILES)
    with bench_of(tmp_path, root) as bench:
        bench.snapshots.release(bench.snapshots.take("run-1"))
    what, how = damage.split()
    for file in (bench.store.folder / "trees").glob(f"*.{what}"):
        file.unlink() if how == "gone" else file.write_bytes(file.read_bytes()[:-5])
    with bench_of(tmp_path, root) as bench:
        snapshot = bench.snapshots.take("run-2")
        assert contents(bench, manifest_of(bench, snapshot)) == {p: (root / p).read_bytes() for p in FILES}


def test_run_whose_recorded_tree_is_lost_still_gets_its_edits_undone(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    before = whole_state(root)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        bench.edit("a.py", b"edited\n")
        bench.snapshots.mark(snapshot)
    for file in (bench.store.folder / "trees").iterdir():
        file.unlink()
    with Bench(tmp_path, root) as bench:
        assert bench.snapshots.recover() == ("run-1",)
        assert differences(before, whole_state(root)) == []
        assert bench.snapshots.recover() == ("run-1",)


def test_object_that_is_known_and_collected_since_is_copied_again(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", FILES)
    with bench_of(tmp_path, root) as bench:
        bench.snapshots.release(bench.snapshots.take("run-1"))
        git(root, "rm", "-q", "--cached", "a.py")
        git(root, "commit", "-q", "--amend", "-m", "without")
        git(root, "reflog", "expire", "--expire=now", "--all")
        git(root, "gc", "-q", "--prune=now")
        snapshot = bench.snapshots.take("run-2")
        assert contents(bench, manifest_of(bench, snapshot))["a.py"] == b"a\n"


@pytest.mark.parametrize("packed", [False, True])
def test_object_that_is_lost_to_git_is_copied_again(tmp_path: Path, packed: bool) -> None:
    """Objects may go with no sign of it in the index: damage, a lender's cleaning up."""
    root = make_repo(tmp_path / "r", FILES)
    if packed:
        git(root, "gc", "-q")
    with bench_of(tmp_path, root) as bench:
        bench.snapshots.release(bench.snapshots.take("run-1"))
        bench.snapshots.release(bench.snapshots.take("run-2"))
        for path in (root / ".git" / "objects").rglob("*"):
            if path.is_file():
                path.unlink()
        snapshot = bench.snapshots.take("run-3")
        manifest = manifest_of(bench, snapshot)
        assert contents(bench, manifest) == {p: (root / p).read_bytes() for p in manifest.sources}
        assert manifest.sources.keys() >= FILES.keys() - {"__pycache__/kept.py"}


def test_object_lost_while_others_are_there_is_copied_again(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {f"{n}.py": f"{n}\n" for n in range(50)})
    with bench_of(tmp_path, root) as bench:
        bench.snapshots.release(bench.snapshots.take("run-1"))
        bench.snapshots.release(bench.snapshots.take("run-2"))
        oid = git(root, "rev-parse", "HEAD:7.py").strip()
        (root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
        manifest = manifest_of(bench, bench.snapshots.take("run-3"))
        assert len(manifest.sources) == 50
        assert contents(bench, manifest)["7.py"] == b"7\n"


def test_files_as_large_as_they_like_cost_no_room_until_they_are_touched(tmp_path: Path) -> None:
    """Data that git does not track, and pointers to data that lies elsewhere."""
    pointers = {f"data/{n}.bin": f"version 1\noid sha256:{n:064}\nsize 1000000\n" for n in range(50)}
    root = make_repo(tmp_path / "r", {".gitattributes": "*.bin filter=lfs diff=lfs -text\n", "a.py": "a\n", **pointers})
    for n in range(5):
        with write(root / f"huge{n}.dat", "").open("r+b") as file:
            file.truncate(1 << 30)
    objects = sorted((root / ".git" / "objects").rglob("*"))
    with bench_of(tmp_path, root) as bench:
        snapshot = bench.start()
        made = [p for p in (root / ".git" / "objects").rglob("*") if p.is_file() and p not in objects]
        assert len(made) == 1  # the hidden commit
        assert bench.store.rows("SELECT * FROM blobs") == []
        assert bench.snapshots.uncovered(snapshot) == 5
        assert sum(p.stat().st_size for p in bench.store.folder.rglob("*") if p.is_file()) < 1 << 20
        bench.snapshots.mark(snapshot)
        for path in ("a.py", "data/7.bin"):
            bench.edit(path, b"edited\n")
        kept = {bytes(r["data"]) for r in bench.store.rows("SELECT data FROM blobs")}
        assert kept - {b"edited\n"} == {b"a\n", pointers["data/7.bin"].encode()}
        bench.snapshots.restore_run("run-1", snapshot)
        assert (root / "data" / "7.bin").read_text() == pointers["data/7.bin"]
        assert (root / "huge1.dat").stat().st_blocks == 0


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters="\0"), min_size=1),
        st.builds(
            Stat, *[st.integers(-(2**65), 2**65) if wide else st.integers(0, 2**31) for wide in (0, 1, 0, 0, 0)],
            st.sampled_from(["file", "symlink", "directory", "other"]),
        ),
        max_size=5,
    ),
    st.sampled_from(["", "git:abc", "blob:def"]),
)  # fmt: skip
def test_manifest_survives_being_written(entries: dict[str, Stat], source: str) -> None:
    sources = dict.fromkeys(list(entries)[::2], source) if source else {}
    manifest = Manifest(entries, sources)
    assert Manifest.decode(manifest.encode()) == manifest
    empty = Manifest({}, {})
    assert empty.with_more(manifest.beyond(empty, entries)) == manifest
    assert manifest.with_more(empty.beyond(manifest, entries)) == empty


def test_names_that_are_no_text_are_recorded(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "a\n"})
    write(root / os.fsdecode(b"caf\xe9"), "n\n")
    with bench_of(tmp_path, root) as bench:
        snapshot = bench.snapshots.take("run-1")
        assert contents(bench, manifest_of(bench, snapshot))[os.fsdecode(b"caf\xe9")] == b"n\n"
