"""Which statements are never mutated: running them under a changed condition could do harm. Pure."""

from __future__ import annotations

import ast

from regreen.proposers.search.vocabulary import callee_name

_MODULES = frozenset(
    ("subprocess", "shutil", "socket", "requests", "httpx", "urllib", "smtplib", "ftplib", "ctypes", "signal", "boto3",
     "paramiko", "aiohttp")
)  # fmt: skip
_CALLS = frozenset(
    ("unlink", "rmtree", "rmdir", "removedirs", "rename", "renames", "system", "popen", "kill", "killpg", "truncate",
     "ftruncate", "chmod", "chown", "sendall", "urlopen", "Popen", "check_call", "check_output", "execv", "execve",
     "spawn", "fork", "eval", "exec", "drop_table", "drop_all", "symlink", "write_text", "write_bytes", "rmfile",
     "terminate", "putenv", "abort", "_exit", "fdopen", "mkfs", "format_disk", "send_message", "sendmail")
)  # fmt: skip


def is_dangerous(stmt: ast.stmt) -> bool:
    """Does anything inside the statement (its body too) delete, rename, start processes or use the network?"""
    return any(_harmful(node) for node in ast.walk(stmt))


def _harmful(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = callee_name(node)
    if name in _CALLS:
        return True
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    if not isinstance(owner, ast.Name):
        return False
    return owner.id in _MODULES or (owner.id == "os" and name in ("remove", "replace", "rename"))
