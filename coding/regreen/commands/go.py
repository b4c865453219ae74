"""The rows of `go test`. Go reads `-run` and `--run` alike. Left out: what builds with other programs, writes profiles
or binaries, and whatever is handed on to the test's own program."""

from __future__ import annotations

from pathlib import Path

from regreen.commands.grammar import Row, Schema
from regreen.commands.refusals import LOADS, MOVES, RUNS, WRITES, because
from regreen.commands.validators import Validator, expression, number, one_of, pattern, relative_path

_PACKAGE = pattern(
    r"(\./)?(\.\.\.|[A-Za-z0-9_][\w.\-]*(/[\w\-][\w.\-]*)*(/\.\.\.)?)|\.|\./", "a package such as ./... or ./pkg/name"
)
_DURATION = pattern(r"([0-9]{1,5}(ms|s|m|h)){1,3}", "a time such as 30s or 5m")
_SWITCHES = ("v", "race", "short", "failfast", "json", "cover", "benchmem", "fullpath", "trimpath")
_OPTIONS: dict[str, Validator] = {
    "run": expression,
    "skip": expression,
    "list": expression,
    "bench": expression,
    "benchtime": pattern(r"[0-9]{1,6}(x|ms|s|m)", "a time such as 2s, or a count such as 100x,"),
    "count": number(1, 100),
    "timeout": _DURATION,
    "p": number(1, 32),
    "parallel": number(1, 64),
    "cpu": pattern(r"[0-9]{1,2}(,[0-9]{1,2}){0,7}", "numbers such as 1,2,4"),
    "shuffle": pattern(r"on|off|[0-9]{1,18}", "on, off or a number"),
    "tags": pattern(r"[\w,.]{1,200}", "names of build tags"),
    "covermode": one_of("set", "count", "atomic"),
    "coverpkg": pattern(r"[\w./,\-]{1,300}", "packages such as ./..."),
    "mod": one_of("readonly", "vendor"),
    "vet": one_of("off", "all"),
}


def _package(value: str, root: Path) -> str:
    problem = _PACKAGE(value, root)
    return problem or relative_path(value.removesuffix("...") or ".", root)


def _dashed(*names: str) -> list[str]:
    return [dash + name for name in names for dash in ("-", "--")]


_SCHEMA = Schema(
    switches=frozenset(_dashed(*_SWITCHES)),
    options={name: check for bare, check in _OPTIONS.items() for name in _dashed(bare)},
    positional=_package,
    refused=because(RUNS, *_dashed("exec", "toolexec", "vettool", "compiler", "gccgoflags", "ldflags", "gcflags",
                                   "asmflags", "args", "test.*"))
    | because(WRITES, *_dashed("o", "c", "coverprofile", "cpuprofile", "memprofile", "blockprofile", "mutexprofile",
                               "trace", "outputdir", "pkgdir", "work"))
    | because(LOADS, *_dashed("modfile", "overlay", "pgo", "fuzz*", "workfile"))
    | because(MOVES, *_dashed("C")),
)  # fmt: skip

ROWS = (Row(("go", "test"), "go", _SCHEMA),)
