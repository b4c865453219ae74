"""What a change takes from regreen's own environment, where that had to run the tests since the project has none.

Packages that regreen needs for itself are importable there. A user's machine need not have them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from regreen.fix.tamper import TextChange
from regreen.fix.tamper.parsing import parsed

REMARK = (
    "the tests ran in regreen's own environment, since the project has none: elsewhere other packages, or other "
    "versions of them, may be installed"
)
_PYTHON = (".py", ".pyi")
_BY_NAME = frozenset({"import_module", "__import__"})


def borrowed(changes: Sequence[TextChange], files: Iterable[str], read_text: Callable[[str], str]) -> tuple[str, ...]:
    """A warning for each package that the change begins to import, and that nothing shows to be the project's.

    `files` are the project's files now; `read_text` reads one of them ("" = no text).
    """
    python = [p for p in files if p.endswith(_PYTHON)]
    ours = {part for p in python for part in (PurePosixPath(p).stem, *PurePosixPath(p).parts[:-1])}
    sources = [c for c in changes if c.path.endswith(_PYTHON)]
    old = {name for c in sources for name in _imports(c.before or "")}
    new = {name for c in sources for name in _imports(c.after or "")}
    left = new - old - ours - sys.stdlib_module_names
    changed = {c.path for c in sources}
    for path in python:
        if not left:
            break
        if path not in changed and _names(text := read_text(path), left):
            left -= _imports(text)
    return tuple(
        f"`{name}` comes from regreen's own environment: the project has none, and nothing in it imported `{name}` "
        "before; make sure that it is installed wherever the code is to run, or do without it"
        for name in sorted(left)
    )


def _names(text: str, modules: Iterable[str]) -> bool:
    return any(re.search(rf"\b{re.escape(m)}\b", text) for m in modules)


def _imports(text: str) -> set[str]:
    """The outermost names of what a source imports, at any depth of it."""
    tree = parsed(text)
    return {name.partition(".")[0] for node in (ast.walk(tree) if tree else ()) for name in _imported(node)}


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom(level=0, module=str(module)):
            yield module
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(module)), *_]):
            if name in _BY_NAME and not module.startswith("."):
                yield module
        case _:
            return
