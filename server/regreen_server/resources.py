"""Resources: what reads a repository (`repo://`, one call of a tool that only reads), runs (`run://`), and the page
that shows them (`ui://`).

The part of a `repo://` URI behind the kind is a path from the root of the default repository, percent-encoded or not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote

from regreen_server import run_resources, view
from regreen_server.calls import Caller, Report
from regreen_server.refusals import refusal, refusal_of
from regreen_server.reporting import reporter

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import (
        ListResourcesResult,
        ListResourceTemplatesResult,
        PaginatedRequestParams,
        ReadResourceRequestParams,
        ReadResourceResult,
        Resource,
    )

    from regreen.wire import Json

FRESH_MS = 3_600_000  # of the templates, which are in the code
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

    @property
    def template(self) -> str:
        return f"{_SCHEME}{self.name}/{{+path}}"

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


FILE_KINDS = ("file", "signatures")
"""The kinds that show what is in a file."""


def lister(
    caller: Caller,
) -> Callable[[ServerRequestContext[Any], PaginatedRequestParams | None], Awaitable[ListResourcesResult]]:
    """What answers `resources/list`."""

    async def list_resources(
        _ctx: ServerRequestContext[Any], page: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        from regreen.errors import RegreenError

        cursor = (page.cursor or "") if page is not None else ""
        try:
            runs = await caller.do("runs", lambda e: e.known_runs(limit=run_resources.KNOWN), recovered=False)
        except RegreenError as e:
            raise refusal_of(e) from e
        return run_resources.listed(runs, [*_whole_repository(), view.resource()], cursor)

    return list_resources


def template_lister() -> Callable[
    [ServerRequestContext[Any], PaginatedRequestParams | None], Awaitable[ListResourceTemplatesResult]
]:
    """What answers `resources/templates/list`."""

    async def list_templates(
        _ctx: ServerRequestContext[Any], _page: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        from mcp_types import Annotations, ListResourceTemplatesResult, ResourceTemplate

        ours = [
            ResourceTemplate(name=k.name, title=k.title, uri_template=k.template, description=k.description,
                             mime_type="text/plain", annotations=Annotations(audience=["assistant"], priority=0.5))
            for k in KINDS if k.argument
        ]  # fmt: skip
        return ListResourceTemplatesResult(resource_templates=[*ours, *run_resources.templates()])

    return list_templates


def reader(
    caller: Caller,
) -> Callable[[ServerRequestContext[Any], ReadResourceRequestParams], Awaitable[ReadResourceResult]]:
    """What answers `resources/read`."""

    async def read_resource(ctx: ServerRequestContext[Any], params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        if uri.startswith(run_resources.SCHEME):
            return await run_resources.read(caller, uri)
        if (page := view.read(uri)) is not None:
            return page
        return await _read(caller, uri, reporter(ctx))

    return read_resource


def is_known(uri: str) -> bool:
    """Can this be the URI of a resource of ours? Whether there is one is not asked."""
    return _named(uri)[0] is not None or run_resources.address(uri) is not None


def uris_of_file(path: str) -> tuple[str, ...]:
    """The resources that show a file, as clients may write them: the path as it is, or percent-encoded."""
    spelled = dict.fromkeys((path, quote(path), quote(path, safe="")))
    return tuple(f"{_SCHEME}{kind}/{way}" for kind in FILE_KINDS for way in spelled)


def _whole_repository() -> list[Resource]:
    """The resources that stand for the whole of the default repository."""
    from mcp_types import Annotations, Resource

    return [
        Resource(name=k.name, title=k.title, uri=f"{_SCHEME}{k.name}/", description=k.description,
                 mime_type="text/plain", annotations=Annotations(audience=["assistant"], priority=0.7))
        for k in KINDS if k.whole
    ]  # fmt: skip


def _named(uri: str) -> tuple[Kind | None, str]:
    """The kind that a URI names, None where it names none, and the path."""
    name, _, path = uri.removeprefix(_SCHEME).partition("/")
    return (_BY_NAME.get(name) if uri.startswith(_SCHEME) else None), unquote(path)


async def _read(caller: Caller, uri: str, report: Report) -> ReadResourceResult:
    """The text of a resource. Raises MCPError (invalid params, with the kind and hint) where there is none."""
    from mcp_types import ReadResourceResult, TextResourceContents

    from regreen.wire import encodable

    kind, path = _named(uri)
    if kind is None:
        known = ", ".join([*(f"{_SCHEME}{k.name}/" for k in KINDS), f"{run_resources.SCHEME}JOB_ID"])
        raise refusal("not_found", f"there is no resource {uri[:200]!r}", f"there are: {known}", uri=uri)
    answer = await caller.call(kind.tool, kind.arguments(path), report)
    if answer.is_error:
        raise refusal_of(cast("Mapping[str, Json]", answer.data["error"]), uri=uri)
    text = TextResourceContents(uri=uri, mime_type="text/plain", text=str(encodable(answer.text)))
    return ReadResourceResult(contents=[text])
