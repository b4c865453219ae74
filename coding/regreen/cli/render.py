"""How a person sees a result: pure functions from the structured result of a tool to lines. One row a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from regreen.cli.lines import Line, conflict_line, diff, split
from regreen.cli.wording import worded
from regreen.wire import Json

_SHOWN_FAILURES = 20
_SHOWN_NAMES = 30
_SHOWN_SAME = 5
_SHOWN_CONFLICTS = 20
Data = Mapping[str, Any]


def render(tool: str, data: Mapping[str, Json]) -> Iterator[Line]:
    """The lines for the result of `tool`; none for an error, which the entry point tells on stderr."""
    view = _VIEWS.get(tool)
    if view is not None and "error" not in data:
        yield from view(cast("Data", data))


def failing_tests(failures: Iterable[Data], ids: Iterable[str]) -> Iterator[Line]:
    """The failing tests before a fix: one line each, with what they said."""
    by_id = {f["id"]: f for f in failures}
    names = list(ids)
    yield Line(f"{_count(len(names), 'failing test')}:", "strong")
    for name in names[:_SHOWN_NAMES]:
        failure = by_id.get(name)
        yield Line(f"  {name}", "bad")
        if failure is not None:
            yield from split(_head(failure["message"]), indent="      ")
    yield from _more(len(names), _SHOWN_NAMES)


def _test(data: Data) -> Iterator[Line]:
    """Each failure under a line that an editor's problem matcher reads; the verdict last."""
    counts = data.get("counts", {})
    yield from _groups(data.get("failures", []), data.get("groups", []))
    yield from _since(data.get("since_last", {}))
    status = data.get("status", "")
    if (message := data.get("message")) and status != "cancelled":  # the last line says that
        yield from split(worded(message), "warn")
    for note in data.get("notes", []):
        yield Line(f"note: {worded(note)}", "warn")
    summary = ", ".join(f"{counts[k]} {k}" for k in ("failed", "errors", "passed", "skipped", "xfailed", "xpassed")
                        if counts.get(k))  # fmt: skip
    yield Line(f"{status}: {summary or 'no tests ran'} in {data.get('duration_s', 0.0):.2f} s",
               "good" if status == "passed" else "bad")  # fmt: skip
    yield from _how(data)


def _groups(failures: Iterable[Data], groups: Iterable[Data]) -> Iterator[Line]:
    """One failure of each cause in full, the others of it by name."""
    by_id = {f["id"]: f for f in failures}
    causes = [g for g in groups if g["ids"][0] in by_id]
    for cause in causes[:_SHOWN_FAILURES]:
        yield from _failure(by_id[cause["ids"][0]])
        others = cause["ids"][1:]
        if others:
            more = len(others) - _SHOWN_SAME + cause.get("more", 0)
            left = f" and {more} more" if more > 0 else ""
            yield Line(f"    same cause: {', '.join(others[:_SHOWN_SAME])}{left}", "dim")
            yield Line("")
    yield from _more(len(causes), _SHOWN_FAILURES)


def _failure(failure: Data) -> Iterator[Line]:
    place = f"{failure['file']}:{max(1, failure['line'])}:1: " if failure["file"] else ""
    yield Line(f"{place}error: {failure['kind']}: {_head(failure['message'])} [{failure['id']}]", "bad")
    yield from split(failure.get("excerpt", "").rstrip("\n"), "dim", "    ")
    yield from split(failure.get("note", ""), "warn", "    ")
    yield Line("")


def _since(changed: Data) -> Iterator[Line]:
    """What is different from the last run of the same tests."""
    for kind, said in _SINCE.items():
        ids = changed.get(kind, [])
        if ids:
            yield Line(f"{said}: {_names(ids)}", "good" if kind == "fixed" else "warn")


_SINCE = {"new": "failing since the last run", "fixed": "fixed since the last run", "vanished": "no longer there"}


def _how(data: Data) -> Iterator[Line]:
    parts = [
        f"{name} {data[name]}" for name in ("runner", "interpreter", "sandbox", "network", "log") if data.get(name)
    ]
    if parts:
        yield Line("; ".join(parts), "dim")


_ENDS = {
    "already_green": "nothing to do: no test fails",
    "no_progress": "not fixed: the attempts stopped getting better",
    "repeated_fix": "not fixed: the same change was proposed again",
    "oscillation": "not fixed: the attempts went back and forth",
    "regression": "not fixed: what repaired one test broke others",
    "attempt_limit": "not fixed: all attempts are used up",
    "budget": "not fixed: the time budget is spent",
    "flaky": "not fixed: a test fails only sometimes",
    "environment": "the tests cannot be run here",
    "tampered": "refused: a proposal changed what the tests rest on",
    "needs_test_change": "not fixed: the tests themselves would have to change",
    "proposer_failed": "not fixed: no further idea",
    "cancelled": "interrupted",
    "refused": "refused",
}


