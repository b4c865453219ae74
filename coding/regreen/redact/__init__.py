"""The one choke point for secrets: text passes here before it leaves the process or reaches a log.

Order matters to callers: put pieces together first, redact, then cut to size; a token must not be cut in half first.
What had to be cut before (definitions are kept with their values cut) is known by the ellipsis at its end. Lines stay
lines: a secret of several lines leaves as many, each masked, behind whatever a diff or a report puts before them.

A secret of several lines may also be met in pieces: a diff shows three lines around a change, a report of tests an
excerpt. A known value is therefore known by its lines, too. A private key has a beginning that gives it away; whoever
reads a file lets `LEARNED` look at all of it, and its lines are masked from then on wherever they turn up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from regreen.redact.known import KnownLines, form_of
from regreen.redact.private_keys import LEARNED, Learned, without_private_keys
from regreen.wire import Json

__all__ = ["LEARNED", "MASK", "Learned", "Redactor"]

_FORMATS: tuple[tuple[str, tuple[str, ...], str], ...] = (  # kind, what one must hold, form
    ("anthropic-key", ("sk-ant-",), r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai-key", ("sk-",), r"\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{20,}"),
    ("github-token", ("gh", ), r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{22,})"),
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
_PATTERNS = tuple((f"[redacted:{kind}]", marks, re.compile(form)) for kind, marks, form in _FORMATS)
_MARKED = re.compile("|".join(sorted({re.escape(mark) for _, marks, _ in _FORMATS for mark in marks})))
_SHORT = 400  # characters up to which one look for all marks is quicker than one for each
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

MASK = re.compile(rf"\[redacted:(?:known|cut|url-password|private-key|{'|'.join(kind for kind, *_ in _FORMATS)})\]")
"""What stands in a masked text in the place of a secret."""


class Redactor:
    """Masks secret formats, and the values of secret-named environment variables, wherever they stand."""

    def __init__(self, known: Iterable[str] = (), learned: Learned = LEARNED) -> None:
        bare = {value.strip() for value in known}
        values = sorted((value for value in bare if len(value) >= _MIN_KNOWN), key=len, reverse=True)
        single = [v for v in values if "\n" not in v]
        self._known = re.compile("|".join(map(form_of, single))) if single else None
        self._known_lines = KnownLines(v for v in values if "\n" in v)
        starts = "|".join(f"{re.escape(v[:_MIN_CUT])}(?:{_nested(v[_MIN_CUT:])})?…" for v in values)
        self._known_cut = re.compile(starts) if values else None
        self._learned = learned

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Redactor:
        """A redactor that knows the values of this environment's secret-named variables."""
        return cls(v for k, v in environ.items() if _SECRET_NAME.search(k))

    def count(self, text: str) -> tuple[str, int]:
        """The masked text and how many places were masked. Masking twice changes nothing more."""
        hits = 0
        if "PRIVATE KEY" in text:
            self._learned.look(text)
            text, hits = without_private_keys(text)
        for masked in (self._known_lines.masked, self._learned.masked):
            text, n = masked(text)
            hits += n
        if self._known is not None:
            text, n = self._known.subn("[redacted:known]", text)
            hits += n
        if len(text) > _SHORT or _MARKED.search(text):
            for mask, marks, pattern in _PATTERNS:
                if any(mark in text for mark in marks):
                    text, n = pattern.subn(mask, text)
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
        """The same JSON data with every string masked, and every name in it: some are the model's words."""
        return self._deep(value, {})

    def _deep(self, value: Json, names: dict[str, str]) -> Json:
        """`names` has what became of those that were met before: most are the same few."""
        match value:
            case str():
                return self(value)
            case list():
                return [self._deep(v, names) for v in value]
            case dict():
                return self._object(value, names)
            case _:
                return value

    def _object(self, value: Mapping[str, Json], names: dict[str, str]) -> dict[str, Json]:
        out: dict[str, Json] = {}
        for key, one in value.items():
            name = names.get(key)
            if name is None:
                name = names[key] = self(key)
            while name in out:  # two secrets are two names still
                name += "'"
            out[name] = self._deep(one, names)
        return out


def _nested(rest: str) -> str:
    """An expression for any beginning of `rest`, of at most so many characters as are shown of a value."""
    pattern = ""
    for char in reversed(rest[:_MOST_CUT]):
        pattern = f"{re.escape(char)}(?:{pattern})?" if pattern else re.escape(char)
    return pattern
