"""What an HTTP answer that is no answer means, the same for every provider: pure functions from what was sent to us to
a typed error.

Only `status`, `kind` and `code` are stable words of a provider; its free text decides only where it is all there is
(a 400 that says that the prompt is too long). The text is shown short, without markup, and with secrets masked.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

from regreen.providers.errors import (
    ConnectionLost,
    ContextOverflow,
    ModelNotFound,
    ModelTimeout,
    Overloaded,
    ProviderError,
    QuotaSpent,
    RateLimited,
    RequestRefused,
    ServerFault,
    Unauthorized,
)
from regreen.redact import Redactor

MAX_TEXT = 300
_MOST_READ = 16_384  # characters of a text that are looked at
_LONGEST_S = 1e9  # of what a server says about waiting: longer than anybody waits
_MARKUP = re.compile(r"(?is)<(script|style|head)\b.*?</\1\s*>|<!--.*?-->|<[!/a-z][^>]*>")
_TITLE = re.compile(r"(?is)<title[^>]*>(.*?)</title\s*>")
_TOO_LONG = re.compile(
    r"(?i)prompt is too long|context[ _](?:window|length|limit)|maximum context|too many (?:input )?tokens"
    r"|input is too long|exceeds? the (?:model's )?(?:maximum )?(?:number of )?(?:input )?tokens"
)
_NO_MONEY = re.compile(r"(?i)credit balance|insufficient[ _](?:quota|credits?|funds|balance)|billing|spend[ _]limit")


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom we asked: the provider's name, the model and the address, as a message names them."""

    provider: str
    model: str
    base_url: str = ""

    def __str__(self) -> str:
        return f"{self.provider} ({self.model})"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was answered: an HTTP status, the provider's words for the kind of error and its code, and its text."""

    status: int
    kind: str = ""
    code: str = ""
    text: str = ""
    retry_after_s: float | None = None
    location: str = ""  # where a redirect points to


def typed(refusal: Refusal, asked: Asked) -> ProviderError:
    """The error of a refusal: what was found, from whom, and what to do."""
    if 300 <= refusal.status < 400:
        return _redirected(refusal, asked)
    said = f": {refusal.text}" if refusal.text else ""
    if _means_no_money(refusal):
        return QuotaSpent(
            f"{asked} has no credit left for this account{said}",
            "Add credit or raise the spending limit with the provider, or choose another model or provider.",
        )
    if _means_too_long(refusal):
        return ContextOverflow(
            f"The conversation is longer than {asked} can take{said}",
            "Shorten it, or choose a model with a larger window; `max_input_tokens` in [provider] limits what is sent.",
        )
    status = refusal.status
    if status == 429:
        return _rate_limited(refusal, asked, said)
    if status in (503, 529):
        return Overloaded(
            f"{asked} has no room for the question now ({status}){said}",
            "Try again later, or name other models under `fallback_models` in [provider].",
            retry_after_s=refusal.retry_after_s,
        )
    if status >= 500:
        return ServerFault(
            f"{asked} failed on its side ({status}){said}",
            "Try again; if it stays so, look at the provider's status page.",
            retry_after_s=refusal.retry_after_s,
        )
    return _ours(refusal, asked, said)


def _redirected(refusal: Refusal, asked: Asked) -> RequestRefused:
    """Never followed: it would carry the question, and what headers the user gave for a gateway, to another host."""
    where = f"to {_place(asked.base_url, refusal.location)}" if refusal.location else "without saying where"
    return RequestRefused(
        f"{asked} at {asked.base_url} points elsewhere ({refusal.status}), {where}. Redirects are not followed",
        "If that is the server you mean, write its final address as `base_url` in [provider].",
    )


def _place(base_url: str, location: str) -> str:
    try:
        found = urljoin(base_url, location)
        return address(found) if found.startswith(("http://", "https://")) else "something else than HTTP"
    except ValueError:
        return "an address that cannot be read"


def _rate_limited(refusal: Refusal, asked: Asked, said: str) -> RateLimited:
    wait = refusal.retry_after_s
    when = f"in {wait:.0f} s" if wait is not None else "later"
    return RateLimited(
        f"{asked} allows no more questions just now (429){said}",
        f"Try again {when}, ask less at once, or choose another model.",
        retry_after_s=wait,
    )


