"""What goes wrong between us and Claude, each as an error of its own: over real HTTP, cut and stalled."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from email.utils import formatdate

import pytest
from support.asking import HELLO, PATIENCE_S, asking, failure, streamed
from support.messages_server import MODEL, answer, call, error_body, error_event, messages_server, text, usage
from support.model_wire import Cut, Event, Fault, Json, ModelServer, Reply, Stall

from regreen.providers import errors
from regreen.providers.anthropic import AnthropicProvider
from regreen.providers.messages import Provider, TokenUsage

KEY = "sk-ant-a-key-of-no-use-at-all-0123456789"
Asked = tuple[asyncio.Runner, Provider]
HASTE_S = 0.2
WHOLE = answer(text("Hel", "lo"), used=usage(10, 7, read=300))


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with messages_server() as server:
        yield server


@pytest.fixture(scope="module")
def asked(server: ModelServer) -> Iterator[Asked]:
    def make() -> Provider:
        return AnthropicProvider(model=MODEL, api_key=KEY, base_url=server.url, timeout_s=PATIENCE_S)

    with asking(make) as asked:
        yield asked


@pytest.fixture(scope="module")
def hasty(server: ModelServer) -> Iterator[Asked]:
    def make() -> Provider:
        return AnthropicProvider(model=MODEL, api_key=KEY, base_url=server.url, timeout_s=HASTE_S)

    with asking(make) as asked:
        yield asked


def _body(kind: str, message: str = "No.", **details: str) -> Json:
    return error_body(kind, message, **details)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, _body("authentication_error", "invalid x-api-key"), errors.Unauthorized),
        (403, _body("permission_error"), errors.Unauthorized),
        (402, _body("billing_error"), errors.QuotaSpent),
        (400, _body("invalid_request_error", "Your credit balance is too low to ask Claude."), errors.QuotaSpent),
        (429, _body("rate_limit_error", error_code="enforced_spend_limit_reached"), errors.QuotaSpent),
        (404, _body("not_found_error", "model: claude-none"), errors.ModelNotFound),
        (400, _body("invalid_request_error", "prompt is too long: 210000 tokens > 200000"), errors.ContextOverflow),
        (
            400,
            _body("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000"),
            errors.ContextOverflow,
        ),
        (413, _body("request_too_large"), errors.ContextOverflow),
        (400, _body("invalid_request_error", "tools.0.name: too short"), errors.RequestRefused),
        (409, _body("conflict_error"), errors.RequestRefused),
        (408, _body("timeout_error"), errors.ModelTimeout),
        (429, _body("rate_limit_error", "This request would exceed your tokens per minute"), errors.RateLimited),
        (500, _body("api_error"), errors.ServerFault),
        (504, _body("timeout_error"), errors.ServerFault),
        (503, "Service Unavailable", errors.Overloaded),
        (529, _body("overloaded_error", "Overloaded"), errors.Overloaded),
        (502, "", errors.ServerFault),
        (418, "[1, 2]", errors.RequestRefused),
    ],
)
def test_each_status_is_an_error_of_its_own(
    server: ModelServer, asked: Asked, status: int, body: Json, kind: type[errors.ProviderError]
) -> None:
    server.script(Fault(status, body))
    error = failure(*asked)
    assert type(error) is kind
    assert f"anthropic ({MODEL})" in error.message
    assert error.hint
    assert KEY not in error.message + error.hint
    assert error.usage == TokenUsage()


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "9" * 99}, 1e9),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": formatdate(0, usegmt=True)}, 0.0),
        ({}, None),
    ],
)
def test_how_long_to_wait_is_read_from_a_rate_limit(
    server: ModelServer, asked: Asked, headers: dict[str, str], wait: float | None
) -> None:
    server.script(Fault(429, _body("rate_limit_error", "Slow down."), headers))
    assert failure(*asked).retry_after_s == wait


def test_what_a_proxy_writes_in_html_is_told_short_and_plain(server: ModelServer, asked: Asked) -> None:
    said = "<h1>Bad   gateway &amp; more</h1>" + "<p>x</p>" * 5_000
    page = f"<html><head><style>p {{}}</style></head><body>{said}</body></html>"
    server.script(Fault(502, page, {"content-type": "text/html"}))
    error = failure(*asked)
    assert "Bad gateway & more x x" in error.message
    assert "<" not in error.message
    assert len(error.message) < 450


def test_the_key_is_masked_where_an_error_says_it(server: ModelServer, asked: Asked) -> None:
    server.script(Fault(401, _body("authentication_error", f"`{KEY}` is not a key")))
    assert "[redacted:" in (error := failure(*asked)).message
    assert KEY not in error.message


def test_an_error_names_the_request_for_the_providers_support(server: ModelServer, asked: Asked) -> None:
    server.script(Fault(500, _body("api_error"), {"request-id": "req_123"}))
    assert "req_123" in failure(*asked).message


BROKEN: list[tuple[Event, type[errors.ProviderError]]] = [
    (error_event("overloaded_error", "Overloaded"), errors.Overloaded),
    (error_event("api_error", "Internal server error"), errors.ServerFault),
    (error_event("rate_limit_error", "Slow down"), errors.RateLimited),
    (error_event("invalid_request_error", "prompt is too long"), errors.ContextOverflow),
    (error_event("a_new_error", "?"), errors.ServerFault),
    (("content_block_delta", "{"), errors.BadReply),
    (("content_block_delta", "[1]"), errors.BadReply),
    (("content_block_delta", {"type": "content_block_delta", "index": 9, "delta": {}}), errors.BadReply),
    (("content_block_delta", {"type": "content_block_delta", "delta": {}}), errors.BadReply),
    (("content_block_start", {"type": "content_block_start", "index": 1}), errors.BadReply),
    (
        ("content_block_start", {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use"}}),
        errors.BadReply,
    ),
]


@pytest.mark.parametrize(("event", "kind"), BROKEN)
def test_an_error_in_mid_stream_is_typed_and_carries_what_was_used(
    server: ModelServer, asked: Asked, event: Event, kind: type[errors.ProviderError]
) -> None:
    server.script(Reply((*WHOLE.events[:4], event, *WHOLE.events[4:])))
    error = failure(*asked)
    assert type(error) is kind
    assert error.usage == TokenUsage(10, 1, 300)


@pytest.mark.parametrize("after", range(len(WHOLE.events)))
@pytest.mark.parametrize("clean", [False, True])
def test_a_stream_that_ends_before_its_end_is_a_lost_connection(
    server: ModelServer, asked: Asked, after: int, clean: bool
) -> None:
    server.script(Cut(WHOLE, after, clean))
    error = failure(*asked)
    assert type(error) is errors.ConnectionLost
    assert error.retriable
    assert error.usage.input == (10 if after else 0)
    assert error.usage.output == (0, 1, 1, 1, 1, 2, 2, 7)[after]  # told, or by what came


def test_a_cut_after_the_last_word_loses_nothing(server: ModelServer, asked: Asked) -> None:
    server.script(Cut(WHOLE, len(WHOLE.events)))
    assert streamed(*asked)[0].message.text == "Hello"


def test_a_connection_that_is_cut_before_the_answer_is_lost(server: ModelServer, asked: Asked) -> None:
    server.script(Cut(WHOLE, -1))
    assert "could not be used" in failure(*asked).message


def test_a_server_that_is_not_there_is_named(asked: Asked) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and never listened on: nobody else gets the port
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with asking(lambda: AnthropicProvider(model=MODEL, api_key=KEY, base_url=url)) as nobody:
            error = failure(*nobody)
    assert type(error) is errors.ConnectionLost
    assert url in error.message


@pytest.mark.parametrize(("after", "says"), [(-1, "did not begin"), (0, "did not begin"), (5, "fell silent")])
def test_silence_is_a_timeout_and_ends_the_connection(server: ModelServer, hasty: Asked, after: int, says: str) -> None:
    stall = Stall(WHOLE, after)
    server.script(stall)
    error = failure(*hasty)
    assert type(error) is errors.ModelTimeout
    assert says in error.message
    assert f"{HASTE_S} s" in error.message
    assert stall.reached.is_set()
    assert server.seen[0].gone.wait(PATIENCE_S)


def test_a_front_end_that_is_slow_to_show_is_not_taken_for_a_silent_model(server: ModelServer, hasty: Asked) -> None:
    runner, provider = hasty
    server.script(answer(text("Hel", "lo")))
    never = threading.Event()

    def slowly(_: object) -> None:
        never.wait(HASTE_S * 1.2)

    assert runner.run(provider.ask(HELLO, slowly)).message.text == "Hello"


def test_a_server_that_only_says_that_it_lives_is_given_up(server: ModelServer) -> None:
    def make() -> Provider:
        return AnthropicProvider(model=MODEL, api_key=KEY, base_url=server.url, timeout_s=0.02)

    pings = [("ping", {"type": "ping"})] * 200_000
    server.script(Reply((*WHOLE.events[:2], *pings)))
    with asking(make) as impatient:
        assert type(failure(*impatient)) is errors.ModelTimeout


def test_an_answer_that_is_no_stream_is_a_bad_reply(server: ModelServer, asked: Asked) -> None:
    server.script(Fault(200, "<html>Log in to the hotel's network</html>", {"content-type": "text/html"}))
    error = failure(*asked)
    assert type(error) is errors.BadReply
    assert "text/html" in error.message
    assert "base_url" in error.hint


def test_after_any_fault_the_next_question_is_answered(server: ModelServer, asked: Asked) -> None:
    faults = Fault(529), Cut(WHOLE, 3), Reply((*WHOLE.events[:4], error_event("overloaded_error", "Overloaded")))
    server.script(*faults, WHOLE)
    kinds = [type(failure(*asked)) for _ in faults]
    assert kinds == [errors.Overloaded, errors.ConnectionLost, errors.Overloaded]
    assert streamed(*asked)[0].message.text == "Hello"


def test_a_half_written_call_of_a_lost_connection_is_nobodys_call(server: ModelServer, asked: Asked) -> None:
    half = answer(call("c1", "write", {"path": "a.py", "text": "x"}), stop="tool_use")
    server.script(Cut(half, after=5))
    assert type(failure(*asked)) is errors.ConnectionLost
