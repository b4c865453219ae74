"""Which Python runs the project's tests: never a guess that is not proven by importing pytest in it.

Order: the one that settings name, the active virtual environment, the project's own, and only where the project has
nothing of its own the one that runs regreen. A project's environment without pytest is reported, not passed over.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from regreen.errors import EnvironmentFault
from regreen.sandbox import Cancel, Command, child_environment, run
from regreen.settings import Settings, own_interpreter
from regreen.workspace import Workspace

OLDEST_PYTHON = (3, 8)
OLDEST_PYTEST = 7
PROBE_S = 60.0
_VENVS = (".venv", "venv")
_MARK = "regreen-probe "
_PROBE = f"""
import sys
sys.path.pop(0)
import json
say = {{"version": list(sys.version_info[:3])}}
try:
    import pytest
    say["pytest"] = pytest.__version__
except ImportError as e:
    say["problem"] = str(e)
print({_MARK!r} + json.dumps(say))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that was seen to import pytest. `source` says why this one; `venv` is its environment's folder."""

    path: str
    version: str
    pytest_version: str
    source: str
    venv: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    path: str
    source: str
    problem: str


@dataclass(frozen=True, slots=True)
class NoInterpreter:
    """Nothing fits. `tried` says what was looked at, `hint` what to type."""

    tried: tuple[Tried, ...]
    hint: str

    @property
    def message(self) -> str:
        looks = "; ".join(f"{t.path} ({t.source}): {t.problem}" for t in self.tried)
        return f"no Python that can run this project's tests: {looks}. {self.hint[:1].upper()}{self.hint[1:]}."


_proven: dict[tuple[str, int, int], Interpreter] = {}


def find_interpreter(
    workspace: Workspace, settings: Settings, cancel: Cancel, *, start: str = ""
) -> Interpreter | NoInterpreter:
    """The interpreter for the tests in folder `start` (relative to the root), or what was tried.

    Proofs are remembered for as long as the interpreter and its environment's settings file stay as they are.
    """
    tried: list[Tried] = []
    for path, source in _candidates(workspace.root, settings, start):
        found = _prove(path, source, workspace.root, settings, cancel)
        if isinstance(found, Interpreter):
            return found
        tried.append(found)
        if source.startswith("setting"):
            break
    return NoInterpreter(tuple(tried), _hint(tried[-1]))


def _candidates(root: Path, settings: Settings, start: str) -> Iterator[tuple[str, str]]:
    if settings.python:
        yield settings.python, "setting `python`"
        return
    anything = False
    active = settings.environ.get("VIRTUAL_ENV", "")
    if active and os.path.realpath(active) != os.path.realpath(sys.prefix) and Path(active).is_dir():
        anything = True
        yield str(_python_of(Path(active))), "VIRTUAL_ENV"
    for folder in _upward(start):
        for name in _VENVS:
            venv = root / folder / name
            if (venv / "pyvenv.cfg").is_file() or _python_of(venv).exists():
                anything = True
                yield str(_python_of(venv)), f"the project's {PurePosixPath(folder, name)}"
    if not anything:
        yield own_interpreter(), "regreen's own, since the project has none"


def _upward(start: str) -> Iterator[str]:
    folder = PurePosixPath(start or ".")
    yield str(folder)
    yield from (str(p) for p in folder.parents)


def _python_of(venv: Path) -> Path:
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def _prove(path: str, source: str, root: Path, settings: Settings, cancel: Cancel) -> Interpreter | Tried:
    program = path if Path(path).is_absolute() else shutil.which(path, path=settings.environ.get("PATH", ""))
    if not program or not Path(program).is_file():
        return Tried(path, source, "there is no such program")
    venv = _venv_of(Path(program))
    key = (program, *_stamp(Path(program), venv))
    if key in _proven:
        return _dressed(_proven[key], source)
    found = _probe(program, source, venv, root, settings, cancel)
    if isinstance(found, Interpreter):
        _proven[key] = found
    return found


def _dressed(known: Interpreter, source: str) -> Interpreter:
    return Interpreter(known.path, known.version, known.pytest_version, source, known.venv)


def _stamp(program: Path, venv: str) -> tuple[int, int]:
    settings_file = Path(venv) / "pyvenv.cfg"
    return program.stat().st_mtime_ns, settings_file.stat().st_mtime_ns if venv else 0


def _venv_of(program: Path) -> str:
    folder = program.parent.parent
    return str(folder) if (folder / "pyvenv.cfg").is_file() else ""


def _probe(program: str, source: str, venv: str, root: Path, settings: Settings, cancel: Cancel) -> Interpreter | Tried:
    env = child_environment(settings.environ, {"PYTHONDONTWRITEBYTECODE": "1"}, root=root, venv=venv)
    command = Command((program, "-c", _PROBE), Path(tempfile.gettempdir()), env, PROBE_S)
    try:
        completed = run(command, cancel=cancel)
    except EnvironmentFault as e:
        return Tried(program, source, e.message)
    text = completed.output_head.decode(errors="replace")
    answers = [line[len(_MARK) :] for line in text.splitlines() if line.startswith(_MARK)]
    if not answers:
        ended = "did not answer in time" if completed.timed_out else f"ended with status {completed.returncode}"
        return Tried(program, source, f"{ended}: {text[-200:].strip()!r}")
    return _judge(json.loads(answers[-1]), program, source, venv)


def _judge(answer: dict[str, object], program: str, source: str, venv: str) -> Interpreter | Tried:
    version = answer.get("version")
    numbers = tuple(int(n) for n in version) if isinstance(version, list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    name = ".".join(map(str, numbers))
    if numbers < OLDEST_PYTHON:
        return Tried(program, source, f"Python {name} is too old, 3.8 or newer is wanted")
    if "pytest" not in answer:
        return Tried(program, source, f"pytest cannot be imported ({answer.get('problem', 'no reason given')})")
    pytest_version = str(answer["pytest"])
    if int(pytest_version.partition(".")[0]) < OLDEST_PYTEST:
        return Tried(program, source, f"pytest {pytest_version} is too old, {OLDEST_PYTEST} or newer is wanted")
    return Interpreter(program, name, pytest_version, source, venv)


def _hint(last: Tried) -> str:
    if "pytest" in last.problem:
        return (
            f"install it with `{last.path} -m pip install pytest` or `uv pip install --python {last.path} pytest`, "
            "or name another interpreter with the setting `python` or REGREEN_PYTHON"
        )
    return "make a virtual environment with pytest in the project, or set REGREEN_PYTHON to an interpreter that has it"
