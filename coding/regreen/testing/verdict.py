"""What a test run came to: one pure decision over what was told and how the process ended. `passed` is the last
thing concluded, after everything that could make it untrue has been excluded."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from regreen.model import CaseOutcome, SuiteStatus
from regreen.sandbox import Completed
from regreen.settings import own_interpreter
from regreen.testing.channel import RawFailure, Record
from regreen.wire import counted, nearest

_USAGE_ERROR = 4
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Culprit:
    """What a test did to its process, `crash` or `timeout`, and how that ended. `loading`: it was a file, no test."""

    kind: str
    how: str
    loading: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a verdict rests on. `record` and `completed` are those of the last process; the collections cover
    all processes of the run. `culprits` are the tests that ended or held up a process.
    `log` is the end of the output: used only to explain, never to decide between green and red."""

    record: Record
    completed: Completed
    collected: tuple[str, ...]
    outcomes: Mapping[str, CaseOutcome]
    collection: Mapping[str, RawFailure]
    culprits: Mapping[str, Culprit]
    selection: tuple[str, ...]
    modules: Collection[str]
    interpreter: str
    log: str
    runner: str = "pytest"
    unmatched: tuple[str, ...] = ()  # of the selection
    out_of_time: bool = False

    @property
    def failing(self) -> list[CaseOutcome]:
        return [o for o in self.outcomes.values() if o in ("failed", "error")]

    @property
    def deaf(self) -> bool:
        """Whether a failing test might not have been seen: then those that were told as passed say nothing."""
        record = self.record
        unproven = record.canary is None and record.hello and record.exit_code == 0 and bool(record.outcomes)
        return bool(record.canary) or unproven

    @property
    def not_run(self) -> tuple[str, ...]:
        return tuple(i for i in self.collected if i not in self.outcomes)


@dataclass(frozen=True, slots=True)
class Verdict:
    status: SuiteStatus
    message: str = ""


def decide(facts: Facts) -> Verdict:
    """The first rule that has something to say decides."""
    for rule in _RULES:
        verdict = rule(facts)
        if verdict is not None:
            return verdict
    return Verdict(SuiteStatus.PASSED)


def missing_modules(failures: Collection[RawFailure], modules: Collection[str]) -> tuple[str, ...]:
    """Third-party modules that an import did not find. A module of the project (or a misspelt one), and one below
    the standard library, is a mistake in the code and not the environment's."""
    names = dict.fromkeys(f.missing.partition(".")[0] for f in failures if f.missing)
    return tuple(
        n for n in names if n not in modules and n not in sys.stdlib_module_names and not nearest(n, modules, 1, 0.85)
    )


def _cancelled(f: Facts) -> Verdict | None:
    return Verdict(SuiteStatus.CANCELLED, "the run was cancelled") if f.completed.cancelled else None


def _timeout(f: Facts) -> Verdict | None:
    late = [t for t, c in f.culprits.items() if c.kind == "timeout"]
    if late:
        return Verdict(SuiteStatus.TIMEOUT, f"did not end in time: {names(late)}{_rest(f)}")
    if f.completed.timed_out or f.out_of_time:
        return Verdict(SuiteStatus.TIMEOUT, f"the time limit of the run ended it while {_standing(f)}{_rest(f)}")
    return None


def _standing(f: Facts) -> str:
    if f.record.running:
        return f"{names(list(f.record.running))} ran"
    if f.record.collecting is not None:
        return f"{f.record.collecting[0]} was being imported"
    return "no test ran"


def _no_runner(f: Facts) -> Verdict | None:
    if not f.record.no_pytest:
        return None
    return Verdict(
        SuiteStatus.ENVIRONMENT,
        f"pytest cannot be imported in {f.interpreter}: {f.record.no_pytest}. "
        f"Install it with `{f.interpreter} -m pip install pytest`.",
    )


def _crashed(f: Facts) -> Verdict | None:
    broken = {t: c.how for t, c in f.culprits.items() if c.kind == "crash"}
    if broken:
        how = " and ".join(dict.fromkeys(broken.values()))
        return Verdict(SuiteStatus.CRASHED, f"the test process ended ({how}) in {names(broken)}{_rest(f)}")
    if f.record.exit_code is None:
        return Verdict(SuiteStatus.CRASHED, f"the test process ended without its results ({ending(f.completed)}) "
                                            f"while {_standing(f)}{_rest(f)}{tail(f.log)}")  # fmt: skip
    if f.record.exit_code != f.completed.returncode:
        return Verdict(SuiteStatus.CRASHED, f"{f.runner} said exit status {f.record.exit_code}, but the process ended "
                                            f"otherwise: {ending(f.completed)}{tail(f.log)}")  # fmt: skip
    return None


def _deaf(f: Facts) -> Verdict | None:
    """Code under test runs inside the runner, and may have changed it."""
    if f.record.canary:
        return Verdict(SuiteStatus.CRASHED, "what must fail does not fail in this process any more "
                                            f"({f.record.canary}): the code under test has changed {f.runner} or "
                                            "Python, and the results mean nothing")  # fmt: skip
    if f.deaf:
        return Verdict(SuiteStatus.CRASHED, f"{f.runner} ended without the proof that a failing test would be seen")
    return None


