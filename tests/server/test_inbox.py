"""A line that is no message is answered, where it carries an id, so that nobody waits for ever."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from regreen_server import pipes
from regreen_server.inbox import answered_by, complaint

DEEP = b"[" * 100_000 + b"]" * 100_000


def test_character_that_cannot_be_encoded_is_named_as_the_trouble() -> None:
    answer = complaint(rb'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"\udcff"}}')
    assert answer is not None
    assert answer["id"] == 7
    assert "cannot be encoded" in answer["error"]["message"]
    plain = complaint(b'{"id":7,"method":"x"}')
    assert plain is not None
    assert plain["error"]["message"] == "not a JSON-RPC 2.0 request"


@pytest.mark.parametrize(("line", "identity"), [
    (b'{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":' + DEEP + b"}}", 7),
    (b'{"params":{"id":1,"a":' + DEEP + b'},"method":"x","id":"last"}', "last"),
    (b'{"id": 8, "method": "x", "params": {"n": ' + b"9" * 5000 + b"}}", 8),
    (b'{"id": "a\\"b", "method": "x", "params": {"text": "{\\"id\\": 3, \\"method\\":"', 'a"b'),
    (b'{"method":"x","id":-1,"params":', -1),
], ids=["deep", "id last", "long number", "quoted", "cut off"])  # fmt: skip
def test_what_cannot_be_read_is_answered_under_its_own_id(line: bytes, identity: int | str) -> None:
    answer = complaint(line)
    assert answer is not None
    assert (answer["id"], answer["error"]["code"]) == (identity, -32700)


@pytest.mark.parametrize("line", [
    b'{"params":{"id":1,"method":"x"', b'{"id":7,"result":' + DEEP, b'[{"id":7,"method":"x",',
    b'{"id":7.5,"method":"x",', b'{"id":null,"method":"x",', b'x{"id":7,"method":"x"}', b"\xff" * 100,
    b'{"id":' + b"9" * 30 + b',"method":"x",',
], ids=["inner", "answer", "batch", "float", "null", "junk", "bytes", "long id"])  # fmt: skip
def test_what_has_no_id_of_a_request_is_passed_over(line: bytes) -> None:
    assert complaint(line) is None


def test_of_a_line_that_is_too_long_the_beginning_is_kept_to_answer_it() -> None:
    reading, writing = os.pipe()
    request = b'{"id":9,"method":"x","params":{"text":"'
    sent = request + b"x" * 300_000 + b'"}}\n{"id":10}\n' + request + b"y" * 300_000

    def write() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(sent)

    writer = threading.Thread(target=write)
    writer.start()
    first, second, last = pipes.lines(reading, limit=200_000)
    writer.join()
    os.close(reading)
    assert isinstance(first, pipes.Head) and len(first) <= 64 * 1024 and not isinstance(second, pipes.Head)
    assert second == b'{"id":10}'
    answer: dict[str, Any] | None = complaint(first)
    assert answer is not None and answer["id"] == 9 and "more than" in answer["error"]["message"]
    assert isinstance(last, pipes.Head)


@pytest.mark.parametrize(("line", "identity"), [
    (b'{"jsonrpc":"2.0","id":3,"result":null}', 3), (b'{"id":"a","result":5}', "a"), (b'{"id":4,"error":"no"}', 4),
    (b'{"id":3}', None), (b'{"id":3,"method":"x","result":1}', None), (b'{"id":null,"result":1}', None),
    (b'{"id":true,"result":1}', None), (b'[{"id":3,"result":1}]', None), (b'{"id":3,"result":', None),
], ids=range(9))  # fmt: skip
def test_what_was_meant_as_an_answer_is_known_by_its_id(line: bytes, identity: int | str | None) -> None:
    assert answered_by(line) == identity
