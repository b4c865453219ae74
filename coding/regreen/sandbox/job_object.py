"""The level `job`: a Windows Job Object, as a plan of plain data and the few calls that carry it out.

The plan is tested; the calls were not run on this system. A job ends every process in it when its last handle is
closed, which the system does for us when we die, and bounds processes, memory and CPU time. It isolates no files and
no network: what tests may touch is what the user may touch.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from regreen.errors import EnvironmentFault
from regreen.sandbox.isolation import Isolation
from regreen.settings import Settings

MAX_PROCESSES = 1024
CREATION_FLAGS = 0x0000_0004 | 0x0000_0200 | 0x0800_0000  # suspended, a process group of its own, no window

LIMITS = {
    "job_time": 0x0004,
    "active_process": 0x0008,
    "process_memory": 0x0100,
    "job_memory": 0x0200,
    "die_on_unhandled_exception": 0x0400,  # no dialogue that waits for a click
    "kill_on_job_close": 0x2000,
}
UI_LIMITS = {
    "handles": 0x01,
    "read_clipboard": 0x02,
    "write_clipboard": 0x04,
    "system_parameters": 0x08,
    "display_settings": 0x10,
    "global_atoms": 0x20,
    "desktop": 0x40,
    "exit_windows": 0x80,
}
_BASIC_UI = 4  # JobObjectBasicUIRestrictions
_EXTENDED = 9  # JobObjectExtendedLimitInformation
_TICKS = 10_000_000  # of 100 ns in a second
_ACCESS = 0x0100 | 0x0001 | 0x0800 | 0x1000  # set quota, terminate, suspend and resume, look at


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job is to be. Limits of 0 are no limits."""

    limits: tuple[str, ...]
    ui_limits: tuple[str, ...] = tuple(UI_LIMITS)
    active_processes: int = 0
    process_memory_bytes: int = 0
    job_memory_bytes: int = 0
    cpu_s: float = 0.0

    @property
    def flags(self) -> int:
        return _sum(self.limits, LIMITS)

    @property
    def ui_flags(self) -> int:
        return _sum(self.ui_limits, UI_LIMITS)


def _sum(names: tuple[str, ...], values: Mapping[str, int]) -> int:
    return sum(values[name] for name in dict.fromkeys(names))


