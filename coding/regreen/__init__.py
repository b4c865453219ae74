"""regreen turns failing tests green again, and hands every step of that to other programs.

    import regreen
    with regreen.open(".") as session:
        report = session.run_suite()

Everything public is named here. Importing this module is cheap; what is heavy is imported where it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regreen.agent.functions import tool
    from regreen.agent.tool import Tool, ToolContext, ToolReply
    from regreen.api import open  # noqa: A004
    from regreen.errors import Busy, ConfigError, EnvironmentFault, Refused, RegreenError, UsageError
    from regreen.model import (
        Attempt,
        AttemptState,
        Brief,
        ChangeReport,
        Definition,
        EditReport,
        Failure,
        FileSymbols,
        FileText,
        Outcome,
        Proposal,
        RankedSymbol,
        Reference,
        Replacement,
        RepoMap,
        RestoreReport,
        SearchMatch,
        SearchReport,
        SignatureReport,
        Skeleton,
        Skipped,
        StopReason,
        SuiteReport,
        SuiteStatus,
        Symbol,
        SymbolReport,
        TaskOutcome,
        TaskUsage,
    )
    from regreen.session import Engine, FixJob, FixOptions, Session, ToolResult
    from regreen.session.tasks import TaskDone, TaskOptions

_HOMES = {
    "regreen.api": ("open",),
    "regreen.errors": ("Busy", "ConfigError", "EnvironmentFault", "Refused", "RegreenError", "UsageError"),
    "regreen.model": (
        "Attempt", "AttemptState", "Brief", "ChangeReport", "Definition", "EditReport", "Failure", "FileSymbols",
        "FileText", "Outcome", "Proposal", "RankedSymbol", "Reference", "Replacement", "RepoMap", "RestoreReport",
        "SearchMatch", "SearchReport", "SignatureReport", "Skeleton", "Skipped", "StopReason", "SuiteReport",
        "SuiteStatus", "Symbol", "SymbolReport", "TaskOutcome", "TaskUsage",
    ),
    "regreen.session": ("Engine", "FixJob", "FixOptions", "Session", "ToolResult"),
    "regreen.session.tasks": ("TaskDone", "TaskOptions"),
    "regreen.agent.functions": ("tool",),
    "regreen.agent.tool": ("Tool", "ToolContext", "ToolReply"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Attempt",
    "AttemptState",
    "Brief",
    "Busy",
    "ChangeReport",
    "ConfigError",
    "Definition",
    "EditReport",
    "Engine",
    "EnvironmentFault",
    "Failure",
    "FileSymbols",
    "FileText",
    "FixJob",
    "FixOptions",
    "Outcome",
    "Proposal",
    "RankedSymbol",
    "Reference",
    "Refused",
    "RegreenError",
    "Replacement",
    "RepoMap",
    "RestoreReport",
    "SearchMatch",
    "SearchReport",
    "Session",
    "SignatureReport",
    "Skeleton",
    "Skipped",
    "StopReason",
    "SuiteReport",
    "SuiteStatus",
    "Symbol",
    "SymbolReport",
    "TaskDone",
    "TaskOptions",
    "TaskOutcome",
    "TaskUsage",
    "Tool",
    "ToolContext",
    "ToolReply",
    "ToolResult",
    "UsageError",
    "open",
    "tool",
]


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'regreen' has no attribute {name!r}")
    return getattr(import_module(home), name)