def ending(completed: Completed) -> str:
    """How a process ended, in words."""
    if completed.unsupervised:
        return "the supervisor of the tests was killed"
    if completed.limit:
        return f"the {completed.limit.replace('_', ' ')} limit"
    if completed.signal:
        return f"signal {completed.signal}"
    return f"exit status {completed.returncode}" if completed.returncode is not None else "killed"


def _environment(f: Facts) -> Verdict | None:
    errors = [*f.collection.values(), *([f.record.conftest] if f.record.conftest else [])]
    missing = missing_modules(errors, f.modules)
    if missing:
        where = next(e.id for e in errors if e.missing.partition(".")[0] == missing[0])
        return Verdict(
            SuiteStatus.ENVIRONMENT,
            f"missing in {f.interpreter}: {', '.join(f'`{m}`' for m in missing)} (imported for {where}). "
            + _where_to_install(f.interpreter, missing[0]),
        )
    return None


def _where_to_install(interpreter: str, module: str) -> str:
    if interpreter == own_interpreter():  # not the project's: its packages have no business there
        return "Make a virtual environment `.venv` in the project with pytest and the project's dependencies."
    return (
        f"Install the project's dependencies there (`{interpreter} -m pip install -r requirements.txt`, or `-e .`), or "
        f"the package that provides `{module}`, "
        "or choose another interpreter with the setting `python`."
    )


def _unusable(f: Facts) -> Verdict | None:
    if f.record.conftest is not None:
        return Verdict(SuiteStatus.ERROR, f"{f.record.conftest.id} cannot be imported: "
                                          f"{f.record.conftest.kind}: {f.record.conftest.message[:500]}")  # fmt: skip
    if f.record.internal:
        last = f.record.internal.strip().rpartition("\n")[2]
        return Verdict(SuiteStatus.CRASHED, f"{f.runner} failed internally: {last[:500]}{_rest(f)}")
    own_stop = f.record.interrupted.startswith("Interrupted:") and f.failing  # `--stepwise`, `--maxfail` under xdist
    if f.record.interrupted and not own_stop:
        return Verdict(SuiteStatus.CRASHED, f"the session was stopped while {_standing(f)}: "
                                            f"{f.record.interrupted[:500]}{_rest(f)}")  # fmt: skip
    if f.record.exit_code != _USAGE_ERROR:
        return None
    lost = re.findall(r"^ERROR: not found: (.+)$", f.log, re.MULTILINE)
    if lost:
        named = [s for s in f.selection if any(path.endswith(_end_of(s)) for path in lost)]
        return Verdict(SuiteStatus.NO_TESTS, f"matches no test: {names(named or lost)}")
    return Verdict(SuiteStatus.ENVIRONMENT, f"{f.runner} refuses its arguments or settings{tail(f.log)}")


def _end_of(entry: str) -> str:
    return entry.removeprefix("./")


def _red(f: Facts) -> Verdict | None:
    if f.collection:
        return Verdict(SuiteStatus.ERROR, f"cannot be collected: {names(list(f.collection))}")
    if "failed" in f.failing:
        return Verdict(SuiteStatus.FAILED, _rest(f).removeprefix("; "))
    return Verdict(SuiteStatus.ERROR, _rest(f).removeprefix("; ")) if f.failing else None


def _nothing(f: Facts) -> Verdict | None:
    if f.unmatched:
        return Verdict(SuiteStatus.NO_TESTS, f"matches no test: {names(f.unmatched)}")
    if not f.outcomes and f.collected:
        found = counted(len(f.collected), "test was", "tests were")
        return Verdict(SuiteStatus.NO_TESTS, f"{found} collected and none was run")
    if not f.outcomes:
        return Verdict(SuiteStatus.NO_TESTS, f"no test was found{' in ' + names(f.selection) if f.selection else ''}")
    return all_skipped(f.outcomes.values())


def all_skipped(outcomes: Collection[CaseOutcome]) -> Verdict | None:
    """Where every test was skipped, none ran to its end."""
    if any(o != "skipped" for o in outcomes):
        return None
    return Verdict(SuiteStatus.NO_TESTS, f"all tests were skipped ({len(outcomes)})")


def _incomplete(f: Facts) -> Verdict | None:
    if f.not_run:
        return Verdict(SuiteStatus.CRASHED, f"{f.runner} ended before all tests had run{_rest(f)}")
    if f.record.exit_code:
        return Verdict(SuiteStatus.FAILED, f"{f.runner} ended with exit status {f.record.exit_code} although no test "
                                           f"failed (a coverage threshold, for example){tail(f.log)}")  # fmt: skip
    return None


_RULES: tuple[Callable[[Facts], Verdict | None], ...] = (
    _cancelled, _timeout, _no_runner, _crashed, _deaf, _environment, _unusable, _red, _nothing, _incomplete,
)  # fmt: skip


def names(ids: Collection[str]) -> str:
    """A few of the ids, and how many more there are."""
    shown = ", ".join(list(ids)[:_NAMED])
    return f"{shown} and {len(ids) - _NAMED} more" if len(ids) > _NAMED else shown


def _rest(f: Facts) -> str:
    return f"; {len(f.not_run)} of {len(f.collected)} tests did not run" if f.not_run else ""


def tail(log: str) -> str:
    """The last lines of what was printed, as the end of a message."""
    lines = [line for line in log.strip().splitlines() if line.strip()][-6:]
    return ". The output ends:\n" + "\n".join(line[:300] for line in lines) if lines else ""
