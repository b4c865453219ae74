"""The fork server: what it imports ahead, when it is of no use, when it is renewed, and that nothing of it stays."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import venv
from pathlib import Path

import pytest
from support.cases import ALL
from support.processes import children_of, is_alive, until
from support.suites import project, settings_with
from support.warming import PLAIN, Warm, warm

from regreen.sandbox import Cancel
from regreen.testing.warm import NotWarm, WarmPytest

COLOURS = "import colours\ndef test_a(): assert colours.RED == 'red'\n"
SEEN = "import os, sys, colours\ndef test_a(): assert 0, (colours.__file__, colours.born)\n"


@pytest.fixture
def packages(tmp_path):
    """The site folder of the project's virtual environment, which finds our pytest."""
    folder = tmp_path / "project" / ".venv"
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    ours = next(p for p in map(Path, sys.path) if (p / "pytest" / "__init__.py").exists())
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py"):
        for found in (*ours.glob(name), *ours.glob(f"{name}-*.dist-info")):
            (site / found.name).symlink_to(found)
    return site


@pytest.fixture
def lib(packages):
    """Installs a module."""

    def make(name, text):
        (packages / f"{name}.py").write_text(textwrap.dedent(text))

    return make


def descriptors(pid: int | str = "self") -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def server_below(pid: int) -> int:
    """The fork server among the descendants: the first one that runs its script."""
    todo = [pid]
    while todo:
        found = todo.pop(0)
        words = Path(f"/proc/{found}/cmdline").read_bytes().split(b"\0")
        if found != pid and words[0].endswith(b"python") and b"launch_fork.py" in words[1]:
            return found
        todo += children_of(found)
    raise AssertionError("there is no server")


def messages(w: Warm, count: int = 3) -> list[str]:
    return [w.run().failures[0].message for _ in range(count)]


def test_installed_modules_are_imported_once_and_those_of_the_project_in_each_run_and_next_time_at_once(tmp_path, lib):
    lib("colours", "import os\nborn = os.urandom(8).hex()\nRED = 'red'\n")
    files = {"mine.py": "import os\nborn = os.urandom(8).hex()\n",
             "test_a.py": "import colours, mine\ndef test_a(): assert 0, (colours.born, mine.born)\n"}  # fmt: skip
    root = project(tmp_path, files)
    for learning in (1, 0):
        with warm(root) as w:
            told = [eval(m.partition("\n")[0]) for m in messages(w, 2 + learning)]
            assert len({mine for _, mine in told}) == len(told)
            assert len({colours for colours, _ in told[learning:]}) == 1
            assert w.server.starts == 1


LEAVING = {
    "threaded": "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n",
    "connected": "import socket\nkept = socket.socket()\n",
    "stored": "import sqlite3, tempfile\nkept = sqlite3.connect(tempfile.mkdtemp() + '/a')\n"
              "kept.execute('create table a(b)')\n",
    "started": "import subprocess, sys\n"
               "kept = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n",
}  # fmt: skip


def test_modules_whose_import_leaves_something_behind_are_imported_in_each_run(tmp_path, lib):
    for name, body in {"fine": "", **LEAVING}.items():
        lib(name, "import os\nborn = os.urandom(8).hex()\n" + body)
    born = ", ".join(f"{name}.born" for name in ("fine", *LEAVING))
    code = f"import fine, {', '.join(LEAVING)}\ndef test_a(): assert 0, ({born})\n"
    with warm(project(tmp_path, {"test_a.py": code})) as w:
        fine, *others = zip(*(eval(m.partition("\n")[0]) for m in messages(w, 4)), strict=True)
        assert len(set(fine[1:])) == 1
        assert [len(set(other)) for other in others] == [4] * len(LEAVING)
        assert w.server.starts == 1 + len(LEAVING)


def test_module_of_the_project_that_takes_the_name_of_an_installed_one_is_used(tmp_path, lib):
    lib("colours", "RED = 'red'\n")
    with warm(project(tmp_path, {"test_a.py": COLOURS})) as w:
        assert w.run().green
        assert w.run().green
        (w.root / "colours.py").write_text("RED = 'rot'\n")
        assert isinstance(w.try_run(), NotWarm)
        assert not w.run().green


def test_variables_that_the_project_sets_before_an_import_count_for_the_import_ahead(tmp_path, lib):
    lib("colours", "import os\nborn = os.environ.get('COLOUR_MODE', 'plain')\n")
    files = {"conftest.py": "import os\nos.environ['COLOUR_MODE'] = 'bright'\n", "test_a.py": SEEN}
    with warm(project(tmp_path, files)) as w:
        assert all("bright" in m for m in messages(w))


def test_editable_installs_and_modules_that_import_one_of_the_project_are_imported_in_each_run(tmp_path, packages, lib):
    lib("colours", "import palette\nRED = palette.RED\n")
    files = {"src/mine.py": "x = 1\n", "palette.py": "RED = 'red'\n",
             "test_a.py": COLOURS, "test_b.py": "import mine\ndef test_b(): assert mine.x == 1\n"}  # fmt: skip
    link = packages / "mine.pth"
    link.write_text(str(tmp_path / "project" / "src") + "\n")
    with warm(project(tmp_path, files)) as w:
        assert [w.run().green for _ in range(2)] == [True, True]
        (w.root / "palette.py").write_text("RED = 'rot'\n")
        assert w.run().passing == {"test_b.py::test_b"}
        (w.root / "src" / "mine.py").write_text("x = 2\n")
        assert w.run().passing == set()
        link.unlink()
        w.run()
        assert "mine.pth" in w.server.restarted_for


