"""Which environment variables a child gets: an allow-list, since what is not named cannot leak or steer.

Never passed: keys and tokens, loader and interpreter switches, and whatever makes a test runner load other code.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_PASSED = frozenset(
    (
        *("HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "COLUMNS", "VIRTUAL_ENV", "CONDA_PREFIX", "TMPDIR"),
        *("JAVA_HOME", "GOROOT", "GOPATH", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR"),
        *("SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE"),
    )
)
_FIXED = {
    "CI": "1",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PYTHONUNBUFFERED": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GCM_INTERACTIVE": "never",
    "npm_config_update_notifier": "false",
}


def child_environment(
    environ: Mapping[str, str], extra: Mapping[str, str] | None = None, *, root: Path | None = None, venv: str = ""
) -> dict[str, str]:
    """The environment of a child: what of `environ` is allowed, our fixed values, then `extra`.

    PATH loses relative entries and, with `root`, those inside the project, since a program of the project must not
    stand in for one of the system. `venv` is the approved virtual environment: its programs come first.
    """
    kept = {k: v for k, v in environ.items() if k.upper() in _PASSED or k.upper().startswith("LC_")}
    if venv:
        kept["VIRTUAL_ENV"] = venv
    elif root is not None and _inside(kept.get("VIRTUAL_ENV", ""), root):
        del kept["VIRTUAL_ENV"]
    kept["PATH"] = _clean_path(environ.get("PATH", ""), root, venv)
    return {**kept, **_FIXED, **(extra or {})}


def _clean_path(path: str, root: Path | None, venv: str) -> str:
    entries = [e for e in path.split(os.pathsep) if Path(e).is_absolute() and not (root and _inside(e, root))]
    if venv:
        entries.insert(0, str(Path(venv) / ("Scripts" if os.name == "nt" else "bin")))
    return os.pathsep.join(dict.fromkeys(entries)) or os.defpath


def _inside(path: str, root: Path) -> bool:
    return bool(path) and Path(os.path.realpath(path)).is_relative_to(root)
