"""The complete output of test runs: a file each in the state folder, of which only the newest stay."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

KEPT_LOGS = 20
TAIL_BYTES = 16 * 1024


def new_log(folder: Path) -> Path:
    """A fresh name for the complete output; of the older ones in the folder only the newest stay."""
    dated = sorted((p.stat().st_mtime_ns, p) for p in folder.glob("tests-*.log"))
    for _, old in dated[: -(KEPT_LOGS - 1)]:
        old.unlink(missing_ok=True)
    return folder / f"tests-{time.time_ns()}-{secrets.token_hex(4)}.log"


def tail(log: Path, size: int = TAIL_BYTES) -> str:
    """The end of a log, at most `size` bytes; "" where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - size))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
