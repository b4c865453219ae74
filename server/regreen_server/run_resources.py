"""`run://` resources: what came of a run, the output of its tests, and its events.

Rules: a run is named by its whole id, never by a path; one whose repository this server does not serve is not found;
an answer is bounded, and says how to get the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import unquote

from regreen_server.refusals import refusal, refusal_of

if TYPE_CHECKING:
    from mcp_types import ListResourcesResult, ReadResourceResult, Resource, ResourceTemplate

    from regreen.session.recording import RunRecord
    from regreen.wire import Json
    from regreen_server.calls import Caller, ToolEngine

SCHEME = "run://"
Part: TypeAlias = Literal["", "log", "events"]

_ID = re.compile(r"[A-Za-z0-9][\w-]{0,79}", re.ASCII)
_PAGE = 50  # runs in one answer of the list
KNOWN = 500  # the newest runs that the list is made of
_MOST_CHARS = 48_000  # of one answer: at most 24,000 tokens, where two characters are one
_MOST_EVENTS = 2_000
_PARTS: Mapping[str, Part] = {"": "", "log": "log", "events": "events"}
_STARTS: Mapping[Part, str] = {"": "", "log": "offset", "events": "after"}
_ENDED_FRESH_MS = 60_000


@dataclass(frozen=True, slots=True)
class Address:
    """What a URI names: a run's report, or a part of it, from `start` on."""

    run_id: str
    part: Part = ""
    start: int = 0


def address(uri: str) -> Address | None:
    """The address in a URI; None where it is none: an id is one word, and nothing else is a part."""
    place, _, query = uri.removeprefix(SCHEME).partition("?")
    run_id, _, rest = unquote(place).removesuffix("/").partition("/")
    part = _PARTS.get(rest)
    if not uri.startswith(SCHEME) or not _ID.fullmatch(run_id) or part is None:
        return None
    if not query:
        return Address(run_id, part)
    start = re.fullmatch(rf"{_STARTS[part]}=([0-9]{{1,15}})", query) if _STARTS[part] else None
    return Address(run_id, part, int(start[1])) if start else None


def uris(run_id: str) -> tuple[str, ...]:
    """All that changes while a run goes on."""
    return tuple(f"{SCHEME}{run_id}{'/' if part else ''}{part}" for part in _STARTS)


def templates() -> list[ResourceTemplate]:
    from mcp_types import Annotations, ResourceTemplate

    def template(end: str, name: str, title: str, description: str, mime: str, priority: float) -> ResourceTemplate:
        return ResourceTemplate(name=name, title=title, uri_template=f"{SCHEME}{{job_id}}{end}", mime_type=mime,
                                description=description,
                                annotations=Annotations(audience=["user", "assistant"], priority=priority))  # fmt: skip

    return [
        template("", "run", "Run", "State, outcome, attempts and diff of a run.", "text/plain", 0.8),
        template("/log", "run_log", "Test output of a run",
                 "The newest output of its tests; ?offset=BYTES continues.", "text/plain", 0.4),
        template("/events", "run_events", "Events of a run",
                 "One JSON object a line, in order; ?after=SEQ continues.", "application/x-ndjson", 0.2),
    ]  # fmt: skip


def listed(runs: Sequence[RunRecord], first: Sequence[Resource], cursor: str) -> ListResourcesResult:
    """One page: the `first` resources where no cursor is given, then runs, the newest first.

    A cursor names the last run of a page, so that pages stay what they are while new runs begin.
    """
    from mcp_types import ListResourcesResult

    rest = _behind(runs, cursor) if cursor else list(runs)
    page = rest[:_PAGE]
    more = f"{page[-1].created!r}/{page[-1].id}" if len(rest) > len(page) else None
    shown = [_resource(run) for run in page]
    return ListResourcesResult(resources=shown if cursor else [*first, *shown], next_cursor=more)


def _behind(runs: Sequence[RunRecord], cursor: str) -> list[RunRecord]:
    created, _, run_id = cursor.partition("/")
    at = next((i for i, run in enumerate(runs) if run.id == run_id), None)
    if at is not None:
        return list(runs[at + 1 :])
    try:
        time = float(created)
    except ValueError:
        raise refusal("invalid_arguments", f"`cursor` is {cursor[:80]!r}, which no list has told",
                      "leave it out to begin again") from None  # fmt: skip
    return [run for run in runs if run.created < time]  # that run has been forgotten since


def _resource(run: RunRecord) -> Resource:
    from mcp_types import Annotations, Resource

    kind = "Coding task" if run.kind == "task" else "Fix run"
    state = (run.reason or "ended") if run.finished is not None else "not ended"
    began = datetime.fromtimestamp(run.created, UTC)
    changed = datetime.fromtimestamp(run.finished or run.created, UTC)
    return Resource(
        name=run.id,
        title=f"{kind}: {state}",
        uri=f"{SCHEME}{run.id}",
        description=f"{kind} in {run.folder.name or 'a repository that is gone'}, begun {began:%Y-%m-%d %H:%M} UTC.",
        mime_type="text/plain",
        annotations=Annotations(audience=["user", "assistant"], priority=0.5,
                                last_modified=f"{changed:%Y-%m-%dT%H:%M:%SZ}"),
    )  # fmt: skip


