"""At a terminal: colours, a spinner for what takes long, questions in ask mode. Elsewhere: none of that."""

import signal

import pytest
from support.cli import Shell
from support.gitrepos import make_repo

SLOW = "import time\n\n\ndef test_slow():\n    time.sleep(1.1)\n"
BLOCK = "a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"
GREEN = "\x1b[32m"


@pytest.fixture
def shell(tmp_path):
    (tmp_path / "answer.md").write_text(BLOCK)
    return Shell(tmp_path, make_repo(tmp_path / "repo", {"a.py": "x = 1\n", "test_slow.py": SLOW}))


def test_result_is_coloured_and_a_spinner_turns_while_it_takes_long(shell):
    done = shell.on_terminal("test")
    assert done.code == 0
    assert f"{GREEN}passed: 1 passed" in done.out
    assert "tests: " in done.out and "(1 s)" in done.out


def test_ci_shows_neither_colour_nor_spinner(shell):
    done = shell.on_terminal("test", "--ci")
    assert done.code == 0 and "passed: 1 passed" in done.out and "\x1b" not in done.out


def test_json_is_alone_on_a_terminal_too(shell):
    done = shell.on_terminal("config", "show", "--json")
    assert done.out.startswith("{") and done.out.count("\n") == 1


def test_pipe_gets_no_colour(shell):
    done = shell.typed("edit", "../answer.md", "--dry-run")
    assert "+x = 2" in done.out and "\x1b" not in done.out


@pytest.mark.parametrize("word, code, text", [("y\n", 0, "x = 2\n"), ("\n", 5, "x = 1\n"), ("no\n", 5, "x = 1\n")])
def test_ask_mode_shows_the_change_before_it_asks_and_only_a_yes_is_a_yes(shell, word, code, text):
    done = shell.on_terminal("edit", "../answer.md", "--mode", "ask", types=word)
    asked, _, after = done.out.partition("[y/N]")
    assert "+x = 2" in asked and "+x = 2" not in after
    assert done.code == code
    assert (shell.cwd / "a.py").read_text() == text
    if code == 0:
        assert "applied as txn-" in after, "how to undo it"
    else:
        assert "nothing was written" in after and "hint" not in after and "regreen:" not in after


@pytest.mark.parametrize("command", ["fix", "test"])
def test_an_interrupt_at_the_question_that_a_run_begins_with_is_status_130(shell, command):
    with shell.at_terminal(command, "--mode", "ask") as terminal:
        terminal.until("[y/N]")
        terminal.process.send_signal(signal.SIGTERM)
        done = terminal.end()
    assert done.code == 130 and "interrupted" in done.out and "Traceback" not in done.out


def test_ask_mode_does_not_ask_about_what_does_not_apply(shell):
    (shell.cwd / "a.py").write_text("y = 1\n")
    done = shell.on_terminal("edit", "../answer.md", "--mode", "ask")
    assert done.code == 1 and "[y/N]" not in done.out and "no_match" in done.out


@pytest.mark.parametrize(
    "closed, out, err", [(">&-", False, True), ("2>&-", True, False), ("<&- >&- 2>&-", False, False)]
)
def test_a_stream_that_is_closed_leads_nowhere_and_the_command_works_on(shell, closed, out, err):
    done = shell.run("edit", "../answer.md", "--repo", str(shell.cwd), closed=closed)
    assert (done.code, (shell.cwd / "a.py").read_text()) == (0, "x = 2\n")
    assert ("applied as" in done.out, done.out == "") == (out, not out)
    refused = shell.run("edit", "../answer.md", closed=closed)
    assert (refused.code, refused.out != "", "Traceback" in refused.err) == (1, out, False)
    wrong = shell.run("edit", "--no-such", closed=closed)
    assert (wrong.code, "--no-such" in wrong.err) == (2, err)
