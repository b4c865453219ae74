"""What can be typed: one table of commands, turned into an argparse parser.

Only the standard library is imported here, so that `--help` is instant; a handler is named, not imported.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from regreen.errors import UsageError
from regreen.settings import EDIT_FORMATS, MODES, SANDBOX_WISHES, Mode
from regreen.wire import nearest, shortened

_MOST = 1_000_000_000
_MOST_S = 1_000_000  # the system waits no longer than some days at once
_SHOWN = 80
_NEAR = 0.69  # how alike an option that was mistyped has to be
_MOST_SAID = 2_000


@dataclass(frozen=True, slots=True)
class Option:
    """One argument as argparse wants it."""

    names: tuple[str, ...]
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Command:
    """One command. `handler` is `module:function` below `regreen.cli`; `example` is typed as it stands.

    With `actions`, one of these is typed after the name; example and handler are then those of one of them.
    """

    name: str
    summary: str
    example: str
    handler: str
    options: tuple[Option, ...] = ()
    actions: tuple[Command, ...] = ()
    default_mode: Mode = "accept-edits"


def _option(*names: str, **settings: Any) -> Option:
    return Option(names, settings)


def _line_range(text: str) -> tuple[int, int]:
    start, colon, end = text.partition(":")
    try:
        first = int(start or 1)
        return first, int(end or 0) if colon else first
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shortened(text, _SHOWN)!r} is not FIRST:LAST, such as 10:40") from None


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{shortened(text, _SHOWN)!r} is not a list of numbers, such as 1,3") from None


def _positive(kind: type[int] | type[float], most: int = _MOST) -> Any:
    wanted = f"a {'whole ' if kind is int else ''}number above 0, at most {most}"

    def convert(text: str) -> int | float:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{shortened(text, _SHOWN)!r} is not {wanted}") from None
        if not 0 < value <= most:
            raise argparse.ArgumentTypeError(f"{shortened(text, _SHOWN)!r} is not {wanted}")
        return value

    return convert


_MANY: dict[str, Any] = {"action": "append", "default": []}
_PYTHON = _option("--python", metavar="FILE", default="", help="interpreter for the project's tests (default: found)")
_CI = _option("--ci", action="store_true", help="plain log lines on stderr: no colours, no progress bar")
_TOKENS = _option("--max-tokens", type=_positive(int), metavar="N", help="size of the answer in tokens")
_LIMIT = _option("--limit", type=_positive(int, 1000), metavar="N", help="how many are shown")
_CURSOR = _option("--cursor", default="", help="go on where a truncated answer ended")

_MAX_ATTEMPTS = _option("--max-attempts", type=_positive(int), metavar="N", help="end after N test runs (default: 6)")
_BUDGET_S = _option("--budget-s", type=_positive(float, _MOST_S), metavar="S", help="seconds of work (default: 300)")
_SCRIPT = _option("--script", metavar="FILE.jsonl", help="one proposal a line, for the scripted proposer")
_MODEL = _option("--model", default="", metavar="M", help="which of the provider's models (default: the settings' one)")
_PROPOSERS = ("auto", "search", "anthropic", "openai", "scripted")
_RUN = _option("run", metavar="RUN", help="its id, or the beginning of it")

_RUNS: tuple[Command, ...] = (
    Command("list", "fix runs and tasks, the newest first", "regreen runs list --limit 5", "runs:list_runs",
            (_option("--limit", type=_positive(int), default=20, metavar="N", help="how many (default: 20)"),
             _option("--all", action="store_true", help="of all repositories"))),
    Command("show", "what a run was asked, tried, and came to", "regreen runs show job-5f0c9a1e2b7d", "runs:show",
            (_RUN,)),
    Command("resume", "go on from a run that ended without a fix",
            "regreen runs resume job-5f0c9a1e2b7d --budget-s 600", "runs:resume",
            (_RUN, _MAX_ATTEMPTS, _BUDGET_S,
             _option("--proposer", choices=_PROPOSERS, help="where fixes come from (default: as it was)"),
             _MODEL, _SCRIPT, _CI, _PYTHON)),
    Command("replay", "a run's attempts again, in a scratch copy, compared with the record",
            "regreen runs replay job-5f0c9a1e2b7d", "runs:replay",
            (_RUN, _option("--keep", metavar="FOLDER", help="leave the copy in this new folder"), _CI)),
)  # fmt: skip

_CLIENTS = ("claude-desktop, claude-code, cursor, vscode, zed, windsurf, jetbrains, continue, codex, gemini, opencode, "
            "cline")  # fmt: skip

COMMANDS: tuple[Command, ...] = (
    Command("fix", "turn failing tests green, or put everything back",
            "regreen fix --tests tests/test_cart.py", "fix:fix",
            (_option("path", nargs="?", metavar="PATH", help="the repository (default: the one around this folder)"),
             _option("--tests", **_MANY, metavar="SEL", help="file, folder or test id to turn green; may be repeated"),
             _option("--paths", **_MANY, metavar="GLOB", help="files that may be edited; may be repeated"),
             _option("--proposer", choices=_PROPOSERS, default="auto",
                     help="where fixes come from: the offline search, a model, the lines of --script (default: auto, "
                          "the search, then a model if one is configured)"),
             _MODEL, _SCRIPT,
             _option("--tests-policy", choices=("readonly", "additions_only", "editable"), default="readonly",
                     help="what may be done to test files (default: readonly)"),
             _MAX_ATTEMPTS, _BUDGET_S,
             _option("--budget-cpu-s", type=_positive(float, _MOST_S), metavar="S",
                     help="processor seconds of the tests"),
             _option("--budget-tokens", type=_positive(int), metavar="N", help="tokens that proposals may cost"),
             _option("--budget-usd", type=_positive(float), metavar="X", help="dollars that proposals may cost"),
             _option("--keep-partial", action="store_true", help="keep the best attempt although it is not green"),
             _CI, _PYTHON)),
    Command("do", "let a model do a coding task here, step by step",
            "regreen do 'count the lines of README.md and write summary.txt'", "do:do",
            (_option("task", metavar="TASK", help="what to do, in words"),
             _option("--tests", **_MANY, metavar="SEL", help="tests that must pass at the end; may be repeated"),
             _option("--provider", choices=("anthropic", "openai", "scripted"),
                     help="who is asked (default: the one that is configured)"),
             _option("--model", metavar="M", help="which of its models"),
             _option("--script", metavar="FILE.jsonl", help="one reply of the model a line, for the scripted provider"),
             _option("--max-turns", type=_positive(int), metavar="N", help="end after N turns (default: 30)"),
             _option("--budget-s", type=_positive(float, _MOST_S), metavar="S", help="seconds (default: 1800)"),
             _option("--budget-tokens", type=_positive(int), metavar="N", help="tokens, of questions and answers"),
             _option("--budget-usd", type=_positive(float), metavar="X", help="dollars"),
             _option("--keep-partial", action="store_true", help="keep what was done although it did not end well"),
             _option("--system-prompt-file", metavar="FILE", help="its text instead of the built-in instructions"),
             _option("--events", metavar="FILE|-", help="append every event as a JSON line; - is standard output"),
             _option("-v", "--verbose", action="store_true", help="one line a turn on stderr"),
             _option("--config", metavar="FILE", help="this config.toml instead of your own"),
             _CI, _PYTHON),
            default_mode="ask"),
    Command("test", "run the tests and condense what failed", "regreen test tests/test_cart.py", "testing:test",
            (_option("selection", nargs="*", metavar="SEL", help="files, folders or test ids (default: all)"),
             _option("--last-failed", action="store_true", help="only what failed when it was last run"),
             _option("--runner", default="", metavar="NAME", help="pytest, vitest, cargo, ... (default: found)"),
             _option("--timeout-s", type=_positive(float, _MOST_S), metavar="S", help="end the run after S seconds"),
             _option("--argv", nargs=argparse.REMAINDER, metavar="WORD",
                     help="the rest of the line is a whole test command, such as: pytest -x -k cart"),
             _CI, _PYTHON)),
    Command("skeleton", "the file tree, ignored files left out", "regreen skeleton src --depth 2", "reading:skeleton",
            (_option("path", nargs="?", default="", metavar="PATH", help="folder inside the repository"),
             _option("--depth", type=_positive(int), metavar="N"), _TOKENS, _CURSOR)),
    Command("signatures", "classes and functions with their signatures", "regreen signatures src/shop",
            "reading:signatures",
            (_option("paths", nargs="*", metavar="PATH", help="files, folders or globs (default: all)"),
             _option("--docstrings", action="store_true", help="with the first line of each docstring"),
             _TOKENS, _CURSOR)),
    Command("map", "the definitions that matter most, ranked", "regreen map src/shop/cart.py --max-tokens 2000",
            "reading:ranked_map",
            (_option("focus", nargs="*", metavar="FOCUS", help="files, folders, globs or names to rank for"),
             _option("--tests", action="store_true", help="rank tests like other code"),
             _TOKENS)),
    Command("symbol", "where a name is defined and used", "regreen symbol Cart.total --references",
            "reading:symbol",
            (_option("name", metavar="NAME", help="a name, or a qualified one"),
             _option("--kind", metavar="KIND", help="function, method, class, ..."),
             _option("--references", action="store_true", help="with the places that use it"),
             _LIMIT)),
    Command("search", "lines that contain a text", "regreen search 'def total' 'src/**/*.py'",
            "reading:search",
            (_option("pattern", metavar="PATTERN"),
             _option("globs", nargs="*", metavar="GLOB", help="files, folders or globs (default: all)"),
             _option("--regex", action="store_true", help="the pattern is a regular expression"),
             _option("--ignore-case", action="store_true"),
             _option("--context", type=_positive(int, 10), metavar="N", help="lines before and after each match"),
             _LIMIT)),
    Command("read", "the text of one file, secrets masked", "regreen read src/shop/cart.py --lines 10:40",
            "reading:read",
            (_option("path", metavar="FILE"),
             _option("--lines", type=_line_range, default=(1, 0), metavar="FIRST:LAST"))),
    Command("edit", "apply a response's edits: all of them or none", "regreen edit answer.md --dry-run",
            "changing:edit",
            (_option("file", nargs="?", default="", metavar="FILE|-",
                     help="the text holding blocks, a diff, a patch or calls; - reads it from stdin"),
             _option("--dry-run", action="store_true", help="show what would change, write nothing"),
             _option("--format", default="auto", choices=EDIT_FORMATS, help="edit format (default: auto)"),
             _option("--commit", metavar="PLAN", default="", help="apply exactly the plan of an earlier dry run"),
             _option("--hunks", type=_numbers, metavar="N,N", default=(),
                     help="only these hunks, numbered as a dry run shows them"),
             _option("--expect", **_MANY, metavar="PATH=SHA256",
                     help="what the edits were written for; may be repeated"),
             _option("--strict", action="store_true", help="exact matches only, to the last blank"))),
    Command("changes", "what differs from HEAD, a snapshot or the start of a run", "regreen changes --since HEAD",
            "changing:changes",
            (_option("--since", default="HEAD", metavar="X",
                     help="HEAD, another commit, a run, a transaction or a snapshot (default: HEAD)"),)),
    Command("restore", "put back what an edit or a run changed", "regreen restore txn-5f0c9a1e2b7d --dry-run",
            "changing:restore",
            (_option("to", nargs="?", default="", metavar="TO",
                     help="a run or a transaction (default: list what there is)"),
             _option("--dry-run", action="store_true", help="show what would be put back"))),
    Command("undo", "take back the latest edit", "regreen undo", "changing:undo",
            (_option("--dry-run", action="store_true", help="show what would be put back"),)),
    Command("runs", "what fix runs and tasks did; go on from a fix run, or replay it", "regreen runs list --limit 5",
            "runs:list_runs", actions=_RUNS),
    Command("trust", "let tests of a folder be run", "regreen trust ~/src/shop", "trusting:trust",
            (_option("folder", nargs="?", metavar="DIR", help="default: the repository around this folder"),
             _option("--remove", action="store_true", help="take the trust away"),
             _option("--list", action="store_true", help="list what is trusted"))),
    Command("doctor", "check that everything needed is there", "regreen doctor", "doctor:doctor", (_PYTHON,)),
    Command("serve", "the MCP server, on stdin and stdout or over HTTP", "regreen serve --root ~/src/shop",
            "doors:serve",
            (_option("--root", **_MANY, metavar="DIR", help="folder that may be served, trusted; may be repeated"),
             _option("--http", metavar="[HOST:]PORT", help="serve over HTTP (port 0: any free one)"),
             _option("--socket", metavar="PATH", help="serve over HTTP on a UNIX socket"),
             _option("--token-file", metavar="F", default="",
                     help="the bearer tokens, one a line; made where there is none (default: in the state folder)"),
             _option("--allow-remote", action="store_true",
                     help="allow --http on an address that other machines reach; needs --token-file"),
             _option("--read-only", action="store_true", help="offer only tools that change nothing"),
             _option("--toolsets", choices=("core", "all"), default="all", help="how many tools to offer"),
             _PYTHON)),
    Command("setup", "write the configuration of an MCP client", "regreen setup claude-desktop --root ~/src/shop",
            "setting_up:setup",
            (_option("client", metavar="CLIENT", nargs="?", default="", help=_CLIENTS),
             _option("--root", **_MANY, metavar="DIR", help="folder to be served; may be repeated"),
             _option("--scope", choices=("user", "project"), default="user",
                     help="the client's file of the user (default), or the one inside of the folder"),
             _option("--print", action="store_true", dest="print_only", help="print it, write nothing"),
             _option("--remove", action="store_true", help="take the entry out again"))),
    Command("config", "the settings in force", "regreen config show", "doctor:config",
            (_option("action", nargs="?", choices=("show",), default="show"),)),
)  # fmt: skip

_COMMON: tuple[Option, ...] = (
    _option("--repo", metavar="DIR", help="the repository (default: the one around the working directory)"),
    _option("--sandbox", choices=SANDBOX_WISHES, default="", help="isolation of test runs (default: auto)"),
    _option("--json", action="store_true", help="one JSON document on stdout, on failure too"),
)


class _Parser(argparse.ArgumentParser):
    """argparse that raises instead of printing and leaving."""

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        """As argparse, except that the command itself refuses what it does not know: its own help is the hint."""
        known, rest = super().parse_known_args(*args, **kwargs)
        many = next((a.dest for a in self._actions if a.nargs == "*" and not a.option_strings), "")
        if many and rest and not any(word.startswith("-") for word in rest):  # more of them, behind an option
            setattr(known, many, [*getattr(known, many), *rest])
        elif rest:
            meant = [name for word in rest if word.startswith("--") for name in self._near(word)]
            self.error(f"unrecognized arguments: {' '.join(rest)}", meant)
        return known, []

    def _near(self, word: str) -> list[str]:
        """The option that somebody may have meant."""
        return nearest(word.partition("=")[0], self._option_string_actions, cutoff=_NEAR)

    def error(self, message: str, meant: Sequence[str] = ()) -> NoReturn:
        did_you = f"did you mean {meant[0]}? " if meant else ""
        raise UsageError("invalid_arguments", shortened(message, _MOST_SAID), f"{did_you}see `{self.prog} --help`")


class _Version(argparse.Action):
    """Prints the installed version; looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"regreen {version('regreen')}")
        parser.exit()


