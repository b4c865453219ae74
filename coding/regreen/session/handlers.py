"""What each tool does with its checked arguments: one function a tool, from the session's values to JSON data."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from regreen.agent.offers import NOTHING, Offers
from regreen.errors import Busy, UsageError
from regreen.jobs import STOP_S, Job
from regreen.model import FileText, Proposal, Replacement
from regreen.sandbox import Cancel
from regreen.session.repository import Session
from regreen.session.understanding import FIRST_ANSWER_S
from regreen.wire import Json, to_json, to_object
from regreen.workspace.paths import check_size

if TYPE_CHECKING:
    from regreen.session.engine import Engine

OnProgress: TypeAlias = Callable[[str], None]

_WAIT_S = 30.0
_LOOK_S = 0.5  # how often a job of another process is looked at
_LOG_PAGE = 16_000
_LOG_AROUND = 16_000  # before and behind a page: a secret may begin in one and end in the next
_READ_CHARS = 60_000  # of a file in one answer
_MAP_TOKENS = 4000
_FOUND = 50


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call: whose engine, which repository, with what, who wants to hear of it or may cancel it, and what the
    caller offers besides."""

    engine: Engine
    session: Session
    args: dict[str, Any]
    on_progress: OnProgress | None
    cancel: Cancel | None
    offers: Offers = NOTHING
    caller_present: bool = True  # can whoever calls call again, and submit fixes?


def _skeleton(call: Call) -> dict[str, Json]:
    return to_object(call.session.skeleton(call.args.pop("path", ""), **call.args))


def _signatures(call: Call) -> dict[str, Json]:
    return to_object(call.session.signatures(call.args.pop("paths"), **call.args))


def _map(call: Call) -> dict[str, Json]:
    a = call.args
    return to_object(call.session.repo_map(
        a.get("focus", []), max_tokens=a.get("max_tokens", _MAP_TOKENS), tests=a.get("tests", False),
        wait_s=_index_wait_s(call), on_progress=call.on_progress, cancel=call.cancel,
    ))  # fmt: skip


def _symbol(call: Call) -> dict[str, Json]:
    a = call.args
    return to_object(call.session.find_symbol(
        a["name"], kind=a.get("kind", ""), references=a.get("references", False), limit=a.get("limit", _FOUND),
        wait_s=_index_wait_s(call), on_progress=call.on_progress, cancel=call.cancel,
    ))  # fmt: skip


def _index_wait_s(call: Call) -> float | None:
    """How long an index is waited for: a caller who stays can ask again, anybody else needs all of it now."""
    return FIRST_ANSWER_S if call.caller_present else None


def _search(call: Call) -> dict[str, Json]:
    return to_object(call.session.search(call.args.pop("pattern"), **call.args, cancel=call.cancel))


def _read(call: Call) -> dict[str, Json]:
    text = call.session.read(call.args.pop("path"), **call.args)
    return to_object(_page_of(text) if call.caller_present else text)


def _page_of(text: FileText) -> FileText:
    """As many whole lines as a model should be given at once; a line that is longer than that by itself is cut."""
    if len(text.text) <= _READ_CHARS:
        return text
    shown = text.text[: text.text.rfind("\n", 0, _READ_CHARS) + 1]
    if not shown:
        first = text.text.partition("\n")[0]
        shown = f"{first[:_READ_CHARS]}… {len(first) - _READ_CHARS} characters more\n"
    return replace(text, text=shown, end_line=text.start_line + shown.count("\n") - 1)


def _edit(call: Call) -> dict[str, Json]:
    a = call.args
    report = call.session.apply_edits(
        proposal_of_arguments(a),
        dry_run=a.get("dry_run", False),
        commit=a.get("commit", ""),
        hunks=a.get("hunks", ()),
        expected_sha256=a.get("expected_sha256"),
    )
    return to_object(report)