def _fix(data: Data) -> Iterator[Line]:
    outcome = data.get("outcome", {})
    evidence = outcome.get("evidence", {})
    yield from diff(outcome.get("diff", ""))
    if outcome.get("diff"):
        yield Line("")
    if outcome.get("fixed"):
        yield from _verdict(outcome, evidence)
    else:
        reason = outcome.get("reason", "")
        yield Line(_ENDS.get(reason, f"not fixed: {reason}"), "good" if reason == "already_green" else "bad")
        yield from _attempts(data.get("attempts", []))
        yield from _kept(outcome)
    conflicts = outcome.get("conflicts", [])
    for conflict in conflicts[:_SHOWN_CONFLICTS]:
        yield conflict_line(conflict["path"], conflict["reason"])
    yield from _more(len(conflicts), _SHOWN_CONFLICTS)
    for title in ("side_effects", "flaky", "pre_existing"):
        if names := evidence.get(title):
            yield Line(f"{_TITLES[title]}: {_names(names)}", "dim")
    for gate in evidence.get("gates", []):
        said = "no new findings" if gate["ok"] else gate.get("message") or _names(gate.get("new", []))
        yield Line(f"gate {gate['name']}: {worded(said)}", "dim" if gate["ok"] else "warn")
    for title in ("warnings", "remarks"):
        yield from (Line(f"{title.removesuffix('s')}: {worded(text)}", "warn") for text in evidence.get(title, []))
    hint = worded(outcome.get("hint", ""))
    if hint and not outcome.get("fixed"):
        yield Line(f"hint: {hint}")
    if data.get("job_id"):
        yield Line(f"run {data['job_id']}", "dim")


_TITLES = {
    "side_effects": "written by the tests and put back",
    "flaky": "fail only sometimes, left out",
    "pre_existing": "failed before, outside this run's goal",
}


def _verdict(outcome: Data, evidence: Data) -> Iterator[Line]:
    counts = evidence.get("counts", {})
    fixed = outcome.get("fixed_tests", [])
    yield Line(f"fixed: {_count(len(fixed), 'test')} went green", "good")
    yield from (Line(f"  {name}") for name in fixed[:_SHOWN_NAMES])
    yield from _more(len(fixed), _SHOWN_NAMES)
    runs = f", goal tests green in {evidence['goal_runs']} runs" if evidence.get("goal_runs") else ""
    yield Line(f"verified by a cold run: {counts.get('passed', 0)} passed, "
               f"{counts.get('failed', 0) + counts.get('errors', 0)} failed, {counts.get('skipped', 0)} skipped{runs}; "
               f"{_count(evidence.get('protected_files', 0), 'test file')} unchanged")  # fmt: skip
    yield Line("plausible, not proven: the change satisfies the tests there are. Read the diff; "
               "`regreen undo` takes it back.", "warn")  # fmt: skip


def attempt_verdict(attempt: Data) -> str:
    """One attempt in one line; the engine's message may begin with the state already."""
    if attempt.get("refusal") == "needs_test_change":
        return f"attempt {attempt['number']}: the tests would have to change: {_head(attempt['message'])}"
    state, words = attempt["state"], _head(attempt.get("message") or attempt.get("note") or "")
    said = words if words.startswith(f"{state}:") else f"{state}: {words}" if words else state
    return f"attempt {attempt['number']}: {worded(said)}"


def _attempts(attempts: Iterable[Data]) -> Iterator[Line]:
    shown = list(attempts)
    for attempt in shown:
        yield Line(f"  {attempt_verdict(attempt)}")
    if shown and (still := shown[-1].get("still")):
        yield Line(f"  still failing: {_names(still)}")


def _kept(outcome: Data) -> Iterator[Line]:
    if outcome.get("kept"):
        yield Line(f"kept, although not green: {_names(outcome.get('kept_files', []))}", "warn")
    elif outcome.get("restored"):
        yield Line("everything is as it was before")


def planned(data: Data) -> Iterator[Line]:
    """What edits would change."""
    files = data.get("files", [])
    number = 0
    several = sum(file.get("hunks", 0) for file in files) > 1 and not data.get("transaction")
    for file in files:
        source = f"{file['from']} to " if file.get("from") else ""
        whole = file["action"] != "modify"  # then all of the file is one part to choose
        number += whole
        label = f" [hunk {number}]" if whole and several else ""
        yield Line(f"{file['action']} {source}{file['path']} (+{file['added']} -{file['removed']}){label}", "strong")
        for line in diff(file.get("diff", "")):
            starts = line.style == "hunk" and not whole
            number += starts
            yield Line(f"{line.text} [hunk {number}]", "hunk") if several and starts else line


