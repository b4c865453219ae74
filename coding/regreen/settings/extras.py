"""How the optional parts of regreen are installed: the extras `keyring`, `langs`, `openai` and `watch`."""

from __future__ import annotations

from importlib.util import find_spec


def how_to_install(extra: str) -> str:
    """What to type, in a clone of regreen."""
    return f"install the extra `{extra}` (in the clone: `uv tool install '.[{extra}]'` or `pip install '.[{extra}]'`)"


def how_to_keep_a_key(provider: str) -> str:
    """What to type to have a key in the system's keyring. What uv installs as a tool brings no command of its own for
    the keyring."""
    install = "" if find_spec("keyring") else f"{how_to_install('keyring')}, then "
    return f"{install}type `keyring set regreen {provider}` (with uv: `uvx keyring ...`)"
