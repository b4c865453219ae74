"""`regreen serve --http` with what the conformance suite wants of a server besides: run as a script, with its flags.

Rule: the server is the product's (factory, middleware, transport, guard); its handlers are asked first for whatever is
none of the fixtures, which are added to what it lists. The names and contents are those of the suite.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import fixture_questions
import fixture_tasks
from mcp_types import (
    CallToolResult,
    EmptyResult,
    GetPromptResult,
    Prompt,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    SetLevelRequestParams,
    Tool,
)

from regreen_server import app, tasks_extension

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
PAUSE_S = 0.05
Handler = Callable[[Any, Any], Awaitable[Any]]


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def resource(uri: str, kind: str, said: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": said}}


CONTENTS: dict[str, list[dict[str, Any]]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "test_error_handling": [text("This tool intentionally returns an error for testing")],
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef", "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"}, "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
    "test_custom_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
}  # fmt: skip
PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}
RESOURCES = ("test://static-text", "test://static-binary", "test://watched-resource")
TEMPLATE = ("test://template/", "/data")


async def logging_tool(ctx: Any, _params: Any) -> list[dict[str, Any]]:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", said, related_request_id=ctx.request_id)
        await asyncio.sleep(PAUSE_S)
    return [text("logged")]


async def progress_tool(ctx: Any, _params: Any) -> list[dict[str, Any]]:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await asyncio.sleep(PAUSE_S)
    return [text("done")]


DOING = {"test_tool_with_logging": logging_tool, "test_tool_with_progress": progress_tool, **fixture_questions.TOOLS}


def contents(uri: str) -> dict[str, Any] | None:
    """What a resource of the fixtures holds."""
    if uri == "test://static-binary":
        return {"uri": uri, "mimeType": "image/png", "blob": PNG}
    if uri in RESOURCES:
        said = "This is the content of the static text resource."
        return {"uri": uri, "mimeType": "text/plain", "text": said}
    if uri.startswith(TEMPLATE[0]) and uri.endswith(TEMPLATE[1]):
        name = uri.removeprefix(TEMPLATE[0]).removesuffix(TEMPLATE[1])
        data = {"id": name, "templateTest": True, "data": f"Data for ID: {name}"}
        return {"uri": uri, "mimeType": "application/json", "text": json.dumps(data)}
    return None


def messages(name: str, given: dict[str, str]) -> list[dict[str, Any]]:
    match name:
        case "test_prompt_with_arguments":
            parts = [text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            parts = [resource(given["resourceUri"], "text/plain", "Embedded resource content for testing."),
                     text("Please process the embedded resource above.")]  # fmt: skip
        case "test_prompt_with_image":
            parts = [IMAGE, text("Please analyze the image above.")]
        case _:
            parts = [text("This is a simple prompt for testing.")]
    return [{"role": "user", "content": part} for part in parts]


def answering(own: Handler, changed: Callable[[str], Awaitable[None]], doing: Mapping[str, Handler]) -> Handler:
    async def call(ctx: Any, params: Any) -> Any:
        if params.name in ("test_trigger_tool_change", "test_trigger_prompt_change"):
            await changed(params.name)
            return CallToolResult.model_validate({"content": [text("changed")]})
        if params.name in doing:
            done = await doing[params.name](ctx, params)
            return CallToolResult.model_validate({"content": done}) if isinstance(done, list) else done
        if params.name in SCHEMAS:
            return CallToolResult.model_validate({"content": [text("ok")]})
        if params.name in CONTENTS:
            is_error = params.name == "test_error_handling"
            return CallToolResult.model_validate({"content": CONTENTS[params.name], "isError": is_error})
        return await own(ctx, params)

    return call


def reading(own: Handler) -> Handler:
    async def read(ctx: Any, params: Any) -> Any:
        found = contents(str(params.uri))
        return ReadResourceResult.model_validate({"contents": [found]}) if found else await own(ctx, params)

    return read


def prompting(own: Handler) -> Handler:
    async def get(ctx: Any, params: Any) -> Any:
        if params.name not in PROMPTS:
            return await own(ctx, params)
        if params.name == "test_input_required_result_prompt" and (asked := fixture_questions.of_prompt(params)):
            return asked
        return GetPromptResult.model_validate({"messages": messages(params.name, params.arguments or {})})

    return get


def adding(own: Handler, field: str, more: list[Any]) -> Handler:
    async def listed(ctx: Any, params: Any) -> Any:
        result = await own(ctx, params)
        return result.model_copy(update={field: [*getattr(result, field), *more]})

    return listed


def watching(own: Handler) -> Handler:
    async def watch(ctx: Any, params: Any) -> Any:
        return EmptyResult() if str(params.uri) in RESOURCES else await own(ctx, params)

    return watch


async def set_level(_ctx: Any, _params: Any) -> EmptyResult:
    return EmptyResult()


def tools(doing: Mapping[str, Handler]) -> list[Tool]:
    names = [*CONTENTS, *doing, "test_trigger_tool_change", "test_trigger_prompt_change"]
    free = {"type": "object", "properties": {}}
    named = {**dict.fromkeys(names, free), **SCHEMAS}
    return [Tool(name=n, description="for the conformance suite", input_schema=s) for n, s in named.items()]


def prompts() -> list[Prompt]:
    return [
        Prompt.model_validate(
            {
                "name": n,
                "description": "for the conformance suite",
                "arguments": [{"name": a, "required": True} for a in names],
            }
        )
        for n, names in PROMPTS.items()
    ]


def create_server(caller: Any, offer: Any) -> Any:
    """The product's server, with the fixtures."""
    from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged

    server = REAL(caller, offer)
    changes = server.get_request_handler("subscriptions/listen").handler

    async def changed(tool: str) -> None:
        event = ToolsListChanged() if tool == "test_trigger_tool_change" else PromptsListChanged()
        await changes._bus.publish(event)

    tasks = fixture_tasks.FixtureTasks(server.get_request_handler("tasks/get").handler.__self__.source)
    tasks_extension.register(server, tasks)
    doing = {**DOING, **fixture_tasks.Tools(tasks).by_name}
    template = ResourceTemplate(uri_template="{id}".join(TEMPLATE), name="template")
    wrappers: dict[str, Callable[[Handler], Handler]] = {
        "tools/list": lambda own: adding(own, "tools", tools(doing)),
        "tools/call": lambda own: answering(own, changed, doing),
        "resources/list": lambda own: adding(own, "resources", [Resource(uri=u, name=u[7:]) for u in RESOURCES]),
        "resources/templates/list": lambda own: adding(own, "resource_templates", [template]),
        "resources/read": reading,
        "resources/subscribe": watching,
        "resources/unsubscribe": watching,
        "prompts/list": lambda own: adding(own, "prompts", prompts()),
        "prompts/get": prompting,
    }
    for method, wrapped in wrappers.items():
        entry = server.get_request_handler(method)
        server.add_request_handler(method, entry.params_type, wrapped(entry.handler))
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)
    return server


REAL = app.create_server

if __name__ == "__main__":
    from regreen.cli import main

    app.create_server = create_server
    sys.exit(main(["serve", *sys.argv[1:]]))
