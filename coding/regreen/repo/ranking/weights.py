"""How much a definition's name says: what a use of it is worth, and how readily it is shown. Small whole numbers.

The idea of raising long compound names and lowering private and common ones is that of aider's repository map; kinds,
nesting and the places from which a name can be meant are ours.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from regreen.model import Symbol
from regreen.repo.facts import FileRole

_KINDS = {  # (what a use is worth, how readily it is shown), out of 16
    "class": (16, 16), "interface": (16, 16), "struct": (16, 16), "trait": (16, 16), "protocol": (16, 16),
    "enum": (14, 14), "type": (14, 14), "record": (16, 16), "object": (16, 16), "union": (12, 12), "actor": (16, 16),
    "function": (16, 14), "macro": (10, 8), "module": (8, 8), "namespace": (4, 6), "package": (2, 4),
    "method": (6, 9), "constructor": (4, 8), "property": (4, 6), "prototype": (6, 6),
    "constant": (8, 6), "variable": (6, 5), "field": (2, 2), "heading": (0, 4), "cell": (0, 2),
}  # fmt: skip
_OTHER_KIND = (6, 6)
_FUNCTIONS = frozenset({"function", "method", "constructor", "property"})
_MEMBERS = frozenset({"method", "field", "property", "constructor"})

# Files whose names can be meant by one another; everything else by its extension.
_FAMILIES = {
    extension: number
    for number, extensions in enumerate(
        (
            "py pyi pyw ipynb",
            "js jsx mjs cjs ts tsx mts cts vue svelte",
            "go",
            "rs",
            "java kt kts scala groovy",
            "c h cc cpp cxx hpp hh hxx inl m mm cu",
            "cs",
            "rb rake",
            "php",
            "swift",
            "sh bash",
            "md markdown rst",
        ),
        1,
    )
    for extension in extensions.split()
}
_PYTHON, _GO, _TESTS, _FOLDER = 1, 3, 1 << 8, 1 << 32


_NAMELESS = frozenset({"__init__", "__main__", "index", "mod", "lib", "main", "doc"})


class Weight(NamedTuple):
    """Of one definition. `private`: only files of its folder can mean it."""

    pull: int  # what a use elsewhere is worth, at most 255
    show: int  # how readily it is shown, at most 255
    private: bool


def weigh(symbol: Symbol, container: Symbol | None, language: int) -> Weight:
    """The weight of a definition; `container` is the definition that it is inside of, `language` its file's family."""
    return _weigh(symbol.name, symbol.kind, container is not None and container.kind in _FUNCTIONS, language)


@lru_cache(maxsize=8192)
def _weigh(name: str, kind: str, local: bool, language: int) -> Weight:
    worth, show = _KINDS.get(kind, _OTHER_KIND)
    show *= 4
    if local:
        worth, show = worth // 4, show // 16
    private = name.startswith("_")
    if private and name.startswith("__") and name.endswith("__"):
        worth, show = 0, show if name == "__init__" else show // 8 + 1
    elif private:
        show //= 4
    elif language == _GO and not name[:1].isupper():
        private, show = True, show // 2
    worth = worth * _shape(name, kind) // 2 if worth else 0
    return Weight(min(255, worth), max(1, min(255, show)), private and language in (_GO, _PYTHON))


def family(path: str) -> int:
    """A small number for the files whose names can be meant in this one: those of its language or of a close one."""
    extension = path.rpartition("/")[2].rpartition(".")[2].lower()
    return _FAMILIES.get(extension) or 16 + crc32(extension.encode("utf-8", "replace")) % 240


def key_public(identifier: int, path: str) -> int:
    """The key of a name that may be meant everywhere in its language."""
    return identifier << 33 | family(path)


def key_tests(identifier: int, path: str) -> int:
    """The key of a name that may be meant in tests."""
    return identifier << 33 | _TESTS | family(path)


def key_folder(identifier: int, path: str) -> int:
    """The key of a name that may be meant in one folder only."""
    return identifier << 33 | _FOLDER | crc32(path.rpartition("/")[0].encode("utf-8", "replace"))


def mentions(path: str) -> tuple[str, str, str]:
    """How a file that imports from this one is likely to call it: its stem, its folder, the folder above; "" for a
    name that says nothing."""
    *folders, name = ("", "", *path.split("/"))
    stem = name.partition(".")[0]
    return "" if stem in _NAMELESS or name.endswith(".go") else stem, folders[-1], folders[-2]


def role_factor(role: FileRole) -> float:
    """How much of its score a definition keeps, by the role of its file."""
    return {"source": 1.0, "test": 0.2, "vendored": 0.1, "generated": 0.2}.get(role, 0.0)


def _shape(name: str, kind: str) -> int:
    """From 0 to 24: a long compound name is hardly ever meant by chance, a short common word mostly is."""
    if len(name) < 3:
        return 0
    bare = name.strip("_")
    compound = "_" in bare or not (bare.islower() or bare.isupper() or bare[1:].islower())
    if compound:
        value = 24 if len(name) >= 8 else 18
    elif bare[:1].isupper():
        value = (0, 0, 0, 4, 6, 12)[min(5, len(name))]
    else:
        return 0 if kind in _MEMBERS else (0, 0, 0, 1, 1, 2, 3, 3, 6)[min(8, len(name))]
    return max(1, value // 3) if name.startswith("_") else value
