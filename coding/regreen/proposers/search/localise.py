"""Where the fault may be: Ochiai scores of lines from which tests run them, raised where an exception points. Pure."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from regreen.model import SuspiciousLine
from regreen.proposers.search.candidates import Suspect
from regreen.proposers.search.facts import Facts
from regreen.proposers.search.source import FUNCTIONS, Source

Scores: TypeAlias = Mapping[tuple[str, int], float]

_MIN_SCORE = 0.05
_RAISED_HERE = 0.8  # the innermost line of the project that an unexpected exception passed
_DEFINITION = 0.85  # a module-level or class-level value, relative to the statement that uses it
_HEADER = 0.4  # a function's defaults and decorators, relative to its body


@dataclass(frozen=True, slots=True)
class Ran:
    """One test: is it to be repaired, and the lines it ran."""

    goal: bool
    lines: Mapping[str, Sequence[int]]


def ochiai(tests: Iterable[Ran]) -> Scores:
    """failed(line) / sqrt(all failed x run(line)): 1.0 for a line that all failing and no passing tests run."""
    failed: dict[tuple[str, int], int] = defaultdict(int)
    passed: dict[tuple[str, int], int] = defaultdict(int)
    goals = 0
    for test in tests:
        goals += test.goal
        count = failed if test.goal else passed
        for path, lines in test.lines.items():
            for line in lines:
                count[path, line] += 1
    return {
        spot: n / math.sqrt(goals * (n + passed.get(spot, 0))) for spot, n in sorted(failed.items())
    }  # fmt: skip


def suspicious_lines(scores: Scores, texts: Mapping[str, Sequence[str]], limit: int = 20) -> tuple[SuspiciousLine, ...]:
    """The highest scores with their lines' text."""
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    found: list[SuspiciousLine] = []
    for (path, line), value in ranked[:limit]:
        lines = texts.get(path, ())
        if 0 < line <= len(lines):
            found.append(SuspiciousLine(path, line, round(min(1.0, value), 3), lines[line - 1].strip()[:200]))
    return tuple(found)


def suspects(sources: Mapping[str, Source], scores: Scores, facts: Facts) -> list[Suspect]:
    """Statements of the editable files by falling suspicion."""
    raised = _raising_lines(facts, sources)
    found: dict[ast.stmt, Suspect] = {}
    for source in sources.values():
        for stmt in source.statements:
            lines = source.own_lines(stmt)
            spots = [(source.path, line) for line in lines]
            value = max([scores.get(s, 0.0) for s in spots] + [raised.get(s, 0.0) for s in spots])
            if value >= _MIN_SCORE:
                found[stmt] = Suspect(source, stmt, value)
    _add_definitions(sources, found)
    if not found:
        for source in sources.values():
            found |= {s: Suspect(source, s, 0.3) for s in source.statements}
    return sorted(found.values(), key=lambda s: (-s.score, s.source.path, s.stmt.lineno, s.stmt.col_offset))


def _raising_lines(facts: Facts, sources: Mapping[str, Source]) -> dict[tuple[str, int], float]:
    found: dict[tuple[str, int], float] = {}
    for error in facts.raised:
        inside = [(path, line) for path, line, _ in error.frames if path in sources]
        if inside:
            found[inside[-1]] = _RAISED_HERE
    return found


def _add_definitions(sources: Mapping[str, Source], found: dict[ast.stmt, Suspect]) -> None:
    """Values that suspicious statements read by name, which ran at import, and the headers of suspicious functions."""
    uses: dict[str, float] = defaultdict(float)
    headers: dict[ast.stmt, Suspect] = {}
    for suspect in list(found.values()):
        for node in suspect.source.own_nodes(suspect.stmt):
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            uses[name] = max(uses[name], suspect.score)
        function = suspect.source.function_of(suspect.stmt)
        if function is not None and suspect.score > headers.get(function, _NOBODY).score:
            headers[function] = Suspect(suspect.source, function, suspect.score * _HEADER)
    for function, suspect in headers.items():
        found.setdefault(function, suspect)
    for source in sources.values():
        for stmt in source.statements:
            if stmt not in found and not isinstance(source.inside(stmt, (*FUNCTIONS, ast.Lambda)), FUNCTIONS):
                value = max((uses.get(n, 0.0) for n in _defines(stmt)), default=0.0) * _DEFINITION
                if value >= _MIN_SCORE:
                    found[stmt] = Suspect(source, stmt, value)


_NOBODY = Suspect(Source("", "", ast.Module([], [])), ast.Pass(), 0.0)


def _defines(stmt: ast.stmt) -> list[str]:
    if isinstance(stmt, ast.Expr):  # a registration at import: `parser.add_argument(...)`, `TABLE.append(...)`
        return [n.id for n in ast.walk(stmt) if isinstance(n, ast.Name)]
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target] if isinstance(stmt, ast.AnnAssign) else []
    return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
