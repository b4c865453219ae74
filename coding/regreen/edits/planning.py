"""Works out, in memory, what a proposal's edits do: every edit is judged, and either all of them hold or none.

Rule: planning reads and never writes. Edits on one file are taken in order, each against the outcome of those before
it; each must fit exactly one place. The id of a plan is a hash of the changes it would make.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from regreen.edits.explain import WHOLE, beside, printable
from regreen.edits.formats import parse, row_of
from regreen.edits.judging import Deletion, Effect, Judge, Move, NewContent, Placement
from regreen.edits.lines import MAX_LINES
from regreen.edits.operations import Operation, ReplaceText, operation_of
from regreen.edits.parsed import Parsed
from regreen.edits.placing import Placed
from regreen.edits.planned import PlannedFile, plan_id
from regreen.edits.reporting import bounded, changing_nothing, nothing_applied
from regreen.edits.target import Target, Targets
from regreen.errors import RegreenError, UsageError
from regreen.model import EditError, EditReport, EditResult, Proposal
from regreen.redact import LEARNED
from regreen.settings import Limits
from regreen.workspace import Change, TextProblem, Workspace

_SHA = re.compile(r"[0-9a-fA-F]{64}")
_CONFLICT_MARK = b"<<<<<<< "


@dataclass(frozen=True, slots=True)
class EditPlan:
    """What would be written, and the report that says so. `files` is empty unless `report.ok`.

    `reals` has the real paths of the files that each edit is about, in the order of the report.
    """

    report: EditReport
    files: tuple[PlannedFile, ...] = ()
    reals: tuple[tuple[str, ...], ...] = ()

    @property
    def id(self) -> str:
        return self.report.plan

    @property
    def changes(self) -> tuple[Change, ...]:
        """What the journal is asked to do."""
        return tuple(change for file in self.files for change in file.changes)

    def only(self, hunks: Collection[int]) -> EditPlan:
        """The plan with some of its hunks, numbered from 1 through all files in order. It has an id of its own.

        Raises UsageError for a number that is no hunk of the plan, and for none at all.
        """
        hunks = set(hunks)
        count = sum(file.hunks or 0 for file in self.report.files)
        wrong = sorted(number for number in hunks if not 1 <= number <= count)
        if wrong or not hunks:
            found = f"hunk {wrong[0]} is not in the plan" if wrong else "no hunk is chosen"
            raise UsageError("invalid_arguments", found, f"the plan has hunks 1 to {count}")
        kept: list[PlannedFile] = []
        first = 1
        for file, report in zip(self.files, self.report.files, strict=True):
            parts = report.hunks or 0
            part = file.only({number - first for number in hunks if first <= number < first + parts})
            kept += [part] if part is not None else []
            first += parts
        return replace(self, report=self._report_of(kept, len(hunks), count), files=tuple(kept))

    def _report_of(self, kept: list[PlannedFile], chosen: int, count: int) -> EditReport:
        files = tuple(file.report() for file in kept)
        spans = {file.path: file.spans() for file in kept}
        edits = tuple(
            result
            if result.status != "would_apply" or _in(result, reals, spans)
            else replace(result, status="not_chosen")
            for result, reals in zip(self.report.edits, self.reals, strict=True)
        )
        said = f"{chosen} of {count} hunks chosen"
        return replace(
            self.report, files=files, edits=edits, plan=plan_id(kept), warnings=(said, *self.report.warnings)
        )


def _in(result: EditResult, reals: tuple[str, ...], spans: Mapping[str, list[tuple[int, int]]]) -> bool:
    """Whether what an edit changes is among the lines (1-based, on disk) that the chosen hunks change."""
    around = (result.line_start - 1, result.line_end + 1)
    return any(low <= around[1] and around[0] <= high for real in reals for low, high in spans.get(real, ()))


def plan(
    proposal: Proposal,
    workspace: Workspace,
    *,
    expected_sha256: Mapping[str, str] | None = None,
    protected: Callable[[str], bool] | None = None,
    limits: Limits | None = None,
    strict: bool = False,
) -> EditPlan:
    """Judge all edits of a proposal. Raises UsageError only for a malformed call; everything else is in the report.

    `expected_sha256` (path -> hex sha256 of the bytes that were read; "" = absent): where a file is another one by
    now, an edit holds only if it says by its own text, to the letter, what it changes. `protected` names paths, beyond
    the workspace's own, that must not be written. `strict` allows exact matches only.
    """
    limits = limits or Limits()
    parsed = _read(proposal, limits)
    targets = Targets(workspace, _cleaned(expected_sha256 or {}, workspace), protected)
    planner = _Planner(targets, limits, len(parsed.edits), Judge(targets, strict, limits.max_file_bytes))
    results = [planner.plan(number, edit) for number, edit in enumerate(parsed.edits)]
    if parsed.problem is not None:
        results.append(EditResult(parsed.problem_at, "", "failed", error=parsed.problem))
    unclear = next((code for code in parsed.beside if not targets.shows(code)), None)
    if unclear is not None:
        results.append(EditResult(len(results), "", "failed", error=beside(unclear)))
    return planner.finish(results)


def _cleaned(expected: Mapping[str, str], workspace: Workspace) -> dict[str, str]:
    """The expectations by clean path. A path that cannot be cleaned is kept: no edit will reach it either."""
    cleaned: dict[str, str] = {}
    for path, sha in expected.items():
        if sha and not _SHA.fullmatch(sha):
            raise UsageError("invalid_arguments", f"the hash expected of `{printable(path)}` is {sha[:80]!r}",
                             "give all 64 hex digits of the sha256 that read_file tells; empty: no file")  # fmt: skip
        try:
            cleaned[workspace.normalise(path)] = sha
        except RegreenError:
            cleaned[path] = sha
    return cleaned


def _read(proposal: Proposal, limits: Limits) -> Parsed:
    if proposal.text and proposal.replacements:
        raise UsageError("invalid_arguments", "both `text` and `replacements` are given", "give one of the two")
    row_of(proposal.format)
    parts = [proposal.text, *(part for r in proposal.replacements for part in (r.path, r.search, r.replace))]
    size = sum(len(part.encode("utf-8", "surrogatepass")) for part in parts)
    if size > limits.max_response_bytes:
        return Parsed(problem=EditError("too_large", f"the response has {size} bytes; {limits.max_response_bytes} are "
                                        "possible", "send fewer or smaller edits"))  # fmt: skip
    if proposal.text.count("\n") > limits.max_response_lines:
        return Parsed(problem=EditError("too_large", f"the response has over {limits.max_response_lines} lines",
                                        "send fewer or smaller edits"))  # fmt: skip
    parsed = _of(proposal)
    if len(parsed.edits) > limits.max_edits:
        return Parsed(problem=EditError("too_large", f"the response has {len(parsed.edits)} edits; {limits.max_edits} "
                                        "are possible", "send them in several calls"))  # fmt: skip
    return parsed


def _of(proposal: Proposal) -> Parsed:
    if proposal.replacements:
        return Parsed(tuple(map(operation_of, proposal.replacements)))
    return parse(proposal.text, proposal.format)


@dataclass(slots=True)
class _Planner:
    targets: Targets
    limits: Limits
    count: int
    judge: Judge
    warnings: list[str] = field(default_factory=list[str])
    reals: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    def plan(self, number: int, edit: Operation) -> EditResult:
        """Plan one edit on top of those before it."""
        target = self.targets.open(edit.path)
        path = printable(edit.path)
        self.reals.append(() if isinstance(target, EditError) else (target.path,))
        if isinstance(target, EditError):
            return EditResult(number, path, "failed", error=target)
        effect = self.judge.judge(target, edit)
        problem = effect if isinstance(effect, EditError) else _unwritable(target, effect)
        if problem is not None or isinstance(effect, EditError):
            return EditResult(number, path, "failed", error=problem)
        name = f"edit {number + 1} of {self.count} (`{path}`)"
        self._warn(name, target, edit, effect)
        return self._take(number, name, path, target, effect)

    def _warn(self, name: str, target: Target, edit: Operation, effect: Effect) -> None:
        if target.stale is not None:
            self.warnings.append(f"`{target.path}` changed since it was read, but not where {name} applies")
        if isinstance(edit, ReplaceText) and edit.old.endswith("\n") and edit.new and not edit.new.endswith("\n"):
            self.warnings.append(f"{name} takes the line end behind its text away")
        levels = {placed.level for placed in effect.places} if isinstance(effect, Placement) else set[str]()
        for level in sorted(levels - {"exact"}):
            self.warnings.append(f"{name} fits at level {level}, not exactly")

    def _take(self, number: int, name: str, path: str, target: Target, effect: Effect) -> EditResult:
        match effect:
            case Placement(places):
                return self._replace(number, name, path, target, places)
            case NewContent(text):
                target.fill(text)
            case Deletion():
                target.delete()
            case Move(to):
                self.reals[-1] = (*self.reals[-1], to.path)
                target.move(to)
        return EditResult(number, path, "would_apply", "exact")

    def _replace(self, number: int, name: str, path: str, target: Target, places: tuple[Placed, ...]) -> EditResult:
        lines: list[int] = []
        changed = False
        grown = 0
        for place in places:
            placed = replace(place, start=place.start + grown)
            lines += [n for p in range(placed.start, placed.end) if (n := target.lines.origin_of(p))]
            changed = target.replace(placed, number + 1) or changed
            grown += len(placed.replace) - len(placed.search)
        first, last = (min(lines), max(lines)) if lines else (0, 0)
        if not changed:
            self.warnings.append(f"{name} changes nothing and was skipped")
        return EditResult(number, path, "would_apply" if changed else "skipped_noop", places[0].level, first, last)

    def finish(self, results: list[EditResult]) -> EditPlan:
        """The plan, if all edits hold and something changes; else a report of everything that does not."""
        files = self._files(results)
        if not any(r.error for r in results) and not files:
            results = changing_nothing(results)
        failed = [r for r in results if r.error is not None]
        if failed:
            said = nothing_applied(len(failed), max(len(results), self.count))
            warnings = (said, *map(printable, (*self.targets.notes, *self.warnings)))
            return EditPlan(EditReport(False, (), bounded(results), warnings))
        warnings = (*self.targets.notes, *self.warnings, *_remarks(files), *self._unused())
        reports = tuple(file.report() for file in files)
        return EditPlan(
            EditReport(True, reports, tuple(results), tuple(map(printable, warnings)), plan_id(files)),
            tuple(files),
            tuple(self.reals),
        )

    def _unused(self) -> list[str]:
        return [f"`{path}`: no edit names it, so its hash was not compared" for path in sorted(self.targets.unused)]

    def _files(self, results: list[EditResult]) -> list[PlannedFile]:
        """The files that change. One that cannot be written fails the edits on it."""
        files: list[PlannedFile] = []
        for target in self.targets.by_real.values():
            if not target.exists:
                if not target.created and target.moved is None:
                    files.append(PlannedFile.of(target, None))
                continue
            data = target.encoded()
            problem = _unstorable(self.targets, target, data, self.limits)
            if problem is not None or isinstance(data, TextProblem):
                self._fail(results, target, problem)
            elif target.created or data != target.image.data:
                LEARNED.look(data)  # the diff shows a few lines of it
                files.append(PlannedFile.of(target, data))
        return files

    def _fail(self, results: list[EditResult], target: Target, error: EditError | None) -> None:
        for position, (result, reals) in enumerate(zip(results, self.reals, strict=False)):
            if result.status == "would_apply" and target.path in reals:
                results[position] = replace(result, status="failed", error=error)


def _remarks(files: list[PlannedFile]) -> list[str]:
    """What the reader should know of the files' state, whatever the edits."""
    marked = [
        f"`{file.path}` holds conflict markers (`<<<<<<<`)"
        for file in files
        if file.data is not None and (file.data.startswith(_CONFLICT_MARK) or b"\n" + _CONFLICT_MARK in file.data)
    ]
    shared = [
        f"`{file.path}` has {file.image.links} names (hard links): if all are in the repository, all change"
        for file in files
        if file.action == "modify" and file.image.links > 1
    ]
    forms = [
        f"`{file.path}` is {'not UTF-8' if file.form.raw else file.form.encoding}; its diff shows decoded text"
        for file in files
        if file.form.encoding != "utf-8" or file.form.raw
    ]
    return [*shared, *forms, *marked]


def _unwritable(target: Target, effect: Effect) -> EditError | None:
    match effect:
        case Placement(places):
            fresh = "\n".join(body for placed in places for body in placed.new_lines())
        case NewContent(text):
            fresh = text.removeprefix("\ufeff")
        case _:
            return None
    problem = target.text.admits(fresh)
    if problem is not None:
        return _encoding(target.path, problem)
    if len(target.lines) + fresh.count("\n") >= MAX_LINES:
        return EditError("too_large", f"`{target.path}` would have over {MAX_LINES} lines", "write less into one file")
    return None


def _unstorable(targets: Targets, target: Target, data: bytes | TextProblem, limits: Limits) -> EditError | None:
    if isinstance(data, TextProblem):
        return _encoding(target.path, data)
    if len(data) > limits.max_file_bytes:
        size = f"`{target.path}` would have {len(data)} bytes; {limits.max_file_bytes} are possible"
        return EditError("too_large", size, f"write less into one file; {WHOLE}")
    return targets.below_a_file(target.path) if target.created else None


def _encoding(path: str, problem: TextProblem) -> EditError:
    return EditError("encoding", f"`{path}`: {problem.message}", f"use other characters, or escapes; {WHOLE}")