def plan(*, memory_mib: int = 0, job_memory_mib: int = 0, cpu_s: float = 0.0, processes: int = MAX_PROCESSES) -> Plan:
    """The plan for one child. Nothing in a job may leave it: breaking away is never among the limits."""
    wanted = {
        "kill_on_job_close": True,
        "die_on_unhandled_exception": True,
        "active_process": processes > 0,
        "process_memory": memory_mib > 0,
        "job_memory": job_memory_mib > 0,
        "job_time": cpu_s > 0,
    }
    return Plan(
        limits=tuple(name for name, is_set in wanted.items() if is_set),
        active_processes=processes,
        process_memory_bytes=memory_mib << 20,
        job_memory_bytes=job_memory_mib << 20,
        cpu_s=cpu_s,
    )


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("per_process_user_time", ctypes.c_int64),
        ("per_job_user_time", ctypes.c_int64),
        ("limit_flags", ctypes.c_uint32),
        ("minimum_working_set", ctypes.c_size_t),
        ("maximum_working_set", ctypes.c_size_t),
        ("active_process_limit", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority_class", ctypes.c_uint32),
        ("scheduling_class", ctypes.c_uint32),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("basic", _BasicLimits),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory_limit", ctypes.c_size_t),
        ("job_memory_limit", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


def extended_limits(wanted: Plan) -> bytes:
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION, as the system takes it on a machine of this word size."""
    basic = _BasicLimits(
        per_job_user_time=int(wanted.cpu_s * _TICKS),
        limit_flags=wanted.flags,
        active_process_limit=wanted.active_processes,
    )
    return bytes(
        _ExtendedLimits(
            basic=basic,
            process_memory_limit=wanted.process_memory_bytes,
            job_memory_limit=wanted.job_memory_bytes,
        )
    )


def ui_limits(wanted: Plan) -> bytes:
    """JOBOBJECT_BASIC_UI_RESTRICTIONS."""
    return wanted.ui_flags.to_bytes(4, "little")


class Kernel(Protocol):
    """The calls of Windows that a job takes. Each raises OSError where the system refuses."""

    def create_job(self) -> int: ...
    def set_information(self, job: int, kind: int, data: bytes) -> None: ...
    def open_process(self, pid: int, access: int) -> int: ...
    def assign(self, job: int, process: int) -> None: ...
    def resume(self, process: int) -> None: ...
    def terminate_process(self, process: int) -> None: ...
    def close(self, handle: int) -> None: ...


def confine(kernel: Kernel, pid: int, wanted: Plan) -> int:
    """Put a process that was started suspended (`CREATION_FLAGS`) into a job of its own and let it run.

    Returns the job's handle: closing it ends everything in the job. Where a step fails, the process never ran and is
    ended, and the OSError goes on.
    """
    process = kernel.open_process(pid, _ACCESS)
    job = 0
    try:
        job = kernel.create_job()
        kernel.set_information(job, _EXTENDED, extended_limits(wanted))
        kernel.set_information(job, _BASIC_UI, ui_limits(wanted))
        kernel.assign(job, process)
        kernel.resume(process)
    except OSError:
        kernel.terminate_process(process)
        if job:
            kernel.close(job)
        raise
    finally:
        kernel.close(process)
    return job


def isolation() -> Isolation:
    """What children get from a job."""
    return Isolation("job", "open", loopback=True, why="a Windows job isolates neither files nor network")


def probe(settings: Settings) -> str:
    """ "" where a job can be made, else why not."""
    del settings  # every level is asked in the same way
    if sys.platform != "win32":
        return "only Windows has it"
    try:
        calls = kernel()
        calls.close(calls.create_job())
    except OSError as e:
        return f"Windows makes none: {e}"
    return ""


def kernel() -> Kernel:
    """The calls themselves. EnvironmentFault on any system but Windows."""
    if sys.platform != "win32":
        raise EnvironmentFault("environment", "a Job Object can be made only on Windows", "use another sandbox level")
    return _Windows()


class _Windows:
    """`Kernel` by ctypes. Handles are plain numbers here; 0 is none."""

    def __init__(self) -> None:
        load = cast("Any", ctypes).WinDLL  # only Windows' ctypes has it
        self._kernel = load("kernel32", use_last_error=True)
        self._native = load("ntdll")
        for name in ("CreateJobObjectW", "OpenProcess"):
            getattr(self._kernel, name).restype = ctypes.c_void_p

    def create_job(self) -> int:
        return self._handle(self._kernel.CreateJobObjectW(None, None))

    def set_information(self, job: int, kind: int, data: bytes) -> None:
        self._check(self._kernel.SetInformationJobObject(ctypes.c_void_p(job), kind, data, len(data)))

    def open_process(self, pid: int, access: int) -> int:
        return self._handle(self._kernel.OpenProcess(access, 0, pid))

    def assign(self, job: int, process: int) -> None:
        self._check(self._kernel.AssignProcessToJobObject(ctypes.c_void_p(job), ctypes.c_void_p(process)))

    def resume(self, process: int) -> None:
        status = self._native.NtResumeProcess(ctypes.c_void_p(process))
        if status < 0:
            raise OSError(f"NtResumeProcess: status {status & 0xFFFFFFFF:#x}")

    def terminate_process(self, process: int) -> None:
        self._kernel.TerminateProcess(ctypes.c_void_p(process), 1)

    def close(self, handle: int) -> None:
        self._kernel.CloseHandle(ctypes.c_void_p(handle))

    def _handle(self, value: int | None) -> int:
        self._check(value)
        return value or 0

    def _check(self, worked: int | None) -> None:
        if not worked:
            code = cast("Any", ctypes).get_last_error()
            raise OSError(code, cast("Any", ctypes).FormatError(code))
