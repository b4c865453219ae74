"""Which Python runs the project's tests: never a guess that is not proven by importing the runner in it.

Order: the one that settings name, the active virtual environment, the project's own, and only where the project has
nothing of its own the one that runs regreen. A project's environment without the runner is reported, not passed over.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from regreen.errors import EnvironmentFault
from regreen.sandbox import Cancel, Command, Completed, child_environment, confine, isolation, run
from regreen.settings import Settings
from regreen.testing.environments import BORROWED, candidates, is_folder, is_there
from regreen.workspace import Workspace

Needs: TypeAlias = Literal["pytest", "unittest"]

OLDEST_PYTHON = (3, 8)
OLDEST_PYTEST = 7
PROBE_S = 60.0
_PROOFS = "interpreters.json"
_MAX_PROOFS = 100
_MARK = "regreen-probe "
_PROBE = f"""
import sys
sys.path.pop(0)
import json, unittest
say = {{"version": list(sys.version_info[:3])}}
try:
    import pytest
    say["pytest"] = pytest.__version__
    say["site"] = str(__import__("pathlib").Path(pytest.__file__).parents[1])
except ImportError as e:
    say["problem"] = str(e)
    say["site"] = __import__("sysconfig").get_paths()["purelib"]
print({_MARK!r} + json.dumps(say))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that was seen to import the runner. `pytest_version` is empty where unittest was wanted and pytest is
    not there. `source` says why this one; `venv` is its environment's folder."""

    path: str
    version: str
    pytest_version: str
    source: str
    venv: str = ""

    @property
    def borrowed(self) -> bool:
        """Whether it is regreen's own, for want of one of the project."""
        return self.source.startswith(BORROWED)

    @property
    def shown(self) -> str:
        runner = f", pytest {self.pytest_version}" if self.pytest_version else ""
        return f"{self.source} (Python {self.version}{runner})"


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
    workspace: Workspace,
    settings: Settings,
    cancel: Cancel,
    *,
    start: str = "",
    needs: Needs = "pytest",
    limit_s: float = PROBE_S,
) -> Interpreter | NoInterpreter:
    """The interpreter for the tests in folder `start` (relative to the root), or what was tried.

    No single one is asked for longer than `limit_s` seconds. Proofs are remembered, also in the cache folder, for as
    long as the interpreter, its environment's settings file and the folder that holds pytest stay as they are.
    """
    tried: list[Tried] = []
    for one in candidates(workspace, settings, start):
        prober = _Prober(one.source, needs, workspace.root, settings, cancel, min(limit_s, PROBE_S))
        found = Tried(one.path, one.source, one.problem) if one.problem else prober.prove(one.path)
        if isinstance(found, Interpreter):
            return found
        tried.append(found)
    return NoInterpreter(tuple(tried), _hint(tried, needs))


def _stamp(program: str, venv: str, site: str) -> tuple[int, ...]:
    files = (Path(program), *([_marker(Path(venv))] if venv else []), Path(site))
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
    return str(folder) if is_there(_marker(folder)) else ""


def _marker(env: Path) -> Path:
    """What makes a folder an environment, of conda or of any other tool."""
    conda = env / "conda-meta"
    return conda if is_folder(conda) else env / "pyvenv.cfg"


@dataclass(frozen=True, slots=True)
class _Prober:
    source: str
    needs: Needs
    root: Path
    settings: Settings
    cancel: Cancel
    limit_s: float

    def prove(self, path: str) -> Interpreter | Tried:
        program = path if Path(path).is_absolute() else shutil.which(path, path=self.settings.environ.get("PATH", ""))
        if not program or not is_there(Path(program)) or is_folder(Path(program)):
            return Tried(path, self.source, "there is no such program")
        venv = _venv_of(Path(program))
        known = _proven.get(program) or _load(self.settings.cache_dir).get(program)
        if known is not None and self._enough(known.found) and known.stamp == _stamp(program, venv, known.site) != ():
            _proven[program] = known
            return replace(known.found, source=self.source)
        proof = self._probe(program, venv)
        if isinstance(proof, Tried):
            return proof
        _proven[program] = proof
        _save(self.settings.cache_dir)
        return proof.found

    def _enough(self, found: Interpreter) -> bool:
        return bool(found.pytest_version) or self.needs == "unittest"

    def _probe(self, program: str, venv: str) -> _Proof | Tried:
        env = child_environment(self.settings.environ, {"PYTHONDONTWRITEBYTECODE": "1"}, root=self.root, venv=venv)
        confinement = confine(isolation(self.settings), self.root)
        command = Command((program, "-c", _PROBE), self.root, env, self.limit_s, confinement=confinement)
        try:
            completed = run(command, cancel=self.cancel)
        except EnvironmentFault as e:
            return Tried(program, self.source, e.message)
        answer = _answer(completed)
        if isinstance(answer, str):
            return Tried(program, self.source, answer)
        return self._judge(answer, program, venv)

    def _judge(self, answer: dict[str, object], program: str, venv: str) -> _Proof | Tried:
        version = answer.get("version")
        numbers = tuple(int(n) for n in version) if isinstance(version, list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        name = ".".join(map(str, numbers))
        if numbers < OLDEST_PYTHON:
            return Tried(program, self.source, f"Python {name} is too old, 3.8 or newer is wanted")
        pytest_version = str(answer.get("pytest", ""))
        if self.needs == "pytest":
            if not pytest_version:
                why = answer.get("problem", "no reason given")
                return Tried(program, self.source, f"pytest cannot be imported ({why})")
            if int(pytest_version.partition(".")[0]) < OLDEST_PYTEST:
                problem = f"pytest {pytest_version} is too old, {OLDEST_PYTEST} or newer is wanted"
                return Tried(program, self.source, problem)
        site = str(answer["site"])
        found = Interpreter(program, name, pytest_version, self.source, venv)
        return _Proof(found, site, _stamp(program, venv, site))


def _answer(completed: Completed) -> dict[str, object] | str:
    """What a probe said, or how it failed."""
    text = completed.output_head.decode(errors="replace")
    said = [line[len(_MARK) :] for line in text.splitlines() if line.startswith(_MARK)]
    if said:
        return json.loads(said[-1])
    ended = "did not answer in time" if completed.timed_out else f"ended with status {completed.returncode}"
    return f"{ended}: {text[-200:].strip()!r}"


def _hint(tried: list[Tried], needs: Needs) -> str:
    without = [t for t in tried if "pytest" in t.problem]
    if without:
        path = without[-1].path
        return (
            f"install it with `{path} -m pip install pytest` or `uv pip install --python {path} pytest`, "
            "or name another interpreter with the setting `python` or REGREEN_PYTHON"
        )
    wanted = " with pytest" if needs == "pytest" else ""
    return f"make a virtual environment{wanted} in the project, or set REGREEN_PYTHON to an interpreter that fits"
