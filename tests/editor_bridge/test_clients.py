"""Each client of the table: where its file is, that its configuration reads by its rules and starts the server."""

import json
import tomllib
from pathlib import Path

import pytest
from support.cli import Shell
from support.gitrepos import make_repo
from support.mcp_clients import raw_server

from regreen.cli import parser
from regreen_bridge import client_config, clients, rehearsal
from regreen_bridge.clients import CLIENTS, Where
from regreen_bridge.shapes import Launch, launch_of

NAMES = [c.name for c in CLIENTS]
LAUNCH = Launch("/x/regreen", ("serve", "--root", "/r"), {"PATH": "/bin"})


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    base = tmp_path_factory.mktemp("clients")
    return Shell(base, make_repo(base / "repo", {"a.py": "x = 1\n"}))


def parsed(client, text):
    return tomllib.loads(text) if client.dialect == "toml" else json.loads(text)


@pytest.fixture(scope="module")
def answered():
    """The launches that have started a server and got its tools: clients that start it alike share one."""
    return {}


@pytest.mark.parametrize("name", NAMES)
def test_printed_configuration_starts_the_server_with_hardly_any_environment(shell, answered, name):
    client = clients.find(name)
    document = parsed(client, shell.typed("setup", name, "--root", ".", "--print").out)
    path, _ = client.layout(document)
    for key in path:
        document = document[key]
    launch = launch_of(document["regreen"])
    assert launch is not None and Path(launch.command).is_absolute()
    how = json.dumps([launch.command, launch.args, dict(launch.env)])
    if how not in answered:
        environ = {"HOME": str(shell.base / "home"), "PATH": "/usr/bin:/bin", **launch.env}
        with raw_server([launch.command, *launch.args], cwd=Path("/"), env=environ) as server:
            server.initialize()
            answered[how] = server.request("tools/list")["tools"]
    assert answered[how]


@pytest.mark.parametrize("name", NAMES)
def test_entry_written_is_found_and_removed_again(tmp_path, name):
    shell = Shell(tmp_path, make_repo(tmp_path / "repo", {"a.py": ""}))
    done = shell.typed("setup", name, "--root", ".", "--json")
    where = Where("linux", Path(shell.environ["HOME"]), shell.environ)
    found = client_config.configured(where)
    assert done.code == 0 and [(f.client, str(f.file), f.roots) for f in found] == [
        (name, done.document["file"], (shell.cwd,))
    ]
    assert not shell.typed("setup", name, "--root", ".", "--json").document["changed"]
    assert shell.typed("setup", name, "--remove", "--json").document["changed"]
    assert client_config.configured(where) == ()


@pytest.mark.parametrize("name", [c.name for c in CLIENTS if c.project])
def test_project_scope_writes_inside_of_the_root(tmp_path, name):
    shell = Shell(tmp_path, make_repo(tmp_path / "repo", {"a.py": ""}))
    file = Path(shell.typed("setup", name, "--scope", "project", "--json").document["file"])
    assert file.is_relative_to(shell.cwd) and "regreen" in file.read_text("utf-8")
    assert shell.typed("setup", name, "--scope", "project", "--remove", "--json").document["changed"]
    assert shell.typed("trust", "--list", "--json").document["trusted"] == []


def test_project_scope_is_refused_where_a_client_has_none(shell):
    done = shell.typed("setup", "windsurf", "--scope", "project", "--json")
    assert done.code == 2 and "cursor" in done.document["error"]["hint"]


@pytest.mark.parametrize("name, named", [("curser", "did you mean cursor?"), ("", "no client is named")])
def test_clients_are_listed_where_none_is_meant(shell, name, named):
    done = shell.typed("setup", *([name] if name else []))
    assert done.code == 2 and named in done.err and all(n in done.err for n in NAMES)


def test_help_names_every_client():
    assert parser._CLIENTS.split(", ") == NAMES


