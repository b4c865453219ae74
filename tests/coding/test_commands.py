"""The whitelist of commands, on the corpus of attacks and on the edges of the grammar."""

import json
from pathlib import Path

import pytest
from support.commands import project, spelled_out

from regreen.commands import check, check_git, check_words
from regreen.errors import RegreenError

CORPUS = Path(__file__).parents[1] / "corpora" / "cases" / "attacks.json"


def commands_of_corpus():
    """Every case that comes down to one command line; those of git's own tools as the command line they mean."""
    for case in json.loads(CORPUS.read_text("utf-8"))["cases"]:
        args = case["action"]["args"]
        if case["surface"] not in ("command", "git") or "cwd" in args:
            continue
        argv = args.get("argv")
        if case["action"]["tool"] in ("git_status", "git_diff", "git_show"):
            argv = ["git", case["action"]["tool"].removeprefix("git_")]
            argv += ([args["rev"]] if "rev" in args else []) + (["--", *args["paths"]] if "paths" in args else [])
        if argv is not None:
            yield pytest.param(argv, case["expect"], id=case["id"])


def refusal(argv, root, checking=check):
    with pytest.raises(RegreenError) as caught:
        checking(argv, root)
    assert caught.value.message
    assert caught.value.hint
    assert len(caught.value.message) + len(caught.value.hint) <= 400, caught.value.as_json()
    return caught.value


@pytest.mark.parametrize("argv,expected", list(commands_of_corpus()))
def test_command_of_the_corpus_ends_as_it_must(argv, expected, tmp_path):
    root = project(tmp_path)
    argv = spelled_out(argv, tmp_path / "out")
    checking = check_git if argv[0] == "git" else check
    if expected["outcome"] == "allow":
        assert (*checking(argv, root).words, *checking(argv, root).arguments) == tuple(argv)
    else:
        assert refusal(argv, root, checking).kind in {*expected.get("error_any", ()), expected["error"]}


def test_corpus_has_its_commands():
    found = list(commands_of_corpus())
    assert len([p for p in found if p.id.startswith("A-command")]) >= 30
    assert len([p for p in found if p.id.startswith("B-command")]) >= 16
    assert len([p for p in found if p.id.startswith("A-git")]) >= 13


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
    (["pytest", "\ud800"], "argument_value_invalid"), (["pytest", "a\u202eb"], "argument_value_invalid"),
    (["pytest", "\u2013x"], "argument_value_invalid"), (["pytest", "\u2212\u2212pdb"], "argument_value_invalid"),
    (["pytest", "-k", "--pdb"], "argument_value_invalid"), (["pytest", "-x=1"], "argument_not_allowed"),
    (["pytest", "--cov", "/etc"], "argument_value_invalid"), (["pytest", "--cov=/etc"], "argument_value_invalid"),
    (["pytest", "-k", "@args.txt"], "argument_value_invalid"), (["pytest", "-m", "@x"], "argument_value_invalid"),
    (["tox", "--", "-k", "@x"], "argument_value_invalid"), (["pytest", "-m=@x", "/"], "argument_value_invalid"),
    (["dotnet", "test", "--filter", "@x"], "argument_value_invalid"),
    (["yarn", "test", "-t", "`id`"], "argument_value_invalid"), (["npm", "test", "a$(id)"], "argument_value_invalid"),
    (["npm", "test", "--", "-t", "a\\\"; id"], "argument_value_invalid"),
    (["npm", "t", "--", "-t", "a\\"], "argument_value_invalid"),
    (["pnpm", "test", "-t", "$HOME"], "argument_value_invalid"),
    (["pytest", "-"], "argument_value_invalid"), (["pytest", "--tb"], "argument_value_invalid"),
    (["pytest", "x" * 5000], "argument_value_invalid"), ([""], "command_not_allowed"),
    (["git", "status"], "command_not_allowed"), (["PYTEST"], "command_not_allowed"), (["make"], "command_not_allowed"),
    (["make", "deploy"], "command_not_allowed"), (["make", "test", "deploy"], "argument_not_allowed"),
    (["make", "A=b", "test"], "argument_value_invalid"), (["mvn", "clean", "test"], "command_not_allowed"),
    (["mvn", "-Dtest", "exec:exec", "test"], "argument_value_invalid"), (["go", "test", "--"], "argument_not_allowed"),
    (["npm", "run", "test:watch"], "command_not_allowed"), (["npm", "run", "test:unit:watch"], "command_not_allowed"),
    (["npm", "--prefix", "x", "test"], "argument_not_allowed"), (["yarn", "dlx", "jest"], "command_not_allowed"),
    (["cargo", "+nightly", "test"], "argument_not_allowed"), (["node", "x.js"], "command_not_allowed"),
    (["node", "-e", "1", "--test"], "argument_not_allowed"), (["vitest"], "command_not_allowed"),
    (["npx", "vitest"], "command_not_allowed"), (["vitest", "watch"], "command_not_allowed"),
    (["tox", "--", "-p", "evil"], "argument_value_invalid"), (["npm", "test", "--", "/x"], "argument_value_invalid"),
    (["mocha", "{../../out,a}/b.js"], "argument_value_invalid"), (["rspec", "-fMy::Class"], "argument_value_invalid"),
    (["npx", "jest", "--reporters", "default", "./evil.js"], "argument_not_allowed"),
    (["dotnet", "test", "x.dll"], "argument_value_invalid"), (["go", "test", "./link/..."], "argument_value_invalid"),
    (["cargo", "test", "--", "--", "x"], "argument_not_allowed"), (["phpunit", "link"], "argument_value_invalid"),
])  # fmt: skip
def test_command_outside_the_grammar_is_refused_with_its_kind(argv, kind, tmp_path):
    assert refusal(argv, project(tmp_path)).kind == kind


