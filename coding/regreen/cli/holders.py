"""Who holds a work tree, told to somebody who wants it: what that process is, and whether its run waits for edits."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from regreen.errors import RegreenError
from regreen.settings import load_settings

_HOLDER = re.compile(r"(?:(job-\w+) \()?process (\d+)")
_END_IT = re.compile(r"wait until it has ended, or end process \d+")
_TAIL_BYTES = 64 * 1024
_BETWEEN = ("baseline_taken", "attempt_finished")  # the last event of a run that has nothing to do
_SEARCHED_S = 90.0  # the search of a run that later waits for a caller has ended by then


def waits_for_edits(folder: Path, proposer: str) -> bool:
    """Whether a run whose process lives waits for its caller's next edits, by the diary in the run's folder."""
    if proposer not in ("caller", "auto"):
        return False
    last = _last_event(folder / "events.jsonl")
    quiet_s = time.time() - last.get("time", time.time())
    return last.get("kind") in _BETWEEN and (proposer == "caller" or quiet_s > _SEARCHED_S)


def _last_event(diary: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError), diary.open("rb") as file:
        file.seek(max(0, diary.stat().st_size - _TAIL_BYTES))
        lines = file.read().splitlines()
        return json.loads(lines[-1]) if lines else {}
    return {}


def explained(message: str, hint: str, environ: Mapping[str, str]) -> str:
    """The hint of an error that says which process holds the work tree: what that is, and what ends it."""
    found = _HOLDER.search(message)
    if found is None or not _END_IT.search(hint):
        return hint
    return hint_for(_command(int(found[2])), waits=_waits(found[1], environ))


def hint_for(command: str, *, waits: bool) -> str:
    """What to do about a holder of which this is the command: `serve`, another one, or "" where it is not known."""
    if command == "serve" and waits:
        return ("it is a run of the MCP server that waits for edits of its client: go on with it or cancel it there "
                "(job_cancel); it ends by itself after 30 minutes")  # fmt: skip
    if command == "serve":
        return "it is a run of the MCP server: wait until it has ended, or cancel it in its client (job_cancel)"
    what = f"it is `regreen {command}`" if command else "it is another program that uses regreen"
    return f"{what}{' and waits for edits' if waits else ''}: wait until it has ended, or interrupt it where it runs"


def _waits(run_id: str | None, environ: Mapping[str, str]) -> bool:
    from regreen.session.recording import find_run
    from regreen.store import Store

    if not run_id:
        return False
    store = Store(load_settings(environ).state_dir)
    try:
        run = find_run(store, run_id)
        return waits_for_edits(store.folder / "runs" / run.id, run.request.get("proposer", ""))
    except RegreenError:
        return False
    finally:
        store.close()


def _command(pid: int) -> str:
    """The command of a regreen that runs, where the system tells it (Linux)."""
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").split("\0")
        at = next((n for n, w in enumerate(words[:4]) if w.rpartition("/")[2] in ("regreen", "__main__.py")), None)
        return words[at + 1] if at is not None and at + 1 < len(words) else ""
    return ""
