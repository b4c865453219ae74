"""An endpoint of chat completions that gives recorded replies, and counts what goes in and out.

A reply is recorded as one or more texts: what a model would say that sees the files in one state or another. That one
is sent whose edits fit the files as they are, so that a loop which leaves a wrong edit in place is not sent an answer
to files that it does not have.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Texts = tuple[str, ...]
NO_IDEA = "I have no further idea."
CHARS_PER_TOKEN = 4

_BLOCK = re.compile(r"^(\S+)\n`{3,}\w*\n<{7} SEARCH\n(.*?)^={7}$", re.MULTILINE | re.DOTALL)


@dataclass
class Counted:
    """What one run asked for: questions, and tokens by characters."""

    questions: int = 0
    sent: int = 0
    received: int = 0


@dataclass
class Script:
    """What is answered in one run: the replies in order, for the tree below `root`."""

    root: Path
    replies: Sequence[Texts]
    counted: Counted = field(default_factory=Counted)

    def answer(self, messages: Any) -> str:
        """The next reply; counts it."""
        at = self.counted.questions
        text = chosen(self.replies[at], self.root) if at < len(self.replies) else NO_IDEA
        self.counted.questions += 1
        self.counted.sent += _characters(messages) // CHARS_PER_TOKEN
        self.counted.received += len(text) // CHARS_PER_TOKEN
        return text


def chosen(texts: Texts, root: Path) -> str:
    """The text whose edits fit the files; the last where none does, as with one that is meant not to."""
    return next((text for text in texts if fits(text, root)), texts[-1])


def fits(text: str, root: Path) -> bool:
    """Does each SEARCH of the text stand in its file exactly once?"""
    blocks = _BLOCK.findall(text)
    return bool(blocks) and all(_once(search, root / path) for path, search in blocks)


def _once(search: str, path: Path) -> bool:
    return path.is_file() and f"\n{path.read_text('utf-8')}".count(f"\n{search}") == 1


def _characters(messages: Any) -> int:
    return sum(len(m["content"] if isinstance(m["content"], str) else json.dumps(m["content"])) for m in messages)


class Endpoint:
    """The server. `script` is set before each run."""

    def __init__(self) -> None:
        self.script = Script(Path(), ())
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with endpoint._lock:
                    text = endpoint.script.answer(body["messages"])
                kind = "text/event-stream" if body.get("stream") else "application/json"
                data = b"".join(_streamed(text, body)) if body.get("stream") else _whole(text, body)
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Says nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _usage(text: str, body: Any) -> dict[str, int]:
    sent, received = _characters(body["messages"]) // CHARS_PER_TOKEN, len(text) // CHARS_PER_TOKEN
    return {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}


def _whole(text: str, body: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    answer = {"id": "r", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
    return json.dumps({**answer, "usage": _usage(text, body)}).encode()


def _streamed(text: str, body: Any) -> Iterator[bytes]:
    head = {"id": "r", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    for delta, finish in (({"role": "assistant", "content": text}, None), ({}, "stop")):
        yield _event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    yield _event({**head, "choices": [], "usage": _usage(text, body)})
    yield b"data: [DONE]\n\n"


def _event(data: object) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()
