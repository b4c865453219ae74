"""The settings in force, by the names that `config.toml` gives them: its lines could be pasted there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from regreen.settings import Settings

_NOT_SAID = {
    "python": "found",
    "sandbox_level": "the best there is",
    "provider.name": "the first that a key is found for; `regreen doctor` looks into the keyring, too",
    "provider.model": "the provider's default",
    "provider.base_url": "the provider's own",
    "provider.edit_format": "what suits the model",
    "provider.effort": "the model's default",
    "agent.system_prompt_file": "the built-in one",
    "tools.enabled": "all",
    "tools.concurrency_safe": "all that only read",
    "http.hosts": "the own machine's names",
    "http.origins": "no web page",
}
"""What holds where nothing is said."""


def in_force(settings: Settings) -> dict[str, Any]:
    """Every setting by its name in the file, with the value that holds, wherever it is from. Of the environment only
    what is regreen's own; the keyring stays closed. Raises ConfigError."""
    s, agent = settings, settings.agent
    return {
        "mode": s.mode, "sandbox": s.sandbox, "sandbox_level": s.sandbox_level, "network": s.network,
        "writable": s.writable, "container_engine": s.container_engine, "container_image": s.container_image,
        "python": s.python, "strict_edits": s.strict_edits, "watch": s.watch,
        "max_attempts": s.limits.max_attempts, "budget_s": s.limits.budget_s,
        "test_timeout_s": s.limits.test_timeout_s,
        "tests": s.custom_tests, "gates": s.gates,
        "provider": _provider(s), "prices": s.models.prices,
        "agent": {"max_turns": agent.max_turns, "system_prompt_file": agent.system_prompt_file or ""},
        "tools": {
            "enabled": agent.enabled, "concurrency_safe": agent.concurrency_safe, "max_parallel": agent.max_parallel,
            "timeout_s": agent.tool_timeout_s, "result_chars": agent.tool_result_chars,
            "mcp": {name: {"argv": argv} for name, argv in agent.mcp_servers.items()},
        },
        "loop": {"max_output_recovery": agent.max_output_recovery},
        "http": {"hosts": s.http.hosts, "origins": s.http.origins},
        "webhooks": {w.name: {"url": w.url, "secret_env": w.secret_env, "when": w.when} for w in s.webhooks},
    }  # fmt: skip


def _provider(settings: Settings) -> dict[str, Any]:
    """The table `[provider]`, with what the environment and the provider's defaults fill in."""
    from regreen.providers import configured, keys

    m = settings.models
    name = m.provider or keys.at_hand(settings)
    return {
        "name": name,
        "model": m.model or configured.DEFAULT_MODELS.get(name, ""),
        "fallback_models": m.fallback_models,
        "base_url": keys.base_url(name, settings) if name else m.base_url,
        "api_key_env": keys.key_variable(name, settings) if name else m.api_key_env,
        "timeout_s": m.timeout_s,
        "max_tokens": m.max_tokens,
        "max_input_tokens": m.max_input_tokens,
        "edit_format": m.edit_format,
        "effort": m.effort,
    }


def lines(data: Mapping[str, Any], remarks: Mapping[str, str]) -> Iterator[str]:
    """The settings as lines of the file, with these remarks, and one where nothing is said. `data` is JSON."""
    for name, value in _flat("", data):
        remark = remarks.get(name, "") or (_NOT_SAID.get(name, "") if value in ("", []) else "")
        yield f"{name} = {_toml(value)}" + (f"  # {remark}" if remark else "")


def _flat(above: str, data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        name = f"{above}{key if key.isidentifier() and key.isascii() else json.dumps(key, ensure_ascii=False)}"
        if value and isinstance(value, dict):
            yield from _flat(f"{name}.", cast("Mapping[str, Any]", value))
        else:
            yield name, value


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, cast('list[Any]', value)))}]"
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return "{" + ", ".join(f"{name} = {_toml(inner)}" for name, inner in pairs) + "}"
    return json.dumps(value, ensure_ascii=False)
