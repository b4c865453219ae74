"""tox's settings, read as far as they are plain: which environments there are, and what one of them runs. Pure.

Whatever could change what runs, or what it runs in, and is not understood here, makes an environment odd.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from regreen.testing.looking import Look

_ODD = ("commands_pre", "commands_post", "base")  # run more, or take the settings from elsewhere
_VARIABLE = re.compile(r"([A-Za-z_]\w*)\s*=\s*(.*)", re.ASCII)
_HERE = re.compile(r"\{(?:toxinidir|tox_root)\}")


@dataclass(frozen=True, slots=True)
class Environment:
    """What one environment runs. `odd`: something besides these commands counts, or it is not known what."""

    commands: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    odd: bool = False


@dataclass(frozen=True, slots=True)
class ToxSettings:
    """`names` are the environments that run where none is asked for; None where that is not plain."""

    names: tuple[str, ...] | None
    environment: Callable[[str], Environment]


def read(look: Look) -> ToxSettings | None:
    """The settings from whichever file holds them; None for none that name a command."""
    legacy = _table(look.toml("pyproject.toml"), "tool", "tox").get("legacy_tox_ini", "")
    sources = (("", look.text("tox.ini")), ("tox:", look.text("setup.cfg")), ("", legacy))
    for prefix, text in sources:
        found = _from_ini(text, prefix, look) if isinstance(text, str) else None
        if found is not None:
            return found
    for table in (_table(look.toml("pyproject.toml"), "tool", "tox"), look.toml("tox.toml")):
        if any("commands" in section for section in (_table(table, "env_run_base"), *_environments(table))):
            return _from_toml(table, look)
    return None


def _from_ini(text: str, prefix: str, look: Look) -> ToxSettings | None:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    base = f"{prefix}testenv"
    own = [s for s in parser.sections() if s == base or s.startswith(f"{base}:")]
    if not any(parser.has_option(s, "commands") for s in own):
        return None
    core = "tox:tox" if prefix else "tox"
    listed = _lines(_option(parser, (core,), "env_list", "envlist"))
    generated = any("{" in s for s in own)

    def environment(name: str) -> Environment:
        sections = (f"{base}:{name}", base)
        values = {key: _option(parser, sections, *keys) for key, keys in _KEYS.items()}
        variables = _variables(_lines(values["set_env"]), look)
        odd = generated or variables is None or any(_option(parser, sections, key).strip() for key in _ODD)
        odd = odd or _moved(values["change_dir"]) or "/" in values["allowlist"]
        joined = re.sub(r"\\\n\s*", " ", values["commands"])
        return Environment(tuple(_lines(joined)), variables or {}, odd)

    return ToxSettings(_names(",".join(listed)), environment)


_KEYS = {
    "commands": ("commands",),
    "set_env": ("set_env", "setenv"),
    "change_dir": ("change_dir", "changedir"),
    "allowlist": ("allowlist_externals", "whitelist_externals"),
}


def _option(parser: configparser.RawConfigParser, sections: Sequence[str], *keys: str) -> str:
    """The value of a setting in the first section that has it, under any of its names."""
    found = (parser.get(s, k) for s in sections for k in keys if parser.has_option(s, k))
    return next(found, "") or ""


def _lines(text: str) -> list[str]:
    stripped = (line.strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


def _names(listed: str) -> tuple[str, ...] | None:
    """The names of a list of environments; None where it makes some of parts (`py{310,311}`)."""
    if "{" in listed:
        return None
    return tuple(dict.fromkeys(n for n in re.split(r"[\s,]+", listed) if n))


def _variables(lines: Sequence[str], look: Look) -> dict[str, str] | None:
    """The variables that lines set; None where one of them is not plain."""
    found: dict[str, str] = {}
    for line in lines:
        assigned = _VARIABLE.fullmatch(line)
        if assigned is None:
            return None
        here = "." if assigned[1] == "PYTHONPATH" else str(look.path)
        found[assigned[1]] = _HERE.sub(lambda _, here=here: here, assigned[2]).strip()
    return None if any(re.search(r"[{}\\]", value) for value in found.values()) else found


def _moved(folder: str) -> bool:
    return _HERE.sub(".", folder.strip()).rstrip("/") not in ("", ".")


def _from_toml(table: Mapping[str, Any], look: Look) -> ToxSettings:
    given: Any = table.get("env_list", [])
    listed = [str(n) for n in cast("list[object]", given)] if isinstance(given, list) else ["{}"]
    base = _table(table, "env_run_base")

    def environment(name: str) -> Environment:
        section = {**base, **_table(table, "env", name)}
        given: Any = section.get("set_env", section.get("setenv", {}))
        assigned = cast("dict[str, Any]", given) if isinstance(given, dict) else {"": given}
        variables = _variables([f"{k}={v}" if isinstance(v, str) else "" for k, v in assigned.items()], look)
        lists: Any = section.get("commands", ())
        commands = tuple(" ".join(map(_word, words)) for words in lists if isinstance(words, list))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        odd = variables is None or len(commands) != len(lists) or any(section.get(key) for key in _ODD)
        allowed = str(section.get("allowlist_externals", ""))
        odd = odd or _moved(str(section.get("change_dir", ""))) or "/" in allowed
        return Environment(commands, variables or {}, odd)

    return ToxSettings(_names(",".join(listed)), environment)


def _environments(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [_table(table, "env", name) for name in _table(table, "env")]


def _table(table: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """A table inside of others; empty where there is none."""
    for name in names:
        inner: Any = table.get(name)
        table = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return table


def _word(word: object) -> str:
    """A word as the other files would have it; what is replaced in ways that are not known is no plain word."""
    if isinstance(word, str):
        return word if re.fullmatch(r"[\w./:=,+@\-\[\]{}]+", word) else "{}"
    table = cast("dict[str, Any]", word) if isinstance(word, dict) else {}
    default: Any = table.get("default", [])
    if table.get("replace") != "posargs" or not isinstance(default, list):
        return "{}"
    words = map(str, cast("list[object]", default))
    return f"{{posargs:{' '.join(words)}}}"
