"""`regreen runs`: what fix runs and coding tasks did (`list`, `show`), going on from a fix run (`resume`), one once
more (`replay`).

`list` and `show` only read the records; no repository is opened.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from regreen.cli.calls import guarded
from regreen.cli.diary import asked_of, refused_of
from regreen.cli.engine import opened
from regreen.cli.exit_codes import OK, RED, of_error
from regreen.cli.fix import followed, model_of, script_of
from regreen.cli.holders import waits_for_edits
from regreen.cli.invocation import Answer, Invocation
from regreen.cli.run_lines import listing, replayed, shown
from regreen.errors import RegreenError, UsageError
from regreen.wire import Json, to_object

if TYPE_CHECKING:
    from regreen.cli.screen import Progress
    from regreen.model import Proposal
    from regreen.session.recording import RunRecord
    from regreen.session.resuming import Anew
    from regreen.store import Store

_MAX_DIFF_CHARS = 20_000
_ENDS = ("outcome", "error", "diff", "usage")  # what a result may hold


def list_runs(invocation: Invocation) -> Answer:
    """The newest fix runs and coding tasks of the repository, or of all."""
    from regreen.session.recording import recorded_runs
    from regreen.store import repo_key

    everywhere = invocation.args.all
    repo = "" if everywhere else repo_key(invocation.repo())
    with _store(invocation) as store:
        runs = recorded_runs(store, repo=repo, limit=invocation.args.limit)
        data = to_object({"runs": [_row(store, run) for run in runs]})
    return Answer(data, tuple(listing(data, everywhere=everywhere)), OK)


def show(invocation: Invocation) -> Answer:
    """One run in full: request, attempts, outcome, and where its diary and logs are."""
    from regreen.redact import Redactor
    from regreen.session.recording import find_run, recorded_attempts
    from regreen.session.restorable import restorable

    with _store(invocation) as store:
        run = find_run(store, invocation.args.run)
        attempts = [_attempt(p, a) for p, a in recorded_attempts(store, run.id)] or run.result.get("attempts", [])
        folder = store.folder / "runs" / run.id
        data = to_object({
            **_row(store, run), "request": {k: v for k, v in run.request.items() if k != "base"},
            "attempts": attempts, **{k: run.result[k] for k in _ENDS if k in run.result},
            "standing": run.id in {r.id for r in restorable(store, run.repo)},
            "resumed_by": [r["id"] for r in store.rows(_RESUMED_BY, run.id)],
            "events": str(folder / "events.jsonl") if (folder / "events.jsonl").is_file() else "",
            "logs": sorted(str(p) for p in folder.glob("*.log")),
        })  # fmt: skip
    masked = cast("dict[str, Json]", Redactor.from_environ(invocation.settings().may_be_told).deep(data))
    return Answer(masked, tuple(shown(masked | _of_models(run.kind, folder / "events.jsonl"))), OK)


def _of_models(kind: str, diary: Path) -> dict[str, Json]:
    """What is shown besides of the models of a run."""
    return {"refused": refused_of(diary)} if kind == "task" else {"asked": asked_of(diary)}


def resume(invocation: Invocation) -> Answer:
    """Go on from a run, in a new one; shown as `regreen fix` shows its own."""
    run = _found(invocation)
    repo = _repo_of(invocation, run)
    anew = _anew(invocation, str(run.request.get("proposer", "")))
    invocation.tell_repo(repo)
    with opened(invocation, repo) as engine:
        return followed(invocation, engine, lambda: engine.resume(run.id, anew))


def replay(invocation: Invocation) -> Answer:
    """Replay a run, and tell whether all came out as recorded."""
    from regreen.session.replaying import replay as again

    run = _found(invocation)
    repo = _repo_of(invocation, run)
    named = invocation.args.keep
    keep = Path(os.path.normpath(invocation.cwd / Path(named).expanduser())) if named else None
    with opened(invocation, repo) as engine:

        def work(progress: Progress) -> dict[str, Json]:
            try:
                session = engine.session(str(repo))
                return to_object(again(session, run.id, keep=keep, on_progress=progress.update,
                                       stopped=invocation.screen.interrupted.is_set))  # fmt: skip
            except RegreenError as e:
                return to_object(e.as_json())

        data = guarded(invocation.screen, work)
    if "error" in data:
        return Answer(data, (), of_error(str(cast("dict[str, Json]", data["error"])["kind"])))
    return Answer(data, tuple(replayed(data)), OK if data["same"] else RED)


_RESUMED_BY = "SELECT id FROM runs WHERE kind = 'fix' AND json_extract(request, '$.resumes') = ? ORDER BY created"


@contextmanager
def _store(invocation: Invocation) -> Generator[Store]:
    from regreen.store import Store

    store = Store(invocation.settings().state_dir)
    try:
        yield store
    finally:
        store.close()


def _found(invocation: Invocation) -> RunRecord:
    from regreen.session.recording import find_run

    with _store(invocation) as store:
        return find_run(store, invocation.args.run)


def _row(store: Store, run: RunRecord) -> dict[str, Any]:
    """A run in short."""
    count = store.rows("SELECT COUNT(*) AS n FROM attempts WHERE run = ?", run.id)[0]["n"]
    return {
        "id": run.id, "kind": run.kind, "repo": run.root, "created": run.created, "finished": run.finished,
        "state": _state(store, run), "reason": run.reason, "tried": count,
        "proposer": run.request.get("proposer", ""), "selection": run.request.get("selection", []),
        "resumes": run.request.get("resumes", ""), "task": run.request.get("task", ""),
    }  # fmt: skip


def _state(store: Store, run: RunRecord) -> str:
    from regreen.jobs import lives

    if run.finished is not None:
        return "done"
    if not lives(run.pid, run.born):
        return "interrupted"
    waits = waits_for_edits(store.folder / "runs" / run.id, run.request.get("proposer", ""))
    return "waiting_for_edits" if waits else "running"


def _attempt(proposal: Proposal, attempt: dict[str, Any]) -> dict[str, Any]:
    """An attempt as it is recorded; of one whose edits did not fit, what was handed in."""
    told = {**attempt, "diff": _cut(attempt.get("diff", ""))}
    if attempt["state"] == "refused" and not told["diff"]:
        pieces = (f"{r.path}\n<<<<<<< SEARCH\n{r.search}\n=======\n{r.replace}\n>>>>>>> REPLACE"
                  for r in proposal.replacements)  # fmt: skip
        told["handed_in"] = _cut(proposal.text or "\n".join(pieces))
    return told


def _cut(text: str) -> str:
    left_out = len(text) - _MAX_DIFF_CHARS
    return text if left_out <= 0 else f"{text[:_MAX_DIFF_CHARS]}\n... {left_out} characters left out\n"


def _repo_of(invocation: Invocation, run: RunRecord) -> Path:
    """The run's own repository; `--repo` may only say the same."""
    if not run.root or not Path(run.root).is_dir():
        raise UsageError("not_found", f"the repository of {run.id} is not there (any more): {run.root or 'unknown'}",
                         "`regreen runs show` tells what the run did")  # fmt: skip
    if invocation.args.repo and invocation.repo() != run.folder:
        raise UsageError("invalid_arguments", f"{run.id} was a run of {run.root}", "leave --repo out")
    return run.folder


def _anew(invocation: Invocation, proposer: str) -> Anew:
    """What was typed; `proposer` is the run's own."""
    from regreen.session.resuming import Anew

    args = invocation.args
    script = script_of(invocation)
    return Anew(
        args.max_attempts or 0,
        args.budget_s or 0.0,
        args.proposer,
        script,
        model_of(invocation, args.proposer or proposer),
    )
