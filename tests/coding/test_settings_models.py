"""Settings about models and the agent: from the user's file, the environment and flags; never from a repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regreen.errors import ConfigError
from regreen.settings import AgentSettings, ModelSettings, Price, Settings, load_settings

WHOLE = """
[provider]
name = "openai"
model = "main-1"
fallback_models = ["spare-1", "spare-2"]
base_url = "http://127.0.0.1:8000/v1/"
api_key_env = "MY_KEY"
timeout_s = 20
max_tokens = 16384
edit_format = "unified_diff"
effort = "high"
max_input_tokens = 30_000

[prices."main-1"]
input = 4
output = 20.5

[prices."spare-1"]
input = 1.0
output = 2.0
cache_write = 3.0
cache_read = 0.5

[agent]
max_turns = 200
system_prompt_file = "~/prompt.md"

[tools]
enabled = ["read_file", "apply_edits"]
concurrency_safe = ["read_file"]
max_parallel = 32
timeout_s = 5
result_chars = 900

[tools.mcp."wiki-1"]
argv = ["wiki", "--stdio"]

[loop]
max_output_recovery = 0
"""


def load(folder: Path, text: str = "", environ: dict[str, str] | None = None, **flags: Any) -> Settings:
    file = folder / "config.toml"
    file.write_text(text, "utf-8")
    return load_settings({"HOME": str(folder), **(environ or {})}, config_file=file, **flags)


def test_every_key_of_the_file_is_read(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.touch()
    settings = load(tmp_path, WHOLE)
    assert settings.models == ModelSettings(
        provider="openai",
        model="main-1",
        fallback_models=("spare-1", "spare-2"),
        base_url="http://127.0.0.1:8000/v1",
        api_key_env="MY_KEY",
        timeout_s=20.0,
        max_tokens=16384,
        edit_format="unified_diff",
        effort="high",
        max_input_tokens=30_000,
        prices={"main-1": Price(4.0, 20.5, 5.0, 0.4), "spare-1": Price(1.0, 2.0, 3.0, 0.5)},
    )
    assert settings.agent == AgentSettings(
        max_turns=200,
        max_output_recovery=0,
        system_prompt_file=prompt,
        enabled=("read_file", "apply_edits"),
        concurrency_safe=("read_file",),
        max_parallel=32,
        tool_timeout_s=5.0,
        tool_result_chars=900,
        mcp_servers={"wiki-1": ("wiki", "--stdio")},
    )


def test_without_tables_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.models, settings.agent) == (ModelSettings(), AgentSettings())


def test_flags_win_over_environment_over_file(tmp_path: Path) -> None:
    file = '[provider]\nname = "openai"\nmodel = "of-file"\nfallback_models = "spare"\n'
    environ = {"REGREEN_MODEL": "of-environment", "REGREEN_FALLBACK_MODEL": "a, b"}
    assert load(tmp_path, file).models.fallback_models == ("spare",)
    models = load(tmp_path, file, environ).models
    assert (models.provider, models.model, models.fallback_models) == ("openai", "of-environment", ("a", "b"))
    assert load(tmp_path, file, environ, model="of-flag").models.model == "of-flag"


def test_what_the_file_says_of_one_provider_is_not_taken_for_another(tmp_path: Path) -> None:
    """A key of one must never be sent to the address of another."""
    file = '[provider]\nname = "openai"\nmodel = "m"\nbase_url = "http://other"\napi_key_env = "K"\nmax_tokens = 999\n'
    models = load(tmp_path, file, {"REGREEN_PROVIDER": "anthropic"}).models
    assert models == ModelSettings(provider="anthropic", max_tokens=999)
    assert load(tmp_path, file, {"REGREEN_PROVIDER": "anthropic"}, provider="openai").models.base_url == "http://other"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[provider]\nmodle = "m"', "`model`"),
        ("[agent]\nmaxturns = 3", "`max_turns`"),
        ('[tools]\nenable = ["x"]', "`enabled`"),
        ("[loop]\nmax_turns = 3", "below [agent]"),
        ('model = "m"', "below [provider]"),
        ("[loop]\nmax_output_recover = 3", "`max_output_recovery`"),
        ('[prices."m"]\ninput = 1\noutputs = 1', "`output`"),
        ('[provder]\nname = "openai"', "`provider`"),
        ('[provider]\nname = "gpt"', "anthropic, openai"),
        ("[provider]\nmax_tokens = 16385", "16384"),
        ("[provider]\nmax_tokens = 1000.5", "whole number"),
        ("[provider]\ntimeout_s = true", "number"),
        ("[provider]\ntimeout_s = nan", "number"),
        ('[provider]\nedit_format = "whole_file"', "search_replace"),
        ("[provider]\nfallback_models = [3]", "list of texts"),
        ('[provider]\nbase_url = "file:///etc/passwd"', "http://"),
        ('[provider]\nbase_url = "https://me:word@host/v1"', "leave them out"),
        ('[provider]\nbase_url = "https://host:port"', "address"),
        ('[provider]\nbase_url = "https://host/v1"', "anthropic, openai"),
        ('[provider]\napi_key_env = "TEAM_KEY"', "anthropic, openai"),
        ('[prices."m"]\ninput = 1', "million tokens"),
        ('[prices."m"]\ninput = -1\noutput = 1', "number from 0"),
        ("[prices]\nm = 3", "keys below"),
        ("[prices.claude-haiku-4.5]\ninput = 1\noutput = 5", '[prices."claude-haiku-4.5"]'),
        ("[prices.gpt-5]\ninput = 1\noutput = 5\n[prices.gpt-5.1]\ninput = 1\noutput = 5", '[prices."gpt-5.1"]'),
        ('[tools.mcp.my.wiki]\nargv = ["x"]', "name it"),
        ("[agent]\nmax_turns = 0", "from 1 to 200"),
        ('[agent]\nsystem_prompt_file = "nowhere.md"', "absolute path"),
        ('[tools]\nconcurrency_safe = ["read_file", "apply_edits"]', "only tools that read"),
        ('[tools]\nconcurrency_safe = ["coding_task"]', "only tools that read"),
        ("[tools]\nmax_parallel = 33", "from 1 to 32"),
        ('[tools.mcp."a b"]\nargv = ["x"]', "name it"),
        ('[tools.mcp."a"]\nargv = "x"', "list of words"),
        ('[tools.mcp."a"]\ncommand = "x"', "known keys: argv"),
        ('REGREEN_PROVIDER = "x"', "known keys"),
    ],
)
def test_a_mistake_in_a_table_is_refused_with_what_would_be_right(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert caught.value.kind == "config_refused"
    assert said in caught.value.hint


@pytest.mark.parametrize(
    "text",
    ["[provider]\ntimeout_s = '60'", "[tools]\nenabled = 'read_file'", "[agent]\nturns = 1", "[loop]\nmax_turns = 1",
     "[prices.m]\ninput = 1", "[gates]\nx = 1", "[tests]\nx = 1", "[env]\nx = 1", "writable = [1]", "mode = 'yolo'",
     "watch = 1"],
)  # fmt: skip
def test_a_mistake_in_the_file_names_the_file(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert caught.value.message.startswith(f"{tmp_path / 'config.toml'}: ")
    assert "=," not in caught.value.hint


@pytest.mark.parametrize("name", ["REGREEN_PROVIDER", "REGREEN_MODE", "REGREEN_SANDBOX", "REGREEN_SANDBOX_LEVEL"])
def test_a_mistake_in_the_environment_names_the_variable(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, environ={name: "gpt"})
    assert caught.value.message == f"{name} is 'gpt'"


@pytest.mark.parametrize("text", ['api_key = "sk-secret-1"', 'api_key_env = "sk-secret-1"'])
def test_a_key_in_the_file_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"[provider]\n{text}\n")
    assert "sk-secret-1" not in caught.value.message + caught.value.hint
    assert "environment" in caught.value.hint or "variable" in caught.value.hint


def test_nothing_is_read_from_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = tmp_path / "repo"
    text = '[provider]\nname = "openai"\nbase_url = "http://thief.example/v1"\n'
    for name in ("config.toml", ".regreen.toml", ".regreen/config.toml", "regreen.toml", ".config/regreen/config.toml"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    (repo / ".env").write_text("REGREEN_PROVIDER=openai\nOPENAI_BASE_URL=http://thief.example/v1\n")
    (repo / "pyproject.toml").write_text(f"[tool.regreen.provider]\n{text.partition(chr(10))[2]}")
    monkeypatch.chdir(repo)
    settings = load_settings({"HOME": str(tmp_path)}, roots=(repo,), config_file=tmp_path / "none.toml")
    assert settings.models == ModelSettings()
    assert "OPENAI_BASE_URL" not in settings.environ
