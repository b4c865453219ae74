"""What can be typed, and what happens when it cannot: quick help, one JSON document, status 2."""

import json
import shlex
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from support.cli import Shell

from regreen.cli import parser
from regreen.errors import UsageError

HEAVY = (
    "mcp",
    "rich",
    "git",
    "asyncio",
    "tree_sitter",
    "sqlite3",
    "platformdirs",
    "regreen.session",
    "importlib.metadata",
)


LINES = [c for command in parser.COMMANDS for c in (command.actions or (command,))]


@pytest.mark.parametrize("command", [*parser.COMMANDS, *LINES], ids=lambda c: c.name)
def test_every_command_shows_an_example_that_parses(command):
    words = shlex.split(command.example)
    assert command.name in words[1:3] and words[0] == "regreen"
    assert parser.build().parse_args(words[1:]).handler == command.handler


@pytest.mark.parametrize("command", LINES, ids=lambda c: c.name)
def test_every_handler_exists(command):
    module, _, name = command.handler.partition(":")
    assert callable(getattr(import_module(f"regreen.cli.{module}"), name))


@pytest.mark.parametrize("command", LINES, ids=lambda c: c.name)
def test_every_command_knows_the_common_options(command):
    common = ["--repo", ".", "--mode", "plan", "--sandbox", "off", "--json"]
    args = parser.build().parse_args([*shlex.split(command.example)[1:], *common])
    assert (args.repo, args.mode, args.sandbox, args.json) == (".", "plan", "off", True)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "fly",
        "fix --max-attempts 0",
        "fix --budget-s nan",
        "fix --bud 3",
        "fix --budget-tokens 1.5",
        "fix --tests-policy none",
        "runs",
        "runs fly",
        "runs show",
        "runs list --limit 0",
        "read a.py --lines x",
        "serve --toolsets some",
    ],
)
def test_what_cannot_be_parsed_is_a_usage_error(line):
    with pytest.raises(UsageError) as e:
        parser.build().parse_args(line.split())
    assert e.value.kind == "invalid_arguments" and e.value.hint


@pytest.mark.parametrize("text, lines", [("10:40", (10, 40)), ("10:", (10, 0)), (":40", (1, 40)), ("7", (7, 7))])
def test_line_ranges(text, lines):
    assert parser.build().parse_args(["read", "a.py", "--lines", text]).lines == lines


def test_help_imports_nothing_heavy():
    code = ("import sys; from regreen.cli import main; code = main(['fix', '--help'])\n"
            "print(code, sorted(sys.modules), file=sys.stderr)")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "example: regreen fix" in done.stdout and done.stderr.startswith("0 ")
    loaded = set(done.stderr.replace("'", " ").replace(",", " ").split())
    assert not loaded & set(HEAVY)


def test_version_is_that_of_the_distribution(tmp_path):
    assert Shell(tmp_path, tmp_path).run("--version").out == f"regreen {version('regreen')}\n"


def test_usage_error_is_one_json_document_with_json(tmp_path):
    done = Shell(tmp_path, tmp_path).typed("fix", "--no-such-option", "--json")
    assert done.code == 2
    assert set(done.document["error"]) == {"kind", "message", "hint"}


def test_usage_error_is_told_on_stderr_without_json(tmp_path):
    done = Shell(tmp_path, tmp_path).typed("fix", "--no-such-option")
    assert (done.code, done.out) == (2, "")
    assert "--no-such-option" in done.err and "hint:" in done.err


def test_bad_configuration_is_status_2(tmp_path):
    done = Shell(tmp_path, tmp_path).typed("config", "show", "--json", extra={"REGREEN_MODE": "yolo"})
    assert (done.code, done.document["error"]["kind"]) == (2, "config_refused")


def test_config_show_tells_what_is_in_force_and_no_secret(tmp_path):
    done = Shell(tmp_path, tmp_path).typed(
        "config", "show", "--json", "--mode", "plan", extra={"API_KEY": "s3cr3t-value"}
    )
    assert (done.code, done.document["mode"]) == (0, "plan")
    assert done.document["state_dir"] == str(tmp_path / "state")
    assert "s3cr3t-value" not in done.out


def test_reader_that_leaves_early_is_no_fault(tmp_path):
    shell = Shell(tmp_path, tmp_path)
    process = subprocess.Popen([sys.executable, "-m", "regreen", "config", "show"], cwd=tmp_path, env=shell.environ,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(30) == 141


def test_folder_that_is_not_there_is_named(tmp_path):
    done = Shell(tmp_path, tmp_path).typed("skeleton", "--repo", "nowhere", "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "not_found")
    assert "nowhere" in json.dumps(done.document)


def test_home_folder_is_no_repository(tmp_path):
    shell = Shell(tmp_path, tmp_path / "home")
    (tmp_path / "home").mkdir()
    done = shell.typed("skeleton", "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "not_found")


def test_path_and_repo_that_disagree_are_refused(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    done = Shell(tmp_path, tmp_path).typed("fix", "a", "--repo", "b", "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "invalid_arguments")


def test_unknown_option_is_answered_with_the_commands_own_help():
    with pytest.raises(UsageError) as e:
        parser.build().parse_args(["test", "--frob"])
    assert "--frob" in e.value.message and e.value.hint == "see `regreen test --help`"


def test_names_in_descriptions_stay_as_they_are_written(tmp_path):
    shell = Shell(tmp_path, tmp_path)
    assert "The MCP server" in shell.typed("serve", "--help").out
    assert "What differs from HEAD" in shell.typed("changes", "--help").out


def test_config_alone_shows(tmp_path):
    assert 'mode = "accept-edits"' in Shell(tmp_path, tmp_path).typed("config").out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("args", [("config", "show"), ("config", "--json"), ("--help",), ("fly", "--json")])
def test_result_that_cannot_be_written_is_a_clear_error(tmp_path, args):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "regreen", *args], cwd=tmp_path, text=True, stdout=full,
                              env=Shell(tmp_path, tmp_path).environ, stderr=subprocess.PIPE)  # fmt: skip
    assert done.returncode == 1
    assert "cannot be written" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_messages_that_cannot_be_written_stop_nothing(tmp_path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "regreen", "fly"], cwd=tmp_path, stderr=full,
                              env=Shell(tmp_path, tmp_path).environ)  # fmt: skip
    assert done.returncode == 2


def test_what_may_be_named_several_times_may_stand_behind_options():
    args = parser.parse(["search", "x", "a.py", "--ignore-case", "b.py", "c.py"])
    assert (args.pattern, args.globs, args.ignore_case) == ("x", ["a.py", "b.py", "c.py"], True)
    assert parser.parse(["map", "--tests", "a.py", "--max-tokens", "100", "b.py"]).focus == ["a.py", "b.py"]
    with pytest.raises(UsageError):
        parser.parse(["read", "a.py", "b.py"])
