"""What a test run tells of the paths that the tests write: by real pytest processes and real files."""

import textwrap

import pytest
from support.suites import project, run_tests, settings_with, tree

from regreen.model import SuiteStatus
from regreen.sandbox import Cancel
from regreen.testing.pytest_suite import run_pytest
from regreen.testing.request import SuiteRequest
from regreen.workspace import Workspace


def written(root, **options):
    told = []
    report = run_tests(root, on_written=told.append, **options)
    assert all(told)
    paths = [p for one in told for p in one]
    assert len(paths) == len(set(paths))
    return report, paths


HEAD = """
import os, shutil, sqlite3, socket, subprocess, sys, tempfile, threading
from pathlib import Path
"""
CASES = [
    ("open('new.txt', 'w').close()", ["new.txt"]),
    ("open(b'new.txt', 'ab').close()", ["new.txt"]),
    ("Path('a.txt').write_text('x')", ["a.txt"]),
    ("Path('t.txt').touch()", ["t.txt"]),
    ("open('old.txt', 'r+').close()", ["old.txt"]),
    ("os.close(os.open('o.bin', os.O_CREAT | os.O_RDWR))", ["o.bin"]),
    ("os.makedirs('d/e')", ["d", "d/e"]),
    ("os.makedirs('sub', exist_ok=True)", []),
    ("os.remove('old.txt')", ["old.txt"]),
    ("Path('old.txt').unlink()", ["old.txt"]),
    ("os.rename('old.txt', 'sub/x.txt')", ["old.txt", "sub/x.txt"]),
    ("os.replace('old.txt', 'y.txt')", ["old.txt", "y.txt"]),
    ("os.rename('sub', 'bus')", ["sub", "bus", "sub/deep", "bus/deep", "sub/in.txt", "bus/in.txt",
                                 "sub/deep/er.txt", "bus/deep/er.txt"]),
    ("shutil.move('old.txt', 'sub')", ["old.txt", "sub/old.txt"]),
    ("shutil.copyfile('old.txt', 'c.txt')", ["c.txt"]),
    ("shutil.copytree('sub', 'c')", ["c", "c/in.txt", "c/deep", "c/deep/er.txt"]),
    ("shutil.rmtree('sub')", ["sub", "sub/in.txt", "sub/deep", "sub/deep/er.txt"]),
    ("os.link('old.txt', 'hard')", ["old.txt", "hard"]),
    ("os.symlink('old.txt', 'soft')", ["soft"]),
    ("Path('link').write_text('through')", ["link", "old.txt"]),
    ("os.chmod('old.txt', 0o600)", ["old.txt"]),
    ("os.utime('old.txt')", ["old.txt"]),
    ("os.truncate('old.txt', 0)", ["old.txt"]),
    ("sqlite3.connect('x.db').close()", ["x.db", "x.db-journal", "x.db-wal", "x.db-shm"]),
    ("sqlite3.connect('file:y%20z.db?mode=rwc', uri=True).close()",
     ["y z.db", "y z.db-journal", "y z.db-wal", "y z.db-shm"]),
    ("sqlite3.connect(':memory:').close()", []),
    ("os.chdir('sub'); open('../up.txt', 'w').close(); open('down.txt', 'w').close()", ["up.txt", "sub/down.txt"]),
    ("fd = os.open('sub', os.O_RDONLY); os.mkdir('made', dir_fd=fd); os.remove('in.txt', dir_fd=fd)",
     ["sub/made", "sub/in.txt"]),
    ("tempfile.NamedTemporaryFile(dir='.', prefix='named', suffix='', delete=False).close()", ["named*"]),
    ("t = threading.Thread(target=Path('thread').touch); t.start(); t.join()", ["thread"]),
    ("open(os.fsdecode(b'odd\\xff'), 'w').close()", ["odd\udcff"]),
    ("os.symlink(os.getcwd(), tmp_path / 'back'); (tmp_path / 'back' / 'b.txt').touch()", ["b.txt"]),
    ("Path('old.txt').read_text(); os.listdir('.'); os.stat('old.txt')", []),
    ("(tmp_path / 'x').touch(); tempfile.mkdtemp(); tempfile.TemporaryFile().write(b'x')", []),
    ("import py_compile; py_compile.compile('m.py', '__pycache__/x.pyc')", []),
    ("import pickle\nfor bad in ('a\\0b', b'\\0', None, 3.5, '', 'no/such/folder/x', 10**9):\n"
     "    try: open(bad, 'w')\n    except (OSError, ValueError, TypeError): pass\n", []),
    ("subprocess.run([sys.executable, '-c', 'open(\"child\", \"w\")'], check=True)", []),
    ("if os.fork() == 0:\n    open('forked', 'w').close()\n    os._exit(0)\nos.wait()", []),
    ("s = socket.socket(socket.AF_UNIX); s.bind('sock'); s.close()", ["sock"]),
    ("s = socket.socket(); s.bind(('127.0.0.1', 0)); s.close()", []),
]  # fmt: skip


