"""Where a provider's key and address come from: the environment, else the system's keyring. Never a repository.

The keyring is only looked at when a key is wanted that the environment does not have: looking may ask the user to
unlock it. A key is shown by nothing here; `source` says where it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from regreen.errors import ConfigError
from regreen.settings import Settings
from regreen.settings.extras import how_to_keep_a_key
from regreen.settings.model_tables import check_base_url, of_provider
from regreen.wire import shortened

SERVICE = "regreen"
"""Keys are kept in the keyring under this name; the user is the provider's name."""
_VARIABLES = {"anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"), "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL")}
_SHOWN = 200
PROVIDERS = tuple(_VARIABLES)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How a provider is reached. `api_key` "" where none is needed; `base_url` "" is the provider's own."""

    api_key: str = field(repr=False)
    base_url: str
    source: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What the keyring said: a key, or why there is none ("" = it just holds none)."""

    api_key: str = field(default="", repr=False)
    trouble: str = ""


def find(provider: str, settings: Settings) -> Endpoint | None:
    """The endpoint of a provider, or None where it needs a key and there is none. Raises ConfigError for an address
    that no key may be sent to, and for a key that cannot be one."""
    here = in_environment(provider, settings)
    if here is not None and (here.api_key or is_local(here.base_url)):
        return here
    kept = in_keyring(provider)
    if kept.api_key:
        return Endpoint(_checked(kept.api_key, "the keyring"), base_url(provider, settings), "keyring")
    return here


def at_hand(settings: Settings) -> str:
    """The first provider that can be asked without looking into the keyring, "" for none."""
    return next((p for p in PROVIDERS if in_environment(p, settings) is not None), "")


def in_environment(provider: str, settings: Settings) -> Endpoint | None:
    """As `find`, without the keyring. A server of one's own, by its address, needs no key: of those that speak
    Anthropic's protocol only one on this machine, since gateways to Anthropic want one."""
    url, name = base_url(provider, settings), key_variable(provider, settings)
    if key := settings.environ.get(name, "").strip():
        return Endpoint(_checked(key, name), url, f"environment {name}")
    return Endpoint("", url, "none needed") if url and (provider == "openai" or is_local(url)) else None


def is_local(url: str) -> bool:
    """Whether the address is one of this machine."""
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def key_variable(provider: str, settings: Settings) -> str:
    """The name of the variable that this provider's key is looked for in."""
    return of_provider(settings.models, provider).api_key_env or _VARIABLES[provider][0]


def base_url(provider: str, settings: Settings) -> str:
    """The address that this provider is asked at, "" for its own. Raises ConfigError."""
    if url := of_provider(settings.models, provider).base_url:
        return url
    name = _VARIABLES[provider][1]
    url = settings.environ.get(name, "").strip()
    return check_base_url(name, url) if url else ""


def in_keyring(provider: str) -> Kept:
    """The key that the system's keyring holds for this provider. A keyring that fails is no error, and says so."""
    try:
        import keyring
    except ImportError:
        return Kept(trouble="no keyring is used (its package is not installed)")
    try:
        key = keyring.get_password(SERVICE, provider)
    except Exception as e:  # noqa: BLE001  (each system's keyring raises errors of its own kind)
        said = shortened(str(e).partition(". ")[0], _SHOWN)
        return Kept(trouble=f"the keyring failed ({type(e).__name__}: {said})")
    return Kept((key or "").strip())


def how_to_set(provider: str, variable: str) -> str:
    """What to type where a key is missing."""
    return f"type `export {variable}=...`, or keep the key in the keyring: {how_to_keep_a_key(provider)}"


def _checked(key: str, source: str) -> str:
    """The key, if it can be sent. It is not shown in the error."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("config_refused", f"the key in {source} holds blanks or characters that no key has",
                          "set it again, without quotes around it")  # fmt: skip
    return key
