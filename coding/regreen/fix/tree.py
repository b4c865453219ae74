"""A normalised hash of what a run changed, so that the same try is known again in other clothes. Pure.

Python files count by their syntax tree, others by their lines without blanks at the ends; a file that is back at its
bytes of the run's start does not count at all, so the start itself has the hash of nothing.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping


def tree_hash(base: Mapping[str, bytes | None], now: Mapping[str, bytes | None]) -> str:
    """The hash of a tree: `now` holds the bytes of every file that differs or may differ from `base` (None: absent)."""
    digest = hashlib.sha256()
    for path in sorted(now):
        if now[path] != base.get(path):
            digest.update(path.encode("utf-8", "surrogateescape") + b"\0" + _normal(path, now[path]) + b"\0")
    return digest.hexdigest()


def _normal(path: str, data: bytes | None) -> bytes:
    if data is None:
        return b"absent"
    if path.endswith((".py", ".pyi")):
        try:
            return b"ast:" + hashlib.sha256(ast.dump(ast.parse(data)).encode("utf-8", "replace")).digest()
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # not Python that this interpreter reads: its text counts
    return b"text:" + b"\n".join(line.rstrip() for line in data.splitlines()).strip()
