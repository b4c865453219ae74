"""The output of a job's tests, read in pages, without secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from regreen.wire import Json

_AROUND = 16_000  # before and behind a page: a secret may begin in one and end in the next


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of a log; `next` is the offset (bytes) of what follows, and the same as the page's own at the end."""

    text: str
    next: int
    total: int = 0


def log_page(folder: Path, data: Mapping[str, Json], offset: int, size: int, redact: Callable[[str], str]) -> LogPage:
    """A page of the log that a job's data names, or else of the newest in its folder, from `offset` (bytes)."""
    named = data.get("log")
    logs = [Path(str(named))] if named else sorted(folder.glob("*.log"), key=lambda p: p.stat().st_mtime_ns)[-1:]
    if not logs or not logs[0].is_file():
        return LogPage("", offset)
    start = max(0, offset - _AROUND)
    with logs[0].open("rb") as f:
        total = f.seek(0, 2)
        f.seek(start)
        window = f.read(offset - start + size + _AROUND)
    page = window[offset - start :][:size]
    return LogPage(_masked(window, offset - start, page, redact), offset + len(page), total)


def _masked(window: bytes, at: int, page: bytes, redact: Callable[[str], str]) -> str:
    """The page that begins at `at`, masked with what stands around it. Where anything is, in whole lines: masks are of
    another length than what they hide, so the line that a page begins or ends in is in both."""
    whole = window.decode("utf-8", "replace")
    masked = redact(whole)
    if masked == whole or not page:
        return page.decode("utf-8", "replace")
    first = window.count(b"\n", 0, at)
    return "\n".join(masked.split("\n")[first : first + page.count(b"\n") + 1])
