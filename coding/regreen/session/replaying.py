"""A recorded run once more: its proposals, in a copy of the repository as it was, with the tests really run, no model.

The copy has a state folder of its own; the user's tree is only read: where no sandbox keeps the tests from writing to
installed dependencies in it, these are copied as well. What the run, and edits of regreen after it, have changed comes
from the journal's old bytes; other files are taken as they are now, and named where they are newer than the run.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from regreen.errors import Busy, EnvironmentFault, UsageError
from regreen.jobs import STOP_S, lives
from regreen.sandbox import require
from regreen.session.copies import copy_folder
from regreen.session.copying import Copy, Stopped, copy_tree
from regreen.session.engine import Engine
from regreen.session.fixing import FixOptions
from regreen.session.recording import RecordedAttempt, RunRecord, find_run, names_hash, not_a_fix, recorded_attempts
from regreen.session.repository import Session
from regreen.settings import Settings
from regreen.wire import Json, names
from regreen.workspace import FileImage

_TIME_SLACK = 4.0  # this machine may be slower, or busier, than it was then
_POLL_S = 0.2
_SHOWN = 10
_DETAILS = ("failures", "tree")  # of an attempt, that are not told
_FROM_OUTSIDE = ("cancelled", "budget", "proposer_failed")  # the proposals do not tell these ends
_LATER = """
SELECT t.id, e.path FROM transactions t JOIN entries e ON e.txn = t.id
WHERE t.repo = ? AND t.state = 'applied' AND t.created >= ? AND (t.label IN ('apply_edits', 'task')
OR t.label LIKE 'attempt %' OR t.label LIKE 'undo txn-%' OR t.label LIKE 'rewind %') ORDER BY t.rowid, e.seq
"""
_EDITABLE = re.compile(r"""['"](/[^'"\n]+)['"]""")

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of it. `same`: every attempt and the end were as recorded; else `differences` says what was not."""

    run: str
    replayed: int  # attempts
    same: bool
    differences: tuple[str, ...]
    attempts: tuple[dict[str, Json], ...]
    outcome: dict[str, Json]
    notes: tuple[str, ...]
    kept: str = ""  # the folder with the copy and its state, where it was to be kept


@dataclass(frozen=True, slots=True)
class _Again:
    """What the second run did, secrets masked."""

    attempts: list[dict[str, Any]]
    outcome: dict[str, Any]


def replay(
    session: Session, run_id: str, *, keep: Path | None = None,
    on_progress: Told = lambda _: None, stopped: Callable[[], bool] = lambda: False,
) -> Replay:  # fmt: skip
    """Replay a run of this session's repository, and compare. The copy is deleted, unless it goes to the folder `keep`.

    `stopped` is asked all the time: once it says so, the replay ends with `Stopped`.
    """
    run = _replayable(session, run_id)
    recorded = recorded_attempts(session.store, run.id)
    older = _older(session, run)
    if any(a["state"] not in ("refused", "repeated") for _, a in recorded) and not session.journal.touched(run.id):
        raise EnvironmentFault("io", f"what {run.id} changed is not in the journal any more: only the newest edits are",
                               "replay a newer run")  # fmt: skip
    with _folder(session, keep) as folder:
        on_progress("copying the repository")
        listed = session.files()
        barrier = session.git is not None or _inside_repository(folder)
        root = folder / "copy" / session.root.name
        copy = copy_tree(session.workspace, listed, root, older=older, barrier=barrier, linked=_is_closed(session),
                         stopped=stopped)  # fmt: skip
        notes = [*copy.notes, *_changed_since(session, run, older)]
        again = _run(_settings(session, run, copy, folder), run, recorded, root, on_progress, stopped)
    then: list[dict[str, Any]] = cast("Any", session.redact.deep(cast("Any", [a for _, a in recorded])))
    differences = tuple(_compare(run, then, again, notes))
    attempts = tuple({k: v for k, v in a.items() if k not in _DETAILS} for a in again.attempts)
    return Replay(
        run.id, len(attempts), not differences, differences, attempts, again.outcome, tuple(notes),
        str(keep) if keep is not None else "")  # fmt: skip


