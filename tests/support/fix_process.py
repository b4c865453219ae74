"""A fix run in a process of its own, held open: it waits for its fix until the test says so.

Run as a script it is that process: it tells the run's id, reads one proposal, and tells the outcome.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Held:
    """A run that another process holds open."""

    process: subprocess.Popen[str]
    job: str

    def submit(self, edits: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """Hand in the one fix, and wait for the end of the run and of the process."""
        out, err = self.process.communicate(json.dumps(edits) + "\n", timeout=120)
        assert self.process.returncode == 0, err[-2000:]
        return json.loads(out)


@contextmanager
def held(root: Path, environ: Mapping[str, str] | None = None) -> Generator[Held]:
    """A run on `root`, past its baseline; killed at the end if it still runs. State and cache are the caller's."""
    argv = [sys.executable, str(Path(__file__).resolve()), str(root)]
    with subprocess.Popen(argv, env={**os.environ, **(environ or {})}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:  # fmt: skip
        try:
            assert process.stdout is not None and process.stderr is not None
            job = process.stdout.readline().strip()
            assert job, process.stderr.read()[-2000:]
            yield Held(process, job)
        finally:
            process.kill()


def _serve(root: Path) -> None:
    from regreen.fix import baseline
    from regreen.session import FixOptions
    from support.engines import ok
    from support.fixing import LOOKS, fixer

    baseline.RUNS = LOOKS
    with fixer(root) as engine:
        fix_job = engine.fix(engine.session(), FixOptions(proposer="caller"))
        assert fix_job.job.wait(100) == "waiting_for_edits", fix_job.job.data()
        print(fix_job.job.id, flush=True)
        edits = json.loads(sys.stdin.readline())
        ok(engine, "submit_fix", job_id=fix_job.job.id, replacements=edits, wait_s=0)
        fix_job.job.wait(100)
        ok(engine, "job_cancel", job_id=fix_job.job.id)  # where it did not end by itself
        print(json.dumps(fix_job.job.data()["outcome"]), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    _serve(Path(sys.argv[1]))
