"""One run of indexing: compare, read what differs, parse what has not been read before, commit in batches.

Reading and hashing happen here, through the workspace; so what is hashed is what is parsed. Parsing goes to processes
of its own once there is more than a little of it. Memory is bounded: no more is read than they are about to need.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import Empty
from typing import NamedTuple

from regreen.errors import RegreenError
from regreen.repo.classes import HUGE_BYTES, role_of, role_of_path
from regreen.repo.facts import FileRole
from regreen.repo.index.database import Database
from regreen.repo.index.parsing import Packed, parse, unread
from regreen.repo.index.planning import UNTRUSTED_NS, Plan, Signature, compare, in_order, signature
from regreen.repo.index.pool import Pool, Task, worker_count
from regreen.repo.index.values import IndexLimits
from regreen.repo.index.writing import ContentKey, FileRow, Writer
from regreen.repo.languages import language_of
from regreen.workspace import Stat, Workspace, is_secret

_CHUNK_FILES = 40
_CHUNK_BYTES = 1 << 18
_CHUNKS_AHEAD = 3  # per process
_BATCH_BYTES = 16 << 20
_POLL_S = 0.1
_SOON_S = 0.2  # until the first commit
_PROBABLY = 4  # times what is parsed here: so much to read is worth processes, though some may be known


class Order(NamedTuple):
    """Which files the index is to agree with, and which of them at once. Later orders have higher numbers."""

    number: int
    stats: Mapping[str, Stat]
    first: tuple[str, ...]


class _Read(NamedTuple):
    """A file as it was read. `note` says why its content is of no use, "" otherwise."""

    row: FileRow
    data: bytes
    note: str


class Run:
    """Brings the database up to date with a list of files. `stop` is asked often; when it says so, what is done stays.

    `tell` is called with how many files are as they should be, and of how many; `later` gives the order that has come
    after another, if any.
    """

    def __init__(
        self, workspace: Workspace, database: Database, limits: IndexLimits,
        tell: Callable[[int, int], None], stop: Callable[[], bool], later: Callable[[Order], Order | None],
    ) -> None:  # fmt: skip
        self._database = database
        self._later = later
        self._workspace = workspace
        self._limits = limits
        self._tell = tell
        self._stop = stop
        self._writer = Writer(database)
        self._pool: Pool | None = None
        self._backlog: list[Task] = []  # not given to any process yet
        self._backlog_bytes = 0
        self._in_flight = 0  # files
        self._waiting: dict[ContentKey, list[FileRow]] = {}  # for their content to be parsed
        self._parsed: dict[ContentKey, Packed] = {}
        self._rows: list[FileRow] = []
        self._batch_bytes = 0
        self._committed_at = time.monotonic() - limits.batch_s + min(_SOON_S, limits.batch_s)
        self.parsed = 0

    def __call__(self, order: Order) -> Order | None:
        """The order that was carried out: this one or a later one. None if it was stopped before."""
        self._writer.begin()
        try:
            while True:
                plan = self._plan(order)
                later = self._work(plan, order)
                if not self._take_results(0):
                    return None
                self._commit()
                if later is None:
                    break
                order = later
        finally:
            if self._pool is not None:
                self._pool.close()
        self._writer.prune(self._limits.spare_contents)
        return order

    def _plan(self, order: Order) -> Plan:
        plan = compare(self._database.known(), order.stats)
        self._done, self._total = plan.total - len(plan.todo), plan.total
        self._tell(self._done, self._total)
        self._writer.write({}, (), plan.gone)
        return plan

    def _work(self, plan: Plan, order: Order) -> Order | None:
        """Read what is to be read and have it parsed; returns a later order as soon as there is one."""
        todo = self._do_at_once(plan, order)
        much = sum(order.stats[path].size for path in todo) > _PROBABLY * self._limits.alone_bytes
        for chunk in self._chunks(in_order(todo, order.first), order.stats):
            self._sort_out(chunk)
            self._hand_out(much)
            if not self._take_results(_CHUNKS_AHEAD * _CHUNK_FILES):
                return None
            self._commit_if_due()
            if later := self._later(order):
                self._finish_backlog()
                return later
        self._finish_backlog()
        return None

    def _do_at_once(self, plan: Plan, order: Order) -> list[str]:
        """Read, parse and commit what was asked for first, if that is little; returns what is left to be done."""
        todo = set(plan.todo)
        first = [path for path in order.first if path in todo][:_CHUNK_FILES]
        if not first or sum(order.stats[path].size for path in first) > self._limits.alone_file_bytes:
            return plan.todo
        self._sort_out([self._read(path, order.stats[path]) for path in first])
        self._parse_backlog()
        self._commit()
        return list(todo.difference(first))

    def _finish_backlog(self) -> None:
        if self._pool is not None:
            self._submit()
        else:
            self._parse_backlog()

    def _parse_backlog(self) -> None:
        for task in self._backlog:
            if self._stop():
                return
            self._finish(task, parse(task.path, task.data))
        self._backlog, self._backlog_bytes = [], 0

    def _chunks(self, todo: Sequence[str], stats: Mapping[str, Stat]) -> Iterator[list[_Read]]:
        chunk: list[_Read] = []
        size = 0
        for path in todo:
            chunk.append(self._read(path, stats[path]))
            size += len(chunk[-1].data)
            if len(chunk) >= _CHUNK_FILES or size >= _CHUNK_BYTES:
                yield chunk
                chunk, size = [], 0
        yield chunk

    def _read(self, path: str, stat: Stat) -> _Read:
        now = time.time_ns()
        entered = signature(stat, now)
        limit = min(self._limits.file_bytes, HUGE_BYTES)
        if stat.size > limit:
            return self._unread(path, entered, "huge", f"too large: {stat.size} bytes, {limit} are read at most")
        try:
            image = self._workspace.image(path, follow=False)
        except RegreenError as e:
            return self._unread(path, (stat.size, UNTRUSTED_NS, stat.ctime_ns, stat.ino), role_of_path(path), e.message)
        if image.kind != "file" or is_secret(image.real):
            return self._unread(path, entered, role_of_path(path), "not a regular file with text to be shown")
        role = role_of(path, image.data)
        note = {"minified": "minified", "huge": "too large"}.get(role, "")
        key = (hashlib.blake2b(image.data, digest_size=16, person=note.encode()[:16]).digest(), _language(path))
        return _Read(FileRow(path, entered, key, role), image.data, note)

    def _unread(self, path: str, entered: Signature, role: FileRole, note: str) -> _Read:
        """A file whose bytes are not known counts as the only one of its content."""
        name = f"{note}\0{path}\0{entered}".encode("utf-8", "surrogateescape")
        key = (hashlib.blake2b(name, digest_size=16, person=b"unread").digest(), _language(path))
        return _Read(FileRow(path, entered, key, role), b"", note)

    def _sort_out(self, chunk: Sequence[_Read]) -> None:
        """What has been read before is entered; what has not goes to the backlog, each content once."""
        known = self._writer.known({file.row.content for file in chunk} - self._parsed.keys() - self._waiting.keys())
        for file in chunk:
            key = file.row.content
            self._batch_bytes += len(file.data)
            if key in self._waiting:
                self._waiting[key].append(file.row)
            elif key in known or key in self._parsed:
                self._rows.append(file.row)
            elif file.note:
                self._parsed[key] = unread(file.note)
                self._rows.append(file.row)
            else:
                self._waiting[key] = [file.row]
                self._backlog.append(Task(key[0], file.row.path, file.data))
                self._backlog_bytes += len(file.data)

    def _hand_out(self, much: bool) -> None:
        if self._pool is None and self._backlog and (much or self._is_large()):
            self._pool = Pool(worker_count(self._limits), self._limits)
        if self._pool is not None:
            self._submit()

    def _is_large(self) -> bool:
        """Whether the backlog is too much to be parsed here, where all other threads would wait for it."""
        if self._backlog_bytes > self._limits.alone_bytes:
            return True
        return any(len(task.data) > self._limits.alone_file_bytes for task in self._backlog)

    def _submit(self) -> None:
        """Give the backlog to the processes, in pieces that all of them get some of."""
        assert self._pool is not None
        self._in_flight += len(self._backlog)
        piece: list[Task] = []
        size = 0
        for task in self._backlog:
            piece.append(task)
            size += len(task.data)
            if size >= _CHUNK_BYTES or len(piece) >= _CHUNK_FILES:
                self._pool.submit(piece)
                piece, size = [], 0
        if piece:
            self._pool.submit(piece)
        self._backlog, self._backlog_bytes = [], 0

    def _take_results(self, leave: int) -> bool:
        """Take what is ready; wait until no more than `leave` files are with the processes. False: to be stopped."""
        while not self._stop():
            if not self._in_flight or self._pool is None:
                return True
            try:
                result = self._pool.results.get(self._in_flight > leave, _POLL_S)
            except Empty:
                if self._in_flight <= leave:
                    return True
                self._commit_if_due()
                continue
            self._in_flight -= 1
            self._finish(result.task, result.packed or parse(result.task.path, result.task.data))
            self._commit_if_due()
        return False

    def _finish(self, task: Task, packed: Packed) -> None:
        key = (task.key, _language(task.path))
        self.parsed += 1
        self._parsed[key] = packed
        self._rows.extend(self._waiting.pop(key))

    def _commit_if_due(self) -> None:
        late = time.monotonic() - self._committed_at > self._limits.batch_s
        if late or len(self._rows) >= self._limits.batch_files or self._batch_bytes > _BATCH_BYTES:
            self._commit()

    def _commit(self) -> None:
        self._writer.write(self._parsed, self._rows, ())
        self._done += len(self._rows)
        self._parsed, self._rows, self._batch_bytes = {}, [], 0
        self._committed_at = time.monotonic()
        self._tell(self._done, self._total)


def _language(path: str) -> str:
    language = language_of(path)
    return language.name if language else ""
