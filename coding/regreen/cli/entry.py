"""The outermost call of the command line: parse, run one handler, print once, leave with its status."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

from regreen.cli import exit_codes, parser
from regreen.cli.invocation import Answer, Invocation
from regreen.cli.lines import Line
from regreen.cli.screen import Screen, drop, open_streams
from regreen.cli.wording import worded
from regreen.errors import RegreenError, UsageError
from regreen.settings import default_environ

Handler = Callable[[Invocation], Answer | int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status. Raises nothing."""
    typed = list(sys.argv[1:] if argv is None else argv)
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    screen = Screen(sys.stdout, sys.stderr, default_environ(), as_json=parser.wants_json(typed), ci="--ci" in typed)
    try:
        return _run(typed, screen)
    except BrokenPipeError:
        drop(sys.stdout)
        return 128 + 13  # as a shell reports SIGPIPE
    except OSError as e:  # of writing the result: what the commands themselves meet is told as their error
        drop(sys.stdout)
        _tell_error(screen, f"the result cannot be written to standard output: {e.strerror}", "")
        return exit_codes.RED
    except KeyboardInterrupt:
        return _failed(screen, "cancelled", "interrupted", "", exit_codes.INTERRUPTED)


def _run(typed: Sequence[str], screen: Screen) -> int:
    args = None
    try:
        args = parser.parse(typed)
        module, _, name = cast("str", args.handler).partition(":")
        handler = cast("Handler", getattr(import_module(f"regreen.cli.{module}"), name))
        answer = handler(Invocation(args, _cwd(), default_environ(), screen))
    except SystemExit as e:  # --help, --version
        sys.stdout.flush()
        return e.code if isinstance(e.code, int) else 0
    except RegreenError as e:
        return _failed(screen, e.kind, e.message, e.hint, exit_codes.of_error(e.kind), args)
    except BrokenPipeError:
        raise
    except Exception as e:  # noqa: BLE001  (the outermost call: a fault of ours is logged with its traceback)
        told = _fault(e)
        return _failed(screen, told.kind, told.message, told.hint, exit_codes.of_error(told.kind), args)
    if isinstance(answer, int):
        return answer
    if screen.as_json:
        screen.document(answer.data)
    elif (error := answer.data.get("error")) is not None:
        fields = cast("dict[str, str]", error)
        _tell_error(screen, fields.get("message", ""), fields.get("hint", ""), fields.get("kind", ""), args)
    else:
        screen.show(answer.lines)
    return answer.code


def _fault(error: Exception) -> RegreenError:
    """What a person can do about an exception that nobody expected: make room, or report it."""
    import logging

    from regreen.store import no_room

    if isinstance(error, OSError) and (full := no_room(error)) is not None:
        return full
    logging.getLogger("regreen").error("a fault in regreen itself", exc_info=error)
    return RegreenError("internal", f"{type(error).__name__}: {error}", "this is a fault in regreen: please report it")


def _cwd() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("not_found", "the working directory no longer exists", "go to one that does") from None


def _failed(screen: Screen, kind: str, message: str, hint: str, code: int, args: Namespace | None = None) -> int:
    if screen.as_json:
        screen.document({"error": {"kind": kind, "message": message, "hint": hint}})
    else:
        _tell_error(screen, message, hint, kind, args)
    return code


def _tell_error(screen: Screen, message: str, hint: str, kind: str = "", args: Namespace | None = None) -> None:
    """The error in the words of the command line, and of the command that was typed."""
    if kind == "busy":
        from regreen.cli.holders import explained

        hint = explained(message, hint, default_environ())
    options = None if args is None else [f"--{name.replace('_', '-')}" for name in vars(args)]
    hint = worded(hint, options, kind=kind)
    screen.tell([Line(f"regreen: {worded(message, kind=kind)}", "bad"), *([Line(f"hint: {hint}")] if hint else [])])
