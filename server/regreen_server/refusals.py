"""Refusals outside of tool calls: a protocol error that says the kind and, for whoever can act, a hint."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regreen.errors import RegreenError

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
    from mcp.shared.exceptions import MCPError

    from regreen.wire import Json

log = logging.getLogger(__name__)


def refusal(kind: str, message: str, hint: str, **about: Json) -> MCPError:
    """The error (invalid params) for a request that cannot be answered."""
    return refusal_of({"kind": kind, "message": message, "hint": hint}, **about)


async def guarded(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Middleware: what no handler has made an answer of is told by its kind, and a fault of ours by nothing but the id
    under which the log has it. The SDK would tell the client the error's own text."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import INTERNAL_ERROR
    from pydantic import ValidationError

    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except RegreenError as e:
        raise refusal_of(e) from e
    except Exception as e:
        identity = secrets.token_hex(4)
        log.exception("fault %s in %s", identity, ctx.method)
        raise MCPError(INTERNAL_ERROR, f"internal: unexpected fault ({identity})\n"
                       f"the server's log has the details under {identity}") from e  # fmt: skip


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
