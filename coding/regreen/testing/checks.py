"""Runs a command of the user's that is no test run, such as a linter: in the isolation, the environment and the limits
that tests have, with caches of its own outside of the project. What its output means is for others to say.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from regreen import sandbox
from regreen.commands.programs import batch_problem
from regreen.errors import EnvironmentFault
from regreen.sandbox import Cancel, Completed
from regreen.testing.caching import project_cache
from regreen.testing.heard import Asked, Plan
from regreen.testing.logs import new_log
from regreen.testing.looking import Look
from regreen.testing.reported import child_command
from regreen.testing.request import SuiteRequest
from regreen.testing.user_commands import user_command
from regreen.testing.verdict import ending

MAX_READ_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of it. `status` None: it did not end by itself, and `problem` says how it was or why it did not begin.
    `private` is a folder of this run whose name may stand in the output."""

    status: int | None
    output: str = ""
    problem: str = ""
    private: str = ""
    log: str = ""
    duration_s: float = 0.0
    cpu_s: float = 0.0


def run_check(request: SuiteRequest, cancel: Cancel) -> Checked:
    """Run `request.argv` in the root, to its end. Raises Refused where a sandbox is demanded and there is none."""
    root = request.workspace.root
    sandbox.require(request.settings)
    command = user_command(request.argv, request.workspace, request.settings)
    if command is None:
        return Checked(None, problem=f"`{request.argv[0]}` is neither a program on the PATH nor an executable file of "
                                     "the project")  # fmt: skip
    if problem := batch_problem(Path(command.argv[0]), command.argv[1:]):
        return Checked(None, problem=problem)
    request.store_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    lasting = project_cache(request.settings.cache_dir, "checks", root)
    with tempfile.TemporaryDirectory(prefix="regreen-", ignore_cleanup_errors=True) as name:
        private = Path(name).resolve()
        asked = Asked(request, root, Look(request.workspace), private, cancel)
        plan = Plan(command.argv, command.argv[0], {**_caches(private, lasting), **command.env}, root,
                    writable=(lasting,))  # fmt: skip
        log = new_log(request.store_folder)
        try:
            completed = sandbox.run(child_command(asked, plan, log), cancel=cancel)
        except EnvironmentFault as e:
            return Checked(None, problem=e.message)
    return _checked(completed, log, str(private), request.timeout_s)


def _caches(private: Path, lasting: Path) -> Mapping[str, str]:
    """Where tools are to keep what they would else leave in the project. What trusts the times of files begins anew."""
    fresh = {"RUFF_CACHE_DIR": "ruff", "MYPY_CACHE_DIR": "mypy", "PYTHONPYCACHEPREFIX": "pyc"}
    kept = {"CARGO_TARGET_DIR": "cargo", "GOCACHE": "go"}
    return {
        **{name: str(private / folder) for name, folder in fresh.items()},
        **{name: str(lasting / folder) for name, folder in kept.items()},
    }


def _checked(completed: Completed, log: Path, private: str, timeout_s: float) -> Checked:
    cut = completed.output_bytes > MAX_READ_BYTES
    status = completed.returncode
    problem = ""
    if completed.cancelled:
        problem = "it was cancelled"
    elif completed.timed_out:
        problem = f"it did not end within {timeout_s:g} s"
    elif completed.limit:
        problem = f"it reached the {completed.limit.replace('_', ' ')} limit"
    elif status is None or completed.unsupervised:
        problem = f"it was ended: {ending(completed)}"
    elif cut:
        problem = f"it printed {completed.output_bytes} bytes, too many to be compared"
    return Checked(
        None if problem else status,
        "" if cut else _text(log),
        problem,
        private,
        str(log),
        round(completed.duration_s, 3),
        round(completed.cpu_s, 3),
    )


def _text(log: Path) -> str:
    try:
        return log.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
