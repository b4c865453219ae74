"""Webhooks: told once of a run's end, signed; nothing of them reaches the run."""

import hashlib
import hmac
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import pytest
from support.engines import engine_on, ok, replacement, waiting_for_edits
from support.processes import until
from support.repos import BUG, red_repo

from regreen.errors import ConfigError
from regreen.jobs import Jobs
from regreen.session import webhooks
from regreen.session.webhooks import Ended, payload, signature, wanted
from regreen.settings import Webhook, load_settings
from regreen.settings.webhook_table import is_target

pytestmark = pytest.mark.usefixtures("few_looks")
SECRET = "0123456789abcdef" * 2
FIX = replacement("calc.py", BUG, "    return s + s * rate")


@dataclass
class Receiver:
    """A server that answers with `statuses` in turn, the last one for ever."""

    statuses: list[int]
    url: str = ""
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    holds: threading.Event = field(default_factory=threading.Event)


@contextmanager
def receiver(*statuses: int, hangs: bool = False) -> Generator[Receiver]:
    state = Receiver(list(statuses))
    if not hangs:
        state.holds.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.heard.append((dict(self.headers.items()), body))
            state.holds.wait(60)
            status = state.statuses.pop(0) if len(state.statuses) > 1 else state.statuses[0]
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/hooks?for=regreen"
    try:
        yield state
    finally:
        state.holds.set()
        server.shutdown()
        thread.join()
        server.server_close()


def told(url: str, *when: str) -> dict[str, Any]:
    """The settings of an engine with one webhook."""
    return {"webhooks": (Webhook("ci", url, "HOOK_SECRET", when or ("fixed", "not_fixed")),)}


def events_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "events.jsonl").read_text().splitlines()
    return [e for e in map(json.loads, lines) if e["kind"] == "webhook"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "PAUSES_S", (0.01, 0.01))
    monkeypatch.setenv("HOOK_SECRET", SECRET)


def test_a_fixed_run_is_told_once_signed_and_without_code_even_after_two_failures(tmp_path: Path) -> None:
    root = red_repo(tmp_path / "shop")
    with receiver(500, 503, 204) as hook, engine_on(root, **told(hook.url)) as engine:
        job = waiting_for_edits(engine)
        done = ok(engine, "submit_fix", job_id=job, replacements=[FIX], wait_s=45)
        assert done["outcome"]["reason"] == "fixed"
        assert until(lambda: events_of(engine.store.run_folder(job)) != [])
        (event,) = events_of(engine.store.run_folder(job))
    assert (event["delivered"], event["problem"], event["name"]) == (True, "", "ci")
    assert len(hook.heard) == 3
    assert len({body for _, body in hook.heard}) == 1, "a try again is the same message"
    headers, body = hook.heard[-1]
    message = json.loads(body)
    assert (message["run_id"], message["reason"], message["fixed"]) == (job, "fixed", True)
    assert (message["repository"], message["event"], message["kind"]) == ("shop", "run_finished", "fix")
    assert headers["X-Regreen-Delivery"] == message["delivery"] == event["delivery"]
    signed = headers["X-Regreen-Timestamp"].encode() + b"." + body
    expected = "sha256=" + hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(headers["X-Regreen-Signature"], expected)
    assert b"rate" not in body and str(tmp_path).encode() not in body and SECRET.encode() not in body


def test_a_receiver_that_hangs_delays_neither_the_end_of_a_run_nor_for_long_that_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "CLOSE_WAIT_S", 0.05)
    with receiver(200, hangs=True) as hook:
        with engine_on(red_repo(tmp_path / "r"), **told(hook.url)) as engine:
            job = waiting_for_edits(engine)
            assert ok(engine, "job_cancel", job_id=job)["state"] == "done"
            assert until(lambda: len(hook.heard) == 1)
        assert not hook.holds.is_set(), "the engine has closed while the receiver still held the message"


def test_a_message_is_tried_again_though_the_engine_closes_at_once_and_waiters_are_sooner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = Jobs._tell  # pyright: ignore[reportPrivateUsage]

    def late(jobs: Jobs, job_id: str) -> None:
        threading.Event().wait(0.1)  # the job's thread is slow to tell of what others have seen already
        tell(jobs, job_id)

    monkeypatch.setattr(Jobs, "_tell", late)
    with receiver(500, 204) as hook:
        with engine_on(red_repo(tmp_path / "r"), **told(hook.url)) as engine:
            job = waiting_for_edits(engine)
            ok(engine, "job_cancel", job_id=job)
            folder = engine.store.run_folder(job)
        assert [e["delivered"] for e in events_of(folder)] == [True]
        assert len(hook.heard) == 2


def test_the_secret_is_masked_whatever_its_variable_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGREEN_HOOK", SECRET)
    hooks = (Webhook("ci", "https://ci.example/", "REGREEN_HOOK", ("fixed",)),)
    root = red_repo(tmp_path / "r")
    (root / "leak.txt").write_text(f"it is {SECRET}\n")
    with engine_on(root, webhooks=hooks) as engine:
        assert SECRET not in ok(engine, "read_file", path="leak.txt")["text"]


def problem_of(hook: Webhook) -> str:
    """The problem of one delivery, without a run around it."""
    sender = webhooks.Webhooks((hook,), {"HOOK_SECRET": SECRET}, lambda _: None, lambda v: v, lambda _: "")
    return sender._tried(hook, b"{}", SECRET.encode(), "delivery-1")  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(("status", "tries"), [(302, 1), (400, 1), (404, 1), (429, 3), (500, 3)])
