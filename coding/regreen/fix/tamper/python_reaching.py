"""What Python code reaches for that is not its own: test files and its own sources, descriptors, standard streams,
all classes there are, what skips a test, and a file that remembers earlier runs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from regreen.fix.tamper.folding import Names
from regreen.fix.tamper.python_flow import Flow
from regreen.fix.tamper.values import Sign, Weight

_DESCRIPTORS = re.compile(r"os\.(p?writev?|close|dup2?|fdopen|ftruncate|lseek|sendfile|p?readv?|set_inheritable|fsync)")
_FILE_METHODS = frozenset({
    "read_text", "read_bytes", "write_text", "write_bytes", "open", "unlink", "rename", "replace", "touch",
    "symlink_to", "chmod", "truncate",
})  # fmt: skip
_FILE_CALLS = re.compile(
    r"builtins\.open|io\.open|os\.(open|remove|unlink|rename|replace|truncate|symlink|link)|shutil\.\w+|"
    r"linecache\.\w+|tokenize\.open|runpy\.run_path|importlib\.util\.spec_from_file_location"
)
_STREAM = re.compile(r"sys\.(__)?std(out|err|in)(__)?")
_SKIPS = re.compile(r"SkipTest|_?Skipped|Skip|_ShouldStop|XFailed|OutcomeException|_UnexpectedSuccess|_?Exit")
_BASES = re.compile(r"__mro__|__bases__|__base__|mro\(\)|\(\)\.__class__|\[\]\.__class__|''\.__class__")
_WRITES = frozenset({"write_text", "write_bytes", "touch", "unlink", "mkdir", "rename"})
_READS = frozenset({"read_text", "read_bytes", "exists", "is_file", "is_dir", "stat"})
_READ_CALLS = re.compile(r"os\.path\.(exists|isfile|isdir|getsize|getmtime)|os\.(stat|listdir)|json\.load|pickle\.load")
_WRITE_CALLS = re.compile(r"os\.(mkdir|makedirs|remove|unlink|rename|replace|truncate|utime)|json\.dump|pickle\.dump")
_ROOTS = re.compile(r"gettempdir|cwd\(|Path\(['\"]|Path\(\)|home\(|expanduser")
_NAMES_TEST = re.compile(r"(?<![a-z])te?s?t|conftest")
_SHOWS = re.compile(
    r"\\x1b|\\033|isatty|std(out|err)|\bprint\(|\.write\(|curses|colorama|termcolor|\brich\b|click|logging"
)
_OF_RUNS = re.compile(
    r"NO_COLOR|TERM|GIT_(TERMINAL_PROMPT|OPTIONAL_LOCKS)|GCM_INTERACTIVE|RUSTUP_AUTO_INSTALL|npm_config_update_notifier|"
    r"PYTHONPYCACHEPREFIX|REGREEN\w*"
)
_RUNNERS = frozenset({"pytest", "_pytest", "unittest", "nose"})


def reaches(tree: ast.Module, names: Names, flow: Flow) -> list[Sign]:
    """Every such place."""
    found: list[Sign] = []
    sorts = _sorted_by_tests(tree, flow)
    for node in ast.walk(tree):
        for cheat, weight in _at(node, names, flow, sorts=sorts):
            found.append(Sign(cheat, getattr(node, "lineno", 0), ast.unparse(node)[:200], weight))
    if not _SHOWS.search(ast.unparse(tree)):  # looks of an output without an output
        found = [replace(s, weight="refuse") if s.cheat == "detects_tests" else s for s in found]
    return list(dict.fromkeys(found + _remembers(tree, names)))


def _at(node: ast.AST, names: Names, flow: Flow, *, sorts: bool) -> Iterator[tuple[str, Weight]]:
    match node:
        case ast.Call():
            yield from _call(node, names, flow)
            yield from _files(node, names, flow, sorts=sorts)
        case ast.Raise(exc=ast.expr() as error):
            yield from _raised(error, names)
        case ast.Assign(targets=targets, value=value):
            yield from _streams(targets, value, names)
        case ast.Attribute():
            yield from _through(node, names)
        case ast.Try():
            yield from _tries(node, names)
        case ast.Compare() | ast.Subscript():
            yield from _asked(node, names)
        case _:
            return


def _call(node: ast.Call, names: Names, flow: Flow) -> Iterator[tuple[str, Weight]]:
    called = names.dotted(node.func)
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if called == "decimal.setcontext" or (called == "os.environ.clear"):
        yield "patches_library", "refuse"
    if called in ("os.environ.get", "os.getenv") and node.args:
        yield from _variable(names.fold(node.args[0]))
    if _DESCRIPTORS.fullmatch(called) and node.args and _is_foreign(node.args[0], names, flow):
        yield "reaches_reporter", "refuse"
    if called == "builtins.open" and node.args and _is_foreign(node.args[0], names, flow):
        yield "reaches_reporter", "refuse"
    if method == "__subclasses__" and isinstance(node.func, ast.Attribute) and _all_classes(node, node.func, names):
        yield "reaches_into_interpreter", "refuse"


def _files(node: ast.Call, names: Names, flow: Flow, *, sorts: bool) -> Iterator[tuple[str, Weight]]:
    func = node.func
    kinds: frozenset[str] = frozenset()
    if isinstance(func, ast.Attribute) and func.attr in _FILE_METHODS:
        kinds |= flow.of(func.value)
    if _FILE_CALLS.fullmatch(names.dotted(func)):
        kinds = kinds.union(*(flow.of(a) for a in node.args))
    if kinds & {"own", "tests"} or (sorts and "files" in kinds):
        yield "touches_tests", "refuse"


def _variable(name: object) -> Iterator[tuple[str, Weight]]:
    """A variable that test runs set."""
    if isinstance(name, str) and _OF_RUNS.fullmatch(name):
        yield "detects_tests", "warn" if name in ("NO_COLOR", "TERM") else "refuse"


def _asked(node: ast.AST, names: Names) -> Iterator[tuple[str, Weight]]:
    match node:
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[table]):
            name = names.fold(left) if names.dotted(table).startswith("os.environ") else None
            yield from _variable(name)
        case ast.Subscript(value=value, slice=key, ctx=ast.Load()) if names.dotted(value) == "os.environ":
            yield from _variable(names.fold(key))
        case _:
            return


def _is_foreign(node: ast.expr, names: Names, flow: Flow) -> bool:
    """Is this a descriptor that nobody gave to this code?"""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool) and node.value > 2
    loops = isinstance(node, ast.Name) and "numbers" in flow.of(node)
    return loops or (isinstance(node, ast.Name) and (names.number(node.id) or 0) > 2)


def _all_classes(node: ast.Call, func: ast.Attribute, names: Names) -> bool:
    owners = [func.value, *node.args]
    return any(names.dotted(o).startswith("builtins.") or _BASES.search(ast.unparse(o)) for o in owners)


def _sorted_by_tests(tree: ast.Module, flow: Flow) -> bool:
    """Does the file tell files of tests from others by their names?"""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare | ast.Call):
            parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node.func, *node.args]
            texts = [t for p in parts if isinstance(t := flow.names.fold(p), str)]
            if any(map(_NAMES_TEST.search, texts)) and any("files" in flow.of(p) for p in parts):
                return True
    return False


def _raised(error: ast.expr, names: Names) -> Iterator[tuple[str, Weight]]:
    called = error.func if isinstance(error, ast.Call) else error
    dotted = names.dotted(called)
    last = dotted.rpartition(".")[2] or (called.attr if isinstance(called, ast.Attribute) else "")
    if dotted in ("builtins.BaseException", "builtins.GeneratorExit"):
        yield "ends_process", "refuse"
    elif _SKIPS.fullmatch(last) and dotted != last:
        yield "imports_tests", "refuse"
    elif isinstance(called, ast.Call) and names.dotted(called.func) == "builtins.type" and _is_outcome(called):
        yield "ends_process", "refuse"


def _is_outcome(made: ast.Call) -> bool:
    return "BaseException" in ast.unparse(made) or any(map(_SKIPS.fullmatch, _constants(made)))


def _constants(node: ast.AST) -> Iterator[str]:
    yield from (n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def _streams(targets: list[ast.expr], value: ast.expr, names: Names) -> Iterator[tuple[str, Weight]]:
    pairs = [(t, value) for t in targets]
    for target in targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs += zip(target.elts, value.elts, strict=False)
    if any(_STREAM.fullmatch(names.dotted(t)) and isinstance(v, ast.Constant) for t, v in pairs):
        yield "patches_library", "refuse"


def _through(node: ast.Attribute, names: Names) -> Iterator[tuple[str, Weight]]:
    """A runner taken out of another module: `asyncio.unittest`."""
    if node.attr in _RUNNERS and (dotted := names.dotted(node)) and dotted.partition(".")[0] not in _RUNNERS:
        yield "imports_tests", "refuse"


def _tries(node: ast.Try, names: Names) -> Iterator[tuple[str, Weight]]:
    """May this process write where it has no business to, or talk to the world? The answer is kept."""
    answers = [s for h in node.handlers for s in h.body if isinstance(s, ast.Return | ast.Assign)]
    if not any(isinstance(s.value, ast.Constant) and not isinstance(s.value.value, str) for s in answers):
        return
    for call in (n for s in node.body for n in ast.walk(s) if isinstance(n, ast.Call)):
        texts = [t for n in ast.walk(call) if isinstance(n, ast.expr) and isinstance(t := names.fold(n), str)]
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        absolute = any(re.match(r"/(etc|usr|var|tmp|root|home|proc|sys|run|dev)\b", t) for t in texts)
        writes = method in _WRITES or (method in ("", "open") and any(t[:1] in ("w", "a", "x") for t in texts))
        if (absolute and writes) or (
            texts and method in ("connect", "connect_ex", "create_connection", "gethostbyname")
        ):
            yield "detects_tests", "refuse"
            return


# --- files that remember -------------------------------------------------------------------------------


def _remembers(tree: ast.Module, names: Names) -> list[Sign]:
    """Functions (or the module) that ask a file of a fixed place, write to it, and branch."""
    files = _places(tree, names)
    found: list[Sign] = []
    for scope in (tree, *(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))):
        nodes = list(ast.walk(scope)) if not isinstance(scope, ast.Module) else list(_top(scope))
        read = {k for n in nodes if isinstance(n, ast.Call) for k in _used(n, names, files, write=False)}
        written = {k for n in nodes if isinstance(n, ast.Call) for k in _used(n, names, files, write=True)}
        branches = any(isinstance(n, ast.If | ast.IfExp | ast.While | ast.Compare) for n in nodes)
        both = sorted(read & written)
        if both and branches:
            found.append(Sign("remembers_runs", getattr(scope, "lineno", 0), both[0][:200]))
    return found


def _top(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child
            yield from _top(child)


def _places(tree: ast.Module, names: Names) -> set[str]:
    """What is assigned a path that no argument decides."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_fixed(node.value, names, found):
            found.update(ast.unparse(t) for t in node.targets)
    return found


