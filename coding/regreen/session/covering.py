"""Which tests of a repository call which functions: found out by warm runs, remembered between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regreen.errors import EnvironmentFault, UsageError
from regreen.sandbox import Cancel

if TYPE_CHECKING:
    from regreen.session.repository import Session
    from regreen.testing.warm import CoverageMap, WarmPytest


def coverage(session: Session, warm: WarmPytest, selection: Sequence[str], cancel: Cancel) -> CoverageMap:
    """The map for the selected tests of pytest. Raises UsageError where the project has another runner, and
    EnvironmentFault where its tests cannot be run warm."""
    from regreen.testing import ROWS, NoProject, SuiteRequest, find_project
    from regreen.testing.warm import NotWarm, cover

    project = find_project(session.workspace, ROWS, selection)
    if isinstance(project, NoProject) or project.row.name != "pytest":
        found = project.message if isinstance(project, NoProject) else f"the project uses {project.row.name}"
        raise UsageError("invalid_arguments", f"coverage is there for pytest: {found}", "select tests of pytest")
    request = SuiteRequest(
        session.workspace,
        session.settings,
        session.store.run_folder(f"tests-{session.key}"),
        session.settings.limits.test_timeout_s,
        selection=tuple(selection),
        project=project.folder,
    )
    told = cover(warm, request, cancel)
    if isinstance(told, NotWarm):
        raise EnvironmentFault("environment", f"the tests cannot be run warm: {told.reason}", "run them cold")
    return told
