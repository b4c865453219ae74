"""Signs in changed files that are no tests."""

from __future__ import annotations

import ast
import doctest
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from regreen.fix.tamper import other_code, python_code
from regreen.fix.tamper.folding import Names
from regreen.fix.tamper.parsing import parsed
from regreen.fix.tamper.python_calls import is_cli
from regreen.fix.tamper.python_decisions import decisions
from regreen.fix.tamper.python_detection import Looks, detections, looks
from regreen.fix.tamper.python_flow import Flow
from regreen.fix.tamper.python_reaching import reaches
from regreen.fix.tamper.source_text import language_of
from regreen.fix.tamper.values import Sign, TextChange, added
from regreen.model import Failure

_RUNNERS = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "coverage", "xdist", "hypothesis", "nose", "mock"})
_TOP = re.compile(r"((src|lib)/)?(?P<name>\w+)(\.py|/(?P<inner>.+))")
_KEPT = 32  # texts
_NO_SHADOW = frozenset({"__init__", "__main__", "this", "antigravity"})


def signs(change: TextChange, failures: Sequence[Failure]) -> list[Sign]:
    """What the change adds that could be a cheat."""
    if change.after is None:
        return []
    found = _python(change, failures) if language_of(change.path) == "python" else _by_patterns(change)
    return _allowed(found, failures)


def _by_patterns(change: TextChange) -> list[Sign]:
    before = other_code.signs_in(change.path, change.before or "")
    return added(before, other_code.signs_in(change.path, change.after or "", change.before))


def _python(change: TextChange, failures: Sequence[Failure]) -> list[Sign]:
    if _tree(change.after or "") is None:  # it will not run either, unless in a newer Python than ours
        return _by_patterns(change)
    try:
        return _parsed(change, change.before or "", change.after or "", failures)
    except RecursionError:  # what is nested so deeply was written to hide something, or by a machine
        too_deep = _too_deep(change.before or "")
        return _by_patterns(change) if too_deep else [Sign("runs_hidden_code", 0, "nested too deeply to be read")]


def _too_deep(text: str) -> bool:
    try:
        _signs_in("", text)
        _looks(text)
    except RecursionError:
        return True
    return False


def _parsed(change: TextChange, old: str, new: str, failures: Sequence[Failure]) -> list[Sign]:
    cli = _is_cli(change.path, new if _tree(old) is None else old)
    found = added(_signs_in(change.path, old), _signs_in(change.path, new))
    found += detections(_looks(old), _looks(new), cli=cli)
    fresh = added(_flowing(old, cli), _flowing(new, cli))
    about_files = change.before is None or _opens_files(old)  # it had to do with files before
    found += [replace(s, weight="warn") if s.cheat == "remembers_runs" and about_files else s for s in fresh]
    return found + _shadow(change, failures) + _doctests(change, failures)


# What is found in a text is kept: the text before a fix stays the same from one attempt to the next.


@lru_cache(_KEPT)
def _tree(text: str) -> ast.Module | None:
    return parsed(text)


def _readable(text: str) -> ast.Module:
    return _tree(text) or ast.Module([], [])


@lru_cache(_KEPT)
def _is_cli(path: str, text: str) -> bool:
    return is_cli(path, ast.dump(_readable(text)))


@lru_cache(_KEPT)
def _signs_in(path: str, text: str) -> tuple[Sign, ...]:
    return tuple(python_code.signs_in(path, _readable(text)))


@lru_cache(_KEPT)
def _looks(text: str) -> Looks:
    return looks(_readable(text))


@lru_cache(_KEPT)
def _flowing(text: str, cli: bool) -> tuple[Sign, ...]:
    tree = _readable(text)
    names = Names(tree)
    flow = Flow(tree, names)
    return (*decisions(tree, names, flow, cli=cli), *reaches(tree, names, flow))


@lru_cache(_KEPT)
def _opens_files(text: str) -> bool:
    return bool(re.search(r"\b(open|Path|pathlib|os\.path)\b", ast.unparse(_readable(text))))


def _shadow(change: TextChange, failures: Sequence[Failure]) -> list[Sign]:
    """A new file that would be imported in place of a module of the library or of the runner."""
    match = _TOP.fullmatch(change.path)
    if change.before is not None or match is None:
        return []
    name = match["name"]
    library = name in sys.stdlib_module_names and match["inner"] in (None, "__init__.py")
    if name in _NO_SHADOW or not (library or name in _RUNNERS):
        return []
    wanted = any(re.search(rf"No module named '{name}\b", f.message) for f in failures)
    return [] if wanted else [Sign("shadows_module", 0, name)]


def _doctests(change: TextChange, failures: Sequence[Failure]) -> list[Sign]:
    """Examples in docstrings, where they are among the tests to be made green."""
    mine = [f.id for f in failures if f.id.startswith(f"{change.path}::")]
    if not mine or change.before is None or change.after is None:
        return []
    left = _examples(change.after)
    gone: list[Sign] = []
    for example in _examples(change.before):
        if example in left:
            left.remove(example)
        else:
            gone.append(Sign("changes_doctest", 0, example[0].strip()[:100]))
    return gone


def _examples(text: str) -> list[tuple[str, str]]:
    tree = parsed(text)
    found: list[tuple[str, str]] = []
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found += _of_docstring(ast.get_docstring(node) or "")
    return found


def _of_docstring(text: str) -> list[tuple[str, str]]:
    try:
        return [(e.source, e.want) for e in doctest.DocTestParser().get_examples(text)]
    except ValueError:
        return []


def _allowed(found: list[Sign], failures: Sequence[Failure]) -> list[Sign]:
    """Programs may end where a failing test asks for that."""
    wanted = any("SystemExit" in f"{f.kind} {f.message} {f.excerpt}" for f in failures)
    wanted = wanted or any("KeyboardInterrupt" in f"{f.kind} {f.message} {f.excerpt}" for f in failures)
    exits = re.compile(r"(sys\.)?(exit|quit)\(|raise (SystemExit|KeyboardInterrupt)")
    return [s for s in found if not (wanted and s.cheat == "ends_process" and exits.match(s.key))]