def _replayable(session: Session, run_id: str) -> RunRecord:
    run = find_run(session.store, run_id)
    if run.kind != "fix":
        raise UsageError("invalid_arguments", f"{run.id} {not_a_fix(run.kind)}", "name a fix run")
    if run.repo != session.key:
        raise UsageError("invalid_arguments", f"{run.id} was a run of {run.root or 'another repository'}",
                         "name that repository")  # fmt: skip
    if run.finished is None and lives(run.pid, run.born):
        raise Busy(f"{run.id} still runs, in process {run.pid}", "wait for its end")
    if "max_attempts" not in run.request:
        raise UsageError("invalid_arguments", f"{run.id} was recorded by an older regreen, without its proposals",
                         "replay a newer run")  # fmt: skip
    session.allow("run")
    return run


def _older(session: Session, run: RunRecord) -> dict[str, FileImage]:
    """What stood where the run, and edits of regreen after its start, wrote first."""
    first: dict[str, str] = {}
    for row in session.store.rows(_LATER, session.key, run.created):
        first.setdefault(os.fsdecode(row["path"]), row["id"])
    return {path: session.journal.before(txn, path) for path, txn in first.items()}


@contextmanager
def _folder(session: Session, keep: Path | None) -> Generator[Path]:
    """An empty folder, gone at the end; `keep` itself stays."""
    if keep is None:
        with copy_folder(session.store) as made:
            yield made
        return
    real = Path(os.path.realpath(keep))
    if real.is_relative_to(session.root) or session.root.is_relative_to(real):
        raise UsageError("invalid_arguments", f"{keep} is in the repository that is replayed", "name one outside of it")
    if real.exists() and (not real.is_dir() or any(real.iterdir())):
        raise UsageError("invalid_arguments", f"{keep} is not an empty folder", "name a new one")
    real.mkdir(mode=0o700, parents=True, exist_ok=True)
    yield real


def _is_closed(session: Session) -> bool:
    """Whether the sandbox keeps tests in the copy from changing anything in the original."""
    level, root = require(session.settings), session.root
    if any(root.is_relative_to(w) or w.is_relative_to(root) for w in map(_real, session.settings.writable)):
        return False
    if level.level == "landlock":
        return bool(level.namespaces)  # else modes and times can be changed
    return level.level in ("bwrap", "seatbelt", "container")


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _inside_repository(folder: Path) -> bool:
    from regreen.git import find_top

    return find_top(folder) is not None


def _settings(session: Session, run: RunRecord, copy: Copy, folder: Path) -> Settings:
    """The user's settings, for the copy: its own state, the run's interpreter, and what goes by the root's path."""
    now, old, new = session.settings, str(session.root), str(copy.root)
    seen = os.pathsep.join([now.environ.get("PATH", ""), *(f"{old}/{link}" for link in copy.links)])
    python = _in_copy(_interpreter(run) or now.python, copy, old)
    seen = os.pathsep.join(_in_copy(entry, copy, old) for entry in seen.split(os.pathsep))
    environ = {k: v for k, v in now.environ.items() if k != "PATH"} | {"PATH": seen}  # what is on it, tests may read
    if "VIRTUAL_ENV" in environ:
        environ["VIRTUAL_ENV"] = _in_copy(environ["VIRTUAL_ENV"], copy, old)
    paths = [*_mapped(python, old, new), *filter(None, [now.test_environ.get("PYTHONPATH", "")])]
    given = {**now.test_environ, **({"PYTHONPATH": os.pathsep.join(paths)} if paths else {})}
    return replace(
        now,
        state_dir=folder / "state",
        environ=environ,
        test_environ=given,
        roots=(copy.root,),
        mode="auto",
        python=python,
        strict_edits=bool(run.request.get("strict_edits", now.strict_edits)),
        custom_tests={new if k == old else k: v for k, v in now.custom_tests.items()},
        gates={new if k == old else k: v for k, v in now.gates.items()},
    )


def _interpreter(run: RunRecord) -> str:
    """The Python that ran the tests then, if it was one and still is there."""
    evidence = run.result.get("outcome", {}).get("evidence", {})
    path, argv = str(evidence.get("interpreter", "")), evidence.get("argv", [])
    is_python = argv[:2] == [path, "-m"]
    return path if is_python and Path(path).exists() else str(run.request.get("python", ""))


def _in_copy(path: str, copy: Copy, old: str) -> str:
    """The copy's counterpart of a path in what was installed in the original and is copied; else the path itself."""
    inner = path[len(old) + 1 :] if path.startswith(old + "/") else ""
    ours = any(inner == folder or inner.startswith(folder + "/") for folder in copy.installed)
    return f"{copy.root}/{inner}" if inner and ours else path


