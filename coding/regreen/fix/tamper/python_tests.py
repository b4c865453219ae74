"""What a change does to a Python test file: each test and fixture by its name, compared by what it says.

`changed` names what became of tests that were there; `influences` what is added and acts on them; `stoppers` what keeps
tests from being run at all.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regreen.fix.tamper.folding import Names
from regreen.fix.tamper.python_calls import Place, judge
from regreen.fix.tamper.values import Sign, added

_Def = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_SKIPS = re.compile(r"\b(skip\w*|xfail|importorskip|expectedFailure|SkipTest|skipTest|todo)\b")
_EXITS = re.compile(r"pytest\.exit|_pytest\.outcomes\.exit")
_TOLERANCE = re.compile(r"approx|\brel\b|\babs\b|places|delta|isclose|tolerance|rtol|atol|abs_tol|rel_tol")
_SETUP = re.compile(
    r"(setup|teardown)(_(module|function|method|class))?|(setUp|tearDown)(Class|Module)?|asyncSetUp|asyncTearDown|run|"
    r"__\w+__|debug|shortDescription|addCleanup"
)
_MARKS = frozenset({"pytestmark", "collect_ignore", "collect_ignore_glob", "__test__", "pytest_plugins"})
_HARMLESS_DECORATORS = frozenset({"pytest", "unittest", "mock", "hypothesis", "given", "parametrize", "staticmethod",
                                  "classmethod", "property", "patch", "functools", "asyncio", "dataclass"})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """One test, fixture, class or statement of a test file. `name` is its full name, "" for a bare statement."""

    name: str
    node: ast.stmt
    kind: str  # test, fixture, class, helper, statement


def parts(tree: ast.Module) -> list[Part]:
    """Everything in a test file, classes taken apart."""
    return list(_parts(tree.body, ""))


def _parts(body: Sequence[ast.stmt], prefix: str) -> Iterator[Part]:
    for stmt in body:
        if isinstance(stmt, ast.ClassDef):
            head = ast.ClassDef(stmt.name, stmt.bases, stmt.keywords, [], stmt.decorator_list)
            yield Part(f"{prefix}{stmt.name}", ast.copy_location(head, stmt), "class")
            yield from _parts(stmt.body, f"{prefix}{stmt.name}.")
        elif isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Part(f"{prefix}{stmt.name}", stmt, _kind(stmt))
        elif isinstance(stmt, ast.Import | ast.ImportFrom):
            yield from (Part(prefix, one, "statement") for one in _single_imports(stmt))
        elif not _is_docstring(stmt):
            yield Part(prefix, stmt, "statement")


def _single_imports(stmt: ast.Import | ast.ImportFrom) -> Iterator[ast.stmt]:
    """One import a name, so that a name more is an addition and no change."""
    for alias in stmt.names:
        one = ast.Import([alias]) if isinstance(stmt, ast.Import) else ast.ImportFrom(stmt.module, [alias], stmt.level)
        yield ast.copy_location(one, stmt)


def _is_docstring(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant)


def _kind(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if any("fixture" in ast.unparse(d) for d in node.decorator_list):
        return "fixture"
    return "test" if node.name.lower().startswith("test") else "helper"


# --- what became of the old ones -----------------------------------------------------------------------


def changed(before: ast.Module, after: ast.Module) -> list[Sign]:
    """What the change did to the tests that were there, each named as exactly as can be."""
    old, new = parts(before), parts(after)
    found: list[Sign] = []
    times = Counter(p.name for p in old if p.kind != "statement")
    now: dict[str, list[Part]] = {}
    for part in new:
        now.setdefault(part.name, []).append(part)
    for part in old:
        if part.kind == "statement":
            continue
        there = now.get(part.name, [])
        if not there:
            found.append(Sign("removes_test" if part.kind in ("test", "class") else "changes_fixture", 0, part.name))
        elif len(there) > times[part.name]:
            found.append(Sign("redefines_test", there[-1].node.lineno, part.name))
        elif all(ast.dump(t.node) != ast.dump(part.node) for t in there):
            found.append(_difference(part, there[0]))
    return found + _statements(old, new)


def _statements(old: Sequence[Part], new: Sequence[Part]) -> list[Sign]:
    have = Counter((p.name, ast.dump(p.node)) for p in new if p.kind == "statement")
    gone: list[Sign] = []
    for part in old:
        key = part.name, ast.dump(part.node)
        if part.kind == "statement" and have[key] <= 0:
            gone.append(Sign("changes_test", 0, ast.unparse(part.node)[:100]))
        have[key] -= 1
    return gone


def _difference(old: Part, new: Part) -> Sign:
    line = new.node.lineno
    if old.kind != "test" or not isinstance(old.node, ast.FunctionDef | ast.AsyncFunctionDef):
        return Sign(_not_a_test(old, new), line, old.name)
    assert isinstance(new.node, ast.FunctionDef | ast.AsyncFunctionDef)
    for rule in (_skipped, _cases, _asserts, _shape):
        cheat = rule(old.node, new.node)
        if cheat:
            return Sign(cheat, line, old.name)
    return Sign("changes_test", line, old.name)


def _not_a_test(old: Part, new: Part) -> str:
    if isinstance(new.node, ast.ClassDef) and _SKIPS.search(" ".join(map(ast.unparse, new.node.decorator_list))):
        return "skips_test"
    return "changes_fixture" if old.kind in ("fixture", "helper") else "changes_test"


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _skipped(old: _Function, new: _Function) -> str:
    if len(_EXITS.findall(ast.unparse(new))) > len(_EXITS.findall(ast.unparse(old))):
        return "stops_run"
    return "skips_test" if len(_SKIPS.findall(_code(new))) > len(_SKIPS.findall(_code(old))) else ""


def _code(node: ast.AST) -> str:
    """The source of a function without its docstring and its name."""
    return re.sub(r"def \w+", "def", ast.unparse(node))


def _cases(old: _Function, new: _Function) -> str:
    def of(node: _Function) -> list[str]:
        return [ast.dump(d) for d in node.decorator_list if "parametrize" in ast.unparse(d)]

    return "changes_parametrize" if of(old) != of(new) else ""


def _asserts(old: _Function, new: _Function) -> str:
    was, now = assertions(old), assertions(new)
    gone = list((Counter(was) - Counter(now)).elements())
    if not gone:
        return ""
    if len(now) < len(was):
        return "removes_assert"
    fresh = list((Counter(now) - Counter(was)).elements())
    if any(_TOLERANCE.search(a) for a in (*gone, *fresh)):
        return "widens_tolerance"
    if _without_constants(gone) == _without_constants(fresh):
        return "changes_expected"
    return "weakens_assert"


def assertions(node: ast.AST) -> list[str]:
    """The assertions of a test, as source: `assert`, `self.assert...`, `with pytest.raises(...)`, mock assertions."""
    found: list[str] = []
    for n in ast.walk(node):
        if isinstance(n, ast.Assert):
            found.append(ast.unparse(n.test))
        elif isinstance(n, ast.Call) and _is_assertion(n):
            found.append(ast.unparse(n))
    return found


def _is_assertion(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name.lower().startswith("assert") or name in ("raises", "warns", "fail", "deprecated_call")


def _without_constants(asserts: Sequence[str]) -> list[str]:
    return sorted(re.sub(r"'[^']*'|\"[^\"]*\"|-?\d[\d_.e]*|\b(True|False|None)\b", "#", a) for a in asserts)


def _shape(old: _Function, new: _Function) -> str:
    def count(node: ast.AST, *kinds: type[ast.AST]) -> int:
        return sum(isinstance(n, kinds) for n in ast.walk(node))

    def caught(node: ast.AST) -> int:
        holders = [n for n in ast.walk(node) if isinstance(n, ast.Try) or "suppress" in _with(n)]
        return sum(len(assertions(h)) for h in holders)

    if caught(new) > caught(old):
        return "hides_assert"
    if count(new, ast.Return) > count(old, ast.Return):
        return "returns_early"
    return "weakens_assert" if count(new, ast.If, ast.While, ast.For) > count(old, ast.If, ast.While, ast.For) else ""


def _with(node: ast.AST) -> str:
    return " ".join(ast.unparse(i.context_expr) for i in node.items) if isinstance(node, ast.With) else ""


# --- what is added -------------------------------------------------------------------------------------


def influences(before: ast.Module | None, after: ast.Module) -> list[Sign]:
    """What is added and could act on the tests that are there: names they use, code that runs by itself."""
    old = parts(before) if before is not None else []
    used = _used(before) if before is not None else set[str]()
    have = Counter(ast.dump(p.node) for p in old)
    names = {p.name for p in old}
    found: list[Sign] = []
    for part in parts(after):
        key = ast.dump(part.node)
        if have[key] > 0:
            have[key] -= 1
            continue
        found.extend(_acts(part, names, used, fresh=before is None))
    return found


def _used(tree: ast.Module) -> set[str]:
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    arguments = {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}  # fixtures
    return names | arguments


def _acts(part: Part, names: set[str], used: set[str], *, fresh: bool) -> Iterator[Sign]:
    node, name = part.node, part.name.rpartition(".")[2]
    said = Sign("influences_tests", node.lineno, ast.unparse(node).partition("\n")[0][:100])
    if isinstance(node, ast.Import | ast.ImportFrom):
        bound = {a.asname or a.name.partition(".")[0] for a in node.names}
        if "*" in bound or bound & used - _imported_alike(node):
            yield said
    elif isinstance(node, _Def):
        home = part.name.rpartition(".")[0]
        into_old = bool(home) and home in names and part.kind != "test"
        if into_old or (part.name not in names and name in used) or _acts_by_itself(part, name, fresh=fresh):
            yield said
    elif not _plain(node, names | used, fresh=fresh):
        yield said


def _imported_alike(node: ast.Import | ast.ImportFrom) -> set[str]:
    """Names of well-known modules, which mean the same however often they are imported."""
    same = {"pytest", "unittest", "math", "json", "os", "sys", "re"}
    return (
        {a.name for a in node.names if a.asname is None and a.name in same} if isinstance(node, ast.Import) else set()
    )


def _acts_by_itself(part: Part, name: str, *, fresh: bool) -> bool:
    node = part.node
    assert isinstance(node, _Def)
    if name.startswith("pytest_") or (not fresh and _SETUP.fullmatch(name) and "." not in part.name):
        return True
    if name in ("load_tests", "setUpModule", "tearDownModule"):
        return True
    if part.kind == "fixture" and "autouse" in "".join(ast.unparse(d) for d in node.decorator_list):
        return "." not in part.name
    decorators = (ast.unparse(d).partition("(")[0].partition(".")[0] for d in node.decorator_list)
    return any(d not in _HARMLESS_DECORATORS for d in decorators)


def _plain(node: ast.stmt, taken: set[str], *, fresh: bool) -> bool:
    """Statements that do nothing by themselves: constants with names of their own, docstrings."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Pass):
        return True
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    named = [t.id for t in targets if isinstance(t, ast.Name)]
    if len(named) != len(targets) or (_MARKS | taken) & set(named):
        return False
    calls = any(isinstance(n, ast.Call | ast.Await) for n in ast.walk(node))
    return fresh or not calls


