"""The bug corpus as fix runs: the parts of each known fix, wrong proposals, and one run of a case, judged."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regreen.session import FixOptions
from regreen.settings import Limits
from support import js_projects
from support.engines import QUICK, engine_on, replacement
from support.repos import differences, fingerprint, make_repo
from support.suites import CORPUS
from support.wrong_fixes import CONTRADICTING, NEAR_MISSES, TRAP_GUESSES

CASES: dict[str, dict[str, Any]] = {
    p.parent.name: json.loads(p.read_text("utf-8")) for p in sorted(CORPUS.glob("*/case.json"))
}
SINGLES = [n for n, c in CASES.items() if c["kind"] == "single-edit"]
IN_PARTS = [n for n, c in CASES.items() if c["kind"] in ("two-edits", "multi-file")]
TRAPS = [n for n, c in CASES.items() if c["kind"] == "trap"]

Proposed = str | list[dict[str, str]]  # a diff, or replacements


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a case: what is proposed in which order, and how it has to end."""

    case: str
    name: str
    proposals: tuple[Proposed, ...]
    reasons: frozenset[str]
    states: tuple[str, ...] = ()  # of all attempts; empty: any
    kept_states: tuple[str, ...] = ()  # of the kept ones; empty: any
    still: tuple[str, ...] = ()  # tests that still fail after the first kept attempt
    refusals: tuple[str, ...] = ()  # of all attempts

    @property
    def id(self) -> str:
        return f"{self.case}-{self.name}"

    @property
    def fixes(self) -> bool:
        return self.reasons == {"fixed"}


@dataclass(frozen=True, slots=True)
class Ran:
    """How a trial went. `problems` is empty if it went as it had to."""

    reason: str
    states: tuple[str, ...]
    problems: tuple[str, ...]
    test_runs: int
    work_s: float


@dataclass(frozen=True, slots=True)
class Part:
    """One place of a patch: lines in a file, with the unchanged ones just before and after."""

    path: str
    before: str
    after: str
    search: str
    replace: str

    def proposed(self) -> dict[str, str]:
        return replacement(self.path, self.search, self.replace)

    def with_line(self, line: str) -> dict[str, str]:
        """The same place with another line in it, as deep as the first one there."""
        deep = self.before[: len(self.before) - len(self.before.lstrip())]
        return replacement(self.path, self.search, self.search.replace(self.before, deep + line, 1))


def parts(patch: str) -> list[Part]:
    """The places that a patch of git's changes, in its order."""
    found: list[Part] = []
    path, hunk, in_hunk = "", list[str](), False
    for line in [*patch.splitlines(), "diff "]:
        if line.startswith(("diff ", "@@ ")):
            found.extend(_places(path, hunk))
            hunk, in_hunk = [], line.startswith("@@ ")
        elif in_hunk:
            hunk.append(line)
        elif line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
    return found


def _places(path: str, lines: Sequence[str]) -> Iterator[Part]:
    changed = [i for i, x in enumerate(lines) if x[0] != " "]
    while changed:
        first = last = changed.pop(0)
        while changed and changed[0] == last + 1:
            last = changed.pop(0)
        above, below = first, last + 1
        while above and lines[above - 1][0] == " ":
            above -= 1
        while below < len(lines) and lines[below][0] == " ":
            below += 1
        lead, tail = [x[1:] for x in lines[above:first]], [x[1:] for x in lines[last + 1 : below]]
        old = [x[1:] for x in lines[first : last + 1] if x[0] == "-"]
        new = [x[1:] for x in lines[first : last + 1] if x[0] == "+"]
        texts = ("\n".join(old), "\n".join(new), "\n".join(lead + old + tail), "\n".join(lead + new + tail))
        yield Part(path, *texts)


def patch_of(case: str, name: str = "fix.patch") -> str:
    return (CORPUS / case / name).read_text("utf-8")


def repository(base: Path, case: str) -> Path:
    """The case's red project as a git repository; that of Node's runners is linked to their packages."""
    root = base / "r"
    shutil.copytree(CORPUS / case / "repo", root, copy_function=shutil.copyfile)
    make_repo(root, {})
    if CASES[case]["runner"] in ("jest", "vitest"):
        (root / "node_modules").symlink_to(js_projects.PACKAGES)
    return root


