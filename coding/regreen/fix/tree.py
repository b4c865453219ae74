"""A normalised hash of what a run changed, so that the same try is known again in other clothes. Pure.

What does not count: comments and layout in Python, how its literals are written (quotes, implicit joins, `0x10`);
blanks at line ends and empty lines at a file's end in other source code, unless a text over several lines may be in it.
What counts: everything else. Docstrings do, since programs and doctests read them; so does every byte of files that
are data. A file that is back at its bytes of the run's start does not count at all: the start has the hash of nothing.
One that only got a comment does, once: some tests read the source, and the next comment is the same try.
"""

from __future__ import annotations

import ast
import hashlib
import posixpath
import re
import warnings
from collections.abc import Mapping

_PYTHON = frozenset({".py", ".pyi"})
_BY_LINES = frozenset({
    ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".go", ".rs", ".java", ".kt", ".kts", ".scala",
    ".groovy", ".cs", ".fs", ".vb", ".rb", ".php", ".c", ".h", ".cc", ".cpp", ".hpp", ".swift",
})  # fmt: skip
_LONG_TEXT = {
    ".rs": re.compile(rb'"'),  # every string may go over lines
    ".php": re.compile(rb"<<<|\?>|[\"'][^\"'\n]*$", re.MULTILINE),
    ".rb": re.compile(rb"<<|%[qQwWiI]?\W|__END__|[\"'`][^\"'`\n]*$", re.MULTILINE),
}
_ANY_LONG_TEXT = re.compile(rb'`|"""|\'\'\'|[@$R]"|\\\s*$', re.MULTILINE)
"""In most languages: template and raw strings, text blocks, and continued lines."""


def tree_hash(base: Mapping[str, bytes | None], now: Mapping[str, bytes | None]) -> str:
    """The hash of a tree: `now` holds the bytes of every file that differs or may differ from `base` (None: absent)."""
    digest = hashlib.sha256()
    for path in sorted(now):
        after = now[path]
        if after == base.get(path):
            continue
        digest.update(_sha(path.encode("utf-8", "surrogateescape")) + _sha(_normal(path, after)))
    return digest.hexdigest()


def _normal(path: str, data: bytes | None) -> bytes:
    if data is None:
        return b"absent"
    suffix = posixpath.splitext(path)[1].lower()
    if suffix in _PYTHON:
        try:
            return b"ast:" + _dump(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return b"bytes:" + data  # not Python that this interpreter reads
    if suffix in _BY_LINES and not _LONG_TEXT.get(suffix, _ANY_LONG_TEXT).search(data):
        return b"lines:" + b"\n".join(line.rstrip(b" \t") for line in data.splitlines()).strip(b"\n")
    return b"bytes:" + data


def _dump(data: bytes) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that mean nothing, and the like
        tree = ast.parse(data)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None  # u"" is ""
    return ast.dump(tree).encode("utf-8", "backslashreplace")


def _sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
