"""The level `container`: one container for one child, by docker or podman and an image that the operator names.

In it are the image's programs, the project and the private folders under their own names, and nothing else of the
machine; nothing is pulled. A container is no child of ours, so the end of its client does not end it: `end` removes it,
and what a process of ours that died left behind is removed by the next one that asks for this level.

No descriptor leads into a container. Where the argv or a variable wants the private channel, a relay stands between,
and instead of a number the child gets a path: it reads from the FIFO `PATH.in` and writes to `PATH.out`. They lie in
its private folder, and lead through on Linux only.
Docker's rootless mode is refused: in it, files made for this user would belong to somebody else.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from regreen.errors import EnvironmentFault
from regreen.sandbox import hiding
from regreen.sandbox.environment import child_environment
from regreen.sandbox.isolation import Confinement, Isolation
from regreen.sandbox.values import Command
from regreen.settings import Settings, own_interpreter

PREFIX = "regreen"
ANSWER_S = 20.0
_CHANNEL = "{channel}"
_RELAY = Path(__file__).with_name("container_relay.py")
_OURS = Path(__file__).resolve().parents[1]  # the insides of runners lie below
_HOME = "/tmp"  # private, as all of /tmp there
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_THE_HOST = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "HOSTNAME"})
# what would steer the engine's own client, which finds the child's variables in its environment
_STEERING = re.compile(
    r"(?i)(?:docker|container|podman|ld|dyld|xdg|registry|storage|ssl)_|.*_proxy$|no_proxy$|godebug$"
)


def wrap(command: Command, confinement: Confinement, *, name: str = "") -> tuple[str, ...]:
    """The argv that runs `command` in a container of its own. `name` is what it is called, by default something new.

    Values of variables stay out of the argv: the client takes them from its environment, which is the command's.
    """
    engine, image = _parts(confinement.isolation)
    places = {target: (source, target, fixed) for source, target, fixed in _places(confinement)}
    visible = list(places)
    channel = _channel(command)
    relay = (own_interpreter(), "-I", "-S", str(_RELAY), _CHANNEL, channel, "--") if channel else ()
    words = [_program(command.argv[0], visible), *command.argv[1:]]
    words = [channel if word == _CHANNEL else word for word in words]
    options = [
        *("--rm", "--init", "--interactive", "--pull", "never", "--name", name or new_name()),
        *(() if confinement.network else ("--network", "none")),
        *("--read-only", "--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777"),
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", *_of_engine(engine)),
        *_limits(command),
        *("--user", f"{os.geteuid()}:{os.getegid()}", "--workdir", str(command.cwd)),
    ]
    for place in places.values():
        options += ("--mount", _bind(*place))
    for hidden in _hidden(command, confinement, visible):
        options += ("--mount", hidden)
    for variable in _variables(command.env, visible):
        options += ("--env", f"{variable}={channel}" if command.env[variable] == _CHANNEL else variable)
    return (*relay, engine, "run", *options, "--env", f"HOME={_HOME}", "--entrypoint", words[0], image, *words[1:])


def farewell(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The argv that removes the container of a wrapped argv, whatever state it is in."""
    start = argv.index("--") + 1 if len(argv) > 3 and argv[3] == str(_RELAY) else 0
    return (argv[start], "rm", "--force", "--volumes", argv[argv.index("--name", start) + 1])


def end(argv: tuple[str, ...], env: Mapping[str, str]) -> bool:
    """Remove the container of a wrapped argv; to be called when its client has ended, however it did. True if it is
    gone, also when it was before."""
    said = _ask(farewell(argv), env)
    return said.ok or "no such container" in said.text.casefold()


def isolation(settings: Settings) -> Isolation:
    """The level with its engine and image, or `none` and why."""
    problem = probe(settings)
    if problem:
        return Isolation(why=problem)
    program = f"{_engine(settings)} {settings.container_image}"
    why = "tests can make set-user-id files in the project: the engine's own filter of system calls lets them"
    return Isolation("container", "isolated", why=why, program=program)


def probe(settings: Settings) -> str:
    """ "" where containers can be made of the configured image, else why not. Pulls nothing.

    The first time, containers that dead processes of ours left behind are removed.
    """
    if not settings.container_engine or not settings.container_image:
        return "no container_engine and container_image are set"
    if not sys.platform.startswith("linux"):
        return "containers are used on Linux only"
    if not _IMAGE.fullmatch(settings.container_image):
        return f"{settings.container_image!r} is no name of an image"
    engine = _engine(settings)
    if not engine:
        return f"{settings.container_engine} is not on the PATH"
    return _try(engine, settings.container_image, tuple(child_environment(settings.environ).items()))


@cache
def _try(engine: str, image: str, environ: tuple[tuple[str, str], ...]) -> str:
    env = dict(environ)
    said = _ask((engine, "version"), env)
    if not said.ok:
        return f"{engine} does not answer: {said.text[-300:]}"
    if not _is_podman(engine) and "rootless" in _ask((engine, "info", "--format", "{{.SecurityOptions}}"), env).text:
        return "docker is rootless here: use podman"
    if not _ask((engine, "image", "inspect", "--format", "{{.Id}}", image), env).ok:
        return f"the image {image} is not on this machine: pull it first"
    sweep(engine, env)
    return ""


def sweep(engine: str, env: Mapping[str, str]) -> list[str]:
    """Remove the containers of processes of ours that are dead; returns their names."""
    listing = _ask((engine, "ps", "--all", "--filter", f"name={PREFIX}-", "--format", "{{.Names}}"), env)
    found = [name for name in listing.text.split() if is_abandoned(name)] if listing.ok else []
    for name in found:
        _ask((engine, "rm", "--force", "--volumes", name), env)
    return found


