"""Works out, in memory, what a proposal's edits do: every edit is judged, and either all of them hold or none.

Rule: planning reads and never writes. Edits on one file are taken in order, each against the outcome of those before
it; each SEARCH must fit exactly one place. The id of a plan is a hash of the changes it would make.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from regreen.edits.closest import Work
from regreen.edits.diff import diff
from regreen.edits.elision import placeholder
from regreen.edits.explain import WHOLE, no_match, overtaken, printable
from regreen.edits.formats import parse, row_of
from regreen.edits.lines import MAX_LINES, is_blank
from regreen.edits.parsed import Parsed, lines_of
from regreen.edits.placing import Placed, place
from regreen.edits.target import Target, Targets
from regreen.errors import RegreenError, UsageError
from regreen.model import EditError, EditReport, EditResult, FileDiff, Proposal, Replacement
from regreen.settings import Limits
from regreen.workspace import Change, TextProblem, Workspace

_MAX_CLOSEST_CHARS = 20_000  # of all closest places in one report
_MAX_DETAILED = 50  # failed edits of one report that carry hints
_CONFLICT_MARK = b"<<<<<<< "


@dataclass(frozen=True, slots=True)
class EditPlan:
    """What would be written, and the report that says so. `changes` is empty unless `report.ok`.

    `reals` has the real path of the file of each edit, in the order of the report.
    """

    report: EditReport
    changes: tuple[Change, ...] = ()
    reals: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return self.report.plan


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

    `protected` names paths, beyond the workspace's own, that must not be written. `strict` allows exact matches only.
    """
    limits = limits or Limits()
    parsed = _read(proposal, limits)
    targets = Targets(workspace, _cleaned(expected_sha256 or {}, workspace), protected)
    planner = _Planner(targets, limits, len(parsed.edits), strict)
    results = [planner.judge(number, edit) for number, edit in enumerate(parsed.edits)]
    if parsed.problem is not None:
        results.append(EditResult(parsed.problem_at, "", "failed", error=parsed.problem))
    return planner.finish(results)


def _cleaned(expected: Mapping[str, str], workspace: Workspace) -> dict[str, str]:
    """The expectations by clean path. A path that cannot be cleaned is kept: no edit will reach it either."""
    cleaned: dict[str, str] = {}
    for path, sha in expected.items():
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
    parsed = parse(proposal.text, proposal.format) if not proposal.replacements else Parsed(proposal.replacements)
    if len(parsed.edits) > limits.max_edits:
        return Parsed(problem=EditError("too_large", f"the response has {len(parsed.edits)} edits; {limits.max_edits} "
                                        "are possible", "send them in several calls"))  # fmt: skip
    return parsed


