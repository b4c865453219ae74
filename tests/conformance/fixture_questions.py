"""Fixtures of the conformance suite that ask the client: as a request where a server may, as a result elsewhere."""

from __future__ import annotations

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    ElicitResult,
    InputRequiredResult,
    SamplingMessage,
    TextContent,
)

Said = list[dict[str, Any]]


def said(words: str) -> Said:
    return [{"type": "text", "text": words}]


def form(message: str, **fields: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return {"method": "elicitation/create",
            "params": {"mode": "form", "message": message, "requestedSchema": schema}}  # fmt: skip


def sample(prompt: str, tokens: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": {"type": "text", "text": prompt}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


STRING = {"type": "string"}
NAME = form("What is your name?", name=STRING)
ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
CONTEXT = {"user_context": form("What context should the prompt use?", context=STRING)}
CONFIRM = {"confirm": form("Please confirm", ok={"type": "boolean"})}
ONE_ROUND: dict[str, tuple[dict[str, Any], str]] = {
    "test_input_required_result_elicitation": ({"user_name": NAME}, ""),
    "test_input_required_result_sampling": ({"capital_question": sample("What is the capital of France?", 100)}, ""),
    "test_input_required_result_list_roots": ({"client_roots": ROOTS}, ""),
    "test_input_required_result_request_state": (CONFIRM, "asked"),
    "test_input_required_result_tampered_state": (CONFIRM, "asked"),
    "test_input_required_result_multiple_inputs": (
        {"user_name": NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS}, "asked",
    ),
}  # fmt: skip
NEEDS = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
OPTIONS = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"},
           {"const": "value3", "title": "Third"}]  # fmt: skip
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": OPTIONS},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                   "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": OPTIONS}},
}  # fmt: skip


def question(requests: dict[str, Any], state: str = "") -> InputRequiredResult:
    body = {"inputRequests": requests, **({"requestState": state} if state else {})}
    return InputRequiredResult.model_validate(body)


def answered(params: Any, key: str, request: dict[str, Any]) -> bool:
    """Is this one of the answers, and an answer to what was asked?"""
    answer = (params.input_responses or {}).get(key)
    if answer is None or request["method"] != "elicitation/create":
        return answer is not None
    asked = request["params"]["requestedSchema"]["required"]
    return isinstance(answer, ElicitResult) and (
        answer.action != "accept" or all(name in (answer.content or {}) for name in asked)
    )


def of_prompt(params: Any) -> InputRequiredResult | None:
    """The question of the prompt that asks; None once it is answered."""
    return None if answered(params, "user_context", CONTEXT["user_context"]) else question(CONTEXT)


async def one_round(_ctx: Any, params: Any) -> Any:
    requests, state = ONE_ROUND[params.name]
    if not all(answered(params, key, request) for key, request in requests.items()):
        return question(requests, state)
    answers = {k: a.model_dump(mode="json", by_alias=True, exclude_none=True)
               for k, a in params.input_responses.items()}  # fmt: skip
    name = (answers.get("user_name") or {}).get("content", {}).get("name", "")
    return said(f"Hello, {name}! state-ok {answers}")


async def only_offered(ctx: Any, params: Any) -> Any:
    """Asks only for what the client says it can do."""
    if params.input_responses:
        return said("answered")
    offered = ctx.session.client_capabilities
    wanted = {"user_name": NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ROOTS}
    kept = {k: r for k, r in wanted.items() if offered and getattr(offered, NEEDS[r["method"]]) is not None}
    return question(kept) if kept else said("the client can be asked nothing")


async def several_rounds(_ctx: Any, params: Any) -> Any:
    if params.request_state == "two" and "step2" in (params.input_responses or {}):
        return said("all steps are done")
    if params.request_state == "one" and "step1" in (params.input_responses or {}):
        return question({"step2": form("Step 2: What is your favorite color?", color=STRING)}, "two")
    return question({"step1": form("Step 1: What is your name?", name=STRING)}, "one")


async def needs_sampling(ctx: Any, _params: Any) -> Any:
    offered = ctx.session.client_capabilities
    if offered is None or offered.sampling is None:
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed",
                       {"requiredCapabilities": {"sampling": {}}})  # fmt: skip
    return said("the client offers sampling")


async def sampling(ctx: Any, params: Any) -> Said:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=params.arguments["prompt"]))
    reply = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return said(f"LLM response: {reply.content.text}")


async def _elicited(ctx: Any, message: str, schema: dict[str, Any]) -> str:
    result = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return f"action={result.action}, content={result.content}"


async def elicitation(ctx: Any, params: Any) -> Said:
    schema = form("", username=STRING, email=STRING)["params"]["requestedSchema"]
    return said(f"User response: {await _elicited(ctx, params.arguments['message'], schema)}")


async def defaults(ctx: Any, _params: Any) -> Said:
    schema = {"type": "object", "properties": DEFAULTS, "required": []}
    return said(f"Elicitation completed: {await _elicited(ctx, 'Review the defaults', schema)}")


async def enums(ctx: Any, _params: Any) -> Said:
    schema = {"type": "object", "properties": ENUMS, "required": []}
    return said(f"Elicitation completed: {await _elicited(ctx, 'Choose', schema)}")


TOOLS: dict[str, Any] = {
    **dict.fromkeys(ONE_ROUND, one_round),
    "test_input_required_result_capabilities": only_offered,
    "test_input_required_result_multi_round": several_rounds,
    "test_missing_capability": needs_sampling,
    "test_sampling": sampling,
    "test_elicitation": elicitation,
    "test_elicitation_sep1034_defaults": defaults,
    "test_elicitation_sep1330_enums": enums,
}
