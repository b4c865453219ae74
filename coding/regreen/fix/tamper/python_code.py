"""Signs of cheats in one Python file that is no test: what it looks at, what it replaces, how it ends things.

The tree is walked once. What is suspicious in itself is a sign at once; what is so only together (where the code looks,
and what it looks for) is put together in `python_detection`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from regreen.fix.tamper import python_calls as calls
from regreen.fix.tamper.folding import ANY_MODULE, Names
from regreen.fix.tamper.python_comparisons import rigged
from regreen.fix.tamper.values import Sign, Weight

TEST_MODULES = frozenset({"pytest", "_pytest", "unittest", "pluggy", "nose", "nose2", "conftest", "xdist", "doctest"})
TEST_PACKAGES = frozenset({"tests", "test", "testing_tests"})
_TEST_NAME = re.compile(r"test_\w+")
_FREE_TO_SET = re.compile(
    r"sys\.(stdout|stderr|stdin|argv|path|dont_write_bytecode|ps1|ps2|tracebacklimit)(\..*)?|warnings\.(filters|showwarning|formatwarning)|"
    r"logging\.(raiseExceptions|\w+\.\w*(propagate|disabled|level))|tempfile\.tempdir|os\.environ|locale\..*|"
    r"decimal\.DefaultContext\..*|csv\..*|socket\.timeout|ssl\._create_default_https_context|types\..*|enum\..*"
)
_INTERPRETER = re.compile(
    r"sys\.(excepthook|unraisablehook|displayhook|meta_path|path_hooks|path_importer_cache|exit|_getframe)|"
    r"threading\.(excepthook|_trace_hook)|importlib\..*"
)
_HOOKS = frozenset({"load_tests", "setUpModule", "tearDownModule", "setup_module", "teardown_module", "setup_function",
                    "teardown_function"})  # fmt: skip
_NAMES = frozenset({"pytest_plugins", "pytestmark", "collect_ignore", "collect_ignore_glob"})
_CODE = frozenset({"__code__", "__kwdefaults__", "__defaults__", "__globals__"})


@dataclass
class Scan:
    """One file being walked. `inside` names the functions around, `main` is below `if __name__ == "__main__"`."""

    path: str
    names: Names
    signs: list[Sign] = field(default_factory=list[Sign])
    inside: list[str] = field(default_factory=list[str])
    main: int = 0
    in_class: int = 0
    cli: bool = False
    forks: bool = False
    kept_hooks: frozenset[str] = frozenset()
    called: set[ast.AST] = field(default_factory=set[ast.AST])
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict[str, ast.FunctionDef])

    def sign(self, cheat: str, node: ast.AST, weight: Weight = "refuse", *, at: str = "") -> None:
        text = at or ast.unparse(node)[:200]
        self.signs.append(Sign(cheat, getattr(node, "lineno", 0), text, weight))

    @property
    def importing(self) -> bool:
        """Does what stands here run when the module is imported?"""
        return not self.inside and not self.main


def signs_in(path: str, tree: ast.Module) -> list[Sign]:
    """The signs that need nothing but their own place."""
    names = Names(tree)
    scan = Scan(path, names)
    text = ast.dump(tree)
    scan.cli = calls.is_cli(path, text)
    scan.forks = "attr='fork'" in text or "name='fork'" in text
    scan.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    loads = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "excepthook"]
    scan.kept_hooks = frozenset(names.dotted(n) for n in loads if isinstance(n.ctx, ast.Load))
    _walk(scan, tree)
    return scan.signs


def _walk(scan: Scan, node: ast.AST) -> None:
    for rule in _RULES.get(type(node), ()):
        rule(scan, node)
    function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    main = isinstance(node, ast.If) and "__main__" in ast.dump(node.test)
    if function:
        scan.inside.append(getattr(node, "name", "lambda"))
    scan.main += main
    scan.in_class += isinstance(node, ast.ClassDef)
    for child in ast.iter_child_nodes(node):
        _walk(scan, child)
    scan.main -= main
    scan.in_class -= isinstance(node, ast.ClassDef)
    if function:
        scan.inside.pop()


# --- imports -------------------------------------------------------------------------------------------


def is_test_module(module: str) -> bool:
    """Whether an import of this name means a test runner or tests."""
    parts = [p for p in module.split(".") if p]
    return bool(parts) and (
        parts[0] in TEST_MODULES | TEST_PACKAGES
        or any(p in ("tests", "conftest") or _TEST_NAME.fullmatch(p) for p in parts)
    )


def _import(scan: Scan, node: ast.AST) -> None:
    assert isinstance(node, ast.Import)
    for alias in node.names:
        if is_test_module(alias.name):
            scan.sign("imports_tests", node, at=f"import {alias.name}")


def _import_from(scan: Scan, node: ast.AST) -> None:
    assert isinstance(node, ast.ImportFrom)
    module = node.module or ""
    named = [] if module else [a.name for a in node.names]
    if any(is_test_module(m) for m in (module, *named)):
        scan.sign("imports_tests", node)


# --- definitions ---------------------------------------------------------------------------------------


def _function(scan: Scan, node: ast.AST) -> None:
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    top = not scan.inside
    if top and (node.name.startswith("pytest_") or node.name in _HOOKS):
        scan.sign("hooks_runner", node, at=f"def {node.name}")


def _class(scan: Scan, node: ast.AST) -> None:
    assert isinstance(node, ast.ClassDef)
    for line, text, weight in rigged(node, scan.functions):
        scan.signs.append(Sign("rigs_comparison", line, text, weight))


def _rigged_keys(scan: Scan, node: ast.AST) -> None:
    """`{"__eq__": lambda a, b: True}`, for `type` and others that make classes."""
    assert isinstance(node, ast.Dict)
    _rigged_methods(scan, node, [])


def _rigged_methods(scan: Scan, node: ast.Dict, bases: list[ast.expr]) -> None:
    body = [
        ast.copy_location(ast.Assign([ast.Name(key.value)], value), value)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.startswith("__")
    ]
    for line, text, weight in rigged(ast.ClassDef("", bases, [], list[ast.stmt](body), []), scan.functions):
        scan.signs.append(Sign("rigs_comparison", line, text, weight))


# --- assignments ---------------------------------------------------------------------------------------


def targets_of(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """What is assigned to or deleted, each with its value."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for t in targets:
                yield from ((e, None) for e in t.elts) if isinstance(t, ast.Tuple | ast.List) else ((t, value),)
        case ast.AugAssign(target=t, value=value) | ast.AnnAssign(target=t, value=value):
            yield t, value
        case ast.Delete(targets=targets):
            yield from ((t, None) for t in targets)
        case ast.For(target=t) | ast.AsyncFor(target=t):
            yield t, None
        case ast.withitem(optional_vars=ast.expr() as t):
            yield t, None
        case _:
            return


