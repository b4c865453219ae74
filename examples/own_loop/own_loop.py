"""An agent loop of your own on Anthropic's SDK: the model decides, regreen's tools act, regreen's test run judges.

    ANTHROPIC_API_KEY=... python own_loop.py REPOSITORY "Make the failing tests pass."

`python` is one that regreen is installed in (3.11 or newer): in the clone, `.venv/bin/python` after `make demo`.
`ANTHROPIC_BASE_URL` (a proxy) and `MODEL` are taken from the environment, too.
"""

import os
import sys

try:
    import anthropic

    import regreen
except ImportError as e:
    sys.exit(f"{e}: run this with the Python that regreen is installed in")

SYSTEM = "You repair code in a repository. Read before you edit, run the tests after you edited, never change a test."
OFFERED = {"repo_map", "find_symbol", "search_text", "read_file", "apply_edits", "run_tests", "job_status"}
MAX_TURNS = 30


def run(client: anthropic.Anthropic, session: regreen.Session, task: str) -> str:
    """Ask and act until the model has nothing left to do. What it says then."""
    tools = [tool for tool in session.tool_definitions("anthropic") if tool["name"] in OFFERED]
    messages = [{"role": "user", "content": [{"type": "text", "text": task}]}]
    for _ in range(MAX_TURNS):
        with client.messages.stream(
            model=os.environ.get("MODEL", "claude-sonnet-5-5"),
            max_tokens=8192,
            system=[{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            tools=tools,
            messages=messages,
        ) as stream:
            answer = stream.get_final_message()
        messages.append({"role": "assistant", "content": answer.content})
        if answer.stop_reason != "tool_use":  # of an answer that was cut off no call may be run
            said = "".join(block.text for block in answer.content if block.type == "text")
            return said if answer.stop_reason == "end_turn" else f"stopped ({answer.stop_reason}): {said}"
        calls = [block for block in answer.content if block.type == "tool_use"]
        messages.append({"role": "user", "content": [output(session, call) for call in calls]})
    return f"stopped after {MAX_TURNS} turns"


def output(session: regreen.Session, call: anthropic.types.ToolUseBlock) -> dict:
    """What comes of a call. A call that is wrong or refused is told to the model, which can do better."""
    result = session.call(call.name, call.input)
    first_line, _, _ = result.text.partition("\n")
    print(f"{call.name}: {first_line}")
    failed = result.is_error or result.data.get("ok") is False  # `ok`: whether the edits were applied
    return {"type": "tool_result", "tool_use_id": call.id, "content": result.text, "is_error": failed}


def main(repository: str, task: str) -> int:
    with regreen.open(repository) as session:
        print(run(anthropic.Anthropic(), session, task))
        report = session.run_suite()  # the model says that it is done; whether it is, the tests say
        print(f"tests: {report.status}, {report.counts.passed} passed, {report.counts.failed} failed")
        return 0 if report.status == "passed" else 1


if __name__ == "__main__":
    if len(sys.argv) != 3 or not os.environ.get("ANTHROPIC_API_KEY"):
        sys.exit('usage: ANTHROPIC_API_KEY=... python own_loop.py REPOSITORY "what to do"')
    sys.exit(main(*sys.argv[1:]))
