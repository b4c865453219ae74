"""What the failing tests said: exceptions with their frames, compared values. Plain values from the worker. Pure."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Raised:
    """One exception of a failing test. `frames` are (path, line, function) inside the project, outermost first."""

    type: str
    bases: tuple[str, ...]
    message: str
    frames: tuple[tuple[str, int, str], ...]
    name: str = ""  # the missing name of NameError, AttributeError, ImportError
    names: tuple[str, ...] = ()  # what the object has instead, for AttributeError
    key: str = ""  # repr of a missing key

    @classmethod
    def read(cls, data: Json) -> Raised:
        frames = tuple((str(f[0]), int(f[1]), str(f[2])) for f in data["frames"])
        names = tuple(str(n) for n in data.get("names", ()))
        return cls(
            str(data["type"]), tuple(data["mro"]), str(data["message"]), frames, str(data.get("name", "")), names,
            str(data.get("key", "")),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Compared:
    """The two sides of a failed `assert left == right`, as Python values where they are literals."""

    left: object
    right: object


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about all goal tests together."""

    raised: tuple[Raised, ...] = ()
    compared: tuple[Compared, ...] = ()

    @classmethod
    def of(cls, tests: Sequence[Json]) -> Facts:
        raised = tuple(Raised.read(t["failure"]) for t in tests if t.get("failure"))
        compared: list[Compared] = []
        for test in tests:
            found = cast("Json | None", test.get("compared"))
            if found and found["op"] == "==":
                left, right = _literal(found["left"]), _literal(found["right"])
                if left is not _NONE and right is not _NONE:
                    compared.append(Compared(left, right))
        return cls(raised, tuple(compared))

    def pairs(self) -> list[tuple[object, object]]:
        """(one side, other side) of every comparison, both ways, numbers and strings only."""
        found: list[tuple[object, object]] = []
        for c in self.compared:
            if isinstance(c.left, (int, float, str)) and isinstance(c.right, (int, float, str)):
                found += [(c.left, c.right), (c.right, c.left)]
        return found

    def raised_in(self, path: str, lines: range) -> list[Raised]:
        """Exceptions that have a frame in these lines."""
        return [r for r in self.raised if any(p == path and line in lines for p, line, _ in r.frames)]


_NONE = object()


def _literal(text: str) -> object:
    """The value of a repr; of `pytest.approx` its middle."""
    try:
        return ast.literal_eval(text.partition(" ± ")[0])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _NONE
