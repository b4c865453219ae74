"""Containers: the argv to the word, and the life cycle with an engine that is a program of this test."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.containers import FakeEngine
from support.processes import is_alive, until

from regreen.errors import EnvironmentFault
from regreen.sandbox import CHANNEL, Cancel, Command, container, container_relay, run, spawn
from regreen.sandbox.isolation import Confinement, Isolation
from regreen.settings import Settings

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="containers are used on Linux only")

IMAGE = "local/image:1"
DOCKER = Isolation("container", "isolated", program=f"/usr/bin/docker {IMAGE}")
OURS = str(Path(container.__file__).resolve().parents[1])


@pytest.fixture
def folder():
    """A short one: paths of sockets are limited."""
    with tempfile.TemporaryDirectory(prefix="rg-") as name:
        yield Path(name).resolve()


@pytest.fixture
def engine(folder):
    fake = FakeEngine(folder / "engine")
    yield fake
    fake.close()


def settings_for(engine, **changes):
    values = {"container_engine": "docker", "container_image": IMAGE, **changes}
    environ = {"PATH": str(engine.bin), "HOME": str(engine.home)}
    return Settings(engine.home / "state", engine.home / "cache", environ, **values)


def work(folder, argv, **changes):
    """A command in a container of the fake engine: a project, a private folder."""
    for name in ("repo", "private"):
        (folder / name).mkdir(exist_ok=True)
    level = Isolation("container", "isolated", program=f"{folder / 'engine' / 'bin' / 'docker'} {IMAGE}")
    confinement = Confinement(level, folder / "repo", (folder / "private",))
    env = {"PATH": "/nowhere", "HOME": "/nowhere", "CI": "1", **changes.pop("env", {})}
    values = {"timeout_s": 30.0, "scrap": folder / "private", "confinement": confinement, **changes}
    return Command(tuple(argv), folder / "repo", env, **values)


def script(folder, code):
    """A program inside the project, which the container sees under its own name."""
    path = folder / "repo" / "prog"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{sys.executable} -I\n{code}")
    path.chmod(0o755)
    return str(path)


# --- the argv ----------------------------------------------------------------------------------------


def test_the_argv_of_a_child_to_the_word(folder):
    root, private = folder / "repo", folder / "private"
    (root / ".git").mkdir(parents=True)
    private.mkdir()
    env = {"PATH": "/usr/bin", "HOME": "/home/u", "CI": "1", "TMPDIR": f"{private}/tmp", "TOKEN_LIKE": "s3cret value",
           "JAVA_HOME": "/usr/lib/jvm", "DOCKER_HOST": "tcp://x", "LD_PRELOAD": "x.so", "https_proxy": "x", "A B": "c",
           "LANG": "C.UTF-8"}  # fmt: skip
    command = Command(("/usr/bin/python3", "-m", "pytest", "-q"), root, env, 10.0, memory_mib=2048,
                      max_file_bytes=1 << 20, max_processes=99, max_cpu_s=20)  # fmt: skip
    argv = container.wrap(command, Confinement(DOCKER, root, (private,)), name="regreen-x")
    assert argv == (
        "/usr/bin/docker", "run", "--rm", "--init", "--interactive", "--pull", "never", "--name", "regreen-x",
        "--network", "none", "--read-only", "--tmpfs", "/tmp:rw,exec,nosuid,nodev,mode=1777",
        "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--log-driver", "none",
        "--pids-limit", "99", "--memory", "2048m", "--memory-swap", "2048m", "--ulimit", "fsize=1048576",
        "--ulimit", "core=0", "--ulimit", "cpu=21", "--user", f"{os.geteuid()}:{os.getegid()}",
        "--workdir", str(root),
        "--mount", f"type=bind,source={root},target={root}",
        "--mount", f"type=bind,source={private},target={private}",
        "--mount", f"type=bind,source={root}/.git,target={root}/.git,readonly",
        "--mount", f"type=bind,source={OURS},target={OURS},readonly",
        "--env", "CI", "--env", "LANG", "--env", "TMPDIR", "--env", "TOKEN_LIKE", "--env", "HOME=/tmp",
        "--entrypoint", "python3", IMAGE, "-m", "pytest", "-q",
    )  # fmt: skip
    assert "s3cret" not in " ".join(argv)


def test_podman_keeps_the_user_and_labels(folder):
    (folder / "repo").mkdir()
    level = Isolation("container", "isolated", program=f"/opt/my tools/podman {IMAGE}")
    argv = container.wrap(Command(("x",), folder / "repo", {}, 10.0), Confinement(level, folder / "repo"))
    assert argv[0] == "/opt/my tools/podman"
    assert "label=disable" in argv
    assert ("keep-id" in argv) == (os.geteuid() != 0)


def test_the_network_is_given_only_when_it_was_switched_on(folder):
    (folder / "repo").mkdir()
    argv = container.wrap(
        Command(("x",), folder / "repo", {}, 10.0), Confinement(DOCKER, folder / "repo", network=True)
    )
    assert "--network" not in argv


def test_a_program_of_the_project_goes_by_its_path_and_others_by_their_name(folder):
    (folder / "repo").mkdir()
    for word, wanted in ((f"{folder}/repo/gradlew", f"{folder}/repo/gradlew"), ("/usr/bin/node", "node")):
        argv = container.wrap(Command((word,), folder / "repo", {}, 10.0), Confinement(DOCKER, folder / "repo"))
        assert argv[argv.index("--entrypoint") + 1] == wanted


def test_a_linked_project_is_there_under_both_names(folder):
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    argv = container.wrap(Command(("x",), folder / "link", {}, 10.0), Confinement(DOCKER, folder / "link"))
    assert f"type=bind,source={folder}/real,target={folder}/link" in argv
    assert f"type=bind,source={folder}/real,target={folder}/real" in argv


def test_secrets_inside_the_project_are_covered(folder):
    root = folder / "repo"
    (root / "keys").mkdir(parents=True)
    (root / "token").write_text("x")
    hidden = (root / "keys", root / "token", Path("/etc/hostname"))
    argv = container.wrap(Command(("x",), root, {}, 10.0), Confinement(DOCKER, root, hidden=hidden))
    assert f"type=tmpfs,target={root}/keys" in argv
    assert f"type=bind,source=/dev/null,target={root}/token,readonly" in argv
    assert not any("hostname" in word for word in argv)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_no_path_can_add_a_field_to_a_mount(name):
    import csv
    import io

    row = container._bind(f"/w/{name}", f"/t/{name}", True)
    assert next(csv.reader(io.StringIO(row, newline=""))) == [
        "type=bind",
        f"source=/w/{name}",
        f"target=/t/{name}",
        "readonly",
    ]


def test_the_channel_goes_through_a_relay_and_a_path_in_the_private_folder(folder):
    (folder / "repo").mkdir()
    path, work = f"{folder}/private/channel", Confinement(DOCKER, folder / "repo", (folder / "private",))
    relay = (sys.executable, "-I", "-S", container_relay.__file__, CHANNEL, path, "--")
    command = Command(("x", "a", CHANNEL, "b"), folder / "repo", {}, 10.0, scrap=folder / "private")
    argv = container.wrap(command, work)
    assert (argv[:7], argv[-4:], argv.count(CHANNEL)) == (relay, (IMAGE, "a", path, "b"), 1)
    command = Command(("x",), folder / "repo", {"REGREEN_CHANNEL": CHANNEL}, 10.0, scrap=folder / "private")
    argv = container.wrap(command, work)
    assert (argv[:7], argv.count(CHANNEL)) == (relay, 1)
    assert f"REGREEN_CHANNEL={path}" in argv


def test_a_channel_without_a_private_folder_is_an_error_with_a_way_out(folder):
    (folder / "repo").mkdir()
    with pytest.raises(EnvironmentFault) as told:
        container.wrap(Command(("x", CHANNEL), folder / "repo", {}, 10.0), Confinement(DOCKER, folder / "repo"))
    assert told.value.hint


@pytest.mark.parametrize("channel", [(), (CHANNEL,)])
def test_the_farewell_names_the_container_of_an_argv(folder, channel):
    (folder / "repo").mkdir()
    command = Command(("x", "--name", "other", *channel), folder / "repo", {}, 10.0, scrap=folder)
    argv = container.wrap(command, Confinement(DOCKER, folder / "repo"), name="regreen-7")
    assert container.farewell(argv) == ("/usr/bin/docker", "rm", "--force", "--volumes", "regreen-7")


def test_names_are_new_each_time_and_tell_whether_their_process_lives():
    names = {container.new_name() for _ in range(50)}
    assert len(names) == 50
    name = names.pop()
    assert not container.is_abandoned(name)
    head, machine, pid, started, word = name.split("-")
    assert container.is_abandoned(f"{head}-{machine}-{pid}-{int(started) - 1}-{word}")
    assert container.is_abandoned(f"{head}-{machine}-999999999-{started}-{word}")
    assert not container.is_abandoned(f"{head}-elsewhere-999999999-{started}-{word}")
    assert not container.is_abandoned(f"other-{machine}-999999999-{started}-{word}")


# --- whether it can be used --------------------------------------------------------------------------


def test_the_probe_asks_the_engine_and_pulls_nothing(engine):
    assert container.probe(settings_for(engine)) == ""
    found = container.isolation(settings_for(engine))
    assert (found.level, found.network, found.loopback) == ("container", "isolated", True)
    assert found.program == f"{engine.program} {IMAGE}"
    assert [c[:2] for c in engine.calls()] == [["version"], ["info", "--format"], ["image", "inspect"], ["ps", "--all"]]


def test_without_engine_or_image_the_probe_says_what_is_missing(engine, folder):
    assert "container_engine" in container.probe(settings_for(engine, container_image=""))
    assert "container_engine" in container.probe(settings_for(engine, container_engine=""))
    assert "podman is not on the PATH" in container.probe(settings_for(engine, container_engine="podman"))
    assert "no name of an image" in container.probe(settings_for(engine, container_image="--privileged"))
    assert "pull it first" in container.probe(settings_for(engine, container_image="other:2"))
    assert "not on the PATH" in container.probe(settings_for(engine, roots=(folder,)))
    assert container.isolation(settings_for(engine, container_image="")).level == "none"


@pytest.mark.parametrize("name,text,said", [("down", "", "does not answer"), ("info", "[name=rootless]", "use podman")])
def test_an_engine_that_cannot_be_used_is_refused(engine, name, text, said):
    (engine.home / name).write_text(text)
    assert said in container.probe(settings_for(engine))


def test_the_engine_itself_must_be_outside_the_projects(engine, folder):
    assert container.probe(settings_for(engine, roots=(engine.bin,))) == "docker is not on the PATH"


# --- a life ------------------------------------------------------------------------------------------


def test_output_exit_status_and_variables_come_through(engine, folder):
    code = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()])); sys.exit(7)"
    env = {"TMPDIR": f"{folder}/private/tmp", "JAVA_HOME": "/usr/lib/jvm"}
    done = run(work(folder, (script(folder, code), "a b"), env=env), cancel=Cancel())
    argv, environ, cwd = json.loads(done.output_head)
    assert (done.returncode, argv, cwd) == (7, ["a b"], str(folder / "repo"))
    assert environ.pop("LC_CTYPE", "")[:1] in ("", "C")
    assert environ == {"PATH": os.defpath, "HOME": "/tmp", "CI": "1", "TMPDIR": f"{folder}/private/tmp"}
    assert engine.processes == {}


TALKS = """
import sys
job = open(sys.argv[1] + ".in", "rb").readline()
with open(sys.argv[1] + ".out", "wb", buffering=0) as out:
    out.write(b"got %d " % len(job))
    out.write(b"x" * 300000)