def _assign(scan: Scan, node: ast.AST) -> None:
    for target, value in targets_of(node):
        if isinstance(target, ast.Name):
            _name_set(scan, node, target.id, value)
        elif isinstance(target, ast.Attribute):
            attribute_set(scan, node, _owner(scan, target.value), target.attr, value)
        elif isinstance(target, ast.Subscript):
            _item_set(scan, node, target)


def _owner(scan: Scan, node: ast.expr) -> str:
    return scan.names.dotted(node)


def _name_set(scan: Scan, node: ast.AST, name: str, value: ast.expr | None) -> None:
    if (name in _NAMES and not scan.inside) or name.startswith("__unittest_skip"):
        scan.sign("hooks_runner", node)
    elif name == "__test__" and isinstance(value, ast.Constant):
        scan.sign("hooks_runner", node, "warn" if scan.in_class else "refuse")


def attribute_set(scan: Scan, node: ast.AST, owner: str, attr: str, value: ast.expr | None) -> None:
    """`owner.attr = value`, however it is written."""
    full, top = f"{owner}.{attr}", owner.partition(".")[0]
    if attr in _CODE:
        scan.sign("reaches_into_interpreter", node)
    elif owner.startswith(ANY_MODULE):
        scan.sign("replaces_module", node)
    elif not owner:
        if attr in ("__eq__", "__ne__", "__bool__") and isinstance(value, ast.Lambda):
            _rigged_keys(scan, ast.Dict([ast.copy_location(ast.Constant(attr), value)], [value]))
    elif top == "builtins":
        scan.sign("replaces_builtins", node)
    elif _INTERPRETER.fullmatch(full):
        passes_on = full in scan.kept_hooks and bool(scan.inside)
        scan.sign("hooks_interpreter", node, "warn" if passes_on else "refuse")
    elif is_test_module(owner) or top == "__main__":
        scan.sign("patches_runner", node)
    elif top in sys.stdlib_module_names and not _FREE_TO_SET.fullmatch(full):
        scan.sign("patches_library", node)


