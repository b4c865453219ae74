"""Signed messages to the user's own addresses when a run has ended.

Rules: a run neither waits for them nor fails by them; the addresses come from the user's settings alone; no code, no
prompt and no path is in a message; redirects are not followed. A message may arrive twice, with the same delivery id.
What speaks HTTP is imported when there is something to send.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from regreen.errors import RegreenError
from regreen.jobs import Job, Jobs
from regreen.redact import Redactor
from regreen.settings import Settings, Webhook
from regreen.store import Store, new_id
from regreen.wire import Json, shortened

if TYPE_CHECKING:
    import socket

_log = logging.getLogger(__name__)

SCHEMA_VERSION = 1
CLOSE_WAIT_S = 3.0
"""How long the end of a process waits for messages that are on their way."""
TIMEOUT_S = 10.0
"""For one try, from the connection to the status, whatever the receiver sends bit by bit."""
PAUSES_S = (1.0, 4.0)
"""Between the three tries."""
_TRY_AGAIN = frozenset({408, 425, 429, *range(500, 600)})
_MAX_REASON = 200


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended, as its receivers are told of it."""

    run_id: str
    kind: str
    repository: str
    data: Mapping[str, Any]
    finished: float

    @property
    def fixed(self) -> bool:
        outcome = _part(self.data, "outcome")
        return outcome.get("fixed") is True or (outcome.get("verified") is True and outcome.get("kept") is True)

    @property
    def reason(self) -> str:
        return str(_part(self.data, "outcome").get("reason") or _part(self.data, "error").get("kind") or "")


