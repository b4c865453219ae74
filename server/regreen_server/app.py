"""The MCP server object: tools as the engine describes them, calls handed to it, results handed back.

Rule: composition only. Schemas, texts and decisions are the engine's; both protocol eras are the SDK's.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from regreen_server import approvals, prompts, refusals, resources, tasks_extension, tool_calls, tool_list, view
from regreen_server.calls import Caller
from regreen_server.changes import Changes
from regreen_server.completions import Completer
from regreen_server.job_tasks import JobTasks
from regreen_server.tool_list import Offer

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

INSTRUCTIONS = (
    "regreen turns failing tests green. run_tests shows what is red. fix_tests returns a job_id: proposer "
    '"search" works offline (poll job_status); "caller" gives a brief, and you send fixes with submit_fix until there '
    "is an outcome. A run that does not end fixed puts every file back. repo_map, find_symbol and extract_signatures "
    "tell what code there is, for few tokens. apply_edits: blocks, diffs, patches, all or none; restore undoes. `repo` "
    "picks a repository; leave it out for the default."
)
_RUNS_FRESH_MS = 2_000


def create_server(caller: Caller, offer: Offer) -> Server[Any]:
    """The server, ready to be run on a transport."""
    from mcp.server.caching import CacheHint
    from mcp_types import CallToolRequestParams

    from regreen_server.declaring import DeclaringServer

    changes = Changes(caller)
    server = DeclaringServer(
        "regreen",
        title="regreen",
        version=version("regreen"),
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": CacheHint(ttl_ms=tool_list.FRESH_MS, scope="public"),
            "prompts/list": CacheHint(ttl_ms=prompts.FRESH_MS, scope="public"),
            "resources/templates/list": CacheHint(ttl_ms=resources.FRESH_MS, scope="public"),
            "resources/list": CacheHint(ttl_ms=_RUNS_FRESH_MS, scope="private"),
            "resources/read": CacheHint(ttl_ms=0, scope="private"),
        },
        on_list_tools=tool_list.lister(offer),
        on_list_resources=resources.lister(caller),
        on_list_resource_templates=resources.template_lister(),
        on_read_resource=resources.reader(caller),
        on_subscribe_resource=changes.subscribe,
        on_unsubscribe_resource=changes.unsubscribe,
        on_subscriptions_listen=changes.listen,
        on_list_prompts=prompts.lister(offer),
        on_get_prompt=prompts.getter(caller, offer),
        on_completion=Completer(caller).complete,
    )
    server.extensions = dict(view.EXTENSIONS)
    tasks = JobTasks(caller)
    server.add_request_handler("tools/call", CallToolRequestParams, tool_calls.caller_of(caller, offer, tasks))
    tasks_extension.register(server, tasks)
    server.middleware.append(refusals.guarded)
    server.middleware.append(tasks_extension.gate)
    server.middleware.append(changes.notice)
    server.middleware.append(approvals.Seal(caller, server.name))
    return server
