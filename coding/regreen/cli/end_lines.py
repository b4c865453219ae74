"""How a person sees the end of a coding task: what was changed, what it cost, the verdict, what to do next. Pure and
bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from regreen.cli.do_lines import bounded_diff, brief, tests_line, text_line
from regreen.cli.fix_lines import remarks
from regreen.cli.lines import Line, count, more, names, price, split
from regreen.cli.wording import worded
from regreen.wire import shortened

Data = Mapping[str, Any]

_QUESTION_CHARS = 4_000
_ANSWER_LINES = 200
_DIFF_LINES = 60
_FAILING = 20
_WHY_LINES = 6
_ENDS = {
    "max_turns": "not done: all turns are used up",
    "stuck": "not done: the model went in circles",
    "needs_user": "not done: the model has a question that nobody was there to answer",
    "context_overflow": "not done: the conversation became too long for the model",
    "no_progress": "not done: the model said that it is done, but the named tests do not pass",
    "model_error": "not done: no usable answer from the model",
    "budget": "not done: the budget is spent",
    "environment": "not done: the environment is at fault",
    "refused": "refused",
    "hook_stopped": "stopped by a hook",
    "tampered": "refused: what the tests rest on was changed",
    "cancelled": "interrupted",
}


def ended(data: Data) -> Iterator[Line]:
    """The end of a task: answer, what was changed, what it cost; last, where nothing scrolls it away, the verdict and
    what to do next. `told`: the answer has been shown where this is shown. `refused`: the calls that were not allowed.
    `standing`, of a task that ended long ago: whether its changes are still there."""
    outcome, job_id = data.get("outcome", {}), str(data.get("job_id", ""))
    yield from _answer("" if data.get("told") else str(outcome.get("answer", "")))
    yield from _changed(outcome, data, job_id)
    yield from remarks(outcome)
    if usage := data.get("usage"):
        yield Line(usage_line(outcome.get("turns", 0), usage), "dim")
    yield from _verdict(outcome)
    yield from _next({} if data.get("standing") is False and outcome.get("kept") else outcome, job_id)


def _answer(answer: str) -> Iterator[Line]:
    if not answer.strip():
        return
    lines = list(split(answer.strip()))
    yield from (text_line(line.text) for line in lines[:_ANSWER_LINES])
    yield from more(len(lines), _ANSWER_LINES)
    yield Line("")


def _changed(outcome: Data, data: Data, job_id: str) -> Iterator[Line]:
    files: Sequence[str] = outcome.get("kept_files", [])
    text = str(data.get("diff", ""))
    if files:
        since = "; taken back since" if data.get("standing") is False else ""
        yield Line(f"changed: {names(files)}{since}")
    elif outcome.get("restored"):
        yield Line("everything is as it was before")
    elif not text:
        yield Line("no file was changed")
    if text and not files:
        back = outcome.get("put_back")
        yield Line(f"taken back (`regreen restore {back}` brings it again):" if back else "taken back:")
    if not text:
        yield from _refused(data.get("refused", {}))
    yield from bounded_diff(text, _DIFF_LINES, rest=_rest(bool(files), job_id))


def _rest(kept: bool, job_id: str) -> str:
    """What shows all of a diff."""
    if kept and job_id:
        return f"regreen changes --since {job_id}"
    return f"regreen runs show {job_id} --json" if job_id else "--json has them"


def _refused(refused: Data) -> Iterator[Line]:
    if calls := refused.get("calls"):
        were = "was" if calls == 1 else "were"
        why = refused.get("message") or "by the mode, or nobody approved"
        yield Line(f"{count(calls, 'call')} {were} refused: {brief(worded(why))}", "warn")


def usage_line(turns: int, usage: Data) -> str:
    """What the models have cost: `3 turns, 3 model calls, 12,345 tokens (900 out), $0.02`."""
    paid = price(usage.get("usd", 0.0), unpriced=bool(usage.get("unpriced")))
    cached = f", {usage['cache_read']:,} from the cache" if usage.get("cache_read") else ""
    return (
        f"{count(turns, 'turn')}, {count(usage.get('calls', 0), 'model call')}, {usage.get('tokens', 0):,} tokens "
        f"({usage.get('output', 0):,} out{cached}), {paid}"
    )


def _verdict(outcome: Data) -> Iterator[Line]:
    reason = str(outcome.get("reason", ""))
    if outcome.get("fixed"):
        yield Line("fixed: the named tests failed and pass now", "good")
    elif reason == "completed":
        yield Line("completed: the model says that it is done", "good" if outcome.get("verified") else "warn")
    else:
        yield Line(_ENDS.get(reason, f"not done: {reason}"), "bad")
        yield from _why(reason, str(outcome.get("why", "")))
    if question := outcome.get("question"):
        yield from split(shortened(question, _QUESTION_CHARS), "strong", "  ")
    yield from _tests(outcome)


def _why(reason: str, why: str) -> Iterator[Line]:
    """Why, in a few lines. That a question is open needs no cause besides."""
    if reason == "needs_user":
        return
    said = for_people(why)
    told = (line.rstrip() for line in (worded(why) if said == why else said).splitlines())  # tools are the model's here
    lines = [line for line in told if line and not _FENCE.fullmatch(line)]
    yield from (Line(f"  {shortened(line, 400)}") for line in lines[:_WHY_LINES])
    yield from more(len(lines), _WHY_LINES)


_FENCE = re.compile(r"\s*[`~]{3,}\w*")  # around what is data to a model


def for_people(why: str) -> str:
    """Why the model went in circles, without what it was told to do about it."""
    for told, said in _TOLD.items():
        why = re.sub(rf"{told}.*?the run ends\.", said, why, flags=re.DOTALL)
    return why


_TOLD = {
    r"The same call gave the same result \(([^)]*)\)\.": r"it made the same call again and again, with the same "
                                                         r"result: \1",
    r"You are going in a circle: [^(]*\(([^)]*)\)\.": r"it made the same calls again and again, with the same results: "
                                                      r"\1",
    r"The last calls found nothing \(([^)]*)\)\.": r"its calls found nothing, again and again: \1",
    r"(`[^\n]*`) has failed again and again\.": r"its calls failed again and again: \1",
    r"You have looked at this job many times, and nothing has changed \(([^)]*)\)\.":
        r"it looked at the same job again and again, and nothing had changed: \1",
}  # fmt: skip


def _tests(outcome: Data) -> Iterator[Line]:
    tests: Data | None = outcome.get("tests")
    if tests is None:
        yield Line("not verified: no tests were named")
        return
    if tests.get("status") == "not_run":
        yield Line("not verified: the named tests were not run", "bad")
        return
    word = "verified by a cold run" if outcome.get("verified") else "not verified"
    yield Line(f"{word}: {tests_line(tests)}", "good" if outcome.get("verified") else "bad")
    yield from (Line(f"  {name}", "bad") for name in tests.get("failing", [])[:_FAILING])
    yield from more(len(tests.get("failing", [])), _FAILING)
    if doubt := tests.get("doubt"):
        yield Line(f"  {worded(doubt)}", "warn")


def _next(outcome: Data, job_id: str) -> Iterator[Line]:
    hint = str(outcome.get("hint", ""))
    if (question := outcome.get("question")) and question in hint:  # it stands above
        hint = hint.replace(f": {question}", ".").replace(question, "")
    if hint := worded(hint.replace("No file was changed.", "")):  # that, too
        yield from split(f"hint: {hint}")
    if job_id:
        yield Line(f"run {job_id}", "dim")
