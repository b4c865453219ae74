"""The system prompt of a coding task: our own text or the user's, and what is known of the repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regreen.agent.texts import text
from regreen.errors import ConfigError


def system_prompt(own: str = "", facts: Sequence[str] = ()) -> str:
    """The text that a run begins with. `own` takes the place of our text; `facts` are lines about the repository."""
    known = "\n".join(f"- {fact}" for fact in facts)
    about = f"\n\n# This repository\n{known}" if known else ""
    return (own.strip() or text("system")) + about


def read_own(file: Path) -> str:
    """The user's own system prompt. Raises ConfigError that names the file."""
    try:
        own = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(
            "config_refused", f"{file}: the system prompt cannot be read: {e}", "name a UTF-8 text file"
        ) from e
    if not own.strip():
        raise ConfigError("config_refused", f"{file}: the system prompt is empty", "write it, or name no file")
    return own
