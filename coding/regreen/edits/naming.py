"""The words of an answer, in the terms of the format that its edit came in.

Everything in this package that explains an edit speaks of SEARCH and REPLACE. What came as a hunk or as a call has
other names for the two; only these are put in their place, never anything that was quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from regreen.edits.operations import Operation, ReplaceLines, ReplaceText
from regreen.model import EditError

_Words: TypeAlias = Sequence[tuple[re.Pattern[str], str]]


def _words(*pairs: tuple[str, str]) -> _Words:
    return [(re.compile(rf"(?<![\w./`'\"-]){phrase}(?![\w/`'\"-]|\.\w)"), said) for phrase, said in pairs]


_HUNK = _words(
    ("SEARCH and REPLACE", "the hunk"),
    ("the REPLACE lines", "the new lines of the hunk"),
    ("REPLACE", "the new lines"),
    (r"SEARCH (lines?)", r"hunk \1"),
    ("write SEARCH", "write the hunk"),
    ("SEARCH", "the hunk"),
)
_CALL = _words(
    ("stand there as (?:a whole line|whole lines)", "stand there to the letter"),
    ("the REPLACE lines", "the lines of new_str"),
    ("REPLACE", "new_str"),
    (r"SEARCH (lines?)", r"old_str \1"),
    ("SEARCH", "old_str"),
)


def named(error: EditError, edit: Operation) -> EditError:
    """The error in the words of the format that `edit` came in."""
    if isinstance(edit, ReplaceText):
        words = _CALL
    elif isinstance(edit, ReplaceLines) and edit.as_on_disk:
        words = _HUNK
    else:
        return error
    return replace(error, message=_said(error.message, words), hint=_said(error.hint, words))


def _said(text: str, words: _Words) -> str:
    for phrase, said in words:
        text = phrase.sub(said, text)
    return text
