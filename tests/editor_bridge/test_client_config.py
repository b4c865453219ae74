"""The configuration of MCP clients: printed, merged, removed; what others put there is kept."""

import json
import shutil
import stat
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from regreen.errors import ConfigError, EnvironmentFault, UsageError
from regreen_bridge import client_config, clients
from regreen_bridge.client_config import SetupRequest

FOREIGN = {"globalShortcut": "Ctrl+Space", "mcpServers": {"files": {"command": "/opt/files", "args": ["--größe"]}}}


@pytest.fixture
def request_(tmp_path):
    (tmp_path / "repo").mkdir()
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "git").symlink_to(shutil.which("git") or "/bin/false")
    script = bin_folder / "regreen"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    environ = {"HOME": str(tmp_path / "home"), "PATH": str(bin_folder)}
    return SetupRequest("claude-desktop", (tmp_path / "repo",), "", environ, "linux", bin_folder / "python", "stamp")


def changed(request, **fields):
    return replace(request, **fields)


def config_file(request) -> Path:
    return Path(request.environ["HOME"], ".config", "Claude", "claude_desktop_config.json")


def given(request, text: str) -> Path:
    file = config_file(request)
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    return file


def test_entry_is_absolute_and_brings_a_path_that_holds_git(request_, tmp_path):
    entry = client_config.entry(request_)
    assert entry["command"] == str(tmp_path / "bin" / "regreen")
    assert entry["args"] == ["serve", "--root", str(tmp_path / "repo")]
    assert shutil.which("git", path=entry["env"]["PATH"])


def test_without_console_script_the_interpreter_runs_the_package(request_, tmp_path):
    (tmp_path / "bin" / "regreen").unlink()
    entry = client_config.entry(request_)
    assert [entry["command"], *entry["args"][:3]] == [str(tmp_path / "bin" / "python"), "-m", "regreen", "serve"]


def test_mode_is_handed_to_the_server(request_):
    assert client_config.entry(changed(request_, mode="auto"))["args"][-2:] == ["--mode", "auto"]


def test_write_creates_the_file(request_):
    report = client_config.write(request_)
    assert report.changed and not report.backup
    assert json.loads(config_file(request_).read_text("utf-8")) == report.config


def test_write_keeps_what_others_put_there_and_its_order(request_):
    file = given(request_, json.dumps(FOREIGN, ensure_ascii=False))
    client_config.write(request_)
    after = json.loads(file.read_text("utf-8"))
    assert list(after) == list(FOREIGN)
    assert after["mcpServers"].pop("regreen") == client_config.entry(request_)
    assert after == FOREIGN
    assert "größe" in file.read_text("utf-8")


def test_write_backs_the_old_file_up_and_shows_the_difference(request_):
    file = given(request_, json.dumps(FOREIGN))
    report = client_config.write(request_)
    assert Path(report.backup).read_text("utf-8") == json.dumps(FOREIGN)
    assert f"+++ {file}" in report.diff and '+    "regreen": {' in report.diff


def test_backups_of_the_same_second_do_not_overwrite_each_other(request_):
    given(request_, "{}")
    reports = [act(request_) for act in (client_config.write, client_config.remove, client_config.write)]
    assert [json.loads(Path(r.backup).read_text("utf-8")).keys() for r in reports] == [
        set(),
        {"mcpServers"},
        {"mcpServers"},
    ]
    assert len({r.backup for r in reports}) == 3 and not reports[2].backup.endswith("stamp.bak")


def test_backup_is_readable_by_no_more_people_than_the_file(request_):
    given(request_, "{}").chmod(0o600)
    assert stat.S_IMODE(Path(client_config.write(request_).backup).stat().st_mode) == 0o600


@pytest.mark.parametrize("indent, end", [(4, "\n"), ("\t", ""), (2, "\n")])
def test_indentation_and_end_of_the_file_are_kept(request_, indent, end):
    text = json.dumps(FOREIGN, indent=indent, ensure_ascii=False) + end
    file = given(request_, text)
    client_config.write(request_)
    assert file.read_text("utf-8") == json.dumps(json.loads(file.read_text("utf-8")), indent=indent,
                                                 ensure_ascii=False) + end  # fmt: skip
    client_config.remove(request_)
    assert file.read_text("utf-8") == text