@pytest.mark.parametrize("argv,kind", [
    (["pytest"], "command_not_allowed"), (["git"], "command_not_allowed"), (["git", "commit"], "command_not_allowed"),
    (["git", "diff", "/etc/passwd", "/etc/hostname"], "argument_value_invalid"),
    (["git", "diff", "../out", "../x"], "argument_value_invalid"), (["git", "diff", ".."], "argument_value_invalid"),
    (["git", "diff", "a/../../x"], "argument_value_invalid"), (["git", "log", "link/x"], "argument_value_invalid"),
    (["git", "diff", "--", "../out"], "path_outside_workspace"), (["git", "diff", "--", "/"], "path_outside_workspace"),
    (["git", "diff", "--", "link/x"], "path_outside_workspace"), (["git", "log", "--", ":/"], "argument_value_invalid"),
    (["git", "log", "--", ":(top)x"], "argument_value_invalid"), (["git", "show", "HEAD:/x"], "argument_value_invalid"),
    (["git", "show", "HEAD:../x"], "argument_value_invalid"), (["git", "diff", "HEAD:a"], "argument_value_invalid"),
    (["git", "log", "--format=%(describe)"], "argument_value_invalid"),
    (["git", "status", "-5"], "argument_not_allowed"), (["git", "log", "-99999"], "argument_not_allowed"),
    (["git", "log", "--format=%GK"], "argument_value_invalid"), (["git", "diff", "--cach"], "argument_not_allowed"),
    (["git", "log", "-L", "1,2:../x"], "argument_value_invalid"), (["git", "log", "--outp=x"], "argument_not_allowed"),
    (["git", "log", "-S", "--output=x"], "argument_value_invalid"), (["git", "-p", "log"], "argument_not_allowed"),
    (["git", "diff", "HEAD", "--", "a\x00b"], "argument_value_invalid"),
])  # fmt: skip
def test_command_of_git_that_is_more_than_reading_here_is_refused(argv, kind, tmp_path):
    assert refusal(argv, project(tmp_path), check_git).kind == kind


def test_double_dash_is_not_handed_on_where_the_runner_would_still_read_options_behind_it(tmp_path):
    assert check(["pytest", "-q", "--", "tests"], tmp_path).arguments == ("-q", "tests")


def test_double_dash_stays_where_it_means_something(tmp_path):
    checked = check(["cargo", "test", "a::b", "-q", "--", "--exact", "c::d"], tmp_path)
    assert checked.arguments == ("a::b", "-q", "--", "--exact", "c::d")
    assert (checked.targets, checked.options) == (("a::b",), (("-q", None),))
    assert checked.after is not None
    assert (checked.after.targets, checked.after.options) == (("c::d",), (("--exact", None),))


