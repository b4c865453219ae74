"""Node itself, and the runner that a project has installed: found, proven to be there, or what is missing said.

A folder of packages may be a link that leads out of the project, as workspaces and stores of package managers have
them: the whole project was trusted, and its packages with it. What is started is Node, with the runner's own script;
the files that package managers write into `node_modules/.bin` are not used.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from regreen.commands.programs import find_program
from regreen.errors import EnvironmentFault
from regreen.sandbox import Cancel, Command, child_environment, run
from regreen.settings import Settings
from regreen.testing.heard import Absent, Asked
from regreen.testing.looking import Look

_INSIDE = Path(__file__).parents[1] / "inside"
_MAX_JSON_BYTES = 4 * 1024 * 1024
_PROOF_S = 20.0
MANAGERS = (
    ("pnpm-lock.yaml", "pnpm", "pnpm install"),
    ("yarn.lock", "yarn", "yarn install"),
    ("package-lock.json", "npm", "npm ci"),
    ("npm-shrinkwrap.json", "npm", "npm ci"),
    ("bun.lock", "bun", "bun install"),
    ("bun.lockb", "bun", "bun install"),
)


@dataclass(frozen=True, slots=True)
class Node:
    """Node: its path and version."""

    path: Path
    version: tuple[int, ...]

    @property
    def shown(self) -> str:
        """For the result's `interpreter`."""
        return f"{self.path} (Node {'.'.join(map(str, self.version))})"


@dataclass(frozen=True, slots=True)
class Package:
    """A package that the project has installed. `script` is what its program's name stands for."""

    folder: Path
    version: tuple[int, ...]
    script: Path
    engines: str = ""  # the versions of Node that it is made for


def find_node(asked: Asked) -> Node | Absent:
    """Node from the PATH, never one of the project's."""
    settings, root = asked.request.settings, asked.request.workspace.root
    path = find_program("node", settings.environ, root)
    if path is None:
        return Absent("Node was not found on the PATH; install Node 20 or newer, or add its folder to the PATH")
    version = _proven(str(path), settings, str(root), path.stat().st_mtime_ns)
    return Node(path, version) if version else Absent(f"{path} does not answer as Node does: `{path} --version` fails")


def _proven(path: str, settings: Settings, root: str, _changed_ns: int) -> tuple[int, ...]:
    environ = child_environment(settings.environ, root=Path(root))
    return _version_of(path, tuple(sorted(environ.items())), _changed_ns)


@lru_cache(maxsize=16)
def _version_of(path: str, environ: tuple[tuple[str, str], ...], _changed_ns: int) -> tuple[int, ...]:
    command = Command((path, "--version"), cwd=Path("/"), env=dict(environ), timeout_s=_PROOF_S)
    try:
        completed = run(command, cancel=Cancel())
    except EnvironmentFault:
        return ()
    return numbers(completed.output_head.decode("ascii", "replace")) if completed.returncode == 0 else ()


def numbers(version: str) -> tuple[int, ...]:
    """`v20.1.3-rc.1` as (20, 1, 3); empty for what is no version."""
    match = re.match(r"\s*v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})", version)
    return tuple(map(int, match.groups())) if match else ()


def find_package(asked: Asked, name: str) -> Package | Absent:
    """The installed package `name`, from the project's folder upwards to the root."""
    root = asked.request.workspace.root
    for folder in _upward(asked.folder, root):
        place = folder / "node_modules" / name
        described = read_json(place / "package.json")
        script = _script(place, name, described)
        if script is not None:
            engines = described.get("engines")
            wanted = str(cast("dict[str, Any]", engines).get("node", "")) if isinstance(engines, dict) else ""
            return Package(place, numbers(str(described.get("version", ""))), script, wanted)
    return Absent(_not_installed(asked.look, name, asked.folder, root))


def _upward(folder: Path, root: Path) -> list[Path]:
    return [p for p in (folder, *folder.parents) if p.is_relative_to(root)]


