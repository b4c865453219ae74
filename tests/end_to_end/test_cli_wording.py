"""What the engine says to programs is said to people in the words of the command line."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from support.cli import Shell
from support.gitrepos import make_repo

import regreen
from regreen.cli.render import render
from regreen.cli.wording import OR_A_MODEL, worded
from regreen.fix.convergence import HINTS
from regreen.fix.scope import OUT_OF_SCOPE_HINT
from regreen.tools import TOOLS

ENGINE = Path(regreen.__file__).parent
WORDS = {n for tool in TOOLS for n in (tool.name, *tool.input_schema["properties"])}
A_TOOLS_WORD = re.compile(rf"\b({'|'.join(sorted(w for w in WORDS if '_' in w))})\b")


def test_no_hint_at_the_end_of_a_run_speaks_of_a_tools_argument():
    said = "\n".join(worded(hint) for hint in HINTS.values())
    assert "proposer=" not in said
    assert not A_TOOLS_WORD.findall(said)


@cache
def texts_of_errors() -> list[str]:
    """Every literal text in the engine that is handed to something a user is told."""
    told = {"UsageError", "Refused", "Busy", "EnvironmentFault", "GitFault", "EditError", "Deny", "Ask"}
    out: list[str] = []
    for file in ENGINE.rglob("*.py"):
        if file.relative_to(ENGINE).parts[0] not in ("cli", "tools"):
            for call in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in told:
                    out += [text_of(arg) for arg in call.args]
    return [text for text in out if text]


def text_of(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(p.value if isinstance(p, ast.Constant) else "X" for p in parts)
        case _:
            return ""


def test_no_error_of_the_engine_speaks_of_a_tools_argument():
    texts = texts_of_errors()
    assert len(texts) > 100
    assert not [t for t in texts if A_TOOLS_WORD.search(worded(t))]


@pytest.mark.parametrize(
    "text, said",
    [
        ("Raise budget_s, or narrow the selection to one failing test.",
         "Raise `--budget-s`, or name one failing test with `--tests`."),
        ("wait for it (job_status), or end it (job_cancel)", "wait for it or end that process"),
        ("No further idea. Hand in a fix of your own (proposer=caller), or use another one.",
         f"Try {OR_A_MODEL}a fix of your own with --script, one failing test with --tests, or an agent through "
         "`regreen serve`; the search repairs small faults in Python."),
        ("It repairs Python only. Hand in a fix of your own (proposer=caller), or use another one.",
         f"It repairs Python only. Try {OR_A_MODEL}a fix of your own with --script, or an agent through `regreen "
         "serve`."),
        ("restore(job-5f0c9a1e) undoes the changes.", "`regreen restore job-5f0c9a1e` undoes the changes."),
        ("only reads; use `dry_run`, or start again", "only reads; use `--dry-run`, or start again"),
        ("change it by hand, or allow it with `tests`.", "change it by hand, or allow it with `--tests-policy`."),
        ("start the run with `paths` that name this one", "start the run with `--paths` that name this one"),
        ("add lines around it; send all edits of the response again", "add lines around it"),
        ("go there, or name that folder (`repo`).", "go there, or name that folder (`--repo`)."),
        ("start fix_tests again", "start `regreen fix` again"),
        ("tests/dry_run.py and src/read_file/x stay", "tests/dry_run.py and src/read_file/x stay"),
    ],
)  # fmt: skip
def test_phrases(text, said):
    assert worded(text) == said


def test_errors_about_the_settings_are_left_as_they_are():
    for text in ("[provider]: timeout_s is '60'", "known keys: max_turns, read_file"):
        assert worded(text) != text
        assert worded(text, ["--max-turns"], kind="config_refused") == text


def test_only_options_that_the_command_has_are_named():
    hint = "plan mode only reads; use `dry_run`, or start regreen with `--mode accept-edits`"
    assert worded(hint, ["--tests"]) == "plan mode only reads; leave it with `--mode accept-edits`"
    assert "`--dry-run`" in worded(hint, ["--dry-run"])


def test_no_hint_names_an_argument_that_the_command_line_calls_otherwise():
    texts = [*texts_of_errors(), *HINTS.values(), OUT_OF_SCOPE_HINT]
    single = {n for tool in TOOLS for n in tool.input_schema["properties"] if "_" not in n} - IN_A_SCRIPT
    left = [(t, w) for t in texts for said in [worded(t)] for w in single if f"`{w}`" in said]
    assert left == []


IN_A_SCRIPT = {"text", "replacements", "note", "format"}  # keys of a line of a script have the same names


def test_people_get_the_commands_words_and_programs_the_engines(tmp_path):
    shell = Shell(tmp_path, make_repo(tmp_path / "repo", {"a.py": "x = 1\n"}))
    told, document = shell.typed("restore", "job-1").err, shell.typed("restore", "job-1", "--json").document
    assert "apply_edits" in document["error"]["hint"]
    assert "apply_edits" not in told and "`regreen restore` lists" in told


def test_edits_are_counted_from_one():
    error = {"kind": "no_match", "message": "SEARCH is not in it", "hint": ""}
    lines = render("apply_edits", {"ok": False, "edits": [{"index": 0, "path": "a.py", "error": error}]})
    assert next(lines).text.startswith("edit 1 of a.py: ")


def test_attempt_says_its_state_once():
    attempts = [{"number": 1, "state": "improved", "message": "improved: 2 of 5 goal tests pass"}]
    lines = [line.text for line in render("fix_tests", {"attempts": attempts, "outcome": {"reason": "budget"}})]
    assert "  attempt 1: improved: 2 of 5 goal tests pass" in lines


def test_interrupted_run_says_so_once():
    outcome = {"reason": "cancelled", "restored": True, "hint": "The run was cancelled; everything is as it was."}
    assert [line.text for line in render("fix_tests", {"attempts": [], "outcome": outcome})] == [
        "interrupted",
        "everything is as it was before",
    ]
