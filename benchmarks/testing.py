"""What a test run costs: plain `python -m pytest`, our cold path and our warm path, in turn, in one run.

    python benchmarks/testing.py [--runs 15] [--python PATH] [--sandbox auto|off] [--only NAME] [--json]

Projects: `tiny` (two tests, the interpreter that runs this, with the pytest plugins that it has), `bare` (the same
project with a virtual environment that has nothing but pytest), `heavy` (tests that import a package which takes 1.5 s
of work to import) and, with `--python` an interpreter that has pandas, `pandas`. Times in ms, medians and minima; the
warm path is measured after its first two runs, from which it learns what to import ahead. The bounds aimed at: our
cold path at most 60 ms slower than plain, the warm one 10 times faster on `tiny`, 30 times on `heavy`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from regreen import sandbox
from regreen.sandbox import Cancel, child_environment
from regreen.settings import Settings, default_environ, load_settings
from regreen.testing import find_interpreter
from regreen.testing.interpreter import NoInterpreter
from regreen.testing.pytest_suite import run_pytest
from regreen.testing.request import SuiteRequest
from regreen.testing.warm import NotWarm, WarmPytest
from regreen.workspace import Workspace

TINY = {
    "cart.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_cart.py": "from cart import total\n\n\ndef test_sum():\n    assert total([1, 2]) == 3\n\n\n"
    "def test_none():\n    assert total([]) == 0\n",
}
HEAVY = {
    "tests/test_it.py": "import heavy\n\n\ndef test_it():\n    assert heavy.made > 100\n",
    ".venv/{site}/heavy/__init__.py": "import dataclasses, time\nmade, end = 0, time.process_time() + 1.5\n"
    "while time.process_time() < end:\n    dataclasses.make_dataclass(f'C{made}', [('a', int)])\n    made += 1\n",
}
PANDAS = {
    "tests/test_it.py": "import pandas\n\n\ndef test_it():\n    assert pandas.DataFrame({'a': [1, 2]}).a.sum() == 3\n",
}
SHARED = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py")


@dataclass(frozen=True, slots=True)
class Row:
    """Median and minimum of each way, in ms, and what follows."""

    project: str
    plain: tuple[float, float]
    cold: tuple[float, float]
    warm: tuple[float, float]
    overhead_ms: float
    faster: float
    least_faster: float


def add_venv(root: Path) -> str:
    """A virtual environment in the project that has pytest and nothing else. Returns its site folder."""
    venv.create(root / ".venv", with_pip=False, symlinks=True)
    (site,) = (root / ".venv").glob("lib/python*/site-packages")
    ours = next(p for p in map(Path, sys.path) if (p / "pytest" / "__init__.py").exists())
    for name in SHARED:
        for found in (*ours.glob(name), *ours.glob(f"{name}-*.dist-info")):
            if found.is_dir():
                shutil.copytree(found, site / found.name)
            else:
                shutil.copyfile(found, site / found.name)
    return site.relative_to(root / ".venv").as_posix()


def make(base: Path, name: str, files: Mapping[str, str], *, own_venv: bool) -> Path:
    root = base / name / "project"
    root.mkdir(parents=True)
    site = add_venv(root) if own_venv else ""
    for path, text in files.items():
        place = root / path.replace("{site}", site)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    return root


def timed(what: Callable[[], object]) -> float:
    began = time.perf_counter()
    what()
    return (time.perf_counter() - began) * 1000


def measure(name: str, root: Path, settings: Settings, runs: int) -> Row:
    workspace = Workspace(root)
    who = find_interpreter(workspace, settings, Cancel())
    assert not isinstance(who, NoInterpreter), who
    request = SuiteRequest(workspace, settings, root.parent / "store", 120.0)
    env = child_environment(settings.environ, root=root, venv=who.venv)
    argv = [who.path, "-m", "pytest", "-q"]

    def plain() -> None:
        subprocess.run(argv, cwd=root, env=env, check=True, stdin=subprocess.DEVNULL, capture_output=True)

    def cold() -> None:
        report = run_pytest(request, Cancel(), None)
        assert report.green, report

    with WarmPytest() as server:

        def warm() -> None:
            report = server.run(request, Cancel())
            assert not isinstance(report, NotWarm), report
            assert report.green, report

        ways = (plain, cold, warm)
        times: dict[Callable[[], None], list[float]] = {way: [] for way in ways}
        for way in (*ways, warm):
            way()
        for _ in range(runs):
            for way in ways:
                times[way].append(timed(way))
    workspace.close()
    spans = [(statistics.median(times[w]), min(times[w])) for w in ways]
    (plain_ms, plain_min), (cold_ms, _), (warm_ms, warm_min) = spans
    return Row(name, spans[0], spans[1], spans[2], cold_ms - plain_ms, plain_ms / warm_ms, plain_min / warm_min)


def settings_for(base: Path, python: str, wish: str) -> Settings:
    loaded = load_settings(default_environ(), config_file=base / "none")
    environ = {k: v for k, v in loaded.environ.items() if k != "VIRTUAL_ENV"}
    return replace(
        loaded,
        environ=environ,
        state_dir=base / "state",
        cache_dir=base / "cache",
        python=python,
        sandbox="off" if wish == "off" else "auto",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--python", default="", help="an interpreter with pytest and pandas")
    parser.add_argument("--sandbox", choices=("auto", "off"), default="auto")
    parser.add_argument("--only", default="")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="regreen-bench-")).resolve()
    projects: list[tuple[str, Mapping[str, str], bool, str]] = [
        ("tiny", TINY, False, ""), ("bare", TINY, True, ""), ("heavy", HEAVY, True, ""),
    ]  # fmt: skip
    if options.python:
        projects.append(("pandas", PANDAS, False, options.python))
    rows: list[Row] = []
    try:
        for name, files, own_venv, python in projects:
            if options.only in ("", name):
                settings = settings_for(base / name, python, options.sandbox)
                level = sandbox.isolation(settings).level
                rows.append(measure(name, make(base, name, files, own_venv=own_venv), settings, options.runs))
                if not options.json:
                    show(rows[-1], level, first=len(rows) == 1)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    if options.json:
        print(json.dumps([asdict(r) for r in rows]))


def show(row: Row, level: str, *, first: bool) -> None:
    if first:
        print(f"sandbox: {level}; ms, median (minimum)")
        print(f"{'project':9}{'plain':>16}{'cold':>16}{'warm':>16}{'overhead':>10}{'faster':>9}{'(min)':>8}")
    spans = "".join(f"{f'{median:.0f} ({least:.0f})':>16}" for median, least in (row.plain, row.cold, row.warm))
    faster = f"{row.faster:.1f}x"
    print(f"{row.project:9}{spans}{row.overhead_ms:>10.0f}{faster:>9}{f'{row.least_faster:.1f}x':>8}", flush=True)


if __name__ == "__main__":
    main()
