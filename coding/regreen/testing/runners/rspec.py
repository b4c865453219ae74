"""RSpec, with a formatter of ours (`inside/regreen_rspec.rb`) that tells over the private channel. An id is the full
description of an example: `Calc#add adds two numbers`; of a one-liner without a description of its own, what it
describes and its place: `Calc (spec/calc_spec.rb:7)`.

Examples are chosen inside RSpec by that id, so exactly those run. `bundle exec` where the project has a Gemfile.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from regreen.commands.programs import find_program
from regreen.model import CaseOutcome
from regreen.testing.channel import Frame, RawFailure
from regreen.testing.heard import Absent, Asked, Case, Ended, Heard, Plan
from regreen.testing.logs import tail
from regreen.testing.looking import Look
from regreen.testing.reported import reported
from regreen.testing.runners.row import CONFIGURED, DEPENDENCY, FILES, Row, Sign

_INSIDE = Path(__file__).parents[1] / "inside" / "regreen_rspec.rb"
_OUTCOMES: Mapping[str, CaseOutcome] = {
    "passed": "passed", "failed": "failed", "skipped": "skipped", "xfailed": "xfailed",
}  # fmt: skip
_PLACE = re.compile(r"(?::(?P<line>\d{1,7})|\[(?P<scoped>[\d:]+)\])$")
_DEPENDENCY = re.compile(
    r"/(?:vendor/(?:bundle|gems)|\.bundle|gems)/|<internal:|/rubygems/core_ext/|/bundled_gems\.rb$"
)
_ABSENT = re.compile(r"Bundler::\w+|cannot load such file|Could not find gem|Could not locate Gemfile")


class RSpec:
    """Plans and hears `rspec`."""

    name = "rspec"

    def plan(self, asked: Asked) -> Plan | Absent:
        environ, root = asked.request.settings.environ, asked.request.workspace.root
        bundled = asked.look.exists("Gemfile")
        program = find_program("bundle" if bundled else "rspec", environ, root)
        if program is None and bundled:
            return Absent("the project has a Gemfile, and Bundler is not installed: there is no `bundle` on the PATH. "
                          "Install it, then type `bundle install`.")  # fmt: skip
        if program is None:
            return Absent("RSpec is not installed: there is no `rspec` on the PATH. Type `gem install rspec`.")
        entries = _entries(asked.request.last_failed or asked.request.selection, asked.look)
        chosen = asked.private / "selection.json"
        chosen.write_text(json.dumps(entries), "utf-8")
        env = {"REGREEN_CHANNEL": "{channel}", "REGREEN_SELECTION": str(chosen)}
        start = (str(program), "exec", "rspec") if bundled else (str(program),)
        own = ("--require", str(_INSIDE), "--format", "Regreen::Formatter")
        shown = () if _formats(asked.arguments) else ("--format", "progress")
        loaded = [str(e["file"]) for e in entries] if all("file" in e for e in entries) else []
        argv = (*start, "--no-drb", "--no-color", *own, *shown, *asked.arguments, *loaded)
        return Plan(argv, str(program), env=env, live=True, data=(bundled, tuple(str(e["entry"]) for e in entries)))

    def read(self, asked: Asked, plan: Plan, ended: Ended) -> Heard:
        bundled, entries = plan.data
        said = _Said(asked, ended.messages)
        status = ended.completed.returncode
        if not ended.messages and status:
            return self._unloaded(ended.log, bundled)
        return said.heard(entries)

    def _unloaded(self, log: Path, bundled: bool) -> Heard:
        """RSpec came not so far as to load our formatter."""
        lines = [line.strip() for line in tail(log).splitlines() if line.strip()]
        absent = next((line for line in lines if _ABSENT.search(line)), "")
        if absent and bundled:
            said = absent.rpartition("': ")[2]
            return Heard(missing=f"Bundler cannot load what the project needs: {said}. Type `bundle install`.")
        if absent:
            return Heard(missing=f"RSpec cannot be loaded: {absent}. Type `gem install rspec`.")
        return Heard(refused=" ".join(lines[:4])[:400]) if lines else Heard(finished=False)


class _Said:
    """The messages of one run, taken together."""

    def __init__(self, asked: Asked, messages: Iterable[Mapping[str, Any]]) -> None:
        self._asked = asked
        self.by_kind: dict[str, list[Mapping[str, Any]]] = {}
        for message in messages:
            self.by_kind.setdefault(str(message.get("k")), []).append(message)

    def _all(self, kind: str) -> list[Mapping[str, Any]]:
        return self.by_kind.get(kind, [])

    def heard(self, entries: tuple[str, ...]) -> Heard:
        ended = self._all("end")
        errors = tuple(self._outside(m, number) for number, m in enumerate(self._all("outside")))
        unmatched = self._unmatched(entries, bool(ended))
        cases = () if entries and len(unmatched) == len(entries) else tuple(self._case(m) for m in ended)
        return Heard(
            cases=cases,
            errors=errors,
            finished=self._finished(),
            running=tuple(str(m["id"]) for m in self._all("start")[len(ended) :]),
            missing=self._missing(),
            unmatched=() if errors else unmatched,
            notes=("nothing ran: `--dry-run` only lists the examples",) if self._dry() else (),
        )

    def _dry(self) -> bool:
        return any(m.get("dry") for m in self._all("collected"))

    def _finished(self) -> bool:
        """An `exit` in an example lets RSpec say farewell, although examples are left."""
        told = self._all("told")
        if not told or len(self._all("start")) > len(self._all("end")):
            return False
        expected = sum(int(m.get("total", 0)) for m in self._all("collected"))
        return self._dry() or bool(told[-1].get("stopped")) or len(self._all("end")) >= expected

    def _unmatched(self, entries: tuple[str, ...], any_ran: bool) -> tuple[str, ...]:
        selected = self._all("selected")
        if not selected:
            return () if any_ran else entries
        ambiguous: Mapping[str, list[str]] = selected[-1].get("ambiguous") or {}
        several = (f"{entry} (the name of several: {', '.join(names)})" for entry, names in ambiguous.items())
        return (*map(str, selected[-1].get("unmatched") or ()), *several)

    def _missing(self) -> str:
        """A library that a spec or the project requires, and that is not installed."""
        for message in self._all("outside"):
            wanted = str(message.get("path") or "")
            if wanted and not _is_own(wanted, self._asked.look):
                return f"the library {wanted!r} is not installed: type `bundle install` or `gem install` for it"
        return ""

    def _case(self, m: Mapping[str, Any]) -> Case:
        outcome = _OUTCOMES.get(str(m.get("outcome")), "error")
        failure = _failure(str(m["id"]), m) if outcome in ("failed", "error") else None
        return Case(str(m["id"]), outcome, float(m.get("duration") or 0.0), failure)

    def _outside(self, m: Mapping[str, Any], number: int) -> RawFailure:
        context = str(m.get("context") or "").strip().rstrip(".")
        loaded = re.search(r"while loading (?:\./)?(\S+?)\.?(?:\s|$)", context)
        name = loaded[1] if loaded else context or f"outside of the examples {number + 1}"
        place = (self._asked.look.at(loaded[1]), 0) if loaded else ("", 0)
        return _failure(name, {**m, "place": None}, place)


def _failure(name: str, m: Mapping[str, Any], place: tuple[str, int] = ("", 0)) -> RawFailure:
    told = [Frame(str(f["path"]), int(f["line"]), str(f["name"])) for f in m.get("frames") or ()]
    inner_first = [f for f in told if not _DEPENDENCY.search(f.path)]
    where = m.get("place")
    if where:
        place = (str(where[0]), max(0, int(where[1] or 1) - 1))
    message = str(m.get("message") or "")
    causes = "".join(f"\ncaused by {c}" for c in m.get("causes") or ())
    kind = str(m.get("kind") or "")
    return RawFailure(name, kind, message.strip() or causes.strip(), tuple(reversed(inner_first)), message + causes,
                      place=place)  # fmt: skip


def _entries(selection: Iterable[str], look: Look) -> list[dict[str, str | int]]:
    """Files, folders and places in files (`spec/a_spec.rb:7`, `spec/a_spec.rb[1:2]`), and names; the folder of the
    project itself selects everything."""
    found: list[dict[str, str | int]] = []
    for entry in selection:
        place = _PLACE.search(entry)
        path = (entry[: place.start()] if place else entry).removeprefix("./").rstrip("/")
        if path in ("", "."):
            return []
        if look.exists(path) or look.folder_exists(path):
            found.append({"entry": entry, "file": path, **_position(place)})
        else:
            found.append({"entry": entry, "name": entry})
    return found


def _position(place: re.Match[str] | None) -> dict[str, str | int]:
    if place is None:
        return {}
    return {"line": int(place["line"])} if place["line"] else {"scoped": place["scoped"]}


def _formats(arguments: Iterable[str]) -> bool:
    return any(a.startswith(("-f", "--format")) for a in arguments)


def _is_own(wanted: str, look: Look) -> bool:
    """Whether a file that a `require` did not find would be one of the project's."""
    if wanted.startswith(("/", ".")):
        return True
    top = PurePosixPath(wanted).parts[0]
    names = {p.removesuffix(".rb") for p in look.below() if p.endswith(".rb")}
    return any(n == wanted or n.endswith(f"/{wanted}") or f"lib/{top}" in (n, f"lib/{n}") for n in names) or any(
        p.startswith((f"lib/{top}/", f"{top}/")) for p in names
    )


def _detect(look: Look) -> Sign | None:
    if look.exists(".rspec"):
        return Sign(CONFIGURED, f"{look.at('.rspec')} configures RSpec")
    for name in ("Gemfile", "Gemfile.lock", *(p for p in look.below() if p.endswith(".gemspec") and "/" not in p)):
        if re.search(r"\brspec\b|\brspec-", look.text(name)):
            return Sign(DEPENDENCY, f"{look.at(name)} names rspec")
    found = look.any_below("*_spec.rb")
    return Sign(FILES, f"{look.at(found)} looks like a spec") if found else None


ROW = Row(
    name="rspec",
    language="Ruby",
    marks=("Gemfile", ".rspec", "Rakefile"),
    suffixes=(".rb",),
    detect=_detect,
    run=reported(RSpec()),
)
