"""What a tool says in words: compact, complete by itself, equal in content to the structured result. Pure.

Written for a model and a person alike: the verdict first, then what is needed for the next step, bounded in size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from regreen.tools import reading_text, task_text
from regreen.tools.diff_text import cut
from regreen.tools.paging import count, rest_of
from regreen.wire import counted, outcomes_counted, shortened

Data: TypeAlias = Mapping[str, Any]

_MAX_FAILURES_CHARS = 8_000
_MAX_EDITS = 20
_MAX_CONFLICTS = 20
_MAX_NAMED = 5
_MAX_DIFF_CHARS = 12_000
_MAX_FILES = 50
_MAX_SAID_CHARS = 4_000
_MAX_PATH_CHARS = 200
_MAX_CHARS = 64_000
_PAGED = frozenset({"repo_skeleton", "extract_signatures", "repo_map", "read_file"})


def say(tool: str, data: Data) -> str:
    """The text for a result of this tool. What is read in pages of the caller's own size is as long as these."""
    if "error" in data:
        return error_text(data["error"])
    text = _SAY[tool](data)
    if rest := rest_of(tool, data):
        text += f"\n{rest}"
    return text if tool in _PAGED else shortened(text, _MAX_CHARS)


def error_text(error: Data) -> str:
    """`kind: message`, then the hint."""
    hint = f"\n{shortened(error['hint'], _MAX_SAID_CHARS)}" if error.get("hint") else ""
    return f"{error['kind']}: {shortened(error['message'], _MAX_SAID_CHARS)}{hint}"


def _edits(d: Data) -> str:
    if not d["ok"]:
        return _failed_edits(d)
    verb = "applied" if d["transaction"] else "would be applied (dry run)"
    done = count(d, "edits") - sum(e["status"] in ("skipped_noop", "not_chosen") for e in d["edits"])
    out = [f"{counted(done, 'edit')} {verb} to {counted(count(d, 'files'), 'file')}"]
    if d["transaction"]:
        out.append(f"transaction {d['transaction']} (restore undoes it)")
    elif d.get("plan"):
        out.append(f"plan {d['plan']} (commit applies it)")
    first = 1
    for file in d["files"]:
        parts = file.get("hunks", 0)
        chosen = f" hunks {first}-{first + parts - 1}" if parts > 1 else f" hunk {first}"
        name = f"{file['from']} -> {file['path']}" if file.get("from") else file["path"]
        shown = "" if d["transaction"] else chosen
        out.append(f"{file['action']} {name} +{file['added']} -{file['removed']}{shown} sha256 {file['sha_after']}")
        first += parts
    out.extend(f"warning: {w}" for w in d["warnings"])
    out.append(cut("".join(f["diff"] for f in d["files"]), _MAX_DIFF_CHARS))
    return "\n".join(out)


def _span(place: Data) -> str:
    start, end = place["start"], place["end"]
    return f"lines {start}-{end}" if end > start else f"line {start}"


def _failed_edits(d: Data) -> str:
    head, *warnings = d["warnings"] or ["NOTHING was applied. Correct what is reported and send all edits again."]
    out = [head]
    failed = [e for e in d["edits"] if e.get("error") is not None]
    for e in failed[:_MAX_EDITS]:
        error = e["error"]
        where = f"edit {e['index'] + 1} `{shortened(e['path'], _MAX_PATH_CHARS)}`: " if e["path"] else ""
        out.append(f"{where}{error['kind']}: {shortened(error['message'])}")
        if error["candidates"]:
            out.append(f"  matches at lines {', '.join(map(str, error['candidates']))}")
        if difference := error.get("first_difference"):
            out.append(f"  line {difference['line']}: sent {difference['expected']}, found {difference['found']}")
        if closest := error.get("closest"):
            out.append(f"  closest place, {_span(closest)}:\n{closest['text']}")
        if error["hint"]:
            out.append(f"  {shortened(error['hint'])}")
    if len(failed) > _MAX_EDITS:
        out.append(f"... and {counted(len(failed) - _MAX_EDITS, 'more edit')} that cannot be applied")
    if (total := count(d, "edits")) > len(d["edits"]):
        out.append(f"... the other {total - len(d['edits'])} edits are not looked at here")
    out.extend(f"warning: {w}" for w in warnings)
    return "\n".join(out)


