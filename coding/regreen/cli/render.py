"""How a person sees a result: pure functions from the structured result of a tool to lines. One row a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from regreen.cli import end_lines, reading_lines
from regreen.cli.edit_lines import edited
from regreen.cli.fix_lines import ended
from regreen.cli.lines import Line, conflict_line, diff, head, more, names, split
from regreen.cli.wording import worded
from regreen.wire import Json, outcomes_counted

_SHOWN_FAILURES = 20
_SHOWN_SAME = 5
Data = Mapping[str, Any]


def render(tool: str, data: Mapping[str, Json]) -> Iterator[Line]:
    """The lines for the result of `tool`; none for an error, which the entry point tells on stderr."""
    view = _VIEWS.get(tool)
    if view is not None and "error" not in data:
        yield from view(cast("Data", data))


def _test(data: Data) -> Iterator[Line]:
    """Each failure under a line that an editor's problem matcher reads; the verdict last."""
    counts = data.get("counts", {})
    yield from _groups(data.get("failures", []), data.get("groups", []))
    yield from _since(data.get("since_last", {}))
    status = data.get("status", "")
    if (message := data.get("message")) and status != "cancelled":  # the last line says that
        yield from split(worded(message), "warn")
    for note in data.get("notes", []):
        yield Line(f"note: {worded(note)}", "warn")
    yield Line(f"{status}: {outcomes_counted(counts) or 'no tests ran'} in {data.get('duration_s', 0.0):.2f} s",
               "good" if status == "passed" else "bad")  # fmt: skip
    yield from _how(data)


def _groups(failures: Iterable[Data], groups: Iterable[Data]) -> Iterator[Line]:
    """One failure of each cause in full, the others of it by name."""
    by_id = {f["id"]: f for f in failures}
    causes = [g for g in groups if g["ids"][0] in by_id]
    for cause in causes[:_SHOWN_FAILURES]:
        yield from _failure(by_id[cause["ids"][0]])
        others = cause["ids"][1:]
        if others:
            hidden = len(others) - _SHOWN_SAME + cause.get("more", 0)
            left = f" and {hidden} more" if hidden > 0 else ""
            yield Line(f"    same cause: {', '.join(others[:_SHOWN_SAME])}{left}", "dim")
            yield Line("")
    yield from more(len(causes), _SHOWN_FAILURES)


def _failure(failure: Data) -> Iterator[Line]:
    place = f"{failure['file']}:{max(1, failure['line'])}:1: " if failure["file"] else ""
    yield Line(f"{place}error: {failure['kind']}: {head(failure['message'])} [{failure['id']}]", "bad")
    yield from split(failure.get("excerpt", "").rstrip("\n"), "dim", "    ")
    yield from split(failure.get("note", ""), "warn", "    ")
    yield Line("")


def _since(changed: Data) -> Iterator[Line]:
    """What is different from the last run of the same tests."""
    for kind, said in _SINCE.items():
        ids = changed.get(kind, [])
        if ids:
            yield Line(f"{said}: {names(ids)}", "good" if kind == "fixed" else "warn")


_SINCE = {"new": "failing since the last run", "fixed": "fixed since the last run", "vanished": "no longer there"}


def _how(data: Data) -> Iterator[Line]:
    """With what the tests were run; of no sandbox is spoken where nothing was run."""
    shown = ("runner", "interpreter", "sandbox", "network", "log")
    parts = [f"{name} {data[name]}" for name in shown if data.get(name)]
    if parts and parts != ["runner auto"]:  # no runner was chosen
        yield Line("; ".join(parts), "dim")


def _restore(data: Data) -> Iterator[Line]:
    would = "would be " if data.get("dry_run") else ""
    for path in data.get("restored", []):
        yield Line(f"{would}restored {path}", "good")
    for path in data.get("deleted", []):
        yield Line(f"{would}deleted {path}", "good")
    for path in data.get("merged", []):
        yield Line(f"{would}restored {path}, with what was changed there since", "good")
    for conflict in data.get("conflicts", []):
        yield conflict_line(conflict["path"], conflict["reason"])
    if not any(data.get(k) for k in ("restored", "deleted", "merged", "conflicts")):
        yield Line("nothing had to be changed: no file is other than before these changes")
    if data.get("transaction"):
        yield Line(f"`regreen restore {data['transaction']}` takes this back", "dim")


def _changes(data: Data) -> Iterator[Line]:
    if not data.get("files"):
        yield Line(f"nothing differs from {data.get('since', '')}")
    from regreen.tools.diff_text import shown_diff  # not at the top: most commands show no diff

    text, left = shown_diff(data.get("diff", ""))
    yield from diff(text)
    if left:
        yield Line(f"... {left}; --json has all", "dim")
    yield from reading_lines.truncated(data)


_VIEWS: dict[str, Callable[[Data], Iterator[Line]]] = {
    "fix_tests": ended,
    "coding_task": end_lines.ended,
    "run_tests": _test,
    "apply_edits": edited,
    "restore": _restore,
    "show_changes": _changes,
    "repo_skeleton": reading_lines.skeleton,
    "extract_signatures": reading_lines.signatures,
    "repo_map": reading_lines.ranked_map,
    "find_symbol": reading_lines.symbols,
    "search_text": reading_lines.matches,
    "read_file": reading_lines.file_text,
}
