"""What a selection means to a runner of JavaScript: files, folders, and tests by their ids or titles.

A runner is given files and one pattern for names, which may let more tests run than were meant: `keeps` says which of
them were. Pure values.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from regreen.model import SuiteStatus
from regreen.testing.heard import Absent
from regreen.testing.javascript.titles import SEPARATOR, Titles, may_be_block, titles_in
from regreen.testing.looking import Look

_SUFFIX = re.compile(r"\.[cm]?[jt]sx?$|\.vue$|\.svelte$|\.json$", re.IGNORECASE)
_SPECIAL = re.compile(r"[.*+?^${}()|\[\]\\/]")
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Chosen:
    """A selection, read. `tests` are ids: file -> the rest behind it. `missing` are paths that are not there.

    `blocks` are those of `tests` that may name a block, all tests in which are meant; an id that is a test's own comes
    first, which `settled` sees to.
    """

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    tests: tuple[tuple[str, str], ...] = ()
    titles: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    blocks: frozenset[tuple[str, str]] = frozenset()

    @property
    def everything(self) -> bool:
        return not (self.files or self.folders or self.tests or self.titles)

    @property
    def whole(self) -> bool:
        """Whether all tests of some files are wanted, so that no pattern can be given."""
        return bool(self.files or self.folders)

    @property
    def paths(self) -> tuple[str, ...]:
        """Files that the runner is to be limited to; empty is no limit (folders are not among them)."""
        if self.titles:
            return ()
        return tuple(dict.fromkeys((*self.files, *(file for file, _ in self.tests))))

    @property
    def places(self) -> tuple[str, ...]:
        """Files and folders that the runner is to be limited to; empty is no limit."""
        return () if self.titles else (*self.paths, *self.folders)

    @property
    def names(self) -> tuple[str, ...]:
        """Regular expressions of full names, titles with blanks between them; empty where no pattern can be given.

        A separator in an id may also be part of a title: both are let through.
        """
        if self.whole or self.everything:
            return ()
        ids = [f"^{spelled(rest)}{'(?:$| )' if (file, rest) in self.blocks else '$'}" for file, rest in self.tests]
        return tuple(dict.fromkeys((*ids, *(f"(?:^|[ >]){escaped(title)}$" for title in self.titles))))

    def keeps(self, test: str) -> bool:
        """Whether a test was meant."""
        return bool(self.kept((test,)))

    def kept(self, tests: Collection[str]) -> frozenset[str]:
        """Those of the tests that were meant."""
        if self.everything:
            return frozenset(tests)
        exact = {SEPARATOR.join(entry) for entry in self.tests}
        ends = tuple(f"{SEPARATOR}{title}" for title in self.titles)
        starts = (
            *(f"{f}/" for f in self.folders if f != "."),
            *(f"{SEPARATOR.join(b)}{SEPARATOR}" for b in self.blocks),
            *(f"{f}{SEPARATOR}" for f in self.files),
        )
        exact.update(self.files)
        if "." in self.folders:
            return frozenset(tests)
        return frozenset(t for t in tests if t in exact or t.startswith(starts) or t.endswith(ends))

    def settled(self, seen: Collection[str]) -> Chosen:
        """The selection once it is known which tests there are."""
        if not self.blocks:
            return self
        ids = set(seen)
        return replace(self, blocks=frozenset(b for b in self.blocks if SEPARATOR.join(b) not in ids))

    def unmatched(self, seen: Collection[str]) -> tuple[str, ...]:
        """Entries that named no test of those that were seen, or several where one was meant."""
        none = [f for f in self.files if not any(file_of(s, (f,)) for s in seen)]
        none += [f for f in self.folders if f != "." and not any(s.startswith(f"{f}/") for s in seen)]
        ids = set(seen)
        broken = {s for s in seen if SEPARATOR not in s}  # files that could not be loaded
        lost = [e for e in self.tests if SEPARATOR.join(e) not in ids and e[0] not in broken]
        none += [SEPARATOR.join(e) for e in lost if e not in self.blocks or not _any_below(SEPARATOR.join(e), ids)]
        for title in self.titles:
            fitting = [s for s in ids if s.endswith(f"{SEPARATOR}{title}")]
            if len(fitting) != 1:
                none.append(f"{title} (it stands for {_some(fitting)})" if fitting else title)
        return tuple(none)


def _any_below(block: str, ids: Collection[str]) -> bool:
    return any(i.startswith(f"{block}{SEPARATOR}") for i in ids)


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(sorted(ids)[:_SHOWN])
    return f"{shown} and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else shown


def file_of(test: str, files: Collection[str]) -> str:
    """Which of the files a test belongs to; "" for none."""
    return next((f for f in files if test == f or test.startswith(f"{f}{SEPARATOR}")), "")


def choose(look: Look, entries: Sequence[str], last_failed: Sequence[str]) -> Chosen:
    """The selection of a request. Of `last_failed`, what is not there any more is left out."""
    chosen = _sort(look, entries)
    if entries or not last_failed:
        return replace(chosen, blocks=_blocks(look, chosen.tests))
    return _sort(look, [t for t in last_failed if _file_in(look, t)])


def _blocks(look: Look, tests: Sequence[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    titles: dict[str, tuple[Titles, Titles]] = {}
    for file in {file for file, _ in tests}:
        titles[file] = titles_in(look.text(file))
    return frozenset((file, rest) for file, rest in tests if may_be_block(rest, *titles[file]))


def _sort(look: Look, entries: Sequence[str]) -> Chosen:
    files: dict[str, None] = {}
    folders: dict[str, None] = {}
    tests: dict[tuple[str, str], None] = {}
    titles: dict[str, None] = {}
    missing: dict[str, None] = {}
    for entry in entries:
        file = _file_in(look, entry)
        path = _relative(entry, look)
        if file and len(file) < len(path):
            tests[file, path[len(file) + len(SEPARATOR) :]] = None
        elif file:
            files[file] = None
        elif path == "." or look.folder_exists(path):
            folders[path] = None
        elif _SUFFIX.search(entry.partition(SEPARATOR)[0]) and " " not in entry.partition(SEPARATOR)[0]:
            missing[entry] = None
        else:
            titles[entry] = None
    return Chosen(tuple(files), tuple(folders), tuple(tests), tuple(titles), tuple(missing))


def _relative(entry: str, look: Look) -> str:
    path = PurePosixPath(entry)
    if path.is_absolute() and path.is_relative_to(look.path):
        return path.relative_to(look.path).as_posix()
    return entry.removeprefix("./").rstrip("/") if entry not in (".", "./") else "."


def _file_in(look: Look, entry: str) -> str:
    """The file that an entry starts with; "" for none. A file's name may hold the separator as well."""
    parts = _relative(entry, look).split(SEPARATOR)
    for count in range(1, len(parts) + 1):
        path = SEPARATOR.join(parts[:count])
        if path and not path.startswith("/") and look.exists(path):
            return path
    return ""


