"""Files of clients that are odd, full, or not files at all: each is left as it is, and what is wrong is said."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from regreen.errors import ConfigError, EnvironmentFault, UsageError
from regreen_bridge import client_config, client_files, toml_document
from regreen_bridge.client_config import SetupRequest

PATH = ("mcp_servers",)


@pytest.fixture
def request_(tmp_path) -> SetupRequest:
    (tmp_path / "repo").mkdir()
    environ = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    return SetupRequest("cursor", (tmp_path / "repo",), "", environ, "linux", tmp_path / "python", "stamp")


def file_of(request: SetupRequest, name: str = ".cursor/mcp.json") -> Path:
    file = Path(request.environ["HOME"], name)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def fifo(file: Path) -> None:
    os.mkfifo(file)


def folder(file: Path) -> None:
    file.mkdir()


def loop(file: Path) -> None:
    file.symlink_to(file)


def under_a_file(file: Path) -> None:
    file.parent.rmdir()
    file.parent.write_text("a file")


@pytest.mark.parametrize("make", [fifo, folder, loop, under_a_file])
def test_what_is_no_file_is_refused_and_other_clients_are_set_up_all_the_same(request_, make):
    make(file_of(request_))
    for act in (client_config.write, client_config.remove):
        with pytest.raises(ConfigError, match=r"mcp\.json"):
            act(request_)
    other = replace(request_, client="zed")
    assert client_config.write(other).changed
    assert [f.client for f in client_config.configured(other.where)] == ["zed"]
    assert [f.client for f in client_config.not_understood(other.where)] == ["cursor"]


def test_a_path_that_is_too_long_is_refused_for_its_client_alone(request_):
    environ = {**request_.environ, "CLINE_MCP_SETTINGS_PATH": "/" + "x" * 5000}
    with pytest.raises(ConfigError, match="cannot be read"):
        client_config.write(replace(request_, client="cline", environ=environ))
    assert client_config.write(replace(request_, environ=environ)).changed


def test_a_name_that_leaves_no_room_for_ours_beside_it_is_said(request_):
    file = file_of(request_, "x" * 250)
    request = replace(request_, client="cline", environ={**request_.environ, "CLINE_MCP_SETTINGS_PATH": str(file)})
    for before in ((), ("{}",)):
        if before:
            file.write_text(*before)
        with pytest.raises(EnvironmentFault, match="too long") as told:
            client_config.write(request)
        assert "--print" in told.value.hint and "writable" not in told.value.hint
        assert [p.name for p in file.parent.iterdir()] == [file.name] * len(before)


def test_bytes_that_are_no_text_are_said(request_):
    file_of(request_).write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ConfigError, match="byte 7 is not UTF-8"):
        client_config.write(request_)


def test_a_file_that_is_too_large_is_refused(request_, monkeypatch):
    monkeypatch.setattr(client_files, "MAX_BYTES", 100)
    file = file_of(request_)
    file.write_text(json.dumps({"mcpServers": {}, "x": "y" * 100}))
    with pytest.raises(ConfigError, match="more than 100 bytes"):
        client_config.write(request_)


def test_what_we_made_is_taken_away_whole_and_what_somebody_added_to_stays(request_):
    client_config.write(request_)
    file = file_of(request_)
    report = client_config.remove(request_)
    assert report.changed and not file.exists() and Path(report.backup).exists()
    client_config.write(request_)
    file.write_text(file.read_text() + "\n")
    client_config.remove(request_)
    assert json.loads(file.read_text()) == {"mcpServers": {}}


@pytest.mark.parametrize("name, file", [("cursor", ".cursor/mcp.json"), ("codex", ".codex/config.toml")])
def test_a_file_of_comments_alone_is_as_before_when_we_are_out_of_it(request_, name, file):
    start = "# mine\n" if name == "codex" else "// mine\n\n/* and mine */\n"
    made = file_of(request_, file)
    made.write_text(start)
    request = replace(request_, client=name)
    assert client_config.write(request).changed and client_config.remove(request).changed
    assert made.read_text() == start


@pytest.mark.parametrize("entry", [
    {"command": "/x", "args": ["--root", "/\ud83d"], "env": {}},
    {"command": "/x", "args": ["--root", "/a\0b"], "env": {}},
    {"command": "/x\0", "args": [], "env": {}},
    {"command": "/x", "args": [], "env": {"A": "\ud83d"}},
    {"command": "/x", "args": [], "env": {"A=B": "c"}},
], ids=range(5))  # fmt: skip
def test_an_entry_that_can_start_nothing_is_told_apart_and_can_be_written_again(request_, entry):
    file_of(request_).write_text(json.dumps({"mcpServers": {"regreen": {**entry, "mine": 1}}}))
    assert client_config.configured(request_.where) == ()
    (odd,) = client_config.not_understood(request_.where)
    assert odd.client == "cursor" and "no server can be started with" in odd.error.message
    assert client_config.write(request_).changed
    (found,) = client_config.configured(request_.where)
    assert found.roots == request_.roots
    assert json.loads(file_of(request_).read_text())["mcpServers"]["regreen"]["mine"] == 1


def test_halves_of_characters_in_an_old_entry_are_kept_as_they_were_written(request_):
    file = file_of(request_)
    file.write_text('{"mcpServers": {"regreen": {"command": "/old", "note": "\\ud83d"}}}')
    report = client_config.write(request_)
    assert '"\\ud83d"' in file.read_text() and report.changed
    json.dumps(report.as_json(), ensure_ascii=False).encode()


def test_a_folder_whose_name_no_file_can_hold_is_refused(request_, tmp_path):
    with pytest.raises(UsageError, match="not UTF-8"):
        client_config.write(replace(request_, roots=(tmp_path / os.fsdecode(b"caf\xe9"),)))
    assert not file_of(request_).exists()


@pytest.mark.parametrize("client", ["cursor", "codex"])
@pytest.mark.parametrize("variable", ["REGREEN_STATE_DIR", "REGREEN_CACHE_DIR", "PATH"])
def test_a_folder_of_the_environment_whose_name_no_file_can_hold_is_refused(request_, tmp_path, client, variable):
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    (odd / "git").write_text("#!/bin/sh\n")
    (odd / "git").chmod(0o755)
    request = replace(request_, client=client, environ={**request_.environ, variable: str(odd)})
    with pytest.raises(UsageError, match="not UTF-8"):
        client_config.write(request)
    assert not Path(request_.environ["HOME"]).exists()


def test_a_project_whose_name_no_file_can_hold_is_refused_when_the_entry_is_to_go(request_, tmp_path):
    with pytest.raises(UsageError, match="not UTF-8"):
        client_config.remove(replace(request_, scope="project", roots=(tmp_path / os.fsdecode(b"caf\xe9"),)))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")  # noqa: PTH110
def test_a_full_disk_is_named_and_leaves_no_half_file(request_, monkeypatch):
    file = file_of(request_)
    file.write_text("{}")
    opened = os.open
    full = {"left": 0}

    def on_a_full_disk(path, flags, mode=0o777):
        descriptor = opened(path, flags, mode)
        if not flags & os.O_CREAT:
            return descriptor
        full["left"] += 1
        os.dup2(device := opened("/dev/full", os.O_WRONLY), descriptor)
        os.close(device)
        return descriptor

    monkeypatch.setattr(os, "open", on_a_full_disk)
    with pytest.raises(EnvironmentFault, match="No space") as told:
        client_config.write(request_)
    assert full["left"] and "disk space" in told.value.hint
    assert [p.name for p in file.parent.iterdir()] == ["mcp.json"] and file.read_text() == "{}"


OURS = '[mcp_servers.regreen]\ncommand = "/x"\nargs = [\n  "serve", # [inner]\n]\n'
SUB = '[mcp_servers.regreen.env]\nPATH = "/bin"\n'


@pytest.mark.parametrize(("text", "left"), [
    ("a = 1\n\n" + OURS, "a = 1\n"),
    ("a = 1\n\n" + OURS + SUB, "a = 1\n"),
    (OURS + "\n# about files\n[mcp_servers.files]\nx = 1\n", "\n# about files\n[mcp_servers.files]\nx = 1\n"),
    ("# one\n" + OURS.replace("]\n", "] # ours\n", 1) + "# two\n[b]\nc = 1\n", "# one\n# two\n[b]\nc = 1\n"),
    (OURS.replace("args", "\n# of ours\n\nargs") + "# two\n\n[b]\n", "# two\n\n[b]\n"),
    ("[b]\n\n" + OURS + "\n# two\n" + SUB + "# three\n[c]\n", "[b]\n\n# two\n# three\n[c]\n"),
    ('["mcp_servers" . regreen]\ncommand = "/x"\n# two\n', "# two\n"),
], ids=range(7))  # fmt: skip
def test_taking_our_table_out_leaves_every_comment_that_is_not_within_it(text, left):
    assert toml_document.without_entry(text, PATH, "regreen") == left


AGAIN = {"command": "/y", "args": ["serve"], "env": {"A": "1", "PATH": "/usr/bin", "NEW": "n"}, "limit": 3}


@pytest.mark.parametrize("text", [
    OURS + SUB + "\n# about b\n[b]\nc = 1\n",
    OURS + "# about b\n[b]\nc = 1\n",
    "[b]\n\n" + OURS + "\n# two\n[c]\n# three\n" + SUB + "# four\n",
    "# one\n[[mcp_servers.regreen]]\na = 1\n# two\n[b]\n",
    OURS + SUB.rstrip() + "# no end of line",
    "mcp_servers.regreen = 3 # ours\n# two\n[b]\n",
], ids=range(6))  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_writing_our_table_again_and_taking_it_out_loses_no_comment_of_others(text, end):
    text = text.replace("\n", end)
    of_others = [line for line in text.split(end) if line.startswith("#")]
    again = toml_document.with_entry(text, PATH, "regreen", AGAIN)
    assert again is not None and toml_document.parse(again)["mcp_servers"]["regreen"] == AGAIN
    left = toml_document.without_entry(again, PATH, "regreen")
    assert left is not None and "regreen" not in left
    for after in (again, left):
        assert [line for line in after.split(end) if line.startswith("#")] == of_others


def test_what_a_person_wrote_into_our_table_stays_when_it_is_written_again():
    text = OURS.replace("\nargs", " # mine\n# of mine\nargs") + "\n" + SUB.replace("PATH", "# of PATH\nPATH")
    again = toml_document.with_entry(text, PATH, "regreen", AGAIN)
    assert again is not None and all(f"# {c}" in again for c in ("mine", "of mine", "of PATH"))


def test_an_old_table_with_values_that_only_toml_has_is_written_again_and_taken_out(request_):
    file = file_of(request_, ".codex/config.toml")
    old = '[mcp_servers.regreen]\nsince = 1979-05-27T07:32:00Z\nat = 07:32:00\ncommand = "/x"\nargs = []\n'
    file.write_text(old)
    request = replace(request_, client="codex")
    report = client_config.write(request)
    assert "since = 1979-05-27T07:32:00Z" in file.read_text() and json.dumps(report.as_json())
    assert client_config.remove(request).changed and not file.exists()


def test_what_cannot_be_taken_out_without_losing_a_comment_is_left():
    text = '[mcp_servers]\nregreen.command = "/x"\n# about regreen or not\nregreen.args = []\n# two\n[b]\nc = 1\n'
    after = toml_document.without_entry(text, PATH, "regreen")
    assert after is None or after.count("#") == 2


@pytest.mark.parametrize("old", ['regreen = "x"', "regreen = 3", "regreen = []", "[[mcp_servers.regreen]]\na = 1"])
def test_an_old_entry_that_is_no_table_is_replaced(old):
    text = f"[mcp_servers]\n{old}\n\n[b]\nc = 1\n"
    after = toml_document.with_entry(text, PATH, "regreen", {"command": "/x", "env": {"A": "b"}})
    assert after is not None
    assert toml_document.parse(after) == {
        "mcp_servers": {"regreen": {"command": "/x", "env": {"A": "b"}}},
        "b": {"c": 1},
    }


@pytest.mark.parametrize("text", ["mcp_servers = 1\n", "[[mcp_servers]]\na = 1\n", 'mcp_servers = "x"\n'])
def test_where_servers_are_kept_must_be_a_table(request_, text):
    file = file_of(request_, ".codex/config.toml")
    file.write_text(text)
    with pytest.raises(ConfigError, match="not an object"):
        client_config.write(replace(request_, client="codex"))
    assert file.read_text() == text
