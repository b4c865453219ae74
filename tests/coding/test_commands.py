"""The whitelist of commands, on the corpus of attacks and on the edges of the grammar."""

import json
from pathlib import Path

import pytest

from regreen.commands import check
from regreen.errors import RegreenError

CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "attacks.json"


def corpus(kind):
    for case in json.loads(CORPUS.read_text("utf-8"))["cases"]:
        arguments = case["action"]["args"]
        if case["surface"] == "command" and case["kind"] == kind and "argv" in arguments and "cwd" not in arguments:
            yield pytest.param(arguments["argv"], case["expect"], id=case["id"])


def spelled_out(argv, outside):
    if not isinstance(argv, list):
        return argv
    return [w for word in argv for w in (["a.py"] * 5000 if word.startswith("{REPEAT_ARGS") else
                                         [word.replace("{OUT}", str(outside))])]  # fmt: skip


def refusal(argv, root):
    with pytest.raises(RegreenError) as caught:
        check(argv, root)
    assert caught.value.message
    assert caught.value.hint
    return caught.value.kind


@pytest.mark.parametrize("argv,expected", list(corpus("attack")))
def test_command_of_the_attack_corpus_is_refused(argv, expected, tmp_path):
    (tmp_path / "root").mkdir()
    kind = refusal(spelled_out(argv, tmp_path), tmp_path / "root")
    assert kind in {*expected.get("error_any", ()), expected["error"]}


@pytest.mark.parametrize("argv,expected", list(corpus("benign")))
def test_pytest_command_of_the_benign_corpus_is_allowed(argv, expected, tmp_path):
    if "pytest" not in argv:
        assert refusal(argv, tmp_path) == "command_not_allowed"
    else:
        assert check(argv, tmp_path).arguments == tuple(argv[argv.index("pytest") + 1 :])


@pytest.mark.parametrize("argv", [
    ["pytest"], ["py.test", "-xq"], ["python3", "-m", "pytest", "-k", "a and not b"], ["pytest", "--maxfail=3"],
    ["pytest", "-rA", "-vv", "--tb=short"], ["pytest", "-p", "no:randomly"], ["pytest", "tests/test_x.py::test_p[é]"],
    ["pytest", "-W", "ignore::DeprecationWarning"],
])  # fmt: skip
def test_ordinary_pytest_command_is_allowed(argv, tmp_path):
    assert check(argv, tmp_path).runner == "pytest"


@pytest.mark.parametrize("argv,kind", [
    ([], "invalid_arguments"), ("pytest", "invalid_arguments"), ([1], "invalid_arguments"),
    (["pytest"] + ["a"] * 256, "limit_exceeded"), (["pytest", "x" * 40000], "limit_exceeded"),
    (["pytest", "-p", "evil"], "argument_value_invalid"), (["pytest", "-pevil"], "argument_not_allowed"),
    (["pytest", "--", "-p", "evil"], "argument_value_invalid"), (["pytest", "@args"], "argument_value_invalid"),
    (["pytest", "/etc"], "argument_value_invalid"), (["pytest", "../x"], "argument_value_invalid"),
    (["pytest", "-k"], "argument_value_invalid"), (["pytest", "a\x00b"], "argument_value_invalid"),
    (["pytest", "--coll"], "argument_not_allowed"), (["pytest", "-n", "\u0663"], "argument_value_invalid"),
    (["/usr/bin/pytest"], "command_not_allowed"), (["python", "-m", "pytest2"], "command_not_allowed"),
    (["pytest", "--maxfail=0"], "argument_value_invalid"), (["pytest", "link/x.py"], "argument_value_invalid"),
])  # fmt: skip
def test_command_outside_the_grammar_is_refused_with_its_kind(argv, kind, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    assert refusal(argv, root) == kind


def test_double_dash_is_not_handed_on_since_pytest_would_still_read_options_behind_it(tmp_path):
    assert check(["pytest", "-q", "--", "tests"], tmp_path).arguments == ("-q", "tests")


def test_refusal_of_a_command_names_what_is_allowed(tmp_path):
    with pytest.raises(RegreenError, match="not an allowed command") as caught:
        check(["bash", "-c", "id"], tmp_path)
    assert "`python -m pytest`" in caught.value.hint
