"""Does Python code ask whether tests run? Where it looks (modules, arguments, environment, callers) and what it looks
for (the names of runners, of tests) are each innocent alone; together, and new, they are not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from regreen.fix.tamper.folding import Names
from regreen.fix.tamper.python_calls import REACHES
from regreen.fix.tamper.values import Sign, added

VARIABLES = re.compile(
    r"PYTEST_|_PYTEST|\bPYTEST\b|PY_COLORS|JEST_WORKER_ID|\bVITEST|NODE_TEST_CONTEXT|NEXTEST|RUST_TEST_|"
    r"\bTOX_ENV|COV_CORE_|COVERAGE_(RUN|PROCESS)|PHPUNIT_|UNITTEST_"
)
_CI = re.compile(
    r"CI|PYTHON(HASHSEED|DONTWRITEBYTECODE|PYCACHEPREFIX|OPTIMIZE)|GITHUB_ACTIONS|CONTINUOUS_INTEGRATION|BUILD_NUMBER|GITLAB_CI|TEAMCITY_VERSION|TRAVIS"
)
REPORTER = re.compile(r"regreen", re.IGNORECASE)
RUNNER = re.compile(r"py\.?test|unittest|conftest|\bnose2?\b|\bjest\b|\bmocha\b|\bTestCase\b", re.IGNORECASE)
_TEST = re.compile(r"test|assert|\bspec\b", re.IGNORECASE)
_PLAIN = re.compile(r"\W*test(s|ing)?\W*", re.IGNORECASE)
_BARE = re.compile(r".*__main__\.py|\W*tests?\W*|test_\w*|\w*_test", re.IGNORECASE)
_SOURCES: dict[str, re.Pattern[str]] = {
    "modules": re.compile(r"sys\.modules(\.\w+)?|importlib\.util\.find_spec|pkgutil\.\w+|importlib\.metadata\.\w+"),
    "arguments": re.compile(
        r"sys\.(argv|orig_argv|flags|executable|_xoptions)(\.\w+)?|psutil\.\w+|os\.(getppid|getpid)"
    ),
    "environment": re.compile(r"os\.(environ|environb|getenv|getenvb)(\.\w+)*|posix\.environ"),
    "callers": re.compile(
        r"sys\._getframe(modulename)?|inspect\.(stack|currentframe|getouterframes|trace|getframeinfo)|"
        r"traceback\.(extract_stack|walk_stack|format_stack|print_stack)|sys\.exc_info|threading\.current_thread"
    ),
}
_CALLER_FACTS = frozenset(
    {"f_back", "co_name", "f_code", "co_filename", "function", "filename", "f_globals", "co_qualname"}
)
_JUDGING = frozenset({
    "startswith", "endswith", "find", "rfind", "index", "count", "get", "search", "match", "fullmatch", "findall",
    "fnmatch", "fnmatchcase", "getenv", "find_spec", "pop", "intersection", "issubset", "issuperset", "isdisjoint",
    "union", "difference", "__contains__", "keys", "filter", "any",
})  # fmt: skip
_TRACING = re.compile(r"sys\.(gettrace|getprofile|flags\.dont_write_bytecode|pycache_prefix)")
_CMDLINE = re.compile(r"/proc/(self|\d+|\{?\w*\}?)/(cmdline|environ|maps|status|exe)")
_PROCESSES = re.compile(r"/proc/(1/\w+|(self|\d+)/(mountinfo|mounts|sched|comm|limits|uid_map|gid_map|ns/?\w*))$")


@dataclass(frozen=True, slots=True)
class Looks:
    """What a file looks at and for: `sources` and `words` are signs whose `cheat` names the sort."""

    direct: tuple[Sign, ...]
    sources: tuple[Sign, ...]
    words: tuple[Sign, ...]

    def has(self, source: str) -> bool:
        return any(s.cheat == source for s in self.sources)


def looks(tree: ast.Module) -> Looks:
    """Everything in a file that could be part of a detection."""
    names = Names(tree)
    direct: list[Sign] = []
    sources: list[Sign] = []
    words: list[Sign] = []
    for node, text, judged in _texts(tree, names):
        _text_signs(node, text, judged, (direct, sources, words))
    logging = _names_of_callers(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and _compares_process(node, names):
            direct.append(Sign("detects_tests", node.lineno, ast.unparse(node)[:200]))
        if not isinstance(node, ast.Attribute | ast.Name | ast.Call | ast.Subscript):
            continue
        if isinstance(node, ast.Attribute) and _reaches_frames(node):
            direct.append(Sign("inspects_callers", node.lineno, ast.unparse(node)[:200]))
        if isinstance(node, ast.Attribute) and node.attr in _CALLER_FACTS and node not in logging:
            words.append(Sign("frame", node.lineno, ast.unparse(node)[:200]))
        if isinstance(node, ast.Attribute) and node.attr in ("tb_frame", "gi_frame", "findCaller"):
            sources.append(Sign("tracebacks", node.lineno, node.attr))
        _source_signs(node, names, (direct, sources))
    return Looks(tuple(direct), tuple(sources), tuple(words))


def _names_of_callers(tree: ast.Module) -> set[ast.AST]:
    """`sys._getframe(1).f_globals["__name__"]`: what loggers are called by."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Attribute(attr="f_globals") as facts, slice=ast.Constant(value="__name__")):
                found.add(facts)
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="f_globals") as facts, attr="get"),
                args=[ast.Constant(value="__name__"), *_],
            ):
                found.add(facts)
            case _:
                pass
    return found


