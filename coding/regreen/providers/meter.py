"""What models have used, and how much of a budget is left: one meter for everything that a run starts."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

from regreen.providers.errors import BudgetSpent
from regreen.providers.messages import TokenUsage
from regreen.providers.prices import prompt_usd
from regreen.settings.values import Price

MIN_ANSWER = 256  # tokens; an answer that must be shorter is not worth asking for
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Budget:
    """Hard limits of a run; 0 is no limit. `seconds` count from when the meter is made."""

    tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of the limits, without what questions under way may still use; None = no limit."""

    tokens: int | None
    usd: float | None


class Meter:
    """Counts usage against a budget. Safe from several threads; no number of it ever goes down.

    `unpriced`: something was used whose price is not known, so that `usd` is too low.
    """

    def __init__(self, budget: Budget | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget or Budget()
        self._clock = clock
        self._began = clock()
        self._lock = threading.Lock()
        self._usage = TokenUsage()
        self._usd = 0.0
        self._calls = 0
        self._unpriced = False
        self._seconds = 0.0
        self._held_tokens = 0
        self._held_usd = 0.0

    @property
    def usage(self) -> TokenUsage:
        return self._usage

    @property
    def usd(self) -> float:
        return self._usd

    @property
    def unpriced(self) -> bool:
        return self._unpriced

    @property
    def calls(self) -> int:
        """How many answers, whole or failed, were counted."""
        return self._calls

    @property
    def seconds(self) -> float:
        with self._lock:
            self._seconds = max(self._seconds, self._clock() - self._began)
            return self._seconds

    def add(self, usage: TokenUsage, usd: float | None) -> None:
        """Count one answer. `usd` None, or no number: its price is not known."""
        counted = TokenUsage(*(max(0, n) for n in (usage.input, usage.output, usage.cache_read, usage.cache_write)))
        with self._lock:
            self._calls += 1
            self._usage += counted
            if usd is None or not math.isfinite(usd):
                self._unpriced = self._unpriced or counted.total > 0
            else:
                self._usd += max(0.0, usd)

    def left_tokens(self) -> int | None:
        """How many tokens are not used yet; None without a limit."""
        return max(0, self.budget.tokens - self._usage.total) if self.budget.tokens else None

    def left_usd(self) -> float | None:
        return max(0.0, self.budget.usd - self._usd) if self.budget.usd else None

    def left_s(self) -> float | None:
        return max(0.0, self.budget.seconds - self.seconds) if self.budget.seconds else None

    def exhausted(self) -> tuple[str, ...]:
        """The limits that are reached, by the names of their options."""
        left = {"budget_tokens": self.left_tokens(), "budget_usd": self.left_usd(), "budget_s": self.left_s()}
        return tuple(name for name, value in left.items() if value is not None and value <= 0)

    def check(self) -> None:
        """Raises BudgetSpent where a limit is reached."""
        spent = self.exhausted()
        if spent:
            raise self.spent(spent)

    def spent(self, names: tuple[str, ...]) -> BudgetSpent:
        """The error that these limits are reached, with what was used of each."""
        used = {
            "budget_tokens": f"{self._usage.total} of {self.budget.tokens} tokens",
            "budget_usd": f"{self._usd:.4f} of {self.budget.usd:g} US dollars",
            "budget_s": f"{self.seconds:.1f} of {self.budget.seconds:g} s",
        }
        said = ", ".join(used[name] for name in names)
        return BudgetSpent(names, f"the budget is spent: {said} are used", _hint(names))

    @contextmanager
    def held(self, prompt: int, answer: int, price: Price | None) -> Generator[int]:
        """Hold what a question may use, while it is under way, so that several at once cannot exceed the budget.

        `prompt` and `answer` are tokens: the prompt's estimated size, and how long the answer may be. Gives how long it
        may be by what is left. Raises BudgetSpent where less than `MIN_ANSWER` is left (or than a shorter `answer`).
        """
        with self._lock:
            left = _Left(
                self.budget.tokens - self._usage.total - self._held_tokens if self.budget.tokens else None,
                self.budget.usd - self._usd - self._held_usd if self.budget.usd else None,
            )
            rooms = _rooms(prompt, left, price)
            given = min([answer, *rooms.values()])
            least = min(answer, MIN_ANSWER)
            if given < least:
                raise _too_little(prompt, least, left, price, tuple(n for n, room in rooms.items() if room < least))
            tokens = prompt + given
            usd = prompt_usd(price, prompt) + given * price.output / _MILLION if price is not None else 0.0
            self._held_tokens += tokens
            self._held_usd += usd
        try:
            yield given
        finally:
            with self._lock:
                self._held_tokens -= tokens
                self._held_usd = max(0.0, self._held_usd - usd)


def _rooms(prompt: int, left: _Left, price: Price | None) -> dict[str, int]:
    """How long an answer each limit has room for, after the prompt."""
    rooms: dict[str, int] = {}
    if left.tokens is not None:
        rooms["budget_tokens"] = left.tokens - prompt
    if left.usd is not None and price is not None:
        rest = left.usd - prompt_usd(price, prompt)
        if rest < 0:
            rooms["budget_usd"] = -1
        elif price.output > 0:
            rooms["budget_usd"] = math.floor(rest * _MILLION / price.output)
    return rooms


def _too_little(prompt: int, least: int, left: _Left, price: Price | None, names: tuple[str, ...]) -> BudgetSpent:
    """Why the next question is not asked: what it needs at least, and what is left."""
    said: list[str] = []
    if "budget_tokens" in names and left.tokens is not None:
        said.append(
            f"the next question needs about {prompt + least} tokens ({prompt} for what is asked, at least {least} for"
            f" the answer), and {max(0, left.tokens)} are left"
        )
    if "budget_usd" in names and left.usd is not None and price is not None:
        need = prompt_usd(price, prompt) + least * price.output / _MILLION
        said.append(f"the next question may cost {need:.4f} US dollars, and {max(0.0, left.usd):.4f} are left")
    return BudgetSpent(names, "; ".join(said), _hint(names))


def _hint(names: tuple[str, ...]) -> str:
    return f"raise {' and '.join(f'`{n}`' for n in names)}, or ask for less at once"