def test_only_what_may_pass_is_tried_again_and_a_redirect_is_not_followed(status: int, tries: int) -> None:
    with receiver(status) as hook:
        problem = problem_of(Webhook("ci", hook.url, "HOOK_SECRET", ("fixed",)))
        assert problem == f"HTTP status {status}"
        assert len(hook.heard) == tries


def test_nobody_listening_is_a_problem_that_is_named() -> None:
    with receiver(200) as gone:
        url = gone.url
    assert "refused" in problem_of(Webhook("ci", url, "HOOK_SECRET", ("fixed",))).lower()


@contextmanager
def dripping(bit: bytes) -> Generator[str]:
    """The address of a receiver that sends this again and again, and never an answer."""

    class Drips(BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                while not over.wait(0.01):
                    self.request.sendall(bit)

    over = threading.Event()
    server = ThreadingTCPServer(("127.0.0.1", 0), Drips)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("bit", [b"HTTP/1.1 100 Continue\r\n\r\n", b"H", b"X: y\r\n"], ids=["100", "status", "headers"])
def test_a_receiver_that_never_comes_to_an_end_is_given_up(bit: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT_S", 0.3)
    with dripping(bit) as url:
        problem = problem_of(Webhook("ci", url, "HOOK_SECRET", ("fixed",)))
    assert "no answer within 0.3 s" in problem or "BadStatusLine" in problem or "LineTooLong" in problem
    assert problem.isprintable()


def test_a_missing_secret_is_told_in_the_run_and_keeps_no_run_from_going_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOOK_SECRET")
    with receiver(204) as hook, engine_on(red_repo(tmp_path / "r"), **told(hook.url)) as engine:
        job = waiting_for_edits(engine)
        assert ok(engine, "submit_fix", job_id=job, replacements=[FIX], wait_s=45)["outcome"]["reason"] == "fixed"
        assert until(lambda: events_of(engine.store.run_folder(job)) != [])
        (event,) = events_of(engine.store.run_folder(job))
    assert event["delivered"] is False and "HOOK_SECRET" in event["problem"]
    assert hook.heard == []


def test_who_is_told_when(tmp_path: Path) -> None:
    fixed = Ended("job-1", "fix", "shop", {"outcome": {"fixed": True, "reason": "fixed"}}, 1.0)
    task = Ended("job-2", "task", "shop", {"outcome": {"verified": True, "kept": True}}, 1.0)
    red = Ended("job-3", "fix", "shop", {"outcome": {"fixed": False, "reason": "no_progress"}}, 1.0)
    fault = Ended("job-4", "fix", "shop", {"error": {"kind": "internal"}}, 1.0)
    for when, expected in (("fixed", [True, True, False, False]), ("not_fixed", [False, False, True, True])):
        hook = Webhook("ci", "https://ci.example", "S", (when,))
        assert [wanted(hook, ended) for ended in (fixed, task, red, fault)] == expected
    assert json.loads(payload(fault, "d"))["reason"] == "internal"


def test_the_signature_is_the_published_one() -> None:
    """Computed with `printf '1700000000.{}' | openssl dgst -sha256 -hmac key`."""
    digest = "9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae"
    assert signature(b"key", "1700000000", b"{}") == f"sha256={digest}"


@pytest.mark.parametrize(("url", "allowed"), [
    ("https://ci.example/hook?x=1", True), ("http://localhost:8080/", True), ("http://127.0.0.1/x", True),
    ("http://[::1]:9/x", True), ("http://ci.example/", False), ("http://127.0.0.1.evil.example/", False),
    ("https://user:pass@ci.example/", False), ("https://ci.example/#x", False), ("ftp://ci.example/", False),
    ("file:///etc/passwd", False), ("https://", False), ("", False), ("https://ci.example:x/", False),
    ("https://ci example/", False), ("http://localhost@evil.example/", False), ("https://[", False),
])  # fmt: skip
def test_where_a_webhook_may_go(url: str, allowed: bool) -> None:
    assert is_target(url) is allowed


@pytest.mark.parametrize(("text", "said"), [
    ('[webhooks.ci]\nurl = "http://ci.example/"\nsecret_env = "S"', "https://"),
    ('[webhooks.ci]\nurl = "https://ci.example/"', "secret_env"),
    ('[webhooks.ci]\nurl = "https://ci.example/"\nsecret_env = "not a name"', "secret_env"),
    ('[webhooks.ci]\nurl = "https://ci.example/"\nsecret_env = "S"\nwhen = ["always"]', "fixed, not_fixed"),
    ('[webhooks.ci]\nurl = "https://ci.example/"\nsecret_env = "S"\nsecret = "x"', "unknown key"),
    ('webhooks = ["https://ci.example"]', "webhooks"),
])  # fmt: skip
def test_a_mistake_in_the_settings_is_told(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(ConfigError) as refusal:
        load_settings({"HOME": str(tmp_path)}, config_file=file)
    assert said in f"{refusal.value.message} {refusal.value.hint}"
    assert str(file) in refusal.value.message


def test_the_settings_of_the_user_are_read(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[webhooks.ci]\nurl = "https://ci.example/hook"\nsecret_env = "CI_SECRET"\nwhen = ["not_fixed"]\n')
    (hook,) = load_settings({"HOME": str(tmp_path)}, config_file=file).webhooks
    assert hook == Webhook("ci", "https://ci.example/hook", "CI_SECRET", ("not_fixed",))


def test_a_job_of_tests_alone_tells_nobody(tmp_path: Path) -> None:
    with receiver(200) as hook, engine_on(red_repo(tmp_path / "r"), **told(hook.url)) as engine:
        ok(engine, "run_tests", selection=["test_calc.py"])
    assert hook.heard == []