def build() -> argparse.ArgumentParser:
    """The parser of all commands. Parsing raises UsageError (`invalid_arguments`)."""
    parser = _Parser(prog="regreen", description="Turns failing tests green again.", allow_abbrev=False,
                     epilog="example: regreen fix --tests tests/test_cart.py")  # fmt: skip
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for command in COMMANDS:
        _add(commands, command)
    return parser


def _add(commands: Any, command: Command) -> None:
    sub = commands.add_parser(command.name, help=command.summary, description=_sentence(command.summary),
                              epilog=f"example: {command.example}", allow_abbrev=False)  # fmt: skip
    if command.actions:
        actions = sub.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_Parser)
        for action in command.actions:
            _add(actions, action)
        return
    mode = _option("--mode", choices=MODES, default="",
                   help=f"what may be done without asking (default: {command.default_mode})")  # fmt: skip
    for option in (*command.options, mode, *_COMMON):
        sub.add_argument(*option.names, **option.settings)
    sub.set_defaults(handler=command.handler, default_mode=command.default_mode)


def parse(typed: Sequence[str]) -> argparse.Namespace:
    """Read a command line. What follows `--argv` is taken as it stands, `--` included, which argparse would not do."""
    own, rest = _parts(typed)
    args = build().parse_args(own)
    if rest is not None:
        args.argv = rest
    return args


def _parts(typed: Sequence[str]) -> tuple[list[str], list[str] | None]:
    if typed[:1] != ["test"] or "--argv" not in typed:
        return list(typed), None
    at = list(typed).index("--argv")
    return list(typed[:at]), list(typed[at + 1 :])


def _sentence(summary: str) -> str:
    """The summary with a capital letter and a full stop; names in it stay as they are written."""
    return f"{summary[:1].upper()}{summary[1:]}."


def wants_json(argv: Sequence[str]) -> bool:
    """Whether a command line that cannot be parsed asked for JSON."""
    return "--json" in _parts(argv)[0]
