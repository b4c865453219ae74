"""What `cargo metadata` says about a workspace: its targets and what they are called here; and whether cargo can trust
the times of the files. Standalone.

A target's label is its name; where two would be called the same, the kind or the package comes before it
(`bin/tool`, `parser/cli`), the same whatever part of the workspace is built.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MAX_FILES = 50_000
_RECORD = "regreen-sources.json"
_STAMP = "regreen-stamp"
_SKIPPED = frozenset(("target", ".git", "node_modules", ".venv", "__pycache__"))
_LIBRARIES = frozenset(("lib", "rlib", "dylib", "cdylib", "staticlib", "proc-macro"))


@dataclass
class Target:
    """One program of tests that cargo can build. `source` is its main file."""

    label: str
    name: str
    kind: str
    package: Mapping[str, Any]
    source: Path
    harness: bool
    doctest: bool
    default: bool

    @property
    def package_id(self) -> str:
        return self.package["id"]

    @property
    def folder(self) -> Path:
        return Path(self.package["manifest_path"]).parent

    def arguments(self) -> list[str]:
        """What makes cargo build only this target."""
        chosen = ["--lib"] if self.kind == "lib" else [f"--{self.kind}", self.name]
        return ["-p", self.package["name"], *chosen]


def kind_of(kinds: list[str]) -> str:
    """lib, bin, test, example, bench; "" for a build script."""
    if _LIBRARIES & set(kinds):
        return "lib"
    return kinds[0] if kinds and kinds[0] in ("bin", "test", "example", "bench") else ""


def targets_of(metadata: Mapping[str, Any]) -> list[Target]:
    """The targets of all members of the workspace, labelled."""
    members = set(metadata["workspace_members"])
    default = set(metadata.get("workspace_default_members") or members)
    found: list[Target] = []
    for package in metadata["packages"]:
        if package["id"] in members:
            found += _of_package(package, package["id"] in default)
    shared = {label for label, n in Counter(t.label for t in found).items() if n > 1}
    for target in found:
        if target.label in shared:
            target.label = f"{target.package['name']}/{target.label}"
    return found


def _of_package(package: Mapping[str, Any], default: bool) -> list[Target]:
    manifest = _manifest(package["manifest_path"])
    taken: set[str] = set()
    found: list[Target] = []
    kinds = ("lib", "test", "bin", "example", "bench")
    known = [(kind_of(t["kind"]), t) for t in package["targets"]]
    for kind, target in sorted(((k, t) for k, t in known if k), key=lambda pair: kinds.index(pair[0])):
        name = target["name"]
        label = name if name.replace("-", "_") not in taken else f"{kind}/{name}"
        taken.add(name.replace("-", "_"))
        harness, doctest = _harness(manifest, kind, name), kind == "lib" and bool(target.get("doctest"))
        found.append(Target(label, name, kind, package, Path(target["src_path"]), harness, doctest, default))
    return found


def _manifest(path: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _harness(manifest: Mapping[str, Any], kind: str, name: str) -> bool:
    """Whether it is a program of Rust's own test harness."""
    tables: Any = manifest.get(kind, [])
    if isinstance(tables, dict):
        tables = [{**tables, "name": name}]
    return not any(t.get("harness") is False for t in tables if t.get("name") == name)


def run_environment(
    target: Target, cargo: str, scripts: Mapping[str, Mapping[str, Any]], libraries: list[str]
) -> dict[str, str]:
    """The environment that cargo gives a test program. `scripts` is what the packages' build scripts told."""
    package = target.package
    version = str(package["version"])
    numbers, _, pre = version.partition("+")[0].partition("-")
    major, minor, patch = (*numbers.split("."), "", "", "")[:3]
    script = scripts.get(target.package_id, {})
    fields = {
        "NAME": package["name"], "VERSION": version, "VERSION_MAJOR": major, "VERSION_MINOR": minor,
        "VERSION_PATCH": patch, "VERSION_PRE": pre, "AUTHORS": ":".join(package.get("authors") or ()),
        **{k.upper(): str(package.get(k) or "") for k in ("description", "homepage", "repository", "license",
                                                          "license_file", "rust_version", "readme")},
    }  # fmt: skip
    paths = [p.partition("=")[2] or p for s in scripts.values() for p in s.get("linked_paths", ())]
    return {
        **os.environ,
        **_configured(target.folder),
        "CARGO": cargo,
        "CARGO_MANIFEST_DIR": str(target.folder),
        "CARGO_MANIFEST_PATH": str(package["manifest_path"]),
        **{f"CARGO_PKG_{k}": v for k, v in fields.items()},
        **({"OUT_DIR": script["out_dir"]} if script.get("out_dir") else {}),
        **dict(script.get("env", ())),
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [*paths, *libraries, os.environ.get("LD_LIBRARY_PATH", "")])),
        "RUST_BACKTRACE": "1",
    }


def _configured(folder: Path) -> dict[str, str]:
    """`[env]` of the cargo settings in the project's folders, the nearest winning."""
    found: dict[str, str] = {}
    for place in (folder, *folder.parents):
        table: Mapping[str, Any] = _manifest(str(place / ".cargo" / "config.toml")).get("env", {})
        for name, value in table.items():
            given: Any = value if isinstance(value, dict) else {"value": value}  # pyright: ignore[reportUnknownVariableType]
            text = str(given.get("value", ""))
            text = str(place / text) if given.get("relative") else text
            if given.get("force") or name not in os.environ:
                found.setdefault(name, text)
    return found


def distrust_times(target_folder: Path, tree: Path, packages: list[str]) -> bool:
    """Make cargo build the workspace's packages anew where it could take old products for new.

    Cargo compares times of files. Copies and restores may keep times, so that a changed file looks older than the
    products of what stood there before. True if the products were dropped.
    """
    record = target_folder / _RECORD
    now = dict(_sources(tree))
    dropped = False
    if any(target_folder.glob("*/.fingerprint")) or record.exists():
        built, known = _recorded(record)
        dropped = len(now) >= _MAX_FILES or any(known.get(p) != s and s[2] <= built for p, s in now.items())
    if dropped:
        for package in packages:
            for place in (*target_folder.glob("*/.fingerprint"), *target_folder.glob("*/*/.fingerprint")):
                for old in place.glob(f"{package}-*"):
                    shutil.rmtree(old, ignore_errors=True)
    stamp = target_folder / _STAMP
    stamp.write_bytes(b"")
    record.write_text(json.dumps({"built": stamp.stat().st_mtime_ns, "files": now}), "utf-8")
    return dropped


def _recorded(record: Path) -> tuple[int, Mapping[str, list[int]]]:
    try:
        data = json.loads(record.read_text("utf-8"))
        return int(data["built"]), data["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return 1 << 63, {}


def _sources(tree: Path) -> Iterator[tuple[str, list[int]]]:
    count = 0
    for folder, folders, files in os.walk(tree):
        folders[:] = [f for f in folders if f not in _SKIPPED]
        for name in files:
            path = Path(folder) / name
            try:
                info = path.lstat()
            except OSError:
                continue
            yield str(path), [info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns]
            count += 1
            if count >= _MAX_FILES:
                return
