"""A message with an escape that is no character is answered so that the caller knows what to change."""

from __future__ import annotations

from regreen_server.inbox import complaint


def test_character_that_cannot_be_encoded_is_named_as_the_trouble() -> None:
    answer = complaint(rb'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"\udcff"}}')
    assert answer is not None
    assert answer["id"] == 7
    assert "cannot be encoded" in answer["error"]["message"]
    plain = complaint(b'{"id":7,"method":"x"}')
    assert plain is not None
    assert plain["error"]["message"] == "not a JSON-RPC 2.0 request"
