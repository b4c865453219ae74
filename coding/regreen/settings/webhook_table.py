"""The tables `[webhooks."NAME"]`: who is told when a run has ended, read from the user's file alone."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from regreen.errors import ConfigError
from regreen.settings.tables import Table
from regreen.settings.values import Webhook
from regreen.wire import shown

_KEYS = ("url", "secret_env", "when")
_WHEN = ("fixed", "not_fixed")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_URL_WANTED = 'give "https://host/path"; http:// only to this machine, and no user, password or fragment'


def webhooks(given: object) -> tuple[Webhook, ...]:
    """What the file says of webhooks. Raises ConfigError."""
    if not isinstance(given, dict):
        raise ConfigError("config_refused", f"webhooks is {shown(given)}, not a table",
                          'write [webhooks."NAME"], and url and secret_env below')  # fmt: skip
    return tuple(_webhook(str(name), table) for name, table in given.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _webhook(name: str, given: object) -> Webhook:
    table = Table(f'[webhooks."{name}"]', given, _KEYS)
    url, secret = table.text("url"), table.text("secret_env")
    if not is_target(url):
        raise table.bad("url", _URL_WANTED)
    if not _VARIABLE.fullmatch(secret):
        raise table.bad("secret_env", "name the environment variable that holds the secret; the secret itself stays "
                        "out of files")  # fmt: skip
    when = table.names("when") or _WHEN
    if not set(when) <= set(_WHEN):
        raise table.bad("when", f"use some of: {', '.join(_WHEN)}")
    return Webhook(name, url, secret, when)


def is_target(url: str) -> bool:
    """May a webhook be sent there? https anywhere, plain http to this machine only."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    plain = host and not parts.username and not parts.password and not parts.fragment and url.isascii()
    return bool(plain) and " " not in url and (parts.scheme == "https" or (parts.scheme == "http" and _is_here(host)))


def _is_here(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
