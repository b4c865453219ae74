"""The one place that starts programs: one argv, given environment, limits, and a process tree that is always ended.

There is no isolation of files or network yet: `level()` says so, and every result carries it.
"""

from __future__ import annotations

from regreen.errors import Refused
from regreen.sandbox.environment import child_environment
from regreen.sandbox.process import CHANNEL, Child, run, spawn
from regreen.sandbox.values import Cancel, Command, Completed
from regreen.settings import SandboxWish

__all__ = [
    "CHANNEL",
    "Cancel",
    "Child",
    "Command",
    "Completed",
    "child_environment",
    "level",
    "require",
    "run",
    "spawn",
]


def level() -> str:
    """The isolation that children get on this machine."""
    return "none"


def require(wish: SandboxWish) -> str:
    """The level, or Refused (`sandbox_required`) where isolation is demanded and there is none."""
    if wish == "required" and level() == "none":
        raise Refused("sandbox_required", "tests were to run only in a sandbox, and this build has none",
                      "use `--sandbox auto`: it runs with the best level there is and says which")  # fmt: skip
    return level()
