"""When a question that failed is asked again: exponential backoff with full jitter.

The method is the one of the AWS Architecture Blog ("Exponential Backoff And Jitter", Marc Brooker): wait a random part
of a span that doubles with each retry, so that many callers do not come back all at once. A provider that says how
long to wait knows better, where that is longer. Only the wait is decided here: a retry asks the same question.
"""

from __future__ import annotations

from collections.abc import Sequence

from regreen.providers.errors import ProviderError

MAX_RETRIES = 3
BASE_S = 1.0
FACTOR = 2.0
CAP_S = 20.0
MAX_WAIT_S = 60.0


def delay_s(retry: int, error: ProviderError, jitter: float) -> float | None:
    """How long to wait before asking again, after `retry` retries; None = give up. `jitter` is between 0 and 1."""
    if not error.retriable or retry >= MAX_RETRIES or _too_long(error):
        return None
    return max(jitter * min(CAP_S, BASE_S * FACTOR**retry), error.retry_after_s or 0.0)


def given_up(error: ProviderError, tries: int, others: Sequence[str] = ()) -> ProviderError:
    """The error as it is raised in the end: what it says, why nobody waits any longer, and what else was tried."""
    reasons = [*others]
    if error.retriable and _too_long(error):
        reasons.insert(0, f"it wants a wait of {error.retry_after_s:.0f} s, and at most {MAX_WAIT_S:.0f} s are waited")
    elif error.retriable and tries > 1:
        reasons.insert(0, f"asked {tries} times")
    if not reasons:
        return error
    message = f"{error.message} ({'; '.join(reasons)})"
    return type(error)(message, error.hint, retry_after_s=error.retry_after_s, usage=error.usage)


def _too_long(error: ProviderError) -> bool:
    return (error.retry_after_s or 0.0) > MAX_WAIT_S
