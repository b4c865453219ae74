"""Running Python in a sandbox of a chosen level, as the user of the tests or as an ordinary one, and what came of it.

A process of its own calls the sandbox, so that it can be another user's, and can be killed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import regreen

SOURCES = str(Path(regreen.__file__).parents[1])
NOBODY = 65534
LEVELS = ("bwrap", "landlock")
USERS = ("same", "ordinary")
SECRET = "the-secret-of-the-caller"

LAUNCHER = """
import json, os, sys
from pathlib import Path
given = json.loads(sys.argv[1])
sys.path.insert(0, given["sources"])
from regreen.errors import RegreenError
from regreen.sandbox import CHANNEL, Cancel, Command, child_environment, confine, isolation, run
from regreen.sandbox import nested
from regreen.settings import Settings
environ = {"PATH": os.environ["PATH"], "HOME": given["home"]}
settings = Settings(Path("/nowhere"), Path("/nowhere"), environ, sandbox_level=given["level"], network=given["network"])
try:
    here = isolation(settings)
except RegreenError as e:
    print(json.dumps({"refused": e.message}))
    sys.exit()
root = Path(given["root"])
nested.tell(root, given["nested"])
nested.came(root, given["made"])
env = child_environment(environ, {"TMPDIR": given["tmp"], "LAUNCHER": str(os.getpid())})
paths = lambda name: [Path(p) for p in given[name]]
command = Command((given["python"], "-c", given["code"], *given["args"]), root, env, given["timeout_s"],
                  confinement=confine(here, root, paths("writable"), network=given["network"], hidden=paths("hidden")),
                  **given["options"])
heard = []
dump = {"on_channel": heard.append} if CHANNEL in command.argv else {}
try:
    done = run(command, cancel=Cancel(), dump=given["dump"], **dump)
except RegreenError as e:
    print(json.dumps({"fault": e.message, "level": here.level}))
    sys.exit()
print(json.dumps({
    "level": here.level, "network": here.network, "loopback": here.loopback, "namespaces": here.namespaces,
    "returncode": done.returncode, "signal": done.signal, "limit": done.limit, "left": done.left_processes,
    "timed_out": done.timed_out, "duration_s": done.duration_s, "unsupervised": done.unsupervised,
    "output": done.output_head.decode(errors="replace"), "heard": b"".join(heard).decode(),
}))
"""


@dataclass(frozen=True)
class Place:
    """A project, its private folder for temporary files, a home with secrets, and a folder it must not write."""

    user: str
    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def tmp(self) -> Path:
        return self.folder / "private"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"


def python_of(user: str) -> str:
    """An interpreter that the user can start, or a loud skip."""
    if user == "same":
        return sys.executable
    if os.geteuid() != 0:
        pytest.skip("only root can run something as another user; these tests run as an ordinary one already")
    found = _python_for_everyone()
    if not found:
        pytest.skip("no Python 3.11 or newer on PATH that an ordinary user can start")
    return found


@cache
def _python_for_everyone() -> str:
    code = f"import sys; sys.path.insert(0, {SOURCES!r}); import regreen.sandbox; sys.exit(sys.version_info < (3, 11))"
    for name in ("/usr/bin/python3", "/usr/local/bin/python3", shutil.which("python3") or ""):
        if Path(name).exists():
            try:
                done = subprocess.run([name, "-c", code], capture_output=True, check=False, **as_user("ordinary"))
            except OSError:
                continue
            if done.returncode == 0:
                return name
    return ""


def as_user(user: str) -> dict[str, Any]:
    return {} if user == "same" else {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def place_for(user: str, folder: Path) -> Place:
    """The folders, owned by the user and reachable for him."""
    place = Place(user, folder.resolve())
    for part in (place.project / ".git" / "hooks", place.tmp, place.home / ".ssh", place.home / ".aws", place.outside):
        part.mkdir(parents=True)
    (place.project / ".git" / "config").write_text("[core]\n")
    (place.outside / "victim").write_text("precious")
    (place.home / ".ssh" / "id").write_text("key")
    (place.home / ".aws" / "credentials").write_text("key")
    (place.home / ".netrc").write_text("key")
    if user == "ordinary":
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        for parent in folder.parents:
            if parent.owner() == "root" and parent != Path("/") and not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)
    return place


def folder_outside_tmp(user: str) -> Path:
    """A new folder where the sandbox lays nothing private over it; to be removed by the caller."""
    for parent in (Path.home(), Path("/srv"), Path("/opt"), Path("/var/lib")):
        for_all = user == "same" or (parent.exists() and parent.stat().st_mode & 0o001)
        if for_all and os.access(parent, os.W_OK) and not parent.is_relative_to("/tmp"):
            return Path(tempfile.mkdtemp(prefix="regreen-test-", dir=parent))
    pytest.skip("no folder outside of /tmp can be written for this test (a home folder, /srv, /opt, /var/lib)")


def launch(place: Place, level: str, code: str, *args: str, **given: Any) -> subprocess.Popen[bytes]:
    """Start the process that calls the sandbox."""
    python = python_of(place.user)
    whole = {
        "sources": SOURCES, "level": level, "root": str(place.project), "tmp": str(place.tmp), "home": str(place.home),
        "writable": [str(place.tmp)], "hidden": [], "code": code, "args": args, "timeout_s": 30.0, "network": False,
        "dump": False, "nested": [], "made": [], "options": {}, "python": python, **given,
    }  # fmt: skip
    environ = {"PATH": os.environ["PATH"], "HOME": str(place.home), "SECRET": SECRET}
    return subprocess.Popen([python, "-c", LAUNCHER, json.dumps(whole)], env=environ, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, cwd="/", **as_user(place.user))  # fmt: skip


def confined(place: Place, level: str, code: str, *args: str, **given: Any) -> dict[str, Any]:
    """Run it to its end; skips loudly where the level cannot be had."""
    with launch(place, level, code, *args, **given) as process:
        try:
            out, err = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 0, err.decode()
    ran = json.loads(out)
    if "refused" in ran:
        pytest.skip(f"no sandbox of this level: {ran['refused']}")
    return ran
