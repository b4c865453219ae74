"""Servers that mean no good: whatever they send ends soon, as an answer or as a ProviderError."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
from support import chat_server, messages_server
from support.asking import HELLO, asking
from support.model_wire import Event, Fault, ModelServer, Raw, Reply, Step, frame

from regreen.errors import ConfigError
from regreen.providers import errors
from regreen.providers.anthropic import AnthropicProvider
from regreen.providers.arguments import read_arguments
from regreen.providers.counting import LEAST_ROOM, Room
from regreen.providers.event_stream import EventReader
from regreen.providers.http_faults import Asked
from regreen.providers.messages import Delta, ModelResponse, Provider
from regreen.providers.openai import OpenAIProvider
from regreen.settings.model_tables import check_base_url

KINDS = ("anthropic", "openai")
PATIENCE_S = 5.0
STREAM = {"content-type": "text/event-stream"}
Outcome = ModelResponse | errors.ProviderError


@dataclass(frozen=True)
class Hostile:
    """A provider, and the server that it asks."""

    kind: str
    server: ModelServer
    runner: asyncio.Runner
    provider: Provider

    def ask(self, *steps: Step, deltas: list[Delta] | None = None) -> Outcome:
        """What comes of a question; anything but an answer or a ProviderError fails the test."""
        self.server.script(*steps)
        try:
            return self.runner.run(self.provider.ask(HELLO, None if deltas is None else deltas.append))
        except errors.ProviderError as error:
            return error

    def refused(self, *steps: Step) -> errors.ProviderError:
        outcome = self.ask(*steps)
        assert isinstance(outcome, errors.ProviderError)
        return outcome

    def events(
        self, name: str = "read", call_id: str = "c1", raw: str = '{"path": "é.py"}', **used: Any
    ) -> list[Event]:
        """An answer with all kinds of blocks."""
        if self.kind == "openai":
            calls = [{"tool_calls": [piece]} for piece in chat_server.call(name, raw, call_id)]
            deltas = ({"reasoning": "Hm."}, {"content": "Hello €."}, *calls)
            return list(chat_server.reply(*deltas, finish="tool_calls").events)
        made = messages_server.call(call_id, name, raw)
        blocks = (messages_server.thinking("Hm."), messages_server.text("Hello €."), made)
        return list(messages_server.answer(*blocks, stop="tool_use").events)

    def piece(self, said: str) -> bytes:
        """A piece of text that never comes to an end."""
        if self.kind == "openai":
            return frame(chat_server.chunk({"content": said}))
        delta = {"type": "text_delta", "text": said}
        return frame(("", {"type": "content_block_delta", "index": 0, "delta": delta}))

    def beginning(self) -> bytes:
        return b"".join(map(frame, self.events()[: 0 if self.kind == "openai" else 3]))


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, Hostile]]:
    def claude() -> Provider:
        return AnthropicProvider(model="m", api_key="sk-0123456789", base_url=one.url, timeout_s=PATIENCE_S)

    def chat() -> Provider:
        return OpenAIProvider(model="m", api_key=chat_server.KEY, base_url=f"{two.url}/v1", timeout_s=PATIENCE_S)

    with (
        messages_server.messages_server() as one,
        chat_server.chat_server() as two,
        asking(claude) as (first, anthropic),
        asking(chat) as (second, openai),
    ):
        yield {
            "anthropic": Hostile("anthropic", one, first, anthropic),
            "openai": Hostile("openai", two, second, openai),
        }


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """A few hundred kilobytes that unpack to many megabytes."""
    return gzip.compress(b"data: " + b"x" * 70_000_000, 1)


@pytest.fixture(params=KINDS)
def hostile(request: pytest.FixtureRequest, servers: dict[str, Hostile]) -> Hostile:
    return servers[request.param]


ODD: list[Any] = [
    None, True, -1, 0, 10**30, 1e308, float("inf"), float("nan"), "", "\ud800", "x" * 300, [], {}, [[]], {"a": {}},
]  # fmt: skip
TYPES = [
    "text/event-stream", "text/event-stream; charset=base64", "text/event-stream; charset=\xff", "application/json",
    "text/html; charset=rot13", "", "text/plain; charset=utf-16",
]  # fmt: skip


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys: list[Any] = list(cast("dict[str, Any]", value)) if isinstance(value, dict) else []
    keys += range(len(cast("list[Any]", value))) if isinstance(value, list) else []
    return [path, *(found for key in keys for found in _paths(value[key], (*path, key)))]


def _changed(event: Event, rng: random.Random) -> Event:
    """The event, one of its values another."""
    name, data = event
    if isinstance(data, str):
        return name, rng.choice(["", "{", "null", "[" * 5_000, '{"a":' * 900 + "1" + "}" * 900, "[DONE]", data])
    data = json.loads(json.dumps(data))
    *way, last = rng.choice(_paths(data)[1:])
    held = data
    for key in way:
        held = held[key]
    held[last] = rng.choice(ODD)
    return rng.choice([name, name, "error"]), data


def _mutated(events: list[Event], rng: random.Random) -> bytes:
    """A stream like this one, broken in a few places: in its values, its order and its bytes."""
    events = [event for event in events for _ in range(rng.choice([0, 1, 1, 1, 1, 1, 1, 1, 1, 2]))]
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(events) or 1)
        events[at : at + 1] = [_changed(event, rng) for event in events[at : at + 1]]
    data = bytearray(b"".join(map(frame, events)))
    for _ in range(rng.choice([0, 0, 1, 3])):
        at = rng.randrange(len(data) or 1)
        data[at : at + rng.randrange(3)] = rng.choice(
            [b"", b"\xff", b"\r", b"\n\n", b"\x00", b'"', b"}", rng.randbytes(9)]
        )
    return bytes(data)


def _hostile_step(events: list[Event], rng: random.Random) -> Raw:
    data = rng.randbytes(rng.randrange(200)) if rng.random() < 0.1 else _mutated(events, rng)
    status = rng.choice([200, 200, 200, 200, 200, 200, 204, 302, 400, 404, 429, 500, 599, 999])
    headers = {"content-type": "text/event-stream" if rng.random() < 0.8 else rng.choice(TYPES)}
    if rng.random() < 0.1:
        headers["content-encoding"] = rng.choice(["gzip", "deflate", "br", "identity", "\xff"])
    if rng.random() < 0.1:
        headers["location"] = rng.choice(["//", "http://[", "http://\xff/", "javascript:x", "http://u:p@h:99999/"])
    if rng.random() < 0.1:
        headers["retry-after"] = rng.choice(["nan", "1e999", "\xff", "Wed, 99 Foo 99999 00:00:00 GMT", "9" * 400])
    return Raw(
        gzip.compress(data) if headers.get("content-encoding") == "gzip" and rng.random() < 0.5 else data,
        status,
        headers,
    )


@pytest.mark.parametrize("seed", range(3))
def test_whatever_a_server_sends_is_an_answer_or_a_provider_error(hostile: Hostile, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(30):
        outcome = hostile.ask(_hostile_step(hostile.events(), rng))
        used = outcome.usage
        assert min(used.input, used.output, used.cache_read, used.cache_write) >= 0 and used.total < 10**9
        if isinstance(outcome, ModelResponse):
            assert outcome.usage.input + outcome.usage.cache_read > 0
            json.dumps([dict(c.arguments) for c in outcome.message.calls], allow_nan=False)
            f"{outcome.message} {outcome.model} {outcome.raw_stop}".encode()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("path", ["/evil?token=SECRET", "/v1/messages", "//"])
def test_a_redirect_is_not_followed_and_says_where_it_points(
    hostile: Hostile, elsewhere: ModelServer, status: int, path: str
) -> None:
    host = elsewhere.url.replace("127.0.0.1", "localhost")
    error = hostile.refused(Fault(status, "", {"location": f"{host}{path}"}))
    assert type(error) is errors.RequestRefused and not error.retriable
    assert host in error.message and "`base_url`" in error.hint
    assert "SECRET" not in error.message + error.hint
    assert (len(hostile.server.seen), elsewhere.seen) == (1, [])


@pytest.mark.parametrize("kind", KINDS)
def test_headers_of_the_users_gateway_go_to_the_configured_server_alone(
    servers: dict[str, Hostile], elsewhere: ModelServer, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv(f"{kind.upper()}_CUSTOM_HEADERS", "X-Gateway-Token: gw-777")
    server = servers[kind].server
    url, make = (server.url, AnthropicProvider) if kind == "anthropic" else (f"{server.url}/v1", OpenAIProvider)
    with asking(lambda: make(model="m", api_key="sk-0123456789", base_url=url)) as (runner, provider):
        error = Hostile(kind, server, runner, provider).refused(Fault(307, "", {"location": elsewhere.url}))
    assert server.seen[0].headers["x-gateway-token"] == "gw-777" and elsewhere.seen == []
    assert "gw-777" not in error.message


@pytest.mark.parametrize("location", ["", "http://[", "http://user:SECRET@h:x/", "javascript:SECRET"])
def test_a_redirect_to_nowhere_is_the_same_error(hostile: Hostile, location: str) -> None:
    error = hostile.refused(Fault(302, "", {"location": location} if location else {}))
    assert type(error) is errors.RequestRefused
    assert "SECRET" not in error.message


def test_bytes_that_are_no_utf8_are_a_bad_reply_that_is_asked_for_again(hostile: Hostile) -> None:
    for data in (b"data: \xff\xfe\n\n", hostile.beginning() + b'data: {"a": "\xff"}\n\n'):
        error = hostile.refused(Raw(data))
        assert type(error) is errors.BadReply and error.retriable


@pytest.mark.parametrize("packed", [b"no gzip", gzip.compress(b"data: {}\n\n" * 99)[:40]], ids=["none", "cut"])
def test_packed_bytes_that_cannot_be_unpacked_are_a_retriable_error(hostile: Hostile, packed: bytes) -> None:
    assert hostile.refused(Raw(packed, headers={**STREAM, "content-encoding": "gzip"})).retriable


def test_a_packed_answer_is_unpacked(hostile: Hostile) -> None:
    packed = gzip.compress(b"".join(map(frame, hostile.events())))
    outcome = hostile.ask(Raw(packed, headers={**STREAM, "content-encoding": "gzip"}))
    assert isinstance(outcome, ModelResponse) and outcome.message.text == "Hello €."


def test_an_answer_without_an_end_is_an_error_that_is_not_asked_for_again(hostile: Hostile) -> None:
    deltas: list[Delta] = []
    pieces = hostile.beginning() + hostile.piece("word " * 200)
    outcome = hostile.ask(Raw(pieces, endless=True), deltas=deltas)
    assert type(outcome) is errors.EndlessReply and not outcome.retriable
    assert 60 <= len(deltas) < 80
    assert outcome.usage.input > 0 and outcome.usage.output > 10_000
    assert hostile.server.seen[0].gone.wait(PATIENCE_S)


def test_an_event_without_an_end_is_an_error(hostile: Hostile) -> None:
    assert type(hostile.refused(Raw(b"data: " + b"x" * 65_536, endless=True))) is errors.EndlessReply


@pytest.mark.parametrize("data", [b"data", b"data: x\n", b": \n", b"\r:", b"event: x\r"])
def test_no_way_to_write_an_event_without_an_end_is_read_for_ever(data: bytes) -> None:
    reader = EventReader(Asked("p", "m"), max_event=1_000)
    with pytest.raises(errors.EndlessReply):
        for _ in range(1_001):
            assert reader.feed(data) == []


def _take_nothing(room: Room) -> None:
    room.take("")


def test_pieces_and_blocks_without_anything_in_them_take_room_too() -> None:
    for take, most in ((_take_nothing, LEAST_ROOM), (Room.begin, LEAST_ROOM // 64)):
        room = Room(Asked("p", "m"), 100)
        for _ in range(most):
            take(room)
        with pytest.raises(errors.EndlessReply):
            take(room)


def test_a_long_answer_has_the_room_that_it_was_asked_for() -> None:
    room = Room(Asked("p", "m"), 16_384)
    for _ in range(16_384):
        room.take("x" * 15)
    assert room.characters == 16_384 * 15


@pytest.mark.parametrize("kind", ["application/json", "text/html"])
def test_an_endless_answer_that_is_no_stream_ends(hostile: Hostile, kind: str) -> None:
    outcome = hostile.refused(Raw(b"<html>" * 9_999, headers={"content-type": kind}, endless=True))
    assert isinstance(outcome, errors.BadReply)


@pytest.mark.parametrize("status", [400, 500])
def test_of_an_error_no_more_is_read_than_anybody_looks_at(hostile: Hostile, status: int) -> None:
    endless = Raw(b"too bad " * 9_999, status, {"content-type": "application/json"}, endless=True)
    error = hostile.refused(endless)
    assert "too bad" in error.message and len(error.message) < 500
    assert hostile.server.seen[0].gone.wait(PATIENCE_S)


@pytest.mark.parametrize("status", [200, 400])
def test_little_that_unpacks_to_very_much_is_bounded(hostile: Hostile, bomb: bytes, status: int) -> None:
    error = hostile.refused(Raw(bomb, status, {**STREAM, "content-encoding": "gzip"}))
    assert type(error) is (errors.EndlessReply if status == 200 else errors.RequestRefused)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ('{"n": 1e400}', "`1e400`, which is not a finite number"),
        ('{"n": -1e999}', "not a finite number"),
        ('{"n": Infinity}', "`Infinity`, which is not a finite number"),
        ('{"n": NaN}', "not a finite number"),
        ('{"n": ' + "9" * 4_000 + "}", "4000 digits"),
        ('{"n": ' + "9" * 5_000 + "}", "5000 digits"),
        ('{"a":' + "[" * 64 + "]" * 64 + "}", "nested too deeply"),
        ('{"a":' * 900 + "1" + "}" * 900, "nested too deeply"),
    ],
)
def test_arguments_that_no_tool_can_take_are_a_fault_told_to_the_model(hostile: Hostile, raw: str, says: str) -> None:
    outcome = hostile.ask(Reply(hostile.events(raw=raw)))
    assert isinstance(outcome, ModelResponse)
    (call,) = outcome.message.calls
    assert call.arguments == {} and says in call.fault and "not run" in call.fault and len(call.fault) < 300


GIVEN: list[Any] = [{"n": float("inf")}, {"n": 10**4_000}, {"a": [[]] * 3}, {"a": json.loads("[" * 80 + "]" * 80)}]


@pytest.mark.parametrize("given", GIVEN, ids=["infinite", "long", "right", "deep"])
def test_arguments_that_come_as_an_object_are_read_as_strictly(hostile: Hostile, given: Any) -> None:
    events = json.loads(json.dumps(hostile.events(raw="")))
    for _, data in events:
        if hostile.kind == "anthropic" and data.get("content_block", {}).get("type") == "tool_use":
            data["content_block"]["input"] = given
        elif hostile.kind == "openai" and "'function'" in str(data):
            data["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] = given
    outcome = hostile.ask(Reply(events))
    assert isinstance(outcome, ModelResponse)
    (call,) = outcome.message.calls
    assert bool(call.fault) != (call.arguments == given)


def test_what_is_just_within_the_bounds_is_taken(hostile: Hostile) -> None:
    raw = '{"n": [' + "9" * 20 + ', -1.5e300], "a": ' + "[" * 63 + "]" * 63 + "}"
    outcome = hostile.ask(Reply(hostile.events(raw=raw)))
    assert isinstance(outcome, ModelResponse)
    assert (outcome.message.calls[0].fault, outcome.message.calls[0].arguments) == ("", json.loads(raw))


def test_arguments_of_more_than_a_million_characters_are_a_fault() -> None:
    assert "1000011 characters" in read_arguments('{"text": "' + "x" * 999_999 + '"}')[1]


def test_a_name_or_id_that_is_longer_than_any_is_cut_and_the_call_at_fault(hostile: Hostile) -> None:
    outcome = hostile.ask(Reply(hostile.events(name="read" * 5_000, call_id="c" * 5_000)))
    assert isinstance(outcome, ModelResponse)
    (call,) = outcome.message.calls
    assert len(call.name) == 200 and len(call.id) <= 200
    assert "20000 characters" in call.fault and len(call.fault) < 300


ABSURD: list[Any] = [{}, None, 0, -7, 10**12, 10**400, 1.5, "12", True]


@pytest.mark.parametrize("told", ABSURD, ids=map(str, range(len(ABSURD))))
def test_usage_that_cannot_be_is_estimated(hostile: Hostile, told: Any) -> None:
    events = json.loads(json.dumps(hostile.events(raw=json.dumps({"text": "x" * 400}))))
    objects: list[dict[str, Any]] = [data for _, data in events if isinstance(data, dict)]
    for holder in [*objects, *(data["message"] for data in objects if "message" in data)]:
        if isinstance(holder.get("usage"), dict):
            holder["usage"] = dict.fromkeys(holder["usage"], told) if told != {} else {}
    outcome = hostile.ask(Reply(events))
    assert isinstance(outcome, ModelResponse)
    assert 20 < outcome.usage.input < 200 and 100 < outcome.usage.output < 140
    assert outcome.usage.cache_read == outcome.usage.cache_write == 0


@pytest.mark.parametrize("make", [AnthropicProvider, OpenAIProvider])
@pytest.mark.parametrize("base_url", [
    "http://h/?api_key=SECRET", "http://h/v1#SECRET", "http://u:SECRET@h/", "http://SECRET@h", "http://h:SECRET/",
    "SECRET", "sk-SECRET://h", "http://u:p/SECRET@h",
])  # fmt: skip
def test_an_address_with_a_secret_in_it_is_refused_without_showing_it(make: Any, base_url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make(model="m", api_key="k", base_url=base_url)
    assert "`base_url`" in caught.value.message
    assert "SECRET" not in caught.value.message + caught.value.hint
    with pytest.raises(ConfigError) as caught:
        check_base_url("[provider]: base_url", base_url)
    assert "SECRET" not in caught.value.message + caught.value.hint


def test_events_are_the_same_however_the_bytes_are_cut() -> None:
    text = "\ufeffevent: a\r\ndata: é\r\n\r\ndata:x\rdata: y\r\r: no\n\nid: 1\n\nevent: b\n\n\ndata: z\n\ndata: lost"
    data = text.encode()
    whole = EventReader(Asked("p", "m")).feed(data)
    assert whole == [("a", "é"), ("", "x\ny"), ("b", ""), ("", "z")]
    for size in range(1, 9):
        reader = EventReader(Asked("p", "m"))
        pieces = (data[at : at + size] for at in range(0, len(data), size))
        assert [event for piece in pieces for event in reader.feed(piece)] == whole
