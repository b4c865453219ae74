"""Command lines of a project's own files that end well whatever their tests do, so that an exit status of 0 says
nothing. Pure.

Only what is plain counts: `|| true` and the like behind a command that may run tests, not behind one that cleans up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_SWALLOWED = re.compile(
    r"\|\|\s*(?:true|:|exit\s+0|echo\b[^&|;]*)\s*(?=$|[;&)\"'])|;\s*(?:true|:|exit\s+0)\s*(?=$|[)\"'])|"
    r"\|\s*(?:tee|cat)\b[^|&;]*$"
)
_PARTS = re.compile(r"&&|\|\||[;|(]")
_KEEPS_HOUSE = frozenset((
    "rm", "mkdir", "rmdir", "echo", "cp", "mv", "ln", "touch", "find", "docker", "docker-compose", "podman", "kill",
    "pkill", "killall", "git", "which", "command", "test", "[", "sleep", "cat", "grep", "chmod", "export", "set",
    "printf", "rimraf", "true", ":", "cd", "source", ".", "pip",
))  # fmt: skip
_OTHER = re.compile(r"\b(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?([\w:.-]+)")
_MAX_HOPS = 5


def swallows(line: str) -> str:
    """The part of a shell's command line that hides how a command ended; "" where there is none."""
    if "pipefail" in line:
        line = re.sub(r"\|\s*(?:tee|cat)\b[^|&;]*$", "", line)
    for found in _SWALLOWED.finditer(line):
        words = _PARTS.split(line[: found.start()])[-1].strip("@+\"' \t").split()
        if words and words[0] not in _KEEPS_HOUSE:
            return f"{' '.join(words)} {found[0].strip()}"[:120]
    return ""


def ignored(line: str) -> str:
    """The same for a line of a recipe, or a command of tox, which a `-` before it makes count for nothing."""
    bare = line.lstrip("@+ \t")
    words = bare.lstrip("-@+ \t").split()
    if bare.startswith("-") and words and words[0] not in _KEEPS_HOUSE:
        return f"-{' '.join(words)}"[:120]
    return swallows(line)


def first(lines: Iterable[str]) -> str:
    """What the first of the lines says that does so."""
    return next((found for line in lines if (found := ignored(line))), "")


def in_scripts(name: str, scripts: Mapping[str, str]) -> str:
    """The same for a script of package.json and those that it runs."""
    seen: dict[str, None] = {name: None}
    for _ in range(_MAX_HOPS):
        more = [n for s in seen for n in _OTHER.findall(scripts.get(s, "")) if n in scripts]
        seen.update(dict.fromkeys(more))
    return next((found for s in seen if (found := swallows(scripts.get(s, "")))), "")


def says(what: str, found: str) -> str:
    """Why a good end says nothing."""
    hidden = f"{what} ended with exit status 0, which says nothing: `{found}` hides how its tests ended"
    return f"{hidden}. Name the runner that it uses, or take that out."
