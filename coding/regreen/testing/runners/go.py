"""go test, heard through `go test -json`. The id of a test is its package's folder, relative to the module, and its
name; the package at the top goes by the last part of its import path.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from regreen.commands.programs import find_program
from regreen.settings import own_interpreter
from regreen.testing.caching import project_cache
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports.gotest import Told
from regreen.testing.runners.row import DEPENDENCY, Row, Sign
from regreen.testing.verdict import names

_DRIVER = Path(__file__).parents[1] / "inside" / "native" / "go_driver.py"
_DROPPED = frozenset(("v", "json", "cover", "benchmem", "fullpath"))
_SWITCHES = frozenset(("race", "short", "failfast", "trimpath"))


class GoRunner:
    """See `Reported`."""

    name = "go"

    def plan(self, asked: Asked) -> Plan | Absent:
        request = asked.request
        settings = request.settings
        go = find_program("go", settings.environ, request.workspace.root)
        if go is None:
            return Absent("go is not installed, or not on the PATH: install Go (https://go.dev/dl)")
        cache = project_cache(settings.cache_dir, "go-build", request.workspace.root)
        options, packages = sorted_words(asked.arguments)
        job = {
            "go": str(go),
            "folder": str(asked.folder),
            "options": options,
            "packages": packages,
            "selection": list(request.selection),
            "last_failed": list(request.last_failed),
        }
        file = asked.private / "job.json"
        file.write_text(json.dumps(job), "utf-8")
        offline = {} if settings.network else {"GOPROXY": "off", "GOSUMDB": "off"}
        return Plan(
            argv=(own_interpreter(), "-E", "-s", "-B", str(_DRIVER), "{channel}", str(file)),
            interpreter=str(go),
            env={"GOCACHE": str(cache), "GOTOOLCHAIN": "local", "GOTELEMETRY": "off", **offline},
            live=True,
            writable=(cache,),
            notes=_modules_below(asked),
            shown=("go", "test", *(asked.arguments or ("./...",)), *request.selection),
        )

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:  # noqa: ARG002 - the frame's signature
        told = Told(base=asked.request.project)
        for message in ended.messages:
            told.take(message)
        return told.heard()


def _modules_below(asked: Asked) -> tuple[str, ...]:
    """A note of modules below the folder: the go tool runs none of their tests from here."""
    if asked.request.selection or asked.request.last_failed:
        return ()
    used = asked.look.text("go.work")
    folders = [p.rpartition("/")[0] for p in asked.look.below() if p.endswith("/go.mod")]
    apart = [f for f in folders if "testdata" not in f.split("/") and f not in used]
    return (f"not run: Go modules of their own below, each by its folder: {names(apart)}",) if apart else ()


def sorted_words(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split allowed arguments into options and packages. What would take results from a cache, or end a run before our
    own limit does, is decided here where the caller does not."""
    options: list[str] = []
    packages: list[str] = []
    named: set[str] = set()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            packages.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if name in _DROPPED or name == "list":
            rest = rest[1:] if name == "list" and not equals else rest
            continue
        named.add(name)
        if name in _SWITCHES:
            options.append(word)
        else:
            options.append(f"-{name}={value if equals else rest.pop(0)}")
    own = [f"-{name}={value}" for name, value in (("count", "1"), ("timeout", "0")) if name not in named]
    return [*own, *options], packages


def _detect(look: Look) -> Sign | None:
    for name in ("go.work", "go.mod"):
        if look.exists(name):
            return Sign(DEPENDENCY, f"{look.at(name)} is a Go module")
    return None


GO = GoRunner()
ROW = Row(name="go", language="Go", marks=("go.work", "go.mod"), suffixes=(".go",), detect=_detect, run=reported(GO))
