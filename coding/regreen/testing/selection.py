"""Turning what a caller selects into arguments for pytest: checked, inside the root, and never read as an option."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from regreen.commands.validators import MAX_NODE_ID, printable, relative_path
from regreen.errors import Refused


@dataclass(frozen=True, slots=True)
class Selected:
    """`arguments` can be handed to the runner; `names` are bare test names that need a collection to be found;
    `unknown` names a file or folder that does not exist. `asked` gives, for each argument that must take in a test,
    the entry that it came of. `everything` are the arguments for all tests; `to_argument` makes one of an id."""

    arguments: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    asked: Mapping[str, str] = field(default_factory=dict[str, str])
    everything: tuple[str, ...] = ()
    to_argument: Callable[[str], str] = str

    def with_ids(self, found: Mapping[str, str]) -> Selected:
        """With the ids that were found for the names (id -> name)."""
        more = {self.to_argument(i): name for i, name in found.items()}
        return replace(self, arguments=(*self.arguments, *more), names=(), asked={**self.asked, **more})


def select(entries: Sequence[str], root: Path) -> Selected:
    """Sort the entries by what they are. Raises Refused for an entry that leaves the root or looks like an option."""
    arguments: list[str] = []
    names: list[str] = []
    unknown: list[str] = []
    for entry in entries:
        word = inside(entry, root)
        path, _, test = word.partition("::")
        looks_like_path = "/" in path.partition("[")[0] or path.endswith(".py")
        if path and os.path.exists(root / path) and (test or "[" not in path):  # noqa: PTH110
            arguments.append(word)
        elif looks_like_path:
            unknown.append(entry)
        else:
            names.append(word)
    return Selected(tuple(arguments), tuple(names), tuple(unknown), {a: a for a in arguments})


def inside(entry: str, root: Path) -> str:
    """The entry with its path relative to the root. Raises Refused where it leaves that, or looks like an option."""
    path, colons, test = entry.partition("::")
    if Path(path).is_absolute():
        if not Path(path).is_relative_to(root):
            raise Refused("path_outside_workspace", f"selection {entry[:200]!r} lies outside of {root}",
                          "select tests of this project, by path relative to its root")  # fmt: skip
        path = str(Path(path).relative_to(root))
    problem = printable(entry, MAX_NODE_ID) or relative_path(path.partition("[")[0], root)
    if "leads out" in problem:
        raise Refused("path_outside_workspace", f"selection {entry[:200]!r}: {problem}", "select tests of this project")
    if problem:
        raise Refused("argument_value_invalid", f"selection {entry[:200]!r} is not allowed: {problem}",
                      "use test ids, files or folders relative to the project, or a bare test name")  # fmt: skip
    return path + colons + test


def find_name(name: str, ids: Iterable[str]) -> tuple[str, ...]:
    """The ids that a bare name means: one id (all parameters of it) if it is unambiguous, else every candidate."""
    found: dict[str, None] = {}
    for test in ids:
        title = test.partition("::")[2]
        bare, base = title.partition("[")[0], test.partition("[")[0]
        if title == name or title.endswith(f"::{name}"):
            found[test] = None
        elif bare == name or bare.endswith(f"::{name}"):
            found[base] = None
    return tuple(found)


def resolved(entries: Sequence[str], root: Path, ids: Iterable[str]) -> tuple[str, ...]:
    """The entries with each bare name as the ids that it stands for, of those that a run of the entries told of.

    Everything, which is (), where a name stands for none: it is not one of pytest's.
    """
    chosen = select(entries, root)
    known = tuple(ids)
    found = [find_name(name, known) for name in chosen.names]
    return (*chosen.arguments, *(i for meant in found for i in meant)) if all(found) else ()


def selects(entry: str, test: str) -> bool:
    """Whether `entry`, an argument, takes in the test of this id."""
    entry = entry.rstrip("/")
    if entry in (".", test):
        return True
    return any(test.startswith(entry + mark) for mark in ("::", "/", "["))
