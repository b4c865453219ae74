"""The scratch copy that a replay works in: what comes along, how, and what the original is spared."""

from __future__ import annotations

import os
import sys
import sysconfig
import venv
from pathlib import Path
from subprocess import PIPE, Popen

import pytest
from support.engines import engine_on, replacement, run_script, script
from support.repos import fingerprint, make_repo

from regreen.errors import Refused
from regreen.session.copies import copy_folder, sweep
from regreen.session.copying import Copy, Stopped, copy_tree
from regreen.session.replaying import replay
from regreen.store import Store
from regreen.workspace import FileImage, Workspace


def copied(
    root: Path, target: Path, older: dict[str, FileImage] | None = None, *, barrier: bool = False, linked: bool = True
) -> Copy:
    with engine_on(root) as engine:
        session = engine.session()
        return copy_tree(
            session.workspace,
            session.files(),
            target,
            older=older or {},
            barrier=barrier,
            linked=linked,
            stopped=lambda: False,
        )


def test_files_come_with_mode_and_time_and_ignored_ones_too(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "x\n", "run.sh": "#!/bin/sh\n", ".gitignore": "made.py\n__pycache__/\n"})
    (root / "run.sh").chmod(0o755)
    (root / "made.py").write_text("generated\n")
    (root / "new.py").write_text("untracked\n")
    (root / "empty").mkdir()
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "a.pyc").write_bytes(b"\0")
    before = fingerprint(root)
    copied(root, tmp_path / "c")
    copy = tmp_path / "c"
    assert {p.name for p in copy.iterdir()} == {"a.py", "run.sh", ".gitignore", "made.py", "new.py", "empty"}
    assert (copy / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (copy / "a.py").stat().st_mtime_ns == (root / "a.py").stat().st_mtime_ns
    assert (copy / "made.py").read_text() == "generated\n"
    assert fingerprint(root) == before


def test_links_into_the_tree_lead_into_the_copy_and_others_where_they_led(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"d/a.py": "x\n"})
    (tmp_path / "outside.txt").write_text("o\n")
    (root / "near").symlink_to("d/a.py")
    (root / "full").symlink_to(root / "d" / "a.py")
    (root / "d" / "out").symlink_to("../../outside.txt")
    (root / "broken").symlink_to("nowhere")
    copied(root, tmp_path / "deeper" / "still" / "c")
    copy = tmp_path / "deeper" / "still" / "c"
    assert (copy / "near").readlink() == Path("d/a.py")
    assert (copy / "full").readlink() == copy / "d" / "a.py"
    assert (copy / "d" / "out").read_text() == "o\n"
    assert (copy / "broken").readlink() == Path("nowhere")


def test_installed_dependencies_are_links_unless_they_are_part_of_the_project(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "x\n", "app/node_modules/own/index.js": "1\n"})
    for folder in ("node_modules/x", "env-of-mine/lib"):
        (root / folder).mkdir(parents=True)
    (root / "env-of-mine" / "pyvenv.cfg").write_text("home = /\n")
    copy = copied(root, tmp_path / "c")
    assert sorted(copy.links) == ["env-of-mine", "node_modules"]
    assert (tmp_path / "c" / "node_modules").readlink() == root / "node_modules"
    assert not (tmp_path / "c" / "app" / "node_modules").is_symlink()
    assert (tmp_path / "c" / "app" / "node_modules" / "own" / "index.js").is_file()


def test_sparse_files_stay_sparse_and_large_ignored_ones_stay_away(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "x\n", ".gitignore": "*.iso\n"})
    size = 5 << 30
    with (root / "disk.img").open("wb") as f:
        f.write(b"begin")
        f.seek(size - 3)
        f.write(b"end")
    with (root / "big.iso").open("wb") as f:
        f.truncate(64 << 20)
    copy = copied(root, tmp_path / "c")
    made = (tmp_path / "c" / "disk.img").stat()
    assert made.st_size == size
    assert made.st_blocks * 512 < 16 << 20
    with (tmp_path / "c" / "disk.img").open("rb") as f:
        assert f.read(6) == b"begin\0"
        f.seek(-4, os.SEEK_END)
        assert f.read() == b"\0end"
    assert not (tmp_path / "c" / "big.iso").exists()
    assert any("big.iso" in note for note in copy.notes)


