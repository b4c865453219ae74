"""Models in a fix run: which of them are asked, what they are told of the repository, and what all of them may use.

A model that was asked for by name is set up before anything happens. One that `auto` may come to is looked for when its
turn comes: most runs end before that, and looking may open the user's keyring.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from regreen.errors import RegreenError, UsageError
from regreen.events import EventKind, EventLog
from regreen.fix import FixRun
from regreen.fix.proposer import Proposer
from regreen.model import Brief, Proposal
from regreen.proposers import NOT_ASKED
from regreen.providers.errors import BudgetSpent
from regreen.providers.keys import PROVIDERS
from regreen.providers.meter import Budget, Meter
from regreen.sandbox import Cancel
from regreen.session.repository import Session
from regreen.session.searching import Hints

if TYPE_CHECKING:
    from regreen.proposers.model import ModelProposer
    from regreen.providers.client import ModelClient
    from regreen.repo import FileList
    from regreen.session.fixing import FixOptions

_UNSTREAMED = 5  # a client's answer comes as a whole, and a person may look at the question first: wait so much longer
_INDEX_WAIT_S = 10.0
_MAX_FOCUS = 50
_LISTED_S = 1.0  # how old the listing may be; every try takes longer than that
_LEAST_MAP_TOKENS = 100


class Models:
    """The models that one run may ask, and what they use together."""

    def __init__(self, session: Session, options: FixOptions) -> None:
        """Raises ConfigError or UsageError where a model that was asked for cannot be asked."""
        self._session, self._options = session, options
        self._log: EventLog | None = None
        self._meter = Meter(Budget(options.budget_tokens, options.budget_usd))
        asked = options.proposer
        if options.model and asked not in ("auto", *PROVIDERS):
            raise UsageError("invalid_arguments", f"proposer `{asked}` takes no model", "leave `model` out")
        self._named: ModelClient | None = None
        if asked in PROVIDERS:
            self._named = self._configured(asked)
        elif asked == "sampling":
            self._named = self._sampled()

    @property
    def is_asked(self) -> bool:
        """Whether the run was told to ask a model, whatever else there is."""
        return self._named is not None

    def turns(self, run: FixRun, cancel: Cancel, log: EventLog, hints: Hints) -> list[ModelTurn]:
        """The proposers, in the order in which they are asked."""
        self._log = log
        return [ModelTurn(self._session, run, cancel, hints, make, self._tell) for make in self._makers()]

    def _makers(self) -> list[Callable[[], ModelClient | None]]:
        if self._named is not None:
            return [lambda: self._named]
        if self._options.proposer != "auto":
            return []
        return [self._found, *([self._sampled] if self._options.sampling is not None else [])]

    def _found(self) -> ModelClient | None:
        """The configured provider's, if there is one."""
        from regreen.providers.configured import provider_name

        name = provider_name(self._session.settings)
        return self._configured(name) if name else None

    def _configured(self, provider: str) -> ModelClient:
        from regreen.providers.configured import make_client

        return make_client(
            self._session.settings, self._meter, provider=provider, model=self._options.model, on_event=self._tell
        )

    def _sampled(self) -> ModelClient:
        from regreen.providers.client import ModelClient
        from regreen.providers.sampling import SamplingProvider

        ask, models = self._options.sampling, self._session.settings.models
        if ask is None:
            raise UsageError("invalid_arguments", "proposer `sampling` asks the client's model, and this client offers "
                             "none", "use proposer `auto`, `caller`, or a provider with a key")  # fmt: skip
        provider = SamplingProvider(ask, timeout_s=models.timeout_s * _UNSTREAMED)
        return ModelClient([provider], self._meter, prices=models.prices, on_event=self._tell)

    def _tell(self, kind: EventKind, data: Mapping[str, object]) -> None:
        if self._log is not None:
            self._log.emit(kind, **data)


