"""The level `seatbelt`: a profile for macOS' sandbox-exec. Its text is tested; it was not run on this system.

The profile denies everything and then allows reading, writing to the project and the private folders, and sockets of
127.0.0.1. Of two rules that speak of the same thing the later one counts, so the order below is the meaning. What it
cannot keep: a second name (hard link) for a protected file, made where writing is allowed, and written through; the
look at protected files after a run finds that.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from regreen.sandbox import hiding
from regreen.sandbox.isolation import Confinement
from regreen.sandbox.values import Command
from regreen.settings import Settings

SANDBOX_EXEC = "/usr/bin/sandbox-exec"
PROBE_S = 5.0

# never written below the root, at any depth and in any case: what an edit never writes either
PROTECTED_NAMES = (
    ".git", ".hg", ".svn", ".bzr", ".jj", ".vscode", ".idea", ".cursor", ".claude", ".regreen", ".codex",
    ".devcontainer", ".mcp.json", ".cursorrules", ".gitmodules", ".gitattributes", ".gitconfig", ".git-credentials",
    ".gitlab-ci.yml", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile",
    ".zshenv", ".zlogin", ".zlogout", ".cshrc", ".tcshrc", ".kshrc", ".inputrc", ".ripgreprc", ".netrc", ".envrc",
    ".pypirc", ".npmrc",
)  # fmt: skip
SECRETS = (
    "Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox", ".password-store", ".cargo/credentials.toml", ".gem/credentials",
)  # fmt: skip

# the three links of macOS' root folder; rules speak of where they lead to
_LINKS = {"/tmp": "/private/tmp", "/var": "/private/var", "/etc": "/private/etc"}

_BASE = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow system-socket)
(allow ipc-posix-sem)
(allow ipc-posix-shm*)
(allow user-preference-read)
(allow pseudo-tty)
(allow file-ioctl (regex "^/dev/tty"))
(allow mach-lookup
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow file-map-executable)
(allow file-read*)"""
_SET_ID = "(deny file-write-setugid)"  # last of all: a file with such a mode gives its rights away for good
_DEVICES = '(allow file-write-data (regex "^/dev/(null|zero|dtracehelper|ptmx|tty[^/]*|fd/[0-9]+)$"))'
_LOOPBACK = """\
(allow network-bind (local ip "localhost:*"))
(allow network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))"""
_NETWORK = """\
(allow network*)
(allow mach-lookup
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.dnssd.service")
  (global-name "com.apple.networkd")
  (global-name "com.apple.trustd.agent"))"""


def profile(confinement: Confinement, secrets: Iterable[Path] = ()) -> str:
    """The profile's text. `secrets` are not read. ValueError for a path that the language cannot hold."""
    root = canonical(confinement.root)
    writable = [canonical(p) for p in confinement.writable]
    readonly = list(dict.fromkeys(canonical(p) for p in confinement.readonly))
    everywhere = list(dict.fromkeys([root, *writable]))
    inside = [w for w in writable if w != root and PurePosixPath(w).is_relative_to(root)]
    parts = [
        _BASE,
        *_unread([canonical(p) for p in secrets], everywhere),
        _DEVICES,
        _rule("allow", "file-write*", map(_subpath, everywhere)),
        _rule("deny", "file-write*", [f"(regex {literal(_protected(root))})"]),
        *([_rule("allow", "file-write*", map(_subpath, inside))] if inside else []),
        *([_rule("deny", "file-write*", map(_subpath, readonly))] if readonly else []),
        _rule("deny", "file-write-unlink", (f"(literal {literal(p)})" for p in _pinned([*everywhere, *readonly]))),
        _SET_ID,
        _NETWORK if confinement.network else _loopback(everywhere),
    ]
    return "\n".join(parts) + "\n"


def wrap(command: Command, confinement: Confinement) -> tuple[str, ...]:
    """The argv that runs `command` under the profile. What is inherited, the private channel too, stays open."""
    home = command.env.get("HOME", "")
    secrets = [*hiding.secrets(command, confinement), *(Path(home, s) for s in SECRETS if home)]
    whole = replace(confinement, readonly=(*confinement.readonly, *hiding.kept_repositories(confinement)))
    return (SANDBOX_EXEC, "-p", profile(whole, secrets), "--", *command.argv)


def probe(settings: Settings) -> str:
    """ "" where it can be used, else why not: a profile is applied once, to a program that does nothing."""
    del settings  # every level is asked in the same way
    if sys.platform != "darwin":
        return "only macOS has it"
    if not os.access(SANDBOX_EXEC, os.X_OK):
        return f"{SANDBOX_EXEC} is missing"
    argv = [SANDBOX_EXEC, "-p", f"{_BASE}\n{_SET_ID}", "--", "/usr/bin/true"]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_S, env={}, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"{SANDBOX_EXEC} cannot be run: {e}"
    said = done.stderr.decode("utf-8", "replace").strip()
    return said[:200] or "a profile cannot be applied" if done.returncode else ""


def canonical(path: Path) -> str:
    """The path without links, as the system's rules see it: below /private what macOS links to there."""
    text = os.path.realpath(path)
    for link, target in _LINKS.items():
        if text == link or text.startswith(link + "/"):
            return target + text[len(link) :]
    return text


def literal(text: str) -> str:
    """A string of the profile's language. ValueError where it can hold no such text."""
    if "\0" in text:
        raise ValueError("a path with a NUL")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    for character, name in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        escaped = escaped.replace(character, name)
    return f'"{escaped}"'


def pattern(text: str, *, any_case: bool = False) -> str:
    """A regular expression that matches exactly `text`; for ASCII letters, in any case."""
    return "".join(_one(c, any_case) for c in text)


def _one(character: str, any_case: bool) -> str:
    if character.isascii() and character.isalpha() and any_case:
        return f"[{character.lower()}{character.upper()}]"
    return f"\\{character}" if character in "\\^$.|?*+()[]{}" else character


def _protected(root: str) -> str:
    names = "|".join(pattern(name, any_case=True) for name in PROTECTED_NAMES)
    workflows = pattern(".github/workflows", any_case=True)
    return f"^{pattern(root.rstrip('/'))}/(.*/)?({names}|{workflows})(/|$)"


def _unread(secrets: list[str], allowed: Iterable[str]) -> list[str]:
    """Secrets are not read; a project that lies among them still is."""
    if not secrets:
        return []
    among = [p for p in allowed if any(PurePosixPath(p).is_relative_to(s) for s in secrets)]
    rules = [_rule("deny", "file-read*", map(_subpath, dict.fromkeys(secrets)))]
    return [*rules, _rule("allow", "file-read*", map(_subpath, among))] if among else rules


def _pinned(paths: Iterable[str]) -> list[str]:
    """The folders themselves and all above them: renamed, they would carry their contents to another name."""
    found = {p: None for path in paths for p in (path, *map(str, PurePosixPath(path).parents)) if p != "/"}
    return sorted(found)


def _loopback(folders: Iterable[str]) -> str:
    sockets = [_subpath(f) for f in folders]
    bind = _rule("allow", "network-bind network-inbound", (f"(local unix-socket {s})" for s in sockets))
    connect = _rule("allow", "network-outbound", (f"(remote unix-socket {s})" for s in sockets))
    return "\n".join((_LOOPBACK, bind, connect))


def _subpath(path: str) -> str:
    return f"(subpath {literal(path)})"


def _rule(decision: str, operations: str, filters: Iterable[str]) -> str:
    return f"({decision} {operations}\n  " + "\n  ".join(filters) + ")"
