"""What models cost: list prices, in US dollars for a million tokens, and what an answer cost by them.

The prices are as the providers published them up to `AS_OF`, at the standard service tier. They change without notice:
a user's own `[prices."MODEL"]` wins over this table, and a model that is in neither has no price, never a guessed one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from regreen.providers.messages import TokenUsage
from regreen.settings.values import Price

AS_OF = "2026-11"
_MILLION = 1_000_000
_DATED = re.compile(r"-latest|[-@](?:\d{8}|\d{4}-\d{2}-\d{2})")  # what may follow a name that is in a table

# Anthropic, from the overview page of each model and the page "Pricing", read 2026-10 and later where no date is
# given. The cache that is written lives five minutes.
_ANTHROPIC: Mapping[str, Price] = {
    "claude-fable-5-1": Price(10.0, 50.0, 12.5, 0.25),  # since 2026-09-01
    "claude-fable-5": Price(10.0, 50.0, 12.5, 1.0),
    "claude-opus-5-5": Price(4.0, 20.0, 5.0, 0.2),  # since 2026-09-22
    "claude-opus-5": Price(5.0, 25.0, 6.25, 0.5),  # since 2026-07-24
    "claude-opus-4-8": Price(5.0, 25.0, 6.25, 0.5),
    "claude-opus-4-7": Price(5.0, 25.0, 6.25, 0.5),
    "claude-opus-4-6": Price(5.0, 25.0, 6.25, 0.5),
    "claude-opus-4-5": Price(5.0, 25.0, 6.25, 0.5),
    "claude-opus-4-1": Price(15.0, 75.0, 18.75, 1.5),
    "claude-sonnet-5-5": Price(2.0, 10.0, 2.5, 0.1),  # since 2026-10-07; the cache was read for 0.20 before
    "claude-sonnet-5": Price(2.0, 10.0, 2.5, 0.2),
    "claude-sonnet-4-6": Price(3.0, 15.0, 3.75, 0.3),  # 2026-06
    "claude-sonnet-4-5": Price(3.0, 15.0, 3.75, 0.3),  # 2026-03
    "claude-haiku-5-5": Price(0.1, 0.5, 0.125, 0.01),  # since 2026-10-07; long prompts: see `_LONG`
    "claude-haiku-4-5": Price(1.0, 5.0, 1.25, 0.1),
}

# OpenAI. Where no price for writing a cache was found, what is written costs what any input costs.
_OPENAI: Mapping[str, Price] = {
    "gpt-6.1-sol": Price(2.0, 10.0, 2.5, 0.1),  # since 2026-09-29
    "gpt-6.1-terra": Price(1.0, 5.0, 1.25, 0.05),  # since 2026-10-26
    "gpt-6-astra": Price(10.0, 50.0, 12.5, 1.0),  # since 2026-09-03
    "gpt-6-sol": Price(2.0, 10.0, 2.5, 0.2),  # since 2026-09-22
    "gpt-6-luna": Price(0.1, 0.5, 0.125, 0.01),  # since 2026-09-22
    "gpt-5.6-sol": Price(5.0, 30.0, 5.0, 0.5),  # 2026-07-09; it was offered for 4.00 and 20.00 up to 2026-11-21
    "gpt-5.6-terra": Price(2.0, 12.0, 2.0, 0.2),  # since 2026-07-30
    "gpt-5.6-luna": Price(0.2, 1.2, 0.2, 0.02),  # since 2026-07-30
    "gpt-5.5": Price(5.0, 30.0, 5.0, 0.5),  # 2026-06
    "gpt-5.5-pro": Price(30.0, 180.0, 30.0, 30.0),  # 2026-06; no discount for cached input
    "gpt-5.4": Price(2.5, 15.0, 2.5, 0.25),  # 2026-06
    "gpt-5.4-mini": Price(0.75, 4.5, 0.75, 0.075),  # 2026-06
    "gpt-5.4-nano": Price(0.2, 1.25, 0.2, 0.02),  # 2026-06
    "gpt-5.4-pro": Price(30.0, 180.0, 30.0, 30.0),  # 2026-06; no discount for cached input
    "gpt-5.3-codex": Price(1.75, 14.0, 1.75, 0.175),  # 2026-09
    "gpt-5.2": Price(1.75, 14.0, 1.75, 0.175),  # 2026-09
    "gpt-5.2-codex": Price(1.75, 14.0, 1.75, 0.175),  # 2026-09
    "gpt-5.1": Price(1.25, 10.0, 1.25, 0.125),  # 2026-03
    "gpt-5": Price(1.25, 10.0, 1.25, 0.125),  # 2026-03
    "gpt-5-codex": Price(1.25, 10.0, 1.25, 0.125),  # 2026-03
    "gpt-5-mini": Price(0.25, 2.0, 0.25, 0.025),  # 2026-09
    "gpt-5-nano": Price(0.05, 0.4, 0.05, 0.005),  # 2026-09
    "gpt-4.1": Price(2.0, 8.0, 2.0, 0.5),  # 2026-06
    "gpt-4.1-mini": Price(0.4, 1.6, 0.4, 0.1),  # 2026-06
    "gpt-4.1-nano": Price(0.1, 0.4, 0.1, 0.025),  # 2026-05
    "gpt-4o": Price(2.5, 10.0, 2.5, 1.25),  # 2026-05
    "gpt-4o-mini": Price(0.15, 0.6, 0.15, 0.075),  # 2026-05
    "gpt-4o-2024-05-13": Price(5.0, 15.0, 5.0, 5.0),  # 2024-05, dearer than those of its name that came later
}

# Prompts longer than so many tokens are dearer as a whole: (tokens, times the input prices, times the output price).
_ASKED_LONG = (272_000, 2.0, 1.5)
_LONG: Mapping[str, tuple[int, float, float]] = {
    "claude-haiku-5-5": (100_000, 5.0, 5.0),
    **dict.fromkeys(("gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-astra", "gpt-6-sol", "gpt-6-luna"), _ASKED_LONG),
    **dict.fromkeys(("gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.5", "gpt-5.4"), _ASKED_LONG),
}

PRICES: Mapping[str, Price] = MappingProxyType({**_ANTHROPIC, **_OPENAI})


def price_of(model: str, extra: Mapping[str, Price], prompt_tokens: int = 0) -> Price | None:
    """The price of a model for a prompt of this length; None where none is known.

    `extra` are the user's own, which hold for any length. A name stands for its dated versions too
    (`claude-haiku-4-5` for `claude-haiku-4-5-20251001`), and for nothing else: `gpt-5.4` says nothing of `gpt-5.4-pro`.
    """
    own = _listed(model, extra)
    if own is not None:
        return extra[own]
    name = _listed(model, PRICES)
    if name is None:
        return None
    price = PRICES[name]
    most, asked, answered = _LONG.get(name, (prompt_tokens, 1.0, 1.0))
    if prompt_tokens <= most:
        return price
    return Price(price.input * asked, price.output * answered, price.cache_write * asked, price.cache_read * asked)


def cost(model: str, usage: TokenUsage, extra: Mapping[str, Price]) -> float | None:
    """What one answer cost, in US dollars; None where the model has no price."""
    price = price_of(model, extra, usage.total - usage.output)
    if price is None:
        return None
    return (
        usage.input * price.input
        + usage.output * price.output
        + usage.cache_write * price.cache_write
        + usage.cache_read * price.cache_read
    ) / _MILLION


def prompt_usd(price: Price, tokens: int) -> float:
    """The most that a prompt of so many tokens can cost: nothing of it comes from a cache, all of it goes into one."""
    return tokens * max(price.input, price.cache_write, price.cache_read) / _MILLION


def _listed(model: str, table: Mapping[str, Price]) -> str | None:
    """The longest name of the table that the model's name is, or begins with before a date."""
    found = [n for n in table if model == n or (model.startswith(n) and _DATED.fullmatch(model, len(n)))]
    return max(found, key=len, default=None)
