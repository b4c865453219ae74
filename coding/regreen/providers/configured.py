"""From the settings to a client: which provider is asked, with which models and whose key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regreen.errors import ConfigError
from regreen.events import EventKind
from regreen.providers import keys
from regreen.providers.keys import PROVIDERS, Endpoint
from regreen.settings import ModelSettings, Settings
from regreen.settings.model_tables import of_provider

if TYPE_CHECKING:
    from regreen.providers.client import ModelClient
    from regreen.providers.messages import Provider
    from regreen.providers.meter import Meter

DEFAULT_MODELS = {"anthropic": "claude-sonnet-5-5"}
_FOUND = "`regreen doctor` tells what is found"


@dataclass(frozen=True, slots=True)
class Chosen:
    """A provider that can be asked: the main model first, then those that are asked when it has no room."""

    provider: str
    models: tuple[str, ...]
    endpoint: Endpoint
    settings: ModelSettings


def provider_name(settings: Settings, wanted: str = "") -> str:
    """The provider that is asked: the wanted one, the settings' one, or the first that has a key; "" for none."""
    if wanted or settings.models.provider:
        return wanted or settings.models.provider
    here = (p for p in PROVIDERS if keys.in_environment(p, settings) is not None)
    return next(here, "") or next((p for p in PROVIDERS if keys.in_keyring(p).api_key), "")


def choose(settings: Settings, *, provider: str = "", model: str = "") -> Chosen:
    """The provider to ask, checked. Raises ConfigError that says what to type."""
    name = provider_name(settings, provider)
    if name not in PROVIDERS:
        raise ConfigError("config_refused", "no model is configured" if not name else f"there is no provider {name!r}",
                          f"{keys.how_to_set('anthropic', 'ANTHROPIC_API_KEY')}; {_FOUND}")  # fmt: skip
    endpoint = keys.find(name, settings)
    if endpoint is None:
        variable = keys.key_variable(name, settings)
        kept = keys.in_keyring(name).trouble or "the keyring has none"
        found = f"there is no key for {name}: {variable} is not set, and {kept}"
        raise ConfigError("config_refused", found, f"{keys.how_to_set(name, variable)}; {_FOUND}")
    own = of_provider(settings.models, name)
    main = model or own.model or DEFAULT_MODELS.get(name, "")
    if not main:
        hint = 'name one: --model MODEL, REGREEN_MODEL, or model = "MODEL" below [provider] in config.toml'
        raise ConfigError("config_refused", f"no model of {name} is named", hint)
    return Chosen(name, tuple(dict.fromkeys((main, *own.fallback_models))), endpoint, own)


def make_client(
    settings: Settings,
    meter: Meter,
    *,
    provider: str = "",
    model: str = "",
    on_event: Callable[[EventKind, Mapping[str, object]], None] | None = None,
) -> ModelClient:
    """A client for the provider to ask, with its fallbacks. Raises ConfigError that says what to type."""
    chosen = choose(settings, provider=provider, model=model)
    from regreen.providers.client import ModelClient, ignore

    providers = [_provider(chosen, name) for name in chosen.models]
    return ModelClient(providers, meter, prices=chosen.settings.prices, on_event=on_event or ignore)


def _provider(chosen: Chosen, model: str) -> Provider:
    if chosen.provider == "anthropic":
        from regreen.providers.anthropic import AnthropicProvider as Made
    else:
        from regreen.providers.openai import OpenAIProvider as Made
    at, own = chosen.endpoint, chosen.settings
    return Made(model=model, api_key=at.api_key, base_url=at.base_url, timeout_s=own.timeout_s, effort=own.effort)
