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
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path, PurePosixPath

from regreen.errors import EnvironmentFault
from regreen.sandbox import Cancel, Command, child_environment, run
from regreen.settings import Settings, own_interpreter
from regreen.workspace import Workspace

OLDEST_PYTHON = (3, 8)
OLDEST_PYTEST = 7
PROBE_S = 60.0
_VENVS = (".venv", "venv")
_PROOFS = "interpreters.json"
_MAX_PROOFS = 100
_MARK = "regreen-probe "
_PROBE = f"""
import sys
sys.path.pop(0)
import json
say = {{"version": list(sys.version_info[:3])}}
try:
    import pytest
    say["pytest"] = pytest.__version__
    say["site"] = str(__import__("pathlib").Path(pytest.__file__).parents[1])
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


@dataclass(frozen=True, slots=True)
class _Proof:
    """What a probe found, and the times of the files that it rests on: interpreter, environment, `site` folder."""

    found: Interpreter
    site: str
    stamp: tuple[int, ...]


_proven: dict[str, _Proof] = {}


def find_interpreter(
    workspace: Workspace, settings: Settings, cancel: Cancel, *, start: str = ""
) -> Interpreter | NoInterpreter:
    """The interpreter for the tests in folder `start` (relative to the root), or what was tried.

    Proofs are remembered, also in the cache folder, for as long as the interpreter, its environment's settings file
    and the folder that holds pytest stay as they are.
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
    known = _proven.get(program) or _load(settings.cache_dir).get(program)
    if known is not None and known.stamp == _stamp(program, venv, known.site):
        _proven[program] = known
        return replace(known.found, source=source)
    proof = _probe(program, source, venv, root, settings, cancel)
    if isinstance(proof, Tried):
        return proof
    _proven[program] = proof
    _save(settings.cache_dir)
    return proof.found


def _stamp(program: str, venv: str, site: str) -> tuple[int, ...]:
    files = (Path(program), *([Path(venv, "pyvenv.cfg")] if venv else []), Path(site))
    try:
        return tuple(f.stat().st_mtime_ns for f in files)
    except OSError:
        return ()


def _load(cache: Path) -> dict[str, _Proof]:
    """The proofs of earlier processes. Whatever is odd about the file only means that we prove again."""
    try:
        rows = json.loads((cache / _PROOFS).read_bytes())
        proofs = [_Proof(Interpreter(*r["found"]), r["site"], tuple(r["stamp"])) for r in rows]
        return {p.found.path: p for p in proofs}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def _save(cache: Path) -> None:
    rows = [{"found": astuple(p.found), "site": p.site, "stamp": p.stamp} for p in {**_load(cache), **_proven}.values()]
    temporary = cache / f"{_PROOFS}.{os.getpid()}-{threading.get_ident()}"
    with suppress(OSError):
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(json.dumps(rows[-_MAX_PROOFS:]), "utf-8")
        temporary.replace(cache / _PROOFS)


def _venv_of(program: Path) -> str:
    folder = program.parent.parent
    return str(folder) if (folder / "pyvenv.cfg").is_file() else ""


def _probe(program: str, source: str, venv: str, root: Path, settings: Settings, cancel: Cancel) -> _Proof | Tried:
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


def _judge(answer: dict[str, object], program: str, source: str, venv: str) -> _Proof | Tried:
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
    site = str(answer["site"])
    found = Interpreter(program, name, pytest_version, source, venv)
    return _Proof(found, site, _stamp(program, venv, site))


def _hint(last: Tried) -> str:
    if "pytest" in last.problem:
        return (
            f"install it with `{last.path} -m pip install pytest` or `uv pip install --python {last.path} pytest`, "
            "or name another interpreter with the setting `python` or REGREEN_PYTHON"
        )
    return "make a virtual environment with pytest in the project, or set REGREEN_PYTHON to an interpreter that has it"
