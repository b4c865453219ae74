"""Runs unittest inside the project's interpreter and tells what happens over a private socket. Standalone: only the
standard library, Python 3.8 or newer. Started by `launch.py`; regreen never imports it.

It behaves as `python -m unittest` does, with its own parser and its text on stderr. What it adds: the tests are named
before they run, tests can be left out, and files are loaded from the topmost folder of their package, so that a test
has one id however it was selected.
"""

# ruff: noqa: PTH100, PTH109, PTH112, PTH113, PTH118, PTH119, PTH120, PTH122, N802, N815
from __future__ import annotations

import faulthandler
import inspect
import os
import re
import sys
import time
import unittest
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar
from unittest import loader as loading
from unittest import suite as suites

if TYPE_CHECKING:
    from . import regreen_canary as canary
    from .regreen_common import MAX_TEXT, Bytecode, Channel, Describer, allow_dump, chain, watch_writes
else:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import regreen_canary as canary
    from regreen_common import MAX_TEXT, Bytecode, Channel, Describer, allow_dump, chain, watch_writes

    del sys.path[0]

REFUSED = 4  # the exit status for arguments that unittest does not take, as pytest has it
IGNORE = "--ignore="
COLLECT = "--collect-only"
FIXTURE = re.compile(r"(setUp|tearDown)(Class|Module) \((.+)\)")
PATTERN = "test*.py"
ExcInfo = Any  # what `sys.exc_info` gives


def shown(path: str) -> str:
    """A path as selections have it: relative to the working folder."""
    return os.path.relpath(path).replace(os.sep, "/")


def top_of(path: str) -> str:
    """The folder from which a file or folder is imported: above the topmost package, never above the project."""
    here = os.getcwd()
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    while folder != here and os.path.isfile(os.path.join(folder, "__init__.py")):
        folder = os.path.dirname(folder)
    return folder


def name_of(test: Any) -> str:
    """A test's id; a module that is skipped as a whole is one test, with the module's name."""
    if type(test).__name__ == "ModuleSkipped":
        return str(test._testMethodName)
    try:
        return str(test.id())
    except AttributeError:
        return str(test)


def place_of(test: Any) -> tuple[str, int]:
    """The file and line where a test is defined, as far as that can be found."""
    try:
        method: Any = inspect.unwrap(getattr(test, test._testMethodName))
        return str(method.__code__.co_filename), int(method.__code__.co_firstlineno) - 1
    except (AttributeError, TypeError, ValueError):
        return "", 0


def home_of(test: Any) -> tuple[str, str]:
    """A test's class as unittest names it, and its module."""
    cls: Any = test.__class__
    return f"{cls.__module__}.{cls.__qualname__}", cls.__module__


def tests_in(suite: Any) -> Iterator[Any]:
    """All tests of a suite of suites, in running order."""
    try:
        inner = iter(suite)
    except TypeError:
        yield suite
        return
    for one in inner:
        yield from tests_in(one)


def keep(suite: Any, wanted: Callable[[Any], bool]) -> Any:
    """The suite with only the wanted tests. Its parts stay what they are, since a project's own may do more."""
    inner: Any = getattr(suite, "_tests", None)
    if isinstance(inner, list):
        parts: list[Any] = inner  # pyright: ignore[reportUnknownVariableType]
        suite._tests = [keep(t, wanted) for t in parts if getattr(t, "_tests", None) is not None or wanted(t)]
    return suite