def test_older_contents_stand_in_place_of_the_present_ones(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "now\n", "new.py": "now\n"})
    older = {
        "a.py": FileImage("a.py", "file", b"then\n", 0o100755, 5_000_000_000),
        "new.py": FileImage("new.py", "absent"),
        "gone/b.py": FileImage("gone/b.py", "file", b"then\n", 0o100644, 1),
    }
    copied(root, tmp_path / "c", older)
    copy = tmp_path / "c"
    assert (copy / "a.py").read_text() == "then\n"
    assert (copy / "a.py").stat().st_mtime == 5
    assert os.access(copy / "a.py", os.X_OK)
    assert not (copy / "new.py").exists()
    assert (copy / "gone" / "b.py").read_text() == "then\n"


def test_a_copy_in_somebodys_repository_is_not_part_of_it(tmp_path: Path) -> None:
    outer = make_repo(tmp_path / "outer", {"o.py": "x\n"})
    root = make_repo(tmp_path / "r", {"a.py": "x\n", ".gitignore": "secret\n"})
    copied(root, outer / "c", barrier=True)
    with engine_on(outer / "c") as engine:
        session = engine.session()
        assert session.git is not None
        assert session.git.top == outer / "c"
        assert session.files().paths == (".gitignore", "a.py")


def test_copying_ends_when_it_is_told_to(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "x\n"})
    with engine_on(root) as engine, Workspace(root) as workspace, pytest.raises(Stopped):
        listed = engine.session().files()
        copy_tree(workspace, listed, tmp_path / "c", older={}, barrier=False, linked=True, stopped=lambda: True)


def test_where_links_could_be_written_through_what_is_installed_is_copied_and_its_links_stay_inside(
    tmp_path: Path,
) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "x\n", ".gitignore": "node_modules/\n/env/\n"})
    (root / "node_modules" / "x").mkdir(parents=True)
    (root / "node_modules" / "x" / "large.bin").write_bytes(b"\0" * (9 << 20))
    (root / "env").mkdir()
    (root / "env" / "pyvenv.cfg").write_text("home = /\n")
    (tmp_path / "alias").symlink_to(root)
    (root / "around").symlink_to(tmp_path / "alias" / "node_modules")
    copy, made = copied(root, tmp_path / "c", linked=False), tmp_path / "c"
    assert (copy.links, sorted(copy.installed), copy.notes) == ([], ["env", "node_modules"], [])
    assert (made / "around").readlink() == made / "node_modules"
    file = made / "node_modules" / "x" / "large.bin"
    assert file.stat().st_size == 9 << 20
    assert file.stat().st_ino != (root / "node_modules" / "x" / "large.bin").stat().st_ino
    assert (made / "env" / "pyvenv.cfg").is_file()


def test_too_much_to_copy_is_refused_with_what_to_do(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"a.py": "x\n", ".gitignore": "node_modules/\n"})
    (root / "node_modules").mkdir()
    with (root / "node_modules" / "huge").open("wb") as f:
        f.truncate((1 << 30) + 1)
    with pytest.raises(Refused) as told:
        copied(root, tmp_path / "c", linked=False)
    assert "node_modules" in told.value.message
    assert "--sandbox auto" in told.value.hint
    assert not (tmp_path / "c").exists()


