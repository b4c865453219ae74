"""Anthropic's API calls regreen by itself (its MCP connector): the server must be reachable from the internet.

    ANTHROPIC_API_KEY=... REGREEN_URL=https://.../mcp REGREEN_TOKEN=... python fix_with_connector.py "Fix the tests."

Needs `pip install anthropic`. Read docs/own-agent.md on what it means to let others reach your repository.
"""

import os
import sys

import anthropic

BETA = "mcp-client-2025-11-20"
# What the model may call. It may not change a file but through a run, which ends proven or restored.
OFFERED = ("fix_tests", "submit_fix", "job_status", "job_cancel", "run_tests")


def ask(client: anthropic.Anthropic, task: str, url: str, token: str) -> str:
    """One request; the API calls the tools in between, and the answer is what the model says in the end."""
    answer = client.beta.messages.create(
        model=os.environ.get("MODEL", "claude-sonnet-5-5"),
        max_tokens=8192,
        betas=[BETA],
        mcp_servers=[{"type": "url", "name": "regreen", "url": url, "authorization_token": token}],
        tools=[
            {
                "type": "mcp_toolset",
                "mcp_server_name": "regreen",
                "default_config": {"enabled": False},
                "configs": {name: {"enabled": True} for name in OFFERED},
            }
        ],
        messages=[{"role": "user", "content": task}],
    )
    said = "".join(block.text for block in answer.content if block.type == "text")
    return said if answer.stop_reason == "end_turn" else f"stopped ({answer.stop_reason}): {said}"


if __name__ == "__main__":
    missing = [n for n in ("ANTHROPIC_API_KEY", "REGREEN_URL", "REGREEN_TOKEN") if not os.environ.get(n)]
    if missing or len(sys.argv) != 2:
        sys.exit(f'{", ".join(missing) or "one task"}: needed; usage: python fix_with_connector.py "what to do"')
    print(ask(anthropic.Anthropic(), sys.argv[1], os.environ["REGREEN_URL"], os.environ["REGREEN_TOKEN"]))