def new_name() -> str:
    """A name that says which process it belongs to."""
    pid = os.getpid()
    return f"{PREFIX}-{_machine()}-{pid}-{_started(pid)}-{secrets.token_hex(8)}"


def is_abandoned(name: str) -> bool:
    """Whether a container's name is one of ours, of a process on this machine that is dead."""
    match = re.fullmatch(rf"{PREFIX}-(\w+)-(\d+)-(\d+)-[0-9a-f]+", name)
    return match is not None and match[1] == _machine() and _started(int(match[2])) != int(match[3])


def _machine() -> str:
    """Where a process id means this process: one boot, one namespace of process ids."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii")
        space = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 (no file)
    except OSError:
        boot = space = ""
    return hashlib.sha256(f"{boot} {space}".encode()).hexdigest()[:12]


def _started(pid: int) -> int:
    """When a process started, in the kernel's ticks; 0 where there is none."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
    except (OSError, IndexError):
        return 0


class _Said:
    def __init__(self, ok: bool, text: str) -> None:
        self.ok = ok
        self.text = text


def _ask(argv: tuple[str, ...], env: Mapping[str, str]) -> _Said:
    try:
        done = subprocess.run(argv, env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_S,
                              cwd="/", check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as e:
        return _Said(False, str(e))
    return _Said(done.returncode == 0, (done.stdout + done.stderr).decode("utf-8", "replace").strip())


def _engine(settings: Settings) -> str:
    """The engine's program on the PATH, never one of a project."""
    for folder in settings.environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which(settings.container_engine, path=folder) if Path(folder).is_absolute() else None
        if found and not any(Path(os.path.realpath(found)).is_relative_to(r) for r in settings.roots):
            return found
    return ""


def _parts(level: Isolation) -> tuple[str, str]:
    """The engine's path and the image; a name of an image holds no blank."""
    engine, _, image = level.program.rpartition(" ")
    if not engine:
        raise EnvironmentFault("environment", "no container engine and image are known", "set both in the settings")
    return engine, image


def _is_podman(engine: str) -> bool:
    return "podman" in Path(engine).name


def _of_engine(engine: str) -> tuple[str, ...]:
    """Podman runs as this user, whose id is to be the same inside, also where SELinux labels files."""
    if not _is_podman(engine):
        return ("--log-driver", "none")
    same_user = ("--userns", "keep-id") if os.geteuid() != 0 else ()
    return ("--log-driver", "none", "--security-opt", "label=disable", *same_user)


def _limits(command: Command) -> Iterator[str]:
    if command.max_processes:
        yield from ("--pids-limit", str(command.max_processes))
    if command.memory_mib:
        yield from ("--memory", f"{command.memory_mib}m", "--memory-swap", f"{command.memory_mib}m")
    if command.max_file_bytes:
        yield from ("--ulimit", f"fsize={command.max_file_bytes}")
    cpu_s = int(command.max_cpu_s or command.timeout_s * (os.cpu_count() or 1)) + 1
    yield from ("--ulimit", "core=0", "--ulimit", f"cpu={cpu_s}")


def _places(confinement: Confinement) -> Iterator[tuple[str, str, bool]]:
    """(source, target, is read-only) of every folder that is in the container, under its real and its given name."""
    writable = [confinement.root, *confinement.writable]
    real = [Path(os.path.realpath(p)) for p in writable]
    for path, target in zip(writable, real, strict=True):
        yield str(target), str(target), False
        if path != target:
            yield str(target), str(path), False
    for path in (*hiding.kept_repositories(confinement), *confinement.readonly):
        kept = os.path.realpath(path)
        if hiding.exists(Path(kept)) and any(Path(kept).is_relative_to(w) for w in real):
            yield kept, kept, True
    yield str(_OURS), str(_OURS), True


def _hidden(command: Command, confinement: Confinement, visible: Iterable[str]) -> Iterator[str]:
    """Secrets that lie in what is mounted are covered."""
    for path in hiding.secrets(command, confinement):
        if any(path != Path(v) and path.is_relative_to(v) for v in visible):
            is_folder = hiding.is_folder(path)
            yield _row("type=tmpfs", f"target={path}") if is_folder else _bind("/dev/null", str(path), True)


def _bind(source: str, target: str, is_readonly: bool) -> str:
    return _row("type=bind", f"source={source}", f"target={target}", *(("readonly",) if is_readonly else ()))


def _row(*fields: str) -> str:
    """One line of comma-separated values, as both engines read it."""
    return ",".join('"' + f.replace('"', '""') + '"' if re.search(r'[,"\s]', f) else f for f in fields)


def _program(word: str, visible: Iterable[str]) -> str:
    """A program of the project by its path; any other by its name, since the image has its own."""
    return word if _is_inside(word, visible) else Path(word).name


def _variables(env: Mapping[str, str], visible: Iterable[str]) -> Iterator[str]:
    """Names of the variables that mean something in the container."""
    for name, value in sorted(env.items()):
        if name in _OF_THE_HOST or not _VARIABLE.fullmatch(name) or _STEERING.match(name):
            continue
        if not value.startswith("/") or _is_inside(value, visible):
            yield name


def _is_inside(path: str, folders: Iterable[str]) -> bool:
    return any(Path(path).is_relative_to(f) for f in folders)


def _channel(command: Command) -> str:
    """The path that the child gets for the private channel; "" where it asks for none."""
    if _CHANNEL not in (*command.argv, *command.env.values()):
        return ""
    if command.scrap is None:
        raise EnvironmentFault("environment", "the private channel into a container needs a private folder",
                               "use another sandbox level")  # fmt: skip
    return str(command.scrap / "channel")
