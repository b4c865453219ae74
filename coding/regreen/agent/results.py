"""Long replies: the model is shown beginning and end, the whole is kept, and `read_result` pages through it.

Rules: what is shown never exceeds its budget, the marker included; it is cut at ends of lines where that is possible;
pages put together are the whole. Texts come here redacted, so that no cut leaves half of a secret.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from regreen.agent.tool import Tool, ToolContext, ToolReply
from regreen.errors import UsageError
from regreen.wire import MAX_NAME, Json, shortened, shown

READ_RESULT = "read_result"
MIN_CHARS = 400  # smaller budgets are taken for this: a marker has to fit, and something to read besides
MAX_CHARS = 2_000_000  # of one reply; what is beyond is dropped
MAX_KEPT = 50
MAX_KEPT_CHARS = 8_000_000


@dataclass(frozen=True, slots=True)
class Parts:
    """Where a text is cut: what lies in `head:tail` is not shown."""

    head: int
    tail: int


def parts(text: str, room: int, head_share: float) -> Parts:
    """Beginning and end of a text, of `room` characters together."""
    head_room = int(room * head_share)
    head = line_end(text, 0, head_room)
    wanted = len(text) - (room - head_room)
    tail = text.find("\n", wanted - 1) + 1 if wanted > 0 else 0
    if not wanted <= tail <= wanted + (len(text) - wanted) // 2:
        tail = wanted  # a line that is longer than half of the room is cut
    return Parts(head, tail)


def line_end(text: str, start: int, room: int) -> int:
    """Where a piece of at most `room` characters from `start` ends: behind a line, or in one that is too long."""
    end = start + room
    if end >= len(text):
        return len(text)
    line = text.rfind("\n", start, end) + 1
    return line if line > start + room // 2 else end


class Results:
    """The whole of the replies that were too long to be shown. The oldest go first. Safe from several threads."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._lock = threading.Lock()
        self._made = 0

    def fitted(self, text: str, max_chars: int, head_share: float) -> str:
        """The text within `max_chars`; where something is left out, the whole is kept."""
        max_chars = max(max_chars, MIN_CHARS)
        if len(text) <= max_chars:
            return text
        handle = self._keep(text)
        room = max_chars - len(_marker(len(text), handle, len(text)))
        cut = parts(text, room, head_share)
        return text[: cut.head] + _marker(cut.tail - cut.head, handle, cut.head) + text[cut.tail :]

    def _keep(self, text: str) -> str:
        with self._lock:
            self._made += 1
            handle = f"r{self._made}"
            self._texts[handle] = text
            while len(self._texts) > 1 and (
                len(self._texts) > MAX_KEPT or sum(map(len, self._texts.values())) > MAX_KEPT_CHARS
            ):
                self._texts.popitem(last=False)
        return handle

    def page(self, handle: str, offset: int, room: int) -> tuple[str, int]:
        """A piece of a kept text from `offset`, and where the next one begins (the text's length: nowhere).

        Raises UsageError (`not_found`, `limit_exceeded`).
        """
        with self._lock:
            text = self._texts.get(handle)
            kept = ", ".join(self._texts) or "none"
        if text is None:
            raise UsageError("not_found", f"no result `{shortened(handle, MAX_NAME)}` is kept",
                             f"kept: {kept}; call the tool again that gave it")  # fmt: skip
        if not 0 <= offset < len(text):
            raise UsageError("limit_exceeded", f"`offset` is {shown(offset)}, of {len(text)} characters",
                             f"give 0 to {len(text) - 1}")  # fmt: skip
        end = line_end(text, offset, room)
        return text[offset:end], end

    def length(self, handle: str) -> int:
        with self._lock:
            return len(self._texts.get(handle, ""))


def _marker(left_out: int, handle: str, offset: int) -> str:
    return f'\n... {left_out} characters left out; {READ_RESULT}(handle="{handle}", offset={offset}) has the rest ...\n'


def read_result(results: Results, max_chars: int) -> Tool:
    """The tool that pages through what `results` keeps."""
    max_chars = max(max_chars, MIN_CHARS)

    def run(arguments: Mapping[str, Json], _: ToolContext) -> ToolReply:
        handle, offset = _checked(arguments)
        length = results.length(handle)
        room = max_chars - len(_more(length, handle, length))
        text, end = results.page(handle, offset, room)
        return ToolReply(text + (_more(length - end, handle, end) if end < length else ""))

    return Tool(
        name=READ_RESULT,
        description="More of a tool result that was cut: the text from `offset` (characters) of the result `handle`.",
        schema={
            "type": "object",
            "properties": {
                "handle": {"type": "string", "description": "as the cut result names it"},
                "offset": {"type": "integer", "minimum": 0},
            },
            "required": ["handle"],
        },
        run=run,
        read_only=True,
        max_chars=max_chars,
    )


def _more(left: int, handle: str, offset: int) -> str:
    return f'\n... {left} characters more: {READ_RESULT}(handle="{handle}", offset={offset})'


def _checked(arguments: Mapping[str, Json]) -> tuple[str, int]:
    unknown = [n for n in arguments if n not in ("handle", "offset")]
    if unknown:
        raise UsageError("unknown_argument", f"{READ_RESULT} has no argument `{shortened(unknown[0], MAX_NAME)}`",
                         "known: handle, offset")  # fmt: skip
    handle, offset = arguments.get("handle"), arguments.get("offset", 0)
    if not isinstance(handle, str):
        raise UsageError("invalid_arguments", f"{READ_RESULT} needs `handle`, a string", "as the cut result names it")
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise UsageError("invalid_arguments", f"`offset` is {shown(offset)}, not a whole number", "give 0 or more")
    return handle, offset
