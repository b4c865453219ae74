"""What hostile code can do in a sandbox, tried: one child per level and user makes all the attempts and tells."""

import json
import os
import shutil
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.confined import LEVELS, SECRET, USERS, confined, folder_outside_tmp, place_for

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bubblewrap and Landlock are of Linux")

HOSTILE = r"""
import asyncio, ctypes, json, multiprocessing, os, shutil, socket, sys, tempfile
from pathlib import Path
given = json.loads(sys.argv[1])
outside, home, project = Path(given["outside"]), Path(given["home"]), Path.cwd()
victim = outside / "victim"
libc = ctypes.CDLL(None, use_errno=True)
told = {}

def attempt(function):
    try:
        value = function()
        told[function.__name__] = "done" if value is None else value
    except BaseException as e:
        told[function.__name__] = f"{type(e).__name__} {getattr(e, 'errno', '')}"

def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")

@attempt
def create_outside(): (outside / "new").write_text("x")
@attempt
def overwrite_outside(): victim.write_text("x")
@attempt
def append_outside(): victim.open("a").write("x")
@attempt
def truncate_outside(): os.truncate(victim, 0)
@attempt
def delete_outside(): victim.unlink()
@attempt
def rename_outside(): victim.rename(outside / "other")
@attempt
def pull_in(): victim.rename(project / "pulled")
@attempt
def push_out(): (project / "pushed").write_text("x"); (project / "pushed").rename(outside / "pushed")
@attempt
def link_out(): (project / "linked").write_text("x"); os.link(project / "linked", outside / "linked")
@attempt
def link_in(): os.link(victim, project / "pulled-link"); (project / "pulled-link").write_text("x")
@attempt
def make_folder_outside(): (outside / "d").mkdir()
@attempt
def make_symlink_outside(): (outside / "s").symlink_to("/")
@attempt
def make_fifo_outside(): os.mkfifo(outside / "f")
@attempt
def through_symlink(): (project / "to-victim").symlink_to(victim); (project / "to-victim").write_text("x")
@attempt
def through_folder_symlink():
    (project / "to-folder").symlink_to(outside); (project / "to-folder" / "new").write_text("x")
@attempt
def through_descriptor():
    fd = os.open(outside, os.O_RDONLY); os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=fd)
@attempt
def through_proc(): Path(f"/proc/self/root{victim}").write_text("x")
@attempt
def through_caller(): return Path(f"/proc/{os.environ['LAUNCHER']}/root{home}/.ssh/id").read_text()
@attempt
def write_kernel_setting(): Path("/proc/sys/kernel/domainname").write_text("x")
@attempt
def open_kernel_files():
    found = []
    for top in ("/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/sysrq-trigger", "/sys"):
        for folder, names, files in os.walk(top):
            names[:] = [] if folder.count("/") > 4 else names
            for name in files:
                try:
                    os.close(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_NONBLOCK))
                    found.append(os.path.join(folder, name))
                except OSError:
                    pass
    return found
@attempt
def signal_everybody(): os.kill(-1, 0)
@attempt
def write_home(): (home / "new").write_text("x")
@attempt
def write_etc(): Path("/etc/regreen-was-here").write_text("x")
@attempt
def write_tmp_of_machine():
    path = Path("/tmp/regreen-was-here"); path.write_text("x")
@attempt
def chmod_outside(): victim.chmod(0o600)
@attempt
def utime_outside(): os.utime(victim, (1, 1))
@attempt
def write_hook(): (project / ".git" / "hooks" / "pre-commit").write_text("x")
@attempt
def write_git_config(): (project / ".git" / "config").open("a").write("x")
@attempt
def move_git(): (project / ".git").rename(project / "git"); (project / "git").rename(project / ".git")
@attempt
def read_ssh_key(): return (home / ".ssh" / "id").read_text()
@attempt
def read_aws_key(): return (home / ".aws" / "credentials").read_text()
@attempt
def read_netrc(): return (home / ".netrc").read_text() or "empty"
@attempt
def read_hidden(): return (Path(given["hidden"]) / "runs").read_text()
@attempt
def connect_host_tcp(): socket.create_connection(("127.0.0.1", given["tcp"]), 2)
@attempt
def connect_host_udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"out", ("127.0.0.1", given["udp"]))
@attempt
def connect_host_abstract(): socket.socket(socket.AF_UNIX).connect("\0" + given["abstract"])
@attempt
def connect_host_socket(): socket.socket(socket.AF_UNIX).connect(given["unix"])
@attempt
def connect_far_tcp(): socket.create_connection(("192.0.2.1", 9), 5)
@attempt
def send_far_udp(): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 9))
@attempt
def packet_socket(): socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
@attempt
def read_environ_of_caller():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                data = Path("/proc", name, "environ").read_bytes()
            except OSError:
                continue
            found += [name] if given["secret"].encode() in data else []
    return f"leaked by {found}" if found else "nothing"
@attempt
def read_memory_of_caller(): Path("/proc", os.environ["LAUNCHER"], "mem").open("rb")
@attempt
def signal_caller(): os.kill(int(os.environ["LAUNCHER"]), 0)
@attempt
def trace_caller(): call(libc.ptrace(16, int(os.environ["LAUNCHER"]), 0, 0))
@attempt
def new_user_namespace(): call(libc.unshare(0x10000000))
@attempt
def new_mount_namespace(): call(libc.unshare(0x20000))
@attempt
def mount(): call(libc.mount(b"none", b"/mnt", b"tmpfs", 0, None))
@attempt
def unmount(): call(libc.umount2(b"/proc", 2))
@attempt
def change_root(): os.chroot("/tmp")
@attempt
def io_uring(): call(libc.syscall(425, 1, 0))
@attempt
def key_ring(): call(libc.syscall({"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, -3, 0, 0, 0))
@attempt
def become_another_user(): os.setuid(12345)
@attempt
def rights():
    lines = dict(line.split(":\t") for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    return [lines[n].strip() for n in ("CapEff", "CapPrm", "CapInh", "CapAmb", "NoNewPrivs", "Seccomp")]
def set_id(make):
    made = project / "set-id"
    try:
        make(made)
        assert made.lstat().st_mode & 0o6000
    finally:
        made.unlink(missing_ok=True)
def touched(path): path.touch(); return path
@attempt
def set_user_id(): set_id(lambda p: touched(p).chmod(0o4755))
@attempt
def set_group_id(): set_id(lambda p: touched(p).chmod(0o2755))
@attempt
def set_user_id_of_descriptor(): set_id(lambda p: os.fchmod(os.open(touched(p), os.O_RDONLY), 0o4755))
@attempt
def set_user_id_beside(): set_id(lambda p: os.chmod(touched(p).name, 0o4755, dir_fd=os.open(project, os.O_RDONLY)))
@attempt
def set_user_id_without_links():
    set_id(lambda p: call(libc.syscall(452, -100, os.fsencode(touched(p)), 0o4755, 0x100)))
@attempt
def make_set_user_id(): set_id(lambda p: os.open(p, os.O_CREAT | os.O_WRONLY, 0o4755))
@attempt
def make_set_user_id_node(): set_id(lambda p: os.mknod(p, 0o104755))
@attempt
def make_set_user_id_by_pointer():
    set_id(lambda p: call(libc.syscall(437, -100, os.fsencode(p), (ctypes.c_uint64 * 3)(0o101, 0o4755, 0), 24)))
@attempt
def write_terminal():
    for name in os.listdir("/dev/pts"):
        if name != "ptmx":
            Path("/dev/pts", name).write_text("")
            return

# what ordinary tests do
@attempt
def write_project():
    (project / "made").mkdir(); (project / "made" / "file").write_text("x"); shutil.rmtree(project / "made")
@attempt
def rename_in_project():
    (project / "a").mkdir(); (project / "b").write_text("x"); (project / "b").rename(project / "a" / "b")
@attempt
def usual_modes():
    for mode in (0o777, 0o1777, 0o644, 0):
        (project / "modes").mkdir(mode); (project / "modes").chmod(mode); (project / "modes").rmdir()
        os.close(os.open(project / "modes", os.O_CREAT | os.O_WRONLY, mode)); (project / "modes").unlink()
@attempt
def temporary_file():
    with tempfile.NamedTemporaryFile() as file:
        assert file.name.startswith(os.environ["TMPDIR"])
@attempt
def null_device(): Path("/dev/null").write_text("x"); assert Path("/dev/urandom").open("rb").read(2)
@attempt
def loopback():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        server.accept()[0].sendall(b"hello")
        assert client.recv(5) == b"hello"
@attempt
def local_name(): assert socket.getaddrinfo("localhost", 80)
@attempt
def pair_of_sockets():
    a, b = socket.socketpair(); a.sendall(b"x"); assert b.recv(1) == b"x"
@attempt
def event_loop():
    async def main():
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=-1)
        return (await process.communicate())[0]
    assert asyncio.run(main()) == b"1\n"
@attempt
def pool_of_processes():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
@attempt
def shared_memory():
    from multiprocessing.shared_memory import SharedMemory
    memory = SharedMemory(create=True, size=10); memory.buf[0] = 1; memory.close(); memory.unlink()
@attempt
def threads():
    import threading
    t = threading.Thread(target=print); t.start(); t.join()
@attempt
def terminal():
    main, other = os.openpty()
    os.write(other, b"x"); assert os.read(main, 1) == b"x"; assert os.isatty(other)
@attempt
def own_children():
    import subprocess
    p = subprocess.Popen(["/bin/sleep", "60"]); p.terminate(); assert p.wait() == -15

print(); print("TOLD", json.dumps(told))
"""