@dataclass(slots=True)
class _Planner:
    targets: Targets
    limits: Limits
    count: int
    strict: bool
    warnings: list[str] = field(default_factory=list[str])
    work: Work = field(default_factory=Work)
    reals: list[str] = field(default_factory=list[str])

    def judge(self, number: int, edit: Replacement) -> EditResult:
        """Plan one edit on top of those before it."""
        target = self.targets.open(edit.path)
        path = printable(edit.path)
        self.reals.append("" if isinstance(target, EditError) else target.path)
        if isinstance(target, EditError):
            return EditResult(number, path, "failed", error=target)
        search, new = lines_of(edit.search), lines_of(edit.replace)
        placed = self._placed(target, search, new)
        if isinstance(placed, EditError):
            target.failed.update(new)
            return EditResult(number, path, "failed", error=placed)
        return self._take(number, path, target, placed)

    def _placed(self, target: Target, search: tuple[str, ...], new: tuple[str, ...]) -> Placed | EditError:
        left_out = placeholder(search, new)
        if left_out:
            return EditError("elision", f"`{target.path}`: REPLACE holds the placeholder {left_out[:80]!r}, which "
                             "SEARCH does not: the code it stands for would be deleted",
                             f"write out every line, or make SEARCH smaller; {WHOLE}")  # fmt: skip
        if all(is_blank(body) for body in search):
            return _filling(target, search, new)
        if not target.exists:
            return self.targets.missing(target.path)
        placed = place(target.path, target.lines, search, new, strict=self.strict)
        return placed if placed is not None else self._unplaced(target, search)

    def _unplaced(self, target: Target, search: tuple[str, ...]) -> EditError:
        before = target.overtaken(search)
        if before is not None:
            return overtaken(target.path, *before)
        waits = any(body in target.failed for body in search if not is_blank(body))
        note = "an earlier edit of this response that would have written these lines does not fit either"
        return no_match(target.path, search, target.near(), self.work, note=note if waits else "")

    def _take(self, number: int, path: str, target: Target, placed: Placed) -> EditResult:
        problem = _unwritable(target, placed)
        if problem is not None:
            return EditResult(number, path, "failed", error=problem)
        origins = [n for n in target.lines.rows.origins[placed.start : placed.end] if n]
        first, last = (origins[0], origins[-1]) if origins else (0, 0)
        fills = not target.exists
        changed = target.replace(placed) or fills
        target.exists = True
        name = f"edit {number + 1} of {self.count} (`{path}`)"
        if not changed:
            self.warnings.append(f"{name} changes nothing and was skipped")
            return EditResult(number, path, "skipped_noop", placed.level, first, last)
        left = set(target.lines.rows.origins[placed.start : placed.start + len(placed.replace)])
        target.touched.update({origin: number + 1 for origin in origins if origin not in left})
        if placed.level not in ("exact", ""):
            self.warnings.append(f"{name} fits at level {placed.level}, not exactly")
        return EditResult(number, path, "would_apply", placed.level, first, last)

    def finish(self, results: list[EditResult]) -> EditPlan:
        """The plan, if all edits hold and something changes; else a report of everything that does not."""
        changes, files = self._changes(results)
        if not any(r.error for r in results) and not changes:
            results[:] = [_noop(r) for r in results] or [EditResult(0, "", "failed", error=_nothing())]
        failed = [r for r in results if r.error is not None]
        if failed:
            said = _nothing_applied(len(failed), max(len(results), self.count))
            return EditPlan(
                EditReport(False, (), _bounded(results), (said, *map(printable, (*self.targets.notes, *self.warnings))))
            )
        marked = [
            f"`{change.path}` holds conflict markers (`{_CONFLICT_MARK.decode().strip()}`)"
            for change in changes
            if b"\n" + _CONFLICT_MARK in b"\n" + (change.after or b"")
        ]
        unused = [
            f"`{printable(p)}`: no edit names it, so its expected hash was not compared"
            for p in sorted(self.targets.unused)
        ]
        warnings = tuple(map(printable, (*self.targets.notes, *self.warnings, *marked, *unused)))
        report = EditReport(True, tuple(files), tuple(results), warnings, plan_id(changes))
        return EditPlan(report, tuple(changes), tuple(self.reals))

    def _changes(self, results: list[EditResult]) -> tuple[list[Change], list[FileDiff]]:
        """The changes of all files. A file that cannot be written fails the edits on it."""
        changes: list[Change] = []
        files: list[FileDiff] = []
        for target in self.targets.by_real.values():
            data = target.encoded() if target.exists else target.image.data
            problem = _too_large(target, data, self.limits)
            if target.created and target.exists:
                problem = problem or self.targets.below_a_file(target.path)
            if isinstance(data, TextProblem) or problem is not None:
                _fail(results, self.targets, target, problem or _encoding(target, data))
            elif target.exists and (target.created or data != target.image.data):
                changes.append(Change(target.path, target.image.sha256, data, None))
                files.append(self._file(target, data))
        return changes, files

    def _file(self, target: Target, data: bytes) -> FileDiff:
        made = diff(target.path, None if target.created else target.before, target.lines.rows, mark=target.mark)
        if target.text.encoding != "utf-8" or target.text.raw:
            encoding = "not UTF-8" if target.text.raw else target.text.encoding
            self.warnings.append(f"`{target.path}` is {encoding}; its diff shows decoded text")
        sha = hashlib.sha256(data).hexdigest()
        action = "create" if target.created else "modify"
        return FileDiff(target.path, action, made.added, made.removed, target.image.sha256, sha, made.text)


