"""`regreen` as it is, that besides counts what it has in memory whenever SIGUSR1 asks it to.

    python soak_server.py REPORT serve --http 127.0.0.1:0 ...

Counted are the objects of our own and of the SDK by their types, and the threads by their names; the counts go to
the file REPORT. Rubbish is collected first, so that what is counted is held by somebody.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

_COUNTED = ("regreen", "mcp", "starlette", "sse_starlette", "uvicorn")


def counts() -> dict[str, int]:
    gc.unfreeze()
    gc.collect()
    seen: Counter[str] = Counter()
    for item in gc.get_objects():
        kind = type(item)
        if str(kind.__module__).partition(".")[0].partition("_server")[0] in _COUNTED:
            seen[f"{kind.__module__}.{kind.__qualname__}"] += 1
        elif kind.__name__ in ("Task", "coroutine", "async_generator"):
            seen[kind.__name__] += 1
    return dict(seen)


def report_to(file: Path) -> None:
    def write(_number: int, _frame: FrameType | None) -> None:
        told = {"counts": counts(), "threads": sorted(t.name for t in threading.enumerate())}
        part = file.with_suffix(".part")
        part.write_text(json.dumps(told), "utf-8")
        os.replace(part, file)  # noqa: PTH105

    signal.signal(signal.SIGUSR1, write)


if __name__ == "__main__":
    report_to(Path(sys.argv[1]))
    del sys.argv[1]
    from regreen.cli import main

    sys.exit(main())
