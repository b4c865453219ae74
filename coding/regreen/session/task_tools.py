"""What the agent of a coding task can use: the engine's tools, with edits and test runs bound to the task's tree."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from regreen.agent.ask_user import ask_user
from regreen.agent.tool import MOSTLY_TAIL, Tool, ToolContext, ToolReply
from regreen.errors import Refused, UsageError
from regreen.events import EventLog
from regreen.fix.task_tree import TaskTree
from regreen.model import EditReport
from regreen.policy import Ask
from regreen.sandbox import Cancel
from regreen.session import asking, trust
from regreen.session.handlers import proposal_of_arguments
from regreen.session.toolbox import as_reply, engine_tools, without_repo
from regreen.tools import BY_NAME, ToolSpec, check
from regreen.wire import Json, to_object
from regreen.workspace import is_command_bearing

if TYPE_CHECKING:
    from regreen.agent.approval import Approver, Effect
    from regreen.agent.ask_user import AskUser
    from regreen.edits import EditPlan
    from regreen.session.engine import Engine
    from regreen.session.repository import Session

READING = (
    "repo_skeleton", "extract_signatures", "repo_map", "find_symbol", "search_text", "read_file",
)  # fmt: skip
_NOT_FOR_AGENTS = {
    "apply_edits": ("dry_run", "commit", "hunks"),
    "run_tests": ("wait_s", "warm"),
    "show_changes": ("since",),
}
_RACES = 3
_LEAST_TEST_S = 1.0
_PATIENT_S = 3600.0  # a person may be asked before the tool goes on


class Waiting:
    """How long people were waited for: that is nobody's working time."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def clock(self) -> float:
        """The time, as far as nobody was waited for."""
        return time.monotonic() - self.seconds

    def during(self, ask: Callable[[], Any]) -> Any:
        """What `ask` gives; its time is left out of the clock."""
        begin = time.monotonic()
        try:
            return ask()
        finally:
            self.seconds += time.monotonic() - begin


@dataclass(frozen=True, slots=True)
class Time:
    """Of a task: the clock that people's thinking is left out of, and the seconds that are left (None: no limit)."""

    waiting: Waiting
    left_s: Callable[[], float | None]


@dataclass(frozen=True, slots=True)
class People:
    """Who answers a task's questions, and who approves what it does, besides whoever the session was opened by."""

    ask: AskUser | None = None
    approve: Approver | None = None


