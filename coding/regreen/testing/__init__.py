"""Running a project's tests and saying truthfully what came of it.

`run_suite` finds the project and its runner; each runner is a row of the table in `runners` and a file of its own.
"""

from __future__ import annotations

from regreen.testing.compare import compare
from regreen.testing.condense import condense, neutral
from regreen.testing.interpreter import Interpreter, NoInterpreter, Tried, find_interpreter
from regreen.testing.project import NoProject, Project, find_project
from regreen.testing.request import OnProgress, OnWritten, Progress, Runner, SuiteRequest
from regreen.testing.runners import NAMES, ROWS, Row
from regreen.testing.suite import run_suite

__all__ = [
    "NAMES", "ROWS", "Interpreter", "NoInterpreter", "NoProject", "OnProgress", "OnWritten", "Progress", "Project",
    "Row",
    "Runner", "SuiteRequest", "Tried", "compare", "condense", "find_interpreter", "find_project", "neutral",
    "run_suite",
]  # fmt: skip
