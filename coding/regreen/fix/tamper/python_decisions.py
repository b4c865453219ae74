"""What decides in Python code although it only tells how the code is run: `python_flow` says where values come from."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from regreen.fix.tamper.folding import Names, Value
from regreen.fix.tamper.python_flow import Flow, Kinds
from regreen.fix.tamper.python_sources import ALWAYS, looks_for_tests, matches_tests
from regreen.fix.tamper.values import Sign

_SOFT = frozenset({"modules", "environment", "arguments", "argument", "stack", "caller"})
_METHODS = frozenset({
    "startswith", "endswith", "find", "rfind", "index", "rindex", "count", "__contains__", "__eq__", "__ne__",
    "isdisjoint", "issuperset", "issubset", "intersection", "difference", "partition", "split", "removeprefix",
})  # fmt: skip
_PATTERNS = re.compile(r"re\.(search|match|fullmatch|findall|finditer|compile|sub|split)")
_WILD = re.compile(r"fnmatch\.\w+")
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.RShift, ast.LShift, ast.BitAnd, ast.Pow)
_FOLDING = (ast.Mod, ast.FloorDiv, ast.RShift, ast.BitAnd, ast.BitXor)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_STREAM = re.compile(r"sys\.(__)?std(out|err|in)(__)?")
_ELSEWHERE = re.compile(r"/.*|.*(te?mp|regreen|sandbox).*", re.IGNORECASE)
_HOME_FILES = re.compile(r"(.*/)?\.(bash|zsh|profile|login|gitconfig|ssh|cache|inputrc|vimrc|viminfo|python_history).*")
_ASKS_FILE = re.compile(r"os\.path\.(exists|isfile|isdir|lexists|getsize|getmtime)|os\.(stat|access|listdir)")
_DATE = re.compile(r"\d{4}-?\d\d|\d{9}")
_RIGHTS = re.compile(r"/(etc|usr|proc|sys|dev|run|root|home|var|tmp|bin|opt)?(/.*)?")
_TABLES = re.compile(r"os\.environb?|sys\.modules")
_SINCE = 100_000_000  # seconds: a clock that is compared with more than that is asked for the day


def decisions(tree: ast.Module, names: Names, flow: Flow, *, cli: bool) -> list[Sign]:
    """Every place where such a value decides."""
    found: list[Sign] = []
    spared = {n for node in ast.walk(tree) if isinstance(node, ast.If) and _only_switches(node, names)
              for n in ast.walk(node)}  # fmt: skip
    for node in ast.walk(tree):
        if node in spared:
            continue
        cheats = [*_decides(node, names, flow, cli=cli), *_branches(node, flow)]
        found += [Sign(cheat, getattr(node, "lineno", 0), ast.unparse(node)[:200]) for cheat in cheats]
    return list(dict.fromkeys(found + _warned(tree, names)))


def _decides(node: ast.AST, names: Names, flow: Flow, *, cli: bool) -> Iterator[str]:
    match node:
        case ast.Compare():
            yield from _compared(node, names, flow, cli=cli)
        case ast.Call():
            yield from _called(node, names, flow, cli=cli)
        case ast.BinOp():
            yield from _computed(node, names, flow)
        case ast.Subscript(slice=key):
            yield from _always(flow.of(key) & {"size", "chance", "flags", "stream"})
        case _:
            return


def _branches(node: ast.AST, flow: Flow) -> Iterator[str]:
    match node:
        case ast.BoolOp(values=tests) | ast.comprehension(ifs=tests):
            for test in tests:
                yield from _tested(test, flow)
        case ast.UnaryOp(op=ast.Not(), operand=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.If(test=test):
            yield from _tested(test, flow)
        case ast.Match(subject=subject):
            yield from _always(flow.of(subject) & ALWAYS)
        case _:
            return


def _warned(tree: ast.Module, names: Names) -> list[Sign]:
    """A warning that is given for the caller, caught, and read."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    caught = [n for n in calls if names.dotted(n.func) == "warnings.catch_warnings" and n.keywords]
    given = [
        n for n in calls if names.dotted(n.func) == "warnings.warn" and any(k.arg == "stacklevel" for k in n.keywords)
    ]
    read = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in ("filename", "lineno", "source")]
    if not (caught and given and read):
        return []
    return [Sign("inspects_callers", read[0].lineno, ast.unparse(read[0])[:200])]


def _always(kinds: Kinds) -> Iterator[str]:
    if kinds & {"caller", "stack"}:
        yield "inspects_callers"
    elif kinds & {"chance", "address", "clock"}:
        yield "varies_by_run"
    elif kinds:
        yield "detects_tests"


def _tested(test: ast.expr, flow: Flow) -> Iterator[str]:
    kinds = ALWAYS - {"caller"} | frozenset({"place"} if isinstance(test, ast.Call) else ())
    yield from _always(flow.of(test) & kinds)


