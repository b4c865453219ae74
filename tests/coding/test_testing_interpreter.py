"""Which Python runs the tests: proven, reported, and never another one than the project's by stealth."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.suites import project, run_tests, settings_with

from regreen.errors import Refused
from regreen.model import SuiteStatus
from regreen.sandbox import Cancel
from regreen.testing import Interpreter, NoInterpreter, find_interpreter
from regreen.workspace import Workspace

FILES = {"test_a.py": "import os, sys\ndef test_a(): assert sys.prefix == os.environ['VIRTUAL_ENV']\n"}


def venv(folder, *, with_pytest):
    """A virtual environment, which borrows pytest from the one that runs this test."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    if with_pytest:
        (site,) = (folder / "lib").glob("python*/site-packages")
        (site / "borrowed.pth").write_text(str(Path(pytest.__file__).parents[1]))
    return str(folder / "bin" / "python")


def found(root, settings, *, cancelled=False, **options):
    workspace, cancel = Workspace(root), Cancel()
    if cancelled:  # then nothing can be proven
        cancel.set()
    try:
        return find_interpreter(workspace, settings, cancel, **options)
    finally:
        workspace.close()


def test_projects_own_environment_is_used_and_named(tmp_path):
    root = project(tmp_path, FILES)
    python = venv(root / ".venv", with_pytest=True)
    report = run_tests(root)
    assert report.green, report
    assert report.interpreter == python
    assert any(".venv" in n for n in report.notes)


def test_projects_environment_without_pytest_is_reported_and_not_passed_over(tmp_path):
    root = project(tmp_path, FILES)
    python = venv(root / ".venv", with_pytest=False)
    report = run_tests(root)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert report.outcomes == {}
    assert python in report.message
    assert "No module named 'pytest'" in report.message
    assert f"{python} -m pip install pytest" in report.message


def test_order_is_setting_then_active_environment_then_nearest_folder_then_our_own(tmp_path):
    root = project(tmp_path, {**FILES, "sub/deep/x.txt": ""})
    plain = settings_with(tmp_path)
    own = found(root, plain)
    assert isinstance(own, Interpreter)
    assert own.path == sys.executable
    outer, inner = venv(root / "venv", with_pytest=True), venv(root / "sub" / ".venv", with_pytest=True)
    assert found(root, plain).path == outer
    assert found(root, plain, start="sub/deep").path == inner
    active = settings_with(tmp_path, {"VIRTUAL_ENV": str(root / "sub" / ".venv")})
    assert found(root, active).path == inner
    chosen = found(root, settings_with(tmp_path, {"VIRTUAL_ENV": str(root / "venv")}, python=sys.executable))
    assert (chosen.path, chosen.source) == (sys.executable, "setting `python`")
    assert chosen.pytest_version == pytest.__version__
    assert chosen.version.startswith("3.")


def test_active_environment_without_pytest_does_not_hide_the_projects_own(tmp_path):
    root = project(tmp_path, FILES)
    bare, own = venv(tmp_path / "bare", with_pytest=False), venv(root / ".venv", with_pytest=True)
    active = settings_with(tmp_path, {"VIRTUAL_ENV": str(tmp_path / "bare")})
    assert found(root, active).path == own
    (root / ".venv" / "pyvenv.cfg").unlink()
    (root / ".venv" / "bin" / "python").unlink()
    nothing = found(root, active)
    assert isinstance(nothing, NoInterpreter)
    assert [t.path for t in nothing.tried] == [bare]


@pytest.mark.parametrize("script,problem", [("exit 3", "ended with status 3"), ("echo hello", "ended with status 0")])
def test_interpreter_that_the_settings_name_must_prove_itself(script, problem, tmp_path):
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    nothing = found(project(tmp_path, FILES), settings_with(tmp_path, python=str(fake)))
    assert isinstance(nothing, NoInterpreter)
    assert problem in nothing.message
    assert len(nothing.tried) == 1


def test_interpreter_that_does_not_exist_is_said(tmp_path):
    nothing = found(project(tmp_path, FILES), settings_with(tmp_path, python="no-such-python"))
    assert "no-such-python (setting `python`): there is no such program" in nothing.message


def test_file_of_the_project_named_like_pytest_is_not_taken_as_proof(tmp_path):
    root = project(tmp_path, {"pytest.py": "__version__ = '99.0'\n"})
    venv(root / ".venv", with_pytest=False)
    assert isinstance(found(root, settings_with(tmp_path)), NoInterpreter)


def test_proof_is_made_once_even_for_later_processes_and_again_when_the_environment_changes(tmp_path):
    root = project(tmp_path, FILES)
    venv(root / ".venv", with_pytest=True)
    (site,) = (root / ".venv" / "lib").glob("python*/site-packages")
    (site / "pytest").mkdir()
    (site / "pytest" / "__init__.py").write_text("__version__ = '8.0'\n")  # as if it was installed here
    settings = settings_with(tmp_path)
    code = (
        "import sys; from support.suites import *; from regreen.testing import find_interpreter\n"
        "c = Cancel()\nif sys.argv[2:]: c.set()\n"  # when cancelled, nothing can be proven
        "base = Path(sys.argv[1])\n"
        "print(type(find_interpreter(Workspace(base / 'project'), settings_with(base), c)).__name__)"
    )
    path = os.pathsep.join(sys.path)

    def search(*cancelled):
        argv = [sys.executable, "-c", code, str(tmp_path), *cancelled]
        environ = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(argv, env=environ, capture_output=True, text=True, check=True, timeout=60).stdout.strip()

    assert search("cancelled") == "NoInterpreter"
    assert search() == "Interpreter"
    assert search("cancelled") == "Interpreter"
    (settings.cache_dir / "interpreters.json").write_text("[{}]")
    assert search("cancelled") == "NoInterpreter"
    changes = (lambda: os.utime(root / ".venv" / "pyvenv.cfg", ns=(1, 1)), lambda: (site / "more.py").write_text(""))
    for change in changes:
        assert isinstance(found(root, settings), Interpreter)
        assert isinstance(found(root, settings, cancelled=True), Interpreter)
        change()
        assert isinstance(found(root, settings, cancelled=True), NoInterpreter)


def test_required_sandbox_is_refused_before_anything_runs(tmp_path):
    with pytest.raises(Refused) as caught:
        run_tests(project(tmp_path, FILES), settings_with(tmp_path, sandbox="required", sandbox_level="none"))
    assert caught.value.kind == "sandbox_required"


def test_an_interpreter_that_hangs_is_not_waited_for_longer_than_the_run_may_take(tmp_path, monkeypatch):
    monkeypatch.setattr("regreen.testing.python_suite._LEAST_PROBE_S", 0.2)  # in vain: this one never answers
    root = project(tmp_path, FILES)
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexec sleep 600\n")
    python.chmod(0o755)
    (root / ".venv" / "pyvenv.cfg").write_text("")
    report = run_tests(root, timeout_s=0.2)
    assert report.status is SuiteStatus.ENVIRONMENT
    assert "did not answer in time" in report.message
