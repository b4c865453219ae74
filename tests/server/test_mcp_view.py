"""The page of a fix run, in a real browser under a stand-in for a host; and what the server says about it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.mcp_clients import (
    MODERN_VERSION,
    REGREEN,
    ROOT,
    TOOLS_FOLDER,
    node_command,
    raw_server,
    server_environment,
)

from regreen.tools import BY_NAME
from regreen_server import view
from regreen_server.tool_list import LONG_ANSWERS, as_tool

BROWSER = TOOLS_FOLDER / "browser"
HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
DIFF = "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n"
MOST_BYTES = 60_000
SERVE = [*REGREEN, "serve", "--root"]


def attempt(number: int, state: str, **facts: Any) -> dict[str, Any]:
    empty = {
        "note": "",
        "message": "",
        "refusal": "",
        "fixed": [],
        "broken": [],
        "still": [],
        "diff": "",
        "kept": False,
    }
    return {**empty, "number": number, "state": state, **facts}


def result(data: dict[str, Any], text: str = "said", *, is_error: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "structuredContent": data, "isError": is_error}


def fixed(**facts: Any) -> dict[str, Any]:
    outcome = {
        "reason": "fixed", "fixed": True, "fixed_tests": ["test_add"], "kept": True, "kept_files": ["calc.py"],
        "restored": False, "verified": True, "diff": DIFF, "hint": "Review the diff.", "conflicts": [],
        "evidence": {"counts": {"passed": 2, "total": 2}, "goal_runs": "3/3", "sandbox": "bwrap"}, **facts,
    }  # fmt: skip
    attempts = [
        attempt(1, "worse", note="a guess", still=["test_add", "test_sum"], broken=["test_zero"]),
        attempt(2, "passed", note="the cause", fixed=["test_add", "test_sum"], kept=True, diff=DIFF),
    ]
    return {"job_id": "job-1", "state": "done", "attempts": attempts, "outcome": outcome}


RUNNING = {"job_id": "job-1", "state": "running", "progress": "attempt 1", "attempts": []}
RESTORED = {"restored": ["calc.py"], "deleted": [], "conflicts": [], "dry_run": False, "transaction": "txn-1"}
SCENES: dict[str, dict[str, Any]] = {
    "fixed": {"theme": "dark", "result": result(fixed()),
              "variables": {"--color-text-primary": "#123456", "--other": "1px"}},
    "hostile": {"theme": "light", "result": result({
        **fixed(reason=HOSTILE, hint=HOSTILE, kept_files=[HOSTILE], fixed_tests=[HOSTILE], diff=f"+{HOSTILE}\n"),
        "job_id": HOSTILE, "attempts": [attempt(1, HOSTILE, note=HOSTILE, still=[HOSTILE], broken=[HOSTILE])],
    })},
    "restore": {"theme": "light", "result": result(fixed()), "answers": {"restore": [result(RESTORED, "1 file")]},
                "steps": [["click", "#restore"], ["see", "#ask:not([hidden])"], ["click", "#yes"], ["calls", 1],
                          ["see", "#state:text('restored')"]]},
    "declined": {"theme": "light", "result": result(fixed()),
                 "steps": [["click", "#restore"], ["click", "#no"], ["see", "#restore:enabled"]]},
    "accepted": {"theme": "light", "result": result(fixed()),
                 "steps": [["click", "#accept"], ["see", "#notice:text('Accepted')"],
                           ["hear", "ui/update-model-context"]]},
    "running": {"theme": "light", "result": result(RUNNING),
                "answers": {"job_status": [result({**RUNNING, "progress": "attempt 2"}), result(fixed())]},
                "steps": [["see", "#state:text('fixed')"]]},
    "refused": {"theme": "light", "ready": "#notice:not([hidden])",
                "result": result({"error": {"kind": "busy"}}, "busy: job-9 holds the tree", is_error=True)},
    "failing": {"theme": "light", "result": result(fixed()),
                "answers": {"restore": [result({}, "busy: job-9 holds the tree", is_error=True)]},
                "steps": [["click", "#restore"], ["click", "#yes"], ["see", "#notice:text('busy: job-9')"]]},
}  # fmt: skip


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What each scene showed and sent. One browser plays them all."""
    node = node_command()
    if not (BROWSER / ".installed").exists():
        reason = f"no test browser in {BROWSER} (`make node` installs it; it needs npm, and Linux on x86_64)"
        print(f"SKIPPED: {reason}", file=sys.stderr)
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("browser")
    (folder / "page.html").write_text(view.page(), encoding="utf-8")
    (folder / "scenes.json").write_text(json.dumps(SCENES), encoding="utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), "BROWSER_FOLDER": str(BROWSER)}
    script = ROOT / "tests" / "browser" / "host.mjs"
    done = subprocess.run([*node, str(script), "page.html", "scenes.json"], cwd=folder, env=env, capture_output=True,
                          text=True, check=False, timeout=100, stdin=subprocess.DEVNULL)  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_the_page_is_small_and_names_no_address() -> None:
    page = view.page()
    assert len(page.encode()) < MOST_BYTES
    assert re.findall(r"https?://[^\"' ]+", page) == ["http://www.w3.org/2000/svg"]
    assert "innerHTML" not in page
    assert "{{" not in page


def test_the_policy_lets_nothing_through_but_the_one_script_and_style() -> None:
    policy = view.policy(view.page())
    assert f'content="{policy}"' in view.page()
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_only_the_tools_of_a_run_link_to_the_page() -> None:
    linked = {name for name, spec in BY_NAME.items() if "ui" in (as_tool(spec).meta or {})}
    assert linked == {"fix_tests", "submit_fix", "job_status"}


def test_tools_whose_answers_the_caller_sizes_may_be_long() -> None:
    long = {n for n, spec in BY_NAME.items() if "anthropic/maxResultSizeChars" in (as_tool(spec).meta or {})}
    assert long == LONG_ANSWERS


def test_the_page_is_read_at_its_own_address_only() -> None:
    found = view.read(view.URI)
    assert found
    assert found.contents[0].mime_type == view.resource().mime_type == "text/html;profile=mcp-app"
    assert view.read("ui://regreen/other.html") is None


def test_the_page_says_who_it_is_then_that_it_is_ready(seen: dict[str, dict[str, Any]]) -> None:
    first, second, *_ = seen["fixed"]["messages"]
    assert first["method"] == "ui/initialize"
    assert first["params"]["protocolVersion"] == "2026-01-26"
    assert first["params"]["appInfo"]["name"] == "regreen"
    assert second["method"] == "ui/notifications/initialized"
    assert any(m.get("method") == "ui/notifications/size-changed" for m in seen["fixed"]["messages"])


def test_a_result_is_shown_as_outcome_timeline_chart_and_diff(seen: dict[str, dict[str, Any]]) -> None:
    shown = seen["fixed"]
    assert shown["state"] == "fixed"
    assert "Review the diff." in shown["text"]
    assert "the cause" in shown["text"]
    assert "fixed 0, broken 1, still failing 2" in shown["text"]
    assert shown["chart"] == "Failing tests: start 2, #1 3, #2 0"
    assert shown["plus"] == ["+    return a + b"]
    assert shown["minus"] == ["-    return a - b"]


def test_the_host_decides_the_theme_and_known_styles_only(seen: dict[str, dict[str, Any]]) -> None:
    assert (seen["fixed"]["theme"], seen["hostile"]["theme"]) == ("dark", "light")
    assert seen["fixed"]["primary"] == "#123456"
    assert seen["fixed"]["others"] == ""


def test_hostile_words_stay_words(seen: dict[str, dict[str, Any]]) -> None:
    shown = seen["hostile"]
    assert not shown["pwned"]
    assert {"img", "script"}.isdisjoint(shown["elements"])
    assert "onerror" not in shown["attributes"]
    assert HOSTILE in shown["text"]


@pytest.mark.parametrize("scene", sorted(SCENES))
def test_no_scene_reaches_the_network_or_raises(seen: dict[str, dict[str, Any]], scene: str) -> None:
    assert seen[scene]["requests"] == []
    assert seen[scene]["errors"] == []


def test_every_control_has_a_name(seen: dict[str, dict[str, Any]]) -> None:
    assert seen["fixed"]["nameless"] == 0


def test_restore_asks_first_and_then_calls_the_tool_for_this_job(seen: dict[str, dict[str, Any]]) -> None:
    before_yes = seen["restore"]["calls_before"][2]
    assert before_yes == []
    assert seen["restore"]["calls"] == [{"name": "restore", "arguments": {"to": "job-1", "repo": "/shop"}}]
    assert "1 file" in seen["restore"]["text"]
    told = [m for m in seen["restore"]["messages"] if m.get("method") == "ui/update-model-context"]
    assert "restored" in told[0]["params"]["content"][0]["text"]


def test_no_restores_nothing(seen: dict[str, dict[str, Any]]) -> None:
    assert seen["declined"]["calls"] == []


def test_accept_calls_nothing_and_tells_the_model(seen: dict[str, dict[str, Any]]) -> None:
    assert seen["accepted"]["calls"] == []
    told = [m for m in seen["accepted"]["messages"] if m.get("method") == "ui/update-model-context"]
    assert len(told) == 1


def test_a_running_job_is_asked_for_until_it_has_ended(seen: dict[str, dict[str, Any]]) -> None:
    calls = seen["running"]["calls"]
    assert [c["name"] for c in calls] == ["job_status", "job_status"]
    assert calls[0]["arguments"]["job_id"] == "job-1"


def test_a_refusal_is_told_in_its_own_words(seen: dict[str, dict[str, Any]]) -> None:
    assert "busy: job-9 holds the tree" in seen["refused"]["text"]
    assert "Not restored: busy: job-9 holds the tree" in seen["failing"]["text"]


def test_the_server_lists_and_serves_the_page(tmp_path: Path) -> None:
    with raw_server([*SERVE, str(tmp_path)], cwd=tmp_path, env=server_environment(tmp_path)) as server:
        server.initialize()
        listed = {tool["name"]: tool.get("_meta", {}) for tool in server.request("tools/list")["tools"]}
        assert listed["fix_tests"]["ui"] == {"resourceUri": view.URI}
        assert "ui" not in listed["run_tests"]
        (entry,) = [r for r in server.request("resources/list")["resources"] if r["uri"] == view.URI]
        (content,) = server.request("resources/read", {"uri": view.URI})["contents"]
        assert entry["mimeType"] == content["mimeType"] == view.MIME_TYPE
        assert content["text"] == view.page()
        assert content["_meta"]["ui"] == {"csp": {}, "prefersBorder": True}


def test_the_server_declares_the_extension_where_the_protocol_has_extensions(tmp_path: Path) -> None:
    names = "protocolVersion", "clientInfo", "clientCapabilities"
    values = MODERN_VERSION, {"name": "raw", "version": "1"}, {}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in zip(names, values, strict=True)}
    with raw_server([*SERVE, str(tmp_path)], cwd=tmp_path, env=server_environment(tmp_path)) as server:
        said = server.request("server/discover", {"_meta": meta})
    assert said["capabilities"]["extensions"]["io.modelcontextprotocol/ui"] == {"mimeTypes": [view.MIME_TYPE]}
