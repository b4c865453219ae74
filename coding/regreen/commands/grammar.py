"""Reading an argv against a schema: every word is known or the command is refused. No abbreviations, no guessing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regreen.commands.validators import Validator, printable
from regreen.errors import Refused

MAX_WORD = 4096


@dataclass(frozen=True, slots=True)
class Schema:
    """What may follow a command's fixed words.

    `switches` take no value; `options` take one, as the next word or after `=`; `glued` are letters of options whose
    value may be glued on (`-rA`); `bundle` are letters of switches that may be written together (`-xq`).
    `after_dashes` is how words behind `--` are read: None refuses `--`.
    """

    switches: frozenset[str] = frozenset()
    options: Mapping[str, Validator] = field(default_factory=dict[str, Validator])
    glued: str = ""
    bundle: str = ""
    positional: Validator | None = None
    after_dashes: Schema | None = None
    same_after_dashes: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One allowed command: its exact leading words, and which runner it belongs to."""

    words: tuple[str, ...]
    runner: str
    schema: Schema


def read(words: Sequence[str], schema: Schema, root: Path) -> tuple[str, ...]:
    """The words that were allowed, without `--`. Raises Refused at the first that is not."""
    allowed: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        problem = printable(word, MAX_WORD)
        if problem:
            raise _bad_value("this argument", word, problem)
        if word == "--":
            return (*allowed, *_after_dashes(rest, schema, root))
        allowed.append(word)
        if word.startswith("-") and word != "-":
            if _option(word, rest, schema, root):
                allowed.append(rest.pop(0))
        elif schema.positional is None:
            raise _not_allowed(word, schema)
        else:
            _check(schema.positional, "this argument", word, root)
    return tuple(allowed)


def _after_dashes(rest: Sequence[str], schema: Schema, root: Path) -> tuple[str, ...]:
    follower = schema if schema.same_after_dashes else schema.after_dashes
    if follower is None:
        raise _not_allowed("--", schema)
    return read(rest, follower, root)


def _option(word: str, rest: Sequence[str], schema: Schema, root: Path) -> bool:
    """Check one option. True if the next word is its value."""
    if word in schema.switches:
        return False
    name, equals, value = word.partition("=")
    if equals and name in schema.options:
        _check(schema.options[name], name, value, root)
        return False
    if word in schema.options:
        if not rest:
            raise _bad_value(word, "", "a value is wanted")
        _check(schema.options[word], word, rest[0], root)
        return True
    if _glued(word, schema, root) or _bundled(word, schema):
        return False
    raise _not_allowed(name, schema)


def _glued(word: str, schema: Schema, root: Path) -> bool:
    if word.startswith("--") or len(word) < 3 or word[1] not in schema.glued or word[:2] not in schema.options:
        return False
    _check(schema.options[word[:2]], word[:2], word[2:], root)
    return True


def _bundled(word: str, schema: Schema) -> bool:
    return not word.startswith("--") and len(word) > 2 and set(word[1:]) <= set(schema.bundle)


def _check(validator: Validator, name: str, value: str, root: Path) -> None:
    problem = validator(value, root)
    if problem:
        raise _bad_value(name, value, problem)


def _bad_value(name: str, value: str, problem: str) -> Refused:
    return Refused("argument_value_invalid", f"{name}: {value[:200]!r} is not allowed: {problem}",
                   "correct the value, or leave the argument out")  # fmt: skip


def _not_allowed(word: str, schema: Schema) -> Refused:
    known = " ".join(sorted((*schema.switches, *schema.options)))
    return Refused("argument_not_allowed", f"`{word[:200]}` is not an allowed argument of this command",
                   f"allowed options: {known or 'none'}")  # fmt: skip
