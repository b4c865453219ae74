"""What a request to the run routes says: one JSON object in the body, or a few short words in the query.

Rule: nothing is passed over in silence; a name that is not known is refused, wherever it stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NoReturn, cast

from regreen.errors import UsageError
from regreen.wire import MAX_NAME, nearest, shortened, shown

if TYPE_CHECKING:
    from starlette.datastructures import Headers, QueryParams
    from starlette.requests import Request

JSON_TYPE = "application/json"
_LONGEST_NUMBER = 15


async def json_object(request: Request) -> dict[str, object]:
    """The JSON object in the body. Raises UsageError (`unsupported_media_type`, `bad_request`)."""
    kind, _, rest = request.headers.get("content-type", "").partition(";")
    charset = rest.lower().replace(" ", "").replace('"', "")
    if kind.strip().lower() != JSON_TYPE or charset not in ("", "charset=utf-8"):
        raise UsageError("unsupported_media_type", f"the body is said to be {shown(kind) if kind else 'of no type'}",
                         f"send JSON in UTF-8, and `Content-Type: {JSON_TYPE}`")  # fmt: skip
    return parsed(await request.body())


def parsed(body: bytes | str) -> dict[str, object]:
    """The JSON object in a body or frame. Raises UsageError (`bad_request`)."""
    try:
        value: object = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as e:
        raise UsageError("bad_request", f"this is no JSON: {shortened(str(e), 200)}", "send one JSON object") from None
    if not isinstance(value, dict):
        raise UsageError("bad_request", f"this is {shown(value)}, not an object", "send one JSON object")
    return cast("dict[str, object]", value)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def only(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises UsageError (`unknown_argument`) for a name that is not among the known ones."""
    names = sorted(known)
    for name in given:
        if name not in names:
            near = nearest(name, names)
            hint = f"did you mean `{near[0]}`? " if near else ""
            raise UsageError("unknown_argument", f"{what} has no `{shortened(name, MAX_NAME)}`",
                             f"{hint}known: {', '.join(names) or 'none'}")  # fmt: skip


def text_of(given: Mapping[str, object], name: str, what: str) -> str:
    """A text that must be there, and not be empty. Raises UsageError (`invalid_arguments`)."""
    value = given.get(name)
    if not isinstance(value, str) or not value:
        found = "is missing" if name not in given else f"is {shown(value)}"
        raise UsageError("invalid_arguments", f"`{name}` {found}", f"give {what}")
    return value


def query(params: QueryParams, *known: str) -> dict[str, str]:
    """The query's parameters, each at most once. Raises UsageError for any other."""
    pairs = params.multi_items()
    only("the query", (name for name, _ in pairs), known)
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UsageError("invalid_arguments", "the query says a parameter twice", "say it once")
    return found


def whole(text: str, name: str, low: int, high: int) -> int:
    """A whole number of a query or header. Raises UsageError (`invalid_arguments`)."""
    if not (text.isascii() and text.isdigit()) or len(text) > _LONGEST_NUMBER or not low <= int(text) <= high:
        raise UsageError("invalid_arguments", f"`{name}` is {shown(text)}", f"give a whole number, {low} to {high}")
    return int(text)


def seconds(text: str, name: str, most: float) -> float:
    """A number of seconds. Raises UsageError (`invalid_arguments`)."""
    plain = text.replace(".", "", 1)
    if not (plain.isascii() and plain.isdigit()) or len(text) > _LONGEST_NUMBER or not float(text) <= most:
        raise UsageError("invalid_arguments", f"`{name}` is {shown(text)}", f"give a number, 0 to {most:g}")
    return float(text)


def wants_stream(headers: Headers) -> bool:
    """Does the client ask for server-sent events?"""
    kinds = (part.partition(";")[0].strip().lower() for part in headers.get("accept", "").split(","))
    return "text/event-stream" in kinds
