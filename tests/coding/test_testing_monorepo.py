"""Projects below the root: each runs in its own folder, with its own interpreter; ids are those seen from the root."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import sample
from support.suites import project, run_tests

BACKEND = {
    "backend/pyproject.toml": "[tool.pytest.ini_options]\n",
    "backend/app.py": "import sys\nHOME = sys.prefix\n",
    "backend/tests/test_app.py": "import os, app\n\n\ndef test_home():\n"
    "    assert (app.HOME.endswith('.venv'), os.path.basename(os.getcwd())) == (True, 'backend')\n\n\n"
    "def test_red():\n    assert app.HOME == 1\n",
    "README.md": "",
}
HOME, RED = "backend/tests/test_app.py::test_home", "backend/tests/test_app.py::test_red"


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    made = project(tmp_path_factory.mktemp("monorepo"), BACKEND)
    venv = made / "backend" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=60)
    (site,) = (venv / "lib").glob("python*/site-packages")
    (site / "borrowed.pth").write_text(str(Path(pytest.__file__).parents[1]))
    return made


@pytest.mark.parametrize(
    "asked",
    sample(
        [
            {},
            {"selection": ["backend"]},
            {"selection": ["backend/tests/test_app.py"]},
            {"selection": [HOME, RED]},
            {"argv": ["pytest", "-q", "backend"]},
            {"argv": ["python", "-m", "pytest", "backend/tests/test_app.py"]},
            {"last_failed": [HOME, RED]},
            {"argv": ["pytest", "-v"], "selection": ["backend"]},
        ],
        2,
    ),
)
def test_however_it_is_asked_for_the_project_runs_in_its_own_folder(root, asked):
    report = run_tests(root, **asked)
    assert report.outcomes == {HOME: "passed", RED: "failed"}, report.message
    assert (report.project, report.interpreter) == ("backend", str(root / "backend" / ".venv" / "bin" / "python"))
    assert [(f.id, f.file) for f in report.failures] == [(RED, "backend/tests/test_app.py")]
    assert report.groups[0].ids == (RED,)


def test_a_project_without_an_environment_of_its_own_runs_in_its_folder_too(tmp_path):
    test = "from pathlib import Path\ndef test_a(): assert Path.cwd().name == 'backend'\n"
    assert run_tests(project(tmp_path, {**BACKEND, "backend/tests/test_app.py": test})).green
