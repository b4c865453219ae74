"""What can go wrong between us and a model.

ProviderError            (a RegreenError: every front end can show it)
├── RateLimited          429; `retry_after_s` where the provider said so             retriable
├── Overloaded           529, 503: the model has no room; a fallback model is asked  retriable
├── ServerFault          other 5xx                                                   retriable
├── ConnectionLost       no connection, or one that was cut in the middle            retriable
├── ModelTimeout         no answer, or no further piece of one, in time              retriable
├── BadReply             an answer that breaks the wire format                       retriable
│   └── EndlessReply     one that is longer than any answer can be
├── Unauthorized         401, 403: no key, or a wrong one
├── QuotaSpent           402, or a 429 that says the account has no money left
├── ModelNotFound        404: no such model, or no such endpoint
├── ContextOverflow      the conversation is longer than the model's window
├── RequestRefused       other 4xx: we sent something that the provider does not take
└── ModelUnavailable     a circuit breaker is open: it timed out three times in a row
BudgetSpent              a hard limit of tokens, money or time is reached
"""

from __future__ import annotations

from typing import ClassVar

from regreen.errors import RegreenError
from regreen.providers.messages import TokenUsage


class ProviderError(RegreenError):
    """A question that got no answer. `retriable`: asking again may help. `usage` is what it used all the same, as far
    as the provider told: an answer that breaks off in the middle has its price too."""

    exit_code = 3
    retriable: ClassVar[bool] = False
    word: ClassVar[str] = "model_error"

    def __init__(
        self, message: str, hint: str = "", *, retry_after_s: float | None = None, usage: TokenUsage | None = None
    ) -> None:
        super().__init__(self.word, message, hint)
        self.retry_after_s = retry_after_s
        self.usage = usage if usage is not None else TokenUsage()


class RateLimited(ProviderError):
    retriable = True
    word = "model_rate_limited"


class Overloaded(ProviderError):
    retriable = True
    word = "model_overloaded"


class ServerFault(ProviderError):
    retriable = True
    word = "model_server_fault"


class ConnectionLost(ProviderError):
    retriable = True
    word = "model_connection_lost"


class ModelTimeout(ProviderError):
    retriable = True
    word = "model_timeout"


class BadReply(ProviderError):
    retriable = True
    word = "model_bad_reply"


class EndlessReply(BadReply):
    retriable = False  # another flood would cost as much as the first


class Unauthorized(ProviderError):
    word = "model_unauthorized"


class QuotaSpent(ProviderError):
    word = "model_quota_spent"


class ModelNotFound(ProviderError):
    word = "model_not_found"


class ContextOverflow(ProviderError):
    word = "model_context_overflow"


class RequestRefused(ProviderError):
    word = "model_request_refused"


class ModelUnavailable(ProviderError):
    word = "model_unavailable"


class BudgetSpent(RegreenError):
    """`spent` names the limits that are reached, by their options: `budget_tokens`, `budget_usd`, `budget_s`."""

    exit_code = 4

    def __init__(self, spent: tuple[str, ...], message: str, hint: str = "") -> None:
        super().__init__("budget", message, hint)
        self.spent = spent
