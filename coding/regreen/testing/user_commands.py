"""Commands that the user has approved for a repository in the settings of their own: where their program is, and what
of the project's environment they see. Tests with a command of the user's, and gates, are run by them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from regreen.commands.programs import file_names, find_program
from regreen.sandbox import child_environment
from regreen.settings import Settings, own_interpreter
from regreen.testing.environments import candidates
from regreen.workspace import Workspace


@dataclass(frozen=True, slots=True)
class UserCommand:
    """The argv with its program found, and the variables that make the project's environment the active one."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


def user_command(argv: tuple[str, ...], workspace: Workspace, settings: Settings) -> UserCommand | None:
    """The command, ready to be run in the root; None where there is no such program."""
    root = workspace.root
    venv = _venv(workspace, settings)
    program = _program(argv[0], settings, root, venv)
    if program is None:
        return None
    chosen = child_environment(settings.environ, root=root, venv=venv) if venv else dict[str, str]()
    env = {name: chosen[name] for name in ("PATH", "VIRTUAL_ENV") if name in chosen}
    return UserCommand((str(program), *argv[1:]), env)


def _venv(workspace: Workspace, settings: Settings) -> str:
    """The folder of the project's virtual environment; "" for none that can be used."""
    for found in candidates(workspace, settings, ""):
        env = Path(found.path).parent.parent
        usable = not found.problem and found.path != own_interpreter() and Path(found.path).exists()
        if usable and ((env / "pyvenv.cfg").is_file() or (env / "conda-meta").is_dir()):
            return str(env)
    return ""


def _program(word: str, settings: Settings, root: Path, venv: str) -> Path | None:
    """A file that the user names may be a link that leads out of the project, as a `.venv/bin/python` is; programs of
    the project's environment come before those of the PATH."""
    windows = os.name == "nt"
    names = file_names(Path(word).name, settings.environ.get("PATHEXT", ""), windows=windows)
    folder = Path(venv) / ("Scripts" if windows else "bin")
    if "/" in word or Path(word).is_absolute():
        folder = (root / word).parent
    elif not venv:
        return find_program(word, settings.environ, root)
    found = next((p for n in names if (p := folder / n).is_file() and os.access(p, os.X_OK)), None)
    return found if found is not None or "/" in word else find_program(word, settings.environ, root)
