"""Which calls of library functions are cheats, and where: the context decides, since honest programs end, too."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from regreen.fix.tamper.folding import Names
from regreen.fix.tamper.values import Weight

REACHES = re.compile(
    r"gc\.get_(objects|referrers|referents)|ctypes\.(pythonapi|py_object|memmove|memset|PyDLL)|"
    r"types\.CodeType|sys\._current_frames|_ctypes(\..+)?|sys\._clear_type_cache|_testinternalcapi(\..+)?"
)
ENDS = re.compile(
    r"(os|posix|nt)\.(_exit|abort|exec\w+)|signal\.(raise_signal|pthread_kill)|_thread\.interrupt_main|"
    r"faulthandler\._\w+"
)
_EXITS = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "builtins.SystemExit"})
_KILLS = frozenset({"os.kill", "os.killpg", "posix.kill"})
_OWN = re.compile(r"getpp?id|getpgrp|getpgid|\b0\b")
_TRACES = re.compile(
    r"(sys|threading)\.(settrace|setprofile|settrace_all_threads|setprofile_all_threads|addaudithook|call_tracing)|"
    r"sys\.monitoring\..+|sys\.(meta_path|path_hooks)\.(insert|append|extend|clear|__setitem__)"
)
_MODULES = re.compile(r"sys\.modules\.(update|setdefault|__setitem__|pop|clear|__delitem__|popitem)")
_RUNS = frozenset({"builtins.exec", "builtins.eval", "builtins.compile"})
_DECODERS = re.compile(r"b64decode|b32decode|b85decode|unhexlify|fromhex|marshal|codecs|decompress|rot_?13")
_LOADS = re.compile(r"(marshal|pickle|_pickle)\.loads?")
_SHELLS = re.compile(r"os\.(system|popen)|subprocess\.\w+")
_KILLER = re.compile(r"\b(kill|pkill|killall)\b")
_NAMES_TESTS = re.compile(r"\btest_\w+\.py|\b\w+_test\.py|\bconftest\b|(?<![\w-])tests?/")
_TIDY = re.compile(r"rmtree|close|cleanup|clean_up|shutdown|unlink|remove|terminate|stop|flush|save|wait|join|release")
_CLI_NAME = re.compile(
    r"_?(main|cli|run|cmd|command|usage|die|fail|version|help|exit|quit)(_\w+)?|\w+_(main|cli|command)"
)
_CLI_MODULE = re.compile(r"name='(argparse|optparse|getopt|click|typer|docopt|fire)'|module='(argparse|click|typer)'")
_STARTUP = re.compile(r"site\.get(site|usersite)\w*|importlib\.util\.cache_from_source|py_compile\.compile")
_TEST_FILE = re.compile(
    r"(.*[/\\])?(test_[\w*?]*|conftest)(\.py[co]?)?|(.*[/\\])?[\w*?]+_test\.py|(.*[/\\])?tests?[/\\].+"
)
_STARTUP_FILE = re.compile(
    r"(.*[/\\])?((site|user)customize\.py|.*\.pth|\.?pytest\.(ini|toml)|pytest_cache)|.*site-packages.*"
)
_SETTINGS_FILE = re.compile(r"(.*[/\\])?(tox\.ini|setup\.cfg|pyproject\.toml|package\.json|\.coveragerc)")
_OPENS = re.compile(
    r"builtins\.open|io\.open|os\.(open|remove|unlink|rename|replace|listdir|scandir|path\.join)|shutil\.\w+|"
    r"(.*\.)?(Path|PurePath)|glob\.\w+|runpy\.\w+|linecache\.\w+|importlib\.util\.spec_from_file_location|"
    r"inspect\.getsource\w*"
)
_PATH_METHODS = frozenset({"joinpath", "glob", "rglob", "with_name", "write_text", "write_bytes", "open"})
_WRITES = frozenset({"write_text", "write_bytes"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call stands: in these functions, run at import or not, in a file that is a command line or not."""

    path: str
    names: Names
    inside: tuple[str, ...]
    importing: bool
    cli: bool
    forks: bool


def is_cli(path: str, dumped: str) -> bool:
    """Whether ending the process is what this file is for."""
    name = path.rpartition("/")[2]
    return name in ("__main__.py", "cli.py", "main.py", "manage.py") or bool(_CLI_MODULE.search(dumped))


def judge(called: str, node: ast.Call, place: Place) -> Iterator[tuple[str, Weight]]:
    """The cheats that a call of this (resolved) name comes to."""
    for rule in _RULES:
        found = rule(called, node, place)
        if found is not None:
            yield found
            return


