"""The engine's tools in the forms of others: as the agent's tools, and as definitions for a loop of one's own.

All of it is about one session: its tools take no `repo`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

from regreen.agent.tool import DENIED, MOSTLY_HEAD, MOSTLY_TAIL, NARROW, Tool, ToolContext, ToolReply
from regreen.errors import ConfigError, Refused, UsageError
from regreen.providers.arguments import read_arguments
from regreen.sandbox import Cancel
from regreen.settings import AgentSettings
from regreen.tools import TOOLS, ToolSpec
from regreen.wire import MAX_NAME, Json, nearest, shortened, to_object

if TYPE_CHECKING:
    from regreen.session.engine import Engine, ToolResult
    from regreen.session.repository import Session

Form: TypeAlias = Literal["anthropic", "openai", "mcp"]
FORMS: tuple[str, ...] = get_args(Form)

AGENT_TOOLS = (
    "repo_skeleton", "extract_signatures", "repo_map", "find_symbol", "search_text", "read_file", "show_changes",
    "apply_edits", "run_tests", "ask_user", "read_result",
)  # fmt: skip
"""What the agent of a coding task has, besides the tools of MCP servers (`SERVER__TOOL`) and those that it is given."""

_TIMEOUTS_S: Mapping[str, float] = {
    # These wait up to `wait_s` (45) by themselves, and then give a job's id.
    "run_tests": 60.0, "fix_tests": 60.0, "submit_fix": 60.0, "coding_task": 60.0, "job_status": 60.0,
    # They may wait for another process's edit, and what they write is worth waiting for.
    "apply_edits": 60.0, "restore": 60.0,
}  # fmt: skip
_OF_TESTS = frozenset({"run_tests", "fix_tests", "submit_fix", "job_status"})  # what failed stands at the end
_JOBS = "call it with wait_s=0: that gives a job_id, and job_status tells how it goes"


class ToolCaller(Protocol):
    """`Engine.call`, or `Session.call`."""

    def __call__(
        self,
        tool: str,
        arguments: Mapping[str, object],
        /,
        *,
        on_progress: Callable[[str], None] | None = None,
        cancel: Cancel | None = None,
    ) -> ToolResult: ...


def engine_tools(call: ToolCaller, repo: str = "", *, names: Collection[str] | None = None) -> tuple[Tool, ...]:
    """The engine's tools for an agent, all or those of these names. `repo` is where they work: with `Session.call`
    it is the session's own, and stays empty."""
    return tuple(_as_agents(spec, call, repo) for spec in TOOLS if names is None or spec.name in names)


