"""Programs that stand in for build tools which cannot be had: they note how they were started and leave what such a
tool leaves. Only the way to them and back is tested by that."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from regreen.settings import Settings
from support.suites import settings_with

SEEN = "seen.txt"


def standin(base: Path, name: str, *, does: str = "", says: str = "", status: int = 0, home: str = "") -> Settings:
    """Settings under which `name` is a program that runs the shell lines `does` in the project, writes its arguments
    and environment to a file there, prints `says` and ends with `status`."""
    folder = base / "programs"
    folder.mkdir(exist_ok=True)
    (folder / "said.txt").write_text(says, "utf-8")
    script = folder / name
    lines = ["#!/bin/sh", f'{{ for a in "$@"; do echo "$a"; done; env; }} > {SEEN}', does,
             f"cat {shlex.quote(str(folder / 'said.txt'))}", f"exit {status}"]  # fmt: skip
    script.write_text("\n".join(lines) + "\n", "utf-8")
    script.chmod(0o755)
    (folder / "java").write_text("#!/bin/sh\n", "utf-8")
    (folder / "java").chmod(0o755)
    return settings_with(base, {"PATH": f"{folder}:/usr/bin:/bin", "HOME": home or str(base)})


def leave(files: Mapping[str, str]) -> str:
    """Shell lines that write these files."""
    lines: list[str] = []
    for name, text in files.items():
        lines += [f"mkdir -p {shlex.quote(str(Path(name).parent))}", f"cat > {shlex.quote(name)} <<'END_OF_FILE'", text,
                  "END_OF_FILE"]  # fmt: skip
    return "\n".join(lines)


def seen(root: Path) -> list[str]:
    """What the program was started with: its arguments and its environment, a line each."""
    return (root / SEEN).read_text("utf-8").splitlines()
