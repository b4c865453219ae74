"""`setup` and `doctor`, typed where a client's file is odd: the others are served, and what is wrong is said."""

import json
import os

import pytest
from support.cli import Shell
from support.gitrepos import make_repo


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path, make_repo(tmp_path / "repo", {"a.py": "x = 1\n"}))


def cursor_file(shell):
    file = shell.base / "home" / ".cursor" / "mcp.json"
    assert shell.environ["HOME"] == str(shell.base / "home")
    file.parent.mkdir(parents=True)
    return file


def test_an_entry_that_can_start_nothing_stops_neither_setup_nor_doctor(shell):
    entry = {"command": "/bin/cat", "args": ["--root", "/\ud83d"], "env": {"A=B": "\0"}}
    cursor_file(shell).write_text(json.dumps({"mcpServers": {"regreen": entry}}))
    assert shell.typed("setup", "zed", "--root", ".").code == 0
    assert shell.typed("trust", "--list", "--json").document["trusted"] == [str(shell.cwd)]
    lines = shell.typed("doctor").out.splitlines()
    (told,) = (n for n, line in enumerate(lines) if "server of cursor" in line)
    assert lines[told].startswith("warn  ") and "`regreen setup cursor`" in lines[told + 1]
    assert any(line.startswith("ok    server of zed: ") for line in lines)


def test_a_pipe_in_place_of_a_file_is_named_by_doctor_and_refused_by_setup(shell):
    file = cursor_file(shell)
    os.mkfifo(file)
    done = shell.typed("setup", "cursor", "--root", ".")
    assert done.code == 2 and f"{file}: is no regular file" in done.err
    assert shell.typed("trust", "--list", "--json").document["trusted"] == []
    assert f"warn  server of cursor: {file}: is no regular file\n" in shell.typed("doctor").out


def test_doctor_goes_on_where_the_home_folder_is_not_known(shell):
    done = shell.typed("doctor", extra={"HOME": "", "USERPROFILE": ""})
    assert "ok    git: " in done.out and "fail  server of a new client: the home folder is not known" in done.out
