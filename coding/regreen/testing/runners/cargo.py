"""cargo test: built by cargo, then each test program is run by a driver of ours, which hears every start and end.

The build goes to a target folder of our own, one for each place of a project: the user's `target` stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from regreen.commands.programs import find_program
from regreen.settings import own_interpreter
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports.libtest import Told
from regreen.testing.runners.row import DEPENDENCY, Row, Sign

_DRIVER = Path(__file__).parents[1] / "inside" / "native" / "cargo_driver.py"
_KEPT_TARGETS = 6
_UNUSED_S = 24 * 3600.0
_DROPPED = frozenset((
    "-q", "--quiet", "-v", "-vv", "--verbose", "--no-fail-fast", "--offline", "--no-run", "--nocapture",
    "--no-capture", "--show-output", "--fail-fast", "--hide-progress-bar",
))  # fmt: skip
_TARGETS = frozenset(("--lib", "--bins", "--tests", "--examples", "--all-targets"))
_NAMED_TARGETS = frozenset(("--bin", "--test", "--example"))
_VALUED = frozenset((
    "-p", "--package", "--exclude", "-F", "--features", "--color", "-j", "--jobs", "--profile", "--skip",
    "--test-threads", *_NAMED_TARGETS,
))  # fmt: skip
_NEXTEST = frozenset((
    "-E", "--filterset", "--filter-expr", "-P", "--cargo-profile", "--retries", "--run-ignored", "--max-fail",
    "--no-tests", "--failure-output", "--success-output", "--status-level", "--final-status-level",
))  # fmt: skip
_AS_CARGO = "run as `cargo test` runs them, several tests in one process; options of nextest's own were left out"
_WHOLE = "all members of the workspace were run, as `cargo test --workspace` does"
_HARNESS = frozenset(("--ignored", "--include-ignored"))
_BUILDS_ITSELF = re.compile(r'^name = "(?:trybuild|ui_test|compiletest_rs)"$', re.MULTILINE)


@dataclass
class _Words:
    """A caller's words, sorted by who reads them."""

    build: list[str] = field(default_factory=list[str])
    common: list[str] = field(default_factory=list[str])
    libtest: list[str] = field(default_factory=list[str])
    filters: list[str] = field(default_factory=list[str])
    exact: bool = False
    docs: str = "yes"


