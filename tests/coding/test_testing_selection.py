"""What a selection means, and which words never reach pytest."""

import pytest
from support.cases import sample
from support.suites import project, run_tests

from regreen.errors import Refused, UsageError
from regreen.model import SuiteStatus
from regreen.testing.selection import find_name, resolved, select

FILES = {
    "tests/test_a.py": "import pytest\nclass TestBox:\n    def test_one(self): pass\n"
    "@pytest.mark.parametrize('s', ['ä', 'a b', '../x', 'p::q', ''])\ndef test_p(s): pass\ndef test_both(): pass\n",
    "tests/test_b.py": "def test_both(): pass\ndef test_red(): assert 0\n",
}


def ids(root, *selection):
    report = run_tests(root, selection=selection)
    assert report.status in (SuiteStatus.PASSED, SuiteStatus.FAILED), report.message
    return list(report.outcomes)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return project(tmp_path_factory.mktemp("selection"), FILES)


def test_ids_are_exactly_those_that_pytest_prints_and_each_selects_its_test(root):
    parametrised = [i for i in ids(root, "tests/test_a.py") if "test_p[" in i]
    assert parametrised[0] == "tests/test_a.py::test_p[\\xe4]"
    assert len(parametrised) == 5
    assert ids(root, *parametrised) == parametrised


def test_absolute_paths_inside_and_bare_names_select(root):
    assert ids(root, str(root / "tests" / "test_b.py") + "::test_red", "test_one") == [
        "tests/test_b.py::test_red",
        "tests/test_a.py::TestBox::test_one",
    ]


@pytest.mark.parametrize(
    "entry", sample(["nothing_like_it", "gone/", "tests/test_a.py::test_gone", "tests/test_gone.py"], 2)
)
def test_selection_that_matches_nothing_is_no_tests_and_named(root, entry):
    report = run_tests(root, selection=["tests/test_b.py", entry])
    assert report.status is SuiteStatus.NO_TESTS
    assert entry in report.message


def test_ambiguous_bare_name_lists_the_candidates(root):
    report = run_tests(root, selection=["test_both"])
    assert report.status is SuiteStatus.NO_TESTS
    assert "tests/test_a.py::test_both, tests/test_b.py::test_both" in report.message


def test_selected_folder_without_tests_is_no_tests(tmp_path):
    root = project(tmp_path, {"empty/readme.txt": "", "test_a.py": "def test_a(): pass\n"})
    report = run_tests(root, selection=["empty", "test_a.py"])
    assert report.status is SuiteStatus.NO_TESTS
    assert "empty" in report.message


@pytest.mark.parametrize("entry,kind", [
    ("-p evil", "argument_value_invalid"), ("--pdb", "argument_value_invalid"), ("@file", "argument_value_invalid"),
    ("~/x", "argument_value_invalid"), ("/etc", "path_outside_workspace"), ("../x.py", "path_outside_workspace"),
    ("out/x.py::t", "path_outside_workspace"), ("a\nb", "argument_value_invalid"), ("", "argument_value_invalid"),
])  # fmt: skip
def test_selection_that_leaves_the_root_or_looks_like_an_option_is_refused(entry, kind, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "out").symlink_to(tmp_path)
    with pytest.raises(Refused) as caught:
        select([entry], root)
    assert caught.value.kind == kind


def test_last_failed_runs_those_that_the_caller_remembers_and_everything_where_none_is_left(root):
    remembered = run_tests(root, last_failed=["tests/test_b.py::test_red"])
    assert list(remembered.outcomes) == ["tests/test_b.py::test_red"]
    both = run_tests(root, selection=["tests/test_a.py", "tests/test_b.py"], last_failed=["tests/test_b.py::test_red"])
    assert both.status is SuiteStatus.FAILED
    assert len(run_tests(root, argv=["pytest", "--lf"], last_failed=["tests/test_b.py::gone"]).outcomes) == 9


def test_ids_of_a_project_below_the_working_folder_can_be_selected_as_they_were_reported(tmp_path):
    root = project(tmp_path, {"sub/pytest.ini": "[pytest]\n", "sub/tests/test_a.py": "def test_a(): pass\n"})
    reported = ids(root, "sub/tests")
    assert reported == ["sub/tests/test_a.py::test_a"]
    assert ids(root, *reported) == reported


def test_whitelisted_argv_runs_with_the_same_interpreter_and_others_are_refused(root):
    report = run_tests(root, argv=["python", "-m", "pytest", "-k", "red or one", "tests"])
    assert len(report.outcomes) == 2
    assert report.argv[1:] == ("-m", "pytest", "-k", "red or one", "tests")
    with pytest.raises(Refused) as caught:
        run_tests(root, argv=["pytest", "-p", "evil"])
    assert caught.value.kind == "argument_value_invalid"
    with pytest.raises(UsageError):
        run_tests(root, runner="no-such-runner")


def test_stepwise_stop_after_a_failure_is_red_and_no_crash(root):
    report = run_tests(root, argv=["pytest", "--sw", "tests/test_b.py"])
    assert report.status is SuiteStatus.FAILED, report.message


def test_only_collecting_is_not_green(root):
    report = run_tests(root, argv=["pytest", "--co"])
    assert report.status is SuiteStatus.NO_TESTS
    assert "9 tests were collected" in report.message


def test_bare_name_means_all_parameters_of_one_test_or_one_of_them():
    known = ["a.py::test_x[1]", "a.py::test_x[2]", "a.py::C::test_y", "b.py::test_y"]
    assert find_name("test_x", known) == ("a.py::test_x",)
    assert find_name("test_x[2]", known) == ("a.py::test_x[2]",)
    assert find_name("C::test_y", known) == ("a.py::C::test_y",)
    assert len(find_name("test_y", known)) == 2
    assert find_name("test", known) == ()


@pytest.mark.parametrize(
    "entries, meant",
    [
        (["test_red"], ("tests/test_b.py::test_red",)),
        (["tests/test_a.py", "test_red"], ("tests/test_a.py", "tests/test_b.py::test_red")),
        (["test_p"], ("tests/test_a.py::TestBox::test_p",)),
        ([], ()),
        (["test_red", "test_none"], ()),
    ],
)
def test_bare_names_stand_for_the_ids_that_a_run_of_them_told_of(root, entries, meant):
    known = ["tests/test_b.py::test_red", "tests/test_a.py::TestBox::test_p[x]", "tests/test_a.py::TestBox::test_p[y]"]
    assert resolved(entries, root, known) == meant
