"""Warm runs of small projects, and cold ones to compare them with."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from regreen.model import SuiteReport
from regreen.sandbox import Cancel
from regreen.settings import Settings
from regreen.testing.request import SuiteRequest
from regreen.testing.warm import NotWarm, WarmPytest
from regreen.workspace import Workspace
from support.suites import run_tests, settings_with

PLAIN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@dataclass
class Warm:
    """One project and its warm runs."""

    root: Path
    settings: Settings
    server: WarmPytest = field(default_factory=WarmPytest)
    environment: Mapping[str, str] = field(default_factory=lambda: PLAIN)

    def request(self, *selection: str, **fields: Any) -> SuiteRequest:
        values: dict[str, Any] = {"timeout_s": 60.0, "environment": self.environment, **fields}
        return SuiteRequest(Workspace(self.root), self.settings, self.root.parent / "store",
                            selection=selection, **values)  # fmt: skip

    def try_run(self, *selection: str, cancel: Cancel | None = None, **fields: Any) -> SuiteReport | NotWarm:
        on_progress = fields.pop("on_progress", None)
        request = self.request(*selection, **fields)
        try:
            return self.server.run(request, cancel or Cancel(), on_progress)
        finally:
            request.workspace.close()

    def run(self, *selection: str, **fields: Any) -> SuiteReport:
        report = self.try_run(*selection, **fields)
        assert isinstance(report, SuiteReport), report
        return report

    def cold(self, *selection: str, **fields: Any) -> SuiteReport:
        return run_tests(self.root, self.settings, selection=selection, environment=self.environment,
                         runner="pytest", **fields)  # fmt: skip


@contextmanager
def warm(root: Path, environment: Mapping[str, str] = PLAIN, **fields: Any) -> Iterator[Warm]:
    """A project below a folder of its own; its server ends with the block."""
    if os.name != "posix" or not Path("/proc/self/fd").exists():
        pytest.skip("warm runs need fork and /proc")
    found = Warm(root, settings_with(root.parent, **fields), environment=environment)
    with found.server:
        yield found


def facts(report: SuiteReport) -> dict[str, Any]:
    """What must be equal between a cold run and a warm one."""
    return {
        "status": report.status,
        "outcomes": dict(report.outcomes),
        "counts": report.counts,
        "failures": [(f.id, f.file, f.line, f.kind, f.message, f.excerpt, f.signature) for f in report.failures],
        "groups": report.groups,
        "message": re.sub(r"in \d+\.\d+s", "in # s", report.message),
    }
