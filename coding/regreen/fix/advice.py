"""What a proposer is told before a run that leads nowhere is ended: what was in vain, and what else to try. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from regreen.fix.limits import TAMPERING, StopRules, breaking, idle, objecting, ran
from regreen.model import Attempt, AttemptState
from regreen.wire import counted, names

MAX_ADVICE = 400
_FUNCTION = re.compile(
    r"\s*(?:(?:export|async|pub|public|private|protected|static|default)\s+)*(?:def|func|function|fn|class)\s+"
    r"(?:\([^)]*\)\s*)?(?P<name>\w+)"
)
_OUT_OF_SCOPE = "path_out_of_scope"


def advice(attempts: Sequence[Attempt], rules: StopRules) -> str:
    """The nudge for the next proposal, in at most 400 characters; "" while there is nothing to say.

    It comes when the next attempt of the kind of the last one may end the run: after one that touched protected files,
    repeated an earlier one or broke something, and after `patience - 1` attempts without improvement.
    """
    if not attempts or attempts[-1].kept:
        return ""
    for holds, text in _NUDGES:
        if holds(attempts[-1]):
            return _short(text(attempts))
    vain = idle(attempts)
    if len(vain) < max(1, rules.patience - 1):
        return ""
    if gates := objecting(vain):
        return _short(_objected_to(vain, gates))
    refused = vain[-1].state is AttemptState.REFUSED
    return _short(_unapplied(vain) if refused else _fruitless(vain))


def _protected(_: Sequence[Attempt]) -> str:
    return (
        "The last try changed tests or their settings. These are read-only here, and a second such try ends the run. "
        "Change the code under test; if no right code can pass these tests, say so with `needs_test_change`."
    )


def _repeated(attempts: Sequence[Attempt]) -> str:
    last = attempts[-1]
    first = next((a for a in attempts if a.tree == last.tree and ran(a)), None)
    came = f"It is attempt {first.number} again, which came to `{first.state}`" if first else "It undoes a try"
    return (
        f"The last try gives a tree that was there before. {came}. Another repetition ends the run. "
        f"Leave {_changed([last])} as it is, and look for the cause where the failing values come from."
    )


def _broke(attempts: Sequence[Attempt]) -> str:
    last = attempts[-1]
    if not last.broken:
        return (
            f"After the last try in {_changed([last])} the code does not load any more. Another such try ends the run. "
            "Check names, imports and syntax; change less at once."
        )
    tests = "a test that passes" if len(last.broken) == 1 else f"{len(last.broken)} tests that pass"
    return (
        f"The last try in {_changed([last])} breaks {tests}: {names(last.broken)}. Another such try ends the run. "
        "Read what these expect, and change only the case that fails."
    )


def _unapplied(vain: Sequence[Attempt]) -> str:
    last = vain[-1]
    refused = [a for a in vain if a.state is AttemptState.REFUSED]
    tries = "The last try was" if len(refused) == 1 else f"{len(refused)} of the last {len(vain)} tries were"
    if last.refusal == _OUT_OF_SCOPE:
        return f"{tries} refused: {last.message[:200]}. Keep to the paths of this run."
    where = names(dict.fromkeys(e.path for e in last.edits if e.error is not None)) or "the files"
    return (
        f"{tries} not applied ({last.refusal or 'refused'} in {where}). Each try starts from the best tree so far, not "
        "from the one before: read the file again, copy SEARCH from it line for line, and make it long enough to be "
        "there once."
    )


def _objected_to(vain: Sequence[Attempt], gates: Sequence[str]) -> str:
    said = next(a.message for a in reversed(vain) if a.gates)
    who = f"gate {gates[0]}" if len(gates) == 1 else f"gates {names(gates)}"
    return (
        f"The tests pass with the last tries; only {who} speaks against them. Write the same repair so that "
        f"nothing new is found. Last: {said}"
    )


def _fruitless(vain: Sequence[Attempt]) -> str:
    tests = [a for a in vain if ran(a)]
    tries = counted(len(tests), "try", "tries")
    same = len({frozenset(f.signature for f in a.failures) for a in tests}) == 1
    remain = "the same failures remain" if same else "other failures came, none went for good"
    edited = {e.path for a in tests for e in a.edits}
    places = [(f.file, f.line) for f in tests[-1].failures if f.file and f.file not in edited]
    where = names(dict.fromkeys(f"{file}:{line}" for file, line in places))
    shown = f" (at {where})" if where else ""
    return (
        f"{tries} in {_changed(tests)} in vain: {remain}{shown}. The cause is likely elsewhere. Follow the failing "
        "value back to where it is made, look at callers and callees not changed yet, or doubt what these tries have "
        "in common."
    )


_NUDGES: tuple[tuple[Callable[[Attempt], bool], Callable[[Sequence[Attempt]], str]], ...] = (
    (lambda a: a.refusal in TAMPERING, _protected),
    (lambda a: a.state is AttemptState.REPEATED, _repeated),
    (breaking, _broke),
)


def _changed(attempts: Iterable[Attempt]) -> str:
    """The files that were changed, with the functions as far as the diffs show them."""
    found: dict[str, dict[str, None]] = {}
    for attempt in attempts:
        for edit in attempt.edits:
            found.setdefault(edit.path, {})
        for path, name in _functions(attempt.diff):
            found.setdefault(path, {})[name] = None
    shown = (f"{path} ({names(functions, 2)})" if functions else path for path, functions in found.items())
    return names(shown) or "it"


def _functions(diff: str) -> Iterable[tuple[str, str]]:
    """File and name of every function in which, as far as a diff shows it, a line was changed."""
    path = name = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path, name = line[4:].partition("\t")[0].removeprefix("b/"), ""
        elif line.startswith("@@"):
            heading = _FUNCTION.match(line.rpartition("@@")[2])
            name = heading["name"] if heading else ""
        elif line.startswith((" ", "+", "-")) and not line.startswith("---"):
            begins = _FUNCTION.match(line[1:])
            name = begins["name"] if begins else name
            if line[0] != " " and name:
                yield path, name


def _short(text: str) -> str:
    return text if len(text) <= MAX_ADVICE else text[: MAX_ADVICE - 4].rstrip() + " ..."