def _tests(d: Data) -> str:
    if d["status"] == "running":
        return f"running as {d['job_id']}: {d.get('progress', '')}\njob_status({d['job_id']}) tells the result"
    counts = d["counts"]
    shown = outcomes_counted(counts, ("passed", "failed", "errors", "skipped", "xfailed", "xpassed"))
    out = [f"{d['status']}: {shown or 'no tests ran'} in {d['duration_s']:.2f} s"]
    if d.get("message"):
        out.append(d["message"])
    out.append(_since(d.get("since_last", {})))
    out.append(_failures(d["failures"], d["groups"]))
    out.extend(f"note: {n}" for n in d["notes"])
    out.append(_how(d))
    return "\n".join(line for line in out if line)


def _how(d: Data) -> str:
    """With what the tests were run. Nothing is said of a sandbox where nothing was run."""
    ran = [f"sandbox {d['sandbox']}", f"network {d.get('network', 'open')}"] if d["sandbox"] else []
    log = [f"log {d['log']}"] if d["log"] else []
    return ", ".join([d["runner"], d["interpreter"] or "no interpreter", *ran, *log])


def _since(changed: Data) -> str:
    """What is different from the last run of the same tests, ids named where there are few."""
    parts: list[str] = []
    for kind in ("new", "fixed", "still", "vanished"):
        ids = changed.get(kind, [])
        named = f" ({', '.join(ids)})" if ids and len(ids) <= _MAX_NAMED and kind != "still" else ""
        if ids:
            parts.append(f"{len(ids)} {'failing newly' if kind == 'new' else _SINCE[kind]}{named}")
    return f"since the last run: {', '.join(parts)}" if parts else ""


_SINCE = {"fixed": "fixed", "still": "still failing", "vanished": "no longer there"}


def _failures(failures: list[Data], groups: list[Data]) -> str:
    by_id = {f["id"]: f for f in failures}
    out: list[str] = []
    size = left = 0
    for ids, more in [(g["ids"], g.get("more", 0)) for g in groups] or [([f["id"]], 0) for f in failures]:
        first = by_id.get(ids[0])
        if first is None:
            continue
        text = f"--- {first['id']} ({first['file']}:{first['line']}) {first['kind']}\n{first['excerpt'].rstrip()}"
        if first.get("note"):
            text += f"\n    {first['note']}"
        if len(ids) > 1:
            total = len(ids) + more
            text += f"\n    same cause: {', '.join(ids[1:6])}" + (f" and {total - 6} more" if total > 6 else "")
        if size and size + len(text) > _MAX_FAILURES_CHARS:
            left += len(ids) + more
            continue
        size += len(text)
        out.append(text)
    if left:
        out.append(f"... {counted(left, 'more failure')} left out; select them, or read the log")
    return "\n".join(out)


def _fix(d: Data) -> str:
    out: list[str] = []
    if attempt := d.get("attempt"):
        out.append(_attempt(attempt))
    if outcome := d.get("outcome"):
        out.append(_outcome(outcome, d))
    elif d["state"] == "waiting_for_edits":
        out.append(_brief(d["brief"], d["job_id"]))
    elif d["state"] == "interrupted":
        out.append(f"{d['job_id']} is {d['progress']}")
    else:
        out.append(f"running as {d['job_id']}: {d.get('progress', '')}\njob_status({d['job_id']}) tells how it goes")
    return "\n".join(out)


def _attempt(a: Data) -> str:
    said = shortened(a["message"])
    out = [f"attempt {a['number']}: {said or a['state']}"]
    if a["state"] in ("refused", "repeated"):
        out = [f"attempt {a['number']} {a['state']} ({a['refusal']}): {said}"]
        if any("error" in e for e in a["edits"]):
            out.append(_failed_edits({"edits": a["edits"], "warnings": []}))
    for name in ("fixed", "broken", "further", "still"):
        if a.get(name):
            out.append(f"  {name}: {', '.join(a[name][:8])}" + (" ..." if len(a[name]) > 8 else ""))
    out.extend(f"  warning: {w}" for w in a.get("warnings", []))
    out.append("  kept: the next edits start from here" if a["kept"] else "  rolled back")
    return "\n".join(out)


def _brief(b: Data, job_id: str) -> str:
    out = [f"{job_id} waits for edits (submit_fix), {counted(b['attempts_left'], 'attempt')} left", b["task"]]
    more = b.get("failing_total", 0) - len(b["failing"][:20])
    out.append(f"failing: {', '.join(b['failing'][:20])}" + (f" and {more} more" if more > 0 else ""))
    out.append(_failures(b["failures"], []))
    if b["suspicious"]:
        out.append("suspicious lines:")
        out.extend(f"  {s['path']}:{s['line']} ({s['score']:.2f}) {s['text'].strip()}" for s in b["suspicious"])
    if b["signatures"]:
        out.append("signatures:\n  " + "\n  ".join(b["signatures"]))
    out.extend(f"tried {t['number']} ({t['state']}): {t['result']}\n{t['diff']}" for t in b["tried"][-3:])
    if b.get("advice"):
        out.append(b["advice"])
    return "\n".join(out)


