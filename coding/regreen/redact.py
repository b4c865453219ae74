"""The one choke point for secrets: text passes here before it leaves the process or reaches a log.

Order matters to callers: put pieces together first, redact, then cut to size; a token must not be cut in half first.
What had to be cut before (definitions are kept with their values cut) is known by the ellipsis at its end. Lines stay
lines: a secret of several lines leaves as many, each masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial

from regreen.wire import Json

_FORMATS: tuple[tuple[str, tuple[str, ...], str], ...] = (  # kind, what one must hold, form
    ("private-key", ("PRIVATE KEY",), r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ("anthropic-key", ("sk-ant-",), r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai-key", ("sk-",), r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,}"),
    ("github-token", ("gh", ), r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
    ("gitlab-token", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("slack-token", ("xox",), r"\bxox[abposr]-[A-Za-z0-9-]{10,}"),
    ("stripe-key", ("k_live_",), r"\b[rs]k_live_[A-Za-z0-9]{16,}"),
    ("aws-access-key", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("google-key", ("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),
    ("npm-token", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}"),
    ("pypi-token", ("pypi-",), r"\bpypi-[A-Za-z0-9_-]{50,}"),
    ("hf-token", ("hf_",), r"\bhf_[A-Za-z0-9]{30,}"),
    ("jwt", ("eyJ",), r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("authorization", ("uthorization: ",),
     r"(?<=[Aa]uthorization: )(?:[Bb]earer|[Bb]asic) [A-Za-z0-9._~+/=-]{16,}"),
)  # fmt: skip
_PATTERNS = tuple((kind, marks, re.compile(form, re.DOTALL)) for kind, marks, form in _FORMATS)
_URL_PASSWORD = re.compile(r"""(?P<head>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@"']{1,100}:)[^\s/:@"']{3,200}(?=@)""")
_CUT = re.compile(
    r"\b(?:sk-|gh[pousr]_|github_pat_|glpat-|xox[abposr]-|[rs]k_live_|AKIA|ASIA|AIza|npm_|pypi-|hf_|eyJ)[\w.-]*…"
    r"|-----BEGIN [A-Z ]*PRIVATE[^…]*…"
)  # the beginning of a secret whose end was cut off
_CUT_URL = re.compile(r"""(?P<head>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@"']{1,100}:)[^\s/:@"'…]+…""")
_MOST_CUT = 60  # characters of a value that are shown before it is cut
_MIN_CUT = 4  # characters of a known value that give it away
_SECRET_NAME = re.compile(r"(?i)(key|token|secret|passw|credential)")
_MIN_KNOWN = 8

MASK = re.compile(rf"\[redacted:(?:known|cut|url-password|{'|'.join(kind for kind, *_ in _FORMATS)})\]")
"""What stands in a masked text in the place of a secret."""


class Redactor:
    """Masks secret formats, and the values of secret-named environment variables, wherever they stand."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        values = sorted({v for v in known if len(v) >= _MIN_KNOWN}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, values))) if values else None
        starts = "|".join(f"{re.escape(v[:_MIN_CUT])}(?:{_nested(v[_MIN_CUT:])})?…" for v in values)
        self._known_cut = re.compile(starts) if values else None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Redactor:
        """A redactor that knows the values of this environment's secret-named variables."""
        return cls(v for k, v in environ.items() if _SECRET_NAME.search(k))

    def count(self, text: str) -> tuple[str, int]:
        """The masked text and how many places were masked. Masking twice changes nothing more."""
        hits = 0
        if self._known is not None:
            text, n = self._known.subn("[redacted:known]", text)
            hits += n
        for kind, marks, pattern in _PATTERNS:
            if any(mark in text for mark in marks):
                text, n = pattern.subn(partial(_masked, kind), text)
                hits += n
        if "://" in text:
            text, n = _URL_PASSWORD.subn(lambda m: m["head"] + "[redacted:url-password]", text)
            hits += n
        return self._without_cut(text, hits) if "…" in text else (text, hits)

    def _without_cut(self, text: str, hits: int) -> tuple[str, int]:
        """Mask the beginnings of secrets that were cut off."""
        if self._known_cut is not None:
            text, n = self._known_cut.subn("[redacted:known]…", text)
            hits += n
        text, n = _CUT.subn("[redacted:cut]…", text)
        hits += n
        text, n = _CUT_URL.subn(lambda m: m["head"] + "[redacted:url-password]…", text)
        return text, hits + n

    def __call__(self, text: str) -> str:
        return self.count(text)[0]

    def deep(self, value: Json) -> Json:
        """The same JSON data with every string masked (keys are ours and stay)."""
        match value:
            case str():
                return self(value)
            case list():
                return [self.deep(v) for v in value]
            case dict():
                return {k: self.deep(v) for k, v in value.items()}
            case _:
                return value


def _masked(kind: str, match: re.Match[str]) -> str:
    mask = f"[redacted:{kind}]"
    return "\n".join([mask] * (match[0].count("\n") + 1))


def _nested(rest: str) -> str:
    """An expression for any beginning of `rest`, of at most so many characters as are shown of a value."""
    pattern = ""
    for char in reversed(rest[:_MOST_CUT]):
        pattern = f"{re.escape(char)}(?:{pattern})?" if pattern else re.escape(char)
    return pattern