class Loader(unittest.TestLoader):
    """unittest's own loader, which tells what is being imported and remembers why an import failed."""

    def __init__(self, channel: Channel, ignored: frozenset[str]) -> None:
        super().__init__()
        self.channel = channel
        self.ignored = ignored
        self.files: dict[str, str] = {}  # module -> its file
        self.causes: dict[str, BaseException] = {}

    def _find_test_path(self, full_path: str, *args: Any) -> Any:
        if shown(full_path) in self.ignored or shown(os.path.join(full_path, "__init__.py")) in self.ignored:
            return None, False
        return super()._find_test_path(full_path, *args)  # type: ignore[misc]  # pyright: ignore

    def _get_module_from_name(self, name: str) -> Any:
        base = os.path.join(str(self._top_level_dir), *name.split("."))  # pyright: ignore
        path = f"{base}.py" if os.path.isfile(f"{base}.py") else os.path.join(base, "__init__.py")
        self.files[name] = shown(path)
        self.channel.send("collecting", id=self.files[name])
        try:
            return super()._get_module_from_name(name)  # type: ignore[misc]  # pyright: ignore
        except BaseException as e:
            self.causes[name] = e
            raise

    def folder(self, path: str, pattern: str = PATTERN) -> Any:
        top = top_of(path)
        if top in sys.path:
            sys.path.remove(top)
        sys.path.insert(0, top)
        return self.discover(path, pattern, top)

    def file(self, path: str, rest: str) -> Any:
        """The tests of a file, or those of them below a class or method."""
        top = top_of(path)
        if top not in sys.path:
            sys.path.insert(0, top)
        self._top_level_dir = top
        module = os.path.splitext(os.path.relpath(path, top))[0].replace(os.sep, ".")
        module = module[: -len(".__init__")] if module.endswith(".__init__") else module
        suite, _ = self._find_test_path(path, os.path.basename(path))
        if suite is None:
            return suites.TestSuite()
        failed = any(isinstance(t, loading._FailedTest) for t in tests_in(suite))  # pyright: ignore
        if not rest or failed:
            return suite
        want = f"{module}.{rest}"
        kept = keep(suite, lambda t: name_of(t) == want or name_of(t).startswith(want + "."))
        if any(True for _ in tests_in(kept)):
            return kept
        try:  # what `load_tests` of the module leaves out can still be named
            named = self.loadTestsFromName(rest, sys.modules[module])
            return keep(named, lambda t: not self._not_there(t, rest))
        except (AttributeError, TypeError, KeyError):
            return suites.TestSuite()

    def word(self, word: str) -> Any:
        """The tests of one entry of a selection: a folder, a file, `file::Class.test` or a dotted name."""
        path, _, rest = word.partition("::")
        full = os.path.abspath(path)
        if os.path.isdir(full):
            return self.folder(full)
        if os.path.isfile(full):
            return self.file(full, rest)
        suite = self.loadTestsFromName(word)
        return keep(suite, lambda t: not self._not_there(t, word))

    @staticmethod
    def _not_there(test: Any, word: str) -> bool:
        """Whether a name could not be loaded because there is nothing of this name."""
        if not isinstance(test, loading._FailedTest):  # pyright: ignore
            return False
        error: Any = test._exception  # pyright: ignore
        missing = re.search(r"No module named '([^']+)'", str(error))
        return isinstance(error, AttributeError) or bool(missing and f"{word}.".startswith(f"{missing[1]}."))