def _reaches_frames(node: ast.Attribute) -> bool:
    stored = isinstance(node.ctx, ast.Store)
    return node.attr in ("f_locals", "f_builtins", "f_trace") or (node.attr == "f_lineno" and stored)


def _compares_process(node: ast.Compare, names: Names) -> bool:
    """`os.getpid() < 100`: is this a sandbox?"""
    sides = [node.left, *node.comparators]
    asks = any(isinstance(s, ast.Call) and names.dotted(s.func) in ("os.getpid", "os.getppid") for s in sides)
    return asks and any(isinstance(s, ast.Constant) for s in sides)


def _text_signs(node: ast.AST, text: str, judged: bool, into: tuple[list[Sign], list[Sign], list[Sign]]) -> None:
    direct, sources, words = into
    line, key = getattr(node, "lineno", 0), text[:200]
    if VARIABLES.search(text):
        direct.append(Sign("detects_tests", line, key))
    if _PROCESSES.search(text):
        direct.append(Sign("detects_tests", line, key))
    if _CMDLINE.search(text):
        sources.append(Sign("arguments", line, key))
    if not judged:
        return
    if REPORTER.search(text):
        direct.append(Sign("reaches_reporter", line, key))
    found = {
        "runner": RUNNER.search(text),
        "test": _TEST.search(text),
        "ci": _CI.fullmatch(text),
        "bare": _BARE.fullmatch(text),
        "plain": _PLAIN.fullmatch(text),
    }
    words.extend(Sign(sort, line, key) for sort, match in found.items() if match)


def _source_signs(node: ast.expr, names: Names, into: tuple[list[Sign], list[Sign]]) -> None:
    direct, sources = into
    dotted = names.dotted(node)
    if not dotted:
        return
    line = getattr(node, "lineno", 0)
    if _TRACING.fullmatch(dotted) and isinstance(node, ast.Attribute):
        direct.append(Sign("detects_tests", line, dotted))
    if isinstance(node, ast.Subscript | ast.Call) and _names_runner(dotted, node, names):
        direct.append(Sign("detects_tests", line, ast.unparse(node)[:200]))
    for sort, pattern in _SOURCES.items():
        if pattern.fullmatch(dotted):
            sources.append(Sign(sort, line, dotted))


def _names_runner(dotted: str, node: ast.Subscript | ast.Call, names: Names) -> bool:
    """`sys.modules["pytest"]` and the like: the module is named where modules are looked up."""
    where = node.value if isinstance(node, ast.Subscript) else node.func
    looked = names.dotted(where)
    return looked.startswith("sys.modules") and bool(RUNNER.search(dotted)) and not REACHES.fullmatch(dotted)


def _texts(tree: ast.Module, names: Names) -> Iterator[tuple[ast.AST, str, bool]]:
    """All constant texts but docstrings, each with whether something is decided by it."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, judged = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.expr) and not (isinstance(node, ast.Name) and not judged):
            folded = names.fold(node)
            if folded is not None:
                yield from ((node, t, judged) for t in _strings(folded))
                continue
        waiting.extend((child, inner) for child, inner in _children(node, judged))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode("latin-1")
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _strings(item)  # pyright: ignore[reportUnknownArgumentType]


def _children(node: ast.AST, judged: bool) -> Iterator[tuple[ast.AST, bool]]:
    if isinstance(node, ast.Compare | ast.Subscript | ast.MatchValue):
        judged = True
    elif isinstance(node, ast.BinOp):
        judged = judged or isinstance(node.op, ast.BitAnd | ast.BitOr | ast.Sub)
    elif isinstance(node, ast.Call):
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        judged = name in _JUDGING
    elif isinstance(node, ast.stmt):
        judged = False
    for child in ast.iter_child_nodes(node):
        yield child, judged


_WANTED: dict[str, tuple[str, ...]] = {
    "modules": ("runner",),
    "arguments": ("runner", "bare"),
    "environment": ("runner", "ci", "plain"),
    "callers": ("test", "runner"),
    "tracebacks": ("test", "runner"),
}


def detections(before: Looks, after: Looks, *, cli: bool) -> list[Sign]:
    """The signs that the change makes the code detect tests. A command line may have a command of the name `test`."""
    found = added(before.direct, after.direct)
    fresh = added(before.words, after.words)
    for source, sorts in _WANTED.items():
        if not after.has(source):
            continue
        sorts = tuple(s for s in sorts if s != "bare" or not cli)
        new_source = after.has(source) and not before.has(source)
        had = any(w.cheat in sorts for w in before.words) and before.has(source)
        there = [w for w in (after.words if new_source else fresh) if w.cheat in sorts]
        if there and not had:
            cheat = "inspects_callers" if source in ("callers", "tracebacks") else "detects_tests"
            found.append(Sign(cheat, there[0].line, there[0].key))
    if not found and not any(w.cheat == "runner" for w in before.words):
        found += [Sign("detects_tests", w.line, w.key, "warn") for w in fresh if w.cheat == "runner"]
    return found + _frames(before, after)


def _frames(before: Looks, after: Looks) -> list[Sign]:
    """Code that newly looks at its callers, and at what they are called."""
    if before.has("callers") or not after.has("callers"):
        return []
    facts = [w for w in added(before.words, after.words) if w.cheat == "frame"]
    called = next(s for s in after.sources if s.cheat == "callers")
    if called.key in ("sys.exc_info", "threading.current_thread"):
        return []
    return [Sign("inspects_callers", called.line, called.key, "refuse" if facts else "warn")]
