"""Hides pytest plugins of the environment that runs this from pytest's own search for plugins.

Projects in our tests have no environment of their own, so regreen runs their tests in this one. Each of those many
runs would load the plugins that come with our dependencies, which takes longer than all the rest of its start. Those
that our tests need are kept. Safe to run again.
"""

from __future__ import annotations

import configparser
from importlib.metadata import Distribution, distributions
from pathlib import Path

GROUP = "pytest11"
KEPT = frozenset({"pytest-timeout", "pytest-xdist"})  # what our tests need, and cheap to load


def hide(distribution: Distribution) -> None:
    """Take the plugins out of the list of entry points."""
    for file in distribution.files or ():
        if file.name == "entry_points.txt":
            path = Path(str(distribution.locate_file(file)))
            entries = configparser.ConfigParser(delimiters=("=",), interpolation=None)
            entries.optionxform = str  # type: ignore[assignment,method-assign]
            entries.read_string(path.read_text("utf-8"))
            if entries.remove_section(GROUP):
                path.unlink()  # it may be a hard link into an installer's cache
                with path.open("w", encoding="utf-8") as out:
                    entries.write(out)


if __name__ == "__main__":
    for installed in distributions():
        if installed.name not in KEPT:
            hide(installed)
