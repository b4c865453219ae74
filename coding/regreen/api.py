"""The Python door: `regreen.open`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from regreen.session import Engine, Session
from regreen.settings import default_environ, load_settings


@contextmanager
def open(path: str | Path = ".", *, mode: str = "", sandbox: str = "", python: str = "") -> Generator[Session]:  # noqa: A001
    """Open the repository at `path`, which is thereby trusted. On leaving, jobs end and what they changed is restored.

    Raises ConfigError for a bad setting, UsageError where there is no such folder.
    """
    root = Path(path).resolve()
    settings = load_settings(default_environ(), roots=(root,), mode=mode, sandbox=sandbox, python=python)
    with Engine(settings, cwd=root, caller_present=False) as engine:
        yield engine.session()
