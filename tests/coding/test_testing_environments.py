"""Where a project's Python is looked for: what each tool leaves behind, and what is said of environments that broke."""

import base64
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.suites import project, run_tests, settings_with

from regreen.model import SuiteStatus
from regreen.sandbox import Cancel
from regreen.testing import Interpreter, NoInterpreter, find_interpreter
from regreen.testing.environments import candidates
from regreen.workspace import Workspace

POSIX = pytest.mark.skipif(os.name == "nt", reason="environments of a POSIX system are made up here")
pytestmark = POSIX
PRIVATE = "import private_dependency_x\ndef test_a(): assert private_dependency_x.n == 7\n"


def env(folder, *, marker="pyvenv.cfg"):
    """What looks like an environment."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    if marker:
        (folder / marker).write_text("home = /usr/bin\n")
    return folder


def real_env(folder, *, with_pytest):
    """A virtual environment with a module that only it has."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "private_dependency_x.py").write_text("n = 7\n")
    if with_pytest:
        (site / "borrowed.pth").write_text(str(Path(pytest.__file__).parents[1]))
    return str(folder / "bin" / "python")


def listed(root, start="", **environ):
    home = root.parent / "home"
    workspace = Workspace(root)
    try:
        settings = settings_with(root.parent, {"HOME": str(home), **environ})
        plain = {k: v for k, v in settings.environ.items() if not k.startswith(("CONDA", "XDG", "PYENV", "UV_"))}
        object.__setattr__(settings, "environ", {**plain, **environ})
        return [(c.path, c.source, c.problem) for c in candidates(workspace, settings, start)]
    finally:
        workspace.close()


def digest(text, size=32):
    return base64.urlsafe_b64encode(hashlib.sha256(str(text).encode()).digest()[:size]).decode()[:8]


def make(tool, root, home):
    """Leave behind what a tool does. Returns the environment's folder."""
    match tool:
        case "venv" | ".venv":
            return env(root / tool)
        case "env":
            return env(root / "env")
        case "uv":
            (root / "uv.lock").write_text("")
            return env(root / "elsewhere")
        case "poetry":
            (root / "pyproject.toml").write_text("[tool.poetry]\nname = 'My_App'\n")
            base = home / ".cache" / "pypoetry" / "virtualenvs"
            env(base / f"my-app-{digest('/another')}-py3.11")
            env(base / f"my-app-{digest(root)}-py3.9")
            return env(base / f"my-app-{digest(root)}-py3.11")
        case "pipenv":
            (root / "Pipfile").write_text("")
            return env(home / ".local/share/virtualenvs" / f"project-{digest(root / 'Pipfile', 6)}")
        case "hatch":
            (root / "pyproject.toml").write_text("[build-system]\nbuild-backend = 'hatchling.build'\n")
            base = home / ".local/share/hatch/env/virtual/app" / digest(root)
            env(base / "app")
            return env(base / "hatch-test.py3.11")
        case "pdm":
            made = env(home / "pdm-env")
            (root / ".pdm-python").write_text(f"{made}/bin/python")
            return made
        case "conda":
            (root / "environment.yml").write_text("name: my-env\ndependencies: [python]\n")
            return env(home / "miniforge3/envs/my-env", marker="")
        case "pyenv":
            (root / ".python-version").write_text("# comment\n3.11\n")
            env(home / ".pyenv/versions/3.9.1", marker="")
            env(home / ".pyenv/versions/3.11.2", marker="")
            return env(home / ".pyenv/versions/3.11.10", marker="")
        case _:
            raise NotImplementedError(tool)


TOOLS = [".venv", "venv", "env", "uv", "poetry", "pipenv", "hatch", "pdm", "conda", "pyenv"]


@pytest.mark.parametrize("tool", TOOLS)
def test_environment_of_each_tool_is_found_and_its_source_named(tool, tmp_path):
    root, home = project(tmp_path, {"sub/x.txt": ""}), tmp_path / "home"
    made = make(tool, root, home)
    environ = {"UV_PROJECT_ENVIRONMENT": "elsewhere"} if tool == "uv" else {}
    for start in ("", "sub"):
        found = listed(root, start, HOME=str(home), **environ)
        assert found[0][0] == str(made / "bin" / "python")
        assert found[0][2] == ""
        assert {".venv": ".venv", "uv": "UV_PROJECT_ENVIRONMENT"}.get(tool, tool) in found[0][1]
        assert not any("regreen's own" in source for _, source, _ in found)


def test_environments_of_other_projects_and_of_names_that_lead_elsewhere_are_not_taken(tmp_path):
    home = tmp_path / "home"
    env(home / ".cache/pypoetry/virtualenvs" / f"project-{digest('/another')}-py3.11")
    env(tmp_path / "evil")
    root = project(tmp_path, {
        "pyproject.toml": "[tool.poetry]\nname = 'project'\n[tool.hatch]\n", "Pipfile": "", "poetry.lock": "",
        "environment.yml": "name: ../../evil\n", ".python-version": "../../evil\n", ".pdm-python": "/bin/sh",
        "env/bin/readme": "",
    })  # fmt: skip
    assert [source for _, source, _ in listed(root, HOME=str(home))] == ["regreen's own, since the project has none"]


