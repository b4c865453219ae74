"""Pure path rules: which paths may be named at all, which are never written, which decide what a test run executes.

Nothing here looks at the disk. Links are the workspace's business.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise

from regreen.errors import Refused

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_DRIVE = re.compile(r"[A-Za-z]:(?:[\\/]|$)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_WRITTEN_OUT = re.compile(r"\\udc[89a-f][0-9a-f]")  # how a byte of a name that is not UTF-8 is told
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)", re.IGNORECASE)
_UNSEEN = re.compile(r"[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u00ad]")  # ignored by some file systems
_MAX_PATH = 4096

_VCS = frozenset({".git", ".hg", ".svn", ".bzr", ".jj"})
_PROTECTED_NAMES = _VCS | frozenset({
    ".vscode", ".idea", ".cursor", ".claude", ".regreen", ".codex", ".devcontainer",
    ".mcp.json", ".cursorrules", ".gitmodules", ".gitattributes", ".gitconfig", ".git-credentials", ".gitlab-ci.yml",
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin",
    ".zlogout", ".cshrc", ".tcshrc", ".kshrc", ".inputrc", ".ripgreprc", ".netrc", ".envrc", ".pypirc", ".npmrc",
})  # fmt: skip
_SECRET_NAMES = frozenset({
    ".env", ".env~", ".envrc", ".netrc", "_netrc", ".pgpass", ".git-credentials", ".htpasswd", ".pypirc", ".dockercfg",
})  # fmt: skip
_ENV_WITHOUT_SECRETS = frozenset({"example", "sample", "template", "dist", "default", "defaults", "schema", "test"})
_COMMAND_NAMES = frozenset({
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "tox.ini", "tox.toml", "setup.cfg",
    "setup.py", "noxfile.py", "sitecustomize.py", "usercustomize.py", ".coveragerc",
    "package.json", "makefile", "gnumakefile", "cmakelists.txt", "justfile", "taskfile.yml", "taskfile.yaml",
    "rakefile", "gemfile", "build.rs", "cargo.toml", "gradlew", "gradlew.bat", "mvnw", "mvnw.cmd", "pom.xml",
    "build.xml", "composer.json", "phpunit.xml", "phpunit.xml.dist", ".pre-commit-config.yaml", "binding.gyp",
})  # fmt: skip
_COMMAND_GLOBS = (
    "*.pth", "*.gradle", "*.gradle.kts", "*.mk", "*.cmake", "*.gemspec",
    "jest.config.*", "vitest.config.*", "vite.config.*", "babel.config.*", ".babelrc*", ".mocharc*", "karma.conf.*",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Named:
    """A clean path; `stepped` are the folders that a `..` went back over: they must be real folders, not links."""

    path: str
    stepped: tuple[str, ...] = ()


def clean(path: str, roots: tuple[str, ...] = ()) -> Named:
    """The path relative to the root, posix, without `.`, `//` and `..`. "" is refused; "." is the root itself, "".

    An absolute path below one of `roots` (absolute names of the root) is made relative. Anything that leaves the
    root is refused as `path_outside_workspace`, anything that is no path as `path_invalid`.
    """
    _check_form(path)
    relative = _below(path, roots)
    kept: list[str] = []
    stepped: list[str] = []
    for name in relative.split("/"):
        if name in ("", "."):
            continue
        if name != "..":
            kept.append(name)
        elif kept:
            stepped.append("/".join(kept))
            kept.pop()
        else:
            raise outside(path)
    return Named("/".join(kept), tuple(stepped))


def _check_form(path: str) -> None:
    if not path:
        raise invalid(path, "the path is empty", "give a path relative to the repository's root")
    check_size(path)
    if _WRITTEN_OUT.search(path):
        raise invalid(path, r"`\udc..` stands for a byte that is not UTF-8; such a name cannot be given",
                      "give the file a UTF-8 name, or work on it without regreen")  # fmt: skip
    if _CONTROL.search(path):
        raise invalid(path, "the path holds a control character", "remove it")
    if _URI.match(path):
        raise invalid(path, "a URI is not a path", "give a path relative to the repository's root")
    if _DRIVE.match(path) or path.startswith("\\") or ("\\" in path and ".." in re.split(r"[\\/]", path)):
        raise outside(path)


def check_size(path: str) -> None:
    """Refuse what is too long to be the path of anything, before anybody works with it."""
    size = len(path) if len(path) > _MAX_PATH else len(path.encode("utf-8", "surrogatepass"))
    if size > _MAX_PATH:
        raise invalid(f"{path[:80]}…", f"the path has {size} bytes", f"at most {_MAX_PATH} are possible")


def _below(path: str, roots: tuple[str, ...]) -> str:
    if not path.startswith("/"):
        return path
    for root in roots:
        if path == root:
            return "."
        if path.startswith(root.rstrip("/") + "/"):
            return path[len(root.rstrip("/")) :]
    raise outside(path)


def check_clean(path: str) -> None:
    """Refuse what `clean` would never return: the last check before the disk, for paths from anywhere."""
    if path.startswith("/") or ".." in path.split("/"):
        raise outside(path)
    if "\0" in path or (path and not {"", "."}.isdisjoint(path.split("/"))):
        raise invalid(path, "not a clean relative path", "give a path relative to the repository's root")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as e:
        raise invalid(path, "the path is not valid Unicode", "give a UTF-8 path") from e


def check_new(path: str) -> None:
    """Refuse names that a new file should not have: they mean something else on another system, or nothing."""
    if path.startswith("~"):
        raise Refused("path_outside_workspace", f"{shown(path)}: `~` is not expanded",
                      "give a path relative to the repository's root")  # fmt: skip
    if _SURROGATE.search(path):
        raise invalid(path, "the path is not valid Unicode", "give a UTF-8 path")
    for name in path.split("/"):
        if ":" in name:
            raise invalid(path, "a `:` names a stream of a file on Windows", "use another name")
        if name != name.rstrip(". "):
            raise invalid(path, "a name ends in a dot or a blank", "use another name")
        if _DEVICE.match(name):
            raise invalid(path, f"{shown(name)} is a device on Windows", "use another name")


def is_protected(path: str) -> bool:
    """Whether this is never written by an edit: version control, editor and agent settings, shell start-up files.

    Names count at any depth, in any case and Unicode form, and as other systems would read them.
    """
    names = _names(path)
    if any(name in _PROTECTED_NAMES or name.startswith("git~") for name in names):
        return True
    return any(pair == (".github", "workflows") for pair in pairwise(names))


def is_secret(path: str) -> bool:
    """Whether the file is known by its name to hold secrets: it is never shown, so it is never edited either."""
    *folders, name = _names(path)
    stem, _, suffix = name.rpartition(".")
    is_env = name.startswith(".env.") and suffix not in _ENV_WITHOUT_SECRETS
    is_env |= suffix == "env" and stem not in _ENV_WITHOUT_SECRETS | {""}
    return name in _SECRET_NAMES or is_env or (name == "credentials" and folders[-1:] == [".aws"])


def is_version_control(path: str) -> bool:
    """Whether this lies in a version control folder (or is its pointer file): nothing at all writes there."""
    return any(name in _VCS or name.startswith("git~") for name in _names(path))


def is_command_bearing(path: str) -> bool:
    """Whether the file's contents decide what a test run executes, beyond the code under test."""
    *folders, name = _names(path)
    if any(folder.endswith((".dist-info", ".egg-info")) for folder in folders):  # entry points load plugins
        return True
    return name in _COMMAND_NAMES or any(fnmatchcase(name, glob) for glob in _COMMAND_GLOBS)


def _names(path: str) -> list[str]:
    return [_folded(name) for name in re.split(r"[\\/]", path)]


def _folded(name: str) -> str:
    """The name as the most lenient file system reads it: no case, no unseen characters, no stream, no tail dots."""
    seen = _UNSEEN.sub("", unicodedata.normalize("NFC", name)).casefold()
    return unicodedata.normalize("NFC", seen.split(":")[0].rstrip(". "))


def shown(path: str) -> str:
    """A path for a message: one line, in quotes, control characters escaped."""
    text = _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}", path[:200])
    return "`" + _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text) + "`"


def outside(path: str) -> Refused:
    """The refusal of a path that leaves the root."""
    return Refused("path_outside_workspace", f"{shown(path)} is outside the repository",
                   "give a path relative to the repository's root, without `..`")  # fmt: skip


def invalid(path: str, why: str, hint: str) -> Refused:
    """The refusal of something that is no usable path."""
    return Refused("path_invalid", f"{shown(path)}: {why}", hint)
