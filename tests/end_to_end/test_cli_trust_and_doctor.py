"""`trust`, `doctor`, `setup` and `serve`, typed."""

import json
from pathlib import Path

import pytest
from support.cli import Shell
from support.gitrepos import make_repo
from support.mcp_clients import raw_server


@pytest.fixture
def shell(tmp_path):
    files = {"a.py": "x = 1\n", "test_a.py": "def test_a():\n    assert True\n"}
    return Shell(tmp_path, make_repo(tmp_path / "repo", files))


def test_trust_is_granted_listed_and_taken_away(shell):
    assert shell.typed("trust", "--list").out == "no folder is trusted\n"
    assert shell.typed("trust").out == f"trusted: {shell.cwd}\n"
    assert shell.typed("trust", "--list", "--json").document["trusted"] == [str(shell.cwd)]
    assert shell.typed("trust", ".", "--remove").code == 0
    assert shell.typed("trust", "--list", "--json").document["trusted"] == []


def test_trust_of_a_folder_that_is_gone_can_be_taken_away(shell, tmp_path):
    (tmp_path / "gone").mkdir()
    shell.typed("trust", str(tmp_path / "gone"))
    (tmp_path / "gone").rmdir()
    assert shell.typed("trust", str(tmp_path / "gone"), "--remove", "--json").document["trusted"] == []


def test_trust_list_stands_alone(shell):
    assert shell.typed("trust", ".", "--list").code == 2


def test_doctor_finds_everything_in_a_good_repository(shell):
    done = shell.typed("doctor", "--json")
    checks = {c["name"]: c["level"] for c in done.document["checks"]}
    assert done.code == 0 and done.document["ok"]
    assert {"settings", "state", "git", "tests", "python", "sandbox", "syntax", "model", "agent", "runs"} == set(checks)
    assert checks["tests"] == checks["git"] == checks["state"] == "ok"