def _as_agents(spec: ToolSpec, call: ToolCaller, repo: str) -> Tool:
    def run(arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
        if "repo" in arguments:
            raise Refused("argument_not_allowed", f"{spec.name} takes no repo here: it works in the one that is open",
                          "leave it out")  # fmt: skip
        given = {**arguments, "repo": repo} if repo else arguments
        result = call(spec.name, given, on_progress=context.on_progress, cancel=context.cancel)
        return as_reply(spec.name, result)

    return Tool(
        name=spec.name,
        description=spec.description,
        schema=without_repo(spec.checked_schema),
        run=run,
        read_only=spec.read_only,
        timeout_s=_TIMEOUTS_S.get(spec.name, 0.0),
        head_share=MOSTLY_TAIL if spec.name in _OF_TESTS else MOSTLY_HEAD,
        on_timeout=_JOBS if "wait_s" in spec.parameters else NARROW,
    )


def check_tool_names(agent: AgentSettings, file: Path) -> None:
    """Raises ConfigError where `[tools]` in this settings file names a tool that no task's agent has."""
    for option, names in (("enabled", agent.enabled), ("concurrency_safe", agent.concurrency_safe)):
        for name in names:
            if "__" not in name and not any(fnmatchcase(tool, name) for tool in AGENT_TOOLS):
                near = nearest(name, AGENT_TOOLS)
                meant = f"did you mean `{near[0]}`? " if near else ""
                known = f"{meant}it has: {', '.join(AGENT_TOOLS)}, and SERVER__TOOL of MCP servers"
                found = f"{file}: [tools]: {option} names `{shortened(name, MAX_NAME)}`, which the agent does not have"
                raise ConfigError("config_refused", found, known)


def call_session(
    session: Session, name: str, arguments: Mapping[str, object] | str, cancel: Cancel | None = None
) -> ToolResult:
    """Run a tool of the session's engine; arguments may be JSON text, as chat completions hand them over. Raises
    UsageError for a session that was made without an engine."""
    engine = engine_of(session)
    if not isinstance(arguments, str):
        return engine.call_in(session, name, arguments, cancel=cancel)
    read, fault = read_arguments(arguments)

    def refuse() -> dict[str, Json]:
        raise UsageError("invalid_arguments", fault)

    return engine.answer(name, refuse) if fault else engine.call_in(session, name, read, cancel=cancel)


def engine_of(session: Session) -> Engine:
    """The engine that made a session. Raises UsageError for one that was made without."""
    if session.engine is None:
        raise UsageError("session_unknown", "this session belongs to no engine, which has the tools",
                         "open it with `regreen.open`, or `Engine.session`")  # fmt: skip
    return session.engine


def without_repo(schema: Mapping[str, Any]) -> dict[str, Json]:
    properties = {k: v for k, v in schema["properties"].items() if k != "repo"}
    return to_object({**schema, "properties": properties})


def as_reply(tool: str, result: ToolResult) -> ToolReply:
    """What an engine's answer is to an agent. Edits that were not applied are an error, red tests are a result."""
    kinds = _refusals(result.data)
    return ToolReply(
        result.text,
        is_error=result.is_error or result.data.get("ok") is False,
        denied=not DENIED.isdisjoint(kinds),
        empty=not result.is_error and tool in _EMPTY and _EMPTY[tool](result.data),
    )


def _refusals(data: Mapping[str, Json]) -> set[str]:
    """The kinds of errors that an answer names: of the call, of single edits, of an attempt."""
    attempt = _object(data.get("attempt"))
    edits = [*_objects(data.get("edits")), *_objects(attempt.get("edits"))]
    errors = [_object(data.get("error")), *(_object(e.get("error")) for e in edits)]
    return {str(e.get("kind", "")) for e in errors} | {str(attempt.get("refusal", ""))}


def _object(value: Json | None) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _objects(value: Json | None) -> list[dict[str, Json]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


_EMPTY: Mapping[str, Callable[[Mapping[str, Json]], bool]] = {
    "repo_skeleton": lambda d: not d.get("files"),
    "extract_signatures": lambda d: not d.get("files"),
    "repo_map": lambda d: not d.get("files"),
    "find_symbol": lambda d: not d.get("definitions") and not d.get("references"),
    "search_text": lambda d: not d.get("matches"),
}
"""When a tool that looks for something found nothing. That nothing is changed, or a file is empty, is a finding."""


def tool_definitions(form: str, names: Collection[str] | None = None) -> list[dict[str, Json]]:
    """The tools of one session as an API takes them. Raises UsageError for an unknown form."""
    make = _FORMS.get(form)
    if make is None:
        raise UsageError("invalid_arguments", f"there is no form `{form}` of tools", f"one of: {', '.join(FORMS)}")
    return [make(spec) for spec in TOOLS if names is None or spec.name in names]


def _anthropic(spec: ToolSpec) -> dict[str, Json]:
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": without_repo(spec.checked_schema),
    }


def _openai(spec: ToolSpec) -> dict[str, Json]:
    function: dict[str, Json] = {
        "name": spec.name,
        "description": spec.description,
        "parameters": without_repo(spec.checked_schema),
    }
    return {"type": "function", "function": function}


def _mcp(spec: ToolSpec) -> dict[str, Json]:
    return {
        "name": spec.name,
        "title": spec.title,
        "description": spec.description,
        "inputSchema": without_repo(spec.checked_schema),
        "annotations": {
            "readOnlyHint": spec.read_only,
            "destructiveHint": spec.destructive,
            "idempotentHint": spec.idempotent,
            "openWorldHint": spec.open_world,
        },
    }


_FORMS: Mapping[str, Callable[[ToolSpec], dict[str, Json]]] = {"anthropic": _anthropic, "openai": _openai, "mcp": _mcp}
