"""Projects in JavaScript, the locked runners that they are linked to, and the Node that runs them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from regreen.model import SuiteReport
from support.suites import project, run_tests, settings_with

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / ".ci-tools" / "js" / "node_modules"
NEWER_NODE = ROOT / ".ci-tools" / "node_modules" / ".bin" / "node"


def node_folders() -> list[str]:
    """Folders with a Node, for PATH: that of the machine, and the newer one of the test clients."""
    found = [Path(f).parent for f in (shutil.which("node"), NEWER_NODE) if f and Path(f).exists()]
    return list(dict.fromkeys(map(str, found)))


def need_node() -> None:
    """Skip where no Node is to be had."""
    if not node_folders():
        pytest.skip("NOT RUN: there is no `node` on the PATH, and none in .ci-tools (make node)")


def need(package: str) -> None:
    """Skip where a runner is not installed."""
    need_node()
    if not (PACKAGES / package / "package.json").is_file():
        pytest.skip(f"NOT RUN: {package} is not in .ci-tools/js (make node)")


def described(script: str = "", **fields: Any) -> str:
    """A package.json."""
    scripts = {"test": script} if script else {}
    return json.dumps({"name": "shop", "private": True, "scripts": scripts, **fields})


def js_project(base: Path, files: Mapping[str, str], *, link: bool = True) -> Path:
    """A project whose packages are a link to the locked ones, which lie outside of it."""
    root = project(base, files)
    if link and PACKAGES.is_dir():
        (root / "node_modules").symlink_to(PACKAGES)
    return root


def run_js(root: Path, *, node: str = "", **options: Any) -> SuiteReport:
    """Run the project's tests for real, with the Node of a folder before all others."""
    path = os.pathsep.join([node or node_folders()[0], os.environ.get("PATH", "")])
    settings = settings_with(root.parent, {"PATH": path})
    return run_tests(root, settings, **{"environment": {}, **options})
