"""Signs in changed files that are no tests."""

from __future__ import annotations

import ast
import doctest
import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from regreen.fix.tamper import other_code, python_code
from regreen.fix.tamper.folding import Names
from regreen.fix.tamper.parsing import parsed
from regreen.fix.tamper.python_calls import is_cli
from regreen.fix.tamper.python_decisions import decisions
from regreen.fix.tamper.python_detection import detections, looks
from regreen.fix.tamper.python_flow import Flow
from regreen.fix.tamper.python_reaching import reaches
from regreen.fix.tamper.source_text import language_of
from regreen.fix.tamper.values import Sign, TextChange, added
from regreen.model import Failure

_RUNNERS = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "coverage", "xdist", "hypothesis", "nose", "mock"})
_TOP = re.compile(r"((src|lib)/)?(?P<name>\w+)(\.py|/(?P<inner>.+))")
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
    tree, old = parsed(change.after or ""), parsed(change.before or "")
    if tree is None:  # it will not run either, unless in a newer Python than ours
        return _by_patterns(change)
    try:
        return _parsed(change, old, tree, failures)
    except RecursionError:  # what is nested so deeply was written to hide something, or by a machine
        return _by_patterns(change) if _too_deep(old) else [Sign("runs_hidden_code", 0, "nested too deeply to be read")]


def _too_deep(tree: ast.Module | None) -> bool:
    if tree is None:
        return False
    try:
        python_code.signs_in("", tree)
        looks(tree)
    except RecursionError:
        return True
    return False


def _parsed(change: TextChange, old: ast.Module | None, tree: ast.Module, failures: Sequence[Failure]) -> list[Sign]:
    before = python_code.signs_in(change.path, old) if old is not None else []
    empty = ast.Module([], [])
    found = added(before, python_code.signs_in(change.path, tree))
    cli = is_cli(change.path, ast.dump(old or tree))
    found += detections(looks(old or empty), looks(tree), cli=cli)
    found += _by_flow(change.before is not None, old or empty, tree, cli=cli)
    return found + _shadow(change, failures) + _doctests(change, failures)


def _by_flow(was: bool, old: ast.Module, tree: ast.Module, *, cli: bool) -> list[Sign]:
    fresh = added(_flowing(old, cli=cli), _flowing(tree, cli=cli))
    files = re.compile(r"\b(open|Path|pathlib|os\.path)\b")
    about_files = not was or bool(files.search(ast.unparse(old)))  # it had to do with files before
    return [replace(s, weight="warn") if s.cheat == "remembers_runs" and about_files else s for s in fresh]


def _flowing(tree: ast.Module, *, cli: bool) -> list[Sign]:
    names = Names(tree)
    flow = Flow(tree, names)
    return decisions(tree, names, flow, cli=cli) + reaches(tree, names, flow)


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
