"""Part of the search worker: compiling a candidate's changed code and putting it into live functions and modules.

Standard library only; Python 3.8 and later: modern annotations are text there, modern aliases are not.
"""

# ruff: noqa: PTH118, PTH119
from __future__ import annotations
import __future__

import gc
import os
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Key = tuple[Any, ...]
    Live = dict[tuple[str, int], list[types.FunctionType]]  # (name, first line) -> functions that exist now

_QUALIFIED = sys.version_info >= (3, 11)


class Project:
    """The private copy: maps code file names to paths relative to it."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._paths: dict[str, str] = {}

    def relative(self, filename: str) -> str:
        """The posix path inside the copy, or "" for a file elsewhere."""
        known = self._paths.get(filename)
        if known is None:
            full = os.path.realpath(filename) if not filename.startswith("<") else ""
            inside = full.startswith(self.root + os.sep)
            known = full[len(self.root) + 1 :].replace(os.sep, "/") if inside else ""
            self._paths[filename] = known
        return known

    def absolute(self, path: str) -> str:
        return os.path.join(self.root, *path.split("/"))


def compile_unit(text: str, filename: str, future: Sequence[str]) -> types.CodeType:
    """Compile a piece of a file as the whole would be: same line numbers, same `__future__` features."""
    flags = 0
    for name in future:
        flags |= int(getattr(__future__, name).compiler_flag)
    return compile(text, filename, "exec", flags=flags, dont_inherit=True)


def fingerprint(code: types.CodeType) -> int:
    """Equal for code that does the same step by step, whatever its line numbers."""
    consts = tuple(
        fingerprint(c) if isinstance(c, types.CodeType) else (type(c).__name__, repr(c)) for c in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    handlers = getattr(code, "co_exceptiontable", b"")
    return hash((code.co_code, consts, names, code.co_flags, code.co_argcount, code.co_kwonlyargcount, handlers))


def walk_code(code: types.CodeType, path: Key = ()) -> Iterator[tuple[Key, types.CodeType]]:
    """Every code object inside `code`, with a key that survives edits: the names that lead to it, numbered."""
    counts: dict[str, int] = {}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            number = counts[const.co_name] = counts.get(const.co_name, 0) + 1
            key = (*path, const.co_name, number)
            yield key, const
            yield from walk_code(const, key)


def _name(code: types.CodeType) -> str:
    return str(getattr(code, "co_qualname")) if _QUALIFIED else code.co_name  # noqa: B009


def live_functions(project: Project) -> dict[str, Live]:
    """All functions of the project that exist now, by path."""
    found: dict[str, Live] = {}
    for value in gc.get_objects():
        if type(value) is types.FunctionType:
            path = project.relative(value.__code__.co_filename)
            if path:
                spot = (_name(value.__code__), value.__code__.co_firstlineno)
                found.setdefault(path, {}).setdefault(spot, []).append(value)
    return found


def swap(live: Live, base: types.CodeType, changed: types.CodeType) -> None:
    """Give the live functions of `base` the code that stands at the same place in `changed`."""
    after = dict(walk_code(changed))
    for key, code in walk_code(base):
        for function in live.get((_name(code), code.co_firstlineno), ()):
            new = after.get(key)
            if new is not None and new.co_freevars == function.__code__.co_freevars:
                function.__code__ = new


def execute(code: types.CodeType, path: str) -> None:
    """Run changed module-level assignments in their module, and give the new values to who imported them by name."""
    for module in list(sys.modules.values()):
        file: str | None = getattr(module, "__file__", None)
        if file and file.endswith(os.path.basename(path)) and os.path.realpath(file) == path:
            before: Mapping[str, Any] = dict(vars(module))
            exec(code, vars(module))
            for name, value in list(vars(module).items()):
                if name in before and before[name] is not value:
                    _spread(name, before[name], value)
            return


def _spread(name: str, old: Any, new: Any) -> None:
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if old is not None and names.get(name) is old:
            names[name] = new