def test_nearest_folder_comes_first_and_activated_ones_before_it(tmp_path):
    root = project(tmp_path, {"sub/deep/x.txt": ""})
    outer, inner, active, conda = (env(root / ".venv"), env(root / "sub" / "venv"), env(tmp_path / "active"),
                                   env(tmp_path / "conda" / "envs" / "work", marker=""))  # fmt: skip
    found = listed(root, "sub/deep", VIRTUAL_ENV=str(active), CONDA_PREFIX=str(conda))
    assert [path for path, _, _ in found] == [f"{e}/bin/python" for e in (active, inner, outer, conda)]
    base = listed(project(tmp_path / "b", {}), CONDA_PREFIX=str(conda), CONDA_DEFAULT_ENV="base")
    assert [source for _, source, _ in base] == ["regreen's own, since the project has none"]


def test_version_that_is_not_installed_is_told_with_the_one_that_is_used_instead(tmp_path):
    root = project(tmp_path, {".python-version": "3.99\n"})
    ((path, source, _),) = listed(root)
    assert path == sys.executable
    assert ".python-version wants 3.99" in source


def broken(kind, root):
    """An environment that cannot be used, and what must be said of it."""
    match kind:
        case "link":
            (root / ".venv").symlink_to(root.parent / "gone")
            return "which is not there"
        case "base":
            made = env(root / ".venv")
            (made / "bin" / "python").unlink()
            (made / "bin" / "python").symlink_to("/usr/bin/python3.77")
            return "its base Python is gone: it leads to /usr/bin/python3.77"
        case "platform":
            (root / ".venv" / "Scripts").mkdir(parents=True)
            (root / ".venv" / "Scripts" / "python.exe").write_text("")
            (root / ".venv" / "pyvenv.cfg").write_text("")
            return "another platform"
        case "empty":
            (root / ".venv").mkdir()
            (root / ".venv" / "pyvenv.cfg").write_text("")
            return "holds no Python"
        case "architecture":
            made = env(root / ".venv")
            (made / "bin" / "python").unlink()
            (made / "bin" / "python").write_bytes(b"\x7fELF of another machine")
            (made / "bin" / "python").chmod(0o755)
            return ".venv"
        case _:
            raise NotImplementedError(kind)


@pytest.mark.parametrize("kind", ["link", "base", "platform", "empty", "architecture"])
def test_broken_environment_is_reported_with_its_cause_and_not_passed_over(kind, tmp_path):
    root = project(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    said = broken(kind, root)
    report = run_tests(root)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert report.outcomes == {}
    assert said in report.message
    assert str(root / ".venv" / "bin" / "python") in report.message


def test_environment_that_is_a_link_to_one_elsewhere_is_used_with_what_only_it_has(tmp_path):
    real_env(tmp_path / "kept", with_pytest=True)
    root = project(tmp_path, {"test_a.py": PRIVATE})
    (root / ".venv").symlink_to(tmp_path / "kept")
    report = run_tests(root)
    assert report.green, report
    assert report.interpreter == str(root / ".venv" / "bin" / "python")


def test_dependency_that_only_the_projects_environment_has_is_found(tmp_path):
    root = project(tmp_path, {"test_a.py": PRIVATE})
    missing = run_tests(root)
    assert (missing.status, "private_dependency_x" in missing.message) == (SuiteStatus.ENVIRONMENT, True)
    real_env(root / ".venv", with_pytest=True)
    assert run_tests(root).green


def test_what_is_wanted_decides_whether_an_environment_fits(tmp_path):
    root = project(tmp_path, {})
    python = real_env(root / ".venv", with_pytest=False)
    workspace = Workspace(root)
    settings = settings_with(tmp_path)
    try:
        plain = find_interpreter(workspace, settings, Cancel(), needs="unittest")
        assert isinstance(plain, Interpreter)
        assert (plain.path, plain.pytest_version) == (python, "")
        assert isinstance(find_interpreter(workspace, settings, Cancel()), NoInterpreter)
        (site,) = (root / ".venv" / "lib").glob("python*/site-packages")
        (site / "borrowed.pth").write_text(str(Path(pytest.__file__).parents[1]))
        found = find_interpreter(workspace, settings, Cancel())
        assert isinstance(found, Interpreter)
        assert found.pytest_version == pytest.__version__
    finally:
        workspace.close()


def test_old_python_is_told_and_not_used(tmp_path):
    old = next(iter(Path.home().glob(".pyenv/versions/3.7*/bin/python")), None)
    if old is None:
        pytest.skip("no Python 3.7 is installed (looked in pyenv's folder)")
    code = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n"
    root = project(tmp_path, {"test_a.py": code})
    for runner in ("unittest", "pytest"):
        report = run_tests(root, settings_with(tmp_path, python=str(old)), runner=runner)
        assert report.status is SuiteStatus.ENVIRONMENT
        assert "3.8 or newer is wanted" in report.message


def test_each_diagnosis_of_several_environments_is_in_the_message(tmp_path):
    root = project(tmp_path, {"test_a.py": "def test_a(): pass\n", "venv/pyvenv.cfg": ""})
    python = real_env(root / ".venv", with_pytest=False)
    report = run_tests(root)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert f"{python} (the project's .venv): pytest cannot be imported" in report.message
    assert "the project's venv): it holds no Python" in report.message
    assert f"{python} -m pip install pytest" in report.message
