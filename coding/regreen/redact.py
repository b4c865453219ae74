"""The one choke point for secrets: text passes here before it leaves the process or reaches a log.

Order matters to callers: put pieces together first, redact, then cut to size; a token must not be cut in half first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from regreen.wire import Json

_FORMATS: tuple[tuple[str, str], ...] = (
    ("private-key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"),
    ("anthropic-key", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai-key", r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,}"),
    ("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})"),
    ("gitlab-token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("slack-token", r"\bxox[abposr]-[A-Za-z0-9-]{10,}"),
    ("stripe-key", r"\b[rs]k_live_[A-Za-z0-9]{16,}"),
    ("aws-access-key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("google-key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("npm-token", r"\bnpm_[A-Za-z0-9]{36}"),
    ("pypi-token", r"\bpypi-[A-Za-z0-9_-]{50,}"),
    ("hf-token", r"\bhf_[A-Za-z0-9]{30,}"),
    ("jwt", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("authorization", r"(?<=[Aa]uthorization: )(?:[Bb]earer|[Bb]asic) [A-Za-z0-9._~+/=-]{16,}"),
)  # fmt: skip
_URL_PASSWORD = re.compile(r"""(?P<head>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@"']{1,100}:)[^\s/:@"']{3,200}(?=@)""")
_PATTERN = re.compile("|".join(f"(?P<k{i}>{body})" for i, (_, body) in enumerate(_FORMATS)), re.DOTALL)
_SECRET_NAME = re.compile(r"(?i)(key|token|secret|passw|credential)")
_MIN_KNOWN = 8

MASK = re.compile(rf"\[redacted:(?:known|url-password|{'|'.join(kind for kind, _ in _FORMATS)})\]")
"""What stands in a masked text in the place of a secret."""


class Redactor:
    """Masks secret formats, and the values of secret-named environment variables, wherever they stand."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        values = sorted({v for v in known if len(v) >= _MIN_KNOWN}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, values))) if values else None

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
        text, n = _PATTERN.subn(lambda m: f"[redacted:{_FORMATS[int((m.lastgroup or 'k0')[1:])][0]}]", text)
        hits += n
        text, n = _URL_PASSWORD.subn(lambda m: m["head"] + "[redacted:url-password]", text)
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