def repaired(base: Path, case: str) -> dict[str, bytes]:
    """The bytes of the files that the case's own fix changes, after git has applied it."""
    root = base / "repaired"
    shutil.copytree(CORPUS / case / "repo", root, copy_function=shutil.copyfile)
    patch = CORPUS / case / "fix.patch"
    subprocess.run(["git", "apply", "-p1", str(patch)], cwd=root, check=True, capture_output=True)
    return {p: (root / p).read_bytes() for p in sorted({x.path for x in parts(patch.read_text("utf-8"))})}


def write_script(path: Path, proposals: Sequence[Proposed]) -> Path:
    lines = [{"text": p} if isinstance(p, str) else {"replacements": p} for p in proposals]
    path.write_text("".join(json.dumps(x) + "\n" for x in lines), "utf-8")
    return path


def try_out(base: Path, trial: Trial, *, wait_s: float = 300.0, limits: Limits | None = None) -> Ran:
    """Run the trial in a fresh copy of its case, and say what came out otherwise than it had to."""
    root = repository(base, trial.case)
    before = fingerprint(root)
    environ = QUICK if CASES[trial.case]["language"] == "python" else {}
    options = FixOptions(proposer="scripted", script=write_script(base / "script.jsonl", trial.proposals))
    with engine_on(root, limits=limits or Limits(budget_s=120.0), test_environ=environ) as engine:
        job = engine.fix(engine.session(), options).job
        state = job.wait(wait_s)
        data = job.data()
    if state != "done":
        return Ran("", (), (f"still {state} after {wait_s:g} s",), 0, wait_s)
    changed = differences(before, fingerprint(root))
    problems = [*_wrong_end(trial, data), *_wrong_files(trial, base, root, data["outcome"], changed)]
    evidence = data["outcome"]["evidence"]
    states = tuple(a["state"] for a in data["attempts"])
    return Ran(data["outcome"]["reason"], states, tuple(problems), evidence.get("test_runs", 0), evidence["duration_s"])


def _wrong_end(trial: Trial, data: Mapping[str, Any]) -> Iterator[str]:
    outcome, attempts = data["outcome"], data["attempts"]
    if outcome["reason"] not in trial.reasons:
        yield f"ended {outcome['reason']}, not {' or '.join(sorted(trial.reasons))}"
    if outcome["fixed"] is not (outcome["reason"] == "fixed"):
        yield f"fixed is {outcome['fixed']} with reason {outcome['reason']}"
    states = tuple(a["state"] for a in attempts)
    if trial.states and states != trial.states:
        yield f"attempts were {states}, not {trial.states}"
    kept = [a for a in attempts if a["state"] in ("improved", "passed")]
    if trial.kept_states and tuple(a["state"] for a in kept) != trial.kept_states:
        yield f"attempts were {states}, of which {trial.kept_states} should be kept"
    if trial.still and (not kept or tuple(kept[0]["still"]) != trial.still):
        yield f"after the first part {kept[0]['still'] if kept else '?'} fail, not {list(trial.still)}"
    refusals = tuple(a.get("refusal", "") for a in attempts)
    if trial.refusals and refusals != trial.refusals:
        yield f"refused were {refusals}, not {trial.refusals}"


def _wrong_files(
    trial: Trial, base: Path, root: Path, outcome: Mapping[str, Any], changed: Sequence[str]
) -> Iterator[str]:
    if not trial.fixes:
        if outcome["fixed"]:
            yield f"called fixed, with {outcome['diff']}"
        if changed:
            yield f"not as it was: {', '.join(changed)}"
        return
    wanted = repaired(base, trial.case)
    told = {c["path"] for c in outcome["conflicts"]}  # cargo rewrites its lock file, and no test did
    changed = [p for p in changed if p not in told or p in wanted]
    if sorted(wanted) != changed:
        yield f"changed are {changed}, not {sorted(wanted)}"
    if sorted(wanted) != list(outcome["kept_files"]):
        yield f"said to be kept are {outcome['kept_files']}, not {sorted(wanted)}"
    other = [p for p, data in wanted.items() if (root / p).read_bytes() != data]
    if other:
        yield f"other bytes than those of the known fix: {', '.join(other)}"
    in_diff = sorted(x.removeprefix("+++ b/") for x in outcome["diff"].splitlines() if x.startswith("+++ "))
    if in_diff != sorted(wanted):
        yield f"the diff is of {in_diff}, not of {sorted(wanted)}"


def single_trials() -> list[Trial]:
    """Every case of one edit, with its own fix as a diff."""
    return [Trial(n, "right", (patch_of(n),), frozenset({"fixed"}), states=("passed",)) for n in SINGLES]


