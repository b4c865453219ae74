"""`repo://` resources: what reads a repository, addressed by URI. Each is one call of a tool that only reads.

The part of a URI behind the kind is a path from the root of the default repository, percent-encoded or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from regreen_server.calls import Caller, Report

if TYPE_CHECKING:
    from mcp_types import ListResourcesResult, ListResourceTemplatesResult, ReadResourceResult

_SCHEME = "repo://"
_PAGE_TOKENS = 8000


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of resource: `repo://NAME/PATH`. `tool` is called with the path as `argument` ("" for none)."""

    name: str
    title: str
    description: str
    tool: str
    argument: str = ""
    many: bool = False  # the argument is a list
    whole: bool = True  # stands for the whole repository where no path is given

    def arguments(self, path: str) -> dict[str, object]:
        given: dict[str, object] = {self.argument: [path] if self.many else path} if self.argument and path else {}
        if self.many and self.argument not in given:
            given[self.argument] = ["."]
        return given if self.tool == "read_file" else {**given, "max_tokens": _PAGE_TOKENS}


KINDS: tuple[Kind, ...] = (
    Kind("skeleton", "Repository skeleton", "The file tree of a folder.", "repo_skeleton", "path"),
    Kind("signatures", "Signatures", "The definitions in a file or folder.", "extract_signatures", "paths", many=True),
    Kind("map", "Ranked map", "The definitions that matter most.", "repo_map"),
    Kind("file", "File", "The text of a file, secrets masked.", "read_file", "path", whole=False),
)
_BY_NAME = {kind.name: kind for kind in KINDS}


def listed() -> ListResourcesResult:
    """The resources that stand for the whole of the default repository."""
    from mcp_types import ListResourcesResult, Resource

    return ListResourcesResult(resources=[
        Resource(name=k.name, title=k.title, uri=f"{_SCHEME}{k.name}/", description=k.description,
                 mime_type="text/plain")
        for k in KINDS if k.whole
    ])  # fmt: skip


def templates() -> ListResourceTemplatesResult:
    """Those that take a path."""
    from mcp_types import ListResourceTemplatesResult, ResourceTemplate

    return ListResourceTemplatesResult(resource_templates=[
        ResourceTemplate(name=k.name, title=k.title, uri_template=f"{_SCHEME}{k.name}/{{+path}}",
                         description=k.description, mime_type="text/plain")
        for k in KINDS if k.argument
    ])  # fmt: skip


async def read(caller: Caller, uri: str, report: Report) -> ReadResourceResult:
    """The text of a resource. Raises MCPError (invalid params, with the kind and hint) where there is none."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import INVALID_PARAMS, ReadResourceResult, TextResourceContents

    from regreen.wire import encodable

    name, _, path = uri.removeprefix(_SCHEME).partition("/")
    kind = _BY_NAME.get(name) if uri.startswith(_SCHEME) else None
    if kind is None:
        known = ", ".join(f"{_SCHEME}{k.name}/" for k in KINDS)
        raise MCPError(INVALID_PARAMS, f"not_found: there is no resource {uri[:200]!r}", {"uri": uri, "known": known})
    answer = await caller.call(kind.tool, kind.arguments(unquote(path)), report)
    if answer.is_error:
        raise MCPError(INVALID_PARAMS, str(encodable(answer.text)), {"uri": uri, **_error(answer.data)})
    text = TextResourceContents(uri=uri, mime_type="text/plain", text=str(encodable(answer.text)))
    return ReadResourceResult(contents=[text])


def _error(data: Mapping[str, Any]) -> Mapping[str, Any]:
    error: Mapping[str, Any] = data["error"]
    return error
