"""Where a PHP project's syntax error is, when PHPUnit does not say: its files are parsed, and never run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from regreen import sandbox
from regreen.commands.programs import find_program
from regreen.sandbox import Command, child_environment
from regreen.testing.channel import Frame, RawFailure
from regreen.testing.heard import Asked
from regreen.testing.looking import Look

_SCRIPT = Path(__file__).parents[1] / "inside" / "regreen_php_parse.php"
_LIMIT_S = 20.0


def first_broken(asked: Asked) -> RawFailure | None:
    """The first file that cannot be parsed, those near the top of the project first."""
    settings, root = asked.request.settings, asked.request.workspace.root
    php = find_program("php", settings.environ, root)
    files = [str(asked.folder / path) for path in asked.look.below() if path.endswith(".php")]
    if php is None or not files:
        return None
    listed = asked.private / "php-files.json"
    listed.write_text(json.dumps(files), "utf-8")
    command = Command(
        argv=(str(php), "-d", "display_errors=0", str(_SCRIPT), str(listed)),
        cwd=asked.folder,
        env=child_environment(settings.environ, root=root),
        timeout_s=_LIMIT_S,
        confinement=sandbox.confined(settings, root, (asked.private,)),
    )
    completed = sandbox.run(command, cancel=asked.cancel)
    return _failure(completed.output_head.decode("utf-8", "replace"), asked.look)


def _failure(told: str, look: Look) -> RawFailure | None:
    try:
        found: dict[str, Any] = json.loads(told)
        path, line = str(found["path"]), int(found["line"])
    except (ValueError, KeyError, TypeError):
        return None
    shown = path.removeprefix(f"{look.path}/")
    return RawFailure(shown, str(found["kind"]), str(found["message"]), (Frame(path, line, ""),))
