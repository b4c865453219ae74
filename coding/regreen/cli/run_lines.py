"""How a person sees recorded runs: pure functions from the data of `regreen runs` to lines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, cast

from regreen.cli import end_lines
from regreen.cli.fix_lines import attempt_lines, attempt_verdict, ended
from regreen.cli.lines import Line, Style, count, diff, split
from regreen.cli.wording import worded
from regreen.wire import Json, shortened

_SHOWN_SELECTION = 3
_SHOWN_IDS = 10
_SHOWN_TASK = 80
_SHOWN_DIFF_LINES = 60
_LIMITS = {
    "max_attempts": "attempts", "budget_s": "s", "budget_cpu_s": "s of processor time", "budget_tokens": "tokens",
    "budget_usd": "USD", "max_turns": "turns",
}  # fmt: skip
_STATES = {"waiting_for_edits": "waits for edits", "running": "running", "interrupted": "interrupted"}
_GOOD = ("fixed", "already_green", "completed")

Data = Mapping[str, Any]


def listing(data: Mapping[str, Json], *, everywhere: bool) -> Iterator[Line]:
    """A line a run."""
    runs = cast("list[Data]", data["runs"])
    if not runs:
        yield Line("no runs are recorded" if everywhere else "no runs are recorded here; --all lists those elsewhere")
        return
    for run in runs:
        where = f"  {run['repo']}" if everywhere else ""
        yield Line(f"{run['id']}  {_when(run['created'])}  {_end(run)}{where}", _style(run))
    again = "" if all(run.get("kind") == "task" for run in runs) else "; resume and replay take the id of a fix run"
    yield Line(f"`regreen runs show RUN` tells more{again}", "dim")


def shown(data: Mapping[str, Json]) -> Iterator[Line]:
    """One run: what it was asked, each attempt, the end, and where the rest is."""
    run = cast("Data", data)
    yield Line(f"{run['id']}  {_when(run['created'])}  {run['repo']}", "strong")
    yield Line(f"asked: {', '.join(_asked(run['request']))}")
    for attempt in run["attempts"]:
        yield from _attempt(attempt)
    yield Line("")
    if run.get("outcome") and run.get("kind") == "task":
        yield from end_lines.ended({**run, "job_id": run["id"]})
    elif run.get("outcome"):
        yield from ended(_end_of(run))
    elif run["state"] == "interrupted":
        yield Line(
            "interrupted: its process died; what it changed is put back when the repository is used next", "warn"
        )
    elif run["state"] in _STATES:
        yield Line(_STATES[run["state"]])
    if error := run.get("error"):
        yield Line(f"error: {worded(error['message'])}", "bad")
    for name in run["resumed_by"]:
        yield Line(f"resumed by {name}", "dim")
    if run["events"]:
        yield Line(f"diary: {run['events']}", "dim")
    if logs := run["logs"]:
        which = f"the last of {len(logs)} test runs" if len(logs) > 1 else "its test run"
        yield Line(f"output of {which}: {logs[-1]}", "dim")


def _end_of(run: Data) -> Data:
    """The end of a run, without the diff that its one kept attempt has shown."""
    kept = [a.get("diff", "") for a in run["attempts"] if a.get("kept")]
    outcome = {**run["outcome"], "diff": ""} if kept == [run["outcome"].get("diff")] else run["outcome"]
    return {"outcome": outcome, "attempts": run["attempts"], "told": True, "standing": run.get("standing"),
            "job_id": run["id"], "asked": run.get("asked", {})}  # fmt: skip


def replayed(data: Mapping[str, Json]) -> Iterator[Line]:
    """What a replay came to."""
    again = cast("Data", data)
    for attempt in again["attempts"]:
        yield Line(attempt_verdict(attempt))
    for difference in again["differences"]:
        yield Line(f"different: {difference}", "bad")
    for note in again["notes"]:
        yield Line(f"note: {note}", "warn")
    attempts = count(again["replayed"], "attempt")
    end = again["outcome"].get("reason", "no outcome")
    verdict = "came out as recorded" if again["same"] else "did not come out as recorded"
    yield Line(f"{again['run']} replayed, {attempts}, {end}: {verdict}", "good" if again["same"] else "bad")
    if again["kept"]:
        yield Line(f"kept in {again['kept']}; the tree is in {again['kept']}/copy", "dim")


def _attempt(attempt: Data) -> Iterator[Line]:
    yield Line("")
    kept = " (kept)" if attempt.get("kept") else ""
    verdict, *rest = attempt_lines(attempt)
    yield Line(f"{verdict.text}{kept}", "good" if attempt.get("kept") else "")
    yield from rest
    for name in ("fixed", "broken"):
        if ids := attempt.get(name):
            more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
            yield Line(f"  {name}: {', '.join(ids[:_SHOWN_IDS])}{more}")
    if handed_in := attempt.get("handed_in", ""):
        yield Line("  what was handed in:")
    lines = list(split(handed_in.rstrip("\n"), "dim", "  ") if handed_in else diff(attempt.get("diff", "")))
    yield from lines[:_SHOWN_DIFF_LINES]
    if len(lines) > _SHOWN_DIFF_LINES:
        yield from split(f"... {count(len(lines) - _SHOWN_DIFF_LINES, 'more line')}; --json has them", "dim")


def _asked(request: Data) -> Iterator[str]:
    if task := request.get("task"):
        yield f"`{shortened(task, _SHOWN_TASK)}`"
        yield from dict.fromkeys(str(v) for v in (request.get("provider"), request.get("model")) if v)
    if not task or request.get("selection"):
        yield from _asked_tests(request)
    yield from (f"at most {value:g} {said}" for name, said in _LIMITS.items() if (value := request.get(name)))
    if resumes := request.get("resumes"):
        yield f"going on from {resumes}"


def _asked_tests(request: Data) -> Iterator[str]:
    yield f"tests {_selection(selection)}" if (selection := request.get("selection", [])) else "all tests"
    if proposer := request.get("proposer"):
        yield f"proposer {proposer}"
    if paths := request.get("paths"):
        yield f"paths {_selection(paths)}"


def _selection(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN_SELECTION} more" if len(names) > _SHOWN_SELECTION else ""
    return (" ".join(names[:_SHOWN_SELECTION]) or "all tests") + more


def _end(run: Data) -> str:
    if run.get("task"):
        tried = f"task `{shortened(run['task'].partition(chr(10))[0], _SHOWN_TASK)}`"
    else:
        tried = f"{count(run['tried'], 'attempt')}, {_selection(run['selection'])}"
    state = run["reason"] if run["state"] == "done" else _STATES.get(run["state"], run["state"])
    return f"{state}, {tried}"


def _style(run: Data) -> Style:
    if run["state"] != "done":
        return "warn"
    return "good" if run["reason"] in _GOOD else ""


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