class Telling:
    """What is sent about tests, and which of them a broken fixture of a class or module concerns."""

    def __init__(self, channel: Channel, describer: Describer) -> None:
        self.channel = channel
        self.describer = describer
        self.homes: dict[str, tuple[str, str]] = {}  # test -> its class, its module
        self.ended: dict[str, None] = {}
        self.started_at = 0.0
        self.told = False

    def collected(self, tests: list[Any]) -> None:
        for test in tests:
            self.homes[name_of(test)] = home_of(test)
        self.channel.send("collected", ids=[name_of(t) for t in tests])

    def cannot_load(self, where: str, error: BaseException) -> None:
        missing = next((e.name for e in chain(error) if isinstance(e, ModuleNotFoundError) and e.name), "")
        self.channel.send("collect_error", id=where, detail=self.describer.exception(error), missing=missing)

    def start(self, test: Any) -> None:
        self.started_at = time.perf_counter()
        self.told = False
        self.channel.send("start", id=name_of(test), place=place_of(test))

    def end(self, test: Any) -> None:
        self.ended[name_of(test)] = None
        self.channel.send("end", id=name_of(test))

    def report(self, test: Any, outcome: str, error: BaseException | None = None, **more: Any) -> None:
        if isinstance(test, suites._ErrorHolder):  # pyright: ignore
            for name in self._concerned(test):
                when = "teardown" if name in self.ended else "setup"
                self._send(name, outcome, error, ("", 0), {"when": when, "duration": 0.0, **more})
            return
        spent = time.perf_counter() - self.started_at
        self._send(name_of(test), outcome, error, place_of(test), {"duration": 0.0 if self.told else spent, **more})
        self.told = True

    def _concerned(self, holder: Any) -> list[str]:
        """The tests that did not run because of a fixture; of one that tidies up, the last that ran."""
        found = FIXTURE.fullmatch(str(holder.id()))
        if found is None:
            return [str(holder.id())]
        home = 0 if found[2] == "Class" else 1
        there = [i for i, homes in self.homes.items() if homes[home] == found[3]]
        open_, done = [i for i in there if i not in self.ended], [i for i in self.ended if i in there]
        chosen = (open_ or done[-1:]) if found[1] == "setUp" else (done[-1:] or open_)
        return chosen or [str(holder.id())]

    def _send(
        self, name: str, outcome: str, error: BaseException | None, place: tuple[str, int], more: dict[str, Any]
    ) -> None:
        fields: dict[str, Any] = {"when": "call", "xfail": False, "place": place, **more}
        if error is not None:
            fields["detail"] = self.describer.exception(error)
        elif outcome == "failed":
            fields["detail"] = {"type": "", "message": fields.pop("message", ""), "frames": []}
        self.channel.send("report", id=name, outcome=outcome, **fields)


class Result(unittest.TextTestResult):
    """unittest's own result, which also tells."""

    telling: ClassVar[Telling]

    def startTest(self, test: Any) -> None:
        self.telling.start(test)
        super().startTest(test)

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        self.telling.end(test)

    def addSuccess(self, test: Any) -> None:
        self.telling.report(test, "passed")
        super().addSuccess(test)

    def addFailure(self, test: Any, err: ExcInfo) -> None:
        self.telling.report(test, "failed", _error(err))
        super().addFailure(test, err)

    def addError(self, test: Any, err: ExcInfo) -> None:
        self.telling.report(test, "failed", _error(err))
        super().addError(test, err)

    def addSkip(self, test: Any, reason: str) -> None:
        self.telling.report(getattr(test, "test_case", test), "skipped")
        super().addSkip(test, reason)

    def addExpectedFailure(self, test: Any, err: ExcInfo) -> None:
        self.telling.report(test, "skipped", xfail=True)
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.telling.report(test, "failed", message="passed, although it is marked as an expected failure")
        super().addUnexpectedSuccess(test)

    def addSubTest(self, test: Any, subtest: Any, err: ExcInfo | None) -> None:
        if err is not None:
            which = str(subtest._subDescription())
            self.telling.report(test, "failed", _error(err), sub=which)
        super().addSubTest(test, subtest, err)


def _error(err: tuple[type[BaseException], BaseException, TracebackType | None]) -> BaseException:
    error, trace = err[1], err[2]
    return error if error.__traceback__ is not None else error.with_traceback(trace)


class Runner(unittest.TextTestRunner):
    resultclass: Any = Result


