"""What a session knows of its repository's code: the listing, the index, the graph. Each is made at its first use.

Rule: an answer is never of an old state. The listing is looked at again for every call; what changed since is indexed
before the answer is made, or, where that takes too long, the answer says which part of the index it was made from.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from regreen.errors import EnvironmentFault, UsageError
from regreen.model import FileSymbols, Reference, RepoMap, SearchReport, SignatureReport, Skipped, Symbol, SymbolReport
from regreen.sandbox import Cancel

if TYPE_CHECKING:
    from regreen.repo import FileList
    from regreen.repo.index import Index, Progress
    from regreen.repo.listing.listing import Listing
    from regreen.repo.ranking.ranked_map import Mapper
    from regreen.session.repository import Session
    from regreen.session.watching import Watcher

FIRST_ANSWER_S = 2.0  # a caller who can ask again waits this long for an index
NEARLY_DONE_S = 6.0  # ... and this much longer where that is enough to finish it

_LEAST_WAIT_S = 0.3
_OLD_S = 10.0  # so old a graph of a part of the repository may be, while the rest is being indexed
_CHANGED_WEIGHT = 3.0
_FAILING_WEIGHT = 5.0
_MANY_CHANGED = 200  # files
_MAX_FOCUS = 200
_MAX_NOTES = 10
_SEARCH_S = 5.0


class Understanding:
    """Reads one repository. Safe for several threads."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._missing: tuple[FileList | None, tuple[str, ...]] = (None, ())
        self._changed: tuple[FileList | None, frozenset[str]] = (None, frozenset())
        self._making = threading.Lock()  # of what must be made once: from Python 3.12 on cached properties are not
        self._made_index: Index | None = None
        self._watcher: Watcher | None = None
        self._watch = session.settings.watch

    @cached_property
    def _listing(self) -> Listing:
        from regreen.repo.listing.listing import Listing

        return Listing(self._session.workspace, lambda: self._session.git)

    @property
    def _index(self) -> Index:
        from regreen.repo.index import Index

        session = self._session
        with self._making:
            if self._made_index is None:
                self._made_index = Index(session.settings.cache_dir / "index", session.key, session.workspace)
            return self._made_index

    def close(self) -> None:
        with self._making:
            self._watch = False
        if self._watcher is not None:
            self._watcher.close()
        if self._made_index is not None:
            self._made_index.close()

    def files(self, *, watch: bool = True) -> FileList:
        """What git tracks, and what is untracked but not ignored, as of now. `watch`: index what changes from now on,
        where that is possible and wanted."""
        if watch and self._watch:
            self._start_watching()
        return self._listing.current()

    def _start_watching(self) -> None:
        from regreen.session import watching

        with self._making:
            if self._watch:
                self._watch = False
                self._watcher = watching.start(self._session.root, self._look)

    def _look(self) -> None:
        """Bring the index up to date in the background, for whoever asks next."""
        self._index.refresh(self._listing.current(), wait_s=0)

    def signatures(self, paths: Sequence[str], *, max_tokens: int, cursor: str, docstrings: bool) -> SignatureReport:
        """The definitions in files, folders or globs. What the index knows as it is now is not parsed again."""
        from regreen.repo import signatures
        from regreen.repo.signatures import skipped_as

        files = self.files()

        def known(path: str, named: bool) -> FileSymbols | Skipped | None:
            stat = files.stats.get(path)
            found = self._index.file(path, as_of=stat) if stat is not None else None
            return found if found is None or named else skipped_as(path, self._index.role(path)) or found

        return signatures(
            self._session.workspace,
            files,
            paths=paths,
            max_tokens=max_tokens,
            cursor=cursor,
            docstrings=docstrings,
            known=known,
            mask=self._session.redact,
        )

    def map(
        self,
        focus: Sequence[str],
        *,
        max_tokens: int,
        tests: bool,
        wait_s: float | None,
        on_progress: Callable[[str], None] | None = None,
        cancel: Cancel | None = None,
    ) -> RepoMap:
        """The definitions that matter most, for `focus`, the current changes, and the tests that failed last."""
        if len(focus) > _MAX_FOCUS:
            raise UsageError("limit_exceeded", f"the focus has {len(focus)} entries", f"give at most {_MAX_FOCUS}")
        started = time.monotonic()
        files = self.files()
        wanted = list(dict.fromkeys(self._wanted(files, dict.fromkeys(focus))))
        first = [path for path in wanted if path in files.stats]
        changed = self._changed_files(files)
        progress = self._refresh(files, first, _rest(wait_s, started), on_progress, cancel)
        state = self._mapper.state(old_s=_OLD_S if progress.share < 1 else 0.0)
        boosts = self._boosts(files, changed())

        def mapped(most: int) -> RepoMap:
            return self._mapper.map(
                focus=wanted,
                boosts=boosts,
                paths=files.stats,
                max_tokens=most,
                tests=tests,
                indexed=progress.share,
                state=state,
            )

        report = self._masked(mapped, max_tokens)
        notes = report.notes
        if (left := len(notes) - _MAX_NOTES) > 0:
            notes = (*notes[:_MAX_NOTES], f"and {left} more")
        return replace(report, notes=(*notes, *self._unread(files)))

    def _masked(self, mapped: Callable[[int], RepoMap], max_tokens: int) -> RepoMap:
        """The map without secrets. A mask may be longer than what it hides: the budget is that of the masked text."""
        from regreen.repo import estimate_tokens

        most = max_tokens
        while True:
            report = mapped(most)
            text = self._session.redact(report.text)
            tokens = report.tokens if text == report.text else estimate_tokens(text)
            if tokens <= max_tokens or most <= 1:
                return replace(report, text=text, tokens=tokens)
            most = max(1, most - (tokens - max_tokens))

    def symbol(
        self,
        name: str,
        *,
        kind: str,
        references: bool,
        limit: int,
        wait_s: float | None,
        on_progress: Callable[[str], None] | None = None,
        cancel: Cancel | None = None,
    ) -> SymbolReport:
        """Where a name is defined, and used. Names like it where it is not defined."""
        name = name.strip()
        if not name:
            raise UsageError("invalid_arguments", "the name is empty", "give one such as `Cart.total`")
        started = time.monotonic()
        files = self.files()
        progress = self._refresh(files, (), _rest(wait_s, started), on_progress, cancel)
        index, redact = self._index, self._session.redact
        definitions, total = index.definitions(name, kind=kind, limit=limit)
        used, used_total, notes = self._references(files, name, total, limit, cancel) if references else ((), 0, ())
        notes = (*notes, *self._about(name, kind, total, progress, files))
        return SymbolReport(
            definitions=tuple(replace(d, signature=redact(d.signature), doc=redact(d.doc)) for d in definitions),
            references=used,
            definitions_total=total,
            references_total=used_total,
            suggestions=() if total or progress.share < 1 else index.names_like(name),
            indexed=progress.share,
            notes=notes,
        )

    def search(
        self,
        pattern: str,
        *,
        regex: bool,
        globs: Sequence[str],
        context: int,
        limit: int,
        ignore_case: bool,
        cancel: Cancel | None = None,
    ) -> SearchReport:
        """The lines that hold a text, or match a regular expression."""
        from regreen.repo.searching.search import search

        return search(
            self._session.workspace,
            self.files(),
            pattern,
            regex=regex,
            globs=globs,
            context=context,
            limit=limit,
            ignore_case=ignore_case,
            budget_s=_SEARCH_S,
            cancel=cancel,
            mask=self._session.redact,
        )

    # --- parts ---------------------------------------------------------------------------------------

    @cached_property
    def _mapper(self) -> Mapper:
        from regreen.repo.ranking.ranked_map import Mapper

        return Mapper(self._index, self._index.symbols, self._symbols)

    def _symbols(self, wanted: Iterable[tuple[str, int]]) -> Mapping[tuple[str, int], Symbol]:
        """Definitions as the map may show them: what is secret is masked before it is weighed and cut."""
        redact = self._session.redact
        found = self._index.symbols(wanted)
        for place, symbol in found.items():
            if (signature := redact(symbol.signature)) != symbol.signature:
                found[place] = replace(symbol, signature=signature)
        return found

    def _refresh(
        self,
        files: FileList,
        first: Sequence[str],
        wait_s: float | None,
        on_progress: Callable[[str], None] | None,
        cancel: Cancel | None,
    ) -> Progress:
        """Bring the index up to date, or as far as that gets while the caller waits; the rest is done behind him."""
        started = time.monotonic()
        progress = self._index.refresh(files, first=first, wait_s=wait_s, on_progress=on_progress, cancel=cancel)
        if wait_s is None or progress.share >= 1 or not progress.done:
            return progress
        took_s = time.monotonic() - started
        if took_s * (progress.total - progress.done) / progress.done > NEARLY_DONE_S:
            return progress
        return self._index.refresh(files, first=first, wait_s=NEARLY_DONE_S, on_progress=on_progress, cancel=cancel)

    def _about(self, name: str, kind: str, total: int, progress: Progress, files: FileList) -> Iterator[str]:
        """What else is to be said of what was found, or not."""
        if kind and not total and (others := self._index.definitions(name)[0]):
            yield f"no {kind}; it is defined as: {', '.join(sorted({d.kind for d in others}))}"
        if progress.share < 1:
            yield f"{progress.text}: there may be more in the rest; ask again"
        yield from self._unread(files)

    def _unread(self, files: FileList) -> tuple[str, ...]:
        """Languages of the listing whose grammars are not installed."""
        if self._missing[0] is not files:
            from regreen.repo.languages import installed, language_of, missing_text

            counts = Counter(language for path in files.stats if (language := language_of(path)) is not None)
            missing = sorted((missing_text(k), n) for k, n in counts.items() if not installed(k))
            self._missing = (files, tuple(f"{text}: files not read: {n}" for text, n in missing))
        return self._missing[1]

    def _references(
        self, files: FileList, name: str, definitions: int, limit: int, cancel: Cancel | None
    ) -> tuple[tuple[Reference, ...], int, tuple[str, ...]]:
        from regreen.repo.searching.references import references

        paths = [path for path in self._index.files_using(name) if path in files.stats]
        return references(
            self._session.workspace,
            paths,
            name,
            limit=limit,
            definitions=definitions,
            symbols_of=self._symbols_of,
            cancel=cancel,
            mask=self._session.redact,
        )

    def _symbols_of(self, path: str) -> Sequence[Symbol] | None:
        found = self._index.file(path)
        return found.symbols if isinstance(found, FileSymbols) else None

    def _wanted(self, files: FileList, focus: Iterable[str]) -> Iterator[str]:
        """Globs become the files that they match, paths the form that the listing has; names stay."""
        from regreen.repo.selecting import is_glob, select

        for word in focus:
            if is_glob(word):
                yield from select(self._session.workspace, files, [word]).paths
            elif word.startswith(("./", "/")) or ".." in word.split("/"):
                yield self._session.workspace.normalise(word)
            else:
                yield word.rstrip("/")

    def _boosts(self, files: FileList, changed: Iterable[str]) -> dict[str, float]:
        """Files that are being worked on: changed since the last commit, or of tests that failed last."""
        boosts = dict.fromkeys(changed, _CHANGED_WEIGHT)
        for test in self._session.last_failed():
            path = test.partition("::")[0]
            if path in files.stats:
                boosts[path] = _FAILING_WEIGHT
        return boosts

    def _changed_files(self, files: FileList) -> Callable[[], frozenset[str]]:
        """What differs from HEAD, asked of git beside other work, and only when the listing is another.

        Nothing where very much seems to differ: git has not looked at a fresh copy yet, or a branch is far away.
        """
        git = self._session.git
        if git is None or self._changed[0] is files:
            return lambda: self._changed[1]
        found: list[frozenset[str]] = []

        def ask() -> None:
            try:
                changed = git.changed()
            except EnvironmentFault:  # no commit, or a damaged index: nothing is known to have changed
                changed = []
            found.append(frozenset(changed if len(changed) <= _MANY_CHANGED else ()))

        thread = threading.Thread(target=ask, name="regreen-changed", daemon=True)
        thread.start()

        def result() -> frozenset[str]:
            thread.join()
            self._changed = (files, found[0])
            return found[0]

        return result


def _rest(wait_s: float | None, started: float) -> float | None:
    """What is left of a wait that began earlier."""
    return None if wait_s is None else max(_LEAST_WAIT_S, wait_s - (time.monotonic() - started))
