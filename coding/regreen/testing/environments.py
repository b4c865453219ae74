"""Where a project's Python may be: what its owner has activated, what lies in its folders, and what the usual tools
keep for it elsewhere. Only looks at files and the given environment; runs nothing, proves nothing.

The nearest folder comes first. Names that a project's files give (`.python-version`, `environment.yml`) are looked up
in the folders of the tools that they belong to and are never used as paths.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from regreen.settings import Settings, own_interpreter
from regreen.testing.looking import Look
from regreen.workspace import Workspace

BORROWED = "regreen's own, since the project has none"  # how the source of the last resort begins
_WINDOWS = os.name == "nt"
_VENVS = (".venv", "venv", "env")
_PYTHON = re.compile(r"python(\d+(\.\d+)*)?(\.exe)?$")
_NAME = re.compile(r"[\w][\w.+-]{0,100}")
_CONDA_FILES = ("environment.yml", "environment.yaml", "conda.yml")
_CONDA_HOMES = ("miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba", ".conda")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A Python that may be meant. `source` says why, `problem` why it cannot be it, where that can be seen."""

    path: str
    source: str
    problem: str = ""


def is_there(path: Path) -> bool:
    """Whether a path exists; what cannot be looked at does not."""
    try:
        return path.exists()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; what cannot be looked at is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def candidates(workspace: Workspace, settings: Settings, start: str) -> Iterator[Candidate]:
    """In the order in which they are to be tried, for tests in the folder `start`, relative to the root."""
    if settings.python:
        yield Candidate(settings.python, "setting `python`")
        return
    anything = False
    for found in _projects(workspace, settings, start):
        anything = True
        yield found
    if not anything:
        wanted = _not_installed(workspace, start)
        yield Candidate(own_interpreter(), f"{BORROWED}{wanted}")


def _projects(workspace: Workspace, settings: Settings, start: str) -> Iterator[Candidate]:
    active = settings.environ.get("VIRTUAL_ENV", "")
    if active and not _is_ours(active) and is_folder(Path(active)):
        yield Candidate(str(python_of(Path(active))), "VIRTUAL_ENV")
    for folder in _upward(start):
        look = Look(workspace, "" if folder == "." else folder)
        yield from _in_folder(look, settings)
        for tool in (_pdm, _poetry, _pipenv, _hatch, _conda_file):
            yield from tool(look, settings)
    yield from _conda_active(settings)
    for folder in _upward(start):
        yield from _pyenv(Look(workspace, "" if folder == "." else folder), settings)


def _is_ours(folder: str) -> bool:
    return os.path.realpath(folder) == os.path.realpath(sys.prefix)


def _upward(start: str) -> Iterator[str]:
    folder = PurePosixPath(start or ".")
    yield str(folder)
    yield from (str(p) for p in folder.parents)


def python_of(env: Path) -> Path:
    """The interpreter of an environment's folder."""
    if _WINDOWS:
        inner = env / "Scripts" / "python.exe"
        return inner if is_there(inner) or not is_there(env / "python.exe") else env / "python.exe"
    return env / "bin" / "python"


def _environment(env: Path, source: str) -> Candidate | None:
    """The candidate that an environment's folder makes; None where it is no environment."""
    python = python_of(env)
    if env.is_symlink() and not is_there(env):
        return Candidate(str(python), source, f"{env.name} is a link to {_target(env)}, which is not there")
    other = env / ("bin/python" if _WINDOWS else "Scripts/python.exe")
    if not (is_there(env / "pyvenv.cfg") or is_folder(env / "conda-meta") or os.path.lexists(python)):
        return None
    if os.path.lexists(python) and not is_there(python):
        return Candidate(str(python), source, f"its base Python is gone: it leads to {_target(python)}")
    if not is_there(python):
        foreign = os.path.lexists(other)
        problem = f"it was made on another platform: it has {other.parent.name}" if foreign else "it holds no Python"
        return Candidate(str(python), source, problem)
    return Candidate(str(python), source)


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return "another file"


def _in_folder(look: Look, settings: Settings) -> Iterator[Candidate]:
    named = settings.environ.get("UV_PROJECT_ENVIRONMENT", "")
    if named and (look.exists("pyproject.toml") or look.exists("uv.lock")):
        found = _environment(look.path / named, "UV_PROJECT_ENVIRONMENT")
        if found is not None:
            yield found
    for name in _VENVS:
        found = _environment(look.path / name, f"the project's {look.at(name)}")
        if found is not None:
            yield found


def _pdm(look: Look, _settings: Settings) -> Iterator[Candidate]:
    path = Path(look.text(".pdm-python").strip() or ".")
    if path.is_absolute() and _PYTHON.fullmatch(path.name):
        problem = "" if is_there(path) else "there is no such program"
        yield Candidate(str(path), f"pdm ({look.at('.pdm-python')})", problem)


def _poetry(look: Look, settings: Settings) -> Iterator[Candidate]:
    """Poetry names its environments after the project and a hash of its folder, which is what tells them apart."""
    if not (look.exists("poetry.lock") or "poetry" in look.text("pyproject.toml")):
        return
    environ = settings.environ
    base = environ.get("POETRY_VIRTUALENVS_PATH", "")
    cache = Path(environ.get("POETRY_CACHE_DIR") or _cache(settings) / "pypoetry")
    digest = _digest(os.path.normcase(os.path.realpath(look.path)).encode())
    fitting = re.compile(rf".+-{re.escape(digest)}-py\d[\d.]*")
    found = [p for p in _listed(Path(base) if base else cache / "virtualenvs") if fitting.fullmatch(p.name)]
    yield from _all_of(sorted(found, key=_numbers, reverse=True), "poetry's environment")