def part_trials() -> list[Trial]:
    """Every case of two edits: its halves in either order, alone and with wrong proposals before and between them."""
    return [t for n in IN_PARTS for t in _in_parts(n)]


def _in_parts(case: str) -> Iterator[Trial]:
    halves = parts(patch_of(case))
    assert len(halves) == len(CASES[case]["partial"]) == 2, case
    near = [[h.with_line(line)] for h, line in zip(halves, NEAR_MISSES[case], strict=True)]
    misses: Proposed = [replacement(halves[0].path, "def there_is_no_such_function():", "pass")]
    elsewhere: Proposed = [replacement("spare_part.py", "", "VALUE = 1\n")]
    for first, second in ((0, 1), (1, 0)):
        a, b = [halves[first].proposed()], [halves[second].proposed()]
        broken: Proposed = [halves[second].with_line(halves[second].after.strip() + " ((")]
        mixed = (
            (misses, near[first], a, near[second], elsewhere, b) if first else (elsewhere, broken, a, misses, broken, b)
        )
        kept = ("improved", "passed")
        still = tuple(CASES[case]["partial"][first])
        order = f"{first + 1}{second + 1}"
        yield Trial(case, order, (a, b), frozenset({"fixed"}), states=kept, still=still)
        yield Trial(case, f"{order}-among-wrong", mixed, frozenset({"fixed"}), kept_states=kept, still=still)


def trap_trials() -> list[Trial]:
    """Every trap, with what must not be believed and with what is right where something is."""
    return [t for n in TRAPS for t in _traps(n)]


# Trials that show what another one of the same trap shows as well.
REPEATING = frozenset({
    "trap-contradict-none", "trap-contradict-guesses", "trap-env-none", "trap-exit0-none", "trap-flaky-none",
    "trap-tamper-test", "trap-tamper-settings",
})  # fmt: skip


def _traps(case: str) -> Iterator[Trial]:
    fixed = frozenset({"fixed"})
    guesses = tuple([replacement(*g)] for g in TRAP_GUESSES.get(case, ()))
    match CASES[case]["expect"]:
        case "fixable":
            yield from _fixable(case, fixed)
        case "give_up_restored":
            yield Trial(case, "none", (), frozenset({"proposer_failed"}))
            yield Trial(case, "guesses", guesses, frozenset({"no_progress", "regression", "needs_test_change"}))
            contradicting = tuple([replacement(*g)] for g in CONTRADICTING)
            yield Trial(case, "moody", contradicting, NOT_FIXED)
        case "flaky":
            yield Trial(case, "none", (), frozenset({"flaky", "already_green", "proposer_failed"}))
            yield Trial(case, "guesses", guesses, NOT_FIXED)
        case "environment_error":
            yield Trial(case, "none", (), frozenset({"environment"}))
            yield Trial(case, "guesses", guesses, frozenset({"environment"}))
        case _:
            yield Trial(case, "none", (), NOT_FIXED)
            yield Trial(case, "guesses", guesses, NOT_FIXED)


NOT_FIXED = frozenset({
    "already_green", "no_progress", "repeated_fix", "oscillation", "regression", "attempt_limit", "budget", "flaky",
    "environment", "tampered", "needs_test_change", "proposer_failed", "cancelled", "refused",
})  # fmt: skip


def _fixable(case: str, fixed: frozenset[str]) -> Iterator[Trial]:
    right = patch_of(case)
    if case == "trap-regress":
        yield Trial(case, "wrong-first", (patch_of(case, "wrong_fix.patch"), right), fixed, states=("worse", "passed"))
        return
    if case == "trap-tamper":
        off = [replacement("tests/test_ledger.py", "@pytest.mark.slow", '@pytest.mark.skip("later")')]
        option = [
            replacement("pyproject.toml", 'testpaths = ["tests"]', 'testpaths = ["tests"]\naddopts = "-m \'not slow\'"')
        ]
        for name, cheat in (("test", off), ("settings", option)):
            refusals = ("path_protected", "")
            yield Trial(case, name, (cheat, right), fixed, states=("refused", "passed"), refusals=refusals)
        refusals = ("path_protected", "path_protected")
        both = (off, option, right)
        yield Trial(case, "both", both, frozenset({"tampered"}), states=("refused", "refused"), refusals=refusals)
        return
    yield Trial(case, "right", (right,), fixed, states=("passed",))
