"""`regreen fix` with a model: real SDKs against scripted servers; what a model says is judged like any proposal."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import chat_server as chat
from support import messages_server as messages
from support.cases import thorough
from support.cli import Shell
from support.engines import engine_on, settings_of_user
from support.gitrepos import make_repo, whole_state
from support.model_wire import Fault, ModelServer, Stall

from regreen.cli.exit_codes import of_result
from regreen.cli.render import render
from regreen.session import FixOptions
from regreen.session.resuming import Anew, resumed

CODE = "def total(prices, shipping):\n    return sum(prices) - shipping\n"
TESTS = "from shop import total\n\n\ndef test_total():\n    assert total([10, 20], 5) == 35\n"
KEY = "sk-ant-test-0123456789abcdefghij"
OPUS = "claude-opus-4-8"
IN_REPOSITORY = "sk-proj-0123456789abcdefghijklmn"  # must not be sent


def block(search: str, replace: str, said: str = "Shipping is added.", path: str = "shop.py") -> str:
    return f"{said}\n\n{path}\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"


RIGHT = block("    return sum(prices) - shipping", "    return sum(prices) + shipping")
WRONG = block("    return sum(prices) - shipping", "    return sum(prices) * shipping", "It is multiplied.")
MALFORMED = block("    return sum(price) - ship", "    return sum(prices) + shipping", "It does not match.")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    files = {"shop.py": f'{CODE}\n\nKEY = "{IN_REPOSITORY}"\n', "test_shop.py": TESTS, ".gitignore": "__pycache__/\n"}
    return Shell(tmp_path, make_repo(tmp_path / "repo", files))


@pytest.fixture
def claude() -> Iterator[ModelServer]:
    with messages.messages_server() as server:
        yield server


@pytest.fixture
def openai() -> Iterator[ModelServer]:
    with chat.chat_server() as server:
        yield server


def for_claude(server: ModelServer) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url}


def for_openai(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "REGREEN_MODEL": "local-coder"}


def in_process(root: Path, environ: dict[str, str], **options: Any) -> dict[str, Any]:
    """The data of a run with Claude in this process, which can be taken up again with the same model."""
    with engine_on(root, environ={**os.environ, **environ}) as engine:
        job = engine.fix(engine.session(), FixOptions(proposer="anthropic", model=OPUS, **options)).job
        assert job.wait(100) == "done"
        again, other = (resumed(engine.session(), job.id, anew) for anew in (Anew(), Anew(proposer="openai")))
        assert (again.proposer, again.model, other.model) == ("anthropic", OPUS, "")
        return job.data()


def asked(server: ModelServer) -> list[str]:
    """The last message of each question."""
    return [str(seen.body["messages"][-1]["content"]) for seen in server.seen]


def test_a_model_learns_from_a_refusal_and_a_wrong_try_and_its_fallback_helps_out(
    shell: Shell, claude: ModelServer
) -> None:
    settings_of_user(
        shell.base / "home", "[provider]", 'model = "claude-opus-4-8"', 'fallback_models = "claude-haiku-4-5"'
    )
    used = messages.usage(1000, 50)
    answers = [messages.answer(messages.text(text), used=used) for text in (MALFORMED, WRONG, RIGHT)]
    claude.script(Fault(529, messages.error_body("overloaded_error", "Overloaded")), *answers)
    done = shell.typed("fix", "--proposer", "anthropic", "--budget-usd", "1", "--json", extra=for_claude(claude))
    outcome = done.document["outcome"]
    assert (done.code, outcome["reason"], outcome["verified"]) == (0, "fixed", True), done.out
    assert [a["state"] for a in done.document["attempts"]] == ["refused", "same", "passed"]
    assert [seen.body["model"] for seen in claude.seen] == [OPUS, "claude-haiku-4-5", OPUS, OPUS]
    assert outcome["evidence"]["usage"]["tokens"] == 3 * 1050
    dollars = (1000 * 1 + 50 * 5 + 2 * (1000 * 5 + 50 * 25)) / 1e6
    assert outcome["evidence"]["usage"]["usd"] == pytest.approx(dollars)
    overloaded, first, second, third = asked(claude)
    assert "test_total" in first and first == overloaded
    assert "sum(prices) - shipping" in second  # the report of the refusal shows the lines that are there
    assert "sum(prices) * shipping" in third  # what was tried
    assert IN_REPOSITORY not in str([seen.body for seen in claude.seen])
    diary = (shell.base / "state" / "runs" / done.document["job_id"] / "events.jsonl").read_text()
    assert diary.count('"kind":"model_response"') == 3 and '"proposer":"anthropic"' in diary
    assert KEY not in done.out + done.err + diary


def test_auto_asks_the_configured_model_when_the_search_has_no_idea_and_a_local_server_needs_no_key(
    tmp_path: Path, openai: ModelServer
) -> None:
    test = "import json\n\n\ndef test_price():\n    assert json.load(open('price.json'))['price'] == 5\n"
    shell = Shell(tmp_path, make_repo(tmp_path / "repo", {"price.json": '{"price": 4}\n', "test_price.py": test}))
    openai.script(chat.says(block('{"price": 4}', '{"price": 5}', path="price.json")))
    done = shell.typed("fix", "--json", extra=for_openai(openai))
    assert (done.code, done.document["outcome"]["reason"]) == (0, "fixed"), done.out
    assert [seen.body["model"] for seen in openai.seen] == ["local-coder"]


@thorough  # that a question too dear is not asked, and a run that has no budget left, are tested by themselves
def test_a_spent_budget_ends_the_run_and_says_what_was_left(shell: Shell, claude: ModelServer) -> None:
    before = whole_state(shell.cwd)
    data = in_process(shell.cwd, for_claude(claude), budget_tokens=300)
    outcome = data["outcome"]
    assert (of_result("fix_tests", data), outcome["reason"], outcome["restored"]) == (4, "budget", True), outcome
    assert "300 are left" in outcome["hint"] and "budget_tokens" in outcome["hint"]
    assert claude.seen == []
    assert whole_state(shell.cwd) == before


def test_a_key_that_is_not_accepted_ends_the_run_with_what_to_do(shell: Shell, claude: ModelServer) -> None:
    claude.script(Fault(401, messages.error_body("authentication_error", f"invalid x-api-key {KEY}")))
    data = in_process(shell.cwd, for_claude(claude))
    assert (of_result("fix_tests", data), data["outcome"]["reason"]) == (1, "proposer_failed"), data
    assert "Check the key" in data["outcome"]["hint"]
    verdict, *_, hint, _ = (line.text for line in render("fix_tests", data))
    assert verdict.startswith("not fixed: the model could not be asked: ") and hint.startswith("hint: Check the key")
    assert KEY not in str(data)


def test_without_a_key_nothing_is_run_and_the_error_says_what_to_type(shell: Shell) -> None:
    done = shell.typed("fix", "--proposer", "anthropic", "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "config_refused")
    assert "export ANTHROPIC_API_KEY=" in done.document["error"]["hint"]
    assert not list((shell.base / "state" / "runs").glob("job-*"))


@pytest.mark.parametrize(
    "argv",
    [("do", "add shipping", "--provider", "anthropic"),
     pytest.param(("fix", "--proposer", "anthropic"), marks=pytest.mark.thorough)],
    ids=["do", "fix"],
)  # fmt: skip
def test_an_interrupt_ends_a_question_in_flight_and_restores(
    shell: Shell, claude: ModelServer, argv: tuple[str, ...]
) -> None:
    before = whole_state(shell.cwd)
    stall = Stall(messages.answer(messages.text(RIGHT[:20], RIGHT[20:])), after=4)
    claude.script(stall)
    with shell.started(*argv, "--json", extra=for_claude(claude)) as process:
        assert stall.reached.wait(60)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        assert claude.seen[0].gone.wait(5)
    assert process.returncode == 130
    assert '"reason": "cancelled"' in out
    assert whole_state(shell.cwd) == before


def test_doctor_tells_which_model_is_asked_and_where_its_key_is_but_never_the_key(shell: Shell) -> None:
    done = shell.typed("doctor", "--json", extra={"ANTHROPIC_API_KEY": KEY})
    model = next(c for c in done.document["checks"] if c["name"] == "model")
    assert (model["level"], model["found"]) == (
        "ok",
        "anthropic, claude-sonnet-5-5; key: environment ANTHROPIC_API_KEY",
    )
    assert KEY not in done.out + done.err
