"""How a person sees a fix run: what fails at its start, each attempt, the end and what to do next. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from regreen.cli.edit_lines import edit_error
from regreen.cli.lines import Line, conflict_line, count, diff, head, more, names, price, split
from regreen.cli.wording import OR_A_MODEL, without_lines_shown, worded
from regreen.proposers import NOT_ASKED, UNUSABLE

_SHOWN_NAMES = 30
_SHOWN_CONFLICTS = 20
_SHOWN_EDITS = 3
_SHOWN_EDIT_LINES = 16
_NAMELESS = "Failure"  # the kind where no exception stands behind a failure
Data = Mapping[str, Any]


def failing_tests(failures: Iterable[Data], ids: Iterable[str], total: int = 0) -> Iterator[Line]:
    """The failing tests before a fix, those of one cause together with what they said. `total`: where `ids` are cut."""
    listed = list(ids)
    yield Line(f"{count(total or len(listed), 'failing test')}:", "strong")
    for members, failure in _causes(list(failures), listed[:_SHOWN_NAMES]):
        if failure is None and len(members) < len(listed):
            yield Line("  of the same causes:")
        yield from (Line(f"  {name}", "bad") for name in members)
        if failure is not None:
            yield from (Line(f"      {text}") for text in _said(failure))
    yield from more(max(total, len(listed)), _SHOWN_NAMES)


def _causes(failures: Sequence[Data], ids: Sequence[str]) -> Iterator[tuple[list[str], Data | None]]:
    """The tests of each known failure. Last, those of which only is known that they share one of these causes."""
    only = str(failures[0]["id"]) if len(failures) == 1 else ""
    by_id = {f["id"]: f for f in failures}
    together: dict[str, list[str]] = {}
    for name in ids:
        cause = only or name
        together.setdefault(cause if cause in by_id else "", []).append(name)
    rest = together.pop("", [])
    yield from ((members, by_id[cause]) for cause, members in together.items())
    if rest:
        yield rest, None


def _said(failure: Data) -> Iterator[str]:
    """What a failure says in a line, or in two where the first only announces the second."""
    kind, lines = failure.get("kind", ""), [t.strip() for t in failure["message"].splitlines() if t.strip()]
    first = lines[0] if lines else kind
    yield first if not kind or kind == _NAMELESS or first.startswith(kind) else f"{kind}: {first}"
    if first.endswith(":"):
        yield from lines[1:2]


# --- attempts --------------------------------------------------------------------------------------------


def attempt_verdict(attempt: Data) -> str:
    """One attempt in one line; the engine's message may begin with the state already."""
    number, state = attempt["number"], attempt["state"]
    if attempt.get("refusal") == "needs_test_change":
        return f"attempt {number}: the tests would have to change: {head(attempt['message'])}"
    if bad := [e for e in attempt.get("edits", ()) if e.get("error")]:
        return f"attempt {number}: {state}: {count(len(bad), 'edit')} did not fit, nothing was written"
    words = without_lines_shown(head(attempt.get("message") or ""))
    said = words if words.startswith(f"{state}:") else f"{state}: {words}" if words else state
    return f"attempt {number}: {worded(said)}"


def attempt_lines(attempt: Data) -> Iterator[Line]:
    """One attempt: its verdict, its proposer's note, and why its edits did not fit."""
    yield Line(attempt_verdict(attempt))
    if note := head(attempt.get("note") or ""):
        yield Line(f"  note: {worded(note)}", "dim")
    bad = [e for e in attempt.get("edits", ()) if e.get("error")]
    for edit in bad[:_SHOWN_EDITS]:
        lines = list(edit_error(edit, edit["error"]))
        shown = lines if len(lines) <= _SHOWN_EDIT_LINES else [*lines[: _SHOWN_EDIT_LINES - 1], lines[-1]]
        yield from (Line(f"  {line.text}", line.style) for line in shown)
    yield from more(len(bad), _SHOWN_EDITS)


# --- the end ---------------------------------------------------------------------------------------------

