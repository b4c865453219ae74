"""Proves, after the tests of a process, that what must fail still fails there and is reported as failed. Standalone as
those that use it: only the standard library and the runner, Python 3.8 or newer; regreen never imports it.

Code under test runs in the runner's process and could have changed the runner. So a few failing tests of our own go the
way of all tests: the runner's own call protocol, its assertions, its report. They are told to nobody: no hook of the
project and of other plugins is called, no fixture is set up, nothing is printed or counted.
"""

from __future__ import annotations

import os
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_REWRITTEN = b"""
def an_assertion():
    one, other = [1, "a"], [1, "b"]
    assert one == other
"""
_PLAIN = """
def an_error():
    raise AssertionError("must be seen")

def isinstance_of_another_type():
    if not isinstance(1, str):
        raise AssertionError

def pytest_raises():
    with pytest.raises(ValueError):
        pass

def pytest_approx():
    if not (1.0 == pytest.approx(2.0)):
        raise AssertionError

def pytest_fail():
    pytest.fail("must be seen")

def a_case_of_unittest():
    result = unittest.TestResult()
    unittest.FunctionTestCase(assertEqual_of_unittest)(result)
    if len(result.failures) == 1:
        raise AssertionError

def assertEqual_of_unittest():
    unittest.TestCase().assertEqual([1], [2])

def assertTrue_of_unittest():
    unittest.TestCase().assertTrue([])

def assertRaises_of_unittest():
    with unittest.TestCase().assertRaises(ValueError):
        pass
"""
_OWN_PLUGINS = frozenset({"_pytest.runner", "_pytest.python", "_pytest.skipping", "_pytest.unittest"})


# --- pytest --------------------------------------------------------------------------------------------


def deaf(session: Any, known: set[int]) -> str:
    """What does not fail in this session of pytest although it must; "" if all is well. `known` are the ids of the
    plugins that were there before the tests were imported: those that came later take part, whoever they are."""
    import pytest

    manager = session.config.pluginmanager
    away = [p for p in manager.get_plugins() if not _takes_part(p, known)]

    class Hooks:
        def __getattr__(self, name: str) -> Any:
            return manager.subset_hook_caller(name, remove_plugins=away)

    class Canary(pytest.Item):
        ihook: Any = Hooks()
        obj: Any
        funcargs: Any = ()
        _fixtureinfo: Any = types.SimpleNamespace(argnames=())

        def runtest(self) -> None:
            run: Any = pytest.Function.runtest
            run(self)

        def repr_failure(self, excinfo: Any, style: Any = None) -> str:  # noqa: ARG002
            return repr(excinfo.value)

        def reportinfo(self) -> Any:
            return self.path, 0, self.name

    make: Any = Canary
    file = str(session.items[-1].nodeid).partition("::")[0]
    passed: list[str] = []
    for name, test in _functions(session.config, pytest).items():
        item = make.from_parent(session, name=f"test_{name}", nodeid=f"{file}::test_{name}")
        item.obj = test
        if _outcome(item, pytest) != "failed":
            passed.append(name)
    return ", ".join(name.replace("_", " ") for name in passed)


def _takes_part(plugin: Any, known: set[int]) -> bool:
    name = str(getattr(plugin, "__name__", ""))
    late = id(plugin) not in known and os.path.basename(str(getattr(plugin, "__file__", ""))) != "conftest.py"  # noqa: PTH119
    return name in _OWN_PLUGINS or late


def _outcome(item: Any, pytest: Any) -> str:
    """The way of a test from its call to its report."""
    hooks = item.ihook
    call = pytest.CallInfo.from_call(lambda: hooks.pytest_runtest_call(item=item), when="call")
    return str(hooks.pytest_runtest_makereport(item=item, call=call).outcome)


def _functions(config: Any, pytest: Any) -> dict[str, Callable[[], None]]:
    """The failing tests; one is rewritten as those of the project are, which takes more time than all the others."""
    import ast

    from _pytest.assertion.rewrite import rewrite_asserts

    tree = ast.parse(_REWRITTEN)
    rewrite_asserts(tree, _REWRITTEN, None, config)
    space: dict[str, Any] = {"pytest": pytest, "unittest": sys.modules.get("unittest"), "__name__": "test_again"}
    exec(compile(tree, "test_again.py", "exec", dont_inherit=True), space)
    exec(_PLAIN, space)
    found = {n: f for n, f in space.items() if type(f) is type(_takes_part)}
    return {n: f for n, f in found.items() if space["unittest"] is not None or not n.endswith("unittest")}


# --- unittest ------------------------------------------------------------------------------------------


class _Heard:
    """Takes what is told about tests, and keeps the outcomes."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}

    def start(self, test: Any) -> None: ...

    def end(self, test: Any) -> None: ...

    def report(self, test: Any, outcome: str, error: Any = None, **more: Any) -> None:  # noqa: ARG002
        self.outcomes[test._testMethodName] = outcome


def deaf_unittest(result: Any) -> str:
    """What does not fail under unittest although it must. `result` is the class of results; each tells `telling`."""
    import io
    import unittest
    from unittest import runner

    class Canary(unittest.TestCase):
        def an_assertion(self) -> None:
            one, other = 1, 2
            assert one == other

        def assert_equal(self) -> None:
            self.assertEqual([1], [2])

        def assert_true(self) -> None:
            self.assertTrue([])

        def assert_raises(self) -> None:
            with self.assertRaises(ValueError):
                pass

        def assert_is_instance(self) -> None:
            self.assertIsInstance(1, str)

        def an_error(self) -> None:
            raise ValueError("must be seen")

    passed: list[str] = []
    for name in ("an_assertion", "assert_equal", "assert_true", "assert_raises", "assert_is_instance", "an_error"):
        if name == "an_assertion" and sys.flags.optimize:
            continue
        heard = _Heard()
        into = result(runner._WritelnDecorator(io.StringIO()), False, 0)  # pyright: ignore
        into.telling = heard
        Canary(name).run(into)
        if heard.outcomes.get(name) != "failed" or into.wasSuccessful():
            passed.append(name.replace("_", " "))
    return ", ".join(passed)