def _mapped(python: str, old: str, new: str) -> list[str]:
    """The copy's counterparts of folders of the original that an environment imports from (`pip install -e`)."""
    found: dict[str, None] = {}
    for site in Path(python).parent.parent.glob("lib*/python*/site-packages") if python else ():
        for file in (*site.glob("*.pth"), *site.glob("__editable__*finder.py")):
            text = file.read_text("utf-8", "replace")
            if file.suffix == ".pth":
                found |= dict.fromkeys(line.strip() for line in text.splitlines())
            else:
                found |= dict.fromkeys(str(Path(path).parent) for path in _EDITABLE.findall(text))
    return [new + folder[len(old) :] for folder in found if folder == old or folder.startswith(old + "/")]


def _run(
    settings: Settings, run: RunRecord, recorded: Sequence[RecordedAttempt], root: Path,
    on_progress: Told, stopped: Callable[[], bool],
) -> _Again:  # fmt: skip
    """The run again, by its recorded proposals."""
    asked = run.request
    script = settings.state_dir.parent / "script.jsonl"
    script.write_text("", "utf-8")
    options = FixOptions(
        selection=tuple(asked["selection"]),
        proposer="scripted",
        script=script,
        paths=tuple(asked["paths"]),
        tests=asked["tests"],
        max_attempts=asked["max_attempts"],
        budget_s=asked["budget_s"] * _TIME_SLACK,
        budget_tokens=asked.get("budget_tokens", 0),
        budget_usd=asked.get("budget_usd", 0.0),
        keep_partial=asked["keep_partial"],
        first=tuple(proposal for proposal, _ in recorded),
    )
    with Engine(settings, cwd=root, caller_present=False) as engine:
        job = engine.fix(engine.session(), options).job
        while job.wait(_POLL_S, on_progress=on_progress) != "done":
            if stopped():
                job.stop(STOP_S)
                raise Stopped
        if job.error is not None:
            raise job.error
        redact = engine.session().redact
        attempts = [a for _, a in recorded_attempts(engine.store, job.id)]
        outcome = job.data().get("outcome", {})
        return _Again(cast("Any", redact.deep(cast("Any", attempts))), cast("Any", redact.deep(outcome)))


def _changed_since(session: Session, run: RunRecord, older: Mapping[str, FileImage]) -> list[str]:
    """What is not as it was when the run began, as far as that can be seen."""
    notes: list[str] = []
    base = run.request.get("base", {})
    listed = session.files().paths
    above = {path[:i] for path in listed for i, c in enumerate(path) if c == "/"}
    stats = session.workspace.scan(skip=lambda folder: folder not in above)
    newer = [p for p in listed if p not in older and p in stats and stats[p].mtime_ns > run.created * 1e9]
    if newer:
        notes.append(f"changed since the run began, replayed as they are now: {names(newer, _SHOWN)}")
    there = {p for p, image in older.items() if image.kind == "file"}
    if base and base.get("names") != names_hash(tuple(sorted((set(listed) - older.keys()) | there))):
        notes.append("files were added or removed since the run began")
    if session.git is not None and base.get("head") and session.git.head() != base["head"]:
        notes.append(f"another commit is checked out; the run began at {base['head'][:12]}")
    return notes


def _compare(run: RunRecord, then: Sequence[Mapping[str, Any]], again: _Again, notes: list[str]) -> list[str]:
    """What is different from the record, each in one line."""
    now = again.attempts
    found: list[str] = []
    if len(then) != len(now):
        found.append(f"attempts: {len(then)} then, {len(now)} now")
    for old, new in zip(then, now, strict=False):
        found += _unlike(old, new)
    ended, ends = run.reason, again.outcome.get("reason", "")
    if ended == ends:
        return found
    if (ended in _FROM_OUTSIDE or not ended) and ends == "proposer_failed":
        notes.append(f"the run was ended from outside ({ended or 'it died'}), which a replay does not repeat")
        return found
    return [*found, f"end: {ended} then, {ends} now"]


def _unlike(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    names = ("state", "refusal", "kept", "fixed", "broken")
    return [
        f"attempt {old['number']}: {name} {_shown(old.get(name))} then, {_shown(new.get(name))} now"
        for name in names
        if old.get(name) != new.get(name)
    ]


def _shown(value: object) -> str:
    return json.dumps(value)[:200]
