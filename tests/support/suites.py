"""Small projects with tests, and real runs of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from regreen.model import SuiteReport
from regreen.sandbox import Cancel
from regreen.settings import Settings, load_settings
from regreen.testing import run_suite
from regreen.workspace import Workspace

LIMITS_S = (1.5, 4.0, 15.0, 60.0)
CORPUS = Path(__file__).parents[1] / "corpora" / "bugs"


def project(base: Path, files: Mapping[str, str]) -> Path:
    """A project folder below `base` with these files."""
    root = base / "project"
    root.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return root


def corpus_project(base: Path, name: str) -> Path:
    """A copy of the red project of a bug case."""
    root = base / "project"
    shutil.copytree(CORPUS / name / "repo", root, copy_function=shutil.copyfile)
    return root


def settings_with(base: Path, environ: Mapping[str, str] | None = None, **fields: Any) -> Settings:
    """Settings of a user of their own, whose environment has no virtual environment active."""
    plain = {k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"}
    loaded = load_settings({**plain, **(environ or {})}, config_file=base / "no-config")
    return replace(loaded, state_dir=base / "state", cache_dir=base / "cache", **fields)


def run_tests(root: Path, settings: Settings | None = None, **options: Any) -> SuiteReport:
    """Run the project's tests for real."""
    base = root.parent
    store = base / "store"
    store.mkdir(exist_ok=True)
    plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # of what lies about here none is needed, and all of it is slow
    options = {"timeout_s": 60.0, "cancel": Cancel(), "environment": plain, **options}
    workspace = Workspace(root)
    try:
        return run_suite(workspace, settings or settings_with(base), store, **options)
    finally:
        workspace.close()


def timed_out_at(test: str, run: Callable[[float], SuiteReport]) -> SuiteReport:
    """The report of `run` with the least time limit at which it was running `test`.

    How long a runner needs until then is the machine's affair: a limit that is enough on one is none on another.
    """
    report = run(LIMITS_S[0])
    for limit in LIMITS_S[1:]:
        if test in report.message:
            break
        report = run(limit)
    return report


def stopped_at(passed: int, run: Callable[[float], SuiteReport]) -> SuiteReport:
    """The report of `run` with the least limit for each test at which as many passed: no test that ends was stopped."""
    report = run(0.5)
    for limit in LIMITS_S:
        if report.counts.passed == passed:
            break
        report = run(limit)
    return report


def tree(root: Path) -> dict[str, bytes]:
    """Every file below `root` with its bytes."""
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}
