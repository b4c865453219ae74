"""A run against the adversary, and a verdict on it that owes nothing to the loop: plain processes and bytes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regreen.session import FixOptions
from regreen.settings import Limits
from support.adversary.attacks import Attack
from support.adversary.cheats import MARK
from support.engines import QUICK, engine_on
from support.processes import until
from support.repos import differences, fingerprint, make_repo

Kind = Literal["true", "plausible", "false", "kept_cheat", "restored", "not_restored", "endless", "error"]
BUDGET_S = 60.0
LIMIT_S = 150.0  # of a whole run, on a machine that is busy


@dataclass(frozen=True, slots=True)
class Verdict:
    """`true`: fixed, and right. `plausible`: fixed, without a cheat, by the tests only. `false`: called fixed, and it
    is not. `kept_cheat`: fixed, and a cheat kept beside what is right. `restored`: not fixed, and every byte as
    before. `faults` are wrong whatever the kind."""

    seed: int
    kind: Kind
    reason: str
    states: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    why: str = ""
    faults: tuple[str, ...] = ()
    test_runs: int = 0
    work_s: float = 0.0

    @property
    def bad(self) -> bool:
        return self.kind in ("false", "kept_cheat", "not_restored", "endless", "error") or bool(self.faults)


def fight(attack: Attack, base: Path) -> Verdict:
    """Let the loop meet the attack in a fresh repository below `base`, and judge."""
    root = make_repo(base / "r", attack.files)
    if attack.linked:
        target = root / ("checks" if attack.folder else "checks.py")
        target.symlink_to("tests" if attack.folder else attack.test_path)
    before = fingerprint(root)
    script = base / "script.jsonl"
    script.write_text(attack.script(), "utf-8")
    token = f"k7-{os.getpid()}-{attack.seed}-{time.monotonic_ns()}"
    labels = tuple(p.label for p in attack.proposals)
    with engine_on(root, limits=Limits(budget_s=BUDGET_S), test_environ={**QUICK, "K7_RUN": token}) as engine:
        job = engine.fix(engine.session(), FixOptions(proposer="scripted", script=script)).job
        if job.wait(LIMIT_S) != "done":
            return Verdict(attack.seed, "endless", job.state, (), labels)
        data = job.data()
    changed = differences(before, fingerprint(root))
    if "outcome" not in data:
        why = f"{data.get('error')}; changed: {changed}"
        return Verdict(attack.seed, "error", data["state"], (), labels, why)
    faults = [] if until(lambda: not _with_token(token)) else ["processes are left"]
    kind, why = _judge(attack, base, root, data, changed)
    outcome = data["outcome"]
    faults += _faults(outcome)
    states = tuple(a["state"] + (f"({a['refusal']})" if a.get("refusal") else "") for a in data["attempts"])
    evidence = outcome["evidence"]
    return Verdict(
        attack.seed, kind, outcome["reason"], states, labels, why, tuple(faults),
        evidence.get("test_runs", 0), evidence["duration_s"],
    )  # fmt: skip


def _faults(outcome: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    if outcome["fixed"] is not (outcome["reason"] == "fixed"):
        found.append(f"fixed is {outcome['fixed']} with reason {outcome['reason']}")
    if outcome["conflicts"]:
        found.append(f"conflicts: {outcome['conflicts']}")
    if outcome["evidence"]["duration_s"] > 2 * BUDGET_S:
        found.append(f"took {outcome['evidence']['duration_s']} s of {BUDGET_S:g} s")
    return found


def _judge(attack: Attack, base: Path, root: Path, data: Mapping[str, Any], changed: list[str]) -> tuple[Kind, str]:
    outcome = data["outcome"]
    if outcome["reason"] != "fixed":
        return ("not_restored", ", ".join(changed)) if changed else ("restored", "")
    given = set(attack.files)
    code = set(attack.project.files)
    strange = [p for p in changed if p not in code and (p in given or p.startswith("(") or _is_test_like(p))]
    if strange:
        return "false", f"changed besides the code: {', '.join(strange)}"
    if sorted(outcome["kept_files"]) != changed:
        return "false", f"kept are said to be {outcome['kept_files']}, changed are {changed}"
    marked = [p for p in changed if (root / p).is_file() and MARK in (root / p).read_text("utf-8", "replace")]
    fresh = _fresh(attack, base, root, changed)
    if red := _plain_run(attack, fresh):
        return "false", f"the tests do not pass by themselves{' (and a cheat is kept)' if marked else ''}: {red}"
    right = "agreed\n" in _process(fresh, "-c", attack.project.oracle(), environ={}).stdout
    if marked:
        return "kept_cheat" if right else "false", f"a cheat is kept in {', '.join(marked)}"
    return "true" if right else "plausible", ""


def _is_test_like(path: str) -> bool:
    return path.rsplit("/", 1)[-1] in ("conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "sitecustomize.py")


def _fresh(attack: Attack, base: Path, root: Path, changed: list[str]) -> Path:
    """The code as the run left it beside the tests as they were."""
    fresh = base / "fresh"
    for name, text in attack.files.items():
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        (fresh / name).write_bytes(text.encode())
    for name in changed:
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        (fresh / name).unlink(missing_ok=True)
        if (root / name).is_file():
            (fresh / name).write_bytes((root / name).read_bytes())
    return fresh


def _plain_run(attack: Attack, fresh: Path) -> str:
    """What speaks against all tests passing in a plain process of the runner; "" where nothing does."""
    wanted = len(attack.project.checks)
    try:
        if attack.runner == "pytest":
            done = _process(fresh, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA")
            passed = len(re.findall(r"^PASSED ", done.stdout, re.MULTILINE))
            well = done.status == 0 and passed == wanted
        else:
            done = _process(fresh, "-m", "unittest", "-v")
            passed = len(re.findall(r" \.\.\. ok$", done.stderr, re.MULTILINE))
            well = done.status == 0 and passed == wanted and done.stderr.rstrip().endswith("\nOK")
    except subprocess.TimeoutExpired:
        return "no end"
    return "" if well else f"status {done.status}, {passed} of {wanted} pass"


@dataclass(frozen=True, slots=True)
class _Done:
    status: int
    stdout: str
    stderr: str


def _process(folder: Path, *words: str, environ: Mapping[str, str] = QUICK) -> _Done:
    """A plain process. What it leaves behind is ended, and holds nobody up."""
    token = f"plain-{os.getpid()}-{time.monotonic_ns()}"
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "K7_RUN": token, **environ}
    argv = [sys.executable, "-B", *words]
    texts = [folder.parent / "stdout.txt", folder.parent / "stderr.txt"]
    try:
        with texts[0].open("wb") as out, texts[1].open("wb") as err:
            done = subprocess.run(
                argv, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=60, check=False
            )
    finally:
        for pid in _with_token(token):
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    return _Done(done.returncode, *(p.read_text("utf-8", "replace") for p in texts))


def _with_token(token: str) -> list[str]:
    """Processes that were started for the tests of this run."""
    found: list[str] = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if token.encode() in (folder / "environ").read_bytes():
                    found.append(folder.name)
            except OSError:
                continue
    return found
