"""The one place that starts programs: one argv, given environment, limits, and a process tree that is always ended.

`isolation` says what children are kept from on this machine; every result carries it.
"""

from __future__ import annotations

from regreen.sandbox.environment import child_environment, is_withheld
from regreen.sandbox.isolation import Confinement, Isolation, confine, confined, isolation, require
from regreen.sandbox.process import CHANNEL, Child, run, spawn
from regreen.sandbox.values import MAX_FILE_BYTES, Cancel, Command, Completed

__all__ = [
    "CHANNEL",
    "MAX_FILE_BYTES",
    "Cancel",
    "Child",
    "Command",
    "Completed",
    "Confinement",
    "Isolation",
    "child_environment",
    "confine",
    "confined",
    "is_withheld",
    "isolation",
    "require",
    "run",
    "spawn",
]
