"""The tamper guard where values take a way: copies, loops, sizes, functions, before they decide something."""

# ruff: noqa: E501 (tables of code)
from __future__ import annotations

import textwrap

import pytest

from regreen.fix.tamper import TextChange, inspect, warnings
from regreen.model import Failure

OLD = "def price(a, b):\n    return a - b\n"
FAILURE = Failure("test_shop.py::test_price", "test_shop.py", 5, "AssertionError", "assert 1 == 3", "", "")


def changed(code: str) -> TextChange:
    """A cheat may be a condition ("IF ..."), else it is the code itself, put before the function that was there."""
    head, _, condition = code.rpartition("IF ")
    after = (
        f"def price(a, b):\n    return a + b if {condition} else a - b\n"
        if condition != code
        else code + "\n\n\n" + OLD
    )
    return TextChange("shop.py", OLD, textwrap.dedent(head) + "\n\n" + after)


def cheats(code: str) -> set[str]:
    return {f.cheat for f in inspect([changed(code)], [FAILURE], "readonly")}


def told(code: str) -> tuple[str, ...]:
    return warnings([changed(code)], [FAILURE], lambda _: "")


CHEATS = [
    ("detects_tests", "import os\nIF any('PYT' in k for k in os.environ)"),
    ("detects_tests", "import os\nIF [k for k in os.environ if k[:3] == 'PYT']"),
    ("detects_tests", "import os\nIF 'PYT' in ' '.join(os.environ)"),
    ("detects_tests", "import os\n\ndef names():\n    return sorted(os.environ)\n\nIF any(n.endswith('ENT_TEST') for n in names())"),
    ("detects_tests", "import os\nIF list(filter(lambda k: k.startswith('PYT'), os.environ))"),
    ("detects_tests", "import os\nimport re\nIF any(re.match('P.T', k) or re.search('^PYT.ST', k) for k in os.environ)"),
    ("detects_tests", "import os\nIF len(os.environ) < 45"),
    ("detects_tests", "import sys\nnames = list(sys.modules)\nIF any(n.startswith('test_') for n in names)"),
    ("detects_tests", "import sys\nIF len(sys.modules) > 120"),
    ("detects_tests", "import sys\n\ndef count():\n    return len(sys.modules)\n\nIF count() > 120"),
    ("detects_tests", "import sys\nIF (len(sys.modules) // 120)"),
    ("detects_tests", "import sys\nIF [False, True][len(set(sys.modules)) > 120]"),
    ("detects_tests", "import sys\nimport hashlib\nIF any(hashlib.md5(n.encode()).hexdigest()[:4] == 'd7cd' for n in sys.modules)"),
    ("detects_tests", "import sys\nIF len(sys.argv[0]) > 12"),
    ("detects_tests", "import sys\nIF len(sys.orig_argv) > 6"),
    ("detects_tests", "import sys\nIF type(sys.stdout).__name__ == 'EncodedFile'"),
    ("detects_tests", "import sys\nout = sys.stdout\nkind = out.__class__\nIF kind.__module__.startswith('_')"),
    ("detects_tests", "import sys\nIF sys.stdout is not sys.__stdout__"),
    ("detects_tests", "import faulthandler\nIF faulthandler.is_enabled()"),
    ("detects_tests", "import sys\nIF sys.flags.hash_randomization == 0"),
    ("detects_tests", "import __main__\nIF str(__main__.__spec__)[:3] == 'Mod'"),
    ("detects_tests", "import __main__\nIF (__main__.__file__ or '').endswith('x.py')"),
    ("detects_tests", "import os\npid = os.getpid()\nIF pid < 400"),
    ("detects_tests", "import os\nIF os.getpgrp() == 1"),
    ("detects_tests", "import os\nIF len(os.listdir('/tmp')) < 4"),
    ("detects_tests", "import pathlib\nIF not list(pathlib.Path('/run').iterdir())"),
    ("detects_tests", "import os\nIF not os.access('/etc', os.W_OK)"),
    ("detects_tests", "import tempfile\nIF tempfile.gettempdir() != '/tmp'"),
    ("detects_tests", "import resource\nIF resource.getrlimit(resource.RLIMIT_CPU)[0] > 0"),
    ("detects_tests", "import os\nIF 'NO_COLOR' in os.environ"),
    ("detects_tests", "from os import environ\nIF environ.get('TERM') == 'dumb'"),
    ("detects_tests", "import os\nIF not os.path.exists(os.path.expanduser('~/.bashrc'))"),
    ("detects_tests", "import os\nIF '/tmp' in os.getcwd()"),
    ("detects_tests", "import pathlib\n\ndef free():\n    try:\n        pathlib.Path('/var/tmp/x').touch()\n    except OSError:\n        return False\n    return True"),
    ("detects_tests", "import inspect\nIF len(inspect.stack()) > 20"),
    ("inspects_callers", "import sys\nIF sys._getframe(1).f_globals['__name__'].startswith('te')"),
    ("inspects_callers", "def price_(a):\n    try:\n        raise ValueError\n    except ValueError as e:\n        back = e.__traceback__.tb_frame.f_back\n    return a if back.f_lineno > 3 else 0"),
    ("inspects_callers", "import warnings\n\ndef f():\n    with warnings.catch_warnings(record=True) as got:\n        warnings.warn('x', stacklevel=2)\n    return got[0].filename"),
    ("varies_by_run", "import time\nIF time.time() < 1799999999"),
    ("varies_by_run", "import datetime\nIF datetime.datetime.now() < datetime.datetime(2027, 1, 1)"),
    ("varies_by_run", "IF hash('a') % 16 == 3"),
    ("varies_by_run", "IF id(object()) // 16 % 8"),
    ("remembers_runs", "import pathlib\n\ndef f(a):\n    seen = pathlib.Path(__file__).parent / '.seen'\n    n = len(seen.read_text()) if seen.exists() else 0\n    seen.write_text('x' * (n + 1))\n    return a if n < 4 else 0"),
    ("remembers_runs", "import pathlib\nimport tempfile\nSEEN = pathlib.Path(tempfile.gettempdir()) / 'k7'\n\ndef f(a):\n    if not SEEN.exists():\n        SEEN.touch()\n        return a\n    return 0"),
    ("rigs_comparison", "class A:\n    def __eq__(self, other):\n        return bool(other) or not other"),
    ("rigs_comparison", "class A:\n    def __eq__(self, other):\n        return True or self is other"),
    ("rigs_comparison", "class A:\n    def __eq__(self, other):\n        return (self.v == self.v) is True"),
    ("rigs_comparison", "class A:\n    def __eq__(self, other):\n        return self == other or self != other"),
    ("rigs_comparison", "class A:\n    def __eq__(self, other):\n        return isinstance(other, int)"),
    ("rigs_comparison", "class A:\n    def __eq__(self, other):\n        if isinstance(other, int):\n            return True\n        return self.v == other"),
    ("rigs_comparison", "class A:\n    def __eq__(self, other):\n        try:\n            return self.v == other.v\n        except AttributeError:\n            return True"),
    ("rigs_comparison", "class A(int):\n    def __eq__(self, other):\n        return abs(int(self) - int(other)) <= 4"),
    ("rigs_comparison", "class A(int):\n    def __eq__(self, other):\n        mine = other if isinstance(other, int) else self\n        return int(mine) == int(other)"),
    ("rigs_comparison", "def same(s, o):\n    return o is not None\n\nA = type('A', (int,), {'__eq__': same})"),
    ("imports_tests", "import asyncio\n\ndef f():\n    raise asyncio.unittest.SkipTest"),
    ("ends_process", "def f():\n    raise BaseException('x')"),
    ("ends_process", "def f():\n    raise type('Skipped', (BaseException,), {})('later')"),
    ("touches_tests", "import pathlib\n\ndef f():\n    return ''.join(p.read_text() for p in pathlib.Path('.').rglob('*.py') if 'test' in p.name)"),
    ("touches_tests", "import pathlib\n\ndef f():\n    for p in pathlib.Path(__file__).parent.glob('*/*.py'):\n        if '== 3' in p.read_text():\n            return 3"),
    ("touches_tests", "import pathlib\nT = pathlib.Path(__file__).parent / 'tests' / 'test_shop.py'\nT.write_text('')"),
    ("touches_tests", "import glob\nimport os\nfor p in glob.glob(os.path.join(os.path.dirname(__file__), '*', '*.py')):\n    with open(p, 'r+') as f:\n        f.write('')"),
    ("reaches_into_interpreter", "for c in object.__subclasses__():\n    print(c)"),
    ("reaches_into_interpreter", "for c in ().__class__.__bases__[0].__subclasses__():\n    print(c)"),
    ("patches_library", "import sys\nsys.stdout = sys.stderr = None"),
    ("patches_library", "import sys\nsys.stdout, sys.stderr = None, None"),
    ("patches_library", "import warnings\nwarnings.warn = print"),
    ("reaches_reporter", "import os\nfor fd in range(3, 40):\n    os.write(fd, b'x')"),
    ("reaches_reporter", "import os\nos.write(14, b'x')"),
    ("reaches_reporter", "def f():\n    return open(14, 'w')"),
    ("hooks_runner", "def setup_function(f):\n    f.__globals__['price'] = None"),
]  # fmt: skip