class Program(unittest.TestProgram):
    """unittest's own program, which takes the tests from `targets`, where there are any, and tells what it found."""

    testLoader: Any
    test: Any

    def __init__(self, arguments: list[str], job: dict[str, Any], loader: Loader, telling: Telling) -> None:
        self.job = job
        self.telling = telling
        self.collect_only = COLLECT in arguments
        self.broken = False
        self.result: Any = None
        words = [a for a in arguments if a != COLLECT and not a.startswith(IGNORE)]
        super().__init__(
            module=None, argv=["python -m unittest", *words], testRunner=Runner, testLoader=loader, exit=False
        )

    def createTests(self, from_discovery: bool = False, Loader: Any = None) -> None:  # noqa: N803
        if self.job["targets"]:
            self.testLoader.testNamePatterns = getattr(self, "testNamePatterns", None) or None
            self.test = suites.TestSuite(self._chosen(self.job["targets"]))
        else:
            super().createTests(from_discovery, Loader)
        self._name(self.testLoader)

    def _chosen(self, words: list[str]) -> list[Any]:
        """The tests of all words, each once."""
        chosen: list[Any] = []
        lost: list[str] = []
        seen: set[str] = set()
        for word in words:
            suite = self._load(word)
            names = {name_of(t) for t in tests_in(suite)}
            if not names:
                lost.append(word)
            before = frozenset(seen)
            chosen.append(keep(suite, lambda t, before=before: name_of(t) not in before))
            seen |= names
        self.telling.channel.send("unmatched", words=lost)
        return chosen

    def _load(self, word: str) -> Any:
        try:
            return self.testLoader.word(word)
        except ImportError as e:  # a file that another one stands in front of
            self.broken = True
            self.telling.cannot_load(word, e)
            return suites.TestSuite()

    def _name(self, loader: Any) -> None:
        """Tell the tests; those that could not be loaded are told as such and left out."""
        for test in list(tests_in(self.test)):
            if isinstance(test, loading._FailedTest):  # pyright: ignore
                self.broken = True
                name = str(test._testMethodName)
                error: Any = loader.causes.get(name) or test._exception  # pyright: ignore
                self.telling.cannot_load(loader.files.get(name, name), error)
        only, skip = frozenset(self.job["only"]), frozenset(self.job["skip"])
        found = {name_of(t) for t in tests_in(self.test)}
        some = bool(only & found)

        def wanted(test: Any) -> bool:
            if isinstance(test, loading._FailedTest):  # pyright: ignore
                return False
            return name_of(test) not in skip and (not some or name_of(test) in only)

        self.test = keep(self.test, wanted)
        self.telling.collected(list(tests_in(self.test)))

    def runTests(self) -> None:
        if not self.collect_only:
            super().runTests()
            self.telling.channel.send("canary", text=canary.deaf_unittest(Result), why="")

    @property
    def code(self) -> int:
        good = self.result is None or self.result.wasSuccessful()
        return 0 if good and not self.broken else 1


def main() -> int:
    channel = Channel(int(sys.argv[1]))
    job = channel.read_job()
    arguments = sys.argv[2:]
    sys.argv = [os.path.join(os.path.dirname(unittest.__file__), "__main__.py"), *arguments]
    allow_dump(job["dump"])
    faulthandler.enable()
    if job["watch"]:
        watch_writes(channel, job["root"], job["own"])
    bytecode = Bytecode(job["root"], job["pyc"])
    bytecode.divert()
    bytecode.divert_children(job["warm"])
    channel.send("hello", python=".".join(map(str, sys.version_info[:3])))
    Result.telling = telling = Telling(channel, Describer(bytecode))
    ignored = frozenset(a[len(IGNORE) :] for a in arguments if a.startswith(IGNORE))
    try:
        code = Program(arguments, job, Loader(channel, ignored), telling).code
    except KeyboardInterrupt as e:
        channel.send("interrupted", text=f"{type(e).__name__}: {e}"[:MAX_TEXT])
        code = 2
    except SystemExit as e:  # its parser, since tests that exit are errors
        code = REFUSED if e.code else 0
    channel.send("exit", rc=code)
    sys.stdout.flush()
    sys.stderr.flush()
    return code