def test_doctor_tells_where_the_settings_file_is_and_whether_it_exists(shell):
    file = Path(shell.typed("config", "show", "--json").document["config_file"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    assert f"ok    settings: from {file}\n" in shell.typed("doctor").out
    file.unlink()
    document = shell.typed("doctor", "--json").document
    found = next(c["found"] for c in document["checks"] if c["name"] == "settings")
    assert document["config_file"] == str(file) and "does not exist" in found


def settings_file(shell, text):
    file = Path(shell.environ["HOME"]) / ".config" / "regreen" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def test_config_show_could_be_pasted_into_the_file(shell):
    settings_file(
        shell,
        f"""
        max_attempts = 9
        [tests."{shell.cwd}"]
        argv = ["./run", "a b"]
        [[gates."{shell.cwd}"]]
        name = "types"
        argv = ["mypy"]
        [prices."m.1"]
        input = 1
        output = 2
        [tools]
        enabled = ["read_*", "wiki__*"]
        [tools.mcp."wiki"]
        argv = ["wiki"]
    """,
    )
    environ = {"ANTHROPIC_API_KEY": "k-12345678", "ANTHROPIC_BASE_URL": "https://gateway.example/"}
    first = shell.typed("config", "show", extra=environ).out
    for line in ('provider.name = "anthropic"', 'provider.model = "claude-sonnet-5-5"', "provider.timeout_s = 60.0",
                 'provider.base_url = "https://gateway.example"', 'provider.api_key_env = "ANTHROPIC_API_KEY"',
                 'tools.enabled = ["read_*", "wiki__*"]', "tools.result_chars = 8000", "max_attempts = 9",
                 'prices."m.1".output = 2.0', 'agent.system_prompt_file = ""  # the built-in one',
                 "loop.max_output_recovery = 3", 'mode = "accept-edits"  # of `regreen do`: ask'):  # fmt: skip
        assert line in first.splitlines()
    assert "k-12345678" not in first
    settings_file(shell, first)
    again = shell.typed("config", "show", extra=environ).out
    assert again.replace('"accept-edits"', '"accept-edits"  # of `regreen do`: ask') == first


def test_a_mistake_in_the_settings_is_told_as_it_stands_there(shell):
    file = settings_file(shell, '[provider]\ntimeout_s = "60"\n')
    assert shell.typed("config", "show").err == (
        f"regreen: {file}: [provider]: timeout_s is '60'\nhint: give a number from 1 to 3600\n"
    )


def test_a_tool_that_the_agent_does_not_have_is_found_before_a_task_begins(shell):
    file = settings_file(shell, '[tools]\nconcurrency_safe = ["regreen_read"]\n[tools.mcp."wiki"]\nargv = ["nosuch"]\n')
    done = shell.typed("config", "show")
    assert done.code == 2
    assert f"{file}: [tools]: concurrency_safe names `regreen_read`" in done.err
    assert "repo_skeleton, extract_signatures" in done.err and "`regreen skeleton`" not in done.err
    assert "fail  agent:" in shell.typed("doctor").out
    settings_file(shell, file.read_text().replace("regreen_read", "read_*"))
    told = shell.typed("doctor", "--json").document["checks"]
    levels = [(c["level"], c["found"]) for c in told if c["name"] == "agent"]
    assert [level for level, _ in levels] == ["ok", "warn"] and "nosuch is not found" in levels[1][1]


def test_doctor_warns_of_an_address_that_the_provider_would_make_wrong(shell):
    environ = {"ANTHROPIC_API_KEY": "k-12345678", "ANTHROPIC_BASE_URL": "https://gateway.example/v1"}
    out = shell.typed("doctor", extra=environ).out
    assert "warn  model: anthropic at https://gateway.example/v1" in out and "leave /v1 out" in out


def test_doctor_says_what_to_type_where_no_model_is_configured(shell):
    out = shell.typed("doctor").out
    assert "ok    model: none is configured" in out and "export ANTHROPIC_API_KEY=" in out


def test_doctor_says_which_webhook_has_no_secret_here(shell):
    settings_file(shell, '[webhooks.ci]\nurl = "https://ci.example/"\nsecret_env = "HOOK_SECRET"\n')
    assert "warn  webhooks: ci is told of nothing: HOOK_SECRET" in shell.typed("doctor").out
    assert "ok    webhooks: ci" in shell.typed("doctor", extra={"HOOK_SECRET": "x" * 32}).out


def test_doctor_says_what_fails_and_what_to_do(shell, tmp_path):
    (tmp_path / "state").write_text("a file, not a folder")
    done = shell.typed("doctor")
    assert done.code == 3
    assert "fail  state:" in done.out and "REGREEN_STATE_DIR" in done.out


def test_doctor_names_a_clients_file_that_is_not_understood_and_looks_on(shell):
    file = shell.base / "home" / ".cursor" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"mcpServers": ')
    done = shell.typed("doctor")
    assert "warn  server of cursor:" in done.out and "not valid JSON" in done.out
    assert "ok    server of a new client: " in done.out


def test_setup_writes_nothing_where_the_state_folder_cannot_be_used(shell, tmp_path):
    (tmp_path / "state").write_text("a file, not a folder")
    done = shell.typed("setup", "cursor", "--root", ".")
    assert done.code == 2 and "REGREEN_STATE_DIR" in done.err
    assert not (shell.base / "home" / ".cursor").exists()


def test_doctor_is_of_use_outside_a_repository(shell, tmp_path):
    (tmp_path / "home").mkdir(exist_ok=True)
    assert Shell(tmp_path, tmp_path / "home").typed("doctor").code == 0


def test_doctor_names_an_interpreter_without_pytest(shell, tmp_path):
    done = shell.typed("doctor", "--python", "/nonexistent/python", "--json")
    levels = {c["name"]: c["level"] for c in done.document["checks"]}
    assert (done.code, levels["tests"], levels["python"]) == (3, "ok", "fail")


def test_setup_writes_the_file_trusts_the_root_and_shows_the_difference(shell):
    done = shell.typed("setup", "claude-desktop", "--root", ".")
    file = shell.base / "home" / ".config" / "Claude" / "claude_desktop_config.json"
    assert done.code == 0 and '"regreen": {' in done.out
    assert str(shell.cwd) in json.loads(file.read_text())["mcpServers"]["regreen"]["args"]
    assert shell.typed("trust", "--list", "--json").document["trusted"] == [str(shell.cwd)]
    assert shell.typed("setup", "claude-desktop", "--remove", "--json").document["changed"]
    assert not file.exists(), "there was none before"


def test_printed_configuration_writes_nothing_and_starts_the_server_with_hardly_any_environment(shell):
    home = Path(shell.environ["HOME"])
    before = sorted(home.rglob("*"))
    printed = json.loads(shell.typed("setup", "claude-desktop", "--root", ".", "--print").out)
    assert sorted(home.rglob("*")) == before
    entry = printed["mcpServers"]["regreen"]
    argv = [
        "env",
        "-i",
        f"HOME={home}",
        *(f"{k}={v}" for k, v in entry["env"].items()),
        entry["command"],
        *entry["args"],
    ]
    with raw_server(argv, cwd=Path("/"), env={"PATH": "/usr/bin:/bin"}) as server:
        assert server.initialize()["serverInfo"]["name"] == "regreen"
        assert "a.py" in server.call("repo_skeleton").text
        assert server.call("run_tests").data["status"] == "passed"
        assert server.close() == 0
        assert not server.noise


def test_setup_says_that_it_trusts_and_remove_ends_just_that(shell, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "old").mkdir()
    shell.typed("trust", str(tmp_path / "mine"))
    shell.typed("setup", "claude-desktop", "--root", str(tmp_path / "old"))
    done = shell.typed("setup", "claude-desktop", "--root", ".", "--root", str(tmp_path / "mine"))
    assert f"trusted: {shell.cwd}" in done.out and f"regreen trust {shell.cwd} --remove" in done.out
    assert f"no longer trusted: {tmp_path / 'old'}" in done.out
    done = shell.typed("setup", "claude-desktop", "--remove")
    assert f"no longer trusted: {shell.cwd}" in done.out
    assert shell.typed("trust", "--list", "--json").document["trusted"] == [str(tmp_path / "mine")]


def test_setup_that_prints_and_removes_is_a_usage_error_and_writes_nothing(shell):
    shell.typed("setup", "claude-desktop")
    file = shell.base / "home" / ".config" / "Claude" / "claude_desktop_config.json"
    before = file.read_bytes()
    done = shell.typed("setup", "claude-desktop", "--print", "--remove", "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "invalid_arguments")
    assert file.read_bytes() == before


@pytest.mark.parametrize("command", [("setup", "claude-desktop", "--root"), ("trust",)])
@pytest.mark.parametrize("folder", ["/", "home", "."])
def test_folders_that_hold_everything_are_not_trusted(tmp_path, command, folder):
    shell = Shell(tmp_path, tmp_path)
    (tmp_path / "home").mkdir()
    done = shell.typed(*command, folder, "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "invalid_arguments")
    assert done.document["error"]["hint"]
    assert shell.typed("trust", "--list", "--json").document["trusted"] == []


def test_setup_without_root_wants_a_git_work_tree(tmp_path):
    (tmp_path / "plain").mkdir()
    done = Shell(tmp_path, tmp_path / "plain").typed("setup", "claude-desktop", "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "not_found")
    assert "--root" in done.document["error"]["hint"]


def test_unknown_client_is_a_usage_error(shell):
    done = shell.typed("setup", "notepad", "--root", ".", "--json")
    assert done.code == 2 and "claude-desktop" in done.document["error"]["hint"]


def test_serve_refuses_json(shell):
    done = shell.typed("serve", "--json")
    assert (done.code, done.document["error"]["kind"]) == (2, "invalid_arguments")
