"""Completions for the paths, tests and runs that resource templates and prompts take.

Rules: what begins as the client has typed, at most 100 of it; nothing is indexed; what cannot be completed gives an
empty answer, never an error.
"""

from __future__ import annotations

import asyncio
import logging
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from regreen.errors import RegreenError
from regreen_server import prompts, resources, run_resources

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CompleteRequestParams, CompleteResult

    from regreen_server.calls import Caller

log = logging.getLogger(__name__)

MOST = 100
Wanted: TypeAlias = Literal["file", "folder", "any", "test", "since", "job", "proposer", ""]

_FRESH_S = 3.0  # names that are older are looked at again, behind the answer
_OLD_S = 30.0  # ... before it
_MOST_REPOS = 8
_RUNS = 200
_LAST = "\U0010ffff"  # sorts behind whatever else a name may go on with
_OF_PROMPTS: dict[str, Wanted] = {"selection": "test", "since": "since", "proposer": "proposer"}
_OF_KINDS: dict[str, Wanted] = {"skeleton": "folder", "signatures": "any", "file": "file"}


@dataclass(frozen=True, slots=True)
class Found:
    """What begins as typed: at most `MOST` of it, and how many there are."""

    values: tuple[str, ...] = ()
    total: int = 0


def of_words(words: Sequence[str], typed: str) -> Found:
    """Words in the order given."""
    found = [word for word in dict.fromkeys(words) if word.startswith(typed)]
    return Found(tuple(found[:MOST]), len(found))


def of_paths(paths: Sequence[str], typed: str, *, files: bool = True, folders: bool = False) -> Found:
    """Paths (sorted) that begin as typed: all of them where they fit in one answer. Else, as a shell does, what comes
    next: the files of the folder that was typed, and its folders, with a slash. `folders`: these by themselves, too."""
    if files and not folders and _count(paths, typed) <= MOST:
        first = bisect_left(paths, typed)
        found = paths[first : first + _count(paths, typed)]
        return Found(tuple(found), len(found))
    found = [n for n in _next(paths, typed) if (files or n.endswith("/"))]
    return Found(tuple(found[:MOST]), len(found))


def _count(paths: Sequence[str], typed: str) -> int:
    return bisect_left(paths, typed + _LAST) - bisect_left(paths, typed)


def _next(paths: Sequence[str], typed: str) -> list[str]:
    """The files and folders (with a slash) in the folder typed. Looks at one path of each, however much is in it."""
    found: list[str] = []
    at, end = bisect_left(paths, typed), bisect_left(paths, typed + _LAST)
    start = typed.rfind("/") + 1
    while at < end:
        name, slash, _ = paths[at][start:].partition("/")
        entry = paths[at][:start] + name + slash
        found.append(entry)
        at = bisect_left(paths, entry + _LAST, at, end) if slash else at + 1
    return found


def wanted_by(params: CompleteRequestParams) -> Wanted:
    """What the argument of this prompt or template is; "" for one that is not known."""
    from mcp_types import PromptReference

    name = params.argument.name
    if isinstance(params.ref, PromptReference):
        known = {p.name: p for p in prompts.PROMPTS}.get(params.ref.name)
        return _OF_PROMPTS.get(name, "") if known is not None and name in known.arguments else ""
    if name == "path":
        kind = next((k for k in resources.KINDS if k.template == params.ref.uri), None)
        return _OF_KINDS.get(kind.name, "") if kind is not None else ""
    is_run = name == "job_id" and params.ref.uri in {t.uri_template for t in run_resources.templates()}
    return "job" if is_run else ""


@dataclass(frozen=True, slots=True)
class Names:
    """The files of a repository, and of these the tests, as they were seen."""

    seen_at: float
    paths: tuple[str, ...]
    tests: tuple[str, ...]


def names_of(paths: tuple[str, ...], known: Names | None) -> Names:
    """These files, as of now; `known` are earlier ones, which are mostly the same."""
    from regreen.repo.classes import is_test_file
    from regreen.repo.languages import language_of

    if known is not None and known.paths == paths:
        return replace(known, seen_at=time.monotonic())
    tests = tuple(path for path in paths if is_test_file(path) and language_of(path) is not None)
    return Names(time.monotonic(), paths, tests)


def of_names(names: Names, wanted: Wanted, typed: str) -> Found:
    if wanted == "test":
        line = typed.rfind("\n") + 1  # one test a line: the last is being typed
        found = of_paths(names.tests, typed[line:])
        return Found(tuple(typed[:line] + v for v in found.values), found.total)
    return of_paths(names.paths, typed, files=wanted != "folder", folders=wanted != "file")


class Completer:
    """Answers `completion/complete`. File names are looked at again every few seconds only: people type fast."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._names: dict[str, Names] = {}
        self._looking: dict[str, asyncio.Future[None]] = {}

    async def complete(self, _ctx: ServerRequestContext[Any], params: CompleteRequestParams) -> CompleteResult:
        from mcp_types import CompleteResult, Completion

        given = (params.context.arguments or {}) if params.context is not None else {}
        wanted = wanted_by(params)
        found = await self._found(wanted, params.argument.value, given.get("repo", "")) if wanted else Found()
        more = found.total > len(found.values)
        return CompleteResult(completion=Completion(values=list(found.values), total=found.total, has_more=more))

    async def _found(self, wanted: Wanted, typed: str, repo: str) -> Found:
        if wanted == "proposer":
            return of_words(prompts.proposers(), typed)
        try:
            if wanted in ("job", "since"):
                runs = await self._caller.do("complete", lambda e: e.known_runs(limit=_RUNS), recovered=False)
                ids = [run.id for run in runs]
                return of_words(ids if wanted == "job" else ["HEAD", *ids], typed)
            return of_names(await self._names_in(repo), wanted, typed)
        except (RegreenError, OSError) as e:  # the call that follows says so to the client
            log.debug("nothing to complete: %s", e)
            return Found()

    async def _names_in(self, repo: str) -> Names:
        """The names as they were seen a while ago, if they were: whoever types waits for no look at the files."""
        known = self._names.get(repo)
        age_s = time.monotonic() - known.seen_at if known is not None else 0.0
        if known is None or age_s > _OLD_S:
            return await self._look(repo)
        if age_s > _FRESH_S and repo not in self._looking:
            self._looking[repo] = look = asyncio.ensure_future(self._look_behind(repo))
            look.add_done_callback(lambda _: self._looking.pop(repo, None))
        return known

    async def _look(self, repo: str) -> Names:
        known = self._names.get(repo)
        seen = await self._caller.do("complete", lambda e: names_of(e.file_names(repo), known), recovered=False)
        if len(self._names) >= _MOST_REPOS:
            self._names.clear()
        self._names[repo] = seen
        return seen

    async def _look_behind(self, repo: str) -> None:
        try:
            await self._look(repo)
        except (RegreenError, OSError) as e:
            log.debug("the files cannot be listed: %s", e)
            self._names.pop(repo, None)
