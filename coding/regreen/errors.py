"""Errors that travel as exceptions, told apart by who can act on them.

    RegreenError                 the user (or the calling program) must change something
    ├── UsageError               the call itself is wrong: arguments, names, limits          exit 2
    ├── ConfigError              settings or the state folder cannot be used                 exit 2
    ├── EnvironmentFault         the machine lacks something: interpreter, git, disk space   exit 3
    ├── Refused                  policy, trust or containment says no                        exit 5
    └── Busy                     another run holds the work tree                             exit 5

What the *proposer* can act on (an edit that does not match, red tests) is a value, never an exception.
A fault of our own is not wrapped at all: it reaches the outermost call of a front end and is logged there.
"""

from __future__ import annotations


class RegreenError(Exception):
    """An error with a `kind` for programs, a `message` for everyone and a `hint` that says what to do next."""

    exit_code = 2

    def __init__(self, kind: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, dict[str, str]]:
        """The error as every front end prints it: `{"error": {"kind", "message", "hint"}}`."""
        return {"error": {"kind": self.kind, "message": self.message, "hint": self.hint}}


class UsageError(RegreenError):
    """The call is wrong: `invalid_arguments`, `unknown_argument`, `not_found`, `limit_exceeded`, ..."""

    exit_code = 2


class ConfigError(RegreenError):
    """Settings or the state folder cannot be used: `config_refused`."""

    exit_code = 2


class EnvironmentFault(RegreenError):
    """The machine lacks something: `environment`, `io`, `timeout`."""

    exit_code = 3


class Refused(RegreenError):
    """Policy, trust or containment says no: `path_protected`, `untrusted_workspace`, `denied_by_mode`, ..."""

    exit_code = 5


class Busy(RegreenError):
    """Another run holds the work tree; the message names it."""

    exit_code = 5

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__("busy", message, hint)
