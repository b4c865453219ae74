"""What a refusal says: what was wrong, why, and what is allowed, short enough to be read by a model in passing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from regreen.errors import Refused
from regreen.wire import nearest

LOADS = "it loads code or settings from elsewhere"
RUNS = "it runs another program"
WRITES = "it writes files"
WAITS = "it does not end by itself"
MOVES = "it moves the run to another folder"
CHANGES = "it changes what the run means"
SENDS = "it talks to the network"

_SHOWN = 60
_LISTED = 160


def because(reason: str, *names: str) -> dict[str, str]:
    """Rows of options that are known and refused. A name that ends in `*` stands for all that begin like it."""
    return dict.fromkeys(names, reason)


def shown(word: str) -> str:
    """A word of the caller, cut, with everything that is not printable written as an escape."""
    text = word[:_SHOWN]
    return f"`{text if text.isprintable() else ascii(text)[1:-1][:_SHOWN]}`"


def bad_value(name: str, value: str, problem: str) -> Refused:
    return Refused("argument_value_invalid", f"{name}: {shown(value)} is not allowed: {problem[:200]}",
                   "correct the value, or leave the argument out")  # fmt: skip


def not_allowed(word: str, known: Iterable[str], refused: Mapping[str, str]) -> Refused:
    """An option that is not known, or known and refused for a reason."""
    name = word.partition("=")[0] if word.startswith("-") else word
    reason = why(name, refused)
    told = f": {reason}" if reason else ""
    return Refused("argument_not_allowed", f"{shown(name)} is not an allowed argument of this command{told}",
                   _allowed(name, sorted(known), guess=not reason))  # fmt: skip


def why(name: str, refused: Mapping[str, str]) -> str:
    """The reason for which an option is refused, if it is one of the known ones."""
    if name in refused:
        return refused[name]
    families = [k for k in refused if k.endswith("*") and name.startswith(k[:-1])]
    return refused[max(families, key=len)] if families else ""


def _allowed(name: str, known: list[str], *, guess: bool) -> str:
    if not known:
        return "this command takes no options"
    listed = " ".join(known)
    if len(listed) <= _LISTED:
        return f"allowed options: {listed}"
    if not guess:
        return f"leave it out; {len(known)} other options are allowed"
    near = nearest(name, known, 3, 0.7)
    if near:
        return f"did you mean {' or '.join(near)}? {len(known)} options are allowed"
    few = listed[:_LISTED].rpartition(" ")[0]
    return f"{len(known)} options are allowed: {few} ..."