def stoppers(path: str, tree: ast.Module) -> list[Sign]:
    """What ends the run, or keeps tests from being run at all."""
    names = Names(tree)
    found: list[Sign] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found.extend(_ending(path, names, node))
    for part in parts(tree):
        found.extend(_hiding(part))
    return found


def _ending(path: str, names: Names, node: ast.Call) -> Iterator[Sign]:
    called = names.dotted(node.func)
    text = ast.unparse(node)[:100]
    if _EXITS.fullmatch(called):
        yield Sign("stops_run", node.lineno, text)
    elif called != "sys.exit" and not called.startswith("builtins."):
        place = Place(path, names, ("test",), importing=False, cli=False, forks=False)
        yield from (Sign("stops_run", node.lineno, text) for cheat, _ in judge(called, node, place)
                    if cheat == "ends_process")  # fmt: skip
    if called.startswith("pytest.") and any(k.arg == "allow_module_level" for k in node.keywords):
        yield Sign("hides_tests", node.lineno, text)


def _hiding(part: Part) -> Iterator[Sign]:
    node, top = part.node, "." not in part.name
    text = ast.unparse(node).partition("\n")[0][:100]
    if isinstance(node, _Def):
        if top and (part.name.startswith("pytest_") or part.name == "load_tests"):
            yield Sign("hides_tests", node.lineno, text)
        return
    if part.kind != "statement":
        return
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    skips = "pytestmark" in names and _SKIPS.search(text)
    at_import = not part.name and re.search(
        r"importorskip|SkipTest|sys\.exit|SystemExit|\bexit\(|\bquit\(", ast.unparse(node)
    )
    if skips or names & {"collect_ignore", "collect_ignore_glob", "__test__", "pytest_plugins"} or at_import:
        yield Sign("hides_tests", node.lineno, text)


def added_stoppers(path: str, before: ast.Module | None, after: ast.Module) -> list[Sign]:
    """The stoppers that a change adds."""
    return added(stoppers(path, before) if before is not None else (), stoppers(path, after))
