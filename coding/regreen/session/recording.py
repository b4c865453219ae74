"""The record of fix runs: what was asked, each proposal as it was handed in, and what came of it.

An attempt is on disk when `Recorder.attempt` returns. Proposals are kept to the letter, so that a replay is exact; the
state folder is its user's alone, and whatever is shown of them passes the redactor first.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import Row
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from regreen.errors import UsageError
from regreen.model import Attempt, Proposal, Replacement, Usage
from regreen.wire import Json, nearest, to_object

if TYPE_CHECKING:
    from regreen.fix import StopRules
    from regreen.session.fixing import FixOptions
    from regreen.session.repository import Session
    from regreen.store import Store

_SHOWN_NAMES = 5
RecordedAttempt: TypeAlias = tuple[Proposal, dict[str, Any]]


class Recorder:
    """Writes down the attempts of one run."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id

    def attempt(self, number: int, proposal: Proposal, attempt: Attempt) -> None:
        """Keep one attempt; durable when this returns."""
        from regreen.fix.brief import refusal_report  # not at the top: whoever only lists runs needs no loop

        told = {k: v for k, v in to_object(attempt).items() if k != "edits"} | {"tree": attempt.tree}
        if report := refusal_report(attempt):
            told["refusal_report"] = report
        with self._store.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?)",
                (self._run_id, number, json.dumps(to_object(proposal)), json.dumps(told), time.time()),
            )


def recorded_attempts(store: Store, run_id: str) -> tuple[RecordedAttempt, ...]:
    """A run's proposals in order, each with its attempt as JSON data (and its `tree`)."""
    rows = store.rows("SELECT proposal, attempt FROM attempts WHERE run = ? ORDER BY number", run_id)
    return tuple((proposal_of(json.loads(r["proposal"])), json.loads(r["attempt"])) for r in rows)


def proposal_of(data: Mapping[str, Any]) -> Proposal:
    """The proposal that this JSON data was made of."""
    return Proposal(
        text=data.get("text", ""),
        replacements=tuple(Replacement(**r) for r in data.get("replacements", ())),
        format=data.get("format", "auto"),
        note=data.get("note", ""),
        needs_test_change=data.get("needs_test_change", ""),
        usage=Usage(**data.get("usage", {})),
    )


def request_of(
    session: Session, options: FixOptions, rules: StopRules, script: Sequence[Proposal] = ()
) -> dict[str, Json]:
    """All that is needed to start the same run again, or to go on from it. `base` tells which files there were.

    The proposals are judged in order: the `first` of an earlier run, then those of the script from `script_from` on.
    """
    files = session.files()
    return {
        "selection": list(options.selection),
        "proposer": options.proposer,
        "model": options.model,
        "paths": list(options.paths),
        "tests": options.tests,
        "max_attempts": rules.max_attempts,
        "budget_s": rules.budget_s,
        "budget_cpu_s": rules.budget_cpu_s,
        "budget_tokens": rules.budget_tokens,
        "budget_usd": rules.budget_usd,
        "keep_partial": options.keep_partial,
        "script": str(options.script.absolute()) if options.script else "",
        "script_hash": script_hash(script),
        "script_from": options.script_from,
        "first": len(options.first),
        "resumes": str(getattr(options, "resumes", "")),
        "python": session.settings.python,
        "strict_edits": session.settings.strict_edits,
        "base": {
            "head": session.git.head() if session.git is not None else "",
            "files": len(files.paths),
            "names": names_hash(files.paths),
        },
    }


def script_hash(proposals: Sequence[Proposal]) -> str:
    """One hash for the proposals of a script."""
    return hashlib.sha256(json.dumps([to_object(p) for p in proposals]).encode()).hexdigest()


def names_hash(paths: tuple[str, ...]) -> str:
    """One hash for a list of paths."""
    return hashlib.sha256("\0".join(paths).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One recorded run, as the store has it. `root` is its repository's folder, "" where that is not known."""

    id: str
    repo: str
    root: str
    kind: str
    created: float
    finished: float | None
    pid: int
    born: str
    request: Mapping[str, Any]
    result: Mapping[str, Any]

    @property
    def folder(self) -> Path:
        return Path(self.root)

    @property
    def reason(self) -> str:
        """Why it ended: the outcome's reason, the status of a test run, or the kind of an error."""
        outcome, error = self.result.get("outcome", {}), self.result.get("error", {})
        return str(outcome.get("reason") or self.result.get("status") or error.get("kind") or "")


_SELECT = "SELECT runs.*, repos.root FROM runs LEFT JOIN repos ON repos.key = runs.repo"


def _record(row: Row) -> RunRecord:
    return RunRecord(
        row["id"], row["repo"], row["root"] or "", row["kind"], row["created"], row["finished"], row["pid"],
        row["born"], json.loads(row["request"] or "{}"), json.loads(row["result"] or "{}"))  # fmt: skip


def recorded_runs(store: Store, *, repo: str = "", limit: int = 20, with_tests: bool = False) -> tuple[RunRecord, ...]:
    """The fix runs and coding tasks (`with_tests`: and jobs that only run tests), the newest first; of one repository
    (its key) where it is given."""
    sql = (
        f"{_SELECT} WHERE ? IN ('', runs.repo) AND (? OR runs.kind IN ('fix', 'task'))"
        " ORDER BY created DESC, runs.rowid DESC LIMIT ?"
    )
    return tuple(_record(row) for row in store.rows(sql, repo, with_tests, limit))


def run_of(store: Store, run_id: str) -> RunRecord | None:
    """The job of exactly this id; None where there is none."""
    rows = store.rows(f"{_SELECT} WHERE runs.id = ?", run_id)
    return _record(rows[0]) if rows else None


def masked(session: Session, result: dict[str, Json]) -> dict[str, Json]:
    """A job's result as it may be kept, and told: without secrets."""
    told = session.redact.deep(result)
    assert isinstance(told, dict)
    return told


def not_a_fix(kind: str) -> str:
    """What a job of this kind was, for whoever took it for a fix run."""
    return "was a coding task" if kind == "task" else "only ran tests"


def not_a_task(kind: str) -> str:
    """What a job of this kind is, for whoever took it for a coding task."""
    return "is a fix run" if kind == "fix" else "only runs tests"


def find_run(store: Store, name: str) -> RunRecord:
    """The run of this id, or the only one whose id begins so (`job-` may be left out). Raises UsageError."""
    ids = [cast("str", r["id"]) for r in store.rows("SELECT id FROM runs ORDER BY created DESC")]
    found = [i for i in ids if i == name] or [i for i in ids if name and i.startswith((name, f"job-{name}"))]
    if len(found) == 1:
        return _record(store.rows(f"{_SELECT} WHERE runs.id = ?", found[0])[0])
    if found:
        named = ", ".join(found[:_SHOWN_NAMES]) + (" and more" if len(found) > _SHOWN_NAMES else "")
        raise UsageError("not_found", f"{name!r} may be any of {len(found)} runs: {named}", "give more of its id")
    near = nearest(name, ids, 3) or nearest(f"job-{name}", ids, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else "see `regreen runs list --all`"
    raise UsageError("not_found", f"there is no run {name!r}", hint)