def test_copies_of_the_dead_are_removed_and_no_other_folder(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom regreen.session.copies import copy_folder\n"
        "from regreen.store import Store\nwith copy_folder(Store(Path(sys.argv[1]))) as place:\n"
        " (place / 'closed').mkdir()\n (place / 'closed' / 'f').touch()\n (place / 'closed').chmod(0o500)\n"
        " print(place, flush=True)\n sys.stdin.read()\n"
    )
    state, temp = tmp_path / "state", tmp_path / "temp"
    temp.mkdir()
    foreign = temp / "regreen-replay-somebody"
    foreign.mkdir()
    argv = [sys.executable, "-c", code, str(state)]
    with Popen(argv, stdin=PIPE, stdout=PIPE, text=True, env={**os.environ, "TMPDIR": str(temp)}) as child:
        assert child.stdout is not None
        place = Path(child.stdout.readline().strip())
        store = Store(state)
        sweep(store)
        assert (place / "closed" / "f").exists()
        child.kill()
        child.wait()
        with copy_folder(store) as ours:
            assert (place.exists(), ours.is_dir()) == (False, True)
        store.close()
    assert (place.exists(), ours.exists(), foreign.is_dir()) == (False, False, True)
    assert not list((state / "replays").iterdir())


def test_replay_without_a_sandbox_does_not_write_into_the_original(tmp_path: Path) -> None:
    tests = "from pathlib import Path\n\n\ndef test_it():\n    Path('node_modules/state').write_text('by tests')\n"
    root = make_repo(tmp_path / "r", {"test_it.py": tests, ".gitignore": "node_modules/\n"})
    (root / "node_modules").mkdir()
    with engine_on(root, sandbox="off") as engine:
        done = run_script(engine, script(tmp_path, []))
        assert done["outcome"]["reason"] == "already_green", done
        (root / "node_modules" / "state").write_text("the user's")
        before = fingerprint(root)
        again = replay(engine.session(), done["job_id"], keep=tmp_path / "kept")
    assert again.same
    assert (tmp_path / "kept" / "copy" / "r" / "node_modules" / "state").read_text() == "by tests"
    assert (root / "node_modules" / "state").read_text() == "the user's"
    assert fingerprint(root) == before


def test_a_replay_uses_the_projects_environment_with_the_copys_code(tmp_path: Path) -> None:
    root = make_repo(
        tmp_path / "r",
        {
            "src/shop/__init__.py": "def price(n):\n    return n + 2\n",
            "tests/test_shop.py": "from pathlib import Path\nfrom shop import price\n\n\n"
            "def test_price():\n    assert Path('node_modules/x/data.txt').read_text() == 'installed'\n"
            "    assert price(1) == 3\n",
            ".gitignore": ".venv/\nnode_modules/\n",
        },
    )
    (root / "node_modules" / "x").mkdir(parents=True)
    (root / "node_modules" / "x" / "data.txt").write_text("installed")
    venv.create(root / ".venv", symlinks=True)
    site = next((root / ".venv" / "lib").iterdir()) / "site-packages"
    (site / "pytest-from-here.pth").write_text(
        f"{sysconfig.get_paths()['purelib']}\n{Path(pytest.__file__).parents[1]}\n"
    )
    (site / "shop-editable.pth").write_text(f"{root}/src\n")
    with engine_on(root, environ={k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"}) as engine:
        done = run_script(engine, script(tmp_path, []))
        assert done["outcome"]["reason"] == "already_green", done
        assert done["outcome"]["evidence"]["interpreter"].startswith(str(root / ".venv"))
        broken = [replacement("src/shop/__init__.py", "    return n + 2", "    return n - 2")]
        assert engine.call("apply_edits", {"replacements": broken}).data["ok"] is True
        before = fingerprint(root)
        again = replay(engine.session(), done["job_id"])
        assert (again.same, again.differences) == (True, ())
        assert again.outcome["evidence"]["interpreter"].startswith(str(root / ".venv"))  # type: ignore[index, union-attr, call-overload]
    assert fingerprint(root) == before
    assert sys.prefix != str(root / ".venv")
