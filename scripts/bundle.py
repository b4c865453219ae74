"""Makes the MCP bundle: `dist/regreen-VERSION.mcpb`, what a desktop host installs with one click.

The manifest is made from what is known already: pyproject.toml, the lock and the tool descriptions. The host runs
the bundle with uv, which makes the environment at the first start; the lock's versions are written into the bundled
pyproject as constraints. The same tree gives the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

from regreen.tools import TOOLS

sys.path.insert(0, str(Path(__file__).parent))

from icon import icon_png

ROOT = Path(__file__).parents[1]
LAUNCHER = Path(__file__).with_name("bundle_launch.py")
ENTRY_POINT = "launch.py"
# No seconds, no time zones: the earliest date that a zip can say.
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
KINDS = frozenset({".py", ".typed", ".json", ".html", ".md", ".scm", ".cjs", ".mjs", ".rb", ".php"})
IGNORED = """\
# What `mcpb pack` leaves out: nothing but what running the tree would add to it.
.venv/
__pycache__/
*.pyc
uv.lock
"""


def manifest(project: Mapping[str, Any]) -> dict[str, Any]:
    """What the host reads: how to start the server, what to ask the user, which tools there are."""
    return {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "long_description": (
            "Runs your tests, finds and proves fixes, and puts every file back where a fix is not proven. Works with "
            "no API key and no network after the first start. Each folder that you choose is trusted: its tests are "
            "run."
        ),
        "author": {"name": f"{project['name']} contributors"},
        "icon": "icon.png",
        "icons": [{"src": "icon.png", "size": "512x512"}],
        "server": {
            "type": "uv",
            "entry_point": ENTRY_POINT,
            # An argument that is nothing but a variable with several values becomes several arguments.
            "mcp_config": {
                "command": "uv",
                "args": [
                    "run", "--no-dev", "--directory", "${__dirname}", ENTRY_POINT,
                    "${user_config.mode}", "${user_config.roots}",
                ],
            },
        },
        "tools": [{"name": tool.name, "description": tool.description} for tool in TOOLS],
        "prompts_generated": True,
        "keywords": list(project["keywords"]),
        "license": project["license"],
        "compatibility": {
            "platforms": ["darwin", "linux"],
            "runtimes": {"python": project["requires-python"]},
        },
        "user_config": {
            "roots": {
                "type": "directory",
                "title": "Repositories",
                "description": "Folders that regreen may read, edit and run tests in. Choose only code you trust.",
                "multiple": True,
                "required": True,
            },
            "mode": {
                "type": "string",
                "title": "Mode",
                "description": "plan (reads only), ask (each write or run asks), accept-edits, or auto.",
                "default": "accept-edits",
                "required": False,
            },
        },
    }  # fmt: skip


def bundled_pyproject(text: str, lock: str) -> str:
    """The project as the bundle carries it: what serving needs, at the versions of the lock."""
    document = tomlkit.parse(text)
    for section in ("dependency-groups", "tool"):
        del document[section]
    packages = tomllib.loads(text)["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    document["tool"] = {
        "hatch": {"build": {"targets": {"wheel": {"packages": packages}}}},
        "uv": {"constraint-dependencies": [line for line in lock.splitlines() if line and not line.startswith("#")]},
    }
    return tomlkit.dumps(document)


def bundled_files(root: Path) -> dict[str, bytes]:
    """Every file of the bundle by its name in it, sorted."""
    text = (root / "pyproject.toml").read_text("utf-8")
    parsed = tomllib.loads(text)
    files = {
        "manifest.json": (json.dumps(manifest(parsed["project"]), indent=2, ensure_ascii=False) + "\n").encode(),
        "pyproject.toml": bundled_pyproject(text, (root / "requirements.lock").read_text("utf-8")).encode(),
        "icon.png": icon_png(),
        ".mcpbignore": IGNORED.encode(),
        ENTRY_POINT: LAUNCHER.read_bytes(),
        **{name: (root / name).read_bytes() for name in ("README.md", "LICENSE")},
    }
    for package in parsed["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        files.update({path.relative_to(root).as_posix(): path.read_bytes() for path in _sources(root / package)})
    return dict(sorted(files.items()))


def _sources(folder: Path) -> list[Path]:
    """The files that belong to a package: what git tracks, or without git what is of a known kind. Whatever else lies
    there is somebody's own, and may be a secret."""
    if tracked := _tracked(folder):
        return [folder / name for name in tracked if (folder / name).is_file()]
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix in KINDS)
    return [path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def _tracked(folder: Path) -> list[str]:
    """The names of the files in the folder that git tracks; none where there is no git."""
    if (git := shutil.which("git")) is None:
        return []
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}  # of a hook: about another folder
    listed = subprocess.run([git, "ls-files", "-z"], cwd=folder, env=environ, capture_output=True, check=False)
    return [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name] if listed.returncode == 0 else []


def write_tree(files: Mapping[str, bytes], folder: Path) -> None:
    """The bundle unpacked, in place of what was in the folder: for `mcpb validate` and `mcpb pack`."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def write_bundle(files: Mapping[str, bytes], target: Path) -> None:
    """The bundle itself: sorted names, fixed times and permissions."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, FIXED_TIME)
            entry.create_system = 3  # as on UNIX, wherever it is made
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, files[name], zipfile.ZIP_DEFLATED, 9)


def main(folder: Path = ROOT / "dist") -> int:
    files = bundled_files(ROOT)
    version = json.loads(files["manifest.json"])["version"]
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        print(f"the version is {version!r}; a bundle needs MAJOR.MINOR.PATCH in pyproject.toml", file=sys.stderr)
        return 2
    target = folder / f"regreen-{version}.mcpb"
    write_tree(files, folder / "bundle")
    write_bundle(files, target)
    print(f"{target}: {len(files)} files, {target.stat().st_size:,} bytes; unpacked in {folder / 'bundle'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
