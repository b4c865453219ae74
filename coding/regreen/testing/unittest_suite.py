"""The unittest runner: which folders discovery begins in, and what an entry of a selection means.

A test's id is `package.module.Class.test`, with the module as it is named from the topmost folder of its package. That
folder is not always the project's: `tests` without an `__init__.py` is one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from regreen.commands import CheckedCommand
from regreen.model import SuiteReport
from regreen.sandbox import Cancel
from regreen.testing.looking import Look
from regreen.testing.pytest_process import run_part
from regreen.testing.python_suite import PythonRunner, run_python
from regreen.testing.request import OnProgress, SuiteRequest
from regreen.testing.selection import Selected, inside
from regreen.testing.tally import Tally

MAX_READ = 500  # test files that are read, at most, to find out where discovery begins
MAX_LOOKED = 50  # and to find out whether they use unittest at all
_USES = re.compile(r"\bunittest\b|TestCase\b")
_DOTTED = re.compile(r"\w+(\.\w+)*")


def run_unittest(request: SuiteRequest, cancel: Cancel, on_progress: OnProgress | None) -> SuiteReport:
    """Run the tests of a Python project with unittest, which needs nothing to be installed."""
    return run_python(UNITTEST, request, cancel, on_progress, process=run_part)


def uses_unittest(look: Look) -> str:
    """A test file that uses unittest, among the first of them; "" for none."""
    return next((path for path in _test_files(look.below())[:MAX_LOOKED] if _USES.search(look.text(path))), "")


def _test_files(paths: Iterable[str]) -> list[str]:
    files = [p for p in paths if PurePosixPath(p).match("test*.py")]
    return files[:MAX_READ]


def top_of(path: str, files: Collection[str]) -> str:
    """The folder from which a file is imported: above its topmost package. "" is the project's folder."""
    folder = PurePosixPath(path).parent
    while str(folder) != "." and str(folder / "__init__.py") in files:
        folder = folder.parent
    return "" if str(folder) == "." else str(folder)


def tops(look: Look) -> tuple[str, ...]:
    """The folders in which discovery begins: the project's, and those that it would not get to from there."""
    files = frozenset(look.below())
    found = dict.fromkeys(top_of(p, files) for p in _test_files(look.below()) if _USES.search(look.text(p)))
    return ("", *(t for t in found if t))


def argument(test: str, look: Look, starts: Sequence[str]) -> str:
    """`file::Class.test` for a dotted name; "" where no file or package of the project is meant by it."""
    parts = test.split(".")
    for start in starts:
        for length in range(len(parts), 0, -1):
            base = "/".join((*([start] if start else ()), *parts[:length]))
            if look.exists(f"{base}.py"):
                return "::".join(filter(None, (f"{base}.py", ".".join(parts[length:]))))
            if length == len(parts) and look.folder_exists(base):
                return base
            if look.exists(f"{base}/__init__.py") and length < len(parts) and parts[length][:1].isupper():
                return f"{base}/__init__.py::{'.'.join(parts[length:])}"
    return ""


def _select(request: SuiteRequest, command: CheckedCommand | None) -> Selected:
    look = Look(request.workspace, request.project)
    starts = tops(look)
    everything = tuple(start or "." for start in starts)
    discovering = command is not None and command.words[-1] == "discover"
    named = () if command is None or discovering else command.targets
    asked: dict[str, str] = {}
    names: list[str] = []
    unknown: list[str] = []
    for entry in (*request.selection, *named):
        word = inside(entry, request.folder).rstrip("/")
        path = word.partition("::")[0]
        if look.exists(path) or look.folder_exists(path) or word == ".":
            asked[word] = entry
        elif "/" in word or word.endswith(".py") or not _DOTTED.fullmatch(word):
            unknown.append(entry)
        else:
            found = argument(word, look, starts)
            if found:
                asked[found] = entry
            else:
                names.append(word)
    whole = everything if not (asked or names or discovering) else ()
    return Selected(
        arguments=(*asked, *whole),
        names=tuple(names),
        unknown=tuple(unknown),
        asked=asked,
        everything=everything,
        to_argument=lambda test: argument(test, look, starts) or test,
    )


def _words(_request: SuiteRequest, command: CheckedCommand) -> tuple[str, ...]:
    if command.words[-1] == "discover":
        return ("discover", *command.arguments)
    return tuple(word for name, value in command.options for word in (name, value) if word is not None)


def find_name(name: str, ids: Iterable[str]) -> tuple[str, ...]:
    """The ids that a bare name means, or the one class or module; every candidate where that is not clear."""
    whole: dict[str, None] = {}
    for test in ids:
        dotted = f".{test}."
        start = dotted.find(f".{name}.")
        if start >= 0:
            whole[dotted[1 : start + len(name) + 1]] = None
    return tuple(whole)


def _unmatched(selection: Sequence[str], tally: Tally) -> list[str]:
    return [s for s in selection if s in (tally.unmatched or ())]


def _notes(request: SuiteRequest) -> list[str]:
    look = Look(request.workspace, request.project)
    if "django" in look.text("manage.py"):
        return ["tests that need Django's settings or database do not run under plain unittest (`manage.py test` is "
                "not supported): use pytest with pytest-django"]  # fmt: skip
    return []


UNITTEST = PythonRunner(
    name="unittest",
    inside="regreen_unittest",
    thorough=(),
    collecting=("--collect-only",),
    apart=True,
    words=_words,
    select=_select,
    find_name=find_name,
    unmatched=_unmatched,
    notes=_notes,
)
