"""From suspicious statements to candidate edits, lazily: a heap that is filled as far as the next pop needs. Pure."""

from __future__ import annotations

import ast
import heapq
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from regreen.proposers.search.facts import Facts
from regreen.proposers.search.observed import Observed
from regreen.proposers.search.rank import MODE_COST, score
from regreen.proposers.search.safety import brings_harm, harmful_functions, is_off_limits
from regreen.proposers.search.site import Option, Site
from regreen.proposers.search.source import Source, TextEdit, Unit, apply_edits, make_unit
from regreen.proposers.search.templates import TEMPLATES, Template
from regreen.proposers.search.vocabulary import Scope, Vocabulary

_BEST_PRIOR = 1.0  # what the best option of a statement is taken to be worth before the statement is looked at


@dataclass(frozen=True, slots=True)
class Candidate:
    """One change of one file. `unit` is what has to be compiled to try it, `base` the same text unchanged."""

    path: str
    line: int
    template: str
    about: str
    edits: tuple[TextEdit, ...]
    source: str
    unit: Unit
    base: Unit
    prior: float
    score: float


@dataclass(frozen=True, slots=True)
class Suspect:
    """A statement that may hold the fault."""

    source: Source
    stmt: ast.stmt
    score: float


@dataclass(order=True)
class _Waiting:
    key: tuple[float, int]
    site: Site = field(compare=False)
    option: Option = field(compare=False)
    template: Template = field(compare=False)
    prior: float = field(compare=False)


class CandidateStream:
    """Candidates by falling score. Statements are expanded only when the next one could beat what is waiting."""

    def __init__(
        self, suspects: Sequence[Suspect], sources: Mapping[str, Source], facts: Facts, seen: Observed
    ) -> None:
        self._suspects = list(suspects)
        self._words = Vocabulary.of(sources.values())
        self._facts = facts
        self._seen_types = seen
        self._harmful = harmful_functions(sources.values())
        self._heap: list[_Waiting] = []
        self._seen: set[tuple[str, str]] = set()
        self._count = 0
        self._next = 0

    def __iter__(self) -> Iterator[Candidate]:
        while True:
            while self._next < len(self._suspects) and self._bound() >= -self._top():
                self._expand(self._suspects[self._next])
                self._next += 1
            if not self._heap:
                return
            candidate = self._make(heapq.heappop(self._heap))
            if candidate is not None:
                yield candidate

    def _bound(self) -> float:
        return score(self._suspects[self._next].score, _BEST_PRIOR, 1)

    def _top(self) -> float:
        return self._heap[0].key[0] if self._heap else 0.0

    def _expand(self, suspect: Suspect) -> None:
        source, stmt = suspect.source, suspect.stmt
        if is_off_limits(source, stmt, self._harmful):
            return
        scope = Scope.of(source, source.function_of(stmt))
        nodes = [None, *source.own_nodes(stmt)]
        for node in nodes:
            site = Site(source, stmt, node, scope, self._words, self._facts, self._seen_types)
            for template in TEMPLATES:
                if template.of_statement == (node is None):
                    self._offer(site, template, suspect.score)

    def _offer(self, site: Site, template: Template, suspicion: float) -> None:
        options = sorted(template.options(site), key=lambda o: -o.weight)
        weights = [-o.weight for o in options]
        for option in options:
            prior = template.prior * option.weight
            mode = make_unit(site.source, site.stmt, option.edits).mode
            value = score(suspicion, prior, bisect_right(weights, -option.weight)) * MODE_COST[mode]
            self._count += 1
            heapq.heappush(self._heap, _Waiting((-value, self._count), site, option, template, prior))

    def _make(self, waiting: _Waiting) -> Candidate | None:
        site, option = waiting.site, waiting.option
        text = apply_edits(site.source.text, option.edits)
        key = (site.source.path, text)
        if key in self._seen or text == site.source.text:
            return None
        if brings_harm(option.edits, site.source.text, self._harmful):
            return None
        self._seen.add(key)
        return Candidate(
            path=site.source.path,
            line=getattr(site.node or site.stmt, "lineno", site.stmt.lineno),
            template=waiting.template.name,
            about=option.about,
            edits=option.edits,
            source=text,
            unit=make_unit(site.source, site.stmt, option.edits),
            base=make_unit(site.source, site.stmt),
            prior=waiting.prior,
            score=-waiting.key[0],
        )