class TaskTools:
    """Makes the tools of one task."""

    def __init__(
        self, engine: Engine, session: Session, tree: TaskTree, log: EventLog, time_: Time, people: People
    ) -> None:
        self._engine = engine
        self._session = session
        self._tree = tree
        self._log = log
        self._waiting = time_.waiting
        self._left_s = time_.left_s
        self._ask = people.ask
        self._approver = people.approve

    def all(self) -> tuple[Tool, ...]:
        """Every tool that the agent of this task is offered."""
        reading = engine_tools(partial(self._engine.call_in, self._session), names=READING)
        asking = ask_user(self._ask_user if self._ask is not None else None)
        return (*reading, self._changes(), self._editing(), self._testing(), asking)

    def _changes(self) -> Tool:
        return self._tool("show_changes", lambda _args, _context: to_object(self._session.changes(self._log.run_id)))

    def _editing(self) -> Tool:
        return self._tool(
            "apply_edits", lambda args, context: to_object(self._edit(args, context.cancel)), timeout_s=_PATIENT_S
        )

    def _testing(self) -> Tool:
        limits = self._session.settings.limits
        return self._tool(
            "run_tests",
            lambda args, context: to_object(self._run_tests(args, context)),
            timeout_s=limits.test_timeout_s + _PATIENT_S,
            head_share=MOSTLY_TAIL,
        )

    def _tool(self, name: str, work: Callable[[dict[str, Any], ToolContext], dict[str, Json]], **more: Any) -> Tool:
        spec = BY_NAME[name]
        withheld = ("repo", *_NOT_FOR_AGENTS.get(name, ()))

        def run(arguments: Mapping[str, Json], context: ToolContext) -> ToolReply:
            def answer() -> dict[str, Json]:
                for argument in withheld:
                    if argument in arguments:
                        raise UsageError("unknown_argument", f"{name} takes no `{argument}` here", "leave it out")
                return work(check(spec, arguments), context)

            return as_reply(name, self._engine.answer(name, answer))

        return Tool(name, spec.description, _schema(spec, withheld), run, read_only=spec.read_only, **more)

    # --- edits ---------------------------------------------------------------------------------------

    def _edit(self, args: Mapping[str, Any], cancel: Cancel) -> EditReport:
        """Apply edits, all or none; where a file changes in the very moment, they are judged again."""
        proposal = proposal_of_arguments(args)
        plan = self._tree.plan(proposal, args.get("expected_sha256", {}))
        if not plan.report.ok:
            return plan.report
        about = "".join(f.diff for f in plan.report.files)
        self._allow("edit", about, asking.of_edits(plan.report.files), cancel)
        report = self._commit(plan)
        for _ in range(_RACES):
            if report.ok:
                break
            plan = self._tree.plan(proposal, args.get("expected_sha256", {}))
            if not plan.report.ok:
                return plan.report
            report = self._commit(plan)
        return report

    def _commit(self, plan: EditPlan) -> EditReport:
        before = {c.path: c.before_sha for c in plan.changes if is_command_bearing(c.path)}
        report = self._tree.commit(plan)
        if report.ok and before:
            trust.taint(self._session.store, self._session.key, before)
        return report

    # --- tests ---------------------------------------------------------------------------------------

    def _run_tests(self, args: Mapping[str, Any], context: ToolContext) -> Any:
        about = f"tests: {', '.join(args.get('selection', ())) or 'all'}"
        effect = asking.of_tests(
            args.get("selection", ()), argv=args.get("argv", ()), runner=args.get("runner", "auto")
        )
        self._allow("run", about, effect, context.cancel)
        session = self._session
        return self._tree.note(
            lambda heard: session.run_suite(
                args.get("selection", ()),
                argv=args.get("argv", ()),
                timeout_s=self._test_limit_s(args.get("timeout_s", 0.0)),
                last_failed=args.get("last_failed", False),
                runner=args.get("runner", "auto"),
                cancel=context.cancel,
                on_progress=lambda p: context.on_progress(f"tests: {p.done} of {p.total or '?'}"),
                log_folder=session.store.run_folder(self._log.run_id),
                on_written=heard,
            )
        )

    def _test_limit_s(self, wanted: float) -> float:
        """A run of tests ends with the task's time at the latest."""
        limit, left = wanted or self._session.settings.limits.test_timeout_s, self._left_s()
        return limit if left is None else max(_LEAST_TEST_S, min(limit, left))

    # --- people --------------------------------------------------------------------------------------

    def _allow(self, action: Any, about: str, effect: Effect, cancel: Cancel) -> None:
        """Ask whoever decides. Raises Refused; both answers are recorded."""
        allowed = False
        try:
            with asking.asked_by(self._approver, cancel):
                self._waiting.during(lambda: self._session.allow(action, about, effect))
            allowed = True
        finally:
            self._log.emit("permission", action=action, allowed=allowed)

    def approve(self, tool: Tool, arguments: Mapping[str, Json], cancel: Cancel) -> bool:
        """May a tool that is none of ours be called? The mode decides, or a person."""
        mode = self._session.settings.mode
        if mode == "plan":
            raise Refused("denied_by_mode", f"plan mode only reads, and {tool.name} may do more", "do without it")
        if mode == "auto":
            return True
        session = self._session
        if self._approver is None and session.approve is None:
            raise Refused("needs_approval", f"{tool.name} must be approved, and nobody can be asked",
                          "do without it; the user can allow it with `--mode auto`")  # fmt: skip
        about = json.dumps(arguments, ensure_ascii=False, indent=1)
        ask = Ask("needs_approval", f"the agent wants to call {tool.name}", "approve it", about)
        question = asking.put(session, ask, "call", asking.of_foreign(tool.name, about))
        with asking.asked_by(self._approver, cancel):
            return bool(self._waiting.during(lambda: asking.answer(session, question)))

    def _ask_user(self, question: str, options: tuple[str, ...], cancel: Cancel) -> str | None:
        assert self._ask is not None
        ask = self._ask
        return self._waiting.during(lambda: ask(question, options, cancel))


def _schema(spec: ToolSpec, withheld: Collection[str]) -> dict[str, Json]:
    schema = without_repo(spec.checked_schema)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    return {**schema, "properties": {k: v for k, v in properties.items() if k not in withheld}}