_ENDS = {
    "already_green": "nothing to do: no test fails",
    "no_progress": "not fixed: the attempts stopped getting better",
    "repeated_fix": "not fixed: the same change was proposed again",
    "oscillation": "not fixed: the attempts went back and forth",
    "regression": "not fixed: what repaired one test broke others",
    "attempt_limit": "not fixed: all attempts are used up",
    "budget": "not fixed: the budget is spent",
    "flaky": "not fixed: a test fails only sometimes",
    "environment": "the tests cannot be run here",
    "tampered": "refused: a proposal changed what the tests rest on",
    "needs_test_change": "not fixed: the tests themselves would have to change",
    "proposer_failed": "not fixed: no further idea",
    "cancelled": "interrupted",
    "refused": "refused",
}


def ended(data: Data) -> Iterator[Line]:
    """The end of a run. `told`: its attempts have been shown where this is shown. `asked`: which models were asked, as
    its diary tells. `standing`, of a run that ended long ago: whether its changes are still there."""
    outcome, attempts = data.get("outcome", {}), data.get("attempts", [])
    yield from diff(outcome.get("diff", ""))
    if outcome.get("diff"):
        yield Line("")
    if outcome.get("fixed"):
        yield from _fixed(outcome, data)
    else:
        yield _unfixed(outcome)
        yield from _tried(attempts, told=data.get("told", False))
        yield from _left(outcome, data)
    yield from remarks(outcome)
    yield from _spent(outcome.get("evidence", {}).get("usage", {}), data.get("asked", {}))
    yield from _next(outcome, data)
    if data.get("job_id"):
        yield Line(f"run {data['job_id']}", "dim")


_NO_ANSWER = re.compile(rf"({NOT_ASKED}|{UNUSABLE})([^\n]*)\n?")
_OTHER_WAYS = re.compile(r" ?Hand in a fix of your own \(proposer=caller\)[^.]*\.")


_SENTENCE = re.compile(r"\.(?:\s+(?=[A-Z`/])|\s*\n|\s*$)")


def _unfixed(outcome: Data) -> Line:
    """The verdict on a run without a fix."""
    reason = outcome.get("reason", "")
    said = _ENDS.get(reason, f"not fixed: {reason}")
    if reason == "environment" and (cause := _cause(outcome)[0]):
        return Line(f"nothing could be run: {cause}", "bad")
    if reason == "proposer_failed" and (found := _NO_ANSWER.search(outcome.get("hint", ""))):
        cause = worded(found[2].strip().removesuffix("."))
        return Line(f"not fixed: {found[1][:1].lower()}{found[1][1:]}{cause}", "bad")
    return Line(said, "good" if reason == "already_green" else "bad")


def _cause(outcome: Data) -> tuple[str, str]:
    """Why the tests could not be run, in a sentence, and the rest of what there is to say; no cause where only the
    general hint is known."""
    from regreen.fix.hints import HINTS  # not at the top: few ends need it, and it brings all of the loop along
    from regreen.model import StopReason

    hint = worded(str(outcome.get("hint", "")))
    if hint == HINTS[StopReason.ENVIRONMENT]:
        return "", hint
    first, _, below = hint.partition("\n")
    cause, *rest = _SENTENCE.split(first, maxsplit=1)
    return cause, "\n".join(text for text in (*rest, below) if text)


def _spent(usage: Data, asked: Data) -> Iterator[Line]:
    """What proposals have cost: `claude-sonnet-5-5: 3 questions, 12,345 tokens, $0.02`."""
    if not (tokens := usage.get("tokens", 0)):
        return
    models = asked.get("models", [])
    who = f"{names(models)}: {count(asked['questions'], 'question')}" if models else "proposals"
    paid = price(usage.get("usd", 0.0), unpriced=bool(asked.get("unpriced")))
    yield Line(f"{who}, {tokens:,} tokens, {paid}", "dim")


