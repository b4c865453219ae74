"""The composition root: a `Session` is one repository with its operations, an `Engine` holds them all, with jobs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regreen.session.engine import Engine, ToolResult
from regreen.session.repository import Session

if TYPE_CHECKING:  # what it imports takes longer than an answer of a tool that only reads
    from regreen.session.fixing import FixJob, FixOptions

__all__ = ["Engine", "FixJob", "FixOptions", "Session", "ToolResult"]


def __getattr__(name: str) -> Any:
    if name in ("FixJob", "FixOptions"):
        return getattr(import_module("regreen.session.fixing"), name)
    raise AttributeError(f"module 'regreen.session' has no attribute {name!r}")