def absent_paths(chosen: Chosen) -> Absent:
    """The answer to a selection of files that are not there."""
    return Absent(f"matches no test: {', '.join(chosen.missing)} (no such file)", SuiteStatus.NO_TESTS)


def escaped(text: str) -> str:
    """`text` as a regular expression of JavaScript that fits only itself."""
    return _SPECIAL.sub(lambda m: f"\\{m[0]}", text)


def spelled(rest: str) -> str:
    """The part of an id behind its file as an expression for the full name that runners make of it."""
    return "(?: > | )".join(_with_blanks(escaped(part)) for part in rest.split(SEPARATOR))


def _with_blanks(part: str) -> str:
    """Blanks at the ends of a title may be lost where a runner joins titles; line ends are blanks in an id."""
    inner = re.sub(r" +", r"\\s+", part.strip(" "))
    return (r"\s*" if part.startswith(" ") else "") + inner + (r"\s*" if part.endswith(" ") else "")


def either(names: Sequence[str]) -> str:
    """One expression for all of them."""
    return names[0] if len(names) == 1 else "|".join(f"(?:{name})" for name in names)


def options_of(arguments: Sequence[str], valued: Collection[str]) -> tuple[list[str], list[str]]:
    """A runner's arguments as (options with their values, the rest). `valued` are options whose value is a word of
    its own."""
    options: list[str] = []
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            rest.extend(words)
        elif not word.startswith("-") or word == "-":
            rest.append(word)
        else:
            options.append(word)
            if word in valued:
                options.extend(w for w in [next(words, None)] if w is not None)
    return options, rest


def without(options: Sequence[str], dropped: Mapping[str, bool]) -> list[str]:
    """Options without those that are ours to set. `dropped`: name -> whether it takes the next word as its value."""
    kept: list[str] = []
    words = iter(options)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in dropped:
            kept.append(word)
        elif dropped[name] and not equals:
            next(words, None)
    return kept


def lifted(script: Sequence[str], asked: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of a script as (kept, left out): without those that make a part of all tests run, as of what changed,
    or one shard of several. What the caller `asked` for is kept."""
    kept: list[str] = []
    dropped: list[str] = []
    words = list(script)
    while words:
        word = words.pop(0)
        name, equals, _ = word.partition("=")
        if name not in _LIMITS or word in asked:
            kept.append(word)
            continue
        dropped.append(word)
        if _LIMITS[name] and not equals and words and not words[0].startswith("-"):
            dropped.append(words.pop(0))
    return kept, dropped


def expanded(look: Look, words: Sequence[str]) -> tuple[str, ...]:
    """Words of a command with patterns (`test/**/*.js`) as the files that they fit, as a shell or a runner has it."""
    found: dict[str, None] = {}
    for word in words:
        fitting = [p for p in look.below() if _pattern(word).fullmatch(p)] if _GLOB.search(word) else []
        found.update(dict.fromkeys(fitting or [word]))
    return tuple(found)


def _pattern(word: str) -> re.Pattern[str]:
    """A path pattern with `**`, `*`, `?` and `{a,b}`."""
    parts = (_WILD.get(part, re.escape(part)) for part in _PARTS.split(word.removeprefix("./")) if part)
    depth = word.count("{") == word.count("}")
    return re.compile("".join(parts)) if depth else re.compile(re.escape(word))


_LIMITS = {  # name -> whether a value may stand behind it
    "--changed": True, "--shard": True, "--test-shard": True, "--onlyChanged": False, "-o": False,
    "--lastCommit": False, "--changedSince": True, "--changedFilesWithAncestor": False, "--onlyFailures": False,
}  # fmt: skip
_GLOB = re.compile(r"[*?{]")
_PARTS = re.compile(r"(\*\*/|\*\*|\*|\?|\{|\}|,)")
_WILD = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
