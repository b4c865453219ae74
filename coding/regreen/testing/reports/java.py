"""Java, Kotlin, Groovy and Scala as their test reports speak of them: which file holds a class, which frames of a trace
lie in the project, and which classes and methods a selection means.

A class is looked for by the file's name and the folders above it, which is how these languages lay out their sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from regreen.testing.channel import Frame
from regreen.testing.looking import Look
from regreen.testing.reports.junit_xml import JunitCase
from regreen.testing.verdict import names

SUFFIXES = (".java", ".kt", ".groovy", ".scala")
MAX_TRACE = 60_000
_MAX_FRAMES = 40

_FRAME = re.compile(
    r"^\s+at (?:[\w.@\-]*/{1,2})?(?P<cls>[\w.$]+)\.(?P<name>[\w$<>\-]+)\((?P<file>[^():\s]+):(?P<line>\d{1,7})\)",
    re.M,
)
_CAUSE = re.compile(r"^Caused by: ", re.M)
_LAMBDA = re.compile(r"lambda\$(.+?)\$\d+")
_SOURCE_ROOT = re.compile(r"(?:^|/)src/[^/]+/(?:java|kotlin|groovy|scala)/(.+)\.\w+$")
_PACKAGE = re.compile(r"^\s*package\s+([\w.`]+)", re.M)
_CLASS_NAMES = re.compile(r"(?:Test|IT).*|.*(?:Test|Tests|TestCase|Spec)")
_CALLED_LIKE_A_CLASS = re.compile(r"[A-Z][\w$]*")


class Sources:
    """The source files below a project's folder; paths are relative to that folder."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self.paths = tuple(p for p in look.below() if p.endswith(SUFFIXES))
        self._by_name: dict[str, list[str]] = {}
        self._found: dict[tuple[str, str], str] = {}  # thousands of traces name the same few classes
        self._lines: dict[tuple[str, str], int] = {}
        for path in self.paths:
            self._by_name.setdefault(PurePosixPath(path).name, []).append(path)

    def of_class(self, name: str, file: str = "") -> str:
        """The file of a class, `file` being its name if it is known; "" where there is none."""
        known = self._found.get((name, file))
        if known is None:
            known = self._found[name, file] = self._of_class(name, file)
        return known

    def _of_class(self, name: str, file: str) -> str:
        outer, _, inner = name.partition("$")
        if "." in inner:
            return ""
        package, _, simple = outer.rpartition(".")
        folder = package.replace(".", "/")
        for called in [file] if file else [simple + s for s in SUFFIXES]:
            found = self._by_name.get(called, [])
            fitting = [p for p in found if f"/{p}".endswith(f"/{folder}/{called}" if folder else f"/{called}")]
            if fitting or (file and len(found) == 1):
                return (fitting or found)[0]
        return ""

    def class_of(self, path: str) -> str:
        """The class that a file is called after, with its package."""
        declared = _PACKAGE.search(self._look.text(path))
        stem = PurePosixPath(path).stem
        if declared:
            return f"{declared[1].replace('`', '')}.{stem}"
        rooted = _SOURCE_ROOT.search(path)
        return rooted[1].replace("/", ".") if rooted else stem

    def tests_below(self, folder: str) -> list[str]:
        """The files of test classes below a folder, as their names and places tell."""
        prefix = "" if folder in ("", ".") else folder.rstrip("/") + "/"
        inside = [p for p in self.paths if p.startswith(prefix) and "test" in f"{self._look.folder}/{p}".lower()]
        return [p for p in inside if _CLASS_NAMES.fullmatch(PurePosixPath(p).stem)] or inside

    def called(self, simple: str) -> list[str]:
        """The files of classes with this bare name."""
        return [p for s in SUFFIXES for p in self._by_name.get(simple + s, [])]

    def declaring(self, method: str) -> list[tuple[str, int]]:
        """The files that declare a method of this name, and how often."""
        pattern = _declaration(method)
        counted = ((p, len(pattern.findall(self._look.text(p)))) for p in self.tests_below(""))
        return [(p, n) for p, n in counted if n]

    def line_of(self, path: str, method: str) -> int:
        """The line that declares a method, from 1; 0 where none does."""
        known = self._lines.get((path, method))
        if known is None:
            text = self._look.text(path)
            found = _declaration(method).search(text)
            known = self._lines[path, method] = text.count("\n", 0, found.start("name")) + 1 if found else 0
        return known


def _declaration(method: str) -> re.Pattern[str]:
    word = re.escape(method)
    return re.compile(rf"(?:\b(?:void|fun|def|[\w<>\[\]]+)[ \t]+)(?P<name>`{word}`|(?<![\w]){word})[ \t]*\([^;{{]*\{{")


def frames(text: str, sources: Sources) -> tuple[Frame, ...]:
    """The frames of a trace that lie in the project, outermost first: the last is where the first cause arose."""
    found: list[Frame] = []
    for block in _CAUSE.split(text[:MAX_TRACE]):
        inner_first = [f for m in _FRAME.finditer(block) if (f := _frame(m, sources)) is not None]
        found += reversed(inner_first)
    return tuple(found[-_MAX_FRAMES:])


def _frame(match: re.Match[str], sources: Sources) -> Frame | None:
    path = sources.of_class(match["cls"], match["file"])
    if not path:
        return None
    hidden = _LAMBDA.fullmatch(match["name"])
    return Frame(path, int(match["line"]), hidden[1] if hidden else match["name"])


