"""Which runs of `go test` a selection means: ids, files, folders, bare names of tests. Standalone.

Tests of one level in one package share a run. A run for every package that is named, since a pattern of names holds
for all packages of a run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_TEST = re.compile(r"^func ((?:Test|Example|Fuzz)\w*)\(", re.MULTILINE)
_NAMED = 5
_MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Package:
    """`label` is what its ids begin with; `files` are its test files that this machine builds."""

    path: str
    folder: Path
    label: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """One call of the go tool: packages by folder (none: all), further words, and the ids that it must tell of."""

    folders: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


def choose(entries: Sequence[str], packages: Sequence[Package], top: Path) -> tuple[list[Run], list[str]]:
    """The runs that the entries mean, and the entries that mean nothing (or too much, with the candidates)."""
    whole: dict[str, None] = {}
    tests: dict[tuple[str, str], dict[str, None]] = {}
    unmatched: list[str] = []
    by_folder = {_relative(p.folder, top): p for p in packages}
    for entry in entries:
        folders = _folders(entry, by_folder, top)
        found = [] if folders else _tests(entry, by_folder, top)
        if len({folder for folder, _ in found}) > 1 and not os.path.exists(top / entry):  # noqa: PTH110
            shown = [f"{by_folder[folder].label}/{test}" for folder, test in found]
            more = f" and {len(shown) - _NAMED} more" if len(shown) > _NAMED else ""
            unmatched.append(f"{entry} (it may mean {', '.join(shown[:_NAMED])}{more})")
            continue
        if not folders and not found:
            unmatched.append(entry)
        whole.update(dict.fromkeys(folders))
        for folder, test in found:
            above, _, name = test.rpartition("/")
            tests.setdefault((folder, above), {})[name] = None
    runs = [Run(tuple(whole))] if whole else []
    for (folder, above), names in tests.items():
        if folder not in whole:
            runs.append(_run(folder, above, list(names), by_folder[folder].label))
    return runs, unmatched


def _run(folder: str, above: str, names: list[str], label: str) -> Run:
    levels = [f"^{re.escape(part)}$" for part in above.split("/")] if above else []
    last = "|".join(re.escape(n) for n in names)
    prefix = f"{label}/{above}/" if above else f"{label}/"
    pattern = "/".join([*levels, f"^({last})$"])
    return Run((folder,), ("-run", pattern), tuple(prefix + n for n in names))


def _relative(folder: Path, top: Path) -> str:
    return Path(os.path.relpath(folder.resolve(), top.resolve())).as_posix()


def _folders(entry: str, by_folder: dict[str, Package], top: Path) -> list[str]:
    """Packages that are meant as a whole: by a folder, by a pattern (`./sub/...`) or an import path of the go tool, by
    a file without tests, by a label."""
    if entry.endswith("..."):
        entry = entry[:-3].rstrip("/") or "."
        inside = f"{entry}/"
    else:
        inside = "\n"
    named = [f for f, p in by_folder.items() if p.path == entry or p.path.startswith(inside)]
    if named:
        return named
    path = top / entry
    if os.path.isdir(path):  # noqa: PTH112
        here = _relative(path, top)
        return [f for f in by_folder if here == "." or f == here or f.startswith(f"{here}/")]
    if os.path.isfile(path) and path.suffix == ".go" and not _tests_in([path]):  # noqa: PTH113
        return [f for f in by_folder if f == _relative(path.parent, top)]
    return [f for f, p in by_folder.items() if p.label == entry]


def _tests(entry: str, by_folder: dict[str, Package], top: Path) -> list[tuple[str, str]]:
    path = top / entry
    if os.path.isfile(path):  # noqa: PTH113
        folder = _relative(path.parent, top)
        return [(folder, test) for test in _tests_in([path])] if folder in by_folder else []
    for folder, package in sorted(by_folder.items(), key=lambda pair: -len(pair[1].label)):
        test = entry.removeprefix(f"{package.label}/")
        if test != entry and test.partition("/")[0] in _known(package):
            return [(folder, test)]
    title = entry.partition("/")[0]
    return [(folder, entry) for folder, package in by_folder.items() if title in _known(package)]


def place_of(folder: Path, test: str) -> tuple[str, int]:
    """File (its name) and 0-based line of a test's function; empty where it is not found."""
    pattern = re.compile(rf"^func {re.escape(test.partition('/')[0])}\(", re.MULTILINE)
    for file in sorted(folder.glob("*_test.go")):
        try:
            text = file.read_text("utf-8", "replace")
        except OSError:
            continue
        found = pattern.search(text)
        if found:
            return file.name, text.count("\n", 0, found.start())
    return "", 0


def all_tests(folder: Path, files: Iterable[str] = ()) -> list[str]:
    """The tests that the files of a package have, in order; without `files`, also what build tags leave out."""
    found = _tests_in([folder / f for f in files] or sorted(folder.glob("*_test.go")))
    return sorted(t for t in found if t != "TestMain" and re.match(r"(?:Test|Fuzz)(?![a-z])", t))


def replaces_output(folder: Path, files: Iterable[str]) -> bool:
    """Whether test files put something else in the place of the standard output, so that a last word may be lost."""
    for file in files:
        try:
            text = (folder / file).read_text("utf-8", "replace")
        except OSError:
            continue
        if re.search(r"\bos\.Stdout\s*(?:,[^=\n]{0,200})?=[^=]", text):
            return True
    return False


def _known(package: Package) -> set[str]:
    return _tests_in(sorted(package.folder.glob("*_test.go")))


def _tests_in(files: Iterable[Path]) -> set[str]:
    found: set[str] = set()
    for file in files:
        try:
            with file.open("rb") as opened:
                found.update(_TEST.findall(opened.read(_MAX_BYTES).decode("utf-8", "replace")))
        except OSError:
            continue
    return found
