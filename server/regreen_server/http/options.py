"""What `serve --http` and `--socket` may open: read from the flags and the user's settings, before anything is bound.

Rule: an address that other machines reach needs two things said on purpose, `--allow-remote` and a token of one's own.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regreen.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from regreen.settings import Settings

TOKEN_VARIABLE = "REGREEN_TOKEN"
LOOPBACK = "127.0.0.1"
_PORT = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Where to serve, and whom. `socket` None is TCP on `host` and `port`; `port` 0 is any free one.

    `token_file` None: the one token is in the environment. `hosts`, `origins`: what the user allows besides."""

    host: str = LOOPBACK
    port: int = 0
    socket: Path | None = None
    token_file: Path | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()

    @property
    def on_all_addresses(self) -> bool:
        return self.socket is None and ipaddress.ip_address(self.host).is_unspecified


def http_options(
    settings: Settings,
    *,
    http: str | None = None,
    socket: str | None = None,
    token_file: str = "",
    allow_remote: bool = False,
) -> HttpOptions:
    """The options that these flags make. Raises UsageError for flags that do not go together, ConfigError
    (`config_refused`) for an address that may not be served."""
    if socket == "":
        raise UsageError("invalid_arguments", "--socket names no file", "give the path that the socket is to have")
    if http is not None and socket:
        raise UsageError("invalid_arguments", "--http and --socket say two places", "give one of them")
    if http is None and socket is None and (token_file or allow_remote):
        flag = "--token-file" if token_file else "--allow-remote"
        raise UsageError(
            "invalid_arguments", f"{flag} is for a server over HTTP", "add --http or --socket, or leave it out"
        )
    if socket and allow_remote:
        raise UsageError("invalid_arguments", "--allow-remote is for --http: no other machine reaches a socket file",
                         "leave it out")  # fmt: skip
    named = Path(token_file).expanduser().absolute() if token_file else None
    by_environment = named is None and bool(settings.environ.get(TOKEN_VARIABLE))
    allowed = HttpOptions(
        token_file=None if by_environment else named or settings.state_dir / "http-tokens",
        hosts=settings.http.hosts,
        origins=settings.http.origins,
    )
    if socket:
        return replace(allowed, socket=Path(socket).expanduser().absolute())
    host, port = address(http or "")
    if not ipaddress.ip_address(host).is_loopback:
        _may_be_remote(host, allow_remote, has_token=named is not None or by_environment)
    return replace(allowed, host=host, port=port)


def address(text: str) -> tuple[str, int]:
    """The IP address and port in `[HOST:]PORT`. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if colon else LOOPBACK
    if host.lower() == "localhost":
        host = LOOPBACK
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        raise UsageError("invalid_arguments", f"--http {text}: {host!r} is no IP address",
                         "give a port, or ADDRESS:PORT, such as 8080, 127.0.0.1:0 or [::1]:8080") from None  # fmt: skip
    if not _PORT.fullmatch(port) or int(port) > 65535:
        raise UsageError("invalid_arguments", f"--http {text}: {port!r} is no port",
                         "give a number from 0 (any free port) to 65535")  # fmt: skip
    return str(found), int(port)


def _may_be_remote(host: str, allow_remote: bool, *, has_token: bool) -> None:
    missing = [
        *(() if has_token else (f"a token: name a file with --token-file, or set {TOKEN_VARIABLE}",)),
        *(() if allow_remote else ("--allow-remote",)),
    ]
    if missing:
        raise ConfigError("config_refused", f"other machines reach {host}, and this is missing: {'; '.join(missing)}",
                          "serve on 127.0.0.1, behind a proxy that does TLS, or give what is missing")  # fmt: skip
