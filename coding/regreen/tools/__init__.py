"""The tools: what they are called and take (`specs`), how calls are checked (`arguments`), what is said (`text`)."""

from regreen.tools.arguments import check
from regreen.tools.specs import BY_NAME, CORE, EDITING, TOOLS, ToolSpec

__all__ = ["BY_NAME", "CORE", "EDITING", "TOOLS", "ToolSpec", "check"]