def plan_id(changes: list[Change]) -> str:
    """The same changes have the same id, whoever plans them and when."""
    digest = hashlib.sha256()
    for change in sorted(changes, key=lambda c: c.path):
        after = hashlib.sha256(change.after).hexdigest() if change.after is not None else ""
        digest.update(
            f"{change.path}\0{change.before_sha}\0{after}\0{change.mode}\0".encode("utf-8", "surrogateescape")
        )
    return f"plan-{digest.hexdigest()[:16]}"


def _filling(target: Target, search: tuple[str, ...], new: tuple[str, ...]) -> Placed | EditError:
    """An edit with an empty SEARCH: creates the file, or fills it if it is empty."""
    if not target.exists or not len(target.lines):
        return Placed("", 0, (), new, new)
    if target.lines.rows.bodies == list(new):
        return EditError("already_applied", f"`{target.path}` exists and holds the REPLACE lines already",
                         f"leave this edit out; {WHOLE}")  # fmt: skip
    what = "is empty" if not search else "holds blank lines only"
    return EditError("empty_search", f"`{target.path}`: SEARCH {what}, but the file exists and is not empty",
                     "to change it, put the lines to be replaced into SEARCH; to add lines, put a neighbouring line "
                     f"into both SEARCH and REPLACE; {WHOLE}")  # fmt: skip


def _unwritable(target: Target, placed: Placed) -> EditError | None:
    fresh = placed.new_lines()
    problem = target.text.admits("\n".join(fresh))
    if problem is not None:
        return _encoding(target, problem)
    if len(target.lines) + len(fresh) > MAX_LINES:
        return EditError("too_large", f"`{target.path}` would have over {MAX_LINES} lines", "write less into one file")
    return None


def _encoding(target: Target, problem: TextProblem | bytes) -> EditError:
    why = problem.message if isinstance(problem, TextProblem) else "cannot be encoded"
    return EditError("encoding", f"`{target.path}`: {why}", f"use other characters, or escapes; {WHOLE}")


def _too_large(target: Target, data: bytes | TextProblem, limits: Limits) -> EditError | None:
    if isinstance(data, TextProblem) or len(data) <= limits.max_file_bytes:
        return None
    return EditError("too_large", f"`{target.path}` would have {len(data)} bytes; {limits.max_file_bytes} are possible",
                     f"write less into one file; {WHOLE}")  # fmt: skip


def _fail(results: list[EditResult], targets: Targets, target: Target, error: EditError) -> None:
    for position, result in enumerate(results):
        if result.status == "would_apply" and targets.open(result.path) is target:
            results[position] = replace(result, status="failed", error=error)


def _noop(result: EditResult) -> EditResult:
    error = EditError("no_op", f"`{result.path}`: the edits leave every file as it is",
                      "send only edits whose REPLACE differs from the file")  # fmt: skip
    return replace(result, status="failed", error=error)


def _nothing() -> EditError:
    return EditError("no_edits", "the proposal holds no edit", "send a block, or replacements")


def _nothing_applied(failed: int, total: int) -> str:
    if total == 1:
        return "NOTHING was applied. Correct what is reported and send the edit again."
    return (
        f"NOTHING was applied: {failed} of {total} edits cannot be, so none was. "
        f"Correct what is reported and send all {total} edits again."
    )


def _bounded(results: list[EditResult]) -> tuple[EditResult, ...]:
    """The results, with as much detail as the size of a report allows; kind and message are always kept."""
    left = _MAX_CLOSEST_CHARS
    detailed = _MAX_DETAILED
    bounded: list[EditResult] = []
    for result in results:
        if result.error is None:
            bounded.append(result)
            continue
        error = replace(result.error, message=printable(result.error.message), hint=printable(result.error.hint))
        left -= len(error.closest.text) if error.closest is not None else 0
        detailed -= 1
        if left < 0:
            error = replace(error, closest=None)
        if detailed < 0:
            error = EditError(error.kind, error.message, candidates=error.candidates)
        bounded.append(replace(result, error=error))
    return tuple(bounded)
