"""Reading the settings: the user's `config.toml`, environment variables, flags, weakest first."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from regreen.errors import ConfigError
from regreen.settings.http_table import http_settings
from regreen.settings.model_tables import agent_settings, model_settings, models_of_file
from regreen.settings.tables import custom_tests, gates, unknown_key
from regreen.settings.values import (
    CONTAINER_ENGINES,
    MODES,
    SANDBOX_LEVELS,
    SANDBOX_WISHES,
    AgentSettings,
    CustomTests,
    Gate,
    HttpSettings,
    Limits,
    Mode,
    ModelSettings,
    SandboxWish,
    Settings,
    Webhook,
)
from regreen.settings.webhook_table import webhooks
from regreen.wire import shown

_FILE_KEYS: dict[str, tuple[type, ...]] = {
    "mode": (str,), "sandbox": (str,), "sandbox_level": (str,), "network": (bool,), "container_engine": (str,),
    "container_image": (str,), "writable": (list,), "env": (dict,), "tests": (dict,), "gates": (dict,),
    "python": (str,), "strict_edits": (bool,), "watch": (bool,),
    "provider": (dict,), "prices": (dict,), "agent": (dict,), "tools": (dict,), "loop": (dict,), "http": (dict,),
    "webhooks": (dict,),
    "max_attempts": (int, float), "budget_s": (int, float), "test_timeout_s": (int, float),
}  # fmt: skip
_CHOICES = (
    ("mode", MODES), ("sandbox", SANDBOX_WISHES), ("sandbox_level", SANDBOX_LEVELS),
    ("container_engine", CONTAINER_ENGINES),
)  # fmt: skip
_DEFAULTS = {
    "mode": "", "sandbox": "auto", "python": "", "sandbox_level": "", "container_engine": "", "container_image": "",
}  # fmt: skip
_WANTED: dict[type, str] = {
    str: 'give a text: "..."', bool: "give true or false", list: 'give a list of texts: ["...", "..."]',
    dict: "write [{key}] on a line of its own, and its keys below", int: "give a number above 0",
}  # fmt: skip
_TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}


def load_settings(
    environ: Mapping[str, str],
    *,
    roots: tuple[Path, ...] = (),
    mode: str = "",
    sandbox: str = "",
    python: str = "",
    provider: str = "",
    model: str = "",
    config_file: Path | None = None,
    default_mode: Mode = "accept-edits",
) -> Settings:
    """Build the settings; `default_mode` holds where nobody chose another. Raises ConfigError (`config_refused`) on an
    unknown key or a bad value."""
    from platformdirs import PlatformDirs  # not at the top: importing it reads the platform

    dirs = PlatformDirs("regreen", appauthor=False)
    path = config_file or dirs.user_config_path / "config.toml"
    file = _read_config(path)
    flags = {"mode": mode, "sandbox": sandbox, "python": python}
    chosen = {**_DEFAULTS, "mode": default_mode, **{k: file[k] for k in _DEFAULTS if k in file}}
    chosen |= {k: v for k in _DEFAULTS if (v := flags.get(k) or environ.get(_env_name(k)))}
    for name, allowed in _CHOICES:
        if chosen[name] not in allowed:
            where = name if flags.get(name) else _env_name(name) if environ.get(_env_name(name)) else f"{path}: {name}"
            known = ", ".join(a for a in allowed if a)
            raise ConfigError("config_refused", f"{where} is {shown(chosen[name])}", f"use one of: {known}")
    limits = Limits(**{k: file[k] for k in ("max_attempts", "budget_s", "test_timeout_s") if k in file})
    with _naming(path):
        of_file = _OfFile(
            _variables(file.get("env", {})),
            _folders(file.get("writable", [])),
            custom_tests(file.get("tests", {})),
            gates(file.get("gates", {})),
            models_of_file(file),
            agent_settings(file, home=environ.get("HOME", "")),
            http_settings(file.get("http", {})),
            webhooks(file.get("webhooks", {})),
        )
    return Settings(
        state_dir=_folder(environ, "REGREEN_STATE_DIR", dirs.user_state_path),
        cache_dir=_folder(environ, "REGREEN_CACHE_DIR", dirs.user_cache_path),
        environ=dict(environ),
        roots=tuple(r.resolve() for r in roots),
        mode=cast("Mode", chosen["mode"]),
        sandbox=cast("SandboxWish", chosen["sandbox"]),
        sandbox_level=chosen["sandbox_level"],
        network=_truth("REGREEN_NETWORK", environ, file.get("network", False)),
        test_environ=of_file.env,
        writable=of_file.writable,
        container_engine=chosen["container_engine"],
        container_image=chosen["container_image"],
        python=chosen["python"],
        strict_edits=_truth("REGREEN_STRICT_EDITS", environ, file.get("strict_edits", False)),
        watch=_truth("REGREEN_WATCH", environ, file.get("watch", False)),
        custom_tests=of_file.tests,
        gates=of_file.gates,
        limits=limits,
        models=model_settings(of_file.models, environ, provider=provider, model=model),
        agent=of_file.agent,
        http=of_file.http,
        webhooks=of_file.webhooks,
    )


class _OfFile(NamedTuple):
    """What the file alone says."""

    env: dict[str, str]
    writable: tuple[Path, ...]
    tests: dict[str, CustomTests]
    gates: dict[str, tuple[Gate, ...]]
    models: ModelSettings
    agent: AgentSettings
    http: HttpSettings
    webhooks: tuple[Webhook, ...]


@contextmanager
def _naming(path: Path) -> Generator[None]:
    """An error of reading what the file says names the file."""
    try:
        yield
    except ConfigError as e:
        raise ConfigError(e.kind, f"{path}: {e.message}", e.hint) from None


def _env_name(key: str) -> str:
    """The environment variable that wins over this key of the file."""
    return f"REGREEN_{key.upper()}"


def _folder(environ: Mapping[str, str], name: str, default: Path) -> Path:
    folder = Path(environ.get(name) or default)
    if not folder.is_absolute():
        raise ConfigError("config_refused", f"{name} is {str(folder)!r}, which depends on the working directory",
                          "give an absolute path")  # fmt: skip
    return folder


def _variables(named: Mapping[str, Any]) -> dict[str, str]:
    """Variables by name. Raises ConfigError for what is no text."""
    for name, value in named.items():
        if not isinstance(value, str) or "\0" in name + value or "=" in name or not name:
            raise ConfigError("config_refused", f"env: {name} is {shown(value)}", 'give texts, such as DEBUG = "1"')
    return dict(named)


def _folders(named: list[Any]) -> tuple[Path, ...]:
    """Absolute folders that exist. Raises ConfigError."""
    for name in named:
        if not isinstance(name, str) or not Path(name).is_absolute() or not os.path.isdir(name):  # noqa: PTH112
            raise ConfigError("config_refused", f"writable: {shown(name)} is no folder",
                              "give absolute paths of folders that exist")  # fmt: skip
    return tuple(Path(name).resolve() for name in named)


def _read_config(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError("config_refused", f"{path}: cannot be read: {e}", "make it a readable UTF-8 file") from e
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ConfigError("config_refused", f"{path}: {e}", "correct the TOML syntax") from e
    unknown = sorted(set(data) - set(_FILE_KEYS))
    if unknown:
        raise unknown_key(str(path), unknown[0], _FILE_KEYS)
    for key, value in data.items():
        if not _fits(value, _FILE_KEYS[key]):
            wanted = _WANTED[_FILE_KEYS[key][0]].format(key=key)
            raise ConfigError("config_refused", f"{path}: {key} is {shown(value)}", wanted)
    return data


def _fits(value: Any, wanted: tuple[type, ...]) -> bool:
    if isinstance(value, bool) or wanted == (bool,):
        return isinstance(value, wanted) and isinstance(value, bool) == (wanted == (bool,))
    return isinstance(value, wanted) and (isinstance(value, str | list | dict) or value > 0)


def _truth(name: str, environ: Mapping[str, str], otherwise: bool) -> bool:
    text = environ.get(name)
    if text is None:
        return otherwise
    try:
        return _TRUTHS[text.lower()]
    except KeyError:
        raise ConfigError("config_refused", f"{name} is {text!r}", "use true or false") from None


def own_interpreter() -> str:
    """The interpreter that runs regreen: the last choice for a project without one of its own."""
    return sys.executable


def default_environ() -> Mapping[str, str]:
    """The process environment, for entry points."""
    return dict(os.environ)
