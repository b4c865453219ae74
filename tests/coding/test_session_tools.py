"""The engine's tools for loops of others: for our agent, and for a loop of one's own on a plain SDK."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.agent_tools import said
from support.cases import sample
from support.engines import engine_on, replacement
from support.messages_server import answer, call, messages_server, text
from support.repos import BUG, CALC, FIX, make_repo, red_repo

import regreen
from regreen.agent.tool import MOSTLY_TAIL
from regreen.agent.toolbox import Toolbox
from regreen.errors import ConfigError, UsageError
from regreen.jobs import Jobs
from regreen.sandbox import Cancel
from regreen.session import Engine, Session, ToolResult
from regreen.session.tasks import TaskOptions
from regreen.session.toolbox import AGENT_TOOLS, FORMS, as_reply, check_tool_names, engine_tools, tool_definitions
from regreen.settings import AgentSettings, load_settings
from regreen.store import Store
from regreen.tools import TOOLS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "own_loop" / "own_loop.py"
RIGHT = [replacement("calc.py", BUG, FIX)]


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Generator[Session]:
    """A session that calls come to which are never run."""
    with engine_on(red_repo(tmp_path_factory.mktemp("tiny") / "r")) as engine:
        yield engine.session()


# --- definitions -------------------------------------------------------------------------------------


def schema_of(definition: dict[str, Any]) -> dict[str, Any]:
    inner = definition.get("function", definition)
    return inner.get("input_schema") or inner.get("parameters") or inner["inputSchema"]


@pytest.mark.parametrize("form", FORMS)
def test_definitions_have_every_tool_without_the_repository(form: Any) -> None:
    definitions: Any = tool_definitions(form)
    assert [d.get("function", d)["name"] for d in definitions] == [t.name for t in TOOLS]
    for definition, spec in zip(definitions, TOOLS, strict=True):
        schema = schema_of(definition)
        assert set(schema) <= {"type", "properties", "required"}
        assert "repo" not in schema["properties"]
        assert schema["properties"].keys() == spec.parameters.keys()
        assert not re.search(r"\$ref|anyOf|null", json.dumps(definition))


def test_each_form_is_the_apis_own() -> None:
    one = {form: tool_definitions(form, ["read_file"])[0] for form in FORMS}
    assert set(one["anthropic"]) == {"name", "description", "input_schema"}
    assert set(one["openai"]) == {"type", "function"}
    assert set(one["mcp"]) == {"name", "title", "description", "inputSchema", "annotations"}
    assert one["mcp"]["annotations"] == {
        "readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False,
    }  # fmt: skip
    assert schema_of(one["openai"])["properties"]["start_line"] == {
        "type": "integer", "minimum": 1, "maximum": 10_000_000,
    }  # fmt: skip


def test_definitions_belong_to_whoever_asked_for_them() -> None:
    first: Any = tool_definitions("anthropic", ["read_file"])
    first[0]["input_schema"]["properties"].clear()
    again: Any = tool_definitions("anthropic", ["read_file"])
    assert "path" in again[0]["input_schema"]["properties"]


def test_an_unknown_form_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="there is no form `gemini`") as caught:
        tool_definitions("gemini")
    assert caught.value.hint == "one of: anthropic, openai, mcp"


# --- a session's own calls ---------------------------------------------------------------------------


def test_a_session_runs_its_tools_and_says_what_is_wrong_with_a_call(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        session = engine.session()
        assert session.call("read_file", {"path": "calc.py"}).data["text"] == CALC
        for name, arguments, kind in (
            ("red_file", {}, "not_found: there is no tool `red_file`\ndid you mean `read_file`?"),
            ("read_file", {}, "invalid_arguments: read_file needs `path`"),
            ("read_file", {"path": "a", "repo": "."}, "argument_not_allowed: read_file takes no repo here"),
        ):
            result = session.call(name, arguments)
            assert result.is_error
            assert result.text.startswith(kind)


@pytest.mark.parametrize("sent", ['{"path": "calc.py"}', {"path": "calc.py"}])
def test_arguments_may_be_json_text(tmp_path: Path, sent: Any) -> None:
    with engine_on(red_repo(tmp_path / "r")) as engine:
        assert engine.session().call("read_file", sent).data["text"] == CALC


def test_arguments_that_are_no_object_are_a_result(tmp_path: Path) -> None:
    sent: tuple[Any, ...] = (None, [1], 3, "{", "[1]", "null", '{"path": NaN}', "[" * 100_000)
    with engine_on(red_repo(tmp_path / "r")) as engine:
        session = engine.session()
        for arguments in sent:
            result = session.call("read_file", arguments)
            assert result.is_error
            assert result.text.startswith("invalid_arguments: ")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "calc.py", "start_line": 10**4_000}),
        ("read_file", {"path": "calc.py", "start_line": 10**5_000}),
        ("read_file", {"path": deep(3_000)}),
        ("apply_edits", {"replacements": deep(3_000)}),
        ("read_file", {"x" * 1_000_000: 1}),
        ("read_file", {"path": "calc.py", "x": float("nan")}),
        ("nope" * 100_000, {}),
        (None, {}),
        (["read_file"], {}),
        ("read_file", {1: 2}),
    ],
    ids=("large", "larger", "deep", "deep_list", "key", "nan", "name", "no_name", "list_name", "number_key"),
)
def test_nothing_that_a_program_sends_raises(tiny: Session, tool: Any, arguments: Any) -> None:
    result = tiny.call(tool, arguments)
    assert result.is_error
    assert len(result.text) < 10_000
    json.dumps(result.data, allow_nan=False)


def test_what_is_public_is_listed_and_there() -> None:
    assert set(regreen.__all__) <= set(dir(regreen))
    assert all(getattr(regreen, name) is not None for name in regreen.__all__)


def test_one_secret_is_counted_as_one(tmp_path: Path) -> None:
    root = make_repo(
        tmp_path / "r", {"one.txt": f"ghp_{'a1' * 18}\n", "two.txt": f"ghp_{'a1' * 18}\nghp_{'b2' * 18}\n"}
    )
    with engine_on(root) as engine:
        said_of = {n: engine.session().call("read_file", {"path": f"{n}.txt"}).text for n in ("one", "two")}
    assert ", 1 secret masked" in said_of["one"]
    assert ", 2 secrets masked" in said_of["two"]


def test_a_sessions_call_is_bound_to_its_own_repository(tmp_path: Path) -> None:
    make_repo(tmp_path / "a", {"x.py": "a = 1\n"})
    make_repo(tmp_path / "b", {"x.py": "b = 1\n"})
    with engine_on(tmp_path) as engine:
        sessions = [engine.session(name) for name in ("a", "b")]
        assert [s.call("read_file", {"path": "x.py"}).data["text"] for s in sessions] == ["a = 1\n", "b = 1\n"]


def test_a_cancelled_call_ends_the_job_that_it_began(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"test_a.py": "import threading\ndef test_a():\n    threading.Event().wait()\n"})
    cancel = Cancel()
    with engine_on(root) as engine:
        cancel.set()
        result = engine.session().call("run_tests", {}, cancel=cancel)
        assert result.data.get("status") in ("cancelled", "running")
        assert not engine.jobs.any_running()


def test_a_session_without_an_engine_has_no_tools(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    settings = load_settings({"HOME": str(tmp_path)}, roots=(root,))
    store = Store(settings.state_dir)
    session = Session(root, settings, store, Jobs(store))
    with pytest.raises(UsageError, match="belongs to no engine"):
        session.call("read_file", {"path": "calc.py"})
    session.close()
    store.close()


def test_a_file_is_read_in_pages_also_through_the_python_door(tmp_path: Path) -> None:
    root = make_repo(tmp_path / "r", {"long.txt": "x" * 99 + "\n" + "y" * 99 + "\n" * 70_000})
    with engine_on(root, watch=False) as engine:
        engine.caller_present = False
        assert len(str(engine.call("read_file", {"path": "long.txt"}).data["text"])) > 70_000
        assert len(str(engine.session().call("read_file", {"path": "long.txt"}).data["text"])) <= 60_000


# --- the agent's tools -------------------------------------------------------------------------------


def agents(engine: Engine, *names: str) -> Toolbox:
    tools = engine_tools(partial(engine.call_in, engine.session()), names=names or None)
    return Toolbox(tools, settings=engine.settings.agent)


def test_the_agent_edits_and_tests_with_the_engines_tools(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        box = agents(engine)
        red = said(box, "run_tests")
        assert (red.output.is_error, red.denied, red.empty) == (False, False, False)  # red tests are a result
        assert red.output.text.startswith("failed: 2 passed, 1 failed")
        wrong = said(box, "apply_edits", replacements=[replacement("calc.py", "no such line", "x")])
        assert (wrong.output.is_error, wrong.denied) == (True, False)
        assert said(box, "apply_edits", replacements=RIGHT).output.text.startswith("1 edit applied to 1 file")
        assert said(box, "run_tests").output.text.startswith("passed: 3 passed")


def test_what_a_rule_forbids_is_denied(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    (root / ".env").write_text("KEY=1\n")
    with engine_on(root, mode="plan") as engine:
        box = agents(engine)
        for result, kind in (
            (said(box, "apply_edits", replacements=RIGHT), "denied_by_mode"),
            (said(box, "run_tests"), "denied_by_mode"),
            (said(box, "read_file", path=".env"), "path_protected"),
            (said(box, "read_file", path="../x"), "path_outside_workspace"),
            (said(box, "read_file", path="calc.py", repo="."), "argument_not_allowed"),
        ):
            assert (result.denied, result.output.is_error) == (True, True)
            assert result.output.text.startswith(f"{kind}: ")
    with engine_on(root) as engine:
        edit = said(agents(engine), "apply_edits", replacements=[replacement(".git/config", "", "x\n")])
        assert (edit.denied, edit.output.is_error) == (True, True)


def test_the_agents_tools_are_those_that_a_task_has(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    (tmp_path / "replies.jsonl").write_text('{"text": "done"}\n')
    task = TaskOptions("say something", provider="scripted", script=tmp_path / "replies.jsonl")
    with engine_on(root) as engine:
        engine.settings = replace(engine.settings, agent=AgentSettings(enabled=("nowhere",)))
        with pytest.raises(ConfigError) as caught:
            engine.session().do(task)
    assert caught.value.hint == f"it has: {', '.join(AGENT_TOOLS)}"


@pytest.mark.parametrize("name", ["read_file", "read_*", "wiki__*", "wiki__page"])
def test_names_and_globs_of_tools_are_taken(name: str) -> None:
    check_tool_names(AgentSettings(enabled=(name,), concurrency_safe=(name,)), Path("config.toml"))


def test_a_name_that_is_no_tool_of_the_agent_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(ConfigError, match=r"config\.toml: \[tools\]: enabled names `read_fil`") as caught:
        check_tool_names(AgentSettings(enabled=("read_fil",)), Path("config.toml"))
    assert caught.value.hint.startswith("did you mean `read_file`? it has: repo_skeleton, ")


def test_a_look_that_finds_nothing_is_empty(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with engine_on(root) as engine:
        box = agents(engine)
        assert said(box, "search_text", pattern="nowhere at all").empty
        assert said(box, "find_symbol", name="nowhere").empty
        assert not said(box, "search_text", pattern="total").empty
        assert not said(box, "find_symbol", name="total").empty
        assert not said(box, "show_changes").empty  # that nothing is changed is a finding
        assert not said(box, "read_file", path="missing.py").empty  # an error is none


def test_refused_attempts_are_denied() -> None:
    data: dict[str, Any] = {"attempt": {"state": "refused", "refusal": "path_out_of_scope", "edits": []}}
    assert as_reply("submit_fix", ToolResult("t", data, False)).denied
    data["attempt"] = {"state": "worse", "refusal": "", "edits": []}
    assert not as_reply("submit_fix", ToolResult("t", data, False)).denied


def test_tools_that_wait_by_themselves_have_time_for_that_and_show_their_end() -> None:
    def never(*_: object, **__: object) -> ToolResult:
        raise AssertionError

    tools = {t.name: t for t in engine_tools(never)}
    waiting = [t.name for t in TOOLS if "wait_s" in t.parameters]
    assert all(tools[n].timeout_s > 45 and "job_status" in tools[n].on_timeout for n in waiting)
    assert tools["run_tests"].head_share == MOSTLY_TAIL
    assert [t.name for t in engine_tools(never, names=("read_file", "search_text"))] == ["search_text", "read_file"]


# --- the example -------------------------------------------------------------------------------------


def test_the_example_loop_repairs_a_repository(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "r")
    with messages_server() as server:
        server.script(
            answer(text("Let me look."), call("c1", "read_file", {"path": "calc.py"}), call("c2", "red_file", {}),
                   call("c0", "apply_edits", {"replacements": [replacement("calc.py", "no such line", "x")]}),
                   stop="tool_use"),
            answer(call("c3", "apply_edits", {"replacements": RIGHT}), stop="tool_use"),
            answer(text("The sign was wrong.")),
        )  # fmt: skip
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "REGREEN_STATE_DIR": str(tmp_path / "state"),
                   "REGREEN_CACHE_DIR": str(tmp_path / "cache"), "ANTHROPIC_API_KEY": "key-of-a-test",
                   "ANTHROPIC_BASE_URL": server.url}  # fmt: skip
        done = subprocess.run([sys.executable, str(EXAMPLE), str(root), "Make the tests pass."], env=environ,
                              capture_output=True, text=True, timeout=60)  # fmt: skip
        asked = [seen.body for seen in server.seen]
    assert done.returncode == 0, done.stderr
    assert "The sign was wrong." in done.stdout
    assert "tests: passed, 3 passed, 0 failed" in done.stdout
    assert FIX in (root / "calc.py").read_text()
    outputs = asked[1]["messages"][-1]["content"]
    assert [(o["tool_use_id"], o["is_error"]) for o in outputs] == [("c1", False), ("c2", True), ("c0", True)]
    assert BUG in outputs[0]["content"]
    assert [t["name"] for t in asked[0]["tools"]].count("apply_edits") == 1


@pytest.mark.parametrize("typed", sample([[".", "Make the tests pass."], []], 2))
def test_the_example_without_arguments_or_key_says_how_it_is_used(typed: list[str]) -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE), *typed], env={"PATH": "/usr/bin:/bin"}, capture_output=True,
                          text=True, timeout=60)  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("usage: ANTHROPIC_API_KEY=... python own_loop.py REPOSITORY")


def test_the_page_shows_the_examples_loop() -> None:
    page = (ROOT / "docs" / "own-loop.md").read_text("utf-8")
    source = EXAMPLE.read_text("utf-8")
    loop = source[source.index("def run(") : source.index("def main(")].strip()
    assert loop in page
