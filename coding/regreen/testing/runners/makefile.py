"""A Makefile, read as far as it is plain: variables set once at the top level, rules with their recipes. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_ASSIGN = re.compile(r"^(?:export\s+|override\s+)?(?P<name>[\w.-]+)\s*(?P<how>\?=|:{0,3}=|\+=|!=)\s*(?P<value>.*)$")
_RULE = re.compile(r"^(?P<targets>[^\s:=#][^:=#]*?)\s*:(?P<double>:?)(?!=)\s*(?P<rest>[^#]*)")
_BLOCK = re.compile(r"^\s*(?:ifeq|ifneq|ifdef|ifndef|else|endif|define|endef)\b")
_REFERENCE = re.compile(r"\$(?:\((?P<round>[\w.-]+)\)|\{(?P<curly>[\w.-]+)\}|(?P<one>[\w]))")
_DEFAULTS = {"MAKE": "make", "CURDIR": "."}
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

    def _prepared(self, rule: Rule) -> bool:
        """Whether something with a recipe is made first."""
        if not rule.recipe and len(rule.needs) == 1:
            return False
        return any(self.rules[n].recipe or self._prepared(self.rules[n]) for n in rule.needs if n in self.rules)

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
    assigned = _ASSIGN.match(line)
    if assigned:
        name = assigned["name"]
        if name in (".RECIPEPREFIX", "SHELL", ".SHELLFLAGS", "MAKEFLAGS"):
            made.odd = made.odd or name != "SHELL"
        if unsure or name in made.variables or assigned["how"] in ("+=", "!="):
            made.unsure.add(name)
        made.variables.setdefault(name, re.sub(r"\s+#.*$", "", assigned["value"]).strip())
        return []
    rule = _RULE.match(line)
    if rule is None:
        return []
    return [_rule(made, target, rule, unsure) for target in rule["targets"].split()]


def _rule(made: Makefile, target: str, match: re.Match[str], unsure: bool) -> Rule:
    known = target in made.rules
    rule = made.rules.setdefault(target, Rule())
    rest, _, inline = match["rest"].partition(";")
    if "=" in rest:
        rule.odd = True
        return rule
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
