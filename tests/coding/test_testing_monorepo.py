"""Projects below the root: each runs in its own folder, with its own interpreter; ids are those seen from the root."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.suites import project, run_tests

BACKEND = {
    "backend/pyproject.toml": "[tool.pytest.ini_options]\n",
    "backend/app.py": "import sys\nHOME = sys.prefix\n",
    "backend/tests/test_app.py": "import app\n\n\ndef test_home():\n    assert app.HOME.endswith('.venv')\n\n\n"
    "def test_red():\n    assert app.HOME == 1\n",
    "README.md": "",
}
HOME, RED = "backend/tests/test_app.py::test_home", "backend/tests/test_app.py::test_red"


@pytest.fixture
def root(tmp_path):
    made = project(tmp_path, BACKEND)
    venv = made / "backend" / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=60)
    (site,) = (venv / "lib").glob("python*/site-packages")
    (site / "borrowed.pth").write_text(str(Path(pytest.__file__).parents[1]))
    return made


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"selection": ["backend"]},
        {"selection": ["backend/tests/test_app.py"]},
        {"selection": [HOME, RED]},
        {"argv": ["pytest", "-q", "backend"]},
        {"argv": ["python", "-m", "pytest", "backend/tests/test_app.py"]},
        {"argv": ["pytest", "-v"], "selection": ["backend"]},
        {"last_failed": [HOME, RED]},
    ],
)
def test_however_it_is_asked_for_the_project_runs_in_its_own_folder(root, asked):
    report = run_tests(root, **asked)
    assert report.outcomes == {HOME: "passed", RED: "failed"}, report.message
    assert (report.project, report.interpreter) == ("backend", str(root / "backend" / ".venv" / "bin" / "python"))
    assert [(f.id, f.file) for f in report.failures] == [(RED, "backend/tests/test_app.py")]
    assert report.groups[0].ids == (RED,)


def test_what_a_test_prints_of_its_folder_is_the_projects(root):
    (root / "backend" / "tests" / "test_app.py").write_text(
        "from pathlib import Path\ndef test_a(): assert Path.cwd().name == 'backend'\n"
    )
    assert run_tests(root).green
    shutil.rmtree(root / "backend" / ".venv")
    assert run_tests(root).status == "passed"
