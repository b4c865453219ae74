"""What is published names one product at one version; and the MCP bundle is what its host expects."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.gitrepos import git, make_repo
from support.mcp_clients import TOOLS_FOLDER, node_command, raw_server, server_environment

LARGE = ("tests", "dist", "__pycache__")
ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REGISTRY = json.loads((ROOT / "server.json").read_text("utf-8"))
MOST_DESCRIPTION = 100  # characters; the registry refuses more


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that `make bundle` fills."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "bundle.py"), str(folder)], check=True, capture_output=True)
    yield folder


@pytest.fixture(scope="module")
def manifest(made: Path) -> dict[str, Any]:
    return json.loads((made / "bundle" / "manifest.json").read_text("utf-8"))


def test_names_and_versions_agree(manifest: dict[str, Any], tmp_path: Path) -> None:
    (package,) = REGISTRY["packages"]
    with raw_server([sys.executable, "-m", "regreen", "serve", "--root", str(tmp_path)], cwd=tmp_path,
                    env=server_environment(tmp_path)) as server:  # fmt: skip
        said = server.initialize()["serverInfo"]
    names = {PROJECT["name"], package["identifier"], manifest["name"], said["name"], *PROJECT["scripts"]}
    assert names == {"regreen"}
    versions = {PROJECT["version"], REGISTRY["version"], package["version"], manifest["version"], said["version"]}
    assert len(versions) == 1


def test_the_readme_proves_to_the_registry_whose_package_it_is() -> None:
    assert f"mcp-name: {REGISTRY['name']}" in (ROOT / "README.md").read_text("utf-8")


def test_the_registry_takes_the_entry() -> None:
    assert len(REGISTRY["description"]) <= MOST_DESCRIPTION
    assert REGISTRY["$schema"].endswith("/2025-12-11/server.schema.json")
    assert REGISTRY["name"].startswith("io.github.")


def test_the_bundle_holds_what_serving_needs_and_no_more(made: Path) -> None:
    names = zipfile.ZipFile(made / f"regreen-{PROJECT['version']}.mcpb").namelist()
    assert names == sorted(names)
    tops = {name.split("/")[0] for name in names}
    assert tops == {"manifest.json", "pyproject.toml", "icon.png", ".mcpbignore", "launch.py", "README.md", "LICENSE",
                    "coding", "server", "editor_bridge"}  # fmt: skip
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    assert "server/regreen_server/view.html" in names


@pytest.mark.parametrize("where", ["in git", "outside of git", "without git"])
def test_what_lies_about_in_a_package_is_not_bundled(tmp_path: Path, where: str,
                                                     monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from bundle import bundled_files
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    shutil.copytree(
        ROOT,
        tmp_path / "tree",
        ignore=lambda _, names: {n for n in names if (n[0] in "._" and n[:2] != "__") or n in LARGE},
    )
    tracked = where == "in git"
    if tracked:
        git(make_repo(tmp_path / "tree"), "add", "coding", "server", "editor_bridge")
    package = tmp_path / "tree" / "coding" / "regreen"
    strays = [package / ".env", package / "id_rsa", package / "dump.sqlite", package / ".cache" / "x.py"]
    strays += [package / "stray.py"] if tracked else []
    for stray in strays:
        stray.parent.mkdir(exist_ok=True)
        stray.write_text("secret")
    if where == "without git":
        monkeypatch.setenv("PATH", "")
    names = bundled_files(tmp_path / "tree")
    assert "coding/regreen/py.typed" in names and "coding/regreen/__init__.py" in names
    assert not [s for s in strays if s.relative_to(tmp_path / "tree").as_posix() in names]


def test_the_same_tree_makes_the_same_bundle(made: Path, tmp_path: Path) -> None:
    files = {p.relative_to(made / "bundle").as_posix(): p.read_bytes() for p in (made / "bundle").rglob("*")
             if p.is_file()}  # fmt: skip
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from bundle import write_bundle
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    write_bundle(dict(reversed(files.items())), tmp_path / "again.mcpb")
    first, second = (made / f"regreen-{PROJECT['version']}.mcpb", tmp_path / "again.mcpb")
    assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(second.read_bytes()).digest()


def test_the_bundled_project_is_held_to_the_lock_and_has_no_tools_of_ours(made: Path) -> None:
    bundled = tomllib.loads((made / "bundle" / "pyproject.toml").read_text("utf-8"))
    assert bundled["project"] == PROJECT
    assert set(bundled["tool"]) == {"hatch", "uv"}
    assert "dependency-groups" not in bundled
    lock = [line for line in (ROOT / "requirements.lock").read_text("utf-8").splitlines() if line]
    assert bundled["tool"]["uv"]["constraint-dependencies"] == lock


def test_the_icon_has_the_size_that_hosts_show(made: Path) -> None:
    data = (made / "bundle" / "icon.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", data[16:24]) == (512, 512)


def test_mcpb_takes_the_manifest_and_packs_the_same_files(made: Path, tmp_path: Path) -> None:
    command = [
        *node_command(),
        str(TOOLS_FOLDER / "node_modules" / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"),
    ]
    subprocess.run([*command, "validate", str(made / "bundle" / "manifest.json")], check=True, capture_output=True)
    packed = tmp_path / "packed.mcpb"
    subprocess.run([*command, "pack", str(made / "bundle"), str(packed)], check=True, capture_output=True)
    ours = set(zipfile.ZipFile(made / f"regreen-{PROJECT['version']}.mcpb").namelist()) - {".mcpbignore"}
    assert set(zipfile.ZipFile(packed).namelist()) == ours


def test_the_settings_that_the_user_chose_become_the_servers_roots_and_mode(
    made: Path, manifest: dict[str, Any], tmp_path: Path
) -> None:
    """As a host expands them: a list in place of a variable that is a whole argument."""
    roots = [tmp_path / "one", tmp_path / "two words"]
    for root in roots:
        root.mkdir()
    chosen = {"${user_config.roots}": [str(r) for r in roots], "${user_config.mode}": ["plan"]}
    args = manifest["server"]["mcp_config"]["args"]
    words = [word for arg in args for word in chosen.get(arg, [arg])]
    behind = words[words.index(manifest["server"]["entry_point"]) :]
    with raw_server([sys.executable, *behind], cwd=made / "bundle", env=server_environment(tmp_path)) as server:
        server.initialize()
        for root in roots:
            answer = server.call("repo_skeleton", repo=str(root))
            assert not answer.is_error, answer.text
        refused = server.call("apply_edits", repo=str(roots[0]), replacements=[
            {"path": "new.py", "search": "", "replace": "x = 1\n"}])  # fmt: skip
    assert not (roots[0] / "new.py").exists(), refused.text
