"""What the guard decides by headers and bytes alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.exceptions import HTTPException

from regreen.errors import Busy
from regreen_server.http.app import as_refusal
from regreen_server.http.body import MAX_DEPTH, is_deep
from regreen_server.http.errors import Refusal, status_of
from regreen_server.http.guard import WINDOW_S, WRONG_TOKENS, Allowed, Failures, allowed_on, bearer, check

ALLOWED = allowed_on("127.0.0.1", 8080, ["Shop.example"], ["https://shop.example"])
RIGHT = (b"host", b"127.0.0.1:8080")
PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40)


def kind(*headers: tuple[bytes, bytes], allowed: Allowed = ALLOWED) -> str:
    refusal = check(headers, allowed)
    return refusal.kind if refusal else ""


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080", "shop.example", "SHOP.example"]
)
def test_the_own_names_with_the_port_and_the_users_hosts_are_served(host: str) -> None:
    assert kind((b"host", host.encode())) == ""


HOSTILE_HOSTS = [
    "", "evil.example:8080", "127.0.0.1", "localhost", "127.0.0.1:80", "127.0.0.1:08080", "localhost:8080@evil.example",
    "localhost:8080.evil.example", "127.0.0.1.evil.example:8080", "localhost.:8080", " 127.0.0.1:8080", "[::1]",
    "[::ffff:127.0.0.1]:8080", "0.0.0.0:8080", "2130706433:8080", "shop.example:8080", "*", "127.0.0.1:*",
    "127.0.0.1:8080, evil.example", "localhost:8080\x00", "\u017ehop.example",
]  # fmt: skip


@pytest.mark.parametrize("host", HOSTILE_HOSTS)
def test_any_other_host_is_forbidden(host: str) -> None:
    assert kind((b"host", host.encode())) == "host_forbidden"


def test_on_port_80_the_port_may_be_left_out() -> None:
    plain = allowed_on("127.0.0.1", 80, [], [])
    assert kind((b"host", b"localhost"), allowed=plain) == kind((b"host", b"127.0.0.1:80"), allowed=plain) == ""
    assert kind((b"host", b"localhost:8080"), allowed=plain) == "host_forbidden"


def test_an_address_that_means_all_is_no_name() -> None:
    everywhere = allowed_on("0.0.0.0", 8080, ["shop.example:8080"], [])
    assert kind(RIGHT, allowed=everywhere) == kind((b"host", b"shop.example:8080"), allowed=everywhere) == ""
    assert kind((b"host", b"0.0.0.0:8080"), allowed=everywhere) == "host_forbidden"
    one = allowed_on("fd00::5", 8080, [], [])
    assert kind((b"host", b"[fd00::5]:8080"), allowed=one) == ""


def test_a_missing_or_second_host_is_forbidden_on_a_unix_socket_too() -> None:
    anything = Allowed(None)
    assert kind(allowed=ALLOWED) == kind(allowed=anything) == "host_forbidden"
    assert kind(RIGHT, RIGHT) == kind(RIGHT, (b"Host", b"evil.example"), allowed=anything) == "host_forbidden"
    assert kind((b"host", b"whatever"), allowed=anything) == ""


@settings(max_examples=40)
@given(PRINTABLE)
def test_only_the_listed_hosts_pass(host: str) -> None:
    passes = kind((b"host", host.encode("latin-1"))) == ""
    assert passes == (host.lower() in {"127.0.0.1:8080", "localhost:8080", "[::1]:8080", "shop.example"})


@settings(max_examples=40)
@given(PRINTABLE, st.sampled_from([b"origin", b"Origin", b"ORIGIN"]))
def test_only_the_listed_origin_passes_to_the_letter(origin: str, name: bytes) -> None:
    assert (kind(RIGHT, (name, origin.encode("latin-1"))) == "") == (origin == "https://shop.example")


@pytest.mark.parametrize(
    "origin",
    ["null", "http://localhost:8080", "http://127.0.0.1:8080", "https://shop.example/", "https://shop.example:443",
     "HTTPS://SHOP.EXAMPLE", "https://shop.example.evil.example", "vscode-webview://x", "", "https://shop.example, x"],
)  # fmt: skip
def test_every_other_origin_is_forbidden_even_the_servers_own(origin: str) -> None:
    assert kind(RIGHT, (b"origin", origin.encode())) == "origin_forbidden"


def test_a_listed_origin_passes_and_does_not_cover_a_second_one() -> None:
    listed = (b"origin", b"https://shop.example")
    assert kind(RIGHT, listed) == ""
    assert kind(RIGHT, listed, (b"origin", b"null")) == "origin_forbidden"


@pytest.mark.parametrize(
    ("value", "token"),
    [("Bearer abc", "abc"), ("bearer abc", "abc"), ("BEARER  abc ", "abc"), ("Basic abc", None), ("abc", None),
     ("Bearer", None), ("Bearer ", None), ("", None), ("Bearerabc", None)],
)  # fmt: skip
def test_a_token_is_what_follows_the_scheme(value: str, token: str | None) -> None:
    assert bearer([(b"authorization", value.encode())]) == token


def test_two_authorizations_are_none() -> None:
    assert bearer([(b"authorization", b"Bearer a"), (b"Authorization", b"Bearer b")]) is None
    assert bearer([]) is None


def test_wrong_tokens_are_slowed_by_peer_and_forgotten_after_the_window() -> None:
    now = [100.0]
    failures = Failures(lambda: now[0])
    told = [failures.wrong("a").code for _ in range(WRONG_TOKENS + 1)]
    assert told == [401] * WRONG_TOKENS + [429]
    assert dict(failures.wrong("a").headers)[b"retry-after"] == b"61"
    assert failures.wrong("b").code == 401
    now[0] += WINDOW_S + 1
    assert failures.wrong("a").code == 401


def test_the_memory_for_wrong_tokens_is_bounded() -> None:
    failures = Failures(lambda: 0.0)
    for n in range(5000):
        failures.wrong(str(n))
    assert len(failures) <= 1024


@settings(max_examples=40)
@given(st.recursive(st.none() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) |
                    st.dictionaries(st.text('[{"\\]}', max_size=3), inner, max_size=3), max_leaves=20),
       st.integers(1, 6))  # fmt: skip
def test_the_depth_of_json_is_that_of_its_brackets_outside_of_texts(value: object, limit: int) -> None:
    assert is_deep(json.dumps(value).encode(), limit) == (depth(value) > limit)


def depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@settings(max_examples=40)
@given(st.binary(max_size=40) | st.text('[]{}"\\a', max_size=60).map(str.encode))
def test_any_bytes_have_a_depth_of_at_most_their_brackets(data: bytes) -> None:
    assert not is_deep(data, data.count(b"[") + data.count(b"{"))
    assert is_deep(b"[" * 200 + data)


@pytest.mark.parametrize(
    "body", ["[" * 100_000, '{"a":' * 100_000, '"\\ud800",' + "[" * 1000, '"x\\"' + "[" * 999 + '"' + "[" * 200]
)
def test_deep_json_is_found_also_where_it_is_broken(body: str) -> None:
    assert is_deep(body.encode())


@pytest.mark.parametrize(
    "body",
    ["[" * MAX_DEPTH, "[]" * 100_000, '"' + "[" * 100_000 + '"', '"' + "[" * 100_000, '"\\"' * 300_000 + "[" * 129],
)
def test_long_or_bracketed_text_is_not_deep(body: str) -> None:
    is_deep(body.encode())
    assert not is_deep(body.encode()) or body.endswith("[" * 129)


def test_errors_of_routes_are_told_and_faults_of_our_own_only_by_an_id(caplog: pytest.LogCaptureFixture) -> None:
    busy = as_refusal(Busy("a run holds the tree", "wait"), "POST /x")
    assert (busy.code, busy.kind, busy.hint) == (409, "busy", "wait")
    method = as_refusal(HTTPException(405, headers={"Allow": "GET"}), "POST /healthz")
    assert (method.code, method.kind, method.headers) == (405, "method_not_allowed", ((b"allow", b"GET"),))
    fault = as_refusal(ValueError("the secret is 1234"), "GET /x")
    assert (fault.code, fault.kind) == (500, "internal") and b"1234" not in fault.body
    assert fault.message.split("(")[1][:8] in caplog.text and "1234" in caplog.text


def test_each_kind_has_its_status_and_any_other_is_understood_and_refused() -> None:
    assert (status_of("host_forbidden"), status_of("unauthorized"), status_of("untrusted_workspace")) == (421, 401, 422)
    refusal = Refusal("busy", "m", "h", status=503)
    assert (refusal.code, json.loads(refusal.body)) == (503, {"error": {"kind": "busy", "message": "m", "hint": "h"}})
