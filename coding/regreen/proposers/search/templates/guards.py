"""Guards: an early return, skip or default for the empty, the missing and the extreme case. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.source import FUNCTIONS
from regreen.proposers.search.templates.table import Template

_VALUES: Sequence[tuple[str, float]] = (
    ("None", 1.0), ("[]", 0.8), ('""', 0.6), ("0", 0.8), ("{}", 0.5), ("False", 0.7), ("True", 0.5), ("0.0", 0.3),
    ("", 0.6), ("set()", 0.2), ("()", 0.2), ("1", 0.4), ("-1", 0.2),
)  # fmt: skip


def subjects(site: Site) -> list[tuple[str, float]]:
    """What a guard could test here: the names and attributes that the statement itself uses, then the parameters."""
    found: dict[str, float] = {}
    for node in site.source.own_nodes(site.stmt):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and site.reliable(node):
            parent = site.source.parents.get(node)
            callee = isinstance(parent, ast.Call) and parent.func is node
            if not callee and len(site.text(node)) <= 40:
                found.setdefault(site.text(node), 1.0)
    names = site.scope.names_at(site.source, site.stmt)
    for name in names:
        found.setdefault(name, 0.5)
        for attr in sorted(site.words.attributes.get(name, ())):
            found.setdefault(f"{name}.{attr}", 0.4)
    known = {*names, "self"}
    return [(t, w) for t, w in found.items() if t.split(".")[0].split("[")[0] in known and t != "self"]


def _tests(subject: str) -> Iterator[tuple[str, float]]:
    yield f"not {subject}", 1.0
    yield f"{subject} is None", 0.9
    yield f"{subject} <= 0", 0.3
    yield f"{subject} < 0", 0.3
    yield subject, 0.3


def early_return(site: Site) -> Iterator[Option]:
    if site.function is None or isinstance(site.stmt, (*FUNCTIONS, ast.ClassDef)) or not _starts_line(site):
        return
    values = [*_VALUES, *((n, 0.8) for n in site.scope.params if n != "self")]
    values += [(f"[{n}]", 0.6) for n in site.scope.params if n != "self"]
    for subject, likely in subjects(site):
        for test, weight in _tests(subject):
            for value, share in values:
                text = f"if {test}:\n{_step(site)}return {value}".rstrip()
                yield site.insert_before(site.stmt, text, likely * weight * share)


def skip(site: Site) -> Iterator[Option]:
    loop = site.source.inside(site.stmt, (ast.For, ast.While, *FUNCTIONS))
    if not isinstance(loop, (ast.For, ast.While)) or not _starts_line(site):
        return
    for subject, likely in subjects(site):
        for test, weight in _tests(subject):
            for jump, share in (("continue", 1.0), ("break", 0.4)):
                yield site.insert_before(site.stmt, f"if {test}:\n{_step(site)}{jump}", likely * weight * share)


def refuse(site: Site) -> Iterator[Option]:
    """A missing check that raises: for tests that expect an exception which never came."""
    expected = [r.message for r in site.facts.raised if "DID NOT RAISE" in r.message]
    if not expected or site.function is None or not _starts_line(site):
        return
    names = [m.split("'")[1].rsplit(".", 1)[-1] for m in expected if "'" in m]
    for subject, likely in subjects(site):
        for test, weight in (*_tests(subject), (f"{subject} == 0", 0.4)):
            for name in dict.fromkeys(names):
                text = f'if {test}:\n{_step(site)}raise {name}("invalid {subject.split(".")[-1]}")'
                yield site.insert_before(site.stmt, text, likely * weight)


def default(site: Site) -> Iterator[Option]:
    """`x or y`, `x if x is not None else y` in the place of a value that may be missing."""
    node = site.node
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Call)) or not site.reliable(node):
        return
    if not site.is_whole(node):
        return
    text = site.operand(node)
    for name in sorted(site.scope.unused):
        yield site.replace(node, f"{text} if {name} is None else {name}", 3.0)
    for value, weight in (("0", 0.8), ('""', 0.8), ("[]", 0.8), ("{}", 0.5), ("()", 0.4), ("1", 0.5)):
        yield site.replace(node, f"{text} or {value}", weight)
    for value in ("None", "0", "[]", '""', "0.0"):
        yield site.replace(node, f"{text} if {text} else {value}", 0.4)


def whole_value(site: Site) -> Iterator[Option]:
    """`value if name else other` around a returned or assigned value: the empty case of a computation."""
    stmt = site.stmt
    if not isinstance(stmt, (ast.Return, ast.Assign)) or stmt.value is None:
        return
    text = site.text(stmt.value)
    if "\n" in text or len(text) > 80:
        return
    for subject, likely in subjects(site):
        for value, share in (("0", 1.0), ("None", 1.0), ("[]", 0.5), ('""', 0.5), ("0.0", 0.5), ("False", 0.3)):
            yield site.replace(stmt.value, f"{text} if {subject} else {value}", likely * share, tight=True)


def _starts_line(site: Site) -> bool:
    line = site.source.lines[site.stmt.lineno - 1]
    return not line[: len(line) - len(line.lstrip())].strip() and line.lstrip().startswith(
        site.text(site.stmt).split("\n")[0][:1]
    )


def _step(site: Site) -> str:
    indent = site.source.indent(site.stmt)
    return "\t" if indent.startswith("\t") else "    "


TABLE = (
    Template("early return", 0.5, early_return, of_statement=True),
    Template("skipped case", 0.35, skip, of_statement=True),
    Template("missing check", 0.6, refuse, of_statement=True),
    Template("conditional value", 0.3, whole_value, of_statement=True),
    Template("default value", 0.25, default),
)
