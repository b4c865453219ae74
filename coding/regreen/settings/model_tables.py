"""The tables about models and the agent: `[provider]`, `[prices]`, `[agent]`, `[tools]`, `[loop]`.

They are read from the user's file alone. No key is ever in it: a file is copied, shown and backed up.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from regreen.errors import ConfigError
from regreen.settings.extras import how_to_keep_a_key
from regreen.settings.tables import KEYS, Table, unquoted
from regreen.settings.values import EDIT_FORMATS, MODEL_PROVIDERS, AgentSettings, ModelSettings, Price
from regreen.wire import shown

MAX_ANSWER_TOKENS = 16_384
_MOST_INPUT = 10_000_000
_MOST_USD = 1e6
_MOST_S = 3600.0
# A whole file is replaced only by who can tell the hash of what was read.
_FORMATS = ("", *(f for f in EDIT_FORMATS if f not in ("auto", "whole_file")))
WRITING = frozenset({
    "apply_edits", "run_tests", "fix_tests", "submit_fix", "restore", "job_cancel", "coding_task",
})  # fmt: skip
"""Tools that change something: two of them never run at once."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SERVER = re.compile(r"[A-Za-z0-9_-]{1,40}")
_WORD = re.compile(r"[A-Za-z0-9_.-]{0,40}")


def _key_elsewhere() -> str:
    return (
        "delete it there. A key is read from the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, or the variable that "
        f"`api_key_env` names) or from the keyring: {how_to_keep_a_key('PROVIDER')}"
    )


def models_of_file(file: Mapping[str, Any]) -> ModelSettings:
    """What the file says of models. Raises ConfigError."""
    prices = {name: _price(name, given) for name, given in file.get("prices", {}).items()}
    return replace(_provider(file.get("provider", {})), prices=prices)


def model_settings(
    read: ModelSettings, environ: Mapping[str, str], *, provider: str = "", model: str = ""
) -> ModelSettings:
    """What the file, the environment and the flags say of models. What the file says of one provider's models and
    endpoint is not taken for another provider, which the environment or a flag names instead."""
    named = provider or environ.get("REGREEN_PROVIDER", "")
    if named not in MODEL_PROVIDERS:
        where = "the provider" if provider else "REGREEN_PROVIDER"
        raise ConfigError("config_refused", f"{where} is {shown(named)}", f"use one of: {_listed(MODEL_PROVIDERS)}")
    chosen = of_provider(read, named) if named else read
    fallback = tuple(filter(None, (m.strip() for m in environ.get("REGREEN_FALLBACK_MODEL", "").split(","))))
    return replace(
        chosen,
        model=model or environ.get("REGREEN_MODEL") or chosen.model,
        fallback_models=fallback or chosen.fallback_models,
    )


def of_provider(models: ModelSettings, provider: str) -> ModelSettings:
    """The settings as they hold for this provider: models, address and key of another one are left out."""
    if models.provider in ("", provider):
        return replace(models, provider=provider)
    return replace(models, provider=provider, model="", fallback_models=(), base_url="", api_key_env="", effort="")


def check_base_url(where: str, url: str) -> str:
    """The address, without a slash at its end. Raises ConfigError for what is no plain http(s) address; what may be a
    secret in it (a password, what stands behind a `?`, a key in the place of an address) is not shown."""
    try:
        parts = urlsplit(url)
        host, named = parts.hostname, parts.username or parts.password
        _ = parts.port  # raises ValueError where it is no number
    except ValueError:
        raise ConfigError("config_refused", f"{where} is no address that can be read", _ADDRESS) from None
    if named or "@" in parts.netloc:
        raise ConfigError("config_refused", f"{where} holds a user name or password",
                          "leave them out; a key is read from the environment or the keyring")  # fmt: skip
    if parts.query or parts.fragment:
        raise ConfigError("config_refused", f"{where} has something behind its path: a `?` or `#`", _ADDRESS)
    if parts.scheme not in ("http", "https") or not host or not url.isprintable():
        raise ConfigError("config_refused", f"{where} is no plain http:// or https:// address", _ADDRESS)
    return url.rstrip("/")


_ADDRESS = "give the address of the endpoint, such as http://127.0.0.1:11434/v1"


