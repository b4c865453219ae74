"""What a client says of itself, checked as the SDK would, for messages that are answered before the SDK is loaded.

Rule: never more lenient than the SDK. What does not fit is no error here: it waits for the SDK, which says what is
wrong with it. Only builtins are used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is not needed for it
if TYPE_CHECKING:
    from typing import TypeAlias

    Shape: TypeAlias = "Each | Named | type"

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
INFO_KEY = "io.modelcontextprotocol/clientInfo"
_LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel"


class Each:
    """An array, or an object, whose elements all have one shape."""

    def __init__(self, kind: type, shape: Shape) -> None:
        self.kind = kind
        self.shape = shape


class Named:
    """An object: `needed` keys must be there, `optional` ones may be; others are free."""

    def __init__(self, needed: dict[str, Shape], optional: dict[str, Shape]) -> None:
        self.needed = needed
        self.optional = optional


_OBJECTS = Each(dict, dict)
_TASKS = Named({}, {
    "list": dict,
    "cancel": dict,
    "requests": Named({}, {"sampling": Named({}, {"createMessage": dict}), "elicitation": Named({}, {"create": dict})}),
})  # fmt: skip
CAPABILITIES = Named({}, {
    "experimental": _OBJECTS,
    "extensions": _OBJECTS,
    "roots": Named({}, {"listChanged": bool}),
    "sampling": Named({}, {"context": dict, "tools": dict}),
    "elicitation": Named({}, {"form": dict, "url": dict}),
    "tasks": _TASKS,
})  # fmt: skip
_ICON = Named({"src": str}, {"mimeType": str, "sizes": Each(list, str)})
INFO = Named(
    {"name": str, "version": str},
    {"title": str, "description": str, "websiteUrl": str, "icons": Each(list, _ICON)},
)
INITIALIZE = Named({"protocolVersion": str, "capabilities": CAPABILITIES, "clientInfo": INFO}, {})
_ENVELOPE = Named({VERSION_KEY: str, CAPABILITIES_KEY: CAPABILITIES}, {INFO_KEY: INFO})


def fits(value: object, shape: Shape) -> bool:
    """Whether a parsed JSON value has the shape: a type, `Each` or `Named`."""
    if isinstance(shape, Each):
        if not isinstance(value, shape.kind):
            return False
        elements: list[object] = list(value.values()) if isinstance(value, dict) else list(value)  # pyright: ignore
        return all(fits(element, shape.shape) for element in elements)
    if isinstance(shape, Named):
        return isinstance(value, dict) and _named(value, shape)  # pyright: ignore[reportUnknownArgumentType]
    return shape is type(value)  # not isinstance: true is no number


def _named(value: dict[str, object], shape: Named) -> bool:
    if not all(key in value and fits(value[key], inner) for key, inner in shape.needed.items()):
        return False
    if "theme" in value:  # of an icon: one of a few words, which the SDK knows
        return False
    return all(fits(value[key], inner) for key, inner in shape.optional.items() if key in value)


def plain_params(params: dict[str, object] | None) -> bool:
    """Whether the parameters of a list or a ping ask for nothing in particular."""
    if params is None:
        return True
    meta = params.get("_meta", {})
    return set(params) <= {"_meta"} and isinstance(meta, dict) and _plain_meta(meta)  # pyright: ignore


def _plain_meta(meta: dict[str, object]) -> bool:
    return _LOG_LEVEL_KEY not in meta and type(meta.get("progressToken", 0)) in (int, str)


def enveloped(params: dict[str, object] | None) -> bool:
    """Whether a request says by itself which version of the protocol it is in, as those of the modern era do."""
    meta = (params or {}).get("_meta")
    return isinstance(meta, dict) and VERSION_KEY in meta


def envelope_fits(params: dict[str, object] | None, versions: list[str]) -> bool:
    """Whether it says so in full, and names one of `versions`."""
    meta = (params or {}).get("_meta")
    return fits(meta, _ENVELOPE) and isinstance(meta, dict) and meta[VERSION_KEY] in versions
