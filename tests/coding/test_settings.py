"""Settings come from the user's file, the environment and flags, in this order; mistakes are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from regreen.errors import ConfigError
from regreen.settings import load_settings


def write(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(text, "utf-8")
    return file


def test_flags_win_over_environment_over_file(tmp_path: Path) -> None:
    file = write(tmp_path, 'mode = "ask"\nsandbox = "off"\nmax_attempts = 3\n')
    settings = load_settings({"REGREEN_MODE": "plan"}, mode="auto", config_file=file)
    assert settings.mode == "auto"
    assert settings.sandbox == "off"
    assert settings.limits.max_attempts == 3
    assert load_settings({"REGREEN_MODE": "plan"}, config_file=file).mode == "plan"
    assert load_settings({}, config_file=file).mode == "ask"
    assert load_settings({}, config_file=tmp_path / "none.toml").mode == "accept-edits"


def test_state_and_cache_folders_can_be_moved(tmp_path: Path) -> None:
    environ = {"REGREEN_STATE_DIR": str(tmp_path / "s"), "REGREEN_CACHE_DIR": str(tmp_path / "c")}
    settings = load_settings(environ, config_file=tmp_path / "none.toml")
    assert (settings.state_dir, settings.cache_dir) == (tmp_path / "s", tmp_path / "c")


@pytest.mark.parametrize(
    "text", ["mod = 'ask'", "mode = 'yolo'", "mode = 3", "max_attempts = -1", "budget_s = true", "mode = ", "\0"]
)
def test_a_mistake_in_the_file_is_refused_by_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings({}, config_file=write(tmp_path, text))
    assert caught.value.kind == "config_refused"
    assert caught.value.hint


def test_watching_is_off_until_the_file_or_the_environment_asks_for_it(tmp_path: Path) -> None:
    file = write(tmp_path, "watch = true\n")
    assert not load_settings({}, config_file=tmp_path / "none.toml").watch
    assert load_settings({}, config_file=file).watch
    assert not load_settings({"REGREEN_WATCH": "0"}, config_file=file).watch
    assert load_settings({"REGREEN_WATCH": "1"}, config_file=tmp_path / "none.toml").watch
    with pytest.raises(ConfigError, match="REGREEN_WATCH"):
        load_settings({"REGREEN_WATCH": "maybe"}, config_file=file)
    with pytest.raises(ConfigError, match="watch"):
        load_settings({}, config_file=write(tmp_path, 'watch = "yes"\n'))
