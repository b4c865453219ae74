"""When there is no warm run whatever the server could do. Pure decisions over the project's own settings files."""

from __future__ import annotations

import configparser
import shlex
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

_TOML = {
    "pyproject.toml": (("tool", "pytest", "ini_options"), ("tool", "pytest")),
    "pytest.toml": (("pytest",),),
    ".pytest.toml": (("pytest",),),
}
_INI = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
_SPREADING = ("-n", "--numprocesses", "--dist", "--tx", "--px", "-f", "--looponfail", "--maxprocesses")
_ALIEN = ("--pdb", "--pdbcls", "--trace", "--forked", "--memray", "--profile", "--profile-svg")


def refused(platform: str, level: str, version: str, words: Sequence[str], folder: Path) -> str:
    """Why the tests in `folder` are not to be run from a fork; "" if they may be. `words` are all arguments that
    pytest will see: those of the caller and those of the project's settings."""
    if platform != "linux":
        return f"there is no safe fork on {platform}"
    if level == "container":
        return "the tests run in a container"
    if tuple(int(n) for n in version.split(".")[:2]) < (3, 8):
        return f"Python {version} is too old"
    if spreads(words):
        return "the tests are spread over processes by pytest-xdist"
    alien = next((w for w in words if w.partition("=")[0] in _ALIEN), "")
    if alien:
        return f"`{alien}` needs a process of its own"
    early = next((p for p in early_plugins(words) if _in_project(p, folder)), "")
    return f"the plugin `{early}` of the project must be loaded before anything else" if early else ""


def spreads(words: Sequence[str]) -> bool:
    """Whether pytest-xdist is asked to start processes."""
    for word, following in zip(words, [*words, ""][1:], strict=True):
        name, _, value = word.partition("=")
        if word.startswith("-n") and not word.startswith("--") and word != "-n":
            name, value = "-n", word[2:].lstrip("=")
        if name in _SPREADING and (value or following) not in ("0", "no"):
            return True
    return False


def early_plugins(words: Sequence[str]) -> list[str]:
    """The modules that `-p` names."""
    found: list[str] = []
    for word, following in zip(words, [*words, ""][1:], strict=True):
        if word.startswith("-p") and not word.startswith("--"):
            found.append(word[2:] or following)
    return [name for name in found if name and not name.startswith("no:")]


def own_words(folder: Path, root: Path) -> tuple[str, ...]:
    """The arguments that the settings files of a project add, of all that pytest could take, from `folder` up."""
    words: list[str] = []
    for place in [folder, *(p for p in folder.parents if p.is_relative_to(root))]:
        for name, tables in _TOML.items():
            words += _of_toml(place / name, tables)
        for name, section in _INI.items():
            words += _of_ini(place / name, section)
    return tuple(words)


def _of_toml(path: Path, tables: Iterable[tuple[str, ...]]) -> list[str]:
    try:
        data: Any = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return []
    found: list[str] = []
    for keys in tables:
        table: Any = data
        for key in keys:
            table = cast("dict[str, Any]", table).get(key) if isinstance(table, dict) else None
        value: Any = cast("dict[str, Any]", table).get("addopts") if isinstance(table, dict) else None
        found += [str(v) for v in cast("list[Any]", value)] if isinstance(value, list) else _split(value)
    return found


def _of_ini(path: Path, section: str) -> list[str]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(path.read_text("utf-8"))
        return _split(parser.get(section, "addopts", fallback=""))
    except (OSError, ValueError, configparser.Error):
        return []


def _split(value: object) -> list[str]:
    try:
        return shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        return []


def _in_project(name: str, folder: Path) -> bool:
    """Whether a module of this name lies in the project, beside its settings or below `src`."""
    top = name.partition(".")[0]
    return any(
        (base / f"{top}.py").exists() or (base / top / "__init__.py").exists() for base in (folder, folder / "src")
    )
