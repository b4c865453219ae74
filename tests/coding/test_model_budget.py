from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_clients import ASKED, FINE, Clock, scripted

from regreen.errors import ConfigError
from regreen.providers.client import ModelClient
from regreen.providers.conversation import estimate_tokens
from regreen.providers.errors import BudgetSpent, ModelTimeout, ProviderError
from regreen.providers.messages import Delta, ModelRequest, TextDelta, ThinkingDelta, TokenUsage, said
from regreen.providers.meter import MIN_ANSWER, Budget, Meter
from regreen.providers.scripted import ScriptedProvider
from regreen.settings.values import Price

SIZE = estimate_tokens(ASKED)
PRICE = Price(input=10.0, output=100.0, cache_write=20.0, cache_read=1.0)
PRICES = {"model-1": PRICE, "model-2": PRICE}


def _used(tokens: int) -> Mapping[str, object]:
    return {"text": "fine", "usage": {"output": tokens}}


def test_an_answer_may_be_as_long_as_the_budget_has_tokens_left_after_the_question() -> None:
    scene = scripted([_used(500), FINE], budget=Budget(tokens=SIZE + 1000))
    asyncio.run(scene.client.ask(ASKED))
    asyncio.run(scene.client.ask(ASKED))
    assert [r.max_tokens for r in scene.providers[0].requests] == [1000, 500]
    assert scene.told("model_request")[1]["max_tokens"] == 500


def test_a_question_that_leaves_too_little_for_its_answer_is_not_asked() -> None:
    scene = scripted([_used(800), FINE], budget=Budget(tokens=1000))
    asyncio.run(scene.client.ask(ASKED))
    with pytest.raises(BudgetSpent) as caught:
        asyncio.run(scene.client.ask(ASKED))
    assert caught.value.spent == ("budget_tokens",)
    assert caught.value.message == (
        f"the next question needs about {SIZE + MIN_ANSWER} tokens ({SIZE} for what is asked, at least {MIN_ANSWER} for"
        " the answer), and 200 are left"
    )
    assert "raise `budget_tokens`" in caught.value.hint
    assert len(scene.providers[0].requests) == 1


def test_a_short_answer_needs_no_more_than_it_asks_for() -> None:
    short = ModelRequest("", (said("user", "x"),), max_tokens=10)
    scene = scripted([FINE], budget=Budget(tokens=11))
    assert asyncio.run(scene.client.ask(short)).message.text == "fine"


def test_a_spent_budget_is_said_with_what_was_used() -> None:
    scene = scripted([_used(1300), FINE], budget=Budget(tokens=1200))
    asyncio.run(scene.client.ask(ASKED))
    with pytest.raises(BudgetSpent, match=r"the budget is spent: 1300 of 1200 tokens are used"):
        asyncio.run(scene.client.ask(ASKED))
    assert (scene.meter.left_tokens(), scene.meter.exhausted()) == (0, ("budget_tokens",))


def test_money_limits_the_answer_by_the_dearest_price_of_the_question() -> None:
    left = SIZE * 20.0 + 600 * 100.0 + 50.0  # all that is asked goes into the cache; there is room for 600 tokens
    scene = scripted([FINE], budget=Budget(usd=left / 1_000_000), prices=PRICES)
    asyncio.run(scene.client.ask(ASKED))
    assert scene.providers[0].requests[0].max_tokens == 600


def test_money_that_is_too_little_says_what_is_left_and_what_is_needed() -> None:
    scene = scripted([_used(1000), FINE], budget=Budget(usd=0.101), prices=PRICES)
    assert asyncio.run(scene.client.ask(ASKED)).usd == pytest.approx(0.1)
    assert scene.told("model_response")[0]["usd"] == pytest.approx(0.1)
    with pytest.raises(BudgetSpent, match=r"may cost 0\.0257 US dollars, and 0\.0010 are left") as caught:
        asyncio.run(scene.client.ask(ASKED))
    assert caught.value.spent == ("budget_usd",)
    assert scene.meter.left_usd() == pytest.approx(0.001)


def test_a_question_that_alone_costs_too_much_is_not_asked_even_where_answers_are_free() -> None:
    free = {"model-1": Price(10.0, 0.0, 10.0, 1.0)}
    scene = scripted([FINE], budget=Budget(usd=0.00001), prices=free)
    with pytest.raises(BudgetSpent):
        asyncio.run(scene.client.ask(ASKED))
    scene = scripted([FINE], budget=Budget(usd=0.01), prices=free)
    assert asyncio.run(scene.client.ask(ASKED)).usd == pytest.approx(SIZE * 10 / 1e6)