def test_state_and_cache_folders_are_handed_on_as_absolute_paths(request_):
    environ = {**request_.environ, "REGREEN_STATE_DIR": "/var/s", "REGREEN_CACHE_DIR": "c"}
    env = client_config.entry(changed(request_, environ=environ))["env"]
    assert (env["REGREEN_STATE_DIR"], env["REGREEN_CACHE_DIR"]) == ("/var/s", str(Path.cwd() / "c"))
    assert list(client_config.entry(request_)["env"]) == ["PATH"]


def test_writing_twice_changes_nothing_the_second_time(request_):
    client_config.write(request_)
    before = config_file(request_).stat().st_mtime_ns
    report = client_config.write(request_)
    assert not report.changed and not report.backup and not report.diff
    assert config_file(request_).stat().st_mtime_ns == before
    assert list(config_file(request_).parent.iterdir()) == [config_file(request_)]


def test_write_then_remove_leaves_what_others_put_there(request_):
    file = given(request_, json.dumps(FOREIGN))
    client_config.write(request_)
    report = client_config.remove(request_)
    assert report.changed
    assert json.loads(file.read_text("utf-8")) == FOREIGN


def test_remove_without_entry_touches_nothing(request_):
    assert not client_config.remove(request_).changed
    assert not config_file(request_).exists()


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {',
        "[]",
        '{"mcpServers": []}',
        "// a comment\n{}",
        '{"mcpServers": {}, "mcpServers": {}}',
        "\udcff",
    ],
)
def test_file_that_is_not_understood_is_refused_and_left_alone(request_, text):
    file = config_file(request_)
    file.parent.mkdir(parents=True)
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = file.read_bytes()
    for action in (client_config.write, client_config.remove):
        with pytest.raises(ConfigError, match="claude_desktop_config"):
            action(request_)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


def test_empty_file_counts_as_an_empty_document(request_):
    given(request_, "\n")
    client_config.write(request_)
    assert list(json.loads(config_file(request_).read_text("utf-8"))) == ["mcpServers"]


def test_mode_of_the_file_is_kept_and_a_link_stays_a_link(request_, tmp_path):
    real = tmp_path / "dotfiles.json"
    real.write_text("{}", "utf-8")
    real.chmod(0o600)
    file = config_file(request_)
    file.parent.mkdir(parents=True)
    file.symlink_to(real)
    client_config.write(request_)
    assert file.is_symlink() and "regreen" in real.read_text("utf-8")
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_show_writes_nothing(request_):
    report = client_config.show(request_)
    assert json.loads(report.shown) == {"mcpServers": {"regreen": client_config.entry(request_)}} == report.config
    assert not Path(request_.environ["HOME"]).exists()


def test_unknown_client_is_refused_by_naming_the_known_ones(request_):
    with pytest.raises(UsageError) as e:
        client_config.write(changed(request_, client="notepad"))
    assert "claude-desktop" in e.value.hint


def test_missing_git_is_said(request_, tmp_path):
    (tmp_path / "bin" / "git").unlink()
    with pytest.raises(EnvironmentFault, match="git"):
        client_config.entry(request_)


def test_cached_installation_is_warned_about(request_, tmp_path):
    python = tmp_path / "archive-v0" / "x" / "bin" / "python"
    report = client_config.write(changed(request_, python=python))
    assert any("uv tool install" in note for note in report.notes)


@pytest.mark.parametrize(
    "platform, environ, expected",
    [
        ("darwin", {}, "/home/u/Library/Application Support/Claude/claude_desktop_config.json"),
        ("linux", {}, "/home/u/.config/Claude/claude_desktop_config.json"),
        ("linux", {"XDG_CONFIG_HOME": "/cfg"}, "/cfg/Claude/claude_desktop_config.json"),
        ("win32", {"APPDATA": "/app"}, "/app/Claude/claude_desktop_config.json"),
    ],
)
def test_where_claude_desktop_keeps_its_file(platform, environ, expected):
    found = clients.find("claude-desktop").places(clients.Where(platform, Path("/home/u"), environ))[0]
    assert PurePosixPath(found.as_posix()) == PurePosixPath(expected)
