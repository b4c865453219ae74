"""What an entry looks like in the files of the clients, and back: how the server is started by it.

Limits of time are set where a client has a short one: a call may wait 45 s, and a cold machine starts slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from regreen.wire import Json

START_LIMIT_S = 30
CALL_LIMIT_S = 120


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client starts the server: an absolute command, its arguments, and all of the environment that matters."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


Shape: TypeAlias = Callable[[Launch], dict[str, Json]]


def plain(launch: Launch) -> dict[str, Json]:
    """What most clients read."""
    return {"command": launch.command, "args": [*launch.args], "env": {**launch.env}}


def typed(launch: Launch) -> dict[str, Json]:
    """With the transport named."""
    return {"type": "stdio", **plain(launch)}


def claude_code(launch: Launch) -> dict[str, Json]:
    """`timeout` is for one call, in milliseconds."""
    return {**typed(launch), "timeout": CALL_LIMIT_S * 1000}


def gemini(launch: Launch) -> dict[str, Json]:
    """`timeout` is in milliseconds."""
    return {**plain(launch), "timeout": CALL_LIMIT_S * 1000}


def cline(launch: Launch) -> dict[str, Json]:
    """`timeout` is in seconds."""
    return {**typed(launch), "timeout": CALL_LIMIT_S}


def codex(launch: Launch) -> dict[str, Json]:
    """Both limits are in seconds."""
    return {**plain(launch), "startup_timeout_sec": START_LIMIT_S, "tool_timeout_sec": CALL_LIMIT_S}


def opencode(launch: Launch) -> dict[str, Json]:
    """Version 1, which version 2 reads too."""
    return {**_opencode(launch), "enabled": True, "timeout": CALL_LIMIT_S * 1000}


def opencode_2(launch: Launch) -> dict[str, Json]:
    """Version 2: limits for the start and for a request, in milliseconds."""
    limits: dict[str, Json] = {"startup": START_LIMIT_S * 1000, "request": CALL_LIMIT_S * 1000}
    return {**_opencode(launch), "timeout": limits}


def _opencode(launch: Launch) -> dict[str, Json]:
    return {"type": "local", "command": [launch.command, *launch.args], "environment": {**launch.env}}


def launch_of(entry: object) -> Launch | None:
    """How an entry of any shape starts its server; None for one that starts none (a remote one, say)."""
    if not isinstance(entry, Mapping):
        return None
    fields = cast("Mapping[str, Any]", entry)
    command: object = fields.get("command")
    words = _texts([command]) if isinstance(command, str) else _texts(command)
    args, env = _texts(fields.get("args", [])), fields.get("env", fields.get("environment", {}))
    if not words or args is None or not isinstance(env, Mapping):
        return None
    variables = {str(k): str(v) for k, v in cast("Mapping[object, object]", env).items()}
    return Launch(words[0], (*words[1:], *args), variables)


def odd_part(launch: Launch) -> str | None:
    """A part that no client's file can hold or no process can be given: not UTF-8, with a NUL, no name of a
    variable."""
    parts = (launch.command, *launch.args, *launch.env.keys(), *launch.env.values())
    names = (name for name in launch.env if not name or "=" in name)
    return next((part for part in parts if not is_text(part)), next(names, None))


def is_text(part: str) -> bool:
    """Is it UTF-8, without a NUL?"""
    try:
        return b"\0" not in part.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _texts(value: object) -> list[str] | None:
    if not isinstance(value, list):
        return None
    items = cast("list[object]", value)
    return [v for v in items if isinstance(v, str)] if all(isinstance(v, str) for v in items) else None
