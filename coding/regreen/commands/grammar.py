"""Reading an argv against a schema: every word is known or the command is refused. No abbreviations, no guessing.

A program may read a word in another way than this grammar. So a value that is a word of its own never begins with a
dash (many programs would take it for an option), and an option whose value is optional takes it behind `=` only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from regreen.commands.refusals import bad_value, not_allowed, shown
from regreen.commands.validators import (
    OUTSIDE,
    Validator,
    path_behind_dashes,
    plain_in_a_shell,
    printable,
    starts_with_other_dash,
)
from regreen.errors import Refused

MAX_WORD = 4096
Dashes: TypeAlias = Literal["refuse", "same", "inner", "paths"]


@dataclass(frozen=True, slots=True)
class Schema:
    """What may follow a command's fixed words.

    `switches` take no value; `options` take one, as the next word or after `=`; `attached` only after `=`; `glued` are
    letters of options whose value may be glued on (`-rA`); `bundle` are letters of switches that may be written
    together (`-xq`); `numbers` allows `-5`. `goals` is what a positional must match where the command
    needs one, and `goal` how that is told.
    `dashes` is how words behind `--` are read: `same` as before it (for programs that do so), by the `inner` schema,
    as `paths`, or not at all. With `hands_on`, positionals go to the same program as the words behind `--`.
    `by_shell`: words may be handed on by way of a shell. `reads_at`: a word `@FILE` stands for words in a file.
    `refused` tells why an option is refused; what is in no table is refused without.
    """

    switches: frozenset[str] = frozenset()
    options: Mapping[str, Validator] = field(default_factory=dict[str, Validator])
    attached: Mapping[str, Validator] = field(default_factory=dict[str, Validator])
    glued: str = ""
    bundle: str = ""
    numbers: bool = False
    positional: Validator | None = None
    goals: str = ""
    goal: str = "test"
    dashes: Dashes = "refuse"
    inner: Schema | None = None
    hands_on: bool = False
    by_shell: bool = False
    reads_at: bool = False
    refused: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def known(self) -> frozenset[str]:
        return self.switches | self.options.keys() | self.attached.keys()


@dataclass(frozen=True, slots=True)
class Row:
    """One allowed command: its exact leading words (or what a word must match), and which runner it belongs to.

    With `through`, the command hands all words on to another program, for which the schema is.
    """

    words: tuple[str | re.Pattern[str], ...]
    runner: str
    schema: Schema
    through: bool = False

    def matches(self, argv: Sequence[str]) -> bool:
        return len(argv) >= len(self.words) and all(
            word == given if isinstance(word, str) else word.fullmatch(given) is not None
            for word, given in zip(self.words, argv, strict=False)
        )


@dataclass(frozen=True, slots=True)
class Arguments:
    """Words that were allowed. `words` has them all, so that they could be checked again; `--` is among them where it
    means something. `targets` are the positionals, `options` the pairs of name and value (None for a switch), `after`
    what another program gets: the words behind `--`, or all that a script is given.
    """

    words: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    options: tuple[tuple[str, str | None], ...] = ()
    after: Arguments | None = None


def read(words: Sequence[str], schema: Schema, root: Path) -> Arguments:
    """The words, sorted. Raises Refused at the first that is not allowed."""
    reading = _Reading(schema, root, list(words))
    while reading.rest:
        word = reading.take()
        if word == "--":
            reading.behind_dashes()
        elif word.startswith("-") and word != "-":
            reading.options.append(reading.option(word))
        else:
            reading.positional(word)
    return reading.done()


@dataclass
class _Reading:
    schema: Schema
    root: Path
    rest: list[str]
    words: list[str] = field(default_factory=list[str])
    targets: list[str] = field(default_factory=list[str])
    options: list[tuple[str, str | None]] = field(default_factory=list[tuple[str, str | None]])
    after: Arguments | None = None

    def take(self) -> str:
        word = self.rest.pop(0)
        problem = printable(word, MAX_WORD)
        if problem:
            raise bad_value("this argument", word, problem)
        if self.schema.by_shell and not plain_in_a_shell(word):
            raise bad_value("this argument", word, "a script's words may pass a shell: no backquotes, no `$NAME`, and "
                            "no backslash before a quote")  # fmt: skip
        self.words.append(word)
        return word

    def done(self) -> Arguments:
        if self.schema.goals and not self.targets:
            raise Refused("command_not_allowed", "the command does not say what to do", f"add `{self.schema.goal}`")
        after, targets = self.after, tuple(self.targets)
        if self.schema.hands_on and targets:
            more = after or Arguments()
            after = Arguments((*targets, *more.words), (*targets, *more.targets), more.options)
            targets = ()
        return Arguments(tuple(self.words), targets, tuple(self.options), after)

    def option(self, word: str) -> tuple[str, str | None]:
        schema = self.schema
        if word in schema.switches:
            return word, None
        name, equals, value = word.partition("=")
        if equals and name in (schema.options.keys() | schema.attached.keys()):
            return self.checked(schema.options.get(name) or schema.attached[name], name, value)
        if word in schema.options:
            return self.checked(schema.options[word], word, self.value(word))
        if word in schema.attached:
            raise bad_value(word, "", f"its value is written `{word}=VALUE`")
        return self.short(word)

    def value(self, name: str) -> str:
        if not self.rest:
            raise bad_value(name, "", "a value is wanted")
        value = self.take()
        if value.startswith("-") or (self.schema.reads_at and value.startswith("@")):
            raise bad_value(name, value, f"a value that begins with `{value[0]}` is written `{name}=VALUE`")
        return value

    def short(self, word: str) -> tuple[str, str | None]:
        """One dash, and a value or more letters at it."""
        schema, letter = self.schema, word[:2]
        if not word.startswith("--") and len(word) > 2:
            if word[1] in schema.glued:
                return self.checked(schema.options.get(letter) or schema.attached[letter], letter, word[2:])
            if set(word[1:]) <= set(schema.bundle):
                return word, None
        if schema.numbers and re.fullmatch(r"-[0-9]{1,4}", word):
            return word, None
        raise not_allowed(word, schema.known, schema.refused)

    def checked(self, validator: Validator, name: str, value: str) -> tuple[str, str]:
        problem = validator(value, self.root)
        if problem:
            raise bad_value(name, value, problem)
        return name, value

    def positional(self, word: str) -> None:
        if starts_with_other_dash(word):
            raise bad_value("this argument", word, "it begins with a dash that is not the plain `-`")
        if self.schema.goals:
            self.goal(word)
        elif self.schema.positional is not None:
            self.checked(self.schema.positional, "this argument", word)
        elif "=" in word:
            raise bad_value("this argument", word, "variables cannot be set")
        else:
            raise not_allowed(word, self.schema.known, self.schema.refused)
        self.targets.append(word)

    def goal(self, word: str) -> None:
        if re.fullmatch(self.schema.goals, word, re.ASCII):
            return
        if "=" in word:
            raise bad_value("this argument", word, "variables cannot be set")
        kind = "argument_not_allowed" if self.targets else "command_not_allowed"
        raise Refused(kind, f"{shown(word)} is not a goal that runs tests only", f"allowed: `{self.schema.goal}`")

    def behind_dashes(self) -> None:
        schema = self.schema
        if schema.dashes == "refuse":
            raise not_allowed("--", schema.known, {"--": "nothing may follow it"})
        if schema.dashes == "same":
            self.words.pop()
            return
        if schema.dashes == "paths":
            self.after = _paths(self.rest, self.root)
        elif schema.inner is not None:
            self.after = read(self.rest, schema.inner, self.root)
        self.words += self.after.words if self.after else ()
        self.rest.clear()


def _paths(words: Iterable[str], root: Path) -> Arguments:
    for word in words:
        problem = path_behind_dashes(word, root)
        if problem == OUTSIDE:
            raise Refused("path_outside_workspace", f"{shown(word)} lies outside of the project",
                          "name paths of this project, relative to its root")  # fmt: skip
        if problem:
            raise bad_value("a path behind `--`", word, problem)
    return Arguments(tuple(words), tuple(words))