def _pipenv(look: Look, settings: Settings) -> Iterator[Candidate]:
    if not look.exists("Pipfile"):
        return
    home = settings.environ.get("WORKON_HOME", "")
    base = Path(home) if home else _home(settings) / (".virtualenvs" if _WINDOWS else ".local/share/virtualenvs")
    location = look.path / "Pipfile"
    digest = base64.urlsafe_b64encode(hashlib.sha256(str(location).encode()).digest()[:6]).decode()[:8]
    yield from _all_of([p for p in _listed(base) if p.name.endswith(f"-{digest}")], "pipenv's environment")


def _hatch(look: Look, settings: Settings) -> Iterator[Candidate]:
    if not (look.exists("hatch.toml") or "hatch" in look.text("pyproject.toml")):
        return
    data = Path(settings.environ.get("HATCH_DATA_DIR") or _data(settings) / "hatch")
    digest = _digest(str(look.path).encode())
    found = [e for p in _listed(data / "env" / "virtual") for e in _listed(p / digest)] + _listed(look.path / ".hatch")
    found.sort(key=lambda p: (not p.name.startswith("hatch-test"), "test" not in p.name, p.name))
    yield from _all_of(found, "hatch's environment")


def _conda_file(look: Look, settings: Settings) -> Iterator[Candidate]:
    for file in _CONDA_FILES:
        match = re.search(r"^name:\s*['\"]?([\w.-]+)", look.text(file), re.MULTILINE)
        if match and _NAME.fullmatch(match[1]):
            folders = [base / match[1] for base in _conda_bases(settings)]
            yield from _all_of([f for f in folders if is_folder(f)][:1], f"conda's environment of {look.at(file)}")
            return


def _conda_bases(settings: Settings) -> Iterator[Path]:
    environ = settings.environ
    for name in ("MAMBA_ROOT_PREFIX", "CONDA_ROOT"):
        if environ.get(name):
            yield Path(environ[name]) / "envs"
    if environ.get("CONDA_EXE"):
        yield Path(environ["CONDA_EXE"]).parent.parent / "envs"
    if environ.get("CONDA_PREFIX"):
        active = Path(environ["CONDA_PREFIX"])
        yield active.parent if active.parent.name == "envs" else active / "envs"
    for name in _CONDA_HOMES:
        yield _home(settings) / name / "envs"


def _conda_active(settings: Settings) -> Iterator[Candidate]:
    """The active environment of conda, unless it is the base one, in which a shell begins."""
    prefix = settings.environ.get("CONDA_PREFIX", "")
    base = settings.environ.get("CONDA_DEFAULT_ENV") == "base" or is_folder(Path(prefix) / "condabin")
    if prefix and not base and not _is_ours(prefix) and is_folder(Path(prefix)):
        yield Candidate(str(python_of(Path(prefix))), "CONDA_PREFIX")


def _pyenv(look: Look, settings: Settings) -> Iterator[Candidate]:
    for version in _versions(look):
        installed = [p for p in _listed(_pyenv_root(settings) / "versions") if _is_version(p.name, version)]
        best = sorted(installed, key=_numbers, reverse=True)[:1]
        yield from _all_of(best, f"pyenv's Python of {look.at('.python-version')}")


def _versions(look: Look) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in look.text(".python-version").splitlines())
    return [line for line in lines if _NAME.fullmatch(line) and line != "system"]


def _is_version(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}.")


def _not_installed(workspace: Workspace, start: str) -> str:
    """A word about a version that the project wants and that is not there."""
    for folder in _upward(start):
        wanted = _versions(Look(workspace, "" if folder == "." else folder))
        if wanted:
            return f" (.python-version wants {wanted[0]}, which pyenv does not have)"
    return ""


def _all_of(folders: list[Path], source: str) -> Iterator[Candidate]:
    for folder in folders:
        found = _environment(folder, f"{source} {folder.name}")
        if found is not None:
            yield found


def _numbers(path: Path) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", path.name.rpartition("-py")[2]))


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()[:8]


def _listed(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(p for p in folder.iterdir() if is_folder(p))
    return []


def _home(settings: Settings) -> Path:
    return Path(settings.environ.get("HOME") or settings.environ.get("USERPROFILE") or os.sep)


def _pyenv_root(settings: Settings) -> Path:
    named = settings.environ.get("PYENV_ROOT", "")
    return Path(named) if named else _home(settings) / ".pyenv"


def _cache(settings: Settings) -> Path:
    if _WINDOWS:
        return Path(settings.environ.get("LOCALAPPDATA") or _home(settings))
    if sys.platform == "darwin":
        return _home(settings) / "Library" / "Caches"
    return Path(settings.environ.get("XDG_CACHE_HOME") or _home(settings) / ".cache")


def _data(settings: Settings) -> Path:
    if _WINDOWS:
        return Path(settings.environ.get("LOCALAPPDATA") or _home(settings))
    if sys.platform == "darwin":
        return _home(settings) / "Library" / "Application Support"
    return Path(settings.environ.get("XDG_DATA_HOME") or _home(settings) / ".local" / "share")