print("output")
"""


def test_the_private_channel_leads_into_the_container_and_back(engine, folder):
    heard = bytearray()
    first = b"j" * 200_000 + b"\n"
    command = work(folder, (script(folder, TALKS), CHANNEL))
    done = run(command, cancel=Cancel(), on_channel=heard.extend, first_words=first)
    assert (done.returncode, done.output_head) == (0, b"output\n")
    assert bytes(heard) == b"got 200001 " + b"x" * 300000
    assert list((folder / "private").iterdir()) == []


def test_a_program_that_never_opens_the_channel_just_ends(engine, folder):
    heard = bytearray()
    command = work(folder, (script(folder, "print('no word')"), CHANNEL))
    done = run(command, cancel=Cancel(), on_channel=heard.extend, first_words=b"j" * 3_000_000 + b"\n")
    assert (done.returncode, done.output_head, heard) == (0, b"no word\n", b"")
    assert list((folder / "private").iterdir()) == []


def test_a_server_is_talked_to_for_as_long_as_it_lives(engine, folder):
    code = """
import sys
said, tell = open(sys.argv[1] + ".in", "rb"), open(sys.argv[1] + ".out", "wb", buffering=0)
for line in said:
    tell.write(line.upper())
    if line == b"bye\\n":
        break
"""
    child = spawn(work(folder, (script(folder, code), CHANNEL)), cancel=Cancel())
    with child.channel.makefile("rb") as answers:
        for word in (b"one\n", b"two\n", b"bye\n"):
            child.channel.sendall(word)
            assert answers.readline() == word.upper()
    assert child.wait(20).returncode == 0
    child.kill()


def test_once_it_has_spoken_nobody_else_finds_the_channel(engine, folder):
    code = TALKS + "import os; print(os.listdir(os.path.dirname(sys.argv[1])))"
    command = work(folder, (script(folder, code), CHANNEL))
    done = run(command, cancel=Cancel(), on_channel=lambda _: None, first_words=b"job\n")
    assert done.output_head == b"output\n[]\n"


SLEEPS = "import threading; print('up', flush=True); threading.Event().wait()"


@pytest.mark.parametrize("channel", [(), (CHANNEL,)])
def test_a_container_whose_client_was_killed_lives_until_it_is_removed(engine, folder, channel):
    command = work(folder, (script(folder, SLEEPS), *channel))
    argv = container.wrap(command, command.confinement)
    pair = socket.socketpair()
    words = [str(pair[1].fileno()) if w == CHANNEL else w for w in argv]
    with subprocess.Popen(
        words, env=dict(command.env), stdout=subprocess.PIPE, pass_fds=[pair[1].fileno()], start_new_session=True
    ) as client:
        assert client.stdout.readline() == b"up\n"
        [(name, process)] = engine.processes.items()
        os.killpg(client.pid, signal.SIGKILL)
    for end in pair:
        end.close()
    assert is_alive(process.pid)
    assert container.farewell(argv)[-1] == name
    assert container.end(argv, command.env)
    assert until(lambda: not is_alive(process.pid))
    assert engine.processes == {}
    assert container.end(argv, command.env)


def test_a_run_that_is_ended_takes_its_container_with_it(engine, folder):
    cancel = Cancel()
    heard = bytearray()

    def on_channel(data):
        heard.extend(data)
        cancel.set()

    code = "import threading, sys; open(sys.argv[1] + '.out', 'w').write('up'); threading.Event().wait()"
    done = run(work(folder, (script(folder, code), CHANNEL)), cancel=cancel, on_channel=on_channel)
    assert (done.cancelled, bytes(heard)) == (True, b"up")
    assert engine.wait_until(lambda: engine.processes == {})


def test_what_a_dead_process_left_behind_is_removed_by_the_next_probe(engine, folder):
    command = work(folder, (script(folder, SLEEPS),))
    mine = container.new_name()
    head, machine, _, started, word = mine.split("-")
    dead, foreign = f"{head}-{machine}-999999999-{started}-{word}", f"{head}-far-999999999-{started}-{word}"
    clients = []
    for name in (mine, dead, foreign):
        argv = container.wrap(command, command.confinement, name=name)
        clients.append(subprocess.Popen(argv, env=dict(command.env), stdout=subprocess.DEVNULL))
    assert engine.wait_until(lambda: len(engine.processes) == 3)
    assert container.probe(settings_for(engine)) == ""
    assert engine.wait_until(lambda: set(engine.processes) == {mine, foreign})
    engine.close()
    for client in clients:
        client.wait(20)


def test_a_program_ended_by_a_signal_is_told_as_the_engine_tells_it(engine, folder):
    done = run(work(folder, (script(folder, "import os; os.kill(os.getpid(), 9)"), CHANNEL)), cancel=Cancel(),
               on_channel=lambda _: None)  # fmt: skip
    assert done.returncode == 137