def test_server_is_renewed_when_a_file_that_decides_what_is_imported_changes(tmp_path):
    files = {"tests/test_a.py": "def test_a(): pass\n", "setup.cfg": "", "tests/conftest.py": ""}
    changed = ("pyproject.toml", "setup.cfg", "tests/conftest.py", "uv.lock")  # or is made
    with warm(project(tmp_path, files)) as w:
        w.run()
        for name in changed:
            (w.root / name).write_text("# changed\n")
            w.run()
            assert name in w.server.restarted_for
        assert w.server.starts == 1 + len(changed)
        (w.root / "tests/test_a.py").write_text("def test_b(): pass\n")
        for name in changed:
            os.utime(w.root / name)
        assert w.run().passing == {"tests/test_a.py::test_b"}
        assert w.server.starts == 1 + len(changed)


def test_server_is_renewed_for_another_environment_or_project(tmp_path):
    with warm(project(tmp_path / "a", {"test_a.py": "def test_a(): pass\n"})) as w:
        w.run()
        w.run(environment={**PLAIN, "MORE": "1"})
        assert w.server.restarted_for == "the environment"
        other = Warm(project(tmp_path / "b", {"test_b.py": "def test_b(): pass\n"}), w.settings, w.server)
        assert other.run(environment={**PLAIN, "MORE": "1"}).passing == {"test_b.py::test_b"}
        assert w.server.restarted_for == "the project"


@pytest.mark.parametrize(("files", "argv", "reason"), [
    ({"pytest.ini": "[pytest]\naddopts = -n 2\n"}, (), "xdist"),
    ({"pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['--numprocesses=auto']\n"}, (), "xdist"),
    ({}, ("pytest", "-n", "2"), "xdist"),
    ({"setup.cfg": "[tool:pytest]\naddopts = -p early\n", "early.py": ""}, (), "`early`"),
])  # fmt: skip
def test_runs_that_need_a_process_of_their_own_are_not_warm(files, argv, reason, tmp_path):
    with warm(project(tmp_path, {**files, "test_a.py": "def test_a(): pass\n"})) as w:
        report = w.try_run(argv=argv)
        assert isinstance(report, NotWarm)
        assert reason in report.reason
        assert w.server.starts == 0


def test_caller_can_end_all_warm_runs(tmp_path):
    with warm(project(tmp_path, {"test_a.py": "def test_a(): pass\n"})) as w:
        w.run()
        w.server.refuse("a cold run said otherwise")
        assert w.try_run() == NotWarm("a cold run said otherwise")


def test_interpreter_without_pytest_is_not_warm(tmp_path):
    with warm(project(tmp_path, {"test_a.py": ""}), python="/no/such/python") as w:
        assert isinstance(w.try_run(), NotWarm)


def test_only_one_run_at_a_time(tmp_path):
    with warm(project(tmp_path, {"test_a.py": "def test_a(): pass\n"})) as w:
        seen = []
        w.run(on_progress=lambda _: seen.append(w.try_run()))
        assert {type(s) for s in seen} == {NotWarm}


@pytest.mark.timeout(400)
def test_many_runs_leave_no_descriptors_processes_or_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with warm(project(tmp_path, {"test_a.py": "def test_a(tmp_path): pass\n"})) as w:
        for _ in range(3):
            assert w.run().green
        server = server_below(os.getpid())
        before = (descriptors(), w.server.starts)
        for _ in range(200 if ALL else 25):
            assert w.run().green
        assert (descriptors(), w.server.starts) == before
        (folder,) = tmp_path.glob("regreen-warm-*")
        assert sorted(p.name for p in folder.iterdir()) == ["tmp"]
        assert server_below(os.getpid()) == server
        assert children_of(server) == []
        assert descriptors(server) <= 8
    assert not is_alive(server)
    assert children_of(os.getpid()) == []
    assert list(tmp_path.glob("regreen-*")) == []


OWNER = """
import sys
from pathlib import Path
from support.warming import warm
with warm(Path(sys.argv[1])) as w:
    w.run("test_a.py")
    w.run("test_b.py")
"""


def test_server_and_its_runs_die_with_us(tmp_path):
    code = "import time\ndef test_b():\n    open('up', 'w').close()\n    time.sleep(300)\n"
    root = project(tmp_path, {"test_a.py": "def test_a(): pass\n", "test_b.py": code})
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(root)],
                             env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    assert until((root / "up").exists, 60.0)
    server = server_below(owner.pid)
    tests = children_of(server)
    assert tests
    owner.kill()
    owner.communicate()
    assert until(lambda: not is_alive(server) and not any(map(is_alive, tests)))


def test_knowledge_in_an_odd_file_is_learnt_again(tmp_path):
    root = project(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    for text in ("[]", json.dumps({"digest": 1, "names": 7})):
        with warm(root) as w:
            w.run()
        (place,) = (tmp_path / "cache" / "warm").glob("*.json")
        place.write_text(text)
    with warm(root) as w:
        assert w.run().green


def test_start_makes_a_server_ready_and_says_when_there_is_none(tmp_path):
    root = project(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    with warm(root) as w:
        assert w.server.start(w.request(), Cancel()) is None
        assert w.run().green
        assert w.server.starts == 1
    with WarmPytest() as none:
        other = Warm(root, settings_with(tmp_path, python="/no/such/python"), none)
        assert isinstance(none.start(other.request(), Cancel()), NotWarm)