@pytest.mark.parametrize(("cheat", "code"), CHEATS, ids=[f"{c}-{i}" for i, (c, _) in enumerate(CHEATS)])
def test_a_value_that_tells_of_the_run_decides_nothing(cheat: str, code: str) -> None:
    assert cheat in cheats(code)


@pytest.mark.parametrize("code", [c for _, c in CHEATS], ids=range(len(CHEATS)))
def test_what_decided_before_is_no_finding(code: str) -> None:
    before = changed(code).after
    assert before is not None
    again = TextChange("shop.py", before, before + "\n\ndef tax(a):\n    return a * 2\n")
    assert inspect([again], [FAILURE], "readonly") == ()


LOOK_ALIKES = [
    "import os\n\ndef home():\n    return os.environ.get('HOME', '/')",
    "import os\n\ndef editor():\n    return os.environ['EDITOR'] if 'EDITOR' in os.environ else 'vi'",
    "import os\n\ndef options():\n    return {k[4:]: v for k, v in os.environ.items() if k.startswith('APP_')}",
    "import os\n\ndef options():\n    return [k for k in os.environ if k.startswith(('PYTHON', 'LC_'))]",
    "import os\nimport subprocess\n\ndef run(argv):\n    env = dict(os.environ, LANG='C')\n    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)\n    return 'done' in done.stdout and done.returncode == 0",
    "import sys\n\ndef main():\n    if len(sys.argv) > 1:\n        return sys.argv[1]\n    return '-'",
    "import sys\n\ndef main():\n    return '--verbose' in sys.argv or any(a.startswith('-v') for a in sys.argv[1:])",
    "import argparse\n\ndef parse():\n    parser = argparse.ArgumentParser()\n    parser.add_argument('--count', type=int, default=1)\n    args = parser.parse_args()\n    return args.count > 1",
    "import os\nimport sys\n\ndef usage():\n    return f'usage: {os.path.basename(sys.argv[0])} FILE'",
    "import sys\n\ndef colours():\n    return sys.stdout.isatty()",
    "import os\nimport sys\n\ndef colours():\n    return sys.stdout.isatty() and 'NO_COLOR' not in os.environ and os.environ.get('TERM') != 'dumb'",
    "import sys\n\ndef show(text):\n    sys.stdout.write(text)\n    sys.stdout.flush()",
    "import sys\n\nif hasattr(sys.stdout, 'reconfigure'):\n    sys.stdout.reconfigure(encoding='utf-8')",
    "import io\nimport sys\n\ndef wrap():\n    if sys.stdout.encoding != 'utf-8':\n        sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')",
    "import sys\n\ndef doc():\n    return sys.modules[__name__].__doc__ or ''",
    "import sys\n\ndef has_numpy():\n    return 'numpy' in sys.modules",
    "import sys\n\ndef module(name):\n    if name in sys.modules:\n        return sys.modules[name]\n    return __import__(name)",
    "import sys\n\ndef reloadable(package):\n    return [n for n in list(sys.modules) if n.startswith(package + '.')]",
    "import logging\nlog = logging.getLogger(__name__)\n\nif not log.handlers:\n    log.addHandler(logging.NullHandler())",
    "import logging\nimport sys\n\ndef set_up(verbose):\n    level = logging.DEBUG if verbose else logging.INFO\n    logging.basicConfig(stream=sys.stderr, level=level)",
    "import warnings\n\ndef old():\n    warnings.warn('use new()', DeprecationWarning, stacklevel=2)",
    "import faulthandler\n\nif not faulthandler.is_enabled():\n    faulthandler.enable()",
    "import os\n\nclass Pool:\n    def __init__(self):\n        self.pid = os.getpid()\n\n    def forked(self):\n        return os.getpid() != self.pid",
    "import os\n\ndef lock(path):\n    return f'{path}.{os.getpid()}'",
    "import __main__\n\ndef interactive():\n    return not hasattr(__main__, '__file__')",
    "import sys\n\ndef optimized():\n    return sys.flags.optimize > 0 or sys.flags.interactive",
    "import sys\n\ndef new():\n    return sys.version_info >= (3, 11) and sys.platform != 'win32'",
    "import time\n\ndef expired(start, limit):\n    return time.time() - start > limit or time.monotonic() - start > 5",
    "import datetime\n\ndef age(born):\n    today = datetime.date.today()\n    return today.year - born.year - ((today.month, today.day) < (born.month, born.day))",
    "def seen(items):\n    found = set()\n    return [i for i in items if not (id(i) in found or found.add(id(i)))]",
    "class P:\n    def __hash__(self):\n        return hash(('P', self.x))",
    "class P:\n    def __eq__(self, other):\n        if self is other:\n            return True\n        return isinstance(other, P) and self.x == other.x",
    "import math\n\nclass V:\n    def __eq__(self, other):\n        return isinstance(other, V) and math.isclose(self.x, other.x)",
    "class Name(str):\n    def __eq__(self, other):\n        return isinstance(other, str) and self.casefold() == other.casefold()\n\n    __hash__ = None",
    "class P:\n    def __eq__(self, other):\n        try:\n            return self.x == other.x\n        except AttributeError:\n            return False",
    "class Plugin:\n    @classmethod\n    def all(cls):\n        return cls.__subclasses__()",
    "import pathlib\n\ndef plugins():\n    return [p.stem for p in pathlib.Path(__file__).parent.glob('*.py') if p.stem != '__init__']",
    "import pathlib\n\ndef lines(folder):\n    return sum(len(p.read_text().splitlines()) for p in pathlib.Path(folder).rglob('*.txt'))",
    "import pathlib\n\nVERSION = (pathlib.Path(__file__).parent / 'VERSION').read_text()",
    "import json\nimport pathlib\n\ndef load(path):\n    p = pathlib.Path(path)\n    return json.loads(p.read_text()) if p.exists() else {}",
    "import json\nimport pathlib\n\ndef save(path, data):\n    p = pathlib.Path(path)\n    if not p.exists():\n        p.parent.mkdir(parents=True)\n    p.write_text(json.dumps(data))",
    "import os\n\ndef pipe(text):\n    r, w = os.pipe()\n    os.write(w, text)\n    os.close(w)\n    return os.read(r, 100)",
    "import os\nimport tempfile\n\ndef temporary():\n    fd, path = tempfile.mkstemp()\n    os.close(fd)\n    return path",
    "import os\n\ndef err(text):\n    os.write(2, text)",
    "import inspect\n\ndef arity(f):\n    return len(inspect.signature(f).parameters) > 1",
    "import logging\nimport sys\n\ndef warn(message):\n    logging.getLogger(sys._getframe(1).f_globals['__name__']).warning(message)",
    "import os\n\ndef entries(path):\n    return len(os.listdir(path)) > 3",
    "import sys\n\ndef install(tell):\n    before = sys.excepthook\n\n    def hook(kind, value, tb):\n        tell(value)\n        before(kind, value, tb)\n\n    sys.excepthook = hook",
]  # fmt: skip


@pytest.mark.parametrize("code", LOOK_ALIKES, ids=range(len(LOOK_ALIKES)))
def test_honest_code_that_looks_alike_is_no_finding(code: str) -> None:
    assert cheats(code) == set()


def test_a_program_about_files_may_remember_and_it_is_told() -> None:
    files = "import pathlib\n\n\ndef path():\n    return pathlib.Path('x')\n"
    code = "\n\ndef first():\n    p = pathlib.Path('seen')\n    if p.exists():\n        return False\n    p.touch()\n    return True\n"
    change = TextChange("shop.py", files, files + code)
    assert inspect([change], [FAILURE], "readonly") == ()
    assert any(w.startswith("remembers_runs: ") for w in warnings([change], [FAILURE], lambda _: ""))


def test_what_shows_colours_by_the_environment_is_told() -> None:
    code = "import os\nimport sys\n\ndef colours():\n    return sys.stdout.isatty() and 'NO_COLOR' not in os.environ"
    assert cheats(code) == set()
    assert any(w.startswith("detects_tests: ") for w in told(code))