async def read(caller: Caller, uri: str) -> ReadResourceResult:
    """A report, log or events. Raises MCPError (invalid params) where there is no such run here."""
    from mcp_types import ReadResourceResult, TextResourceContents

    from regreen.errors import RegreenError
    from regreen.wire import encodable

    where = address(uri)
    if where is None:
        known = ", ".join(f"{SCHEME}JOB_ID{'/' if part else ''}{part}" for part in _STARTS)
        raise refusal("not_found", f"there is no resource {uri[:200]!r}", f"there are: {known}", uri=uri)
    try:
        text, ended = await caller.do("run", lambda engine: _text(engine, where))
    except RegreenError as e:
        raise refusal_of(e, uri=uri) from e
    mime = "application/x-ndjson" if where.part == "events" else "text/plain"
    contents = TextResourceContents(uri=uri, mime_type=mime, text=str(encodable(text)))
    fresh_ms = _ENDED_FRESH_MS if ended else 0
    return ReadResourceResult(contents=[contents], ttl_ms=fresh_ms, cache_scope="private")


def _text(engine: ToolEngine, where: Address) -> tuple[str, bool]:
    """The text, and whether it stays so: the run has ended."""
    report = engine.run_report(where.run_id)
    if report.is_error:  # of the run itself, or because there is none
        error = cast("Mapping[str, Json]", report.data["error"])
        if error["kind"] == "not_found" and "job_id" not in report.data:
            raise refusal_of(error, uri=f"{SCHEME}{where.run_id}")
    ended = report.data.get("state") == "done"
    match where.part:
        case "log":
            page = engine.run_log(where.run_id, offset=where.start, size=_MOST_CHARS)
            return log_text(where.run_id, page.text, page.next, page.total), ended
        case "events":
            events = engine.run_events(where.run_id, after=where.start, limit=_MOST_EVENTS)
            return event_lines(where.run_id, events), ended
        case _:
            return report_text(report.text, report.data), ended


def report_text(said: str, data: Mapping[str, Any]) -> str:
    """What `job_status` says, with each attempt and the whole diff: complete in itself, and bounded."""
    lines = [f"{data.get('job_id', '')}: {data.get('state', '')}", said]
    attempts: list[Mapping[str, Any]] = data.get("attempts") or []
    if attempts:
        lines += ["", "Attempts:", *(_attempt_line(a) for a in attempts)]
    outcome: Mapping[str, Any] = data.get("outcome") or {}
    diff = str(outcome.get("diff") or data.get("diff") or "")
    if diff and diff not in said:
        lines += ["", "Diff:", diff]
    text = "\n".join(lines)
    if len(text) <= _MOST_CHARS:
        return text
    kept = text[:_MOST_CHARS].rsplit("\n", 1)[0]
    hint = f"show_changes(since={data.get('job_id', '')!r}) has the diff"
    return f"{kept}\n... {len(text) - len(kept)} characters left out; {hint}"


def _attempt_line(attempt: Mapping[str, Any]) -> str:
    note = str(attempt.get("note") or attempt.get("message") or "").partition("\n")[0]
    return f"  {attempt.get('number')}. {attempt.get('state')}" + (f": {note[:200]}" if note else "")


def log_text(run_id: str, text: str, following: int, total: int) -> str:
    if not text:
        return f"{run_id}: no output of tests here (it may not have run any yet, or the log was removed)"
    if following >= total:
        return text
    return (
        f"{text}\n... {total - following} bytes more: read {SCHEME}{run_id}/log?offset={following}, or call "
        f"job_status(job_id={run_id!r}, log_offset={following})"
    )


def event_lines(run_id: str, events: Iterable[Mapping[str, Json]]) -> str:
    """One JSON object a line. Where not all fit, the last one says from where to go on."""
    lines: list[str] = []
    size, last = 0, 0
    for event in events:
        line = _event_line(event)
        if lines and (size + len(line) > _MOST_CHARS or len(lines) == _MOST_EVENTS - 1):
            lines.append(json.dumps({"kind": "more", "hint": f"read {SCHEME}{run_id}/events?after={last}"}))
            break
        lines.append(line)
        size += len(line)
        last = cast("int", event["seq"])
    return "".join(f"{line}\n" for line in lines)


def _event_line(event: Mapping[str, Json]) -> str:
    """An event that is longer than an answer by itself is told without its contents."""
    line = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    if len(line) <= _MOST_CHARS:
        return line
    head = {k: event[k] for k in ("seq", "time", "run_id", "kind") if k in event}
    return json.dumps({**head, "left_out": f"{len(line)} characters"})
