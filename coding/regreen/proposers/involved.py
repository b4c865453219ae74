"""Which files a failure is about, the likeliest first: from suspicious lines, tracebacks, tests and what these import.

Pure but for `read`, which says what a file holds. A file that cannot be read is left out; nothing is searched for.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from regreen.model import Brief
from regreen.repo.classes import role_of_path

Read = Callable[[str], str | None]

_MOST_TESTS = 4
_MOST_IMPORTED = 8  # files, of one test file
_MOST_PROBED = 60  # names that are tried as a path, for one file
_DEEP = 2  # a package's own file mostly imports what the test means

_FRAME = re.compile(r"^\s*(?:File \")?([\w./@+-][^\s\":]*\.\w{1,6})(?:\", line |:)(\d{1,7})", re.MULTILINE)
_EDITED = re.compile(r"^\+\+\+ b/(.+?)\s*$", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]*)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)$", re.MULTILINE)
_REQUIRED = re.compile(r"""(?:\bfrom\s*|\brequire\(\s*|\bimport\s*\(?\s*)['"](\.{1,2}/[^'"\n]+)['"]""")
_SCRIPT_ENDS = ("", ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", "/index.js", "/index.ts")
_TEST_AFFIX = re.compile(r"^(?:test[_-])?(.+?)(?:[._-](?:test|spec))?(\.\w+)$")
_INDEXES = frozenset({"__init__.py", "index.js", "index.ts"})


@dataclass(frozen=True, slots=True)
class Involved:
    """A file, the lines of it that are spoken of, and whether it belongs to the tests."""

    path: str
    lines: tuple[int, ...]
    is_test: bool


def involved(brief: Brief, read: Read) -> tuple[Involved, ...]:
    """The files to show, ranked: suspicious code, code in tracebacks, the failing tests, what these import, and what
    earlier tries changed."""
    places = list(_places(brief))
    tests = [p for p in _test_paths(brief, places) if read(p)]
    code = [p for p, _ in places if not _is_test(p)]
    imported = [p for test in tests[:_MOST_TESTS] for p in _imports(test, read, _DEEP)]
    edited = [p for tried in brief.tried for p in _EDITED.findall(tried.diff)]
    ranked = dict.fromkeys((*code, *tests[:_MOST_TESTS], *imported, *edited))
    lines = {p: tuple(dict.fromkeys(n for at, n in places if at == p and n > 0)) for p in ranked}
    shown = (p for p in ranked if _inside(p) and role_of_path(p) != "vendored" and (read(p) or "").strip())
    return tuple(Involved(p, lines[p], _is_test(p)) for p in shown)


def _is_test(path: str) -> bool:
    return role_of_path(path) == "test"


def _places(brief: Brief) -> Iterator[tuple[str, int]]:
    """Paths and lines that are spoken of, the likeliest cause first."""
    for s in brief.suspicious:
        yield s.path, s.line
    for f in brief.failures:
        if _inside(f.file):
            yield f.file, f.line
        for path, line in _FRAME.findall(f.excerpt):
            if _inside(path):
                yield path, int(line)


def _inside(path: str) -> bool:
    """Whether this may be a path below the root, and one that can stand in a heading."""
    return bool(path) and path.isprintable() and not path.startswith(("/", "../", "<")) and ":" not in path


def _test_paths(brief: Brief, places: Iterable[tuple[str, int]]) -> list[str]:
    """The files of the failing tests: by their ids, and those in the tracebacks."""
    named = (i.partition("::")[0] for i in (*(f.id for f in brief.failures), *brief.failing))
    found = dict.fromkeys((*(p for p in named if _inside(p)), *(p for p, _ in places if _is_test(p))))
    return list(found)


def _imports(path: str, read: Read, deep: int) -> list[str]:
    """The files of the repository that this one imports, as far as their names tell."""
    found: dict[str, None] = {}
    for n, candidate in enumerate(_candidates(path, read(path) or "")):
        if n >= _MOST_PROBED or len(found) >= _MOST_IMPORTED:
            break
        if candidate != path and candidate not in found and read(candidate) is not None:
            found[candidate] = None
            if deep > 1 and posixpath.basename(candidate) in _INDEXES:
                found.update(dict.fromkeys(_imports(candidate, read, deep - 1)))
    return list(found)


def _candidates(path: str, text: str) -> Iterator[str]:
    folder = posixpath.dirname(path)
    if path.endswith((".py", ".pyi")):
        yield from _python(folder, text)
    for target in _REQUIRED.findall(text):
        base = posixpath.normpath(posixpath.join(folder, target))
        if _inside(base):
            yield from (base + end for end in _SCRIPT_ENDS)
    name = _TEST_AFFIX.match(posixpath.basename(path))
    if name is not None and _is_test(path):  # x_test.go stands beside x.go
        yield posixpath.join(folder, name[1] + name[2])


def _python(folder: str, text: str) -> Iterator[str]:
    for module, names in _FROM.findall(text):
        told = re.findall(r"[\w.]+", re.sub(r"\bas\s+\w+|#.*", "", names))
        yield from _modules(folder, module, told)
    for line in _IMPORT.findall(text):
        for module in re.findall(r"[\w.]+", re.sub(r"\bas\s+\w+", "", line)):
            yield from _modules(folder, module, ())


def _modules(folder: str, module: str, names: Iterable[str]) -> Iterator[str]:
    """Paths that a Python module may have, seen from a folder; `names` may be modules in it."""
    dots = len(module) - len(module.lstrip("."))
    inner = module.lstrip(".").replace(".", "/")
    if dots:
        bases = [posixpath.normpath(posixpath.join(folder, *[".."] * (dots - 1)))]
    else:
        bases = list(dict.fromkeys(("", "src", folder)))
    for base in bases:
        place = posixpath.normpath(posixpath.join(base, inner))
        if not _inside(place):
            continue
        if inner:
            yield f"{place}.py"
        yield from (posixpath.normpath(posixpath.join(place, f"{name}.py")) for name in names)
        yield posixpath.normpath(posixpath.join(place, "__init__.py"))