class CargoRunner:
    """See `Reported`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def plan(self, asked: Asked) -> Plan | Absent:
        request = asked.request
        settings = request.settings
        cargo = find_program("cargo", settings.environ, request.workspace.root)
        if cargo is None:
            return Absent("cargo is not installed, or not on the PATH: install Rust (https://rustup.rs)")
        target = _target_folder(settings.cache_dir / "cargo", asked.folder)
        words = sorted_words(asked.arguments)
        notes = (_AS_CARGO,) if self.name == "nextest" else ()
        if not (request.argv or request.selection or request.last_failed) and _with_members(asked.look):
            words.build.append("--workspace")
            words.common.append("--workspace")
            notes = (*notes, _WHOLE)
        job: Mapping[str, Any] = {
            "cargo": str(cargo),
            "folder": str(asked.folder),
            "tree": str(request.workspace.root),
            "target": str(target),
            "offline": [] if settings.network else ["--offline"],
            "build": words.build,
            "common": words.common,
            "libtest": words.libtest,
            "filters": words.filters,
            "exact": words.exact,
            "docs": words.docs,
            "scoped": bool(asked.arguments),
            "selection": list(request.selection),
            "last_failed": list(request.last_failed),
            "isolate": request.isolate,
            "plain": bool(_BUILDS_ITSELF.search(asked.look.text("Cargo.lock"))),
        }
        file = asked.private / "job.json"
        file.write_text(json.dumps(job), "utf-8")
        return Plan(
            argv=(own_interpreter(), "-E", "-s", "-B", str(_DRIVER), "{channel}", str(file)),
            interpreter=str(cargo),
            env={"CARGO_TARGET_DIR": str(target), "CARGO_TERM_COLOR": "never"},
            live=True,
            writable=(target,),
            notes=notes,
            shown=("cargo", "test", *asked.arguments, *request.selection),
        )

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:  # noqa: ARG002 - the frame's signature
        told = Told()
        for message in ended.messages:
            told.take(message)
        return told.heard(scoped=bool(asked.arguments))


def sorted_words(arguments: Sequence[str]) -> _Words:
    """Split allowed arguments into those of the build, of the harness, and names of tests."""
    words = _Words()
    rest = list(arguments)
    behind = False
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word == "--":
            behind = True
        elif word in _DROPPED or name == "--color":
            if name == "--color" and not equals:
                rest.pop(0)
        elif name in _NEXTEST:
            rest = rest if equals else rest[1:]
        elif name in _VALUED:
            value = value if equals else rest.pop(0)
            _valued(words, name, value)
        else:
            _single(words, word, behind)
    return words


def _valued(words: _Words, name: str, value: str) -> None:
    if name in ("--skip", "--test-threads"):
        words.libtest += [name, value]
        return
    words.build += [name, value]
    if name in _NAMED_TARGETS:
        words.docs = "no"
    else:
        words.common += [name, value]


def _single(words: _Words, word: str, behind: bool) -> None:
    if word == "--exact":
        words.exact = True
    elif word in _HARNESS:
        words.libtest.append(word)
    elif word == "--doc":
        words.docs = "only"
        words.build.append("--lib")
    elif word in _TARGETS:
        words.docs = "no"
        words.build.append(word)
    elif behind or not word.startswith("-"):
        words.filters.append(word)
    else:
        words.build.append(word)
        words.common.append(word)


def _target_folder(folder: Path, project: Path) -> Path:
    """The target folder of this project, made. Of those not used for long only a few stay."""
    key = hashlib.sha256(os.fsencode(project.resolve())).hexdigest()[:16]
    target = folder / key
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.utime(target)
    dated = sorted(((p.stat().st_mtime, p) for p in folder.iterdir() if p != target), reverse=True)
    for used, old in dated[_KEPT_TARGETS:]:
        if time.time() - used > _UNUSED_S:
            shutil.rmtree(old, ignore_errors=True)
    return target


def _with_members(look: Look) -> bool:
    """Whether this is a package with members below it, of which cargo alone would run none; where the settings say
    which are run (`default-members`) they are heeded."""
    manifest = look.toml("Cargo.toml")
    table = manifest.get("workspace")
    return "package" in manifest and isinstance(table, dict) and "members" in table and "default-members" not in table


def _detect(look: Look) -> Sign | None:
    manifest = look.toml("Cargo.toml")
    if "package" not in manifest and "workspace" not in manifest:
        return None
    if "workspace" not in manifest and _member(look):
        return None
    return Sign(DEPENDENCY, f"{look.at('Cargo.toml')} is a cargo project")


def _member(look: Look) -> bool:
    """Whether a folder above holds the workspace that this package belongs to: its tests are run from there."""
    folder = PurePosixPath(look.folder)
    for above in folder.parents if look.folder else ():
        upper = Look(look.workspace, "" if str(above) == "." else str(above)).toml("Cargo.toml")
        table = upper.get("workspace")
        if isinstance(table, dict):
            below = folder.relative_to(above).as_posix()
            left_out = [str(e) for e in table.get("exclude", ())]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType, reportUnknownMemberType]
            return not any(below == e or below.startswith(f"{e}/") for e in left_out)
    return False


CARGO = CargoRunner("cargo")
NEXTEST = CargoRunner("nextest")
ROW = Row(name="cargo", language="Rust", marks=("Cargo.toml",), suffixes=(".rs",), detect=_detect, run=reported(CARGO))
NEXTEST_ROW = Row(
    name="nextest", language="Rust", marks=(), suffixes=(".rs",), detect=lambda _: None, run=reported(NEXTEST)
)
