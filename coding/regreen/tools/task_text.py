"""What is said of a coding task: how it goes, or how it ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from regreen.tools.diff_text import cut
from regreen.wire import counted, names, shortened

Data: TypeAlias = Mapping[str, Any]

_MAX_ANSWER_CHARS = 6_000
_MAX_DIFF_CHARS = 12_000
_MAX_NAMED = 20


def task(d: Data) -> str:
    """The verdict first, then what the model said, then what changed."""
    if "outcome" not in d:
        return f"running as {d['job_id']}: {d.get('progress', '')}\njob_status({d['job_id']}) tells how it goes"
    o = d["outcome"]
    out = [_verdict(o, d["job_id"])]
    if (tests := o.get("tests")) and tests["status"] != "not_run":
        out.append(_tests(tests))
    if o.get("why"):
        out.append(f"why: {shortened(o['why'])}")
    if o.get("question"):
        out.append(f"question: {shortened(o['question'])}")
    if o.get("answer"):
        out.append(shortened(o["answer"], _MAX_ANSWER_CHARS))
    out.extend(f"conflict: {c['path']}: {c['reason']}" for c in o.get("conflicts", [])[:_MAX_NAMED])
    if d.get("diff"):
        head = "changed" if o.get("kept") else "taken back"
        out.append(f"{head}: {names(o['kept_files'], _MAX_NAMED)}" if o.get("kept_files") else f"{head}:")
        out.append(cut(d["diff"], _MAX_DIFF_CHARS))
    out.extend(f"gate {g['name']}: {g['message']}" for g in o.get("evidence", {}).get("gates", []))
    out.append(usage_line(d.get("usage", {}), o.get("turns", 0)))
    if o.get("hint"):
        out.append(o["hint"])
    return "\n".join(line for line in out if line)


def _verdict(o: Data, job_id: str) -> str:
    tests: Data = o.get("tests") or {}
    if o.get("verified"):
        said = f"verified: the named tests pass cold, {o['evidence']['goal_runs']}"
    elif tests.get("status") == "not_run":
        said = "not verified: the named tests were not run"
    elif tests:
        said = "not verified: the named tests do not pass"
    else:
        said = "not verified: no tests were named"
    left = "" if o.get("kept") else "; everything is as it was before" if o.get("restored") else ""
    return f"{o['reason']} ({job_id}), {said}{left}"


def _tests(tests: Data) -> str:
    counts = tests["counts"]
    failed = counts["failed"] + counts["errors"]
    said = f"tests: {tests['status']}, {counts['passed']} passed, {failed} failed"
    if tests["failing"]:
        said += f": {names(tests['failing'], 5)}"
    return f"{said}; {tests['doubt']}" if tests.get("doubt") else said


def usage_line(usage: Data, turns: int) -> str:
    """What the models have used, in a line; "" where nothing was."""
    if not usage.get("calls"):
        return ""
    usd = f"${usage['usd']:.4f}" + (" or more: a price is not known" if usage.get("unpriced") else "")
    counts = ", ".join(counted(n, noun) for n, noun in ((turns, "turn"), (usage["calls"], "model call")))
    return f"{counts}, {usage['tokens']} tokens, {usd}"
