"""At each level of isolation a child is still what it is without: its end, its signals, its channel, its limits."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.cases import sample
from support.confined import NOBODY, confined, launch, place_for
from support.processes import carrying, children_of, is_alive, until

from regreen.errors import EnvironmentFault, Refused
from regreen.sandbox import CHANNEL, Cancel, Command, Confinement, child_environment, confine, isolation, run, spawn
from regreen.settings import Settings, default_environ

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bubblewrap and Landlock are of Linux")

# ignores polite signals, and leaves a grandchild in a session of its own that holds the output pipe
HOSTILE = """
import os, signal, sys, time
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(s, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").close()
        os.write(int(sys.argv[2]), b"ready")
        while True:
            time.sleep(60)
    os._exit(0)
"""
AND_STAYS = "\nwhile True: time.sleep(60)\n"
AND_ENDS = "\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
BOMB = "import os, time\nfor _ in range(2000):\n if os.fork() == 0: time.sleep(60); os._exit(0)\ntime.sleep(60)"
EXPLODING = "import os\nwhile True:\n try: os.fork()\n except OSError: pass"


def settings(tmp_path, level="", **chosen):
    return Settings(tmp_path / "state", tmp_path / "cache", default_environ(), sandbox_level=level, **chosen)


LEVELS = ("none", "bwrap", "landlock")


@pytest.fixture(params=LEVELS)
def here(request, tmp_path):
    try:
        return isolation(settings(tmp_path, request.param))
    except Refused as e:
        pytest.skip(f"no sandbox of this level: {e.message}")


@pytest.fixture(params=["bwrap", "landlock"])
def closed(request, tmp_path):
    try:
        return isolation(settings(tmp_path, request.param))
    except Refused as e:
        pytest.skip(f"no sandbox of this level: {e.message}")


def python(here, code, folder, *args, timeout_s=30.0, writable=(), **options):
    env = child_environment(dict(os.environ), {"TMPDIR": str(folder)})
    return Command((sys.executable, "-c", code, *args), folder, env, timeout_s,
                   confinement=confine(here, folder, writable), **options)  # fmt: skip


def test_exit_status_output_and_signal_are_those_of_the_program(here, tmp_path):
    done = run(python(here, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)", tmp_path),
               cancel=Cancel())  # fmt: skip
    assert (done.returncode, done.signal, done.limit) == (7, 0, "")
    assert set(done.output_head.split()) == {b"out", b"err"}
    assert not (done.timed_out or done.cancelled or done.left_processes or done.output_cut)
    killed = run(python(here, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", tmp_path), cancel=Cancel())
    assert (killed.returncode, killed.signal) == (None, signal.SIGSEGV)


@pytest.mark.parametrize("way,left", [(AND_STAYS, False), (AND_ENDS, True)])
def test_no_descendant_survives_and_those_left_are_told(way, left, here, tmp_path):
    mark = str(tmp_path / "ready")
    cancel = Cancel()
    stop = None if left else cancel
    done = run(python(here, HOSTILE + way, tmp_path, mark, CHANNEL), cancel=cancel,
               on_channel=lambda _: stop and stop.set())  # fmt: skip
    assert (done.cancelled, done.left_processes) == (not left, left)
    assert done.returncode == (0 if left else None)
    assert done.duration_s < 10
    assert carrying(mark) == []


def test_time_limit_ends_it_and_the_dump_signal_reaches_the_program_itself(here, tmp_path):
    code = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGXCPU, lambda *_: (os.write(int(sys.argv[1]), b'dumped'), time.sleep(60)))\n"
        "os.write(int(sys.argv[1]), b'armed')\ntime.sleep(60)"
    )
    heard = []
    ends = [float("inf")]

    def hear(data):
        heard.append(data)
        ends[0] = time.monotonic()

    done = run(python(here, code, tmp_path, CHANNEL), cancel=Cancel(), on_channel=hear, watch=lambda: ends[0],
               dump=True)  # fmt: skip
    assert b"".join(heard) == b"armeddumped"
    assert done.timed_out
    assert done.duration_s < 10


@pytest.mark.parametrize("both", [False, True])
def test_nothing_survives_when_the_caller_is_killed_nor_when_the_supervisor_is_too(both, closed, tmp_path):
    place = place_for("same", tmp_path)
    mark = str(place.project / "ready")
    parent = launch(
        place, closed.level, HOSTILE.replace("os.write(int(sys.argv[2]), b'ready')", "") + AND_STAYS, mark, CHANNEL
    )
    with parent:
        try:
            assert until(Path(mark).exists)
            supervisors = [p for p in children_of(parent.pid) if children_of(p)]
            assert len(supervisors) == 1
            if both and closed.level == "bwrap":  # die-with-parent; otherwise the caller sweeps, if it still can
                os.kill(supervisors[0], signal.SIGKILL)
        finally:
            parent.kill()
    assert until(lambda: len(carrying(mark)) == 0)
    assert until(lambda: not is_alive(supervisors[0]))


def test_killed_supervisor_is_noticed_and_the_rest_is_swept(closed, tmp_path):
    mark = str(tmp_path / "ready")
    code = HOSTILE + AND_STAYS
    child = spawn(python(closed, code, tmp_path, mark, CHANNEL), cancel=Cancel())
    assert child.channel.recv(5) == b"ready"
    supervisors = [p for p in children_of(os.getpid()) if children_of(p)]
    assert len(supervisors) == 1
    os.kill(supervisors[0], signal.SIGKILL)
    assert child.wait(10).unsupervised
    assert carrying(mark) == []
    child.kill()


def test_channel_is_passed_both_ways_and_no_other_descriptor(here, tmp_path):
    code = (
        "import os, sys, socket\nc = socket.socket(fileno=int(sys.argv[1]))\n"
        "c.sendall(c.recv(5)[::-1])\n"
        "print(sorted({int(f) for f in os.listdir('/proc/self/fd')} - {c.fileno()})[:3], end=' ')\n"
        "print(len(os.listdir('/proc/self/fd')))"
    )
    heard = []
    done = run(python(here, code, tmp_path, CHANNEL), cancel=Cancel(), on_channel=heard.append, first_words=b"hello")
    assert b"".join(heard) == b"olleh"
    assert done.output_head.strip() == b"[0, 1, 2] 5"  # and the one that lists them


def test_program_or_working_folder_that_is_not_there_is_the_environments_fault(here, tmp_path):
    command = python(here, "pass", tmp_path)
    with pytest.raises(EnvironmentFault, match=r"program.*No such file"):
        run(replace(command, argv=("/no/such/program",)), cancel=Cancel())
    with pytest.raises(EnvironmentFault, match="working folder"):
        run(replace(command, cwd=tmp_path / "gone"), cancel=Cancel())


def test_wrapper_that_cannot_start_the_program_is_no_exit_status(closed, tmp_path):
    if closed.level != "bwrap":
        pytest.skip("only bubblewrap stands in front of the program")
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(EnvironmentFault, match=r"sandbox.*No such file"):
        run(replace(python(closed, "pass", tmp_path), argv=(str(script),)), cancel=Cancel())


BOMBED = [(EXPLODING, "none"), (BOMB, "none"), (BOMB, "bwrap"), (EXPLODING, "bwrap"), (EXPLODING, "landlock"),
          (BOMB, "landlock")]  # fmt: skip


@pytest.mark.parametrize(("bomb", "here"), sample(BOMBED, 2), indirect=["here"])
def test_fork_bomb_ends_soon_and_the_caller_stays_responsive(bomb, here, tmp_path):
    longest = [0.0]
    over = threading.Event()

    def tick():
        last = time.monotonic()
        while not over.wait(0.01):
            now = time.monotonic()
            longest[0], last = max(longest[0], now - last), now

    ticker = threading.Thread(target=tick)
    ticker.start()
    done = run(python(here, bomb, tmp_path, str(tmp_path)), cancel=Cancel())
    over.set()
    ticker.join()
    assert done.limit == "processes"
    assert (done.returncode, done.signal) == (None, 0)
    assert done.duration_s < 20
    assert longest[0] < 5
    assert carrying(str(tmp_path)) == []


def test_memory_of_one_process_is_bounded(here, tmp_path):
    code = (
        "try: bytearray(64 << 30)\nexcept MemoryError: print('refused')\n"
        "x = []\nwhile True: x.append(bytearray(1 << 20))"
    )
    done = run(python(here, code, tmp_path, memory_mib=200), cancel=Cancel())
    assert b"refused" in done.output_head
    assert b"MemoryError" in done.output_head
    assert done.duration_s < 10


def test_memory_of_the_tree_is_bounded(here, tmp_path):
    code = (
        "import os, sys, time\nfor _ in range(5):\n"
        " if os.fork() == 0: x = bytearray(os.urandom(1)) * (60 << 20); time.sleep(60)\ntime.sleep(60)"
    )
    done = run(python(here, code, tmp_path, str(tmp_path), memory_mib=100), cancel=Cancel())
    assert done.limit == "memory"
    assert done.duration_s < 10
    assert carrying(str(tmp_path)) == []


@pytest.mark.parametrize("here", sample(LEVELS, 2), indirect=True)
def test_memory_that_is_shared_counts_once(here, tmp_path):
    code = (
        "import os\nx = bytearray(60 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"
        "import time\nfor _ in range(6):\n if os.fork() == 0: time.sleep(0.4); os._exit(0)\ntime.sleep(0.5)"
    )
    done = run(python(here, code, tmp_path, memory_mib=100), cancel=Cancel())
    assert done.limit == ""


def test_size_of_files_is_bounded_and_told(here, tmp_path):
    big = run(python(here, "open('big', 'wb').write(bytes(1 << 20))", tmp_path, max_file_bytes=4096), cancel=Cancel())
    assert b"File too large" in big.output_head
    assert (tmp_path / "big").stat().st_size == 4096
    code = "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nopen('big', 'wb').write(bytes(1 << 20))"
    killed = run(python(here, code, tmp_path, max_file_bytes=4096), cancel=Cancel())
    assert (killed.signal, killed.limit) == (signal.SIGXFSZ, "file_size")


@pytest.mark.parametrize("here", sample(LEVELS, 3), indirect=True)
def test_processor_time_is_bounded_and_told(here, tmp_path):
    busy = run(python(here, "while True: pass", tmp_path, max_cpu_s=1), cancel=Cancel())
    assert (busy.signal, busy.limit) == (signal.SIGKILL, "cpu")
    assert busy.duration_s < 20


def test_limits_of_a_child_without_any_wish(here, tmp_path):
    code = "import resource as r; print([r.getrlimit(getattr(r, 'RLIMIT_' + n)) for n in ('CORE', 'FSIZE', 'NOFILE')])"
    text = run(python(here, code, tmp_path), cancel=Cancel()).output_head.decode()
    core, size, files = eval(text)
    assert core == (0, 0)
    assert size == (1 << 30, 1 << 30)
    assert files[0] <= 4096 <= files[1] <= 65536


def test_output_is_cut_and_counted(closed, tmp_path):
    code = "import sys\nfor _ in range(100): sys.stdout.write('y' * 65536)"
    done = run(python(closed, code, tmp_path, max_output_bytes=100_000), cancel=Cancel())
    assert done.output_cut
    assert done.output_bytes == 100 * 65536


@pytest.mark.parametrize("level", ["bwrap", "landlock"])
def test_ordinary_user_is_bounded_too(level, tmp_path):
    place = place_for("ordinary", tmp_path)
    ran = confined(place, level, f"import os; assert os.getuid() in ({NOBODY}, {os.getuid()})\n{EXPLODING}")
    assert ran["limit"] == "processes"


def test_operators_network_is_that_of_the_machine(closed, tmp_path):
    import socket

    code = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5).sendall(b'x')"
    with socket.create_server(("127.0.0.1", 0)) as server:
        command = python(closed, code, tmp_path, str(server.getsockname()[1]))
        done = run(replace(command, confinement=replace(command.confinement, network=True)), cancel=Cancel())
        assert done.returncode == 0, done.output_head
        server.settimeout(5)
        with server.accept()[0] as connection:
            assert connection.recv(1) == b"x"


def test_writable_and_readonly_folders_are_those_that_are_named(closed, tmp_path):
    project, cache, kept, other = (tmp_path / n for n in ("project", "cache", "project/kept", "other"))
    for folder in (project, cache, kept, other):
        folder.mkdir()
    code = (
        "import sys\nfor path in sys.argv[1:]:\n"
        " try: open(path + '/f', 'w').close(); print('written')\n except OSError as e: print('refused')"
    )
    command = python(closed, code, project, *(str(p) for p in (project, cache, kept, other)))
    allowed = Confinement(closed, project, (cache, tmp_path / "absent"), (kept, project / "absent"))
    said = run(replace(command, confinement=allowed), cancel=Cancel()).output_head.decode().split()
    assert said[:2] == ["written", "written"]
    assert said[2] == ("refused" if closed.level == "bwrap" or closed.namespaces else "written")
    assert said[3] == "refused"
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == ["cache", "other", "project"]
    assert not (project / "absent").exists()


def test_git_files_of_a_linked_work_tree_are_kept(closed, tmp_path):
    if closed.level == "landlock" and not closed.namespaces:
        pytest.skip("Landlock alone cannot keep a folder inside a writable one")
    real = tmp_path / "project" / "main" / ".git" / "worktrees" / "linked"
    tree = tmp_path / "project" / "linked"
    real.mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {real}\n")
    (real / "commondir").write_text("../..\n")
    code = (
        "import sys\nfor path in sys.argv[1:]:\n"
        " try: open(path, 'a').close(); print('written')\n except OSError as e: print(e.errno)"
    )
    paths = (tree / ".git", real / "HEAD", real.parents[1] / "config", tree / "file")
    command = python(closed, code, tree, *(str(p) for p in paths))
    command = replace(command, confinement=Confinement(closed, tree, (tmp_path / "project",)))
    assert run(command, cancel=Cancel()).output_head.decode().split() == ["30", "30", "30", "written"]


def test_interpreter_in_a_private_place_is_seen(closed, tmp_path):
    venv = tmp_path / "elsewhere" / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    project = tmp_path / "project"
    project.mkdir()
    command = python(closed, "import sys; print(sys.prefix)", project)
    done = run(replace(command, argv=(str(venv / "bin" / "python"), *command.argv[1:])), cancel=Cancel())
    assert done.output_head.decode().strip() == str(venv), done


def test_project_of_somebody_else_can_be_written_by_root_and_nothing_else(closed, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root meets projects of others that it may write")
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project, other):
        folder.mkdir(mode=0o755)
        (folder / "file").write_text("as it was")
        for path in (folder, folder / "file"):
            os.chown(path, NOBODY, NOBODY)
    code = (
        "import sys\nfor path in sys.argv[1:]:\n"
        " try: open(path, 'w').close(); print('written')\n except OSError as e: print('refused')"
    )
    paths = (project / "new", project / "file", other / "new", other / "file")
    done = run(python(closed, code, project, *(str(p) for p in paths)), cancel=Cancel())
    assert done.output_head.decode().split() == ["written", "written", "refused", "refused"]
    assert (other / "file").read_text() == "as it was"


def test_program_has_the_usual_turn_although_its_supervisor_comes_first(here, tmp_path):
    done = run(python(here, "import os; print(os.sched_getscheduler(0), os.nice(0))", tmp_path), cancel=Cancel())
    assert done.output_head.split() == [b"0", str(os.nice(0)).encode()]


# what is left where the machine allows no namespaces
WITHOUT = """
import asyncio, errno, json, multiprocessing, os, socket, sys
def said(f):
    try:
        f()
        return "done"
    except OSError as e:
        return errno.errorcode.get(e.errno, "?")
a, b = socket.socketpair()
print(json.dumps({
    "tcp": said(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)),
    "udp": said(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
    "ipv6": said(lambda: socket.socket(socket.AF_INET6)),
    "netlink": said(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
    "loop": said(lambda: asyncio.run(asyncio.sleep(0))),
    "pool": said(lambda: multiprocessing.get_context("fork").Pool(1).map(abs, [1])),
    "etc": said(lambda: open("/etc/regreen-was-here", "w")),
    "environ": said(lambda: open(f"/proc/{sys.argv[2]}/environ").read()),
    "signal": said(lambda: os.kill(int(sys.argv[2]), 0)),
}))
"""


def test_landlock_without_namespaces_blocks_the_network_altogether(closed, tmp_path):
    import json
    import socket

    if closed.level != "landlock":
        pytest.skip("bubblewrap is nothing without namespaces")
    if os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("no filter of system calls is known for this machine")
    weaker = replace(closed, namespaces="", network="tcp-blocked", loopback=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        done = run(python(weaker, WITHOUT, tmp_path, port, str(os.getpid())), cancel=Cancel())
    told = json.loads(done.output_head)
    assert {told[n] for n in ("tcp", "udp", "ipv6", "netlink")} == {"EPERM"}
    assert {told[n] for n in ("loop", "pool")} == {"done"}
    assert {told[n] for n in ("etc", "environ")} <= {"EACCES", "EPERM"}
    assert told["signal"] == ("EPERM" if closed.landlock >= 6 else "done")
