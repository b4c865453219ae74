"""The bearer tokens: a file that only its owner reads, one token a line, or one token in the environment.

Rules: only digests are kept in memory, so that no log or traceback can show a token; a presented token is compared
with all of them, in constant time; each name is a principal, and several tokens may share one (to change a token
without a pause).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from regreen.errors import ConfigError

MIN_CHARS = 32
MAX_CHARS = 512
_MAX_FILE_BYTES = 1024 * 1024
_TOKEN = re.compile(rf"[A-Za-z0-9._~+/=-]{{{MIN_CHARS},{MAX_CHARS}}}")
_NAME = re.compile(r"[A-Za-z0-9._@-]{1,60}")
_RIGHT = f"a token is {MIN_CHARS} to {MAX_CHARS} of the characters A-Z a-z 0-9 . _ ~ + / = -"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Who may come in. `source` says where the tokens are, for people."""

    entries: tuple[tuple[str, bytes], ...]
    source: str

    def principal(self, presented: str) -> str | None:
        """The name that goes with a token; None for one that is not known."""
        digest = _digest(presented)
        found = None
        for name, known in self.entries:  # all of them, whichever fits
            if hmac.compare_digest(known, digest):
                found = name
        return found


def of_environment(value: str, variable: str) -> Tokens:
    """The one token in this variable. Raises ConfigError."""
    if not _TOKEN.fullmatch(value):
        raise ConfigError("config_refused", f"{variable} holds no token that can be used", _RIGHT)
    return Tokens((("environment", _digest(value)),), variable)


def of_file(path: Path) -> Tokens:
    """The tokens in this file; made with a random one where there is none. Raises ConfigError."""
    try:
        text = _read(path)
    except FileNotFoundError:
        text = _made(path)
    except OSError as e:
        raise _bad(path, f"cannot be read: {e.strerror}", "make it a file of your own with mode 600") from None
    except UnicodeDecodeError:
        raise _bad(path, "is not UTF-8", _RIGHT) from None
    entries = parsed(text.splitlines(), path)
    if not entries:
        raise _bad(path, "holds no token", "delete it, and one is made; or write a token into it")
    return Tokens(entries, str(path))


def parsed(lines: Iterable[str], path: Path) -> tuple[tuple[str, bytes], ...]:
    """The tokens in the lines of a file: `token` or `name token`, `#` for a comment. Raises ConfigError, which names
    the line and never shows it."""
    found: dict[bytes, str] = {}
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) > 2 or not _TOKEN.fullmatch(words[-1]) or (len(words) == 2 and not _NAME.fullmatch(words[0])):
            raise _bad(path, f"line {number} is no `TOKEN` and no `NAME TOKEN`", _RIGHT)
        digest = _digest(words[-1])
        if digest in found:
            raise _bad(path, f"line {number} holds a token a second time", "give each name tokens of its own")
        found[digest] = words[0] if len(words) == 2 else f"token-{hashlib.sha256(digest).hexdigest()[:8]}"
    return tuple((name, digest) for digest, name in found.items())


def _read(path: Path) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        is_private(path, os.fstat(fd))
        return file.read(_MAX_FILE_BYTES).decode("utf-8")


def is_private(path: Path, found: os.stat_result) -> None:
    """Raises ConfigError for a file that others can read or write."""
    if not stat.S_ISREG(found.st_mode):
        raise _bad(path, "is no file", "name a file")
    if found.st_uid != os.geteuid():
        raise _bad(path, f"belongs to another user ({found.st_uid})", "name a file of your own")
    if found.st_mode & 0o077:
        mode = oct(stat.S_IMODE(found.st_mode))[2:]
        raise _bad(path, f"can be read or written by others (mode {mode})",
                   f"chmod 600 {path}; and change the tokens, if others may have read them")  # fmt: skip
    if found.st_size > _MAX_FILE_BYTES:
        raise _bad(path, f"has {found.st_size} bytes", f"a file of tokens has at most {_MAX_FILE_BYTES}")


def _made(path: Path) -> str:
    """The text of a new file with one token; or of the one that another process made in the meantime."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd, temporary = tempfile.mkstemp(prefix=".tokens-", dir=path.parent)  # mode 600
        try:
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write(f"{secrets.token_urlsafe(32)}\n")
            os.link(temporary, path)  # whole at once, and never over another
        except FileExistsError:
            pass
        finally:
            os.unlink(temporary)  # noqa: PTH108  (mkstemp gave a text)
        return _read(path)
    except OSError as e:
        raise _bad(path, f"cannot be made: {e.strerror}", "name a file in a folder that you can write") from None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _bad(path: Path, what: str, hint: str) -> ConfigError:
    return ConfigError("config_refused", f"the token file {path} {what}", hint)
