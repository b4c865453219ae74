"""`regreen do`: a coding task for a model from start to end, as `coding_task` with the waiting done here.

What happens is told on stderr as it happens; stdout carries the result alone, or with `--events -` the events alone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from regreen.cli.calls import complete
from regreen.cli.do_lines import (
    Known,
    Spent,
    Turn,
    doing_after,
    event_lines,
    running_line,
    spent_line,
    text_line,
    turn_line,
)
from regreen.cli.engine import answered, opened, somebody_answers
from regreen.cli.event_file import EventFile
from regreen.cli.exit_codes import of_result
from regreen.cli.invocation import Answer, Invocation
from regreen.cli.lines import Line
from regreen.cli.render import render
from regreen.errors import UsageError
from regreen.wire import Json

if TYPE_CHECKING:
    from regreen.cli.screen import Progress, Screen
    from regreen.events import Event
    from regreen.redact import Redactor
    from regreen.session.tasks import TaskOptions

_TURN_LINES = 60  # of what the model says in one turn that are shown while it says them
_NOBODY = (
    "regreen: ask mode, and nobody is at a terminal to be asked: edits and test runs are refused; "
    "add --mode accept-edits to let edits pass"
)


def do(invocation: Invocation) -> Answer:
    """Run the task, telling what happens, and where asked for writing every event down."""
    from regreen.redact import Redactor

    screen, settings = invocation.screen, invocation.settings()
    repo = invocation.repo()
    options = _options(invocation)
    redact = Redactor.from_environ(settings.may_be_told)
    asks = somebody_answers(screen)
    with _events(invocation, redact) as events:
        invocation.tell_repo(repo)
        if settings.mode == "ask" and not asks:
            screen.tell([Line(_NOBODY, "warn")])
        teller = Teller(screen, redact, events, max_turns=options.max_turns or settings.agent.max_turns,
                        verbose=invocation.args.verbose, watched=asks and settings.mode == "ask")  # fmt: skip
        ask = partial(answered, screen) if asks else None
        with opened(invocation, repo) as engine:

            def start() -> str:
                return engine.task(engine.session(str(repo)), options, on_event=teller.hear, ask=ask).job.id

            data = complete(
                engine,
                screen,
                lambda: engine.call("job_status", {"job_id": start(), "wait_s": 0}),
                say=teller.on,
            )
        teller.finish()
    return _answer(invocation, data, told=screen.together and teller.told(data), refused=teller.refused)


def _answer(invocation: Invocation, data: dict[str, Json], *, told: bool, refused: dict[str, Json]) -> Answer:
    lines = tuple(render("coding_task", {**data, "told": told, "refused": refused}))
    if invocation.args.events == "-":  # stdout is the events'
        invocation.screen.tell(lines)
        lines = ()
    return Answer(data, lines, of_result("coding_task", data))


def _options(invocation: Invocation) -> TaskOptions:
    """What was typed, checked as far as it can be without opening anything. Raises UsageError."""
    from regreen.session.tasks import TaskOptions

    args = invocation.args
    if not args.task.strip():
        raise UsageError("invalid_arguments", "the task is empty", 'say what to do: regreen do "..."')
    if args.provider == "scripted" and not args.script:
        raise UsageError("invalid_arguments", "the scripted provider needs its replies", "add --script FILE.jsonl")
    if args.provider not in (None, "scripted") and args.script:
        raise UsageError("invalid_arguments", "--script is for the scripted provider", "leave one of them out")
    if args.events == "-" and args.json:
        raise UsageError("invalid_arguments", "--events - and --json both want standard output",
                         "write the events to a file, or leave --json out: the last event has the outcome")  # fmt: skip
    return TaskOptions(
        task=args.task,
        selection=tuple(invocation.inside(invocation.repo(), args.tests)),
        provider="scripted" if args.script else args.provider or "",
        model=args.model or "",
        script=_named(invocation, args.script),
        budget_s=args.budget_s or 0.0,
        budget_tokens=args.budget_tokens or 0,
        budget_usd=args.budget_usd or 0.0,
        max_turns=args.max_turns or 0,
        keep_partial=args.keep_partial,
        system_prompt_file=_named(invocation, args.system_prompt_file),
    )


def _named(invocation: Invocation, typed: str | None) -> Path | None:
    return invocation.file(typed) if typed else None


@contextmanager
def _events(invocation: Invocation, redact: Redactor) -> Generator[EventFile | None]:
    """Where `--events` wants them, opened before anything happens. Raises UsageError."""
    typed, screen = invocation.args.events, invocation.screen
    if not typed:
        yield None
    elif typed == "-":
        screen.lively = screen.lively and not screen.together
        yield EventFile(sys.stdout, "standard output", redact, screen)
    else:
        with _appending(invocation.cwd / Path(typed).expanduser(), typed) as stream:
            yield EventFile(stream, typed, redact, screen)


def _appending(file: Path, typed: str) -> TextIO:
    try:
        return file.open("a", encoding="utf-8")
    except OSError as e:
        raise UsageError("invalid_arguments", f"--events {typed}: cannot be written: {e.strerror}",
                         "name a file in a folder that exists, or - for standard output") from e  # fmt: skip


class Teller:
    """Tells a person how a task goes, and hands every event on. `hear` may be called from several threads.

    What the model says is shown, and written down, in whole lines: a secret is not cut in two before it is masked.
    `watched`: a person at the terminal is asked about each edit, and sees it then.
    """

    def __init__(
        self,
        screen: Screen,
        redact: Redactor,
        events: EventFile | None,
        *,
        max_turns: int,
        verbose: bool,
        watched: bool,
    ) -> None:
        self._screen = screen
        self._redact = redact
        self._events = events
        self._verbose = verbose
        self._known = Known(watched=watched)
        self._spent = Spent(max_turns=max_turns)
        self._turn: Turn | None = None
        self._piece: Event | None = None  # the latest of what the model is saying
        self._begun = ""  # its line that has not ended
        self._shown: list[str] = []  # its lines in this turn
        self._doing = ""
        self._progress: Progress | None = None
        self._lock = threading.Lock()

    def on(self, progress: Progress) -> Callable[[str], None]:
        """Tell there, too, what is going on. The job's own words for it say less, and are dropped."""
        self._progress = progress
        return lambda _text: None

    def hear(self, event: Event) -> None:
        with self._lock:
            if event.kind == "text_delta":
                self._does(event.kind, {})
                self._says(event)
                return
            self._said()
            data = cast("Mapping[str, Json]", self._redact.deep(dict(event.data)))
            if self._events is not None:
                self._events.write(event)
            self._count(event, data)
            self._screen.tell(event_lines(event.kind, data, self._known))
            self._known = self._known.after(event.kind, data)

    def finish(self) -> None:
        """Tell what is left: the last turn, and an answer that broke off."""
        with self._lock:
            self._said()
            self._end_turn()

    def told(self, data: Mapping[str, Json]) -> bool:
        """Was the answer of this result shown in full while the model gave it?"""
        outcome = cast("Mapping[str, Json]", data.get("outcome", {}))
        answer = str(outcome.get("answer", "")).strip()
        return bool(answer) and len(self._shown) <= _TURN_LINES and "\n".join(self._shown).strip() == answer

    @property
    def refused(self) -> dict[str, Json]:
        """How many calls were not allowed, and what the model was told of the last one."""
        return {"calls": self._known.refused, "message": self._known.why_refused}

    def _count(self, event: Event, data: Mapping[str, Json]) -> None:
        self._spent = self._spent.after(event.kind, event.time, data)
        if event.kind == "turn_started":
            self._end_turn()
            self._turn, self._shown = Turn(int(str(data["turn"])), str(data.get("transition", ""))), []
            if not self._screen.lively:
                self._screen.tell([Line(f"regreen: {spent_line(self._spent)}")])
        elif event.kind == "tool_call" and self._turn is not None:
            self._turn = self._turn.called(str(data["tool"]), cast("Mapping[str, Json]", data.get("arguments", {})))
        elif event.kind == "step" and self._turn is not None:
            self._turn = self._turn.went_on(str(data.get("transition", "")))
            self._end_turn()
        self._does(event.kind, data)

    def _does(self, kind: str, data: Mapping[str, Json]) -> None:
        doing = doing_after(kind, data)
        self._doing = self._doing if doing is None else doing
        if self._progress is not None:
            self._progress.update(running_line(self._spent, self._doing))

    def _end_turn(self) -> None:
        if self._turn is not None and self._verbose:
            self._screen.tell([turn_line(self._turn)])
        self._turn = None

    def _says(self, event: Event) -> None:
        ended, newline, begun = (self._begun + str(event.data.get("text", ""))).rpartition("\n")
        self._piece, self._begun = event, begun
        if newline:
            self._line(event, f"{ended}\n")

    def _said(self) -> None:
        """The model has stopped in the middle of a line, or at its end."""
        if self._piece is not None and self._begun:
            self._line(self._piece, self._begun)
        self._piece, self._begun = None, ""

    def _line(self, event: Event, text: str) -> None:
        """Some whole lines of what the model says."""
        if self._events is not None:
            self._events.write(event, text=text)
        room = _TURN_LINES - len(self._shown)
        lines = self._redact(text).removesuffix("\n").split("\n")
        self._shown += lines
        if room > 0:
            self._screen.tell(text_line(line) for line in lines[:room])
            if len(lines) > room:
                self._screen.tell([Line("...", "dim")])
