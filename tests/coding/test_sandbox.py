"""Children of ours: what they get, how they end, and that nothing of them is left in the process table."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.processes import carrying, children_of, is_alive, until

from regreen import sandbox
from regreen.errors import EnvironmentFault, Refused
from regreen.sandbox import CHANNEL, Cancel, Command, child_environment, run, spawn
from regreen.settings import Settings

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")

# ignores polite signals, and leaves a grandchild in a session of its own that holds the output pipe
HOSTILE = """
import os, signal, sys, time
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(s, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").close()
        if len(sys.argv) > 2:
            os.write(int(sys.argv[2]), b"ready")
        while True:
            time.sleep(60)
    os._exit(0)
"""
AND_STAYS = "\nwhile True: time.sleep(60)\n"
AND_ENDS = "\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"


def python(code, cwd, *args, timeout_s=30.0, **options):
    return Command((sys.executable, "-c", code, *args), cwd, child_environment(dict(os.environ)), timeout_s, **options)


def output_of(code, cwd, *args, **options):
    return run(python(code, cwd, *args, **options), cancel=Cancel()).output_head.decode()


def test_child_reports_its_exit_status_and_output(tmp_path):
    done = run(
        python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)", tmp_path), cancel=Cancel()
    )
    assert done.returncode == 7
    assert set(done.output_head.split()) == {b"out", b"err"}
    assert not (done.timed_out or done.cancelled or done.left_processes or done.output_cut)


def test_death_by_signal_is_told_apart_from_an_exit_status(tmp_path):
    done = run(python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", tmp_path), cancel=Cancel())
    assert (done.returncode, done.signal) == (None, signal.SIGSEGV)


@pytest.mark.parametrize("code,left", [(HOSTILE + AND_STAYS, False), (HOSTILE + AND_ENDS, True)])
def test_no_descendant_survives_the_time_limit_or_the_end_of_the_main_child(code, left, tmp_path):
    mark = str(tmp_path / "ready")
    done = run(python(code, tmp_path, mark, timeout_s=30.0 if left else 1.5), cancel=Cancel())
    assert Path(mark).exists()
    assert (done.timed_out, done.left_processes) == (not left, left)
    assert done.duration_s < 10
    assert carrying(mark) == []


def test_cancel_ends_every_descendant_at_once(tmp_path):
    mark = str(tmp_path / "ready")
    cancel = Cancel()
    begun = time.monotonic()
    done = run(python(HOSTILE + AND_STAYS, tmp_path, mark, CHANNEL), cancel=cancel, on_channel=lambda _: cancel.set())
    assert done.cancelled
    assert not done.timed_out
    assert time.monotonic() - begun < 10
    assert carrying(mark) == []


def test_cancel_set_before_the_start_runs_nothing_for_long(tmp_path):
    cancel = Cancel()
    cancel.set()
    assert run(python("import time; time.sleep(60)", tmp_path), cancel=cancel).cancelled


def test_no_descendant_survives_when_we_are_killed_and_our_private_folder_goes_too(tmp_path):
    mark = str(tmp_path / "ready")
    scrap = tmp_path / "scrap"
    (scrap / "deep").mkdir(parents=True)
    code = (
        "import sys; from pathlib import Path; from regreen.sandbox import *\n"
        "run(Command((sys.executable, '-c', sys.argv[1], sys.argv[2]), Path('/'), {}, 60, scrap=Path(sys.argv[3])),"
        " cancel=Cancel())"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, HOSTILE + AND_STAYS, mark, str(scrap)])
    try:
        assert until(Path(mark).exists)
        (supervisor,) = children_of(parent.pid)
        assert len(carrying(mark)) >= 3
    finally:
        parent.kill()
        parent.wait()
    assert until(lambda: not carrying(mark) and not is_alive(supervisor))
    assert until(lambda: not scrap.exists())


# as hostile, with no descriptor left, and one of them with an empty environment but for its parent
HIDDEN = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 256)
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)", sys.argv[1]], {})
        open(sys.argv[1], "w").close()
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)", sys.argv[1]])
    os._exit(0)
while not os.path.exists(sys.argv[1]): time.sleep(0.01)
supervisor = os.getppid()
"""


@pytest.mark.parametrize(
    "how",
    [
        "os.kill(supervisor, 9); time.sleep(60)",
        "os.kill(supervisor, 9); os._exit(0)",
        "import ctypes; ctypes.CDLL(None).prctl(1, 0, 0, 0, 0); os.kill(supervisor, 9); time.sleep(60)",
    ],
)
def test_no_descendant_survives_when_the_child_kills_its_supervisor(how, tmp_path):
    mark = str(tmp_path / "mark")
    done = run(python(HIDDEN + how, tmp_path, mark), cancel=Cancel())
    assert Path(mark).exists()
    assert done.unsupervised
    assert (done.returncode, done.signal) == (None, 0)
    assert done.duration_s < 10
    assert carrying(mark) == []


def test_no_descendant_survives_when_the_supervisor_is_killed_under_a_child_that_is_talked_to(tmp_path):
    mark = str(tmp_path / "mark")
    code = HIDDEN + "os.write(int(sys.argv[2]), b'ready'); time.sleep(60)"
    child = spawn(python(code, tmp_path, mark, CHANNEL), cancel=Cancel())
    assert child.channel.recv(5) == b"ready"
    supervisors = [p for p in children_of(os.getpid()) if children_of(p)]
    assert len(supervisors) == 1
    os.kill(supervisors[0], signal.SIGKILL)
    assert child.wait(10).unsupervised
    assert carrying(mark) == []
    child.kill()


def test_processes_of_another_run_are_not_touched_when_a_supervisor_is_killed(tmp_path):
    mark = str(tmp_path / "other")
    other = spawn(python("import os, sys, time; os.write(int(sys.argv[2]), b'ready'); time.sleep(60)", tmp_path, mark,
                         CHANNEL), cancel=Cancel())  # fmt: skip
    assert other.channel.recv(5) == b"ready"
    done = run(python("import os; os.kill(os.getppid(), 9)", tmp_path), cancel=Cancel())
    assert done.unsupervised
    assert carrying(mark) != []
    assert not other.kill().unsupervised


def test_flood_of_output_is_counted_and_cut_and_bounds_memory(tmp_path):
    spool = tmp_path / "out"
    code = "import sys\nfor _ in range(400): sys.stdout.write('y' * 65536)"
    done = run(python(code, tmp_path, output_path=spool, max_output_bytes=100_000), cancel=Cancel())
    assert done.returncode == 0
    assert done.output_cut
    assert done.output_bytes == 400 * 65536
    assert spool.stat().st_size == 100_000
    assert spool.stat().st_mode & 0o077 == 0
    assert len(done.output_head) < 100_000


def test_child_gets_no_input_and_no_descriptor_of_ours(tmp_path):
    inherited = os.open(tmp_path, os.O_RDONLY)
    try:
        code = "import os, sys; print(repr(sys.stdin.read()), sorted(int(f) for f in os.listdir('/proc/self/fd'))[:-1])"
        assert output_of(code, tmp_path).strip() == "'' [0, 1, 2]"
    finally:
        os.close(inherited)


def test_child_leads_a_session_of_its_own(tmp_path):
    assert output_of("import os; print(os.getsid(0) == os.getpid())", tmp_path).strip() == "True"


def test_memory_limit_stops_an_endless_list(tmp_path):
    code = "x = []\nwhile True: x.append(bytearray(1 << 20))"
    done = run(python(code, tmp_path, memory_mib=200), cancel=Cancel())
    assert b"MemoryError" in done.output_head


def test_file_size_limit_and_no_core_files(tmp_path):
    code = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE)); open('big', 'wb').write(bytes(1 << 20))"
    text = output_of(code, tmp_path, max_file_bytes=4096)
    assert "(0, 0)" in text
    assert "File too large" in text
    assert (tmp_path / "big").stat().st_size == 4096