def method_of(name: str) -> str:
    """The method behind a case's name: without parameters and the number of an invocation."""
    return re.sub(r"[(\[{].*", "", name, flags=re.S).strip() or name


def test_id(case: JunitCase) -> str:
    """`package.Class.method`, with parameters and number as they were reported; the class alone where the report
    names no method."""
    name = case.name.removesuffix("()")
    if not name or name == case.classname:
        return case.classname
    return f"{case.classname}.{name}" if case.classname and not name.startswith(f"{case.classname}.") else name


def placed(case: JunitCase, sources: Sources) -> None:
    """Give a case of a report the file and line that its test stands at."""
    path = sources.of_class(case.classname)
    if path and not case.file:
        case.file, case.line = path, sources.line_of(path, method_of(case.name))


@dataclass(frozen=True, slots=True)
class Target:
    """What an entry of a selection means. `method` "" is the whole class; `exact` is an id with parameters; `inner`
    allows the class to be one inside of `owner`."""

    entry: str
    owner: str
    method: str = ""
    exact: str = ""
    inner: bool = False

    def fits(self, case: JunitCase) -> bool:
        """Whether a case is among what is meant."""
        if self.exact:
            return test_id(case) == self.exact
        if case.classname != self.owner and not case.classname.startswith(f"{self.owner}$"):
            return False
        return not self.method or not case.name or method_of(case.name) == self.method


@dataclass(frozen=True, slots=True)
class Choice:
    """A selection, read. `everything`: it limits nothing. `problem`: what is wrong with it."""

    targets: tuple[Target, ...] = ()
    everything: bool = False
    problem: str = ""

    def unmatched(self, cases: Iterable[JunitCase]) -> tuple[str, ...]:
        """The entries of which nothing ran."""
        wanted = dict.fromkeys(t.entry for t in self.targets)
        ran = list(cases)
        for target in self.targets:
            if target.entry in wanted and any(target.fits(c) for c in ran):
                del wanted[target.entry]
        return tuple(wanted)


def choose(entries: Sequence[str], sources: Sources, look: Look) -> Choice:
    """What the entries mean; a `problem` where one of them is a path that is not there, or a name that is nowhere or
    at several places."""
    targets: list[Target] = []
    for entry in entries:
        if entry in ("", "."):
            return Choice(everything=True)
        found = _targets(entry, sources, look)
        if isinstance(found, str):
            return Choice(problem=found)
        targets += found
    return Choice(tuple(targets), everything=not entries)


def _targets(entry: str, sources: Sources, look: Look) -> list[Target] | str:
    path, _, method = entry.partition("::")
    if look.exists(path):
        return [Target(entry, sources.class_of(path), method_of(method), inner=bool(method))]
    if look.folder_exists(path):
        files = sources.tests_below(path)
        found = [Target(entry, sources.class_of(p)) for p in files]
        return found or f"matches no test: {entry} holds no test classes"
    if "/" in entry.partition("(")[0]:
        return f"matches no test: {entry} does not exist"
    return _named(entry, sources)


def _named(entry: str, sources: Sources) -> list[Target] | str:
    base = method_of(entry).replace("#", ".")
    exact = entry.replace("#", ".", 1) if base != entry.replace("#", ".") else ""
    if "." not in base:
        return _bare(entry, base, sources)
    owner, method = _split(base, sources)
    if not exact and "#" not in entry and (sources.of_class(base) or _looks_like_class(method)):
        return [Target(entry, base)]
    if "." not in owner and not sources.of_class(owner):
        files = sources.called(owner.partition("$")[0])
        if len(files) > 1:
            return _ambiguous(entry, [f"{sources.class_of(p)}.{method}" for p in files])
        if files:
            owner = ".".join([*sources.class_of(files[0]).split(".")[:-1], owner])
            exact = exact and f"{owner}.{exact.partition('.')[2]}"
    return [Target(entry, owner, method, exact)]


def _split(name: str, sources: Sources) -> tuple[str, str]:
    """Class and method: the class is the one that there is, since the name of a method may hold dots too."""
    for dot in (m.start() for m in re.finditer(r"\.", name)):
        if name[dot + 1 :] and sources.of_class(name[:dot]):
            return name[:dot], name[dot + 1 :]
    owner, _, method = name.rpartition(".")
    return owner, method


def _looks_like_class(name: str) -> bool:
    return _CALLED_LIKE_A_CLASS.fullmatch(name) is not None


def _bare(entry: str, name: str, sources: Sources) -> list[Target] | str:
    classes = sources.called(name.partition("$")[0])
    if len(classes) == 1:
        package = sources.class_of(classes[0]).rpartition(".")[0]
        return [Target(entry, f"{package}.{name}" if package else name)]
    if classes:
        return _ambiguous(entry, [sources.class_of(p) for p in classes])
    declared = sources.declaring(name)
    if not declared:
        return f"matches no test: {entry}"
    if len(declared) > 1 or declared[0][1] > 1:
        return _ambiguous(entry, [f"{sources.class_of(p)}.{name}" for p, n in declared for _ in range(n)])
    return [Target(entry, sources.class_of(declared[0][0]), name, inner=True)]


def _ambiguous(entry: str, candidates: Sequence[str]) -> str:
    return f"{entry} is the name of several tests: {names(candidates)}. Give the whole id."
