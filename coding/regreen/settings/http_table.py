"""The table `[http]`: hosts and origins that a server over HTTP answers to, read from the user's file alone."""

from __future__ import annotations

import re

from regreen.settings.tables import KEYS, Table
from regreen.settings.values import HttpSettings

_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[A-Za-z0-9._\[\]:-]+")


def http_settings(given: object) -> HttpSettings:
    """What the file says of HTTP. Raises ConfigError for what no header could ever equal."""
    table = Table("[http]", given, KEYS["[http]"])
    hosts, origins = table.names("hosts"), table.names("origins")
    if not all(map(_HOST.fullmatch, hosts)):
        raise table.bad("hosts", 'give names as in the Host header, with no pattern: ["shop.example", "10.0.0.5:8080"]')
    if not all(map(_ORIGIN.fullmatch, origins)):
        raise table.bad("origins", 'give whole origins, with no path and no pattern: ["https://shop.example"]')
    return HttpSettings(hosts, origins)
