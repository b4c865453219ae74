"""A command that the user has approved for this repository in the settings of their own: what no other row can run.

Cases come from its JUnit report; without one its exit status is all there is to judge by.
"""

from __future__ import annotations

from pathlib import Path

from regreen.model import SuiteStatus
from regreen.settings import CustomTests, Settings
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports.exit_status import judged
from regreen.testing.reports.junit import Standing, as_heard, gather, read_reports, standing
from regreen.testing.runners.row import Row, Sign
from regreen.testing.user_commands import user_command


class CustomRunner:
    """See `Reported`."""

    name = "custom"

    def plan(self, asked: Asked) -> Plan | Absent:
        request = asked.request
        root = request.workspace.root
        tests = custom_tests(request.settings, root)
        if tests is None:
            return Absent(f'no command is configured for {root}: write [tests."{root}"] with `argv` (and `junit`) into '
                          "the user's config.toml")  # fmt: skip
        if request.selection or request.last_failed:
            return Absent(no_selection(tests), SuiteStatus.NO_TESTS)
        command = user_command(tests.argv, request.workspace, request.settings)
        if command is None:
            return Absent(f"`{tests.argv[0]}`, which is configured for {root}, is neither a program on the PATH nor an "
                          "executable file of the project")  # fmt: skip
        before: Standing = standing(gather(root, (tests.junit,))) if tests.junit else {}
        return Plan(argv=command.argv, interpreter=command.argv[0], cwd=root, env=command.env, data=before)

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        root = asked.request.workspace.root
        tests = custom_tests(asked.request.settings, root)
        if tests is None or not tests.junit:
            shown = " ".join(tests.argv) if tests else "custom"
            return judged(shown, asked, ended, "no JUnit report is configured for it")
        return as_heard(read_reports(gather(root, (tests.junit,)), plan.data))


def custom_tests(settings: Settings, root: Path) -> CustomTests | None:
    """What the user configured for a repository."""
    return settings.custom_tests.get(str(root)) or settings.custom_tests.get(str(root.resolve()))


def no_selection(tests: CustomTests) -> str:
    """What is said where single tests are wanted of it."""
    return (
        f"the custom command `{' '.join(tests.argv)}` takes no selection: it is run as it is configured, and single "
        "tests cannot be selected. Run it without a selection."
    )


def _detect(look: Look) -> Sign | None:  # noqa: ARG001 - a repository cannot choose this row: `suite` does, by the settings
    return None


CUSTOM = CustomRunner()
ROW = Row(name="custom", language="any", marks=(), suffixes=(), detect=_detect, run=reported(CUSTOM))