def test_program_that_is_not_there_is_the_environments_fault(tmp_path):
    with pytest.raises(EnvironmentFault, match=r"program.*No such file"):
        run(Command(("/no/such/program",), tmp_path, {}, 5.0), cancel=Cancel())


def test_working_folder_that_is_gone_is_the_environments_fault(tmp_path):
    with pytest.raises(EnvironmentFault, match="working folder"):
        run(python("pass", tmp_path / "gone"), cancel=Cancel())


def test_earlier_end_may_be_named_while_it_runs(tmp_path):
    begun = time.monotonic()
    done = run(python("import time; time.sleep(60)", tmp_path), cancel=Cancel(), watch=lambda: begun + 0.2)
    assert done.timed_out
    assert done.duration_s < 10


def test_spawned_child_talks_both_ways_and_is_ended_with_its_tree(tmp_path):
    mark = str(tmp_path / "ready")
    code = HOSTILE.replace('b"ready"', "os.read(int(sys.argv[2]), 5)[::-1]") + AND_STAYS
    child = spawn(python(code, tmp_path, mark, CHANNEL), cancel=Cancel())
    child.channel.sendall(b"hello")
    assert child.channel.recv(5) == b"olleh"
    assert child.wait(0) is None
    done = child.kill()
    assert done is not None
    assert done.cancelled
    assert child.kill() == done
    assert carrying(mark) == []


def test_spawned_child_follows_the_cancel_flag_and_its_time_limit(tmp_path):
    cancel = Cancel()
    child = spawn(python("import time; time.sleep(60)", tmp_path), cancel=cancel)
    limited = spawn(python("import time; time.sleep(60)", tmp_path, timeout_s=0.1), cancel=Cancel())
    cancel.set()
    assert child.wait(10).cancelled
    assert limited.wait(10).timed_out
    child.kill()
    limited.kill()