def _provider(given: Mapping[str, Any]) -> ModelSettings:
    if "api_key" in given:
        raise ConfigError("config_refused", "[provider]: there is an `api_key` in config.toml", _key_elsewhere())
    table = Table("[provider]", given, KEYS["[provider]"])
    default = ModelSettings()
    variable, url, effort = table.text("api_key_env"), table.text("base_url"), table.text("effort")
    if variable and not _VARIABLE.fullmatch(variable):
        # Not shown: whoever mistakes this for the place of the key has written the key here.
        raise ConfigError("config_refused", "[provider]: api_key_env is no name of a variable",
                          'give the name of the variable that holds the key, such as "MY_API_KEY"')  # fmt: skip
    if not _WORD.fullmatch(effort):
        raise table.bad("effort", 'give one word of the provider\'s, such as "high"')
    url = check_base_url("[provider]: base_url", url) if url else ""
    name = table.choice("name", "", MODEL_PROVIDERS)
    if (url or variable) and not name:  # whose key goes where must not depend on which keys are there
        raise ConfigError("config_refused", f"[provider]: {'base_url' if url else 'api_key_env'} is given without name",
                          f"say whose it is: name = one of {_listed(MODEL_PROVIDERS)}")  # fmt: skip
    return ModelSettings(
        provider=name,
        model=table.text("model"),
        fallback_models=table.names("fallback_models", one=True),
        base_url=url,
        api_key_env=variable,
        timeout_s=table.number("timeout_s", default.timeout_s, 1, _MOST_S),
        max_tokens=table.count("max_tokens", default.max_tokens, 256, MAX_ANSWER_TOKENS),
        edit_format=table.choice("edit_format", "", _FORMATS),
        effort=effort,
        max_input_tokens=table.count("max_input_tokens", default.max_input_tokens, 1_000, _MOST_INPUT),
    )


def _price(model: str, given: object) -> Price:
    if whole := unquoted(model, given):
        raise ConfigError("config_refused", f"[prices.{whole}] is read as a table in [prices.{model}]",
                          f'quote the name, which has dots: [prices."{whole}"]')  # fmt: skip
    table = Table(f'[prices."{model}"]', given, ("input", "output", "cache_write", "cache_read"))
    for key in ("input", "output"):
        if key not in table:
            raise ConfigError("config_refused", f"{table.where} has no {key}", "give US dollars for a million tokens")
    read = table.number("input", 0.0, 0, _MOST_USD)
    return Price(
        input=read,
        output=table.number("output", 0.0, 0, _MOST_USD),
        cache_write=table.number("cache_write", read * 1.25, 0, _MOST_USD),
        cache_read=table.number("cache_read", read * 0.1, 0, _MOST_USD),
    )


def agent_settings(file: Mapping[str, Any], *, home: str = "") -> AgentSettings:
    """What the file says of the agent. A path that begins with `~/` is below `home`."""
    default = AgentSettings()
    agent = Table("[agent]", file.get("agent", {}), KEYS["[agent]"])
    loop = Table("[loop]", file.get("loop", {}), KEYS["[loop]"])
    tools = Table("[tools]", file.get("tools", {}), KEYS["[tools]"])
    safe = tools.names("concurrency_safe")
    if writing := sorted(WRITING & set(safe)):
        raise ConfigError("config_refused", f"[tools]: concurrency_safe names {writing[0]!r}, which changes something",
                          "leave it out: only tools that read may run at the same time")  # fmt: skip
    return AgentSettings(
        max_turns=agent.count("max_turns", default.max_turns, 1, 200),
        max_output_recovery=loop.count("max_output_recovery", default.max_output_recovery, 0, 10),
        system_prompt_file=_prompt_file(agent, home),
        enabled=tools.names("enabled"),
        concurrency_safe=safe,
        max_parallel=tools.count("max_parallel", default.max_parallel, 1, 32),
        tool_timeout_s=tools.number("timeout_s", default.tool_timeout_s, 1, _MOST_S),
        tool_result_chars=tools.count("result_chars", default.tool_result_chars, 500, 200_000),
        mcp_servers={name: _server(name, given) for name, given in tools.tables("mcp").items()},
    )


def _server(name: str, given: object) -> tuple[str, ...]:
    name = unquoted(name, given) or name
    if not _SERVER.fullmatch(name):
        raise ConfigError("config_refused", f"[tools.mcp]: a server is named {shown(name)}",
                          "name it by at most 40 letters, digits, hyphens and underscores")  # fmt: skip
    return Table(f'[tools.mcp."{name}"]', given, ("argv",)).argv("argv", '["my-mcp-server", "--stdio"]')


def _prompt_file(agent: Table, home: str) -> Path | None:
    text = agent.text("system_prompt_file")
    if not text:
        return None
    path = Path(home, text[2:]) if home and text.startswith("~/") else Path(text)
    if not path.is_absolute() or not os.path.isfile(path):  # noqa: PTH113
        raise agent.bad("system_prompt_file", "give the absolute path of a file that exists")
    return path


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(filter(None, names))
