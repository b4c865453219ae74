"""The repair loop: the run as a state machine, and the pure rules by which it judges and stops."""

from regreen.fix.bench import FixBench, FixRequest
from regreen.fix.brief import Insight
from regreen.fix.convergence import HINTS, StopRules, stop_reason
from regreen.fix.driver import drive
from regreen.fix.proposer import Proposer
from regreen.fix.run import FixRun
from regreen.fix.scope import Scope

__all__ = [
    "HINTS",
    "FixBench",
    "FixRequest",
    "FixRun",
    "Insight",
    "Proposer",
    "Scope",
    "StopRules",
    "drive",
    "stop_reason",
]