def _fixed(outcome: Data, data: Data) -> Iterator[Line]:
    evidence = outcome.get("evidence", {})
    counts, fixed = evidence.get("counts", {}), outcome.get("fixed_tests", [])
    yield Line(f"fixed: {count(len(fixed), 'test')} went green", "good")
    yield from (Line(f"  {name}") for name in fixed[:_SHOWN_NAMES])
    yield from more(len(fixed), _SHOWN_NAMES)
    if not data.get("told"):
        notes = (head(a.get("note") or "") for a in data.get("attempts", []) if a.get("kept"))
        yield from (Line(f"note: {worded(note)}", "dim") for note in notes if note)
    runs = f", goal tests green in {evidence['goal_runs']} runs" if evidence.get("goal_runs") else ""
    yield Line(f"verified by a cold run: {counts.get('passed', 0)} passed, "
               f"{counts.get('failed', 0) + counts.get('errors', 0)} failed, {counts.get('skipped', 0)} skipped{runs}; "
               f"{count(evidence.get('protected_files', 0), 'protected file')} unchanged")  # fmt: skip
    if data.get("standing") is False:
        yield Line("it was taken back since", "warn")
        return
    back = f"`regreen restore {data['job_id']}`" if data.get("standing") else "`regreen undo`"
    yield Line(f"plausible, not proven: the change satisfies the tests there are. Read the diff; {back} takes it back.",
               "warn")  # fmt: skip


def _tried(attempts: Sequence[Data], *, told: bool) -> Iterator[Line]:
    for attempt in () if told else attempts:
        yield from (Line(f"  {line.text}", line.style) for line in attempt_lines(attempt))
    if attempts and (still := attempts[-1].get("still")):
        yield Line(f"  still failing: {names(still)}")


def _left(outcome: Data, data: Data) -> Iterator[Line]:
    if outcome.get("kept"):
        since = "; taken back since" if data.get("standing") is False else ""
        yield Line(f"kept, although not green: {names(outcome.get('kept_files', []))}{since}", "warn")
    elif outcome.get("restored"):
        yield Line("everything is as it was before")


def remarks(outcome: Data) -> Iterator[Line]:
    """What else there is to say of an end, good or bad."""
    evidence, conflicts = outcome.get("evidence", {}), outcome.get("conflicts", [])
    for conflict in conflicts[:_SHOWN_CONFLICTS]:
        yield conflict_line(conflict["path"], conflict["reason"])
    yield from more(len(conflicts), _SHOWN_CONFLICTS)
    for title, said in _TITLES.items():
        if found := evidence.get(title):
            yield Line(f"{said}: {names(found)}", "dim")
    for gate in evidence.get("gates", []):
        said = gate.get("message") or names(gate.get("new", [])) or ("passed" if gate["ok"] else "objects")
        yield Line(f"gate {gate['name']}: {worded(said)}", "dim" if gate["ok"] else "warn")
    for title in ("warnings", "remarks"):
        yield from (Line(f"{title.removesuffix('s')}: {worded(text)}", "warn") for text in evidence.get(title, []))


_TITLES = {
    "side_effects": "written by the tests and put back",
    "flaky": "fail only sometimes, left out",
    "pre_existing": "failed before, outside this run's goal",
}


def _hint(outcome: Data, asked: Data) -> str:
    """What the engine says to do, without what the verdict has said; no model is advised where one was asked."""
    if outcome.get("reason") == "environment":
        return _cause(outcome)[1]
    hint = str(outcome.get("hint", ""))
    if outcome.get("reason") == "proposer_failed" and _NO_ANSWER.search(hint):
        return worded(_NO_ANSWER.sub("", _OTHER_WAYS.sub("", hint)))
    return worded(hint).replace(OR_A_MODEL, "") if asked.get("models") else worded(hint)


def _next(outcome: Data, data: Data) -> Iterator[Line]:
    """What to do now."""
    attempts, job_id = data.get("attempts", []), data.get("job_id", "")
    if hint := _hint(outcome, data.get("asked", {})):
        yield from split(f"hint: {hint}")
    if outcome.get("fixed") or not job_id:
        return
    best = [a["number"] for a in attempts if a.get("kept")]
    if best and not outcome.get("kept"):
        yield Line(f"hint: attempt {best[-1]} got furthest: `regreen runs resume {job_id}` goes on from there; "
                   "`regreen fix --keep-partial` leaves it in the files")  # fmt: skip
    elif outcome.get("reason") == "cancelled":
        yield Line(f"hint: `regreen runs resume {job_id}` takes it up again")
