"""Whether pytest-xdist pays for a cold run: a decision over what is known, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from regreen.settings import own_interpreter
from regreen.testing.interpreter import Interpreter
from regreen.testing.warm.refusals import early_plugins, spreads

PAYS_S = 10.0  # each worker is a cold start of its own
MAX_WORKERS = 8


def choose_workers(
    words: Sequence[str], *, installed: bool, last_s: float | None, cores: int, tests: int = 0, memory_mib: int = 0
) -> tuple[str, ...]:
    """The arguments to add to a cold run, or none.

    `words` are all arguments that pytest sees: the caller's and those of the project's settings, which win. `last_s`
    is what the last run of this selection took, None where there was none; `tests` how many it had, 0 if that is not
    known; `memory_mib` what there is for all workers together, 0 for no bound. `loadfile` keeps the tests of a file
    in one process, in their order.
    """
    if not installed or last_s is None or last_s <= PAYS_S or cores < 2 or tests == 1:
        return ()
    if _says_something(words):
        return ()
    count = min(cores, MAX_WORKERS, int(last_s / (PAYS_S / 2)), tests or MAX_WORKERS)
    if memory_mib:
        count = min(count, memory_mib // 512)
    return ("-n", str(count), "--dist", "loadfile") if count > 1 else ()


def _says_something(words: Sequence[str]) -> bool:
    """Whether somebody has decided already, or wants what needs one process."""
    alone = {"-x", "--exitfirst", "--pdb", "--sw", "--stepwise", "--lf", "--last-failed", "-s", "--capture=no", "--co",
             "--collect-only", "--setup-plan", "--setup-only"}  # fmt: skip
    named = ("--numprocesses", "--dist", "--maxfail")
    if spreads(words) or any(w.partition("=")[0] in named or w[:2] == "-n" for w in words):
        return True
    blocked = {"no:xdist", "no:xdist.plugin"}
    plugins = {w[2:] or following for w, following in zip(words, [*words, ""][1:], strict=True) if w[:2] == "-p"}
    return bool(blocked & plugins) or bool(alone & set(words)) or "xdist.looponfail" in early_plugins(words)


def has_xdist(interpreter: Interpreter) -> bool:
    """Whether pytest-xdist lies beside the interpreter's pytest. False also where that cannot be seen from outside."""
    if interpreter.venv:
        major, minor = interpreter.version.split(".")[:2]
        sites = [Path(interpreter.venv, "lib", f"python{major}.{minor}", "site-packages"),
                 Path(interpreter.venv, "Lib", "site-packages")]  # fmt: skip
    elif interpreter.path == own_interpreter():
        sites = [Path(p) for p in sys.path if p.endswith(("site-packages", "dist-packages"))]
    else:
        return False
    return any((site / "xdist" / "__init__.py").is_file() for site in sites)
