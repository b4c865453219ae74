"""What a project's tests import of other people's modules: learnt from a run, kept in the cache folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from regreen.testing.warm.talk import Message

_MAX_NAMES = 20_000


@dataclass(frozen=True, slots=True)
class Knowledge:
    """`names` in the order of their import, of which pytest rewrites the assertions in `rewritten`; `path` and
    `environ` are what they were imported with; `avoided` are top names that must not be imported ahead, and why.
    `conftests` are the files whose change makes all of this doubtful. Valid for one stamp, by its digest."""

    digest: str = ""
    names: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    environ: Mapping[str, str] | None = None
    avoided: Mapping[str, str] | None = None
    conftests: tuple[str, ...] = ()

    def without(self, top: str, why: str) -> Knowledge:
        return replace(self, avoided={**(self.avoided or {}), top: why})

    @property
    def order(self) -> Message:
        """The request to the server to import it."""
        avoided = self.avoided or {}
        names = [n for n in self.names if n.partition(".")[0] not in avoided]
        known = set(names)
        rewritten = [n for n in self.rewritten if n in known]
        return {
            "do": "preload",
            "names": names,
            "rewritten": rewritten,
            "path": self.path,
            "environ": dict(self.environ or {}),
        }


def learnt(loaded: Sequence[Message], private: Path, before: Knowledge) -> Knowledge:
    """From what a run told after collection and at its end. Variables that name its private folder are not kept."""
    environ = {str(k): str(v) for k, v in loaded[0]["environ"].items() if str(private) not in str(v)}
    return replace(
        before,
        names=_strings([n for told in loaded for n in told["names"]]),
        rewritten=_strings([n for told in loaded for n in told["rewritten"]]),
        path=_strings(loaded[0]["path"]),
        environ=environ,
    )


def load(cache: Path, folder: Path, interpreter: str) -> Knowledge:
    """What is known from before; whatever is odd about the file only means that it is learnt again."""
    try:
        data = cast("dict[str, Any]", json.loads(_place(cache, folder, interpreter).read_bytes()))
        return Knowledge(
            digest=str(data["digest"]),
            names=_strings(data["names"]),
            rewritten=_strings(data["rewritten"]),
            path=_strings(data["path"]),
            environ=_words(data["environ"]),
            avoided=_words(data["avoided"]),
            conftests=_strings(data["conftests"]),
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Knowledge()


def save(cache: Path, folder: Path, interpreter: str, known: Knowledge) -> None:
    place = _place(cache, folder, interpreter)
    temporary = place.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(json.dumps(asdict(known)), "utf-8")
        temporary.replace(place)


def _place(cache: Path, folder: Path, interpreter: str) -> Path:
    name = hashlib.sha256(f"{folder}\0{interpreter}".encode()).hexdigest()[:24]
    return cache / "warm" / f"{name}.json"


def _strings(values: Any) -> tuple[str, ...]:
    return tuple(str(v) for v in values[:_MAX_NAMES])


def _words(values: Any) -> dict[str, str]:
    return {str(k): str(v) for k, v in cast("dict[Any, Any]", values or {}).items()}
