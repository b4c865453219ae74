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