REFUSED = (
    "create_outside", "overwrite_outside", "append_outside", "truncate_outside", "delete_outside", "rename_outside",
    "pull_in", "push_out", "link_out", "link_in", "make_folder_outside", "make_symlink_outside", "make_fifo_outside",
    "through_symlink", "through_folder_symlink", "through_descriptor", "through_proc",
    "through_caller", "write_kernel_setting", "signal_everybody", "write_home", "write_etc",
    "connect_host_tcp", "connect_host_abstract", "connect_far_tcp", "send_far_udp", "packet_socket",
    "read_memory_of_caller", "signal_caller", "trace_caller", "new_user_namespace", "new_mount_namespace", "mount",
    "unmount", "change_root", "io_uring", "key_ring", "become_another_user", "set_user_id", "set_group_id",
    "set_user_id_of_descriptor", "set_user_id_beside", "set_user_id_without_links", "make_set_user_id",
    "make_set_user_id_node", "make_set_user_id_by_pointer",
)  # fmt: skip
USUAL = (
    "write_project", "rename_in_project", "temporary_file", "null_device", "loopback", "local_name", "pair_of_sockets",
    "event_loop", "pool_of_processes", "shared_memory", "threads", "own_children",
    "terminal", "usual_modes",
)  # fmt: skip


