"""The plan of a Windows Job Object, its bytes, and the order of the calls. The calls themselves run only on Windows."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regreen.errors import EnvironmentFault
from regreen.sandbox import job_object
from regreen.sandbox.job_object import Plan
from regreen.settings import Settings


def test_the_plan_of_a_child_with_every_limit():
    wanted = job_object.plan(memory_mib=4096, job_memory_mib=8192, cpu_s=300, processes=512)
    assert wanted == Plan(
        limits=("kill_on_job_close", "die_on_unhandled_exception", "active_process", "process_memory", "job_memory",
                "job_time"),
        ui_limits=("handles", "read_clipboard", "write_clipboard", "system_parameters", "display_settings",
                   "global_atoms", "desktop", "exit_windows"),
        active_processes=512,
        process_memory_bytes=4294967296,
        job_memory_bytes=8589934592,
        cpu_s=300,
    )  # fmt: skip
    assert wanted.flags == 0x2000 | 0x400 | 0x200 | 0x100 | 0x8 | 0x4
    assert wanted.ui_flags == 0xFF


def test_without_limits_the_tree_still_dies_with_its_job():
    wanted = job_object.plan(processes=0)
    assert wanted.limits == ("kill_on_job_close", "die_on_unhandled_exception")
    assert wanted.flags == 0x2400


@given(st.integers(0, 1 << 16), st.integers(0, 1 << 16), st.floats(0, 1e5), st.integers(0, 5000))
def test_nothing_may_ever_break_away(memory, job_memory, cpu_s, processes):
    wanted = job_object.plan(memory_mib=memory, job_memory_mib=job_memory, cpu_s=cpu_s, processes=processes)
    assert wanted.flags & 0x2000
    assert not wanted.flags & (0x0800 | 0x1000)  # BREAKAWAY_OK, SILENT_BREAKAWAY_OK


@pytest.mark.skipif(ctypes.sizeof(ctypes.c_void_p) != 8, reason="the layout of 64-bit Windows")
def test_the_bytes_are_those_of_the_structure_on_64_bit_windows():
    data = job_object.extended_limits(job_object.plan(memory_mib=1, job_memory_mib=2, cpu_s=1.5, processes=7))
    assert len(data) == 144
    numbers = {0: 0, 8: 15_000_000, 24: 0, 32: 0, 48: 0, 112: 1 << 20, 120: 2 << 20, 128: 0, 136: 0}
    assert {at: int.from_bytes(data[at : at + 8], "little") for at in numbers} == numbers
    assert int.from_bytes(data[16:20], "little") == 0x270C
    assert int.from_bytes(data[40:44], "little") == 7
    assert data[56:112] == bytes(56)
    assert job_object.ui_limits(job_object.plan()) == b"\xff\0\0\0"


class Recorder:
    """Answers like the system and writes down what it was asked; `fails` names the call that is refused."""

    def __init__(self, fails=""):
        self.calls = []
        self.open = set()
        self.fails = fails

    def _note(self, name, *args):
        self.calls.append((name, *args))
        if name == self.fails:
            raise OSError(5, "access is denied")

    def create_job(self):
        self._note("create_job")
        self.open.add(40)
        return 40

    def set_information(self, job, kind, data):
        self._note("set_information", job, kind, len(data))

    def open_process(self, pid, access):
        self._note("open_process", pid, access)
        self.open.add(50)
        return 50

    def assign(self, job, process):
        self._note("assign", job, process)

    def resume(self, process):
        self._note("resume", process)

    def terminate_process(self, process):
        self._note("terminate_process", process)

    def close(self, handle):
        self._note("close", handle)
        self.open.remove(handle)


def test_the_process_runs_only_once_it_is_in_the_job():
    kernel = Recorder()
    assert job_object.confine(kernel, 123, job_object.plan()) == 40
    assert kernel.calls == [
        ("open_process", 123, 0x1901),
        ("create_job",),
        ("set_information", 40, 9, len(job_object.extended_limits(job_object.plan()))),
        ("set_information", 40, 4, 4),
        ("assign", 40, 50),
        ("resume", 50),
        ("close", 50),
    ]
    assert kernel.open == {40}


@pytest.mark.parametrize("fails", ["create_job", "set_information", "assign", "resume"])
def test_where_a_step_is_refused_the_process_is_ended_and_nothing_stays_open(fails):
    kernel = Recorder(fails)
    with pytest.raises(OSError, match="denied"):
        job_object.confine(kernel, 123, job_object.plan())
    names = [c[0] for c in kernel.calls]
    assert "terminate_process" in names
    assert ("resume" in names) == (fails == "resume")
    assert kernel.open == set()


def test_a_process_that_cannot_be_opened_is_an_error_and_opens_nothing():
    kernel = Recorder("open_process")
    with pytest.raises(OSError, match="denied"):
        job_object.confine(kernel, 123, job_object.plan())
    assert kernel.open == set()


def test_the_level_says_that_files_and_network_are_open():
    found = job_object.isolation()
    assert (found.level, found.network, found.loopback) == ("job", "open", True)
    assert "neither files nor network" in found.why


def test_elsewhere_the_probe_says_why_not_and_the_calls_are_refused(tmp_path):
    if sys.platform == "win32":
        pytest.skip("this is Windows: here the calls are there")
    assert job_object.probe(Settings(tmp_path, tmp_path, {})) == "only Windows has it"
    with pytest.raises(EnvironmentFault):
        job_object.kernel()


def test_a_process_in_a_job_ends_with_it():
    if sys.platform != "win32":
        pytest.skip("Job Objects: this is not Windows, only the plan and the order of calls are tested")
    kernel = job_object.kernel()
    flags = job_object.CREATION_FLAGS
    with subprocess.Popen((sys.executable, "-c", "input()"), stdin=subprocess.PIPE, creationflags=flags) as child:
        job = job_object.confine(kernel, child.pid, job_object.plan())
        kernel.close(job)
        assert child.wait(30) != 0
