"""Model clients of tests: scripted providers, a clock that only moves when somebody sleeps, and what was told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from regreen.events import EventKind
from regreen.providers.client import ModelClient
from regreen.providers.messages import ModelRequest, said
from regreen.providers.meter import Budget, Meter
from regreen.providers.scripted import ScriptedProvider
from regreen.settings.values import Price

ASKED = ModelRequest("You help.", (said("user", "Say something."),), max_tokens=1000)
FINE: dict[str, object] = {"text": "fine"}


@dataclass
class Clock:
    now: float = 1000.0
    slept: list[float] = field(default_factory=list[float])

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@dataclass
class Scene:
    """A client with all that a test wants to look at."""

    client: ModelClient
    providers: tuple[ScriptedProvider, ...]
    meter: Meter
    clock: Clock
    events: list[tuple[str, Mapping[str, object]]]

    def told(self, kind: EventKind) -> list[Mapping[str, object]]:
        return [data for k, data in self.events if k == kind]


def scripted(
    *scripts: list[Mapping[str, object]],
    budget: Budget | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Scene:
    """A client whose providers, named model-1 and so on, each have a script; it waits as long as it ever may."""
    providers = tuple(ScriptedProvider(script, model=f"model-{n}") for n, script in enumerate(scripts, 1))
    clock = Clock()
    meter = Meter(budget, clock)
    events: list[tuple[str, Mapping[str, object]]] = []
    client = ModelClient(
        providers,
        meter,
        prices=prices,
        on_event=lambda kind, data: events.append((kind, data)),
        clock=clock,
        sleep=clock.sleep,
        jitter=lambda: 1.0,
    )
    return Scene(client, providers, meter, clock, events)