def test_opencode_keeps_the_layout_that_its_file_has():
    layout = clients.find("opencode").layout
    assert layout({})[0] == layout({"mcp": {"servers": {"command": ["x"]}}})[0] == ("mcp",)
    path, shape = layout({"mcp": {"servers": {}}})
    assert path == ("mcp", "servers") and "enabled" not in shape(LAUNCH)


def test_what_a_person_added_to_the_entry_stays(tmp_path):
    shell = Shell(tmp_path, make_repo(tmp_path / "repo", {"a.py": ""}))
    file = Path(shell.typed("setup", "cline", "--json").document["file"])
    document = json.loads(file.read_text())
    document["mcpServers"]["regreen"]["autoApprove"] = ["read_file"]
    document["mcpServers"]["regreen"]["env"]["MINE"] = "1"
    file.write_text(json.dumps(document))
    shell.typed("setup", "cline", "--mode", "plan")
    entry = json.loads(file.read_text())["mcpServers"]["regreen"]
    assert entry["autoApprove"] == ["read_file"] and entry["env"]["MINE"] == "1" and entry["args"][-1] == "plan"


def test_a_key_is_never_written_and_the_way_to_pass_it_is_told(tmp_path):
    shell = Shell(tmp_path, make_repo(tmp_path / "repo", {"a.py": ""}))
    done = shell.typed("setup", "cursor", extra={"ANTHROPIC_API_KEY": "k-12345678"})
    assert "${env:ANTHROPIC_API_KEY}" in done.out and "k-12345678" not in done.out
    assert "k-12345678" not in (tmp_path / "home" / ".cursor" / "mcp.json").read_text()


def test_byte_order_mark_and_ends_of_lines_are_kept(tmp_path):
    shell = Shell(tmp_path, make_repo(tmp_path / "repo", {"a.py": ""}))
    file = Path(shell.environ["HOME"], ".cursor", "mcp.json")
    file.parent.mkdir()
    before = b'\xef\xbb\xbf{\r\n  "mcpServers": {\r\n    "a": {"url": "x"} // mine\r\n  }\r\n}\r\n'
    file.write_bytes(before)
    shell.typed("setup", "cursor")
    assert file.read_bytes().startswith(b"\xef\xbb\xbf{\r\n") and b"// mine" in file.read_bytes()
    shell.typed("setup", "cursor", "--remove")
    assert file.read_bytes() == before


def test_doctor_starts_what_the_clients_start_and_names_the_step_that_fails(tmp_path):
    shell = Shell(tmp_path, make_repo(tmp_path / "repo", {"a.py": ""}))
    gone = make_repo(tmp_path / "gone", {"a.py": ""})
    shell.typed("setup", "cursor", "--root", ".")
    shell.typed("setup", "zed", "--root", ".")
    shell.typed("setup", "codex", "--root", str(gone))
    gone.rename(tmp_path / "moved")
    done = shell.typed("doctor", "--json")
    told = {s["client"]: (s["level"], s["step"]) for s in done.document["servers"]}
    assert told == {"cursor": ("ok", ""), "zed": ("ok", ""), "codex": ("fail", "root")} and done.code == 3


@pytest.mark.parametrize(
    "script, step, found",
    [
        ("import sys; sys.exit('No module named regreen')", "initialize", "No module named"),
        ("import sys; sys.stdin.read()", "initialize", "no answer within"),
        ("print('hello', flush=True); input()", "initialize", "no message"),
    ],
    ids=["cannot import", "silent", "chatter"],
)
def test_rehearsal_names_what_a_broken_server_does(tmp_path, script, step, found):
    import shutil
    import sys

    path = f"{Path(shutil.which('git') or '').parent}:/usr/bin:/bin"
    launch = Launch(sys.executable, ("-c", script), {"PATH": path})
    entry = client_config.Found("cursor", tmp_path / "f", launch)
    limit_s = 1.0 if "within" in found else 30.0
    (result,) = rehearsal.rehearse((entry,), tmp_path, limit_s)
    assert (result.level, result.step) == ("fail", step) and found in result.found and result.hint
