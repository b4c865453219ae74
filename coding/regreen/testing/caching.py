"""Lasting caches of what tools compile: one for each project. Tests write there, and what is compiled is run later, so
one that several projects shared would let the tests of one run code in the tests of another, which may be confined
less."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

_KEPT = 16
_UNUSED_S = 7 * 24 * 3600.0


def project_cache(cache_dir: Path, kind: str, root: Path) -> Path:
    """The folder for the project at `root`, made. Of those not used for long only a few stay."""
    above = cache_dir / kind
    folder = above / hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:16]
    known = folder.is_dir()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.utime(folder)
    if not known:
        _tidy(above, folder)
    return folder


def _tidy(above: Path, own: Path) -> None:
    dated: list[tuple[float, Path]] = []
    for entry in above.iterdir():
        with suppress(OSError):  # another process tidies too
            if entry != own and not entry.is_symlink():
                dated.append((entry.stat().st_mtime, entry))
    for used, old in sorted(dated, reverse=True)[_KEPT:]:
        if time.time() - used > _UNUSED_S:
            shutil.rmtree(old, ignore_errors=True)
