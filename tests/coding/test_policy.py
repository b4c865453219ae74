"""What is allowed in which mode."""

from __future__ import annotations

import pytest

from regreen.policy import Action, Allow, Ask, Deny, Request, decide
from regreen.settings import MODES, Mode


@pytest.mark.parametrize("mode", MODES)
def test_reading_is_always_allowed(mode: Mode) -> None:
    assert decide(Request("read", "/r", trusted=False), mode) == Allow()


@pytest.mark.parametrize("action", ["edit", "run", "restore"])
def test_plan_mode_only_reads(action: Action) -> None:
    decision = decide(Request(action, "/r", trusted=True), "plan")
    assert isinstance(decision, Deny)
    assert decision.kind == "denied_by_mode"


@pytest.mark.parametrize("mode", ["ask", "accept-edits", "auto"])
def test_running_needs_trust_in_every_mode(mode: Mode) -> None:
    decision = decide(Request("run", "/r", trusted=False), mode)
    assert isinstance(decision, Ask)
    assert decision.kind == "untrusted_workspace"
    assert "regreen trust /r" in decision.hint


def test_ask_mode_asks_for_writes_and_runs() -> None:
    assert isinstance(decide(Request("edit", "/r", trusted=True), "ask"), Ask)
    assert isinstance(decide(Request("run", "/r", trusted=True), "ask"), Ask)


@pytest.mark.parametrize("mode", ["accept-edits", "auto"])
def test_edits_and_trusted_runs_pass(mode: Mode) -> None:
    for action in ("edit", "run", "restore"):
        assert decide(Request(action, "/r", trusted=True), mode) == Allow()


def test_changed_command_bearing_files_need_approval_except_in_auto() -> None:
    request = Request("run", "/r", trusted=True, tainted=("conftest.py",))
    decision = decide(request, "accept-edits")
    assert isinstance(decision, Ask)
    assert decision.kind == "needs_approval"
    assert "conftest.py" in decision.reason
    assert decide(request, "auto") == Allow()
