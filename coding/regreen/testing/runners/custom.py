"""A command that the user has approved for this repository in the settings of their own: what no other row can run.

Cases come from its JUnit report; without one its exit status is all there is to judge by.
"""

from __future__ import annotations

import os
from pathlib import Path

from regreen.commands.programs import file_names, find_program
from regreen.model import SuiteStatus
from regreen.sandbox import child_environment
from regreen.settings import CustomTests, Settings, own_interpreter
from regreen.testing.environments import candidates
from regreen.testing.heard import Absent, Asked, Ended, Heard, Plan
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.reports.exit_status import judged
from regreen.testing.reports.junit import Standing, as_heard, gather, read_reports, standing
from regreen.testing.request import SuiteRequest
from regreen.testing.runners.row import Row, Sign


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
        venv = _venv(request)
        program = _program(tests.argv[0], request.settings, root, venv)
        if program is None:
            return Absent(f"`{tests.argv[0]}`, which is configured for {root}, is neither a program on the PATH nor an "
                          "executable file of the project")  # fmt: skip
        before: Standing = standing(gather(root, (tests.junit,))) if tests.junit else {}
        chosen = child_environment(request.settings.environ, root=root, venv=venv) if venv else dict[str, str]()
        env = {name: chosen[name] for name in ("PATH", "VIRTUAL_ENV") if name in chosen}
        return Plan(argv=(str(program), *tests.argv[1:]), interpreter=str(program), cwd=root, env=env, data=before)

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


def _venv(request: SuiteRequest) -> str:
    """The folder of the project's virtual environment; "" for none that can be used."""
    for found in candidates(request.workspace, request.settings, ""):
        env = Path(found.path).parent.parent
        usable = not found.problem and found.path != own_interpreter() and Path(found.path).exists()
        if usable and ((env / "pyvenv.cfg").is_file() or (env / "conda-meta").is_dir()):
            return str(env)
    return ""


def _program(word: str, settings: Settings, root: Path, venv: str) -> Path | None:
    """A file that the user names may be a link that leads out of the project, as a `.venv/bin/python` is; programs of
    the project's environment come before those of the PATH."""
    windows = os.name == "nt"
    names = file_names(Path(word).name, settings.environ.get("PATHEXT", ""), windows=windows)
    folder = Path(venv) / ("Scripts" if windows else "bin")
    if "/" in word or Path(word).is_absolute():
        folder = (root / word).parent
    elif not venv:
        return find_program(word, settings.environ, root)
    found = next((p for n in names if (p := folder / n).is_file() and os.access(p, os.X_OK)), None)
    return found if found is not None or "/" in word else find_program(word, settings.environ, root)


def _detect(look: Look) -> Sign | None:  # noqa: ARG001 - a repository cannot choose this row: `suite` does, by the settings
    return None


CUSTOM = CustomRunner()
ROW = Row(name="custom", language="any", marks=(), suffixes=(), detect=_detect, run=reported(CUSTOM))
