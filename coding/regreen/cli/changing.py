"""Commands that change files or show changes: `edit`, `changes`, `restore`, `undo`."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regreen.cli.calls import call
from regreen.cli.edit_lines import applied, planned
from regreen.cli.engine import opened, somebody_answers
from regreen.cli.exit_codes import OK, of_error
from regreen.cli.ids import full_id
from regreen.cli.invocation import Answer, Invocation, answer
from regreen.cli.lines import Line
from regreen.errors import EnvironmentFault, UsageError
from regreen.wire import to_object

if TYPE_CHECKING:
    from regreen.session.restorable import Restorable

_SHOWN_FILES = 5
_SHOWN_CHANGES = 20


def edit(invocation: Invocation) -> Answer:
    """Apply the edits of a response, read from a file or from standard input, or the plan of a dry run."""
    args = invocation.args
    if not args.file and not args.commit:
        raise UsageError("invalid_arguments", "there is nothing to apply", "name a file, - for standard input, or "
                         "--commit PLAN")  # fmt: skip
    if args.commit and args.expect:
        raise UsageError(
            "invalid_arguments", "--expect is given with --commit", "a plan has its own; leave --expect out"
        )
    arguments: dict[str, object] = invocation.given("format", "dry_run", "commit")
    if args.file:
        arguments["text"] = _response(args.file, invocation.cwd)
    if args.hunks:
        arguments["hunks"] = list(args.hunks)
    if args.expect:
        said = [_expectation(text) for text in args.expect]
        paths = invocation.inside(invocation.repo(), [path for path, _ in said])
        arguments["expected_sha256"] = dict(zip(paths, (sha for _, sha in said), strict=True))
    asks = invocation.settings().mode == "ask" and somebody_answers(invocation.screen)
    if asks and not invocation.args.dry_run:
        return _edit_asking(invocation, arguments)
    return _ask(invocation, "apply_edits", arguments)


def _edit_asking(invocation: Invocation, arguments: dict[str, object]) -> Answer:
    """Show what would change, ask, and apply exactly that."""
    repo, screen = invocation.repo(), invocation.screen
    with opened(invocation, repo) as engine:
        plan: dict[str, Any] = call(engine, screen, "apply_edits", {"repo": str(repo), **arguments, "dry_run": True})
        if not plan.get("ok"):
            return answer("apply_edits", plan)
        screen.show(planned(plan))
        done: dict[str, Any] = call(engine, screen, "apply_edits", {"repo": str(repo), "commit": plan["plan"]})
    kind = done.get("error", {}).get("kind")
    if kind in ("needs_approval", "cancelled"):
        return Answer(done["error"], (Line("nothing was written"),), of_error(kind))
    made = answer("apply_edits", done)
    return Answer(done, tuple(applied(done)), OK) if made.code == OK else made


def changes(invocation: Invocation) -> Answer:
    """What differs from HEAD, a snapshot or a run's start."""
    made = _ask(invocation, "show_changes", {"since": _id(invocation, invocation.args.since)})
    if "error" in made.data and shutil.which("git", path=invocation.environ.get("PATH", "")) is None:
        raise EnvironmentFault("environment", "git was not found on PATH", "install git, or put it on PATH")
    return made


def restore(invocation: Invocation) -> Answer:
    """Put back what a transaction or a run changed; without one, list what there is."""
    if not invocation.args.to:
        return _list(invocation)
    to = _id(invocation, invocation.args.to, bare=True)
    return _ask(invocation, "restore", {"to": to, **invocation.given("dry_run")})


def _id(invocation: Invocation, typed: str, *, bare: bool = False) -> str:
    from regreen.store import Store, repo_key

    store = Store(invocation.settings().state_dir)
    try:
        return full_id(store, repo_key(invocation.repo()), typed, bare=bare)
    finally:
        store.close()


def undo(invocation: Invocation) -> Answer:
    """Put back what the latest edit changed."""
    repo = invocation.repo()
    with opened(invocation, repo) as engine:
        for change in engine.session(str(repo)).standing_changes():
            arguments = {"repo": str(repo), "to": change}
            would = call(engine, invocation.screen, "restore", {**arguments, "dry_run": True})
            if not any(would.get(key) for key in ("restored", "deleted", "merged", "conflicts", "error")):
                continue  # somebody else has put it back already
            if invocation.args.dry_run:
                return answer("restore", would)
            done = answer("restore", call(engine, invocation.screen, "restore", arguments))
            hint = f"`regreen restore` lists what else can be put back; this was {change}"
            return Answer(done.data, (*done.lines, Line(hint)), done.code) if done.code else done
    raise UsageError(
        "not_found", f"no edit of regreen stands in {repo}", "`regreen restore` lists what can be put back"
    )


def _list(invocation: Invocation) -> Answer:
    from regreen.session.restorable import restorable

    repo = invocation.repo()
    with opened(invocation, repo) as engine:
        found = restorable(engine.store, engine.session(str(repo)).key)
    lines = [_line(r) for r in found[:_SHOWN_CHANGES]] or [Line(f"nothing of regreen's to put back in {repo}")]
    if len(found) > _SHOWN_CHANGES:
        lines.append(Line(f"and {len(found) - _SHOWN_CHANGES} older ones; --json lists all", "dim"))
    hint = [Line("`regreen restore ID` puts one back; --dry-run shows it first", "dim")] if found else []
    return Answer(to_object({"restorable": found}), (*lines, *hint), OK)


def _line(found: Restorable) -> Line:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.created))
    more = f" and {len(found.files) - _SHOWN_FILES} more" if len(found.files) > _SHOWN_FILES else ""
    return Line(f"{found.id}  {when}  {found.what}: {', '.join(found.files[:_SHOWN_FILES])}{more}")


def _expectation(text: str) -> tuple[str, str]:
    path, equals, sha = text.rpartition("=")
    if not equals or not path:
        raise UsageError(
            "invalid_arguments", f"--expect {text!r}", "give PATH=SHA256, as `regreen read PATH --json` tells it"
        )
    return path, sha


def _ask(invocation: Invocation, tool: str, arguments: dict[str, object]) -> Answer:
    repo = invocation.repo()
    with opened(invocation, repo) as engine:
        return answer(tool, call(engine, invocation.screen, tool, {"repo": str(repo), **arguments}))


def _response(name: str, cwd: Path) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else (cwd / name).read_bytes()
    except OSError as e:
        raise UsageError("not_found", f"{name}: {e.strerror}", "name a readable file, or - for standard input") from e
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise UsageError("invalid_arguments", f"{name}: not UTF-8 at byte {e.start}", "save the text as UTF-8") from e
    if not text.strip():
        raise UsageError("invalid_arguments", f"{name}: there is no text in it", "give it the edits")
    return text