def _only_switches(node: ast.If, names: Names) -> bool:
    """`if not faulthandler.is_enabled(): faulthandler.enable()`"""
    body = [s for s in (*node.body, *node.orelse) if not isinstance(s, ast.Pass)]
    calls = [s.value for s in body if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    if any(isinstance(n, ast.NamedExpr | ast.Compare) for n in ast.walk(node.test)):
        return False
    return 0 < len(calls) == len(body) and all(names.dotted(c.func).startswith("faulthandler.") for c in calls)


# --- comparisons ---------------------------------------------------------------------------------------


def _compared(node: ast.Compare, names: Names, flow: Flow, *, cli: bool) -> Iterator[str]:
    sides = [node.left, *node.comparators]
    if any(isinstance(s, ast.Constant) and s.value is None for s in sides):
        yield from _always(flow.of(node.left) & {"size", "stream", "flags", "main"} - _unset(node.left, names))
        return
    kinds = frozenset[str]().union(*(flow.of(s) for s in sides))
    if not kinds:
        streams = [names.dotted(s) for s in sides]
        if all(map(_STREAM.fullmatch, streams)) and any("__" in s for s in streams):
            yield "detects_tests"  # `sys.stdout is sys.__stdout__`
        return
    yield from _always(kinds & ALWAYS)
    yield from _against(kinds, node, sides, names)
    texts = [t for s in sides for t in _texts(names.fold(s))]
    if not _by_name(node, names):
        yield from _by_words(kinds, texts, cli=cli)


def _by_name(node: ast.Compare, names: Names) -> bool:
    """`"EDITOR" in os.environ`: the whole name is asked for."""
    return isinstance(node.ops[-1], ast.In | ast.NotIn) and bool(_TABLES.fullmatch(names.dotted(node.comparators[-1])))


def _unset(node: ast.expr, names: Names) -> frozenset[str]:
    dotted = names.dotted(node)
    return frozenset() if dotted.endswith(("__spec__", "__doc__", "__package__")) else frozenset({"main"})


def _against(kinds: Kinds, node: ast.Compare, sides: list[ast.expr], names: Names) -> Iterator[str]:
    constant = any(isinstance(names.fold(s), int) or _number(s) is not None for s in sides)
    ordered = any(isinstance(op, _ORDER) for op in node.ops)
    if "process" in kinds and (ordered or constant):
        yield "detects_tests"
    if "limits" in kinds and constant and not ordered:
        yield "detects_tests"
    if "stack" in kinds:
        yield "inspects_callers"
    if "address" in kinds and constant:
        yield "varies_by_run"
    since = 2000 if re.search(r"\.year\b|tm_year", ast.unparse(node)) else _SINCE
    if "clock" in kinds and any(_a_day(s, names, since) for s in sides):
        yield "varies_by_run"


def _number(node: ast.expr) -> float | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else None


def _a_day(node: ast.expr, names: Names, since: int) -> bool:
    """Is this a fixed moment in time?"""
    text = names.fold(node)
    if isinstance(text, str):
        return bool(_DATE.match(text))
    if isinstance(node, ast.Call):
        made = names.dotted(node.func).rpartition(".")[2] in ("datetime", "date", "fromisoformat", "strptime")
        return made and bool(node.args) and all(isinstance(a, ast.Constant) for a in node.args)
    number = _number(node) if isinstance(node, ast.Constant) else names.fold(node)
    if isinstance(node, ast.Name):
        number = names.number(node.id)
    return isinstance(number, int | float) and number >= since


def _texts(value: Value) -> list[str]:
    if isinstance(value, bytes):
        return [value.decode("latin-1")]
    if isinstance(value, list):
        return [t for v in value for t in _texts(v)]
    return [value] if isinstance(value, str) else []


def _by_words(kinds: Kinds, texts: list[str], *, cli: bool) -> Iterator[str]:
    if "here" in kinds and any(_ELSEWHERE.fullmatch(t) for t in texts):
        yield "detects_tests"
    looked = kinds & _SOFT
    plain = not (cli and looked <= {"arguments"})
    if looked and any(looks_for_tests(t, plain=plain) for t in texts):
        yield "inspects_callers" if looked & {"stack", "caller"} else "detects_tests"


# --- calls and sums ------------------------------------------------------------------------------------


def _called(node: ast.Call, names: Names, flow: Flow, *, cli: bool) -> Iterator[str]:
    called = names.dotted(node.func)
    texts = [t for a in node.args for t in _texts(names.fold(a))]
    if called == "os.access" and any(_RIGHTS.fullmatch(t) for t in texts[:1]) and "W_OK" in ast.unparse(node):
        yield "detects_tests"
    if _ASKS_FILE.fullmatch(called):
        yield from _of_home(node, names)
    if _PATTERNS.fullmatch(called) or _WILD.fullmatch(called):
        kinds = frozenset[str]().union(*(flow.of(a) for a in node.args[1:]))
        patterns = texts[:1]
        if kinds & ALWAYS:
            yield from _always(kinds & ALWAYS)
        elif kinds & _SOFT and any(matches_tests(p) or looks_for_tests(p.strip("*^$.")) for p in patterns):
            yield "detects_tests"
        return
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _METHODS:
        return
    kinds = flow.of(node.func.value).union(*(flow.of(a) for a in node.args))
    texts += _texts(names.fold(node.func.value))
    yield from _always(kinds & ALWAYS)
    yield from _by_words(kinds, texts, cli=cli)


def _of_home(node: ast.Call, names: Names) -> Iterator[str]:
    """Does a home have what people's homes have?"""
    inner = [names.fold(n) for a in node.args for n in ast.walk(a) if isinstance(n, ast.expr)]
    if any(isinstance(t, str) and _HOME_FILES.fullmatch(t) and "~" in ast.unparse(node) for t in inner):
        yield "detects_tests"


def _computed(node: ast.BinOp, names: Names, flow: Flow) -> Iterator[str]:
    sides = node.left, node.right
    if any(isinstance(names.fold(s), str) or isinstance(s, ast.JoinedStr) for s in sides):
        return
    kinds = flow.of(node.left) | flow.of(node.right)
    if isinstance(node.op, _ARITHMETIC):
        yield from _always(kinds & {"size", "chance"})
    if isinstance(node.op, _FOLDING):
        yield from _always(kinds & {"address"})
