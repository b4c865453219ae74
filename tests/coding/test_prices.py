from __future__ import annotations

import re

import pytest

from regreen.providers.messages import TokenUsage
from regreen.providers.prices import AS_OF, PRICES, cost, price_of, prompt_usd
from regreen.settings.values import Price

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "asked", "answered"),
    [
        ("claude-opus-5-5", 4.0, 20.0),
        ("claude-sonnet-5-5", 2.0, 10.0),
        ("claude-opus-4-8", 5.0, 25.0),
        ("claude-sonnet-4-6", 3.0, 15.0),
        ("claude-haiku-4-5-20251001", 1.0, 5.0),
        ("claude-sonnet-4-5@20250929", 3.0, 15.0),
        ("gpt-4.1-2025-04-14", 2.0, 8.0),
        ("gpt-5-mini-latest", 0.25, 2.0),
    ],
)
def test_a_name_stands_for_its_dated_versions_too(model: str, asked: float, answered: float) -> None:
    price = price_of(model, {})
    assert price is not None
    assert (price.input, price.output) == (asked, answered)


@pytest.mark.parametrize(
    "model",
    ["", "gpt-5.4-enormous", "claude-opus-5-6", "claude-opus-5-5-2", "llama-4", "gpt-4.1-large", "gpt", "GPT-4.1"],
)
def test_a_model_that_is_not_listed_has_no_guessed_price(model: str) -> None:
    assert price_of(model, {}) is None
    assert cost(model, TokenUsage(1, 1), {}) is None


def test_the_longest_name_wins_and_a_users_own_price_wins_over_the_table() -> None:
    own = {"claude-haiku-4-5": Price(7.0, 8.0, 9.0, 10.0), "claude-haiku-4-5-20251001": Price(1.5, 2.5, 3.5, 4.5)}
    assert price_of("claude-haiku-4-5-20251001", own) == own["claude-haiku-4-5-20251001"]
    assert price_of("claude-haiku-4-5-20260101", own) == own["claude-haiku-4-5"]
    assert price_of("claude-sonnet-4-6", own) == PRICES["claude-sonnet-4-6"]


def test_each_kind_of_token_has_its_own_price() -> None:
    usage = TokenUsage(input=MILLION, output=2 * MILLION, cache_read=3 * MILLION, cache_write=4 * MILLION)
    assert cost("own", usage, {"own": Price(1.0, 10.0, 1000.0, 100.0)}) == pytest.approx(1 + 20 + 300 + 4000)
    assert cost("own", TokenUsage(), {"own": Price(1.0, 1.0, 1.0, 1.0)}) == 0


def test_prompts_past_a_models_limit_are_dearer_as_a_whole() -> None:
    at, past = TokenUsage(input=50_000, cache_read=50_000), TokenUsage(input=50_000, cache_read=50_001)
    cheap, dear = cost("claude-haiku-5-5", at, {}), cost("claude-haiku-5-5", past, {})
    assert cheap == pytest.approx(0.0055)
    assert dear == pytest.approx(0.0275, rel=1e-4)
    assert cost("claude-haiku-5-5", TokenUsage(output=200_000), {}) == pytest.approx(0.1)  # an answer is no prompt
    assert price_of("gpt-6.1-sol", {}, 272_001) == Price(4.0, 15.0, 5.0, 0.2)
    assert price_of("gpt-6.1-sol", {"gpt-6.1-sol": Price(1, 1, 1, 1)}, 300_000) == Price(1, 1, 1, 1)


def test_what_a_prompt_may_cost_at_most_counts_its_dearest_tokens() -> None:
    assert prompt_usd(PRICES["claude-sonnet-5-5"], MILLION) == 2.5
    assert prompt_usd(Price(3.0, 15.0, 0.0, 0.3), MILLION) == 3.0


def test_the_table_is_dated_and_its_prices_are_in_order() -> None:
    assert re.fullmatch(r"20\d\d-[01]\d", AS_OF)
    for model, price in PRICES.items():
        assert 0 < price.cache_read <= price.input <= price.cache_write < price.output, model


def test_a_version_that_is_dearer_than_its_name_has_its_own_price() -> None:
    assert price_of("gpt-4o-2024-05-13", {}) == Price(5.0, 15.0, 5.0, 5.0)
    assert price_of("gpt-4o-2024-11-20", {}) == PRICES["gpt-4o"]