def _script(place: Path, name: str, described: dict[str, Any]) -> Path | None:
    programs = described.get("bin")
    relative = cast("dict[str, Any]", programs).get(name) if isinstance(programs, dict) else programs
    if not isinstance(relative, str):
        return None
    try:
        script = (place / relative).resolve()
        inside = script.is_relative_to(place.resolve())
        return script if inside and script.is_file() else None
    except OSError:
        return None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file's object; empty where there is none."""
    try:
        if path.stat().st_size > _MAX_JSON_BYTES:
            return {}
        data = json.loads(path.read_text("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def made_for(package: Package, name: str, node: Node) -> tuple[str, ...]:
    """A note where a package says that it is made for other versions of Node."""
    if fits(package.engines, node.version):
        return ()
    shown = ".".join(map(str, package.version))
    return (f"{name} {shown} is made for Node {package.engines}, and this is Node {'.'.join(map(str, node.version))}",)


def fits(wanted: str, version: tuple[int, ...]) -> bool:
    """Whether a version is in a range such as `^20.0.0 || >=22.12`. What cannot be read counts as fitting."""
    close = re.sub(r"([<>=^~])\s+", r"\1", wanted)
    return not wanted or any(all(_holds(part, version) for part in one.split()) for one in close.split("||"))


def _holds(part: str, version: tuple[int, ...]) -> bool:
    match = re.fullmatch(r"(\^|~|>=|)v?(\d{1,4})(?:\.(\d{1,4}|x))?(?:\.(\d{1,4}|x))?", part)
    if match is None:
        return True
    low = tuple(int(n) if n and n != "x" else 0 for n in match.groups()[1:])
    return version >= low and (match[1] == ">=" or version[0] == low[0])


def caches(package: Package, root: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """Folders beside the packages that a runner keeps things in, where they lie outside of the project and so could
    not be written."""
    home = next((p for p in package.folder.resolve().parents if p.name == "node_modules"), None)
    if home is None or home.is_relative_to(root.resolve()):
        return ()
    made = tuple(home / name for name in names)
    try:
        for folder in made:
            folder.mkdir(exist_ok=True)
    except OSError:
        return ()
    return made


def installed(asked: Asked, name: str) -> bool:
    """Whether a package of this name lies there."""
    root = asked.request.workspace.root
    return any((f / "node_modules" / name / "package.json").is_file() for f in _upward(asked.folder, root))


def _not_installed(look: Look, name: str, folder: Path, root: Path) -> str:
    if any((f / ".pnp.cjs").is_file() for f in _upward(folder, root)):
        return (
            f"{name} cannot be started: the packages are installed by Yarn's Plug'n'Play, without `node_modules`. "
            "Set `nodeLinker: node-modules` in .yarnrc.yml and run `yarn install`"
        )
    where = look.folder or "the project"
    if not any((f / "node_modules").is_dir() for f in _upward(folder, root)):
        return f"the packages of {where} are not installed (there is no `node_modules`): run `{to_install(look)}`"
    if name in dependencies(look):
        return f"{name} is not installed in `node_modules`: run `{to_install(look)}`"
    return f"{name} is no dependency of {where} and not installed: run `{to_add(look, name)}`"


def manager_of(look: Look) -> str:
    """Which package manager the project is kept with."""
    named = str(look.json("package.json").get("packageManager", "")).partition("@")[0]
    if named in ("npm", "pnpm", "yarn", "bun"):
        return named
    return next((m for file, m, _ in MANAGERS if look.exists(file)), "") or _of_root(look)


def _of_root(look: Look) -> str:
    return manager_of(Look(look.workspace)) if look.folder else "npm"


def to_install(look: Look) -> str:
    """What to type so that the project's packages are there."""
    manager = manager_of(look)
    return next((c for file, m, c in MANAGERS if m == manager and look.exists(file)), f"{manager} install")


def to_add(look: Look, name: str) -> str:
    """What to type so that the project depends on a package."""
    manager = manager_of(look)
    return f"npm install --save-dev {name}" if manager == "npm" else f"{manager} add --dev {name}"


def dependencies(look: Look) -> dict[str, str]:
    """Packages that the project names, with the versions it wants."""
    described = look.json("package.json")
    found: dict[str, str] = {}
    for kind in ("optionalDependencies", "peerDependencies", "dependencies", "devDependencies"):
        listed = described.get(kind)
        if isinstance(listed, dict):
            found.update({str(k): str(v) for k, v in cast("dict[str, Any]", listed).items()})
    return found


def lay_out(asked: Asked, names: Sequence[str]) -> list[Path]:
    """Copies of our reporters in the run's private folder, where the runner can read them in any sandbox."""
    for name in ("regreen_channel.cjs", *names):
        shutil.copyfile(_INSIDE / name, asked.private / name)
    return [asked.private / name for name in names]
