"""A process that parses what it is sent. Run as a script; it opens no file of any project.

In: the number of files, then for each the lengths of path and data, and both. Out: for each file the lengths of the
four parts of its result, and those; before all others an empty one, when it is ready. It ends with its input, with the
process that started it, and when one file takes more CPU time than the limit.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import struct
import sys
from pathlib import Path
from typing import BinaryIO

COUNT = struct.Struct("<I")
REQUEST = struct.Struct("<II")
RESPONSE = struct.Struct("<IIII")

_PR_SET_PDEATHSIG = 1
_NICENESS = 5
_GARBAGE = 50_000  # objects between two looks for cycles, of which parsing makes next to none
# What their `__init__` would import is not needed here, and takes longer than all the rest.
_BARE_PACKAGES = ("regreen.repo", "regreen.repo.index", "regreen.workspace")


def confine(parent: int, memory_bytes: int) -> None:
    """Die with the parent, in good time; leave no dump; take no more memory than allowed; let others go first."""
    import resource

    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    if os.getppid() != parent:
        raise SystemExit(0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(_NICENESS)


def import_bare(packages: tuple[str, ...]) -> None:
    """Make packages importable without running their `__init__`."""
    for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is not None:
            sys.modules[name] = importlib.util.module_from_spec(spec)


def serve(source: BinaryIO, sink: BinaryIO, parse_s: float) -> None:
    """Answer requests until there are none."""
    from regreen.repo.index.parsing import parse

    gc.freeze()
    gc.set_threshold(_GARBAGE)
    sink.write(RESPONSE.pack(0, 0, 0, 0))
    sink.flush()
    while head := source.read(COUNT.size):
        files: list[tuple[str, bytes]] = []
        for _ in range(COUNT.unpack(head)[0]):
            path_bytes, data_bytes = REQUEST.unpack(source.read(REQUEST.size))
            files.append((source.read(path_bytes).decode(), source.read(data_bytes)))
        for path, data in files:
            signal.setitimer(signal.ITIMER_PROF, parse_s)
            packed = parse(path, data)
            sink.write(RESPONSE.pack(*map(len, packed)))
            sink.write(b"".join(packed))
            sink.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> None:
    parent, parse_s, memory_bytes = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    confine(parent, memory_bytes)
    sys.path.insert(0, str(Path(__file__).parents[3]))
    import_bare(_BARE_PACKAGES)
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer, parse_s)
    except (BrokenPipeError, KeyboardInterrupt):
        os._exit(0)


if __name__ == "__main__":
    main()
