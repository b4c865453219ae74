"""How long one answer may become, and what it used: pure arithmetic, the same for every provider of HTTP."""

from __future__ import annotations

from regreen.providers.conversation import CHARS_PER_TOKEN
from regreen.providers.errors import EndlessReply
from regreen.providers.http_faults import Asked
from regreen.providers.messages import TokenUsage

LEAST_ROOM = 64 * 1024
ROOM_PER_TOKEN = 16  # characters; few tokens of any text are longer, and hardly one of these follows another
ROOM_OF_BLOCK = 64  # what a block or call takes of it besides what it says
MAX_COUNT = 100_000_000  # tokens; no question and no answer has more


class Room:
    """How much an answer may stream: text, thinking and arguments together. `characters` is what came so far."""

    def __init__(self, asked: Asked, max_tokens: int) -> None:
        self.characters = 0
        self._asked = asked
        self._left = max(LEAST_ROOM, ROOM_PER_TOKEN * max_tokens)
        self._most = self._left

    def take(self, *pieces: str) -> None:
        """Count what came; a piece without anything counts too. Raises EndlessReply where it is more than an answer of
        the wanted length can be: the server does not keep to `max_tokens`, and would not stop."""
        size = sum(map(len, pieces))
        self.characters += size
        self._shrink(size + 1)

    def begin(self) -> None:
        """Count a block or a call that begins."""
        self._shrink(ROOM_OF_BLOCK)

    def _shrink(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise EndlessReply(
                f"{self._asked} did not end its answer: more than {self._most} characters came",
                "The server does not keep to the limit of an answer that it was given: choose another model or server.",
            )


def count(value: object) -> int:
    """A count of tokens that a server told; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_COUNT else 0


def completed(told: TokenUsage, asked_tokens: int, written: int) -> TokenUsage:
    """What was used: as the server told. What it did not tell is estimated, so that a budget holds with any server:
    the question as `asked_tokens`, the answer by the characters written."""
    read = told.input + told.cache_read + told.cache_write
    return TokenUsage(
        told.input if read else max(1, asked_tokens),
        told.output or -(-written // CHARS_PER_TOKEN),
        told.cache_read,
        told.cache_write,
    )