@pytest.mark.parametrize("unpriced", [0, 1])
def test_a_model_without_a_price_cannot_be_limited_by_money(unpriced: int) -> None:
    with pytest.raises(ConfigError, match=f"`model-{unpriced + 1}` is not known") as caught:
        scripted([FINE], [FINE], budget=Budget(usd=1.0), prices={f"model-{2 - unpriced}": PRICE})
    assert f'[prices."model-{unpriced + 1}"]' in caught.value.hint
    assert "config.toml" in caught.value.hint


def test_an_answer_of_a_model_that_was_not_named_is_priced_by_who_answered() -> None:
    class Alias(ScriptedProvider):
        @property
        def model(self) -> str:
            return "alias"

    client = ModelClient([Alias([_used(1000)], model="model-1")], Meter(), prices=PRICES)
    assert asyncio.run(client.ask(ASKED)).usd == pytest.approx(0.1)


def test_a_failed_try_may_spend_the_budget_of_the_next() -> None:
    scene = scripted([{"error": "server_fault", "usage": {"input": 900}}, FINE], budget=Budget(tokens=1000))
    with pytest.raises(BudgetSpent):
        asyncio.run(scene.client.ask(ASKED))
    assert scene.meter.usage == TokenUsage(900)


def test_time_that_ends_cuts_a_question_off_in_the_middle() -> None:
    provider = ScriptedProvider([{"text": "so", "hang": True}, FINE])
    client = ModelClient([provider], Meter(Budget(seconds=0.05)))
    with pytest.raises(BudgetSpent, match=r"of 0\.05 s are used") as caught:
        asyncio.run(client.ask(ASKED))
    assert caught.value.spent == ("budget_s",)
    assert client.meter.left_s() == 0
    with pytest.raises(BudgetSpent):
        asyncio.run(client.ask(ASKED))
    assert len(provider.requests) == 1