@dataclass
class Tried:
    level: str
    told: dict
    ran: dict
    place: object
    udp: bytes


@pytest.fixture(scope="module", params=[(level, user) for level in LEVELS for user in USERS], ids="-".join)
def tried(request):
    level, user = request.param
    folder = folder_outside_tmp(user)
    request.addfinalizer(lambda: shutil.rmtree(folder))
    place = place_for(user, folder)
    hidden = place.folder / "state"
    hidden.mkdir()
    (hidden / "runs").write_text("key")
    hidden.chmod(0o755)
    abstract = f"regreen-{os.getpid()}-{level}-{user}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as plain,
    ):
        udp.bind(("127.0.0.1", 0))
        named.bind("\0" + abstract)
        plain.bind(str(place.outside / "socket"))
        (place.outside / "socket").chmod(0o777)
        named.listen()
        plain.listen()
        given = {
            "outside": str(place.outside), "home": str(place.home), "secret": SECRET, "hidden": str(hidden),
            "tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1], "abstract": abstract,
            "unix": str(place.outside / "socket"),
        }  # fmt: skip
        ran = confined(place, level, HOSTILE, json.dumps(given), hidden=[str(hidden)])
        assert ran["returncode"] == 0, ran
        udp.setblocking(False)
        try:
            got = udp.recv(10)
        except BlockingIOError:
            got = b""
    return Tried(level, json.loads(ran["output"].rpartition("TOLD ")[2]), ran, place, got)


