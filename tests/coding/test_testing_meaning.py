"""A selection that names no file gets a suggestion where one is near."""

import pytest
from support.suites import project, run_tests

from regreen.testing.meaning import project_above, similar

PATHS = ["tests/test_cart.py", "tests/test_shop.py", "src/cart.py", "web/test/add.test.ts"]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("tests/test_crt.py", ["tests/test_cart.py"]),
        ("test_cart.py", ["tests/test_cart.py"]),
        ("test_shp.py", ["tests/test_shop.py"]),
        ("add.test.ts", ["web/test/add.test.ts"]),
        ("elsewhere.py", []),
        ("a bare name", []),
    ],
)
def test_the_nearest_file_is_named(typed, wanted):
    assert similar(typed, PATHS) == wanted


def test_a_run_of_nothing_says_what_was_meant(tmp_path):
    root = project(tmp_path, {"tests/test_cart.py": "def test_a(): pass\n", "pytest.ini": "[pytest]\n"})
    report = run_tests(root, selection=["tests/test_crt.py"])
    assert report.status == "no_tests"
    assert report.message.endswith("did you mean tests/test_cart.py?")


MARKS = ("setup.cfg", "pom.xml", "package.json", "*.sln")


def test_a_folder_of_a_project_names_the_nearest_one_around_it(tmp_path):
    inner = tmp_path / "outer" / "inner"
    (inner / "src" / "pkg").mkdir(parents=True)
    (tmp_path / "outer" / "pom.xml").touch()
    (inner / "setup.cfg").touch()
    environ = {"HOME": str(tmp_path)}
    assert project_above(inner / "src" / "pkg", environ, MARKS).startswith(
        f"{inner} looks like the project (setup.cfg is "
    )
    assert project_above(inner, environ, MARKS) == ""  # it is one itself
    (inner / "src" / "pkg" / ".git").mkdir()
    assert project_above(inner / "src" / "pkg", environ, MARKS) == ""


@pytest.mark.parametrize("home", ["", "w", "w/p", "w/p/q"])
def test_the_home_folder_and_what_holds_it_are_no_project(tmp_path, home):
    (tmp_path / "w" / "p" / "q").mkdir(parents=True)
    (tmp_path / "w" / "package.json").touch()
    found = project_above(tmp_path / "w" / "p", {"HOME": str(tmp_path / home)}, MARKS)
    assert bool(found) == (home == "")