@pytest.fixture(scope="module")
def told_by_case(tmp_path_factory):
    """One run of all cases, each in a folder of its own: number of the case -> the paths told."""
    base = tmp_path_factory.mktemp("cases")
    files = {"old.txt": "o", "m.py": "", "sub/in.txt": "i", "sub/deep/er.txt": "e"}
    root = project(base, {f"c{n}/{name}": text for n in range(len(CASES)) for name, text in files.items()})
    tests = [HEAD]
    for n, (body, _) in enumerate(CASES):
        (root / f"c{n}" / "link").symlink_to("old.txt")
        tests.append(
            f"def test_{n}(tmp_path, monkeypatch):\n    monkeypatch.chdir('c{n}')\n" + textwrap.indent(body, "    ")
        )
    project(base, {"test_a.py": "\n".join(tests)})
    report, paths = written(root)
    assert report.green, report
    return {n: sorted(p.partition("/")[2] for p in paths if p.startswith(f"c{n}/")) for n in range(len(CASES))}


@pytest.mark.parametrize("n", range(len(CASES)), ids=[body.partition("(")[0] for body, _ in CASES])
def test_path_that_the_test_process_writes_is_told_and_no_other(n, told_by_case):
    wanted = sorted(CASES[n][1])
    told = told_by_case[n]
    assert [p[:5] + "*" if p.startswith("named") else p for p in told] == wanted


def test_path_is_told_once_and_while_the_tests_still_run(tmp_path):
    heard = []
    code = "def test_{n}():\n    for _ in range(3): open('{n}.txt', 'a').close()\n    open('both', 'w').close()\n"
    waits = "def test_waits():\n    while not os.path.exists('heard-b'): time.sleep(0.01)\n"
    root = project(tmp_path, {"test_a.py": "import os, time\n" + "".join(code.format(n=n) for n in "ab") + waits,
                              "conftest.py": "open('early', 'w').close()\n"
                              "def pytest_sessionfinish(): open('late', 'w').close()\n"
                              "import atexit; atexit.register(lambda: open('last', 'w').close())\n"})  # fmt: skip

    def on_written(paths):
        heard.append(list(paths))
        if "b.txt" in paths:
            (root / "heard-b").touch()

    assert run_tests(root, on_written=on_written).green
    assert [p for paths in heard for p in paths] == ["early", "a.txt", "both", "b.txt", "late", "last"]


def test_kill_of_the_process_loses_no_more_than_the_paths_of_one_test(tmp_path):
    root = project(tmp_path, {"test_a.py": "import os\ndef test_a(): open('a', 'w').close()\n"
                              "def test_b():\n    open('b', 'w').close()\n    os.abort()\n"
                              "def test_c(): open('c', 'w').close()\n"})  # fmt: skip
    report, paths = written(root, isolate=True)
    assert report.status is SuiteStatus.CRASHED
    assert set(paths) - {"b"} == {"a", "c"}


def test_number_of_paths_is_bounded_and_that_is_said(tmp_path):
    body = "for n in range(6000): os.symlink('x', f'l{n}')"
    root = project(tmp_path, {"test_a.py": f"import os\ndef test_a():\n    {body}\n"})
    report, paths = written(root)
    assert len(paths) == 5000
    assert any("more than 5000 paths" in n for n in report.notes)


def test_test_that_replaces_functions_of_the_system_is_not_disturbed(tmp_path):
    code = HEAD + textwrap.dedent("""
        from unittest.mock import Mock, patch
        def test_a():
            names = ("stat", "lstat", "getcwd", "readlink", "scandir", "fsdecode", "fspath")
            with patch.multiple(os, **{n: Mock(side_effect=AssertionError(n)) for n in names}):
                open("new.txt", "w").close()
            class Odd:
                def __fspath__(self): raise RuntimeError("no path today")
            try: os.remove(Odd())
            except RuntimeError: pass
        """)
    report, paths = written(project(tmp_path, {"test_a.py": code}))
    assert (report.green, paths) == (True, ["new.txt"])


def test_tests_spread_over_workers_run_as_ever(tmp_path):
    pytest.importorskip("xdist")
    root = project(tmp_path, {"test_a.py": "def test_a(): open('x', 'w').close()\n",
                              "pytest.ini": "[pytest]\naddopts = -p xdist.plugin -n1\n"})  # fmt: skip
    report, paths = written(root)
    assert (report.green, paths) == (True, [])


def test_run_that_asks_for_nothing_installs_no_hook_and_one_that_asks_changes_no_result(tmp_path):
    code = """
    import gc
    def test_is_not_watched():
        open("x", "w").close()
        assert not [o for o in gc.get_objects() if type(o).__name__ == "Written"]
    """
    root = project(tmp_path, {"test_a.py": textwrap.dedent(code)})
    with Workspace(root) as workspace:
        request = SuiteRequest(workspace, settings_with(tmp_path), tmp_path / "store", 60.0)
        assert run_pytest(request, Cancel(), None).green
    before = tree(root)
    report, paths = written(root)
    assert (report.status, paths) == (SuiteStatus.FAILED, ["x"])
    assert tree(root) == before


def test_what_the_user_gives_to_tests_reaches_them_and_is_masked_where_it_is_secret(tmp_path):
    code = "import os\ndef test_a(): assert os.environ['SHOP_API_TOKEN'] + os.environ['MODE'] == 'other'\n"
    given = {"SHOP_API_TOKEN": "zq81-" + "Ab3dE6gH9" * 3, "MODE": "fast"}
    report = run_tests(
        project(tmp_path, {"test_a.py": code}), settings_with(tmp_path, test_environ=given), environment={}
    )
    text = report.failures[0].message + report.failures[0].excerpt
    assert "fast" in text
    assert given["SHOP_API_TOKEN"] not in text
