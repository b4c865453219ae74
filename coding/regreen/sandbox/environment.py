"""Which environment variables a child gets: an allow-list, since what is not named cannot leak or steer.

Never passed, not even where they are on a list: keys and tokens, loader and interpreter switches, and whatever makes a
test runner load other code. What we and the runners set ourselves (`extra`) is not asked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

_PASSED = frozenset(
    (
        *("HOME", "USER", "LOGNAME", "LANG", "TZ", "COLUMNS", "TMPDIR", "VIRTUAL_ENV", "CONDA_PREFIX"),
        *("JAVA_HOME", "GOROOT", "GOPATH", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "NVM_DIR"),
        *("SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE"),  # Windows
    )
)
_NEVER = re.compile(
    r"(LD|DYLD|PYTEST|NPM_CONFIG|GIT|AWS|AZURE|GOOGLE|GH|REGREEN)_.*"
    r"|PYTHON(PATH|STARTUP|HOME|INSPECT|BREAKPOINT)|NODE_OPTIONS|BASH_ENV|ENV|PERL5OPT|RUBYOPT|JAVA_TOOL_OPTIONS"
    r"|.*_PROXY|.*(KEY|TOKEN|SECRET|PASS).*|SSH_AUTH_SOCK|DOCKER_HOST|KUBECONFIG|DATABASE_URL",
    re.IGNORECASE | re.DOTALL,
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
    environ: Mapping[str, str],
    extra: Mapping[str, str] | None = None,
    *,
    root: Path | None = None,
    venv: str = "",
    listed: Collection[str] = (),
) -> dict[str, str]:
    """The environment of a child: what of `environ` is allowed or `listed` by the user, our fixed values, then `extra`.

    PATH loses relative entries and, with `root`, those inside the project, since a program of the project must not
    stand in for one of the system. `venv` is the approved virtual environment: its programs come first.
    """
    kept = {k: v for k, v in environ.items() if _is_passed(k, listed)}
    if venv:
        kept["VIRTUAL_ENV"] = venv
    elif root is not None and _inside(kept.get("VIRTUAL_ENV", ""), root):
        del kept["VIRTUAL_ENV"]
    kept["PATH"] = _clean_path(environ.get("PATH", ""), root, venv)
    return {**kept, **_FIXED, **(extra or {})}


def is_withheld(name: str) -> bool:
    """Whether a variable of this name is never passed on: a secret, or a switch of a loader, interpreter or runner."""
    return _NEVER.fullmatch(name) is not None


def _is_passed(name: str, listed: Collection[str]) -> bool:
    wanted = name.upper() in _PASSED or name.upper().startswith("LC_") or name in listed
    return wanted and not is_withheld(name)


def _clean_path(path: str, root: Path | None, venv: str) -> str:
    entries = [e for e in path.split(os.pathsep) if Path(e).is_absolute() and not (root and _inside(e, root))]
    if venv:
        entries.insert(0, str(Path(venv) / ("Scripts" if os.name == "nt" else "bin")))
    return os.pathsep.join(dict.fromkeys(entries)) or os.defpath


def _inside(path: str, root: Path) -> bool:
    return bool(path) and Path(os.path.realpath(path)).is_relative_to(root)
