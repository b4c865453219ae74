"""Which tests call which functions of a project: learnt from warm runs, kept, and renewed only for what has changed.

It cannot see everything that a test depends on: data files, other processes, the environment, modules that were chosen
while it ran. So it orders tests and preselects among them; a cold run of the whole scope has the last word.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

from regreen.sandbox import Cancel
from regreen.testing.request import OnProgress, SuiteRequest
from regreen.testing.warm.outline import MODULE, Outline, outline
from regreen.testing.warm.pytest_warm import WarmPytest
from regreen.testing.warm.talk import Message
from regreen.testing.warm.values import NotWarm

_FORMAT = 1
Digests: TypeAlias = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True, order=True)
class Function:
    """A function of the project: path relative to the root, and qualified name (`<module>` for code outside of any).
    `line` is where it began when it was seen, and no part of what it is."""

    path: str
    qualname: str
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class CoverageMap:
    """What each test called. `importing` ran while modules were imported: every test may depend on it. `digests` say
    what the code of the functions was then: path -> qualified name -> digest."""

    touched: Mapping[str, frozenset[Function]] = field(default_factory=dict[str, frozenset[Function]])
    importing: frozenset[Function] = frozenset()
    digests: Digests = field(default_factory=dict[str, Mapping[str, str]])

    @property
    def tests(self) -> frozenset[str]:
        return frozenset(self.touched)

    def touching(self) -> dict[Function, frozenset[str]]:
        """The other way round: function -> tests."""
        found: dict[Function, set[str]] = {}
        for test, functions in self.touched.items():
            for function in functions:
                found.setdefault(function, set()).add(test)
        return {function: frozenset(tests) for function, tests in found.items()}

    def tests_touching(self, paths: Iterable[str] = (), functions: Iterable[Function] = ()) -> frozenset[str]:
        """The known tests that call any of the functions, or any function in the files.

        All tests for a function that runs at import, and for a file that is imported and has no function that a test
        calls. Nothing is said about tests that are not in the map.
        """
        files, wanted = frozenset(paths), frozenset(functions)
        if wanted & self.importing:
            return self.tests
        found = {t for t, called in self.touched.items() if called & wanted or any(f.path in files for f in called)}
        reached = {f.path for called in self.touched.values() for f in called}
        if any(path not in reached and path in {f.path for f in self.importing} for path in files):
            return self.tests
        return frozenset(found)

    def fresh(self, root: Path) -> frozenset[str]:
        """The tests for which nothing has changed: neither a function that they call, nor the rest of its file."""
        now = {path: _outline(root, path).digests for path in self.digests}
        return frozenset(
            test for test, called in self.touched.items() if called and all(self._same(f, now) for f in called)
        )

    def _same(self, function: Function, now: Digests) -> bool:
        before, after = self.digests.get(function.path, {}), now.get(function.path, {})
        return all(before.get(name) is not None and before.get(name) == after.get(name)
                   for name in (function.qualname, MODULE))  # fmt: skip

    def only(self, tests: frozenset[str]) -> CoverageMap:
        """Without all other tests."""
        return CoverageMap({t: f for t, f in self.touched.items() if t in tests}, self.importing, self.digests)

    def renewed(self, told: CoverageMap) -> CoverageMap:
        """With what a later run told."""
        touched = {**self.touched, **told.touched}
        return CoverageMap(touched, told.importing or self.importing, {**self.digests, **told.digests})


def cover(
    warm: WarmPytest, request: SuiteRequest, cancel: Cancel, on_progress: OnProgress | None = None
) -> CoverageMap | NotWarm:
    """The map for the tests of `request`. Runs those of them that are new or call what has changed, and keeps the map
    in the cache folder."""
    root = request.workspace.root
    place = _place(request)
    known = _load(place)
    kept = known.only(known.fresh(root))
    report, told = warm.run_covered(request, cancel, on_progress, skip=tuple(sorted(kept.tests)))
    if isinstance(report, NotWarm):
        return report
    renewed = kept.renewed(read(told, root))
    _save(place, renewed)
    return renewed


def read(told: Sequence[Message], root: Path) -> CoverageMap:
    """What a run told, with the functions named as the files are now."""
    spots: list[Function] = []
    outlines: dict[str, Outline] = {}
    touched: dict[str, frozenset[Function]] = {}
    importing: frozenset[Function] = frozenset()
    for message in told:
        for path, line, name in message["fresh"]:
            found = outlines.setdefault(path, _outline(root, path))
            part = found.parts[0] if name == MODULE else found.at(line)
            spots.append(Function(path, part.qualname, part.first))
        numbers: list[int] = message["numbers"]
        functions = frozenset(spots[n] for n in numbers)
        if message["id"]:
            touched[str(message["id"])] = functions
        else:
            importing |= functions
    return CoverageMap(touched, importing, {path: o.digests for path, o in outlines.items()})


def _outline(root: Path, path: str) -> Outline:
    try:
        return outline((root / path).read_text("utf-8", errors="replace"))
    except OSError:
        return outline("")


def _place(request: SuiteRequest) -> Path:
    name = hashlib.sha256(str(request.folder).encode()).hexdigest()[:24]
    return request.settings.cache_dir / "coverage" / f"{name}.json"


def _load(place: Path) -> CoverageMap:
    """The kept map; whatever is odd about the file only means that everything runs anew."""
    try:
        data = cast("dict[str, Any]", json.loads(place.read_bytes()))
        if data["format"] != _FORMAT:
            return CoverageMap()
        functions = [Function(*f) for f in data["functions"]]

        def chosen(numbers: Sequence[int]) -> frozenset[Function]:
            return frozenset(functions[n] for n in numbers)

        touched = {str(t): chosen(numbers) for t, numbers in data["touched"].items()}
        return CoverageMap(touched, chosen(data["importing"]), data["digests"])
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        return CoverageMap()


def _save(place: Path, kept: CoverageMap) -> None:
    functions = sorted({f for called in (*kept.touched.values(), kept.importing) for f in called})
    numbers = {f: n for n, f in enumerate(functions)}
    data = {
        "format": _FORMAT,
        "functions": [(f.path, f.qualname, f.line) for f in functions],
        "touched": {t: sorted(numbers[f] for f in called) for t, called in kept.touched.items()},
        "importing": sorted(numbers[f] for f in kept.importing),
        "digests": {path: kept.digests[path] for path in {f.path for f in functions} if path in kept.digests},
    }
    temporary = place.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(json.dumps(data), "utf-8")
        temporary.replace(place)
