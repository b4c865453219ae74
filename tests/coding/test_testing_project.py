"""Which project and which runner a selection belongs to: decided by what the folders hold, the nearest first."""

import pytest
from support.suites import project

from regreen.testing import NoProject, find_project
from regreen.testing.looking import Look
from regreen.testing.runners.pytest import ROW as PYTEST
from regreen.testing.runners.row import CONFIGURED, DEPENDENCY, FILES, Row, Sign
from regreen.workspace import Workspace


def _never(request, cancel, on_progress):
    raise AssertionError("not to be run")


def row(name, mark, suffix):
    """A runner that is recognised by the words in a mark file."""

    def detect(look):
        text = look.text(mark)
        strength = {"configured": CONFIGURED, "dependency": DEPENDENCY, "files": FILES}.get(text.strip())
        return Sign(strength, f"{look.at(mark)} says so") if strength else None

    return Row(name, name, (mark,), (suffix,), detect, _never)


WEB = row("web", "package.json", ".ts")
RUST = row("rust", "Cargo.toml", ".rs")
ROWS = (PYTEST, WEB, RUST)


def found(root, *selection, runner=""):
    with Workspace(root) as workspace:
        return find_project(workspace, ROWS, selection, runner=runner)


def shown(p):
    return p.message if isinstance(p, NoProject) else (p.folder, p.row.name)


def test_the_root_is_the_project_where_its_settings_name_a_runner(tmp_path):
    root = project(tmp_path, {"pytest.ini": "[pytest]\n", "tests/test_a.py": "", "web/package.json": "configured"})
    assert shown(found(root)) == ("", "pytest")


@pytest.mark.parametrize(
    ("selection", "wanted"),
    [
        (("web/src/a.test.ts",), ("web", "web")),
        (("web/src/a.test.ts > adds > numbers",), ("web", "web")),
        (("web",), ("web", "web")),
        (("api/tests/test_b.py::test_b",), ("api", "pytest")),
        (("tests/test_a.py",), ("", "pytest")),
        (("a bare name",), ("", "pytest")),
        (("api/tests.test_b.Case.test_one",), ("api", "pytest")),
        (("no/such/folder",), ("", "pytest")),
    ],
)
def test_the_nearest_project_above_the_selection_is_meant(tmp_path, selection, wanted):
    root = project(
        tmp_path,
        {
            "pytest.ini": "[pytest]\n",
            "tests/test_a.py": "",
            "web/package.json": "dependency",
            "web/src/a.test.ts": "",
            "api/pyproject.toml": "[tool.pytest.ini_options]\n",
            "api/tests/test_b.py": "",
        },
    )
    assert shown(found(root, *selection)) == wanted


def test_settings_farther_up_weigh_more_than_files_nearby(tmp_path):
    root = project(tmp_path, {"pytest.ini": "[pytest]\n", "lib/setup.py": "", "lib/test_a.py": ""})
    assert shown(found(root, "lib/test_a.py")) == ("", "pytest")


def test_a_selection_in_two_projects_is_refused_with_their_names(tmp_path):
    root = project(
        tmp_path, {"web/package.json": "configured", "web/a.ts": "", "core/Cargo.toml": "configured", "core/a.rs": ""}
    )
    assert "web (web)" in shown(found(root, "web/a.ts", "core/a.rs"))


def test_one_project_below_an_empty_root_is_found_and_several_are_named(tmp_path):
    root = project(tmp_path, {"sub/web/package.json": "configured", "README.md": ""})
    assert shown(found(root)) == ("sub/web", "web")
    project(tmp_path, {"core/Cargo.toml": "configured"})
    assert "core (rust); sub/web (web)" in shown(found(root))


def test_a_project_below_with_settings_weighs_more_than_its_files_seen_from_the_root(tmp_path):
    root = project(
        tmp_path, {"backend/pyproject.toml": "[tool.pytest.ini_options]\n", "backend/tests/test_a.py": "", "README": ""}
    )
    assert shown(found(root)) == ("backend", "pytest")
    project(tmp_path, {"web/package.json": "configured", "web/a.ts": ""})
    assert "backend (pytest); web (web)" in shown(found(root))
    project(tmp_path, {"test_own.py": ""})
    assert shown(found(root)) == ("", "pytest")
    assert found(root).below == ("backend (pytest)", "web (web)")


def test_a_folder_of_tests_with_requirements_is_no_project_of_its_own(tmp_path):
    root = project(tmp_path, {"app.py": "", "tests/requirements.txt": "pytest\n", "tests/test_a.py": ""})
    assert shown(found(root)) == shown(found(root, "tests/test_a.py")) == ("", "pytest")


def test_nothing_recognised_says_what_to_do(tmp_path):
    root = project(tmp_path, {"README.md": "nothing"})
    assert "no tests of a known runner" in shown(found(root))
    assert shown(found(root, runner="web")) == ("", "web")


def test_other_runners_of_the_same_folder_are_named(tmp_path):
    root = project(tmp_path, {"pytest.ini": "[pytest]\n", "package.json": "configured"})
    assert found(root).others == ("web",)


def test_dependencies_and_build_products_are_not_looked_at(tmp_path):
    root = project(tmp_path, {"node_modules/x/test_a.py": "", "target/test_b.py": "", "src/test_c.py": ""})
    with Workspace(root) as workspace:
        assert Look(workspace).below() == ("src/test_c.py",)
        assert Look(workspace, "src").any_below("test_*.py") == "test_c.py"


@pytest.mark.parametrize("text", ["{", "[[1]", '{"a": ' * 5000, "\x00"])
def test_files_that_cannot_be_read_count_as_empty(tmp_path, text):
    root = project(tmp_path, {"package.json": text, "pyproject.toml": text})
    with Workspace(root) as workspace:
        assert Look(workspace).json("package.json") == {}
        assert not Look(workspace).toml("pyproject.toml")
        assert Look(workspace).text("absent.txt") == ""
