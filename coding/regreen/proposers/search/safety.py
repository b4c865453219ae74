"""Which code is never mutated, and which words no edit may bring in: running them by mistake could do harm. Pure.

Candidates run in a private copy with private temporary folders, but a changed condition in front of `rmtree(path)`
may let any absolute path through. So functions that delete, start processes or use the network stay as they are, and
so do the functions that call them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from regreen.proposers.search.source import FUNCTIONS, Source, TextEdit
from regreen.proposers.search.vocabulary import callee_name

_MODULES = frozenset(
    ("subprocess", "shutil", "socket", "requests", "httpx", "urllib", "smtplib", "ftplib", "ctypes", "signal", "boto3",
     "paramiko", "aiohttp", "multiprocessing", "telnetlib")
)  # fmt: skip
_HARMLESS = frozenset(
    ("urlencode", "urlparse", "urlsplit", "urlunsplit", "urlunparse", "urljoin", "quote", "quote_plus", "unquote",
     "unquote_plus", "parse_qs", "parse_qsl", "get_terminal_size", "which")
)  # fmt: skip
_CALLS = frozenset(
    ("unlink", "rmtree", "rmdir", "removedirs", "renames", "system", "popen", "kill", "killpg", "truncate", "sendall",
     "ftruncate", "chmod", "chown", "lchmod", "urlopen", "Popen", "check_call", "check_output", "execv", "execve",
     "execvp", "spawn", "spawnv", "fork", "forkpty", "eval", "exec", "drop_table", "drop_all", "terminate", "abort",
     "_exit", "send_message", "sendmail", "symlink_to", "hardlink_to", "link_to", "symlink", "mkfifo", "quit",
     "create_subprocess_exec", "create_subprocess_shell", "executescript", "unsetenv", "putenv")
)  # fmt: skip
_WRITES = frozenset(("write_text", "write_bytes", "rename"))
_OS = frozenset(("remove", "replace", "rename"))


def harmful_functions(sources: Iterable[Source]) -> frozenset[str]:
    """Names of the project's functions that do harm by themselves or by calling another that does."""
    bodies = {n: n.name for s in sources for n in ast.walk(s.tree) if isinstance(n, FUNCTIONS)}
    found: set[str] = set()
    while True:
        more = {name for node, name in bodies.items() if name not in found and harmful(node, frozenset(found))}
        if not more:
            return frozenset(found)
        found |= more


def harmful(node: ast.AST, functions: frozenset[str]) -> bool:
    """Does anything inside delete, start processes or use the network?"""
    return any(_is_harmful_call(n, functions) for n in ast.walk(node) if isinstance(n, ast.Call))


def is_off_limits(source: Source, stmt: ast.stmt, functions: frozenset[str]) -> bool:
    """Must the statement stay as it is? Also when it only stands in front of a harmful one, or writes files itself."""
    outermost: ast.AST = stmt
    up = source.function_of(stmt)
    while up is not None:
        outermost, up = up, source.function_of(up)
    writes = any(_writes(n) for n in ast.walk(stmt) if isinstance(n, ast.Call))
    return writes or harmful(outermost, functions)


def brings_harm(edits: Iterable[TextEdit], text: str, functions: frozenset[str]) -> bool:
    """Do edits bring in a word that can do harm and was not in the text they replace?"""
    for edit in edits:
        new = set(re.findall(r"\w+", edit.new)) - set(re.findall(r"\w+", text[edit.start : edit.end]))
        if new & (_CALLS | _MODULES | _WRITES | functions):
            return True
    return False


def _writes(node: ast.Call) -> bool:
    modes = [a.value for a in (*node.args, *(k.value for k in node.keywords)) if isinstance(a, ast.Constant)]
    opens = callee_name(node) == "open" and any(isinstance(m, str) and set(m) & set("wax+") for m in modes)
    return opens or callee_name(node) in _WRITES


def _is_harmful_call(node: ast.Call, functions: frozenset[str]) -> bool:
    name = callee_name(node)
    if name in _CALLS or name in functions:
        return True
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if not isinstance(owner, ast.Name):
        return False
    return (owner.id in _MODULES and name not in _HARMLESS) or (owner.id == "os" and name in _OS)