def _tests(call: Call) -> dict[str, Json]:
    from regreen.session.running import start_tests

    a = call.args
    job, report = start_tests(
        call.session,
        a.get("selection", []),
        argv=a.get("argv", []),
        timeout_s=a.get("timeout_s", 0.0),
        last_failed=a.get("last_failed", False),
        runner=a.get("runner", "auto"),
        warm=a.get("warm", False),
    )
    _wait(job, call, stop_on_cancel=True)
    if job.error is not None:
        raise job.error
    done = report()
    if done is None:
        return {"job_id": job.id, "state": "running", "status": "running", "progress": job.progress}
    return {"job_id": job.id, "state": "done", **to_object(done)}


def _fix(call: Call) -> dict[str, Json]:
    from regreen.session.fixing import FixOptions

    a = call.args
    options = FixOptions(
        selection=tuple(a.get("selection", [])),
        proposer=a.get("proposer", "auto"),
        paths=tuple(a.get("paths", [])),
        tests=a.get("tests", "readonly"),
        max_attempts=a.get("max_attempts", 0),
        budget_s=a.get("budget_s", 0.0),
        keep_partial=a.get("keep_partial", False),
        caller_present=call.caller_present,
        sampling=call.offers.sampling,
    )
    fix_job = call.engine.fix(call.session, options)
    _wait(fix_job.job, call, stop_on_cancel=True)
    return fix_job.job.data()


def _task(call: Call) -> dict[str, Json]:
    from regreen.session.tasks import TaskOptions

    a = call.args
    options = TaskOptions(
        a["task"],
        tuple(a.get("selection", [])),
        budget_s=a.get("budget_s", 0.0),
        budget_tokens=a.get("budget_tokens", 0),
        budget_usd=a.get("budget_usd", 0.0),
        max_turns=a.get("max_turns", 0),
    )
    job = call.engine.task(call.session, options, ask=call.offers.ask_user).job
    _wait(job, call, stop_on_cancel=True)
    return job.data()


def _submit(call: Call) -> dict[str, Json]:
    job_id = call.args["job_id"]
    fix_job = call.engine.fix_job(job_id)
    if fix_job is None:
        if _recorded(call, job_id)["state"] == "running":
            raise Busy(
                f"{job_id} runs in another process, which alone takes its fixes", "send them where it was started"
            )
        raise UsageError("invalid_arguments", f"{job_id} takes no fixes (any more)", "start fix_tests again")
    reason = call.args.get("needs_test_change", "")
    proposal = (
        Proposal(note=call.args.get("note", ""), needs_test_change=reason)
        if reason
        else proposal_of_arguments(call.args)
    )
    number = fix_job.submit(proposal)
    _wait(fix_job.job, call, stop_on_cancel=True)
    attempt = fix_job.attempt(number)
    judged: dict[str, Json] = {"attempt": to_json(attempt)} if attempt is not None else {}
    return {**fix_job.job.data(), **judged}


def _status(call: Call) -> dict[str, Json]:
    job_id = call.args["job_id"]
    job = call.engine.jobs.live(job_id)
    if job is None:
        data = _awaited(call, job_id)
    else:
        _wait(job, call, stop_on_cancel=False)
        data = job.data()
    if "log_offset" in call.args:
        data |= _log_page(call, data, job_id, call.args["log_offset"])
    return data


def _cancel(call: Call) -> dict[str, Json]:
    job_id = call.args["job_id"]
    job = call.engine.jobs.live(job_id)
    if job is None:
        _recorded(call, job_id)
        data = call.engine.jobs.cancel_recorded(job_id)
    else:
        job.stop(STOP_S)
        data = job.data()
    outcome = data.get("outcome")
    restored = isinstance(outcome, dict) and outcome.get("restored") is True
    kept: dict[str, Json] = {"outcome": outcome} if outcome is not None else {}
    return {"job_id": job_id, "state": data["state"], "restored": restored, **kept}