def _part(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value: Mapping[str, Any] | None = data.get(name)
    return value or {}


def payload(ended: Ended, delivery: str) -> bytes:
    """The body of a message."""
    outcome = _part(ended.data, "outcome")
    body = {
        "schema_version": SCHEMA_VERSION,
        "event": "run_finished",
        "delivery": delivery,
        "run_id": ended.run_id,
        "kind": ended.kind,
        "repository": ended.repository,
        "reason": ended.reason,
        "fixed": ended.fixed,
        "verified": outcome.get("verified") is True,
        "kept": outcome.get("kept") is True,
        "restored": outcome.get("restored") is True,
        "attempts": len(ended.data.get("attempts") or ()),
        "fixed_tests": len(outcome.get("fixed_tests") or ()),
        "finished": round(ended.finished, 3),
    }
    return json.dumps(body, separators=(",", ":")).encode()


def signature(secret: bytes, timestamp: str, body: bytes) -> str:
    """The value of `X-Regreen-Signature`: HMAC-SHA256 over the timestamp, a dot and the body."""
    import hmac

    return "sha256=" + hmac.new(secret, timestamp.encode() + b"." + body, "sha256").hexdigest()


def missing(hook: Webhook, environ: Mapping[str, str]) -> str:
    """Why this receiver cannot be told of anything; "" where it can."""
    return "" if environ.get(hook.secret_env) else f"{hook.secret_env}, its secret, is not in the environment"


def wanted(hook: Webhook, ended: Ended) -> bool:
    return ("fixed" if ended.fixed else "not_fixed") in hook.when


class Webhooks:
    """The receivers of one process. `hear` is told of each job that has changed."""

    def __init__(
        self,
        hooks: tuple[Webhook, ...],
        environ: Mapping[str, str],
        job: Callable[[str], Job | None],
        redact: Callable[[Json], Json],
        root_of_ended: Callable[[str], str | None],
    ) -> None:
        self._hooks = hooks
        self._environ = environ
        self._job = job
        self._redact = redact
        self._root_of_ended = root_of_ended
        self._told: WeakSet[Job] = WeakSet()
        self._changed = threading.Condition()
        self._under_way = 0

    def hear(self, job_id: str) -> None:
        """Send what is to be sent of a job, if it is a run that has ended; from any thread, once for each."""
        job = self._job(job_id)
        if not self._hooks or job is None or job.kind == "test" or job.state != "done":
            return
        with self._changed:
            if job in self._told:
                return
            self._told.add(job)
        root = self._ended(job)
        if root is None:
            return
        data = cast("dict[str, Any]", self._redact(job.data()))
        name = PurePath(root).name
        ended = Ended(job_id, job.kind, str(self._redact(name)), data, time.time())
        for hook in self._hooks:
            if wanted(hook, ended):
                self._start(hook, ended, job)

    def close(self) -> None:
        """Wait a moment for what is on its way, and is tried again."""
        with self._changed:
            self._changed.wait_for(lambda: self._under_way == 0, CLOSE_WAIT_S)

    def _ended(self, job: Job) -> str | None:
        """The folder of its repository, if its end is on record; None while what it changed is still to be put back."""
        try:
            return self._root_of_ended(job.id)
        except RegreenError as e:
            _log.warning("no webhook was told of %s: %s", job.id, e)
            return None

    def _start(self, hook: Webhook, ended: Ended, job: Job) -> None:
        with self._changed:
            self._under_way += 1
        threading.Thread(target=self._deliver, args=(hook, ended, job), name="regreen-webhook", daemon=True).start()

    def _deliver(self, hook: Webhook, ended: Ended, job: Job) -> None:
        delivery = new_id("delivery")
        problem = "not tried"
        try:
            problem = missing(hook, self._environ) or self._tried(
                hook, payload(ended, delivery), self._environ[hook.secret_env].encode("utf-8", "surrogateescape"),
                delivery,
            )  # fmt: skip
        finally:
            if problem:
                _log.warning("the webhook %r was not told of %s: %s", hook.name, ended.run_id, problem)
            if job.log is not None:
                job.log.emit("webhook", name=hook.name, delivery=delivery, delivered=not problem, problem=problem)
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def _tried(self, hook: Webhook, body: bytes, secret: bytes, delivery: str) -> str:
        """Why it could not be delivered; "" where it was."""
        from http.client import HTTPException

        problem = ""
        for pause_s in (0.0, *PAUSES_S):
            time.sleep(pause_s)
            try:
                status = post(hook.url, body, secret, delivery)
            except (OSError, HTTPException, ValueError) as e:
                problem = shortened(f"{type(e).__name__}: {e!s}".encode("unicode_escape").decode(), _MAX_REASON)
                continue
            if 200 <= status < 300:
                return ""
            problem = f"HTTP status {status}"
            if status not in _TRY_AGAIN:
                return problem
        return problem


def webhooks_of(settings: Settings, store: Store, jobs: Jobs, redact: Redactor) -> Webhooks:
    """Those of the settings, which hear of this process's jobs from now on."""

    def root_of_ended(run_id: str) -> str | None:
        rows = store.rows(
            "SELECT repos.root FROM runs LEFT JOIN repos ON repos.key = runs.repo"
            " WHERE runs.id = ? AND runs.finished IS NOT NULL",
            run_id,
        )
        return str(rows[0]["root"] or "") if rows else None

    made = Webhooks(settings.webhooks, settings.environ, jobs.live, redact.deep, root_of_ended)
    if settings.webhooks:
        jobs.watch(made.hear)
    return made


def post(url: str, body: bytes, secret: bytes, delivery: str) -> int:
    """Send one message; the status of the answer. Raises OSError, HTTPException and ValueError."""
    import http.client
    import socket
    import ssl
    from importlib.metadata import version
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    assert parts.hostname
    timestamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"regreen/{version('regreen')}",
        "X-Regreen-Delivery": delivery,
        "X-Regreen-Timestamp": timestamp,
        "X-Regreen-Signature": signature(secret, timestamp, body),
    }
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    is_tls = parts.scheme == "https"
    begun = time.monotonic()
    connected = socket.create_connection((parts.hostname, parts.port or (443 if is_tls else 80)), timeout=TIMEOUT_S)
    with connected, _limited(connected, begun + TIMEOUT_S - time.monotonic()):
        connection = http.client.HTTPConnection(parts.hostname, parts.port)
        context = ssl.create_default_context() if is_tls else None
        connection.sock = context.wrap_socket(connected, server_hostname=parts.hostname) if context else connected
        try:
            connection.request("POST", path, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()


@contextmanager
def _limited(connected: socket.socket, seconds: float) -> Generator[None]:
    """Whatever is done over this connection within the block ends when the time is over, with TimeoutError."""
    import socket
    from http.client import HTTPException

    over = threading.Event()
    other_end = connected.dup()  # TLS takes the socket itself away

    def end() -> None:
        over.set()
        with suppress(OSError):
            other_end.shutdown(socket.SHUT_RDWR)

    limit = threading.Timer(seconds, end)
    limit.daemon = True
    limit.start()
    try:
        yield
    except (OSError, HTTPException) as e:
        if over.is_set():
            raise TimeoutError(f"no answer within {TIMEOUT_S:g} s") from e
        raise
    finally:
        limit.cancel()
        other_end.close()
