"""What a person is asked before something happens, as values: told in lines, and told apart from any other question.

Imports nothing heavy: servers load it before their first call.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from regreen.policy import Ask

if TYPE_CHECKING:
    from regreen.sandbox import Cancel

UNTRUSTED = "untrusted_workspace"
_MAX_VALUE = 300
_MAX_LINES = 24
_SHOWN_DIGEST = 12


@dataclass(frozen=True, slots=True)
class Effect:
    """What would be done. `told`: its lines for a person, as name and value. `identity`: what tells it from any other.
    `standing`: what a yes for the whole session is narrowed to, where it is not for anything of the kind."""

    told: tuple[tuple[str, str], ...] = ()
    identity: str = ""
    standing: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """May `action` be done in `folder`? `told` has passed the redactor. `sandbox`: what a run is kept in.
    `shown`: the folder as it is told, where that is not as it is."""

    ask: Ask
    action: str
    folder: str
    effect: Effect = field(default_factory=Effect)
    sandbox: str = ""
    shown: str = ""

    @property
    def digest(self) -> str:
        """The same for the same effect on the same contents, and for nothing else."""
        return self._hash(self.effect.identity)

    @property
    def standing(self) -> str:
        """The same for everything that a yes for the session is for."""
        return self._hash("")

    def _hash(self, identity: str) -> str:
        parts = [self.folder, self.action, self.ask.kind, self.effect.standing, identity]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def text(self) -> str:
        """The question in lines, a fact each; nothing in it can look like another line, or command a terminal."""
        sandbox = (("sandbox", self.sandbox),) if self.sandbox else ()
        told = self.effect.told
        more = (("and", f"{len(told) - _MAX_LINES} more lines"),) if len(told) > _MAX_LINES else ()
        lines = (
            ("why", self.ask.reason), ("folder", self.shown or self.folder), ("action", self.action),
            *told[:_MAX_LINES], *more, *sandbox, ("question", self.digest[:_SHOWN_DIGEST]),
        )  # fmt: skip
        asked = f"regreen asks: may it {_words(self.action)}?"
        return "\n".join((asked, *(f"{name}: {one_line(value)}" for name, value in lines), self._choices()))

    def _choices(self) -> str:
        if self.ask.kind == UNTRUSTED:
            also = "the folder is trusted until this session ends, and not after it"
        elif self.effect.standing:
            also = "also the same again, as long as its contents are the same, until this session ends"
        else:
            also = f"also whatever else it wants to {_words(self.action)} there, until this session ends"
        return f"once: this, now. session: {also}. reject: no."


Approver: TypeAlias = "Callable[[Question, Cancel], bool | None]"
"""Asks somebody, and blocks. False: they said no. None: nobody answered. Raises Refused where it has a better hint."""

_WORDS = {"edit": "change files", "run": "run tests", "restore": "put files back", "call": "call a tool"}


def _words(action: str) -> str:
    return _WORDS.get(action, action)


def one_line(text: str) -> str:
    """A value as one line that a person can trust: no controls, no terminal sequences, nothing that turns its order."""
    from regreen.testing.condense import neutral

    shown = neutral(text.replace("\r", "\\r").replace("\n", "\\n").replace("\t", " "))
    return shown if len(shown) <= _MAX_VALUE else f"{shown[:_MAX_VALUE]}… ({len(shown) - _MAX_VALUE} characters more)"
