"""Part of the fork server: what pytest does in each start before it knows its arguments, done once.

Standard library and pytest only; Python 3.8 or newer. All of it rests on parts of pytest that are not public, so it is
used with the versions it is known for and given up at the first surprise: a run then only starts slower.
"""

# ruff: noqa: BLE001
from __future__ import annotations

import importlib.metadata
import inspect
import os
import sys
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KNOWN = (7, 8, 9)
MAX_WRAPPED = 30
OURS = frozenset({"_pytest", "pluggy", "builtins", "regreen_inside", "regreen_session", "regreen_covered"})


def prepare() -> None:
    """Called once, before anything is forked."""
    if int(pytest.__version__.partition(".")[0]) not in KNOWN:
        return
    for step in (keep_config, search_only_fixtures, keep_distributions):
        try:
            step()
        except Exception:
            continue


def keep_config() -> None:
    """The first session of each fork takes a configuration with pytest's own plugins registered."""
    from pathlib import Path

    from _pytest import config as configs

    usual: Callable[..., Any] = configs.get_config
    options: dict[str, Any] = {"prog": "pytest.main()"} if "prog" in inspect.signature(usual).parameters else {}
    kept: list[Any] = [usual(**options)]
    params: Any = configs.Config.InvocationParams

    def get_config(args: Any = None, plugins: Any = None, **more: Any) -> Any:
        words = [str(a) for a in args or ()]
        blocks = any(w.startswith(("-p", "no:")) for w in words)
        if not kept or more != options or blocks:
            return usual(args, plugins, **more)
        config = kept.pop()
        config.invocation_params = params(args=args or (), plugins=plugins, dir=Path.cwd())
        return config

    assert kept[0].invocation_params.dir == Path.cwd()
    configs.get_config = get_config  # pyright: ignore[reportAttributeAccessIssue]


def look_at_modules(installed: Callable[[str], bool]) -> None:
    """Called when modules have been imported. The fixtures that each of them defines; and which file each of them is,
    which `inspect` otherwise finds out in each run that shows a failure."""
    inspect.getmodule(look_at_modules.__code__)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and installed(file) and id(module) not in reduced:
            fixtures = {n: v for n, v in list(vars(module).items()) if is_fixture(v)}
            stub = reduced[id(module)] = ModuleType(module.__name__)
            vars(stub).update(fixtures)
            if not fixtures:
                plain.add(id(stub))


reduced: dict[int, ModuleType] = {}  # a module's id -> one that has its fixtures alone
plain: set[int] = set()  # of these the ones without any
kinds: dict[Any, bool] = {}  # classes of plugins -> whether they define no fixtures


def search_only_fixtures() -> None:
    """Plugins are searched for fixtures only where they have some."""
    from _pytest.fixtures import FixtureManager

    usual: Callable[..., Any] = FixtureManager.parsefactories

    def parsefactories(self: Any, *args: Any, **kwargs: Any) -> None:
        holder = kwargs["holder"] if "holder" in kwargs else args[0] if args else None
        small = reduced.get(id(holder), holder)
        if id(small) in plain or without_fixtures(type(holder)):
            return
        if "holder" in kwargs:
            kwargs["holder"] = small
        else:
            args = (small, *args[1:])
        usual(self, *args, **kwargs)

    FixtureManager.parsefactories = parsefactories  # pyright: ignore[reportAttributeAccessIssue]


def is_fixture(value: Any) -> bool:
    """Whether pytest would take it for a fixture, or complain of one that is wrapped in something else."""
    for _ in range(MAX_WRAPPED):
        kind = cast("type[Any]", type(value))  # not its `__class__`: proxies answer that
        if kind.__name__ == "FixtureFunctionDefinition":
            return True
        if kind in (classmethod, staticmethod):
            value = value.__func__
        elif kind is not FunctionType or not value.__dict__:
            return False
        elif "_pytestfixturefunction" in value.__dict__:
            return True
        else:
            value = value.__dict__.get("__wrapped__")
    return True


def without_fixtures(kind: Any) -> bool:
    """Whether instances of this class, a plugin's, are known to define no fixture."""
    if kind is ModuleType:
        return False
    if kind not in kinds:
        ours = all(c.__module__.partition(".")[0] in OURS for c in kind.__mro__)
        spaces = cast("list[dict[str, Any]]", [vars(c) for c in kind.__mro__])
        kinds[kind] = ours and not any(is_fixture(v) for space in spaces for v in list(space.values()))
    return kinds[kind]


def keep_distributions() -> None:
    """What the folders of installed packages say about entry points and files is read once. Other folders of the
    search path are read each time."""
    usual: Callable[..., Any] = importlib.metadata.distributions
    kept: dict[str, list[Any]] = {}
    for folder in sys.path:
        if os.path.basename(folder) in ("site-packages", "dist-packages"):  # noqa: PTH119
            kept[folder] = [Kept(d) for d in usual(path=[folder])]

    def distributions(**kwargs: Any) -> Iterator[Any]:
        if kwargs:
            yield from usual(**kwargs)
            return
        for folder in sys.path:
            yield from kept[folder] if folder in kept else usual(path=[folder])

    importlib.metadata.distributions = distributions  # pyright: ignore[reportAttributeAccessIssue]


class Kept(importlib.metadata.Distribution):
    """A distribution whose entry points and files are known."""

    def __init__(self, usual: Any) -> None:
        self._usual = usual
        self._points = usual.entry_points
        self._files = usual.files if any(p.group == "pytest11" for p in self._points) else None
        self._read = self._files is not None
        self._metadata = usual.metadata if self._read else None

    def read_text(self, filename: str) -> str | None:
        return self._usual.read_text(filename)

    def locate_file(self, path: Any) -> Any:
        return self._usual.locate_file(path)

    @property
    def entry_points(self) -> Any:
        return self._points

    @property
    def files(self) -> Any:
        return self._files if self._read else self._usual.files

    @property
    def metadata(self) -> Any:
        return self._metadata if self._read else self._usual.metadata
