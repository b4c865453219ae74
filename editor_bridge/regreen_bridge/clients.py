"""The MCP clients whose configuration can be written: a table, one row a client.

A row says where the file is on each platform, under which keys servers stand, what an entry looks like, what to do
afterwards, and how a key reaches the server without being written down.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Literal, TypeAlias

from regreen.errors import ConfigError, UsageError
from regreen_bridge import shapes
from regreen_bridge.documents import Dialect, KeyPath
from regreen_bridge.shapes import Shape

Scope: TypeAlias = Literal["user", "project"]
SCOPES: tuple[Scope, ...] = ("user", "project")


@dataclass(frozen=True, slots=True)
class Where:
    """A machine: its platform (as `sys.platform`), the user's home folder and the environment."""

    platform: str
    home: Path
    environ: Mapping[str, str]

    @property
    def settings(self) -> Path:
        """The folder that holds the settings of applications."""
        match self.platform:
            case "darwin":
                return self.home / "Library" / "Application Support"
            case "win32":
                return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
            case _:
                return self.config

    @property
    def config(self) -> Path:
        """The XDG folder, which some programs use on every platform."""
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")

    def told(self, variable: str, otherwise: PurePath) -> PurePath:
        """The folder that a variable names, if it is set."""
        named = self.environ.get(variable)
        return Path(named) if named else otherwise


Layout: TypeAlias = tuple[KeyPath, Shape]


@dataclass(frozen=True, slots=True)
class Client:
    """One client. `places` gives its file for a machine: the first that exists counts, else the first. `project` are
    the names of the file inside of a repository, none where it has none there. `layout` says for a document under
    which keys servers stand there and what an entry looks like. `passing` says how a variable is handed on."""

    name: str
    title: str
    dialect: Dialect
    layout: Callable[[Mapping[str, Any]], Layout]
    places: Callable[[Where], tuple[PurePath, ...]]
    afterwards: str
    supports: str
    project: tuple[str, ...] = ()
    passing: str = ""
    besides: str = ""

    @property
    def key(self) -> str:
        """The outermost key of a new document."""
        return self.layout({})[0][0]


def _at(*path: str, shape: Shape = shapes.plain) -> Callable[[Mapping[str, Any]], Layout]:
    return lambda _document: (path, shape)


