"""docs/runs-api.md says what the run routes do: its routes are served, its samples are taken, its limits in force."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from support.engines import engine_on, replacement, run_script, script

from regreen import events as diary
from regreen.agent import steering
from regreen_server.http import events, live, openapi, running, runs
from regreen_server.http.errors import STATUS
from regreen_server.tool_list import Offer

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "runs-api.md").read_text("utf-8")
WHOLE = openapi.document(Offer())


def sent() -> list[tuple[str, Any]]:
    """Each body that a sample sends, and the path that it goes to."""
    found = re.findall(r"curl -\w+ \S*:8080(/\S*)((?:(?!curl).)*?)-d '(\{.*?\})'\n", PAGE, re.DOTALL)
    return [(path, json.loads(body)) for path, _, body in found]


def kinds(page: str) -> dict[str, set[str]]:
    """The kinds of event that a page's tables name, each with the fields in its row."""
    rows = re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \| (.*) \|$", page, re.MULTILINE)
    return {kind: set(re.findall(r"`([a-z_]+)`", told)) for names, told in rows for kind in re.findall(r"\w+", names)}


def test_the_routes_of_the_page_are_those_that_are_served() -> None:
    told = {(method.lower(), path) for method, path in re.findall(r"^\| `([A-Z]+) (/\S*)` \|", PAGE, re.MULTILINE)}
    described = {(m, path) for path, item in WHOLE["paths"].items() for m in ("get", "post", "delete") if m in item}
    assert told == {(method, path) for method, path in described if path != "/mcp"}


def test_what_the_samples_send_is_taken() -> None:
    schemas = {"/runs": "Start"}
    assert len(sent()) == 4
    for path, body in sent():
        schema = schemas.get(path, "Message")
        Draft202012Validator({**WHOLE, "$ref": f"#/components/schemas/{schema}"}).validate(body)


def test_the_statuses_are_the_ones_in_force() -> None:
    rows = re.findall(r"^\| (\d{3}) \| (`.*?) \|$", PAGE, re.MULTILINE)
    told = {
        kind: int(status) for status, kinds in rows if status != "503" for kind in re.findall(r"`([a-z_]+)`", kinds)
    }
    assert told.items() <= STATUS.items() and len(told) == 9


def test_the_limits_and_codes_are_the_ones_in_force() -> None:
    page = " ".join(PAGE.split())
    for told in (
        f"the newest {runs.KNOWN} runs", f"{events.MAX_STREAMS} streams are open", f"limit={runs.PAGE}`",
        f"(up to {runs.MAX_WAIT_S:g})", f"a comment every {events.HEARTBEAT_S:g} seconds",
        f"retry: {events.RETRY_MS} ", f"at most {steering.MAX_CHARS} characters",
        f"more than {running._WS_MAX_BYTES // 1024} KiB",  # pyright: ignore[reportPrivateUsage]
    ):  # fmt: skip
        assert told in page, told
    codes = {int(code) for row in re.findall(r"^\| (\d{4}[\d, ]*) \|", PAGE, re.MULTILINE) for code in row.split(", ")}
    assert {live.ENDED, live.GOING_AWAY, live.REFUSED, live.UNKNOWN_RUN} <= codes


def test_the_program_of_the_page_is_python() -> None:
    program = re.search(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert program
    compile(program[1], "runs-api.md", "exec")


def test_every_kind_of_event_is_told_here_or_on_the_page_of_tasks() -> None:
    never = {"recovered", "search_progress"}  # written by no run; shown as progress alone
    told = kinds(PAGE).keys() | kinds((DOCS / "agent.md").read_text("utf-8")).keys()
    assert set(get_args(diary.EventKind)) - never <= told


@pytest.mark.usefixtures("few_looks")
def test_the_events_of_a_real_run_have_the_fields_that_are_told(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "cart.py").write_text("VALUE = 1\n", "utf-8")
    test = "from cart import VALUE\n\n\ndef test_value():\n    assert VALUE == 2\n"
    (tmp_path / "shop" / "test_cart.py").write_text(test, "utf-8")
    tries = [[replacement("cart.py", "VALUE = 1", f"VALUE = {value}")] for value in ("None", "2")]
    with engine_on(tmp_path / "shop") as engine:
        done = run_script(engine, script(tmp_path, tries))
        file = engine.store.run_folder(done["job_id"]) / "events.jsonl"
        events = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert done["outcome"]["fixed"], done
    for event in events:
        assert event.keys() - {"seq", "time", "run_id", "kind"} <= kinds(PAGE)[event["kind"]], event
    taken_back, *_, at_the_end = [e for e in events if e["kind"] == "restored"]
    assert taken_back["restored"] == ["cart.py"]
    assert at_the_end["restored"] == at_the_end["deleted"] == at_the_end["conflicts"] == []
    assert events[-2:] == [at_the_end, events[-1]] and events[-1]["kind"] == "run_finished"
