"""The texts that the agent sends to models: one file each in `prompts`."""

from __future__ import annotations

from functools import cache
from importlib import resources


def text(name: str, **values: object) -> str:
    """The text of that name, with `{values}` filled in."""
    return _source(name).format(**values)


@cache
def _source(name: str) -> str:
    return resources.files("regreen.agent").joinpath("prompts", f"{name}.md").read_text("utf-8").strip()