def _opencode(document: Mapping[str, Any]) -> Layout:
    """Version 2 keeps servers under `mcp.servers`, and reads those that version 1 keeps under `mcp` all the same."""
    inner: object = document.get("mcp")
    servers: object = inner.get("servers") if isinstance(inner, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if isinstance(servers, Mapping) and "command" not in servers and "enabled" not in servers:
        return ("mcp", "servers"), shapes.opencode_2
    return ("mcp",), shapes.opencode


def _zed(where: Where) -> tuple[PurePath, ...]:
    # On macOS too Zed keeps its settings under ~/.config, and there it does not look at XDG_CONFIG_HOME.
    match where.platform:
        case "win32":
            return (where.settings / "Zed" / "settings.json",)
        case "darwin":
            return (where.home / ".config" / "zed" / "settings.json",)
        case _:
            return (where.config / "zed" / "settings.json",)


def _cline(where: Where) -> tuple[PurePath, ...]:
    if named := where.environ.get("CLINE_MCP_SETTINGS_PATH"):
        return (Path(named),)
    data = Path(where.told("CLINE_DIR", where.home / ".cline")) / "data"
    kept_by_editor = where.settings / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev"
    return tuple(folder / "settings" / "cline_mcp_settings.json" for folder in (data, kept_by_editor))


CLIENTS: tuple[Client, ...] = (
    Client("claude-desktop", "Claude Desktop", "json", _at("mcpServers"),
           lambda w: (w.settings / "Claude" / "claude_desktop_config.json",),
           "quit Claude Desktop completely and start it again", "tools, resources, prompts"),
    Client("claude-code", "Claude Code", "json", _at("mcpServers", shape=shapes.claude_code),
           lambda w: (w.told("CLAUDE_CONFIG_DIR", w.home) / ".claude.json",),
           "start a new session of Claude Code; `/mcp` shows the server",
           "tools, resources, prompts, roots, elicitation, progress", (".mcp.json",), "${{{name}}}"),
    Client("cursor", "Cursor", "jsonc", _at("mcpServers", shape=shapes.typed),
           lambda w: (w.home / ".cursor" / "mcp.json",),
           "switch the server on in Cursor's settings under MCP", "tools, resources, prompts, roots, elicitation",
           (".cursor/mcp.json",), "${{env:{name}}}"),
    Client("vscode", "VS Code", "jsonc", _at("servers", shape=shapes.typed),
           lambda w: (w.settings / "Code" / "User" / "mcp.json",),
           "run `MCP: List Servers` in VS Code and start the server",
           "tools, resources, prompts, roots, elicitation, sampling", (".vscode/mcp.json",), "${{input:{name}}}",
           "it asks for an input of type `promptString` with `password: true` that the file declares under `inputs`"),
    Client("zed", "Zed", "jsonc", _at("context_servers"), _zed,
           "Zed starts it at once; the agent's settings show its state", "tools and prompts only",
           (".zed/settings.json",)),
    Client("windsurf", "Windsurf", "json", _at("mcpServers"),
           lambda w: (w.home / ".codeium" / "windsurf" / "mcp_config.json",),
           "press refresh in Windsurf's MCP panel", "tools, resources, prompts", passing="${{env:{name}}}"),
    Client("jetbrains", "JetBrains (Junie)", "json", _at("mcpServers"),
           lambda w: (w.home / ".junie" / "mcp" / "mcp.json",),
           "restart the IDE. AI Assistant keeps its servers in the IDE: paste what `regreen setup jetbrains --print` "
           "shows under Settings | Tools | AI Assistant | Model Context Protocol (MCP), Add, As JSON",
           "tools", (".junie/mcp/mcp.json",)),
    Client("continue", "Continue", "jsonc", _at("mcpServers"),
           lambda w: (w.told("CONTINUE_GLOBAL_DIR", w.home / ".continue") / "mcpServers" / "regreen.json",),
           "reload Continue's configuration; its tools are there in agent mode", "tools, resources, prompts",
           (".continue/mcpServers/regreen.json",), "${{{name}}}"),
    Client("codex", "Codex", "toml", _at("mcp_servers", shape=shapes.codex),
           lambda w: (w.told("CODEX_HOME", w.home / ".codex") / "config.toml",),
           "start a new session of Codex; `/mcp` shows the server", "tools", (".codex/config.toml",),
           besides='it hands a variable on that is named in the table: `env_vars = ["{name}"]`'),
    Client("gemini", "Gemini CLI", "jsonc", _at("mcpServers", shape=shapes.gemini),
           lambda w: (w.home / ".gemini" / "settings.json",),
           "start Gemini CLI again; `/mcp` shows the server", "tools, resources, prompts",
           (".gemini/settings.json",), "${{{name}}}"),
    Client("opencode", "opencode", "jsonc", _opencode,
           lambda w: tuple(w.config / "opencode" / name for name in ("opencode.json", "opencode.jsonc")),
           "start opencode again; `opencode mcp list` shows the server", "tools, prompts",
           ("opencode.json", "opencode.jsonc"), "{{env:{name}}}"),
    Client("cline", "Cline", "json", _at("mcpServers", shape=shapes.cline), _cline,
           "the MCP Servers panel of Cline shows the server", "tools, resources, prompts"),
)  # fmt: skip


def find(name: str) -> Client:
    """The client of that name. Raises UsageError naming the known ones."""
    for client in CLIENTS:
        if client.name == name:
            return client
    near = difflib.get_close_matches(name, [c.name for c in CLIENTS], 1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise UsageError("invalid_arguments", f"no client is called {name!r}" if name else "no client is named",
                     f"{meant}known clients: {', '.join(c.name for c in CLIENTS)}")  # fmt: skip


def project_files(client: Client, root: Path) -> tuple[Path, ...]:
    """Where the client's file inside of a repository is. Raises UsageError for a client that has none."""
    if not client.project:
        able = ", ".join(c.name for c in CLIENTS if c.project)
        raise UsageError("invalid_arguments", f"{client.title} has no file inside of a project",
                         f"leave --scope out; those that have one: {able}")  # fmt: skip
    return tuple(root / name for name in client.project)


def home_folder(environ: Mapping[str, str]) -> Path:
    """The user's home folder. Raises ConfigError where the environment does not tell."""
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if not home:
        raise ConfigError("config_refused", "the home folder is not known: HOME is not set", "set HOME")
    return Path(home)
