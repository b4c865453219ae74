"""Inside string literals: format specifications and regular expressions, edited in the literal's own text. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.source import TextEdit
from regreen.proposers.search.templates.table import Template
from regreen.proposers.search.vocabulary import callee_name

_FIELD = re.compile(r"(?<!\{)\{(?P<expr>[^{}:!]*(?:\[[^\]]*\])?[^{}:!]*)(?P<conv>![rsa])?(?P<spec>:[^{}]*)?\}(?!\})")
_SPECS: Sequence[tuple[str, float]] = (
    (":02d", 1.0), (":.2f", 1.0), (":.1f", 0.8), (":03d", 0.4), (":02", 0.4), (":,", 0.5), (":.0f", 0.4), ("!r", 0.4),
    (":.3f", 0.3), (":d", 0.2), (":g", 0.3), (":04d", 0.3), (":x", 0.2), (":.0%", 0.2), (":.1%", 0.2), ("", 0.5),
    (":,.2f", 0.3), (":04x", 0.1), (":02x", 0.2), (":s", 0.1),
)  # fmt: skip
_PERCENT = re.compile(r"%(?P<spec>[-+ 0#]*\d*(?:\.\d+)?)(?P<kind>[sdfrxgi])")
_ATOM = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[:=!<P][^)]*?[>:]?|[()]|[*+?]\??|\{\d*,?\d*\}\??|[|^$.]|.", re.DOTALL
)
_QUANTIFIER = re.compile(r"[*+?]\??|\{\d*,?\d*\}\??")
_WIDER: Sequence[tuple[str, Sequence[tuple[str, float]]]] = (
    (r"\w", ((r"[\w.-]", 1.0), (r"[\w-]", 0.8), (r"[\w ]", 0.4), (r"\S", 0.5), (r"[a-z]", 0.2), (r"[\w.]", 0.5),
             (r"\d", 0.2))),
    (r"\d", ((r"[\d.]", 0.8), (r"[\d,]", 0.4), (r"[0-9a-f]", 0.2), (r"\w", 0.4), (r"-?\d", 0.6), (r"[+-]?\d", 0.5))),
    (r"\s", ((r" ", 0.3), (r"\S", 0.3), (r"[\s,]", 0.4))),
    (r"\S", ((r"\s", 0.4), (r".", 0.5))),
    (r"\W", ((r"\w", 0.3), (r"[\W_]", 0.6))),
    (r"\b", (("", 0.4), (r"\B", 0.3))),
    (r".", ((r"\.", 0.9), (r"[\s\S]", 0.3), (r"[^,]", 0.2))),
    (r"\.", ((r".", 0.4), (r"[.,]", 0.4))),
    (r"^", (("", 0.5),)),
    (r"$", (("", 0.5), (r"\Z", 0.3))),
)  # fmt: skip


# --- format specifications -----------------------------------------------------------------------------


def format_spec(site: Site) -> Iterator[Option]:
    """Specifications of `{}` fields: added, dropped, changed by one, or as another field of the text has it."""
    node = site.node
    if not _is_text(site, node) or node is None:
        return
    start, text = site.source.span(node)[0], site.text(node)
    if "{" not in text or (isinstance(node, ast.Constant) and not _is_formatted(site, node)):
        return
    fields = list(_FIELD.finditer(text))
    others = [f"{f['conv'] or ''}{f['spec'] or ''}" for f in fields]
    for found in fields:
        own = f"{found['conv'] or ''}{found['spec'] or ''}"
        at = start + found.end() - 1 - len(own)
        near = dict.fromkeys(others, 1.5) | dict(_near_specs(own)) if own else {s: 1.5 for s in others if s}
        for spec, weight in {**dict(_SPECS), **near}.items():
            if spec != own:
                yield Option((TextEdit(at, at + len(own), spec),), f"format `{own}` -> `{spec}`", weight)


def _near_specs(spec: str) -> Iterator[tuple[str, float]]:
    """One character of a specification changed."""
    for found in re.finditer(r"\d+", spec):
        value = int(found.group())
        for new in (value + 1, value - 1, value + 2):
            if new >= 0:
                zero = "0" if found.group().startswith("0") and len(found.group()) > 1 else ""
                yield spec[: found.start()] + f"{zero}{new}" + spec[found.end() :], 1.2
        if not found.group().startswith("0") and found.start() and spec[found.start() - 1] != ".":
            yield spec[: found.start()] + "0" + spec[found.start() :], 1.0
    for old, new in (("<", ">"), (">", "<"), ("<", "^"), (">", "^"), ("^", "<"), ("^", ">"), ("f", "g"), ("d", "x"),
                     ("x", "X"), ("f", "%"), ("%", "f"), (",", ""), (",", "_"), ("e", "f")):  # fmt: skip
        if old in spec:
            yield spec.replace(old, new, 1), 1.0


def percent_spec(site: Site) -> Iterator[Option]:
    node = site.node
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not site.reliable(node):
        return
    if not isinstance(site.source.parents.get(node), ast.BinOp) or "%" not in node.value:
        return
    start = site.source.span(node)[0]
    for found in _PERCENT.finditer(site.text(node)):
        for new in ("%s", "%d", "%02d", "%.1f", "%.2f", "%r", "%x"):
            if new != found.group():
                edit = TextEdit(start + found.start(), start + found.end(), new)
                yield Option((edit,), f"format `{found.group()}` -> `{new}`", 1.0)


def _is_text(site: Site, node: ast.AST | None) -> bool:
    if isinstance(node, ast.JoinedStr):
        return "\n" not in site.text(node) and not isinstance(site.source.parents.get(node), ast.FormattedValue)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and site.reliable(node)


def _is_formatted(site: Site, node: ast.Constant) -> bool:
    parent = site.source.parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr in ("format", "format_map")


# --- regular expressions -------------------------------------------------------------------------------


def regex(site: Site) -> Iterator[Option]:
    """One atom or quantifier of a pattern changed."""
    node = site.node
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or not _is_pattern(site, node):
        return
    for start, body in _bodies(site, node):
        atoms = list(_ATOM.finditer(body))
        for i, atom in enumerate(atoms):
            following = atoms[i + 1].group() if i + 1 < len(atoms) else ""
            for old, new, weight in _atom_edits(atom.group(), following):
                at = start + atom.start()
                yield Option((TextEdit(at, at + len(old), new),), f"pattern `{old}` -> `{new}`", weight)


def _is_pattern(site: Site, node: ast.Constant) -> bool:
    parent = site.source.parents.get(node)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.args[:1] == [node]:
        owner = parent.func.value
        if isinstance(owner, ast.Name) and owner.id in ("re", "regex"):
            return True
    return site.text(node)[:2].lower() in ("r'", 'r"') and site.reliable(node)


def _bodies(site: Site, node: ast.Constant) -> Iterator[tuple[int, str]]:
    """The insides of the literal(s), where they are raw or free of escapes that Python would read."""
    start = site.source.span(node)[0]
    for found in re.finditer(r"([rR]?)(\"\"\"|'''|\"|')((?:\\.|(?!\2).)*)\2", site.text(node), re.DOTALL):
        if found[1] or "\\" not in found[3]:
            yield start + found.start(3), found[3]


def _atom_edits(atom: str, following: str) -> Iterator[tuple[str, str, float]]:
    if _QUANTIFIER.fullmatch(atom):
        yield from ((atom, new, 0.6) for new in ("+", "*", "?", "", "+?", "*?") if new != atom)
        for n in re.findall(r"\d+", atom):
            yield from ((atom, atom.replace(n, str(int(n) + step), 1), 0.6) for step in (1, -1) if int(n) + step >= 0)
            if "," not in atom:
                yield from ((atom, new, 0.5) for new in (f"{{1,{n}}}", f"{{{n},}}"))
        return
    quantified = bool(_QUANTIFIER.fullmatch(following))
    if atom not in ("(", "|", "^", "$") and not atom.startswith("(?") and not quantified:
        strong = 1.0 if atom.startswith(("[", "\\")) or atom == ")" else 0.25
        yield from ((atom, f"{atom}{q}", strong * w) for q, w in (("+", 1.0), ("*", 0.6), ("?", 0.6)))
    if atom == "(":
        yield atom, "(?:", 0.2
    if atom == r"\d" and following == "+":
        yield from ((r"\d+", new, 1.0) for new in (r"\d+(?:\.\d+)?", r"\d+\.?\d*"))
        yield r"\d+", r"\d*", 0.1
    for old, wider in _WIDER:
        if atom == old:
            yield from ((atom, new, weight) for new, weight in wider)
    if atom.startswith("[") and len(atom) > 2:
        yield from _class_edits(atom)


def _class_edits(atom: str) -> Iterator[tuple[str, str, float]]:
    negated = atom.startswith("[^")
    yield atom, ("[" + atom[2:]) if negated else ("[^" + atom[1:]), 0.4
    for more, weight in (("-", 0.7), ("_", 0.7), (".", 0.7), (" ", 0.4), ("0-9", 0.7), ("A-Z", 0.7), ("a-z", 0.6),
                         (r"\s", 0.4), ("+", 0.4), (",", 0.3), ("'", 0.3)):  # fmt: skip
        if more not in atom:
            yield atom, f"{atom[:-1]}{more}]", weight


def flags(site: Site) -> Iterator[Option]:
    """A missing or wrong flag of a call of `re`."""
    node = site.node
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re":
        if node.attr.isupper():
            for name in ("IGNORECASE", "MULTILINE", "DOTALL", "VERBOSE"):
                yield site.replace(node, f"re.{name}", 0.7, tight=True)
        return
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not site.reliable(node):
        return
    owner = node.func.value
    known = ("compile", "match", "search", "fullmatch", "findall", "finditer", "split", "sub")
    if isinstance(owner, ast.Name) and owner.id == "re" and callee_name(node) in known:
        end = site.source.span(node)[1] - 1
        if not any(k.arg == "flags" for k in node.keywords) and "flags" not in site.text(node):
            for name in ("IGNORECASE", "MULTILINE", "DOTALL"):
                yield Option((TextEdit(end, end, f", flags=re.{name}"),), f"flag `re.{name}`", 0.8)


TABLE = (
    Template("format specification", 0.6, format_spec),
    Template("format specification", 0.4, percent_spec),
    Template("regular expression", 0.75, regex),
    Template("pattern flag", 0.3, flags),
)
