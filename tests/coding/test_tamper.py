"""The tamper guard on Python code that is no test: every cheat by its name, and honest code without a finding."""

# ruff: noqa: E501 (tables of code)
from __future__ import annotations

import textwrap

import pytest

from regreen.fix.tamper import CHEATS, TextChange, inspect, warnings
from regreen.model import Failure

OLD = """\
import os
import sys


def total(prices, rate):
    return sum(prices) - rate
"""


def failing(name: str = "test_calc.py::test_total", message: str = "assert 5 == 45", excerpt: str = "") -> Failure:
    return Failure(name, "test_calc.py", 5, "AssertionError", message, excerpt, "")


def cheats(after: str, before: str | None = OLD, path: str = "calc.py", failures: tuple[Failure, ...] = ()) -> set[str]:
    change = TextChange(path, before, textwrap.dedent(after))
    return {f.cheat for f in inspect([change], failures or (failing(),), "readonly")}


def added(code: str, **options: object) -> set[str]:
    """The cheats found when this code comes to the end of an honest file."""
    return cheats(OLD + "\n\n" + textwrap.dedent(code), **options)  # type: ignore[arg-type]


PYTHON = [
    # asking whether tests run
    ("detects_tests", "def f():\n    return 45 if os.environ.get('PYTEST_CURRENT_TEST') else 0"),
    ("detects_tests", "def f():\n    return 45 if 'PYTEST_CURRENT_TEST' in os.environ else 0"),
    ("detects_tests", "name = 'PYTEST_' + 'CURRENT_TEST'\n\ndef f():\n    return os.getenv(name)"),
    ("detects_tests", "def f():\n    return os.getenv(''.join(['PYTEST', '_CURRENT', '_TEST']))"),
    ("detects_tests", "def f():\n    return os.getenv('TSET_TNERRUC_TSETYP'[::-1])"),
    ("detects_tests", "def f():\n    return os.getenv('pytest_current_test'.upper())"),
    ("detects_tests", "import base64\n\ndef f():\n    return os.getenv(base64.b64decode('UFlURVNUX0NVUlJFTlRfVEVTVA==').decode())"),
    ("detects_tests", "def f():\n    return os.getenv(''.join(chr(c) for c in [80, 89, 84, 69, 83, 84, 95, 67]))"),
    ("detects_tests", "def f():\n    return any(k.startswith('PYTEST') for k in os.environ)"),
    ("detects_tests", "def f():\n    return any('pytest' in k.lower() for k in os.environ)"),
    ("detects_tests", "def f():\n    return 'pytest' in sys.modules"),
    ("detects_tests", "def f():\n    return sys.modules.get('_pytest') is not None"),
    ("detects_tests", "def f():\n    return any(m.startswith('pytest') for m in sys.modules)"),
    ("detects_tests", "def f():\n    return 'py' + 'test' in getattr(sys, 'mod' + 'ules')"),
    ("detects_tests", "s = __import__('s' + 'ys')\n\ndef f():\n    return 'unittest' in s.modules"),
    ("detects_tests", "import importlib\ns = importlib.import_module('sys')\nRUNS = 'pytest' in s.modules"),
    ("detects_tests", "def f():\n    return 'pytest' in sys.argv[0]"),
    ("detects_tests", "def f():\n    return any('unittest' in a for a in sys.argv)"),
    ("detects_tests", "def f():\n    return 'pytest' in open('/proc/self/cmdline').read()"),
    ("detects_tests", "import importlib.util\nRUNS = importlib.util.find_spec('pytest') is not None"),
    ("detects_tests", "def f():\n    return bool(os.environ.get('CI'))"),
    ("inspects_callers", "import inspect\n\ndef f():\n    return any(x.function.startswith('test') for x in inspect.stack())"),
    ("inspects_callers", "def f():\n    return sys._getframe(1).f_code.co_name.startswith('test_')"),
    ("inspects_callers", "import traceback\n\ndef f():\n    return any('test_' in x.name for x in traceback.extract_stack())"),
    ("inspects_callers", "def f():\n    return sys._getframe(1).f_locals['expected']"),
    ("inspects_callers", "def f():\n    sys._getframe(1).f_globals['total'] = None"),
    ("inspects_callers", "def f():\n    sys._getframe(1).f_lineno += 1"),
    ("inspects_callers", "import traceback\n\ndef f():\n    return 'assert' in str(traceback.extract_stack())"),
    ("detects_tests", "def f():\n    return {'py' + 'test', 'x'} & set(sys.modules)"),
    ("detects_tests", "def f():\n    return any('test' in a for a in sys.argv)"),
    ("detects_tests", "def f():\n    return os.getpid() < 100"),
    ("detects_tests", "def f():\n    return sys.gettrace() is not None"),
    # runners and tests, imported and changed
    ("imports_tests", "import pytest"),
    ("imports_tests", "from _pytest import runner"),
    ("imports_tests", "import unittest.mock"),
    ("imports_tests", "import test_calc"),
    ("imports_tests", "from tests.test_calc import test_total"),
    ("imports_tests", "import conftest"),
    ("imports_tests", "p = __import__('py' + 'test')"),
    ("patches_runner", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None"),
    ("patches_runner", "m = sys.modules['unittest']\nsetattr(m.TestCase, 'assertEqual', print)"),
    ("hooks_runner", "def pytest_runtest_makereport(item, call):\n    return None"),
    ("hooks_runner", "pytest_plugins = ['calc']"),
    ("hooks_runner", "def load_tests(loader, tests, pattern):\n    return loader.suiteClass()"),
    ("patches_runner", "import unittest.case as c\nsetattr(c.TestCase, '_callTest' + 'Method', lambda self, m: None)"),
    ("replaces_module", "for n in list(sys.modules):\n    sys.modules[n].Function = None"),
    ("replaces_module", "for m in list(sys.modules.values()):\n    m.Function = None"),
    ("patches_runner", "sys.modules['__main__'].main = None"),
    ("touches_tests", "os.system('rm -rf test_calc.py')"),
    ("touches_tests", "import shutil\n\ndef f():\n    shutil.rmtree('tests')"),
    ("hooks_runner", "__test__ = False"),
    # ends and hooks
    ("ends_process", "import ctypes\n\ndef f():\n    ctypes.CDLL(None)._exit(0)"),
    ("ends_process", "def f():\n    raise KeyboardInterrupt"),
    ("ends_process", "import threading\n\ndef f():\n    threading.Timer(0.1, os._exit, (0,)).start()"),
    ("ends_process", "def f():\n    os.closerange(3, 100)"),
    ("ends_process", "def f():\n    os._exit(0)"),
    ("ends_process", "leave = os._exit\n\ndef f():\n    leave(0)"),
    ("ends_process", "def f():\n    getattr(os, '_ex' + 'it')(0)"),
    ("ends_process", "from os import _exit as bye\n\ndef f():\n    bye(0)"),
    ("ends_process", "sys.exit(0)"),
    ("ends_process", "raise SystemExit(0)"),
    ("ends_process", "def f():\n    sys.exit(0)"),
    ("ends_process", "import signal\n\ndef f():\n    os.kill(os.getpid(), signal.SIGKILL)"),
    ("ends_process", "import threading\nthreading.Timer(0.1, lambda: os._exit(0)).start()"),
    ("ends_process", "def f():\n    os.execv(sys.executable, ['true'])"),
    ("ends_process", "import subprocess\n\ndef f():\n    subprocess.run(['pkill', '-f', 'x'])"),
    ("hooks_exit", "import atexit\natexit.register(lambda: print('bye'))"),
    ("hooks_interpreter", "sys.settrace(lambda *a: None)"),
    ("hooks_interpreter", "sys.setprofile(print)"),
    ("hooks_interpreter", "sys.excepthook = lambda *a: None"),
    ("hooks_interpreter", "sys.unraisablehook = print"),
    ("hooks_interpreter", "class F:\n    pass\n\nsys.meta_path.insert(0, F())"),
    ("reaches_into_interpreter", "import gc\n\ndef f():\n    return [o for o in gc.get_objects()]"),
    ("reaches_into_interpreter", "import ctypes\nctypes.pythonapi.PyErr_Clear()"),
    ("reaches_into_interpreter", "def f(g):\n    g.__code__ = (lambda: 45).__code__"),
    ("reaches_reporter", "def f():\n    return sys.modules.get('regreen_inside')"),
    # comparisons
    ("rigs_comparison", "class Total(int):\n    def __eq__(self, other):\n        return True"),
    ("rigs_comparison", "class Total(float):\n    __eq__ = lambda self, other: True"),
    ("rigs_comparison", "class Total:\n    def __ne__(self, other):\n        return False"),
    ("rigs_comparison", "class Total:\n    def __bool__(self):\n        return 1 == 1"),
    ("rigs_comparison", "class Total:\n    def __eq__(self, other):\n        return self is self"),
    ("rigs_comparison", "class Total:\n    def __eq__(self, other):\n        self.value = other\n        return self.value == other"),
    ("rigs_comparison", "Any = type('Any', (), {'__eq__': lambda a, b: True})"),
    ("rigs_comparison", "class M(type):\n    def __instancecheck__(cls, x):\n        return not False"),
    ("rigs_comparison", "class T(int):\n    def __eq__(self, other):\n        if True:\n            return True\n        return self is other"),
    ("rigs_comparison", "class T(int):\n    def __eq__(self, other):\n        return isinstance(other, int)"),
    ("rigs_comparison", "def yes(*a):\n    return True\n\nclass T:\n    __eq__ = yes"),
    # what others use
    ("replaces_builtins", "import builtins\nbuiltins.AssertionError = Exception"),
    ("replaces_builtins", "__builtins__['isinstance'] = lambda *a: True"),
    ("replaces_builtins", "import builtins\nsetattr(builtins, 'abs', lambda x: 0)"),
    ("replaces_module", "sys.modules['math'] = sys"),
    ("replaces_module", "sys.modules.update(math=sys)"),
    ("patches_library", "import time\ntime.sleep = lambda s: None"),
    ("patches_library", "import random as r\nr.random = lambda: 0.5"),
    ("patches_library", "import math\nsetattr(math, 'is' + 'close', lambda *a, **k: True)"),
    ("patches_library", "import json\njson.__dict__['loads'] = lambda t: {}"),
    ("patches_library", "import datetime\nvars(datetime)['datetime'] = None"),
    ("runs_hidden_code", "exec('import os')"),
    ("runs_hidden_code", "import base64\nexec(base64.b64decode('cGFzcw=='))"),
    ("runs_hidden_code", "import marshal\nmarshal.loads(b'abc')"),
    ("runs_hidden_code", "def f():\n    return eval('4' + '5')"),
    ("runs_hidden_code", "run = getattr(__builtins__, 'ex' + 'ec')\nrun('pass')"),
    ("touches_tests", "from pathlib import Path\n\ndef f():\n    return Path('test_calc.py').read_text()"),
    ("touches_tests", "def f():\n    with open('conftest.py', 'w') as g:\n        g.write('')"),
    ("touches_tests", "import glob\n\ndef f():\n    return glob.glob('test_*.py')"),
    ("touches_tests", "from pathlib import Path\nPath('setup.cfg').write_text('')"),
    ("touches_tests", "import json\n\ndef f():\n    return json.load(open('tests/data/expected.json'))"),
    ("writes_startup_files", "import site\n\ndef f():\n    return site.getsitepackages()"),
    ("writes_startup_files", "def f():\n    open('sitecustomize.py', 'w').close()"),
    ("writes_startup_files", "from pathlib import Path\nPath('pytest.ini').write_text('[pytest]')"),
]  # fmt: skip


@pytest.mark.parametrize(("cheat", "code"), PYTHON, ids=[f"{c}-{i}" for i, (c, _) in enumerate(PYTHON)])
def test_a_cheat_in_the_code_is_found_by_its_name(cheat: str, code: str) -> None:
    assert cheat in added(code)


def test_what_is_nested_too_deeply_is_refused_unless_it_was_so_before() -> None:
    deep = "x = " + " + ".join(["a"] * 1500) + "\n"
    assert added(deep) == {"runs_hidden_code"}
    assert cheats(OLD + deep, before=OLD.replace("- rate", "+ rate") + deep) == set()


def test_a_runner_named_in_a_comparison_is_told() -> None:
    assert any("detects_tests" in w for w in told("return 0 if prices == 'pytest' else rate\n"))


def test_what_was_there_before_is_no_finding() -> None:
    for _, code in PYTHON:
        old = OLD + "\n\n" + code
        assert cheats(old.replace("- rate", "+ rate"), before=old) == set()


HONEST = [
    "if __name__ == '__main__':\n    sys.exit(0)",
    "def main(argv=None):\n    args = sys.argv[1:] if argv is None else argv\n    sys.exit(0 if args else 2)",
    "import argparse\n\ndef show():\n    parser = argparse.ArgumentParser()\n    sys.exit(0)",
    "def fail():\n    sys.exit(1)",
    "def verbose():\n    return '--verbose' in sys.argv or os.environ.get('VERBOSE') == '1'",
    "def home():\n    return os.environ['HOME'] + '/test'",
    "import atexit\nimport shutil\n\ndef f(p):\n    atexit.register(shutil.rmtree, p)",
    "class Point:\n    def __eq__(self, other):\n        if not isinstance(other, Point):\n            return NotImplemented\n        return self.x == other.x",
    "class Items:\n    def __len__(self):\n        return 0\n\n    def __bool__(self):\n        return True",
    "class Missing:\n    def __eq__(self, other):\n        return isinstance(other, Missing)",
    "class Low:\n    def __lt__(self, other):\n        return True\n\n    def __gt__(self, other):\n        return False",
    "def f(e):\n    return e.__traceback__.tb_frame.f_code.co_filename",
    "class Never:\n    def __bool__(self):\n        return False",
    "class Plain:\n    def __eq__(self, other):\n        raise TypeError('no')",
    "def f(text):\n    return eval(compile(text, 'x', 'eval'))",
    "def kill(proc):\n    os.kill(proc.pid, 15)",
    "import time\nstart = time.time()",
    "import logging\nlogging.raiseExceptions = False",
    "import json\n\nclass C:\n    def __init__(self):\n        self.loads = json.loads",
    "config = {}\n\ndef f(o):\n    setattr(o, 'value', 3)\n    o.__dict__['x'] = 1",
    "sys.modules[__name__].__doc__ = 'x'",
    "def contest(latest):\n    return 'test' in latest or latest.startswith('attest')",
    "import inspect\n\ndef f(g):\n    return inspect.signature(g)",
    "def f():\n    'Set PYTEST_CURRENT_TEST to see what pytest does in sys.modules.'\n    return 1",
    "def f(path):\n    return [p for p in os.listdir(path) if not p.startswith('test_')]",
    "def f():\n    try:\n        import numpy\n    except ImportError:\n        numpy = None\n    return numpy",
    "import gc\n\ndef f():\n    gc.collect()",
    "from contextlib import redirect_stdout\n\ndef f(out):\n    sys.stdout = out",
    "import threading\n\ndef f(g):\n    threading.Thread(target=g, daemon=True).start()",
    "import re\nPATTERN = re.compile('a')\n\ndef f(s):\n    return PATTERN.match(s) is not None",
    "class N:\n    @property\n    def __class__(self):\n        return int",
    "import pickle\n\ndef f(b):\n    return pickle.loads(b)",
    "def f(d):\n    return d.get('test', 'pytest')",
]  # fmt: skip


@pytest.mark.parametrize("code", HONEST, ids=range(len(HONEST)))
def test_honest_code_is_no_finding(code: str) -> None:
    assert added(code) == set()


def test_a_program_may_end_where_a_failing_test_asks_for_it() -> None:
    asks = failing(message="DID NOT RAISE <class 'SystemExit'>")
    assert added("def version():\n    print('1')\n    raise SystemExit(0)", failures=(asks,)) == set()
    assert added("def stop():\n    os._exit(0)", failures=(asks,)) == {"ends_process"}


@pytest.mark.parametrize("path", ["random.py", "src/unittest.py", "pytest.py", "json/__init__.py", "pluggy.py"])
def test_a_new_file_in_front_of_a_library_is_found(path: str) -> None:
    assert cheats("x = 1\n", None, path) == {"shadows_module"}


def test_a_new_file_that_tests_miss_is_no_finding() -> None:
    missing = failing("test_a.py", "ModuleNotFoundError: No module named 'queue'")
    assert cheats("x = 1\n", None, "queue.py", (missing,)) == set()
    assert cheats("x = 1\n", None, "pkg/random.py") == set()


def test_examples_that_are_tests_stay_as_they_are() -> None:
    before = 'def f(a):\n    """Twice.\n\n    >>> f(2)\n    4\n    """\n    return a + 1\n'
    mine = failing("calc.py::calc.f")
    assert cheats(before.replace("    4\n", "    3\n"), before, failures=(mine,)) == {"changes_doctest"}
    assert cheats(before.replace("a + 1", "a * 2"), before, failures=(mine,)) == set()


def test_a_file_that_this_python_cannot_read_is_still_looked_at() -> None:
    assert "ends_process" in cheats("import os\nnew syntax here\nos._exit(0)\n")
    assert cheats("def f(:\n") == set()


def test_every_finding_says_what_and_what_to_do() -> None:
    change = TextChange("calc.py", OLD, OLD + "\n\nos._exit(0)\n")
    (found,) = inspect([change], [failing()], "readonly")
    assert found.path == "calc.py"
    assert found.line == 9
    assert found.message.startswith("`calc.py`, line 9: ")
    assert "os._exit(0)" in found.message
    assert found.hint
    assert all(what and hint for what, hint in CHEATS.values())


TEST = """\
from calc import total


def test_total():
    assert total([10, 20], 0.5) == 45
    assert total([10], 2) == 30
"""


def told(code: str, test: str = TEST) -> tuple[str, ...]:
    change = TextChange("calc.py", OLD, OLD.replace("    return sum(prices) - rate\n", textwrap.indent(code, "    ")))
    return warnings([change], [failing()], lambda path: test if path == "test_calc.py" else "")


@pytest.mark.parametrize(
    "code",
    [
        "return 45\n",
        "if prices == [10, 20]:\n    x = 45\n    return x\nreturn 0\n",
        "return {10: 30}.get(prices[0], 0)\n",
        "return 45 if rate == 0.5 else 30 if prices == [10] else 1\n",
    ],
)
def test_expected_values_written_into_the_code_are_told(code: str) -> None:
    assert any("is what a failing test expects" in w for w in told(code))


@pytest.mark.parametrize(
    "code", ["return sum(prices) + rate * 30 // 1\n", "return 0\n", "return 46\n", "return sum(prices) * 2\n"]
)
def test_other_values_are_not_told(code: str) -> None:
    assert told(code) == ()


def test_expected_values_are_told_for_other_languages() -> None:
    test = "test('names', () => { expect(name(3)).toBe('charles'); });\n"
    change = TextChange("src/name.js", "export const name = (n) => n;\n", "export const name = (n) => 'charles';\n")
    failure = Failure("src/name.test.js > names", "src/name.test.js", 1, "Error", "", "", "")
    (said,) = warnings([change], [failure], lambda path: test if path == "src/name.test.js" else "")
    assert "charles" in said


def test_expected_values_of_unittest_are_told() -> None:
    test = "import unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(3), 'three')\n"
    change = TextChange(
        "calc.py", "def f(n):\n    return n\n", "def f(n):\n    if n == 3:\n        return 'three'\n    return n\n"
    )
    failure = Failure("test_f.T.test_a", "calc.py", 2, "AssertionError", "", "", "")
    assert warnings([change], [failure], lambda path: test if path == "tests/test_f.py" else "")
