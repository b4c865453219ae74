"""Which files may a run change? Pure rules over paths and, for tests, over what changed in them.

Protected are test files, their data and settings, and whatever else decides what a test run executes: changing
them can make any test pass. The policy loosens that on the user's word only.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from regreen.model import TamperPolicy
from regreen.repo import is_test_file
from regreen.workspace import Change, is_command_bearing

_TEST_DATA = frozenset({"__snapshots__", "snapshots", "golden", "goldens", "testdata", "fixtures"})


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a change is not allowed: `kind` as in the contract, `message` and `hint` for the proposer."""

    kind: str
    path: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Scope:
    """`globs` limits what may be edited (empty: every non-test file); `tests` says what holds for test files."""

    globs: tuple[str, ...] = ()
    tests: TamperPolicy = "readonly"

    def objections(self, changes: Iterable[Change], before: dict[str, str]) -> tuple[Objection, ...]:
        """What speaks against these changes. `before` holds the present text of the files they touch."""
        found = (self._objection(c, before.get(c.path, "")) for c in changes)
        return tuple(o for o in found if o is not None)

    def allows(self, path: str) -> bool:
        """May this path be edited at all under the scope, its content aside?"""
        inside = not self.globs or any(matches(path, g) for g in self.globs)
        return inside and not is_command_bearing(path) and (self.tests == "editable" or not is_protected_test(path))

    def _objection(self, change: Change, before: str) -> Objection | None:
        path = change.path
        if self.globs and not any(matches(path, g) for g in self.globs):
            return Objection(
                "path_out_of_scope",
                path,
                f"`{path}` is outside the paths of this run",
                f"edit only: {', '.join(self.globs)}",
            )
        if is_command_bearing(path):
            return Objection(
                "path_protected",
                path,
                f"`{path}` decides what a test run executes; it is read-only here",
                "change the code under test instead",
            )
        if not is_protected_test(path) or self.tests == "editable":
            return None
        after = None if change.after is None else change.after.decode("utf-8", "surrogateescape")
        if self.tests == "additions_only" and after is not None and adds_only(before, after):
            return None
        rule = "read-only" if self.tests == "readonly" else "open to new tests only"
        return Objection(
            "path_protected",
            path,
            f"`{path}` belongs to the tests, which are {rule} in this run",
            "change the code under test; if the test is wrong, say so and stop",
        )


def matches(path: str, pattern: str) -> bool:
    """Does a glob, a file or a folder (`src`, `src/`) cover this path? `**` and `*` both cross folders."""
    pattern = posixpath.normpath(pattern)
    return pattern == "." or path == pattern or path.startswith(pattern + "/") or fnmatchcase(path, pattern)


def is_protected_test(path: str) -> bool:
    """Test files, and the data and snapshots that lie beside them."""
    folders = path.lower().split("/")[:-1]
    return is_test_file(path) or bool(_TEST_DATA & set(folders)) or "tests" in folders or "test" in folders


def adds_only(before: str, after: str) -> bool:
    """True if `after` keeps every top-level statement of `before`, in order, and only adds new names."""
    try:
        old, new = ast.parse(before), ast.parse(after)
    except (SyntaxError, ValueError):
        return False
    kept = [ast.dump(n) for n in old.body]
    rest = iter([ast.dump(n) for n in new.body])
    if not all(any(k == r for r in rest) for k in kept):
        return False
    added = [n for n in new.body if ast.dump(n) not in set(kept)]
    return all(isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) for n in added) and not (
        _names(added) & _names(old.body)
    )


def _names(body: Sequence[ast.stmt]) -> set[str]:
    return {n.name for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