def _ours(refusal: Refusal, asked: Asked, said: str) -> ProviderError:
    """What repeating alone does not mend: something about the question, the key or the address is wrong."""
    match refusal.status:
        case 401 | 403:
            return Unauthorized(
                f"{asked} does not accept the key ({refusal.status}){said}",
                "Check the key (its environment variable, or the keyring), and that it may use this model.",
            )
        case 404:
            return ModelNotFound(
                f"{asked} was not found at {asked.base_url} (404){said}",
                "Check the model's name (`model` in [provider]) and the address (`base_url`).",
            )
        case 408:
            return ModelTimeout(f"{asked} waited too long for the question (408){said}", "Try again.")
        case status:
            return RequestRefused(
                f"{asked} refused the question ({status}){said}",
                "Check `model`, `base_url` and `effort` in [provider] against what the provider's message says.",
            )


def _means_no_money(refusal: Refusal) -> bool:
    if refusal.status == 402 or refusal.kind in ("billing_error", "insufficient_quota"):
        return True
    if "spend_limit" in refusal.code or refusal.code in ("insufficient_quota", "billing_hard_limit_reached"):
        return True
    return refusal.status in (400, 403) and bool(_NO_MONEY.search(refusal.text))


def _means_too_long(refusal: Refusal) -> bool:
    if refusal.status == 413 or refusal.code == "context_length_exceeded":
        return True
    return refusal.status in (400, 422) and bool(_TOO_LONG.search(refusal.text))


def timed_out(asked: Asked, timeout_s: float, begun: bool) -> ModelTimeout:
    """The error of a silence: before the answer, or in the middle of it (`begun`)."""
    what = "fell silent in the middle of its answer" if begun else "did not begin to answer"
    return ModelTimeout(
        f"{asked} {what} for {timeout_s:g} s",
        "Try again; raise `timeout_s` in [provider] if the model is only slow.",
    )


def connection_lost(asked: Asked, why: str, begun: bool) -> ConnectionLost:
    """The error of a connection that was not made, or was cut in the middle of an answer (`begun`)."""
    what = "was cut in the middle of the answer" if begun else "could not be used"
    return ConnectionLost(
        f"The connection to {asked} at {asked.base_url} {what}" + (f": {why}" if why else ""),
        "Try again; check the network, a proxy, and `base_url` in [provider].",
    )


def address(url: str) -> str:
    """An address as a message may show it: without user name, password, query and fragment, which may be secrets.
    Raises ValueError for what is no address."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    port = f":{parts.port}" if parts.port is not None else ""
    return shown(f"{parts.scheme}://{host}{port}{parts.path}")


def address_fault(url: str) -> str:
    """Why an address is none that a model can be asked at, "" = it is one. What may be a secret is not shown."""
    try:
        parts = urlsplit(url)
        found = address(url)
    except ValueError:
        return "is no address that can be read"
    if "@" in parts.netloc:
        return "holds a user name or password"
    if parts.query or parts.fragment:
        return f"has something behind its path ({found}?…)"
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        return "is no address of a server: it wants http:// or https://, and a host"
    if not url.isprintable() or " " in url:
        return "holds blanks or characters that no address has"
    return ""


def shown(text: str, secrets: tuple[str, ...] = ()) -> str:
    """A provider's text as a message may quote it: without markup and secrets, on one line, cut to a few hundred
    characters."""
    for secret in secrets:  # first of all, so that no cut leaves a part of one; and a short key is no less secret
        text = text.replace(secret, "[redacted:known]") if secret else text
    text = text[:_MOST_READ]
    if "<" in text and ((title := _TITLE.search(text)) or "<html" in text.lower() or "<body" in text.lower()):
        text = title[1] if title and title[1].strip() else _MARKUP.sub(" ", text)
        text = html.unescape(text)
    masked, _ = Redactor(secrets).count(" ".join(text.split()))
    for secret in secrets:  # markup may have parted one
        masked = masked.replace(secret, "[redacted:known]") if secret else masked
    return masked if len(masked) <= MAX_TEXT else masked[:MAX_TEXT].rstrip() + "…"


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """How long the provider wants us to wait, by `retry-after-ms` or `retry-after` (seconds, or an HTTP date; `now` is
    in seconds since the epoch). None: it did not say, or nothing that can be read. Names are in lower case."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        wait = _number(headers.get(name, ""))
        if wait is not None:
            return max(0.0, wait * scale)
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(-_LONGEST_S, min(number, _LONGEST_S)) if math.isfinite(number) else None
