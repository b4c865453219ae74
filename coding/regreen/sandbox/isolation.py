"""What children are kept from on this machine, and what one child may touch. Values, and the choice of the level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from regreen.errors import Refused
from regreen.settings import Settings

Level: TypeAlias = Literal["bwrap", "landlock", "seatbelt", "job", "container", "none"]
Network: TypeAlias = Literal["isolated", "tcp-blocked", "open"]


@dataclass(frozen=True, slots=True)
class Isolation:
    """What children get on this machine. `loopback`: 127.0.0.1 can be used inside. `why`: why nothing stronger."""

    level: Level = "none"
    network: Network = "open"
    loopback: bool = True
    why: str = ""


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one child may touch. `root` and `writable` can be written; `readonly`, inside of them, not, where the level
    can keep that. `network`: the operator switched it on."""

    isolation: Isolation
    root: Path
    writable: tuple[Path, ...] = ()
    readonly: tuple[Path, ...] = ()
    network: bool = False


def isolation(settings: Settings) -> Isolation:
    """The level that children get; found out once a process."""
    return Isolation(why="switched off" if settings.sandbox == "off" else "no level is built in")


def require(settings: Settings) -> Isolation:
    """The level, or Refused (`sandbox_required`) where isolation is demanded and there is none."""
    found = isolation(settings)
    if settings.sandbox == "required" and found.level == "none":
        raise Refused("sandbox_required", f"tests were to run only in a sandbox, and there is none: {found.why}",
                      "use `--sandbox auto`: it runs with the best level there is and says which")  # fmt: skip
    return found


def confine(
    isolation: Isolation, root: Path, writable: Sequence[Path] = (), *, network: bool = False
) -> Confinement | None:
    """What a child that works on `root` may touch; None where there is no isolation."""
    if isolation.level == "none":
        return None
    git = root / ".git"
    return Confinement(isolation, root, tuple(writable), (git,) if git.exists() else (), network)
