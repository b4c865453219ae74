"""From a proposal to a changed tree, or to the reason why not: edits that fit, allowed files, a tree that is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regreen import edits
from regreen.fix.bench import FixBench, FixRequest
from regreen.fix.changed import Changed
from regreen.fix.scope import Objection
from regreen.fix.tamper import TextChange
from regreen.fix.tree import tree_hash
from regreen.model import Attempt, AttemptState, EditError, Failure, Proposal
from regreen.wire import shortened

NEEDS_TEST_CHANGE = "needs_test_change"
_MOST_SAID = 4_000


class Applying:
    """Applies proposals for one run, and knows which trees it had already."""

    def __init__(self, request: FixRequest, bench: FixBench) -> None:
        self._request = request
        self._bench = bench
        self._changed = Changed(request.run_id, bench)
        self._trees = {tree_hash({}, {})}

    @property
    def tree(self) -> str:
        """The hash of the tree as it stands."""
        return self._changed.tree()

    def changed(self) -> tuple[TextChange, ...]:
        """What the run has changed so far, as texts."""
        return self._changed.texts()

    def apply(self, number: int, proposal: Proposal, failures: Sequence[Failure]) -> Attempt:
        """Write the edits. The attempt has a transaction if they stand, and is `refused` or `repeated` if not."""
        note = shortened(proposal.note)
        if reason := shortened(proposal.needs_test_change):
            return Attempt(number, AttemptState.REFUSED, note, reason, NEEDS_TEST_CHANGE)
        plan = edits.plan(proposal, self._bench.workspace, limits=self._bench.limits, strict=self._bench.strict_edits)
        diff = "".join(f.diff for f in plan.report.files)
        attempt = Attempt(number, AttemptState.REFUSED, note, edits=plan.report.edits, diff=diff)
        if not plan.report.ok:
            errors = [e.error for e in plan.report.edits if e.error is not None]
            kind, message = (errors[0].kind, _edit_text(errors[0])) if errors else ("no_edits", "no edits found")
            return replace(attempt, message=message, refusal=kind)
        before = {c.path: self._bench.workspace.image(c.path) for c in plan.changes}
        texts = {p: i.data.decode("utf-8", "surrogateescape") for p, i in before.items()}
        if objections := self._request.scope.objections(plan.changes, texts, failures):
            cheats = tuple(dict.fromkeys(o.cheat for o in objections if o.cheat))
            return replace(attempt, message=_objection_text(objections), refusal=objections[0].kind, cheats=cheats)
        attempt = replace(attempt, tree=self._changed.tree({c.path: c.after for c in plan.changes}))
        if attempt.tree in self._trees:
            return replace(
                attempt,
                state=AttemptState.REPEATED,
                refusal="repeated",
                message="this gives a tree that was tried before; it was not run again",
            )
        report = edits.commit(plan, self._bench.journal, label=f"attempt {number}", run_id=self._request.run_id)
        if not report.ok:
            message = "the files changed while the edits were applied: read them again"
            return replace(attempt, edits=report.edits, message=message, refusal="stale")
        self._trees.add(attempt.tree)
        return replace(attempt, state=AttemptState.SAME, edits=report.edits, transaction=report.transaction)

    def apply_again(self, number: int, proposal: Proposal) -> str:
        """Write edits that were judged before; the transaction, or "" where they do not fit now."""
        plan = edits.plan(proposal, self._bench.workspace, limits=self._bench.limits, strict=self._bench.strict_edits)
        if not plan.report.ok:
            return ""
        report = edits.commit(plan, self._bench.journal, label=f"attempt {number}, again", run_id=self._request.run_id)
        return report.transaction if report.ok else ""


def _edit_text(error: EditError) -> str:
    return shortened(f"{error.message}: {error.hint}" if error.hint else error.message, _MOST_SAID)


def _objection_text(objections: Sequence[Objection]) -> str:
    shown = objections[:5]
    said = "; ".join(f"{o.cheat}: {o.message}: {o.hint}" if o.cheat else f"{o.message}: {o.hint}" for o in shown)
    return shortened(said, _MOST_SAID)