def _awaited(call: Call, job_id: str) -> dict[str, Json]:
    """A job of another process, waited for as one of ours would be."""
    end = time.monotonic() + call.args.get("wait_s", _WAIT_S)
    cancel = call.cancel or Cancel()
    while (data := _recorded(call, job_id))["state"] == "running" and time.monotonic() < end:
        if call.on_progress is not None:
            call.on_progress(str(data["progress"]))
        if cancel.wait(min(_LOOK_S, max(0.0, end - time.monotonic()))):
            break
    return data


def _recorded(call: Call, job_id: str) -> dict[str, Json]:
    """A job of another process. If that has died, what the job changed is put back first, as far as it is ours to."""
    data = call.engine.jobs.recorded(job_id)
    if data["state"] != "interrupted":
        return data
    call.engine.recovered |= call.session.recover()
    return call.engine.jobs.recorded(job_id)


def _changes(call: Call) -> dict[str, Json]:
    return to_object(call.session.changes(call.args.get("since") or "HEAD"))


def _restore(call: Call) -> dict[str, Json]:
    return to_object(call.session.restore(call.args["to"], dry_run=call.args.get("dry_run", False)))


def _wait(job: Job, call: Call, *, stop_on_cancel: bool) -> None:
    """Wait as long as the call allows; cancelling a call that set the job to work ends the job."""
    job.wait(call.args.get("wait_s", _WAIT_S), on_progress=call.on_progress, cancel=call.cancel)
    if stop_on_cancel and call.cancel is not None and call.cancel.is_set():
        job.stop(STOP_S)


def _log_page(call: Call, data: Mapping[str, Json], job_id: str, offset: int) -> dict[str, Json]:
    """A page of the newest output of a job's tests, from `offset` (bytes)."""
    named = data.get("log")
    folder = call.engine.store.run_folder(job_id)
    logs = [Path(str(named))] if named else sorted(folder.glob("*.log"), key=lambda p: p.stat().st_mtime_ns)[-1:]
    if not logs or not logs[0].is_file():
        return {"log_text": "", "log_next": offset}
    start = max(0, offset - _LOG_AROUND)
    with logs[0].open("rb") as f:
        f.seek(start)
        window = f.read(offset - start + _LOG_PAGE + _LOG_AROUND)
    page = window[offset - start :][:_LOG_PAGE]
    text = _masked_page(window, offset - start, page, call.session.redact)
    return {"log_text": text, "log_next": offset + len(page)}


def _masked_page(window: bytes, at: int, page: bytes, redact: Callable[[str], str]) -> str:
    """The page that begins at `at`, masked with what stands around it. Where anything is, in whole lines: masks are of
    another length than what they hide, so the line that a page begins or ends in is in both."""
    whole = window.decode("utf-8", "replace")
    masked = redact(whole)
    if masked == whole or not page:
        return page.decode("utf-8", "replace")
    first = window.count(b"\n", 0, at)
    return "\n".join(masked.split("\n")[first : first + page.count(b"\n") + 1])


def proposal_of_arguments(args: Mapping[str, Any]) -> Proposal:
    """The edits of a call: `text` or `replacements`, one of the two. Raises UsageError."""
    replacements = tuple(Replacement(**r) for r in args.get("replacements", []))
    if bool(args.get("text")) == bool(replacements) and not args.get("commit"):
        raise UsageError(
            "invalid_arguments",
            "give edits as `text` or as `replacements`, one of the two",
            'for example replacements=[{"path": "a.py", "search": "old line", "replace": "new line"}]',
        )
    for replacement in replacements:
        check_size(replacement.path)
    return Proposal(args.get("text", ""), replacements, args.get("format", "auto"), args.get("note", ""))


HANDLERS: Mapping[str, Callable[[Call], dict[str, Json]]] = {
    "repo_skeleton": _skeleton,
    "extract_signatures": _signatures,
    "repo_map": _map,
    "find_symbol": _symbol,
    "search_text": _search,
    "read_file": _read,
    "apply_edits": _edit,
    "run_tests": _tests,
    "fix_tests": _fix,
    "submit_fix": _submit,
    "job_status": _status,
    "job_cancel": _cancel,
    "coding_task": _task,
    "show_changes": _changes,
    "restore": _restore,
}