def test_level_is_the_one_that_was_asked_for(tried):
    assert tried.ran["level"] == tried.level
    assert (tried.ran["network"], tried.ran["loopback"]) == ("isolated", True) or tried.ran["namespaces"] == ""


@pytest.mark.parametrize("attempt", REFUSED)
def test_what_leads_outside_is_refused(attempt, tried):
    if attempt == "signal_caller" and tried.level == "landlock" and _landlock_version() < 6:
        pytest.skip("Landlock of this kernel cannot keep signals in")
    assert tried.told[attempt] not in ("done", ""), tried.told[attempt]
    assert "TimeoutError" not in tried.told[attempt]


@pytest.mark.parametrize("usual", USUAL)
def test_what_tests_usually_do_works(usual, tried):
    if usual == "loopback" and not tried.ran["loopback"]:
        pytest.skip("this level has no loopback on this machine")
    assert tried.told[usual] == "done"


def test_nothing_outside_has_changed(tried):
    outside = tried.place.outside
    assert (outside / "victim").read_text() == "precious"
    assert sorted(p.name for p in outside.iterdir()) == ["socket", "victim"]
    assert sorted(p.name for p in tried.place.home.iterdir()) == [".aws", ".netrc", ".ssh"]
    assert tried.udp == b""


def test_no_file_is_left_in_the_project_by_the_sandbox_itself(tried):
    made = {"pushed", "linked", "to-victim", "to-folder", "a"}
    assert {p.name for p in tried.place.project.iterdir()} - made == {".git"}


def test_attributes_outside_and_gits_files_are_kept_where_the_level_can(tried):
    attempts = ("chmod_outside", "utime_outside", "write_hook", "write_git_config", "move_git")
    outcomes = {a: tried.told[a] for a in attempts}
    if tried.level == "bwrap" or tried.ran["namespaces"]:
        assert not [a for a, said in outcomes.items() if said == "done"]
        assert outcomes["write_hook"] == outcomes["write_git_config"] == "OSError 30"
    else:  # what Landlock alone cannot keep; the project's files are looked at after each run
        assert set(outcomes.values()) == {"done"}


def test_secrets_and_the_callers_environment_cannot_be_read(tried):
    assert tried.told["read_environ_of_caller"] == "nothing"
    if tried.level == "landlock" and not tried.ran["namespaces"]:
        pytest.skip("without namespaces nothing can be hidden")
    for secret in ("read_ssh_key", "read_aws_key", "read_netrc", "read_hidden"):
        assert tried.told[secret] != "key", secret


def test_no_file_of_the_kernel_can_be_written(tried):
    assert tried.told["open_kernel_files"] == []


def test_there_are_no_rights_left_and_none_can_be_gained(tried):
    none = "0" * 16
    assert tried.told["rights"] == [none, none, none, none, "1", "2"]


def test_tmp_is_private_or_closed(tried):
    assert tried.level == "bwrap" or tried.told["write_tmp_of_machine"] != "done"
    assert not Path("/tmp/regreen-was-here").exists()


def _landlock_version():
    from regreen.sandbox import landlock

    return landlock.version()