def _outcome(o: Data, d: Data) -> str:
    said = f": {counted(count(d, 'outcome.fixed_tests'), 'test')} fixed" if o["fixed"] else ""
    hint = o["hint"]
    if o["reason"] == "environment":  # the hint is the cause
        cause, _, hint = hint.partition("\n")
        said = f": {cause}" if cause else ""
    out = [f"{o['reason']}{said} ({d['job_id']})"]
    if o["fixed"]:
        e = o["evidence"]
        out.append(f"verified cold, goal tests {e['goal_runs']}, {e['counts']['passed']} pass; plausible, not proven")
    if o["kept"]:
        out.append(f"kept: {', '.join(_some(o['kept_files'], _MAX_FILES))} (restore({d['job_id']}) undoes it)")
        out.append(cut(o["diff"], _MAX_DIFF_CHARS))
    elif o["restored"]:
        out.append("everything is as it was before the run")
    out.extend(_conflicts(o["conflicts"]))
    out.extend(_some([f"merged: {p}: your edits stay, the run's are out" for p in o.get("merged", [])], _MAX_FILES))
    if o.get("old_bytes"):
        out.append(f"the old bytes of what was not put back: restore({o['old_bytes']})")
    if o["evidence"]["flaky"]:
        out.append(f"flaky: {', '.join(o['evidence']['flaky'][:8])}")
    out.extend(f"gate {g['name']}: {g['message']}" for g in o["evidence"].get("gates", []))
    out.extend(f"warning: {w}" for w in o["evidence"].get("warnings", []))
    out.extend(f"note: {r}" for r in o["evidence"].get("remarks", []))
    if hint:
        out.append(hint)
    return "\n".join(out)


def _status(d: Data) -> str:
    text = _tests(d) if "counts" in d else task_text.task(d) if "usage" in d else _fix(d)
    return text + (f"\n--- log\n{d['log_text']}" if d.get("log_text") else "")


def _cancel(d: Data) -> str:
    restored = "; everything is as it was before" if d["restored"] else ""
    return f"{d['job_id']}: {d['state']}{restored}"


def _changes(d: Data) -> str:
    if not d["files"] and not d["diff"]:
        return f"no changes since {d['since']}"
    lines = _some([f"{f['action']} {f['path']} +{f['added']} -{f['removed']}" for f in d["files"]], _MAX_FILES)
    return "\n".join([f"{counted(count(d, 'files'), 'file')} changed since {d['since']}", *lines, d["diff"]])


def _restored(d: Data) -> str:
    verb = "would be " if d["dry_run"] else ""
    if not any(d.get(name) for name in ("restored", "deleted", "merged", "conflicts", "transaction")):
        return "nothing had to be changed: no file is other than before these changes"
    out = [f"{counted(count(d, 'restored'), 'file')} {verb}restored, {count(d, 'deleted')} {verb}deleted"]
    out.extend(_some([f"  {p}" for p in d["restored"]], _MAX_FILES))
    out.extend(_some([f"  {p} (deleted)" for p in d["deleted"]], _MAX_FILES))
    merged = [f"  {p} ({verb}merged: what was changed there since stays)" for p in d.get("merged", [])]
    out.extend(_some(merged, _MAX_FILES))
    out.extend(_conflicts(d["conflicts"]))
    if d["transaction"]:
        out.append(f"transaction {d['transaction']} (restore undoes this restore)")
    return "\n".join(out)


def _conflicts(conflicts: list[Data]) -> list[str]:
    return _some([f"conflict: {c['path']}: {c['reason']}" for c in conflicts], _MAX_CONFLICTS, "conflicts")


def _some(items: list[str], most: int, what: str = "") -> list[str]:
    """The first of them, and how many more there are."""
    left = len(items) - most
    return items if left <= 0 else [*items[:most], f"and {left} more {what}".rstrip()]


_SAY: dict[str, Callable[[Data], str]] = {
    "repo_skeleton": reading_text.skeleton, "extract_signatures": reading_text.signatures,
    "repo_map": reading_text.ranked_map, "find_symbol": reading_text.symbols, "search_text": reading_text.matches,
    "read_file": reading_text.file_text, "apply_edits": _edits, "run_tests": _tests, "fix_tests": _fix,
    "submit_fix": _fix, "job_status": _status, "job_cancel": _cancel,
    "coding_task": task_text.task, "show_changes": _changes, "restore": _restored,
}  # fmt: skip
