"""The MCP clients whose configuration can be written: a table, one row a client.

A row says where the file is on each platform, under which key servers stand, and what to do afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from regreen.errors import ConfigError, UsageError


@dataclass(frozen=True, slots=True)
class Client:
    """One client. `locate` gives the file for a platform (as `sys.platform`), the home folder and the environment."""

    name: str
    title: str
    key: str
    locate: Callable[[str, Path, Mapping[str, str]], PurePath]
    afterwards: str


def _claude_desktop(platform: str, home: Path, environ: Mapping[str, str]) -> PurePath:
    match platform:
        case "darwin":
            folder = home / "Library" / "Application Support"
        case "win32":
            folder = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
        case _:
            folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    return folder / "Claude" / "claude_desktop_config.json"


CLIENTS: tuple[Client, ...] = (
    Client("claude-desktop", "Claude Desktop", "mcpServers", _claude_desktop,
           "quit Claude Desktop completely and start it again"),
)  # fmt: skip


def find(name: str) -> Client:
    """The client of that name. Raises UsageError naming the known ones."""
    for client in CLIENTS:
        if client.name == name:
            return client
    known = ", ".join(c.name for c in CLIENTS)
    raise UsageError("invalid_arguments", f"no client is called {name!r}", f"known clients: {known}")


def home_folder(environ: Mapping[str, str]) -> Path:
    """The user's home folder. Raises ConfigError where the environment does not tell."""
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if not home:
        raise ConfigError("config_refused", "the home folder is not known: HOME is not set", "set HOME")
    return Path(home)
