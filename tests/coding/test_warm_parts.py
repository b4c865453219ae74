"""Decisions about warm runs and spread runs: pure values in, a value out."""

from pathlib import Path

import pytest

from regreen.testing import Interpreter
from regreen.testing.warm import choose_workers, has_xdist, own_words
from regreen.testing.warm.refusals import early_plugins, refused, spreads
from regreen.testing.warm.stamps import Stamper, conftests_of

KNOWN = {"installed": True, "last_s": 60.0, "cores": 4}


@pytest.mark.parametrize(("fields", "words", "arguments"), [
    ({}, [], ("-n", "4", "--dist", "loadfile")),
    ({"last_s": 16.0}, [], ("-n", "3", "--dist", "loadfile")),
    ({"tests": 2}, [], ("-n", "2", "--dist", "loadfile")),
    ({"cores": 64}, [], ("-n", "8", "--dist", "loadfile")),
    ({"memory_mib": 1100}, [], ("-n", "2", "--dist", "loadfile")),
    ({"memory_mib": 600}, [], ()),
    ({"last_s": 9.0}, [], ()),
    ({"last_s": None}, [], ()),
    ({"installed": False}, [], ()),
    ({"cores": 1}, [], ()),
    ({"tests": 1}, [], ()),
    ({}, ["-n", "2"], ()),
    ({}, ["-n0"], ()),
    ({}, ["--numprocesses=auto"], ()),
    ({}, ["-p", "no:xdist"], ()),
    ({}, ["-pno:xdist"], ()),
    ({}, ["-x"], ()),
    ({}, ["--maxfail=2"], ()),
    ({}, ["-q", "--strict-markers"], ("-n", "4", "--dist", "loadfile")),
])  # fmt: skip
def test_workers_are_chosen_where_they_pay_and_nobody_has_said_otherwise(fields, words, arguments):
    assert choose_workers(words, **{**KNOWN, **fields}) == arguments


def test_xdist_is_seen_beside_the_interpreter(tmp_path):
    who = Interpreter("/x/bin/python", "3.11.7", "8.0.0", "test", str(tmp_path))
    assert not has_xdist(who)
    package = tmp_path / "lib" / "python3.11" / "site-packages" / "xdist"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    assert has_xdist(who)
    assert not has_xdist(Interpreter("/usr/bin/python-of-others", "3.11.7", "8.0.0", "test"))


@pytest.mark.parametrize(("words", "answer"), [
    (["-n", "2"], True), (["-n2"], True), (["-n=auto"], True), (["--dist", "load"], True), (["--tx=popen"], True),
    (["-n", "0"], False), (["-n0"], False), (["--dist=no"], False), (["-p", "no:xdist"], False), ([], False),
    (["--no-header"], False), (["-f"], True),
])  # fmt: skip
def test_wish_for_several_processes_is_read_from_arguments(words, answer):
    assert spreads(words) == answer


def test_plugins_named_early_are_found():
    assert early_plugins(["-p", "a.b", "-pc", "-p", "no:d", "--pdb", "-p"]) == ["a.b", "c"]


@pytest.mark.parametrize(("fields", "reason"), [
    ({"platform": "darwin"}, "darwin"), ({"platform": "win32"}, "win32"), ({"level": "container"}, "container"),
    ({"version": "3.7.17"}, "too old"), ({"words": ["--pdb"]}, "--pdb"), ({}, ""),
])  # fmt: skip
def test_runs_are_refused_where_a_fork_is_not_safe(fields, reason, tmp_path):
    values = {"platform": "linux", "level": "bwrap", "version": "3.11.7", "words": (), "folder": tmp_path, **fields}
    found = refused(**values)
    assert reason in found
    assert bool(found) == bool(reason)


@pytest.mark.parametrize(("name", "text"), [
    ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-n 2 -q'\n"),
    ("pyproject.toml", "[tool.pytest]\naddopts = ['-n', '2', '-q']\n"),
    ("pytest.toml", "[pytest]\naddopts = ['-n', '2', '-q']\n"),
    ("pytest.ini", "[pytest]\naddopts =\n  -n 2\n  -q\n"),
    ("tox.ini", "[pytest]\naddopts = -n 2 -q\n"),
    ("setup.cfg", "[tool:pytest]\naddopts = -n 2 -q\n"),
])  # fmt: skip
def test_arguments_are_read_from_every_kind_of_settings_file(name, text, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / name).write_text(text)
    assert own_words(inner, tmp_path) == ("-n", "2", "-q")
    (tmp_path / name).write_text("[[[ no settings\naddopts '")
    assert own_words(tmp_path, tmp_path) == ()


def test_stamp_changes_with_content_and_not_with_times(tmp_path):
    stamper = Stamper()
    who = Interpreter("/usr/bin/env", "3.11.7", "8.0.0", "test")
    conftest = tmp_path / "tests" / "conftest.py"

    def take(environment=None):
        return stamper.take(
            who, environment or {"A": "1"}, [tmp_path], [], conftests_of(tmp_path, ["tests/test_a.py::test_b"])
        )

    first = take()
    assert take().changed(first) == ""
    conftest.parent.mkdir()
    conftest.write_text("a = 1\n")
    second = take()
    assert second.changed(first) == str(conftest)
    conftest.write_text("a = 2\n")
    assert take().changed(second) == str(conftest)
    conftest.write_text("a = 1\n")
    assert take().changed(second) == ""
    assert take({"A": "2"}).changed(second) == "the environment"


def test_conftests_are_looked_for_on_the_way_to_each_test():
    found = conftests_of(Path("/p"), ["a/b/test_c.py::test_d", "a/test_e.py::T::test_f"])
    assert found == {f"/p{inner}/conftest.py" for inner in ("", "/a", "/a/b")}