class ModelTurn:
    """One model's turn in a run: set up when it comes, ended when the run's time is over."""

    costs_budget = True

    def __init__(
        self,
        session: Session,
        run: FixRun,
        cancel: Cancel,
        hints: Hints,
        make: Callable[[], ModelClient | None],
        tell: Callable[[EventKind, Mapping[str, object]], None],
    ) -> None:
        self._session, self._run, self._cancel, self._hints = session, run, cancel, hints
        self._make = make
        self._tell = tell
        self._client: ModelClient | None = None
        self._proposer: ModelProposer | None = None
        self._why_not = ""

    @property
    def name(self) -> str:
        return self._client.name if self._client is not None else "model"

    @property
    def why(self) -> str:
        """Why there is no further proposal."""
        return self._why_not or (self._proposer.why if self._proposer is not None else "")

    async def propose(self, brief: Brief) -> Proposal | None:
        if self._cancel.is_set():
            return None
        self._proposer = self._proposer or self._set_up()
        if self._proposer is None or self._client is None:
            return None
        self._tell("turn_started", {
            "proposer": self.name, "model": self._client.model, "attempt": len(self._run.attempts) + 1,
        })  # fmt: skip
        return await self._in_time(self._proposer, self._informed(brief))

    async def aclose(self) -> None:
        """Close the connections. In the event loop that the questions were asked in."""
        if self._client is not None:
            await self._client.aclose()

    def _set_up(self) -> ModelProposer | None:
        """The proposer; None where no model can be asked, and `why` says so where one was to be."""
        try:
            self._client = self._make()
            return self._proposing(self._client) if self._client is not None else None
        except RegreenError as e:
            self._why_not = f"{NOT_ASKED}{e.message}.\nTo have one asked, {e.hint}."
            return None

    def _proposing(self, client: ModelClient) -> ModelProposer:
        from regreen.proposers.model import ModelProposer

        own = self._session.settings.models
        return ModelProposer(
            client,
            RepoSources(self._session, self._cancel),
            cancel=self._cancel,
            edit_format=own.edit_format,
            max_tokens=own.max_tokens,
            max_input_tokens=own.max_input_tokens,
            mask=self._session.redact,
            charge=lambda usage: self._run.spend(usage=usage),
        )

    def _informed(self, brief: Brief) -> Brief:
        """The brief with all that helps to find the fault; it is not looked for before a model needs it."""
        if self._hints.gathers:
            return brief
        self._hints.gathers = True
        return self._run.brief

    async def _in_time(self, proposer: ModelProposer, brief: Brief) -> Proposal | None:
        """The next proposal, if it comes before the run's time is over."""
        import asyncio

        limit_s = self._run.request.rules.budget_s
        limit = asyncio.timeout(max(0.0, limit_s - self._run.work_s))
        try:
            async with limit:
                return await proposer.propose(brief)
        except TimeoutError:
            if not limit.expired():
                raise
            raise BudgetSpent(("budget_s",), f"the model did not answer within the {limit_s:g} s of the run",
                              "raise `budget_s`") from None  # fmt: skip


class RepoSources:
    """The repository as a model may see it: only files that git tracks or would track, secrets masked."""

    def __init__(self, session: Session, cancel: Cancel) -> None:
        self._session, self._cancel = session, cancel
        self._listed: FileList | None = None
        self._listed_at = 0.0

    def map(self, focus: Sequence[str], max_tokens: int) -> str:
        """The most important definitions, as seen from these files; "" for a map that is too small to say anything."""
        if max_tokens < _LEAST_MAP_TOKENS:
            return ""
        near = [path for path in focus if self._is_listed(path)][:_MAX_FOCUS]
        return self._session.repo_map(near, max_tokens=max_tokens, wait_s=_INDEX_WAIT_S, cancel=self._cancel).text

    def read(self, path: str) -> str | None:
        """The text of a file; None where it is missing, ignored by git, binary or too large."""
        if not self._is_listed(path):
            return None
        try:
            return self._session.read(path).text
        except RegreenError:  # every reason why it cannot be shown is one of those
            return None

    def _is_listed(self, path: str) -> bool:
        """One question to a model asks this of hundreds of paths, most of which do not exist."""
        now = time.monotonic()
        if self._listed is None or now - self._listed_at > _LISTED_S:
            self._listed, self._listed_at = self._session.files(), now
        return path in self._listed.stats


async def close(proposers: Sequence[Proposer]) -> None:
    """Close the models among these proposers."""
    for turn in proposers:
        if isinstance(turn, ModelTurn):
            await turn.aclose()
