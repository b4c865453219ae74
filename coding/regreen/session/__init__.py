"""The composition root: a `Session` is one repository with its operations, an `Engine` holds them all, with jobs."""

from regreen.session.engine import Engine, ToolResult
from regreen.session.fixing import FixJob, FixOptions
from regreen.session.repository import Session

__all__ = ["Engine", "FixJob", "FixOptions", "Session", "ToolResult"]