def test_a_question_that_is_cut_off_costs_what_was_asked_and_what_came() -> None:
    said = "so it goes " * 20
    client = ModelClient([ScriptedProvider([{"text": said, "thinking": "hm, ", "hang": True}])], Meter())

    async def run() -> None:
        heard = asyncio.Event()
        came = 0

        def hear(delta: Delta) -> None:
            nonlocal came
            came += len(delta.text) if isinstance(delta, TextDelta | ThinkingDelta) else 0
            if came == len(said) + len("hm, "):
                heard.set()

        question = asyncio.create_task(client.ask(ASKED, hear))
        await asyncio.wait_for(heard.wait(), 10)
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question

    asyncio.run(run())
    assert client.meter.usage == TokenUsage(SIZE, -(-(len(said) + 4) // 4))


def test_a_question_that_runs_out_of_time_costs_something_though_nobody_listens() -> None:
    client = ModelClient([ScriptedProvider([{"text": "x" * 400, "hang": True}])], Meter(Budget(seconds=0.05)))
    with pytest.raises(BudgetSpent):
        asyncio.run(client.ask(ASKED))
    assert client.meter.usage == TokenUsage(SIZE, 100)


def test_a_timeout_error_that_is_not_the_budgets_is_passed_on() -> None:
    class Broken(ScriptedProvider):
        async def ask(self, request: ModelRequest, on_delta: object = None) -> object:  # type: ignore[override]
            raise TimeoutError("somewhere else")

    with pytest.raises(TimeoutError, match="somewhere else"):
        asyncio.run(ModelClient([Broken([])], Meter(Budget(seconds=60))).ask(ASKED))


def test_questions_at_once_cannot_exceed_the_budget_together() -> None:
    scene = scripted([{"text": "so", "hang": True}, FINE, FINE], budget=Budget(tokens=2 * SIZE + 1500))

    async def run() -> None:
        heard = asyncio.Event()
        first = asyncio.create_task(scene.client.ask(ASKED, lambda _: heard.set()))
        await asyncio.wait_for(heard.wait(), 10)
        await scene.client.ask(ASKED)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await scene.client.ask(ASKED)  # what the first one held is free again

    asyncio.run(run())
    used = scene.meter.usage.total // 2
    assert [r.max_tokens for r in scene.providers[0].requests] == [1000, 500, min(1000, SIZE + 1500 - used)]


def test_money_that_one_question_may_still_cost_is_not_given_to_another() -> None:
    meter = Meter(Budget(usd=0.1))
    with meter.held(0, 600, PRICE) as first, meter.held(0, 600, PRICE) as second:
        assert (first, second) == (600, 400)
        with pytest.raises(BudgetSpent):
            meter.held(0, 600, PRICE).__enter__()
    with meter.held(0, 600, PRICE) as third:
        assert third == 600


_ANSWERS = st.fixed_dictionaries(
    {"usage": st.fixed_dictionaries({"input": st.integers(0, 900), "output": st.integers(0, 900)})},
    optional={"error": st.sampled_from(["overloaded", "server_fault", "timeout"])},
).map(lambda r: r if "error" in r else {**r, "text": "x"})


@settings(max_examples=60)
@given(
    scripts=st.lists(st.lists(_ANSWERS, max_size=8), min_size=1, max_size=2),
    tokens=st.integers(1, 5000),
    cents=st.integers(1, 40),
)
def test_by_estimate_no_question_ever_exceeds_the_budget(
    scripts: list[list[Mapping[str, object]]], tokens: int, cents: int
) -> None:
    budget = Budget(tokens=tokens, usd=cents / 100)
    scene = scripted(*scripts, budget=budget, prices=PRICES)
    before: list[tuple[int, float]] = []
    told = scene.events.append

    def note(kind: str, data: Mapping[str, object]) -> None:
        told((kind, data))
        if kind == "model_request":
            before.append((scene.meter.usage.total, scene.meter.usd))

    scene.client = ModelClient(
        scene.providers, scene.meter, prices=PRICES, on_event=note, clock=scene.clock, sleep=scene.clock.sleep
    )
    with asyncio.Runner() as runner:
        for _ in range(4):
            try:
                runner.run(scene.client.ask(ASKED))
            except (ProviderError, BudgetSpent) as e:
                assert e.message
    asked = [int(str(d["max_tokens"])) for d in scene.told("model_request")]
    assert len(asked) == len(before)
    for most, (used, usd) in zip(asked, before, strict=True):
        assert MIN_ANSWER <= most <= ASKED.max_tokens
        assert used + SIZE + most <= budget.tokens
        assert usd + (SIZE * 20.0 + most * 100.0) / 1e6 <= budget.usd + 1e-9


def test_a_meter_counts_from_many_threads_and_its_numbers_never_go_down() -> None:
    meter = Meter(Budget(tokens=10**9))
    seen: list[tuple[int, float, int]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.append((meter.usage.total, meter.usd, meter.calls))

    def count() -> None:
        for _ in range(200):
            meter.add(TokenUsage(1, 1, 1, 1), 0.25)
            with meter.held(10, 100, None) as most:
                assert most == 100

    watcher = threading.Thread(target=watch)
    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in (watcher, *threads):
        thread.start()
    for thread in threads:
        thread.join(30)
    done.set()
    watcher.join(30)
    assert (meter.usage, meter.usd, meter.calls) == (TokenUsage(800, 800, 800, 800), 200.0, 800)
    assert meter.left_tokens() == 10**9 - 3200
    assert all(a <= b for one, two in itertools.pairwise(seen) for a, b in zip(one, two, strict=True))


def test_threads_cannot_hold_more_than_there_is() -> None:
    meter = Meter(Budget(tokens=10 * 300))
    start = threading.Barrier(8)
    given: list[int] = []
    end = threading.Barrier(8)

    def hold() -> None:
        start.wait(30)
        try:
            with meter.held(10, 600, None) as most:
                given.append(most + 10)
                end.wait(30)
        except BudgetSpent:
            end.wait(30)

    threads = [threading.Thread(target=hold) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sum(given) <= 3000
    assert len(given) == 5


@pytest.mark.parametrize("usage", [TokenUsage(-5, -1, -1, -1), TokenUsage(3, -9)])
@pytest.mark.parametrize("usd", [-1.0, float("nan"), float("inf"), None])
def test_nonsense_of_a_provider_never_gives_anything_back(usage: TokenUsage, usd: float | None) -> None:
    meter = Meter()
    meter.add(TokenUsage(10, 10), 1.0)
    meter.add(usage, usd)
    assert meter.usage.total >= 20
    assert meter.usd == 1.0


def test_time_never_goes_back_and_ends_the_budget() -> None:
    clock = Clock()
    meter = Meter(Budget(seconds=10), clock)
    clock.now += 4
    assert meter.seconds == 4
    clock.now -= 3
    assert (meter.seconds, meter.left_s()) == (4, 6)
    clock.now += 9
    assert (meter.left_s(), meter.exhausted()) == (0, ("budget_s",))
    with pytest.raises(BudgetSpent, match=r"10\.0 of 10 s are used"):
        meter.check()


def test_a_meter_without_limits_limits_nothing() -> None:
    meter = Meter(clock=time.monotonic)
    meter.add(TokenUsage(10**9), None)
    meter.check()
    assert (meter.left_tokens(), meter.left_usd(), meter.left_s()) == (None, None, None)
    assert meter.unpriced
    with meter.held(10**9, 77, PRICE) as most:
        assert most == 77


def test_a_model_that_timed_out_is_no_spent_budget() -> None:
    scene = scripted([{"error": "timeout"}, {"error": "unauthorized"}], budget=Budget(seconds=1000))
    with pytest.raises(ProviderError) as caught:
        asyncio.run(scene.client.ask(ASKED))
    assert not isinstance(caught.value, ModelTimeout | BudgetSpent)