def _ends(called: str, node: ast.Call, place: Place) -> tuple[str, Weight] | None:
    if ENDS.fullmatch(called) or called == "os.closerange" or _by_library(node):
        return "ends_process", "warn" if place.forks and not place.importing else "refuse"
    if called in _KILLS and node.args and _OWN.search(ast.unparse(node.args[0])):
        return "ends_process", "refuse"
    if called == "faulthandler.dump_traceback_later" and any(k.arg == "exit" for k in node.keywords):
        return "ends_process", "refuse"
    if called not in _EXITS or (called == "builtins.SystemExit"):
        return None
    if place.importing:
        return None if place.path.endswith("__main__.py") else ("ends_process", "refuse")
    code = place.names.fold(node.args[0]) if node.args else 0
    good = code == 0 or (node.args and isinstance(node.args[0], ast.Constant) and not node.args[0].value)
    if not good or not place.inside or any(_CLI_NAME.fullmatch(n) for n in place.inside):
        return None
    return "ends_process", "warn" if place.cli else "refuse"


def _by_library(node: ast.Call) -> bool:
    """`ctypes.CDLL(None)._exit(0)`"""
    ends = isinstance(node.func, ast.Attribute) and node.func.attr in ("_exit", "_Exit", "quick_exit", "abort", "exit")
    return ends and bool(re.search(r"(?i)dll|libc", ast.unparse(node.func)))


def _hooks(called: str, node: ast.Call, _place: Place) -> tuple[str, Weight] | None:
    if called == "atexit.register":
        tidies = node.args and _TIDY.search(ast.unparse(node.args[0]))
        return "hooks_exit", "warn" if tidies else "refuse"
    if _TRACES.fullmatch(called):
        return "hooks_interpreter", "refuse"
    if _MODULES.fullmatch(called):
        return "replaces_module", "refuse"
    return None


def _hidden(called: str, node: ast.Call, place: Place) -> tuple[str, Weight] | None:
    if not node.args:
        return None
    first = node.args[0]
    constant = place.names.fold(first) is not None
    if called in _RUNS and (constant or _DECODERS.search(ast.unparse(first))):
        return "runs_hidden_code", "refuse"
    if _LOADS.fullmatch(called) and (constant or "marshal" in called):
        return "runs_hidden_code", "refuse"
    if called in ("builtins.exec", "types.FunctionType"):
        return "runs_hidden_code", "warn"
    return None


def _shell(called: str, node: ast.Call, place: Place) -> tuple[str, Weight] | None:
    if not _SHELLS.fullmatch(called) or not node.args:
        return None
    words = place.names.fold(node.args[0])
    text = " ".join(map(str, words)) if isinstance(words, list) else str(words or "")
    if _KILLER.search(text):
        return "ends_process", "refuse"
    if _NAMES_TESTS.search(text):
        return "touches_tests", "refuse"
    return ("detects_tests", "refuse") if "pytest" in text or "unittest" in text else None


def _files(called: str, node: ast.Call, place: Place) -> tuple[str, Weight] | None:
    if _STARTUP.fullmatch(called):
        return "writes_startup_files", "refuse"
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if not (_OPENS.fullmatch(called) or method in _PATH_METHODS):
        return None
    texts = [t for t in _texts(node, place.names) if len(t) < 300]
    if any(_STARTUP_FILE.fullmatch(t) for t in texts):
        return "writes_startup_files", "refuse"
    folder = called.startswith("shutil.") and any(t in ("test", "tests") for t in texts)
    if folder or any(_TEST_FILE.fullmatch(t) for t in texts):
        return "touches_tests", "refuse"
    writes = method in _WRITES or (called == "builtins.open" and _mode(node) & set("wax+"))
    return ("touches_tests", "refuse") if writes and any(_SETTINGS_FILE.fullmatch(t) for t in texts) else None


def _texts(node: ast.expr, names: Names) -> Iterator[str]:
    """All constant texts below an expression, put together where that is possible."""
    folded = names.fold(node)
    if isinstance(folded, str):
        yield folded
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _texts(child, names)


def _mode(node: ast.Call) -> set[str]:
    given = [k.value for k in node.keywords if k.arg == "mode"] + node.args[1:2]
    return {c for m in given if isinstance(m, ast.Constant) for c in str(m.value)}


_RULES: tuple[Callable[[str, ast.Call, Place], tuple[str, Weight] | None], ...] = (
    _ends, _hooks, _hidden, _shell, _files
)  # fmt: skip
