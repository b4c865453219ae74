"""Which files may a run change, and how? Pure rules over paths and texts.

Protected are test files, their data and settings, and whatever else decides what a test run executes: changing
them can make any test pass. The policy loosens that on the user's word only. What the rules over paths let through is
looked at by the tamper guard.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from regreen.fix import tamper
from regreen.fix.protected import decides_tests, files_of_tests, is_protected_test
from regreen.fix.tamper import TextChange
from regreen.model import Failure, TamperPolicy
from regreen.workspace import Change

TAMPERING = "tampering"
OUT_OF_SCOPE_HINT = "edit files of the project, or start the run with `paths` that name this one"


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a change is not allowed: `kind` as in the contract, `message` and `hint` for the proposer.

    `cheat` is the stable name of what the tamper guard found; "" for the rules over paths.
    """

    kind: str
    path: str
    message: str
    hint: str
    cheat: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """`globs` limits what may be edited; without any, `why_not` does (it says why a path may not be, "" = it may).

    `tests` says what holds for test files.
    """

    globs: tuple[str, ...] = ()
    tests: TamperPolicy = "readonly"
    why_not: Callable[[str], str] = lambda _path: ""

    def objections(
        self, changes: Iterable[Change], before: Mapping[str, str], failures: Sequence[Failure] = ()
    ) -> tuple[Objection, ...]:
        """What speaks against these changes. `before` holds the present text of the files they touch, `failures` are
        the tests to be made green."""
        changes = tuple(changes)
        named = files_of_tests(failures)
        by_path = [o for c in changes if (o := self._by_path(c.path, named)) is not None]
        refused = {o.path for o in by_path}
        texts = text_changes([c for c in changes if c.path not in refused], before)
        found = tamper.inspect(texts, failures, self.tests)
        return (*by_path, *(Objection(TAMPERING, f.path, f.message, f.hint, f.cheat) for f in found))

    def allows(self, path: str) -> bool:
        """May this path be edited at all under the scope, its content aside?"""
        inside = any(matches(path, g) for g in self.globs) if self.globs else not self.why_not(path)
        return inside and not decides_tests(path) and (self.tests == "editable" or not is_protected_test(path))

    def _by_path(self, path: str, named: frozenset[str]) -> Objection | None:
        if self.globs and not any(matches(path, g) for g in self.globs):
            return Objection(
                "path_out_of_scope",
                path,
                f"`{path}` is outside the paths of this run",
                f"edit only: {', '.join(self.globs)}",
            )
        if not self.globs and (reason := self.why_not(path)):
            return Objection("path_out_of_scope", path, reason, OUT_OF_SCOPE_HINT)
        if decides_tests(path):
            return Objection(
                "path_protected",
                path,
                f"`{path}` decides what a test run executes; it is read-only here",
                "change the code under test instead",
            )
        if self.tests != "readonly" or not (is_protected_test(path) or path in named):
            return None
        return Objection(
            "path_protected",
            path,
            f"`{path}` belongs to the tests, which are read-only in this run",
            "change the code under test; if the test is wrong, say so and stop",
        )


def text_changes(changes: Iterable[Change], before: Mapping[str, str]) -> tuple[TextChange, ...]:
    """The changes as texts, for the tamper guard."""
    return tuple(
        TextChange(
            c.path,
            before.get(c.path, "") if c.before_sha else None,
            None if c.after is None else c.after.decode("utf-8", "surrogateescape"),
        )
        for c in changes
    )


def matches(path: str, pattern: str) -> bool:
    """Does a glob, a file or a folder (`src`, `src/`) cover this path? `**` and `*` both cross folders."""
    pattern = posixpath.normpath(pattern)
    return pattern == "." or path == pattern or path.startswith(pattern + "/") or fnmatchcase(path, pattern)