def _edit(data: Data) -> Iterator[Line]:
    yield from planned(data)
    for edit in data.get("edits", []):
        if error := edit.get("error"):
            yield from _edit_error(edit, error)
    yield from applied(data)


def applied(data: Data) -> Iterator[Line]:
    """What came of edits, without showing them."""
    for warning in data.get("warnings", []):
        yield Line(f"warning: {worded(warning)}", "warn")
    if data.get("transaction"):
        yield Line(f"applied as {data['transaction']}; `regreen undo` takes it back", "good")
    elif data.get("ok"):
        yield Line(f"would apply; nothing was written. `regreen edit --commit {data['plan']}` applies it", "good")
    else:
        yield Line("nothing was written", "bad")


def _edit_error(edit: Data, error: Data) -> Iterator[Line]:
    where = f" of {edit['path']}" if edit.get("path") else ""
    yield Line(f"edit {edit['index'] + 1}{where}: {error['kind']}: {worded(error['message'])}", "bad")
    if error.get("candidates"):
        yield Line(f"  at lines {', '.join(map(str, error['candidates']))}")
    if closest := error.get("closest"):
        several = closest["end"] > closest["start"]
        where = f"lines {closest['start']}-{closest['end']}" if several else f"line {closest['start']}"
        yield Line(f"  the closest place is {where}:")
        yield from split(closest["text"].rstrip("\n"), "dim", "  ")
    if first := error.get("first_difference"):
        yield Line(f"  line {first['line']} is {first['found']}, the edit has {first['expected']}")
    if error.get("hint"):
        yield Line(f"  hint: {worded(error['hint'])}")


def _restore(data: Data) -> Iterator[Line]:
    would = "would be " if data.get("dry_run") else ""
    for path in data.get("restored", []):
        yield Line(f"{would}restored {path}", "good")
    for path in data.get("deleted", []):
        yield Line(f"{would}deleted {path}", "good")
    for path in data.get("merged", []):
        yield Line(f"{would}restored {path}, with what was changed there since", "good")
    for conflict in data.get("conflicts", []):
        yield conflict_line(conflict["path"], conflict["reason"])
    if not any(data.get(k) for k in ("restored", "deleted", "merged", "conflicts")):
        yield Line("nothing to put back")
    if data.get("transaction"):
        yield Line(f"`regreen restore {data['transaction']}` takes this back", "dim")


def _changes(data: Data) -> Iterator[Line]:
    if not data.get("files"):
        yield Line(f"nothing differs from {data.get('since', '')}")
    yield from diff(data.get("diff", ""))
    yield from _truncated(data)


def _skeleton(data: Data) -> Iterator[Line]:
    yield from split(data.get("tree", "").rstrip("\n"))
    yield Line(f"{_count(data.get('files', 0), 'file')}, {_count(data.get('dirs', 0), 'folder')}", "dim")
    yield from _truncated(data)


def _signatures(data: Data) -> Iterator[Line]:
    for file in data.get("files", []):
        yield Line(file["path"], "strong")
        for symbol in file.get("symbols", []):
            depth = symbol.get("qualified_name", "").count(".")
            yield Line(f"{symbol['line']:>5}  {'    ' * depth}{symbol['signature']}")
            if symbol.get("doc"):
                yield Line(f"{'':5}  {'    ' * (depth + 1)}{_head(symbol['doc'])}", "dim")
        yield from (Line(f"  {error}", "warn") for error in file.get("errors", []))
    for skipped in data.get("skipped", []):
        yield Line(f"skipped {skipped['path']}: {skipped['reason']}", "warn")
    yield from _truncated(data)


def _read(data: Data) -> Iterator[Line]:
    yield from split(data.get("text", "").removesuffix("\n"))


def _truncated(data: Data) -> Iterator[Line]:
    if data.get("cursor"):
        yield Line(f"truncated; go on with --cursor {data['cursor']}", "warn")
    elif data.get("truncated"):
        yield Line("truncated", "warn")


def _more(total: int, shown: int) -> Iterator[Line]:
    if total > shown:
        yield Line(f"  and {total - shown} more", "dim")


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + more


def _head(text: str) -> str:
    return text.strip().split("\n", 1)[0]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


_VIEWS: dict[str, Callable[[Data], Iterator[Line]]] = {
    "fix_tests": _fix,
    "run_tests": _test,
    "apply_edits": _edit,
    "restore": _restore,
    "show_changes": _changes,
    "repo_skeleton": _skeleton,
    "extract_signatures": _signatures,
    "read_file": _read,
}