def test_environment_is_an_allow_list(tmp_path):
    venv = tmp_path / ".venv"
    given = {
        "PATH": f"relative:{venv}/bin:{tmp_path}/tools:/usr/bin:/usr/bin", "HOME": "/home/me", "LC_ALL": "C.UTF-8",
        "VIRTUAL_ENV": str(venv), "ANTHROPIC_API_KEY": "k", "GITHUB_TOKEN": "t", "AWS_SECRET_ACCESS_KEY": "s",
        "DATABASE_URL": "d", "LD_PRELOAD": "x", "PYTHONPATH": "p", "PYTHONSTARTUP": "p", "PYTEST_ADDOPTS": "-x",
        "PYTEST_PLUGINS": "evil", "NODE_OPTIONS": "--require x", "BASH_ENV": "b", "GIT_DIR": "g", "HTTPS_PROXY": "h",
        "SSH_AUTH_SOCK": "s", "REGREEN_STATE_DIR": "r",
    }  # fmt: skip
    env = child_environment(given, {"TMPDIR": "/t"}, root=tmp_path)
    assert env["PATH"] == "/usr/bin"
    assert (env["HOME"], env["LC_ALL"], env["CI"], env["TMPDIR"]) == ("/home/me", "C.UTF-8", "1", "/t")
    assert not {"VIRTUAL_ENV", *given} & set(env) - {"PATH", "HOME", "LC_ALL"}
    approved = child_environment(given, root=tmp_path, venv=str(venv))
    assert approved["VIRTUAL_ENV"] == str(venv)
    assert approved["PATH"].split(":")[0] == f"{venv}/bin"


@pytest.mark.parametrize(
    "name",
    ["LC_API_KEY", "LC_TOKEN", "MY_SECRET", "ADMIN_PASSWORD", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PYTHONPATH",
     "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT", "PYTHONSTARTUP", "PYTEST_ADDOPTS", "NODE_OPTIONS",
     "npm_config_script_shell", "NPM_CONFIG_USERCONFIG", "BASH_ENV", "ENV", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS",
     "GIT_DIR", "GIT_CONFIG_COUNT", "https_proxy", "ALL_PROXY", "AWS_PROFILE", "AZURE_TENANT", "GOOGLE_CLOUD_PROJECT",
     "GH_HOST", "SSH_AUTH_SOCK", "DOCKER_HOST", "KUBECONFIG", "DATABASE_URL", "REGREEN_STATE_DIR"],
)  # fmt: skip
def test_name_that_leaks_or_steers_is_not_passed_even_where_it_is_listed(name):
    env = child_environment({name: "x", "HARMLESS": "y", "PATH": "/usr/bin"}, listed=(name, "HARMLESS"))
    assert name not in env
    assert env["HARMLESS"] == "y"
    assert "HARMLESS" not in child_environment({"HARMLESS": "y"})


def settings(tmp_path, **chosen):
    return Settings(tmp_path, tmp_path, {"PATH": "/usr/bin:/bin"}, **chosen)


def test_level_is_named_and_says_why_it_is_not_stronger(tmp_path):
    off = sandbox.isolation(settings(tmp_path, sandbox="off"))
    assert (off.level, off.network, off.loopback) == ("none", "open", True)
    assert off.why
    assert sandbox.isolation(settings(tmp_path, sandbox_level="none")).level == "none"
    best = sandbox.isolation(settings(tmp_path))
    assert best.level == "bwrap" or best.why
    assert sandbox.isolation(settings(tmp_path, network=True)).network == "open"


@pytest.mark.parametrize(
    "chosen",
    [{"sandbox": "required", "sandbox_level": "none"}, {"sandbox_level": "job"}, {"sandbox_level": "seatbelt"}],
)
def test_level_that_cannot_be_had_is_refused(chosen, tmp_path):
    with pytest.raises(Refused) as caught:
        sandbox.require(settings(tmp_path, **chosen))
    assert caught.value.kind == "sandbox_required"


def test_wrapper_program_is_taken_only_from_where_nobody_else_could_have_put_it(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "bwrap").write_text("#!/bin/sh\nexit 0\n")
    (tools / "bwrap").chmod(0o755)
    given = {"state_dir": tmp_path, "cache_dir": tmp_path, "environ": {"PATH": f"relative:{tools}"}}
    for chosen, mode in (({"roots": (tmp_path,)}, 0o755), ({}, 0o777)):
        tools.chmod(mode)
        with pytest.raises(Refused, match="not installed"):
            sandbox.isolation(Settings(**given, sandbox_level="bwrap", **chosen))
