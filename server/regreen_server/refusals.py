"""Refusals outside of tool calls: a protocol error that says the kind and, for whoever can act, a hint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from regreen.errors import RegreenError

if TYPE_CHECKING:
    from mcp.shared.exceptions import MCPError

    from regreen.wire import Json


def refusal(kind: str, message: str, hint: str, **about: Json) -> MCPError:
    """The error (invalid params) for a request that cannot be answered."""
    return refusal_of({"kind": kind, "message": message, "hint": hint}, **about)


def refusal_of(error: RegreenError | Mapping[str, Json], **about: Json) -> MCPError:
    """The same for an error of the engine, as raised or as told."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import INVALID_PARAMS

    from regreen.wire import encodable

    given: dict[str, Json] = (
        {"kind": error.kind, "message": error.message, "hint": error.hint}
        if isinstance(error, RegreenError)
        else dict(error)
    )
    text = f"{given['kind']}: {given['message']}" + (f"\n{given['hint']}" if given.get("hint") else "")
    return MCPError(INVALID_PARAMS, str(encodable(text)), encodable({**about, **given}))
