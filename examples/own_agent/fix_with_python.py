"""regreen's server in a program of yours, over MCP's Python SDK: the offline search fixes, and the outcome is printed.

    python fix_with_python.py REPOSITORY

`python` is one that regreen is installed in, which brings `mcp` along. In one that has `mcp` (2.3 or newer) alone, put
the path of the `regreen` command into COMMAND.
"""

import asyncio
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

COMMAND = [sys.executable, "-m", "regreen"]


async def fix(repository: str) -> dict:
    """Start a fix run, and ask for it until it has ended. A call answers within a minute; a run may take longer."""
    command, *words = COMMAND
    server = StdioServerParameters(command=command, args=[*words, "serve", "--root", repository])
    async with Client(stdio_client(server)) as client:
        answer = await client.call_tool("fix_tests", {"proposer": "search", "wait_s": 30})
        while not answer.is_error and answer.structured_content["state"] == "running":
            job = answer.structured_content["job_id"]
            answer = await client.call_tool("job_status", {"job_id": job, "wait_s": 30})
        if answer.is_error:  # refused: the text says why, and what to do
            sys.exit(answer.content[0].text)
        return answer.structured_content["outcome"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python fix_with_python.py REPOSITORY")
    outcome = asyncio.run(fix(sys.argv[1]))
    print(f"{outcome['reason']}: {len(outcome['fixed_tests'])} fixed")
    print(outcome["diff"])
    sys.exit(0 if outcome["fixed"] or outcome["reason"] == "already_green" else 1)
