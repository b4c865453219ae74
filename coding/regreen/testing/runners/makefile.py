"""A Makefile, read as far as it is plain: variables set once at the top level, rules with their recipes. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_ASSIGN = re.compile(
    r"^(?P<export>export\s+)?(?:override\s+)?(?P<name>[\w.-]+)\s*(?P<how>\?=|:{0,3}=|\+=|!=)\s*(?P<value>.*)$"
)
_RULE = re.compile(r"^(?P<targets>[^\s:=#][^:=#]*?)\s*:(?P<double>:?)(?!=)\s*(?P<rest>[^#]*)")
_EXPORT = re.compile(r"^(?P<un>un)?export\b(?P<names>[\w.\s-]*)(?:#.*)?$")
_INCLUDE = re.compile(r"^\s*(?:-|s)?include\s")
_BLOCK = re.compile(r"^\s*(?:ifeq|ifneq|ifdef|ifndef|else|endif|define|endef)\b")
_REFERENCE = re.compile(r"\$(?:\((?P<round>[\w.-]+)\)|\{(?P<curly>[\w.-]+)\}|(?P<one>[\w]))")
_DEFAULTS = {"MAKE": "make", "CURDIR": ".", "PYTHONPATH": ""}  # the latter is kept from every child
_DEPTH = 8


@dataclass
class Rule:
    """A target's recipe and what it needs first."""

    recipe: list[str] = field(default_factory=list[str])
    needs: list[str] = field(default_factory=list[str])
    odd: bool = False  # it sets variables, or is defined more than once


@dataclass
class Makefile:
    """`odd` where something changes what its lines mean."""

    variables: dict[str, str] = field(default_factory=dict[str, str])
    rules: dict[str, Rule] = field(default_factory=dict[str, Rule])
    unsure: set[str] = field(default_factory=set[str])  # variables set in more than one place
    exported: dict[str, None] = field(default_factory=dict[str, None])
    odd: bool = False

    def command(self, target: str) -> str | None:
        """The one command of a target's recipe, variables put in; None where that is not plain."""
        rule = self.rules.get(target)
        if self.odd or rule is None or rule.odd or self._prepared(rule):
            return None
        lines = [line for line in map(_bare, rule.recipe) if line and not _says_only(line)]
        if not lines and len(rule.needs) == 1 and not rule.recipe:
            return self.command(rule.needs[0])
        return self.expanded(lines[0]) if len(lines) == 1 else None

    def environment(self) -> dict[str, str] | None:
        """The variables that recipes are given; None where one of them is not known."""
        found = {n: self.expanded(f"$({n})") for n in self.exported if n in self.variables or n in self.unsure}
        values = {n: value for n, value in found.items() if value is not None}
        return values if len(values) == len(found) else None

    def _prepared(self, rule: Rule) -> bool:
        """Whether something with a recipe is made first."""
        if not rule.recipe and len(rule.needs) == 1:
            return False
        needs = [self.expanded(n) if "$" in n and n not in self.rules else n for n in rule.needs]
        words = [word for need in needs if need is not None for word in need.split()]
        if None in needs or any(self._by_pattern(n) for n in words):
            return True
        return any(self.rules[n].recipe or self._prepared(self.rules[n]) for n in words if n in self.rules)

    def _by_pattern(self, need: str) -> bool:
        """Whether a pattern rule with a recipe makes a target that has no rule of its own."""
        if need in self.rules:
            return False
        patterns = [t for t, rule in self.rules.items() if "%" in t and rule.recipe]
        return any(re.fullmatch(re.escape(t).replace("%", ".+", 1), need) for t in patterns)

    def recipes(self, target: str, depth: int = _DEPTH) -> list[str]:
        """The lines of the recipes of a target and of all that it needs."""
        rule = self.rules.get(target)
        if rule is None or not depth:
            return []
        return [line for need in rule.needs for line in self.recipes(need, depth - 1)] + rule.recipe

    def expanded(self, text: str) -> str | None:
        """`text` with the variables of this file put in; None where one is not known."""
        known = {**_DEFAULTS, **self.variables}
        for _ in range(_DEPTH):
            names = [m["round"] or m["curly"] or m["one"] for m in _REFERENCE.finditer(text)]
            if not names:
                return None if "$" in text else text.strip()
            if any(n not in known or n in self.unsure for n in names):
                return None
            text = _REFERENCE.sub(lambda m: known[m["round"] or m["curly"] or m["one"]], text)
        return None


def read(text: str) -> Makefile:
    """Read a Makefile."""
    made = Makefile()
    depth = 0
    current: list[Rule] = []
    for line in re.sub(r"\\\n[ \t]*", " ", text).splitlines():
        if line.startswith("\t"):
            for rule in current:
                rule.recipe.append(line[1:])
                rule.odd = rule.odd or depth > 0
            continue
        if _BLOCK.match(line):
            word = line.split()[0]
            depth += 1 if word.startswith("if") or word == "define" else -1 if word.startswith("end") else 0
        elif line.strip() and not line.lstrip().startswith("#"):
            current = _statement(made, line, unsure=depth > 0) or current
    return made


def _statement(made: Makefile, line: str, *, unsure: bool) -> list[Rule]:
    assigned, exports = _ASSIGN.match(line), _EXPORT.match(line)
    if assigned:
        name = assigned["name"]
        made.exported.update({name: None} if assigned["export"] else {})
        if name in (".RECIPEPREFIX", "SHELL", ".SHELLFLAGS", "MAKEFLAGS"):
            made.odd = made.odd or name != "SHELL"
        if unsure or name in made.variables or assigned["how"] in ("+=", "!="):
            made.unsure.add(name)
        value = re.sub(r"\s+#.*$", "", assigned["value"]).strip()
        if name in _DEFAULTS and assigned["how"].startswith(":"):  # set by its own former value
            value = re.sub(rf"\$(?:\({name}\)|\{{{name}\}})", _DEFAULTS[name], value)
        made.variables.setdefault(name, value)
        return []
    rule = _RULE.match(line)
    if exports:
        _export(made, exports, unsure)
    made.odd = made.odd or bool(_INCLUDE.match(line))
    if rule is None or exports:
        return []
    return [_rule(made, target, rule, unsure) for target in rule["targets"].split()]


def _export(made: Makefile, match: re.Match[str], unsure: bool) -> None:
    """`export A B`. What says it of all variables, or takes it back, is not followed."""
    names = match["names"].split()
    made.odd = made.odd or bool(match["un"]) or not names
    made.exported.update(dict.fromkeys(names))
    made.unsure.update(names if unsure else ())


def _rule(made: Makefile, target: str, match: re.Match[str], unsure: bool) -> Rule:
    known = target in made.rules
    rule = made.rules.setdefault(target, Rule())
    rest, _, inline = match["rest"].partition(";")
    if "=" in rest:
        rule.odd = True
        return rule
    made.odd = made.odd or target in (".EXPORT_ALL_VARIABLES", ".ONESHELL")
    rule.odd = rule.odd or unsure or bool(match["double"]) or "%" in target or (known and bool(rule.recipe))
    rule.needs += [need for need in rest.split() if need != "|"]
    if inline.strip():
        rule.recipe.append(inline.strip())
    return rule


def _bare(line: str) -> str:
    line = line.lstrip("@-+ \t")
    return "" if line.startswith("#") else line


def _says_only(line: str) -> bool:
    return bool(re.fullmatch(r"echo(?:\s+[^|&;<>`$]*)?|:|true", line))
