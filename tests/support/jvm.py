"""Java projects for real Maven, and whether it can be had here without the network."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

import pytest

_PLUGINS = {  # those that Maven 3.9 brings along are the likeliest to be there with all that they need
    "maven-surefire-plugin": "3.2.5",
    "maven-compiler-plugin": "3.13.0",
    "maven-resources-plugin": "3.3.1",
}


def repository() -> Path:
    return Path.home() / ".m2" / "repository"


def _versions(folder: str, suffix: str = ".jar") -> list[str]:
    base = repository() / folder
    found = [d.name for d in base.iterdir() if (d / f"{base.name}-{d.name}{suffix}").is_file()] if base.is_dir() else []
    return sorted(found, key=lambda v: [int(n) for n in re.findall(r"\d+", v)])


@cache
def plugins() -> dict[str, str]:
    """A version of each plugin, and of JUnit, that the local repository holds whole; skips the test without them."""
    if not shutil.which("mvn") or not shutil.which("javac"):
        pytest.skip("mvn and a JDK are not installed")
    found: dict[str, str] = {}
    for name, usual in _PLUGINS.items():
        versions = _versions(f"org/apache/maven/plugins/{name}")
        found[name] = usual if usual in versions else next(iter(versions[-1:]), "")
    launchers = [v for v in _versions("org/junit/platform/junit-platform-launcher") if v.startswith("1.")]
    jupiter = [
        v
        for v in _versions("org/junit/jupiter/junit-jupiter-engine")
        if v.startswith("5.")
        and f"1.{v.partition('.')[2]}" in launchers
        and v in _versions("org/junit/jupiter/junit-jupiter-params")
    ]
    found["junit"] = jupiter[-1] if jupiter else ""
    absent = [n for n, v in found.items() if not v]
    if absent:
        pytest.skip(f"not in the local Maven repository ({repository()}): {', '.join(absent)}")
    return found
