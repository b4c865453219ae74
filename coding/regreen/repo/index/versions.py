"""What an index was made by: our schema, our code that reads files, our query files, the grammars that are installed.

Where any of it differs, other definitions may come out, and the index is made again in a file of its own; so two
versions of this program that work side by side do not destroy each other's.
"""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path

SCHEMA_VERSION = 1

_REPO = Path(__file__).parents[1]
_MAKERS = ("classes.py", "languages.py", "symbols/*.py", "mending/*.py", "index/*.py", "queries/*.scm")


@cache
def fingerprint() -> str:
    """Another text for every other combination."""
    digest = hashlib.sha256(f"schema {SCHEMA_VERSION}\n".encode())
    for path in sorted(path for pattern in _MAKERS for path in _REPO.glob(pattern)):
        data = path.read_bytes()
        digest.update(f"{path.name} {len(data)}\n".encode() + data)
    for name in _grammars():
        digest.update(name.encode() + b"\n")
    return digest.hexdigest()


def _grammars() -> list[str]:
    """The installed wheels of tree-sitter and its grammars, with their versions: the names of their metadata."""
    spec = importlib.util.find_spec("tree_sitter")
    if spec is None or spec.origin is None:
        return []
    site = Path(spec.origin).parents[1]
    return sorted(p.name for p in site.glob("tree_sitter*-info"))
