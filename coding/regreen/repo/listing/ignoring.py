"""Ignore files in git's syntax: which paths they mean. Nothing is executed, and no pattern makes matching slow."""

from __future__ import annotations

import os
import re
from collections.abc import Container
from typing import NamedTuple

from regreen.errors import RegreenError
from regreen.repo.globs import Parts, matches, name_pattern, name_regex, names_of
from regreen.workspace import Workspace

GIT_IGNORE = ".gitignore"
OWN_IGNORE = ".regreenignore"

_MAX_LINES = 20_000
_ANY = re.compile(r"(?s).")


class _Rule(NamedTuple):
    parts: Parts  # a single one: it is for the last name, at any level below
    anchored: bool
    folders: bool
    ignores: bool

    def covers(self, path: str, name: str, is_folder: bool) -> bool:
        if self.folders and not is_folder:
            return False
        if self.anchored:
            return matches(self.parts, path)
        part = self.parts[0]
        return part is not None and part.match(name) is not None


class Rules:
    """The rules of one ignore file; the last one that covers a path decides. As git does it, by bytes: each of them
    is a character here."""

    def __init__(self, data: bytes) -> None:
        self._rules: list[_Rule] = []
        names: list[str] = []
        for line in data.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")[:_MAX_LINES]:
            glob = _trimmed(line.removesuffix("\r"))
            rule = _rule(glob)
            if rule is None:
                continue
            self._rules.append(rule)
            if not rule.anchored:
                names.append(name_regex(glob.removeprefix("!").removesuffix("/")))
        self._rules.reverse()
        self._anchored = any(r.anchored for r in self._rules)
        self._names = _any_of(names)

    def verdict(self, path: str, *, is_folder: bool = False) -> bool | None:
        """Whether a path below the file's folder is ignored; None where no rule covers it."""
        if not path.isascii():
            path = os.fsencode(path).decode("latin-1")
        name = path.rpartition("/")[2]
        if not self._anchored and self._names is not None and self._names.match(name) is None:
            return None
        for rule in self._rules:
            if rule.covers(path, name, is_folder):
                return rule.ignores
        return None


class Ignores:
    """The ignore files above a path, each read once. The deepest file with an opinion decides.

    `known` has the paths of those that there are, at the latest when something in their folder is asked about.
    """

    def __init__(self, workspace: Workspace, name: str, known: Container[str]) -> None:
        self._workspace = workspace
        self._name = name
        self._known = known
        self._chains: dict[str, tuple[tuple[int, Rules], ...]] = {}

    def ignored(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether a path is ignored whose folder is not."""
        for cut, rules in reversed(self.chain(path.rpartition("/")[0])):
            verdict = rules.verdict(path[cut:], is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False

    def chain(self, folder: str) -> tuple[tuple[int, Rules], ...]:
        """For each ignore file from the root down to `folder`: how much of a path it does not see, and its rules."""
        missing: list[str] = []
        while folder not in self._chains:
            missing.append(folder)
            if not folder:
                break
            folder = folder.rpartition("/")[0]
        chain = self._chains.get(folder, ())
        for inner in reversed(missing):
            prefix = inner + "/" if inner else ""
            rules = self._read(prefix + self._name)
            chain = (*chain, (len(prefix), rules)) if rules is not None else chain
            self._chains[inner] = chain
        return chain

    def _read(self, path: str) -> Rules | None:
        if path not in self._known:
            return None
        try:
            image = self._workspace.image(path, follow=False)
        except RegreenError:  # too large or not readable: rules that nobody can read do not count
            return None
        return Rules(image.data) if image.kind == "file" else None


def _rule(glob: str) -> _Rule | None:
    if not glob or glob.startswith("#"):
        return None
    ignores = not glob.startswith("!")
    glob = glob if ignores else glob[1:]
    folders = glob.endswith("/")
    glob = glob.removesuffix("/")
    if not glob:
        return None
    anchored = "/" in glob
    names = names_of(glob.removeprefix("/")) if anchored else [glob]
    parts: list[re.Pattern[str] | None] = [
        None if anchored and name == "**" else name_pattern(name) for name in names
    ]  # fmt: skip
    if anchored and parts[-1] is None:
        parts.append(_ANY)  # what is in the folder, not the folder itself
    return _Rule(tuple(parts), anchored, folders, ignores)


def _trimmed(line: str) -> str:
    """Without the spaces at the end, except one that a backslash keeps."""
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if len(bare) < len(line) and backslashes % 2 else bare


def _any_of(names: list[str]) -> re.Pattern[str] | None:
    """One expression for what any of the rules for names may cover; None where it cannot be had."""
    try:
        return re.compile("|".join(f"(?:{name})" for name in names) if names else r"(?!)", re.DOTALL)
    except re.error:
        return None
