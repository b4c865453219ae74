"""What each tool does with its checked arguments: one function a tool, from the session's values to JSON data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from regreen.agent.offers import NOTHING, Offers
from regreen.errors import UsageError
from regreen.jobs import STOP_S, Job
from regreen.model import FileText, Proposal, Replacement
from regreen.sandbox import Cancel
from regreen.session import elsewhere
from regreen.session.asking import Declined, denied_run
from regreen.session.repository import Session
from regreen.session.run_log import log_page
from regreen.session.understanding import FIRST_ANSWER_S
from regreen.tools.paging import MAIN, MAIN_CHARS, MOST_FOUND, Cursor, json_chars
from regreen.wire import Json, shortened, to_json, to_object
from regreen.workspace.paths import check_size

if TYPE_CHECKING:
    from regreen.session.engine import Engine

OnProgress: TypeAlias = Callable[[str], None]

_WAIT_S = 30.0
_LOG_PAGE = 16_000
_READ_CHARS = 60_000  # of a file in one answer
_LONGEST_PLACE = 24
_TOLD_TWICE = 4_000  # characters of a diff, as a whole and file by file; a longer one only as a whole
_TOKENS, _LEAST_TOKENS = 4000, 100
_FOUND = 50
_FOUND_LINES = 100


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
    cursor: Cursor = field(default_factory=dict[str, int])  # where the page of the result begins that is wanted


def _skeleton(call: Call) -> dict[str, Json]:
    path = call.args.pop("path", "")
    return _fitting(call, "repo_skeleton", lambda tokens: call.session.skeleton(path, max_tokens=tokens, **call.args))


def _signatures(call: Call) -> dict[str, Json]:
    paths = call.args.pop("paths")
    return _fitting(
        call, "extract_signatures", lambda tokens: call.session.signatures(paths, max_tokens=tokens, **call.args)
    )


def _map(call: Call) -> dict[str, Json]:
    focus, tests = call.args.get("focus", []), call.args.get("tests", False)
    return _fitting(call, "repo_map", lambda tokens: call.session.repo_map(
        focus, max_tokens=tokens, tests=tests, wait_s=_index_wait_s(call), on_progress=call.on_progress,
        cancel=call.cancel,
    ))  # fmt: skip


def _fitting(call: Call, tool: str, make: Callable[[int], object]) -> dict[str, Json]:
    """What `make` gives for so many tokens, or for fewer, so that its main field fits a page: what a tool itself leaves
    out it reaches by its cursor, and what was cut from its answer later nobody would."""
    tokens = call.args.pop("max_tokens", _TOKENS)
    while True:
        data = to_object(make(tokens))
        size = json_chars(data[MAIN[tool]])
        if size <= MAIN_CHARS or tokens <= _LEAST_TOKENS or not call.caller_present:
            return data
        tokens = max(_LEAST_TOKENS, tokens * MAIN_CHARS * 9 // (size * 10))


def _symbol(call: Call) -> dict[str, Json]:
    a = call.args
    return to_object(call.session.find_symbol(
        a["name"], kind=a.get("kind", ""), references=a.get("references", False),
        limit=min(a.get("limit", _FOUND) + max(call.cursor.values(), default=0), MOST_FOUND),
        wait_s=_index_wait_s(call), on_progress=call.on_progress, cancel=call.cancel,
    ))  # fmt: skip


def _index_wait_s(call: Call) -> float | None:
    """How long an index is waited for: a caller who stays can ask again, anybody else needs all of it now."""
    return FIRST_ANSWER_S if call.caller_present else None


def _search(call: Call) -> dict[str, Json]:
    limit = min(call.args.pop("limit", _FOUND_LINES) + call.cursor.get("matches", 0), MOST_FOUND)
    return to_object(call.session.search(call.args.pop("pattern"), **call.args, limit=limit, cancel=call.cancel))


def _read(call: Call) -> dict[str, Json]:
    a = call.args
    chars, (line, column) = a.pop("max_chars", _READ_CHARS), _place(a.pop("cursor", ""))
    text = call.session.read(a.pop("path"), **(a | {"start_line": line} if line else a))
    return to_object(_page_of(text, chars, column) if call.caller_present else text)


def _place(cursor: str) -> tuple[int, int]:
    """The line and the characters in it that a cursor of `read_file` names; (0, 0) for none. Raises UsageError."""
    line, _, column = cursor.partition(":")
    if not cursor:
        return 0, 0
    if not (line + column).isascii() or not line.isdigit() or not column.isdigit() or len(cursor) > _LONGEST_PLACE:
        raise UsageError("invalid_arguments", f"no result has told the cursor {shortened(cursor, 80)!r}",
                         "give that of the result before as it stands, or none")  # fmt: skip
    return int(line), int(column)


def _page_of(text: FileText, chars: int, column: int = 0) -> FileText:
    """As many whole lines as a model should be given at once, the first from `column` on; a line that is longer than
    that by itself is cut, and `cursor` says where it goes on."""
    rest = text.text[column:]
    if len(rest) <= chars:
        return replace(text, text=rest) if column else text
    shown = rest[: rest.rfind("\n", 0, chars) + 1]
    if shown:
        end_line = text.start_line + shown.count("\n") - 1
        return replace(text, text=shown, end_line=end_line, cursor=f"{end_line + 1}:0")
    first = rest.partition("\n")[0]
    shown = f"{first[:chars]}… {len(first) - chars} characters more\n"
    return replace(text, text=shown, end_line=text.start_line, cursor=f"{text.start_line}:{column + chars}")


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
    try:
        job, report = start_tests(
            call.session,
            a.get("selection", []),
            argv=a.get("argv", []),
            timeout_s=a.get("timeout_s", 0.0),
            last_failed=a.get("last_failed", False),
            runner=a.get("runner", "auto"),
            warm=a.get("warm", False),
        )
    except Declined as e:
        return {"state": "done", **to_object(denied_run(e))}
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
    offers = call.offers
    job = call.engine.task(call.session, options, ask=offers.ask_user, approve=offers.approve_in_jobs).job
    _wait(job, call, stop_on_cancel=True)
    return job.data()


def _submit(call: Call) -> dict[str, Json]:
    job_id = call.args["job_id"]
    fix_job = call.engine.fix_job(job_id)
    reason = call.args.get("needs_test_change", "")
    proposal = (
        Proposal(note=call.args.get("note", ""), needs_test_change=reason)
        if reason
        else proposal_of_arguments(call.args)
    )
    if fix_job is None:
        return elsewhere.submit(call, job_id, proposal, call.args.get("wait_s", _WAIT_S))
    number = fix_job.submit(proposal)
    _wait(fix_job.job, call, stop_on_cancel=True)
    attempt = fix_job.attempt(number)
    judged: dict[str, Json] = {"attempt": to_json(attempt)} if attempt is not None else {}
    return {**fix_job.job.data(), **judged}


def _status(call: Call) -> dict[str, Json]:
    job_id = call.args["job_id"]
    job = call.engine.jobs.live(job_id)
    if job is None:
        data = elsewhere.awaited(call, job_id, call.args.get("wait_s", _WAIT_S))
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
        data = elsewhere.cancelled(call, job_id)
    else:
        job.stop(STOP_S)
        data = job.data()
    outcome = data.get("outcome")
    restored = isinstance(outcome, dict) and outcome.get("restored") is True
    kept: dict[str, Json] = {"outcome": outcome} if outcome is not None else {}
    return {"job_id": job_id, "state": data["state"], "restored": restored, **kept}


def _changes(call: Call) -> dict[str, Json]:
    data = to_object(call.session.changes(call.args.get("since") or "HEAD"))
    diff = data["diff"]
    if call.caller_present and isinstance(diff, str) and len(diff) > _TOLD_TWICE:
        data["files"] = [{k: v for k, v in f.items() if k != "diff"} for f in data["files"]]  # type: ignore[union-attr]
    return data


def _restore(call: Call) -> dict[str, Json]:
    return to_object(call.session.restore(call.args["to"], dry_run=call.args.get("dry_run", False)))


def _wait(job: Job, call: Call, *, stop_on_cancel: bool) -> None:
    """Wait as long as the call allows; cancelling a call that set the job to work ends the job."""
    job.wait(call.args.get("wait_s", _WAIT_S), on_progress=call.on_progress, cancel=call.cancel)
    if stop_on_cancel and call.cancel is not None and call.cancel.is_set():
        job.stop(STOP_S)


def _log_page(call: Call, data: Mapping[str, Json], job_id: str, offset: int) -> dict[str, Json]:
    """A page of the newest output of a job's tests, from `offset` (bytes)."""
    page = log_page(call.engine.store.run_folder(job_id), data, offset, _LOG_PAGE, call.session.redact)
    return {"log_text": page.text, "log_next": page.next}


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