def test_words_are_sorted_into_targets_and_options(tmp_path):
    checked = check(["python", "-m", "pytest", "a.py::b", "-x", "-k=c d", "--tb", "short", "-rA", "-vv", "e"], tmp_path)
    assert checked.words == ("python", "-m", "pytest")
    assert checked.targets == ("a.py::b", "e")
    assert checked.options == (("-x", None), ("-k", "c d"), ("--tb", "short"), ("-r", "A"), ("-vv", None))
    assert checked.after is None


@pytest.mark.parametrize("argv", [
    ["npm", "test", "a.js", "--silent", "--", "b.js", "-t", "x"],
    ["npm", "-s", "run", "test:unit", "a.js", "b.js", "--", "-t", "x"],
    ["yarn", "test", "a.js", "-t", "x", "b.js"], ["pnpm", "run", "test", "--", "a.js", "b.js", "-t", "x"],
])  # fmt: skip
def test_what_a_script_is_given_stands_apart_from_what_its_manager_is_given(argv, tmp_path):
    checked = check(argv, tmp_path)
    assert checked.runner == argv[0]
    assert checked.targets == ()
    assert checked.options in ((), (("--silent", None),))
    assert checked.after is not None
    assert (checked.after.targets, checked.after.options) == (("a.js", "b.js"), (("-t", "x"),))


def test_words_of_a_script_can_be_checked_again_once_its_runner_is_known(tmp_path):
    words = ("src/a.test.ts", "-t", "x")
    assert check_words(words, "vitest", tmp_path).targets == ("src/a.test.ts",)
    assert check_words(words, "jest", tmp_path).options == (("-t", "x"),)
    with pytest.raises(RegreenError, match="a time such as 5000"):
        check_words(words, "mocha", tmp_path)
    with pytest.raises(ValueError):
        check_words(words, "karma", tmp_path)


@pytest.mark.parametrize("argv,said", [
    (["bash", "-c", "id"], "cargo nextest run"), (["pyest"], "did you mean `pytest`?"),
    (["npm", "install"], "`npm test`"), (["git", "push"], "show_changes"), (["mvn", "deploy"], "allowed: `test`"),
    (["make", "all"], "`test` or `check`"), (["pytest", "--max-fail=1"], "did you mean --maxfail"),
    (["pytest", "-c", "x"], "leave it out; "), (["make", "-f", "x", "test"], "--keep-going"),
    (["pytest", "--tb=x"], "correct the value"), (["npx", "karma"], "`npx jest`"),
])  # fmt: skip
def test_refusal_says_what_is_allowed(argv, said, tmp_path):
    assert said in refusal(argv, tmp_path).hint


@pytest.mark.parametrize("argv,said", [
    (["pytest", "--rootdir=.."], "moves the run"), (["pytest", "-o", "a=b"], "loads code or settings"),
    (["pytest", "--pdb"], "does not end by itself"), (["go", "test", "-exec", "x"], "runs another program"),
    (["mvn", "test", "-DargLine=x"], "sets a property"), (["phpunit", "--log-junit", "x"], "writes files"),
    (["npx", "jest", "--inspect-brk"], "does not end by itself"), (["./gradlew", "--scan", "test"], "network"),
    (["pytest", "-W", "error::a.B"], "built-in category"), (["pytest", "\u2014pdb"], "not the plain `-`"),
    (["pytest", "-k", "-x"], "begins with `-`"), (["pytest", "-k", "@x"], "`-k=VALUE`"),
    (["npm", "test", "--", "-t", "$(id)"], "may pass a shell"), (["mvn", "-Dtest", "test"], "`-Dtest=VALUE`"),
    (["pytest", "--" + "x\x1b[2J" * 500], "control characters"), (["make", "test", "CC=x"], "variables cannot be set"),
])  # fmt: skip
def test_refusal_says_why(argv, said, tmp_path):
    error = refusal(argv, tmp_path)
    assert said in error.message
    assert error.message.isprintable()
