"""A noxfile, read as a syntax tree as far as it is plain: its sessions, and the one command that a session runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_PREPARES = frozenset(("install", "conda_install", "log", "debug", "warn"))
_SAYS_NOTHING = frozenset(("external", "silent", "log"))  # keywords of `run` that change nothing about the outcome
_CHOOSES = frozenset(("keywords", "tags", "pythons", "extra_pythons", "force_pythons", "noxfile"))


@dataclass(frozen=True, slots=True)
class Session:
    """`words` are those of its one command, `*` for those of the caller; None where there is not plainly one."""

    name: str
    words: tuple[str, ...] | None = None
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    default: bool = True


@dataclass(frozen=True, slots=True)
class Noxfile:
    """`listed` are the sessions that run where none is asked for, by name; None for all that run by default. `odd`:
    there may be more sessions, or other ones are chosen than can be told."""

    sessions: tuple[Session, ...] = ()
    listed: tuple[str, ...] | None = None
    odd: bool = False

    def chosen(self, asked: Sequence[str]) -> list[Session]:
        """The sessions that run. A name that is none of a session stands for one that is not known."""
        names = asked or self.listed
        if names is None:
            return [s for s in self.sessions if s.default]
        by_name = {s.name: s for s in self.sessions}
        return [by_name.get(name, Session(name)) for name in names]


def read(text: str) -> Noxfile:
    """Read a noxfile."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Noxfile()
    top = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.decorator_list]
    sessions = tuple(s for n in top if (s := _session(n)) is not None)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    listed, odd = _options(tree)
    return Noxfile(sessions, listed, odd or sum(bool(n.decorator_list) for n in functions) != len(sessions))


def _options(tree: ast.Module) -> tuple[tuple[str, ...] | None, bool]:
    """`nox.options.sessions`; and whether sessions are chosen in a way that is not plain."""
    listed: tuple[str, ...] | None = None
    odd = False
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("nox.options", "options")):
            continue
        assigned = next((n for n in tree.body if isinstance(n, ast.Assign) and n.targets == [node]), None)
        if node.attr == "sessions":
            names = _strings(assigned.value) if assigned is not None else None
            odd = odd or names is None or listed is not None
            listed = names
        odd = odd or node.attr in _CHOOSES
    return listed, odd


def _strings(node: ast.expr) -> tuple[str, ...] | None:
    if not isinstance(node, ast.List | ast.Tuple):
        return None
    values = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return tuple(values) if len(values) == len(node.elts) else None


def _session(node: ast.FunctionDef) -> Session | None:
    """The session that a function is; without words where more than one decorator, or several Pythons, make several."""
    found = [d for d in node.decorator_list if _is_session(d)]
    if len(found) != 1:
        return None
    given = found[0].keywords if isinstance(found[0], ast.Call) else []
    keywords = {k.arg or "": k.value for k in given}
    name, default = keywords.get("name"), keywords.get("default")
    called = str(name.value) if isinstance(name, ast.Constant) else node.name
    runs_by_default = not (isinstance(default, ast.Constant) and default.value is False)
    positional = isinstance(found[0], ast.Call) and bool(found[0].args)
    several = len(node.decorator_list) > 1 or positional or not _is_one(keywords.get("python", keywords.get("py")))
    command = None if several or not node.args.args else _command(node.body, node.args.args[0].arg)
    words, variables = command or (None, dict[str, str]())
    return Session(called, words, variables, runs_by_default)


def _is_session(decorator: ast.expr) -> bool:
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(call) in ("nox.session", "session")


def _is_one(python: ast.expr | None) -> bool:
    """Whether a session is for one Python at most."""
    return python is None or isinstance(python, ast.Constant) or len(_strings(python) or ("", "")) == 1


def _command(body: Iterable[ast.stmt], session: str) -> tuple[tuple[str, ...], dict[str, str]] | None:
    """The one command of a session that does nothing else but install; None for anything else."""
    found: list[tuple[tuple[str, ...], dict[str, str]]] = []
    for statement in body:
        if not isinstance(statement, ast.Expr):
            return None
        if isinstance(statement.value, ast.Constant):
            continue
        method = _method(statement.value, session)
        if method == "run" and isinstance(statement.value, ast.Call):
            words, variables = _words(statement.value, session), _variables(statement.value)
            if words is None or variables is None:
                return None
            found.append((words, variables))
        elif method not in _PREPARES:
            return None
    return found[0] if len(found) == 1 else None


def _method(node: ast.expr, session: str) -> str:
    """Which method of the session a call calls."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    return node.func.attr if ast.unparse(node.func.value) == session else ""


def _words(call: ast.Call, session: str) -> tuple[str, ...] | None:
    words: list[str] = []
    for argument in call.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value != "*":
            words.append(argument.value)
        elif isinstance(argument, ast.Starred) and ast.unparse(argument.value) == f"{session}.posargs":
            words.append("*")
        else:
            return None
    return tuple(words)


def _variables(call: ast.Call) -> dict[str, str] | None:
    """The `env` of a call; None where it or another keyword is not plain."""
    found: dict[str, str] = {}
    for keyword in call.keywords:
        if keyword.arg in _SAYS_NOTHING:
            continue
        if keyword.arg != "env" or not isinstance(keyword.value, ast.Dict):
            return None
        for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
            if not (isinstance(key, ast.Constant) and isinstance(value, ast.Constant)):
                return None
            if not (isinstance(key.value, str) and isinstance(value.value, str)):
                return None
            found[key.value] = value.value
    return found