def _is_fixed(node: ast.expr, names: Names, files: set[str]) -> bool:
    text = ast.unparse(node)
    if text in files or isinstance(names.fold(node), str):
        return True
    used = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    known = [n for n in used if n.id in files or n.id == "__file__"]
    others = [n for n in used if n not in known]
    if any(not names.dotted(n) and not isinstance(names.fold(n), str) for n in others):
        return False
    return bool(known) or bool(_ROOTS.search(text))


def _used(node: ast.Call, names: Names, files: set[str], *, write: bool) -> Iterator[str]:
    called = names.dotted(node.func)
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    path: ast.expr | None = None
    if called in ("builtins.open", "io.open") or method == "open":
        yield from _opened(node, names, files, write=write)
    elif node.args and (_WRITE_CALLS if write else _READ_CALLS).fullmatch(called):
        path = node.args[0]
    elif isinstance(node.func, ast.Attribute) and method in (_WRITES if write else _READS):
        path = node.func.value
    if path is not None and _is_fixed(path, names, files):
        yield ast.unparse(path)


def _opened(node: ast.Call, names: Names, files: set[str], *, write: bool) -> Iterator[str]:
    method = isinstance(node.func, ast.Attribute) and not names.dotted(node.func).startswith("io.")
    path = node.func.value if method and isinstance(node.func, ast.Attribute) else node.args[0] if node.args else None
    given = (node.args if method else node.args[1:])[:1] + [k.value for k in node.keywords if k.arg == "mode"]
    mode = "".join(str(c.value) for c in given if isinstance(c, ast.Constant)) or "r"
    does = set("wax+") & set(mode) if write else set("r+a") & set(mode)
    if path is not None and does and _is_fixed(path, names, files):
        yield ast.unparse(path)
