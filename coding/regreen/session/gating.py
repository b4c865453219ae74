"""The gates that the user has configured for a repository: which there are, and one run of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from regreen.fix.gates import Gate, GateReport, findings
from regreen.sandbox import Cancel

if TYPE_CHECKING:
    from regreen.session.repository import Session


def gates_of(session: Session) -> tuple[Gate, ...]:
    """The gates of the repository, in the order of the user's file."""
    return session.settings.gates.get(str(session.root), ())


def run_gate(session: Session, gate: Gate, cancel: Cancel, log_folder: Path) -> GateReport:
    """Run a gate in the root, as tests are run there. The caller has asked `allow("run")`.

    Raises Refused where a sandbox is demanded and there is none. What it leaves in the project is the caller's to look
    after, as with tests.
    """
    from regreen.testing.checks import run_check
    from regreen.testing.request import SuiteRequest

    settings = session.settings
    request = SuiteRequest(
        workspace=session.workspace,
        settings=settings,
        store_folder=log_folder,
        timeout_s=gate.timeout_s or settings.limits.test_timeout_s,
        argv=gate.argv,
        environment=settings.test_environ,
    )
    checked = run_check(request, cancel)
    output = checked.output.replace(checked.private, "$TMPDIR") if checked.private else checked.output
    return GateReport(
        name=gate.name,
        argv=gate.argv,
        status=checked.status,
        findings=findings(session.redact(output), str(session.root)),
        message=session.redact(checked.problem),
        duration_s=checked.duration_s,
        cpu_s=checked.cpu_s,
        log=checked.log,
    )