def _item_set(scan: Scan, node: ast.AST, target: ast.Subscript) -> None:
    owner = scan.names.dotted(target.value)
    key = scan.names.fold(target.slice)
    own = isinstance(target.slice, ast.Name) and target.slice.id == "__name__"
    if owner == "sys.modules" and not own:
        scan.sign("replaces_module", node)
    elif owner == "builtins" or owner.startswith("builtins.__dict__"):
        scan.sign("replaces_builtins", node)
    elif owner.endswith(".__dict__") and isinstance(key, str):
        attribute_set(scan, node, owner.removesuffix(".__dict__"), key, None)
    elif any(isinstance(n, ast.Attribute) and n.attr in ("f_globals", "f_locals", "f_builtins")
             for n in ast.walk(target.value)):  # fmt: skip
        scan.sign("inspects_callers", node)


# --- calls ---------------------------------------------------------------------------------------------


def _call(scan: Scan, node: ast.AST) -> None:
    assert isinstance(node, ast.Call)
    scan.called.add(node.func)
    called = scan.names.dotted(node.func)
    place = calls.Place(scan.path, scan.names, tuple(scan.inside), scan.importing, scan.cli, scan.forks)
    for cheat, weight in calls.judge(called, node, place):
        scan.sign(cheat, node, weight)
    if called in ("builtins.setattr", "builtins.delattr", "builtins.object.__setattr__", "builtins.type.__setattr__"):
        _setattr(scan, node)
    elif called.endswith((".__dict__.update", ".__dict__.__setitem__")):
        attribute_set(scan, node, called.rpartition(".__dict__.")[0], "*", None)
    elif called == "builtins.type" and len(node.args) == 3:
        bases, methods = node.args[1:]
        if isinstance(methods, ast.Dict) and isinstance(bases, ast.Tuple):
            _rigged_methods(scan, methods, bases.elts)
    elif called in ("builtins.__import__", "importlib.import_module"):
        module = scan.names.dotted(node)
        if is_test_module(module):
            scan.sign("imports_tests", node)


def _setattr(scan: Scan, node: ast.Call) -> None:
    if len(node.args) < 2:
        return
    name = scan.names.fold(node.args[1])
    value = node.args[2] if len(node.args) > 2 else None
    attribute_set(scan, node, scan.names.dotted(node.args[0]), name if isinstance(name, str) else "*", value)


def _attribute(scan: Scan, node: ast.AST) -> None:
    assert isinstance(node, ast.Attribute)
    if calls.REACHES.fullmatch(scan.names.dotted(node)):
        scan.sign("reaches_into_interpreter", node)
    _named(scan, node)


def _named(scan: Scan, node: ast.AST) -> None:
    """What ends the process, handed to somebody else: `Timer(1, os._exit, (0,))`."""
    assert isinstance(node, ast.Attribute | ast.Name)
    if isinstance(node.ctx, ast.Load) and node not in scan.called and calls.ENDS.fullmatch(scan.names.dotted(node)):
        scan.sign("ends_process", node, "warn" if scan.forks and not scan.importing else "refuse")


def _raise(scan: Scan, node: ast.AST) -> None:
    assert isinstance(node, ast.Raise)
    error = node.exc
    call = error if isinstance(error, ast.Call) else ast.Call(error, [], []) if error is not None else None
    raised = scan.names.dotted(call.func) if call is not None else ""
    if raised == "builtins.KeyboardInterrupt":
        scan.sign("ends_process", node)
    elif call is not None and raised == "builtins.SystemExit":
        place = calls.Place(scan.path, scan.names, tuple(scan.inside), scan.importing, scan.cli, scan.forks)
        for cheat, weight in calls.judge("sys.exit", call, place):
            scan.sign(cheat, node, weight)


Rule = Callable[[Scan, ast.AST], None]
_RULES: dict[type[ast.AST], tuple[Rule, ...]] = {
    ast.Import: (_import,),
    ast.ImportFrom: (_import_from,),
    ast.FunctionDef: (_function,),
    ast.AsyncFunctionDef: (_function,),
    ast.ClassDef: (_class,),
    ast.Dict: (_rigged_keys,),
    ast.Call: (_call,),
    ast.Attribute: (_attribute,),
    ast.Name: (_named,),
    ast.Raise: (_raise,),
    **dict.fromkeys(
        (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.For, ast.AsyncFor, ast.withitem), (_assign,)
    ),
}
