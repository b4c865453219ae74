"""What a forked child does to itself, just before it becomes the program, to be closed in without another program.

The order matters: namespaces while there are rights to make them, then the rights go, then Landlock, then the filter
that would refuse the calls before it. Any step that fails ends the start: nothing runs with less than was promised.
Run as a script it tries the steps and says which the machine allows (see `isolation`). No import of regreen.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import TypedDict

    from regreen.sandbox import landlock, namespaces, seccomp

    class Closing(TypedDict):
        """What to close. `namespaces` is "", "root" or "user"; `places` is for `namespaces.lay`."""

        namespaces: bytes
        network: bool
        places: list[tuple[bytes, bytes]]
        writable_folders: list[bytes]
        writable_files: list[bytes]
        capabilities: int
        landlock: int
        filter: bytes
else:
    if __name__ == "__main__":
        sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (`pathlib` is slow to import)
    if __package__:
        from regreen.sandbox import landlock, namespaces, seccomp
    else:
        import landlock
        import namespaces
        import seccomp


def close(closing: Closing) -> None:
    """Close this process in, for good. Raises OSError where a step is not possible."""
    folders = closing["writable_folders"]
    if closing["namespaces"]:
        namespaces.enter(closing["namespaces"], network=closing["network"])
        namespaces.lay(closing["places"])
        namespaces.private_shared_memory()
        folders = folders + namespaces.private_terminals()
    namespaces.drop_capabilities(closing["capabilities"])
    namespaces.no_new_privileges()
    block_tcp = not closing["network"] and not closing["namespaces"]
    landlock.restrict(closing["landlock"], folders, closing["writable_files"], block_tcp=block_tcp)
    if closing["filter"]:
        seccomp.install(closing["filter"])


def attempt(closing: Closing) -> str:
    """What goes wrong when a child closes itself in that way; "" where nothing does."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            close(closing)
        except OSError as e:
            os.write(tell, f"{os.strerror(e.errno or 0)}".encode())
        os._exit(0)
    os.close(tell)
    problem = os.read(told, 4096).decode()
    os.close(told)
    status = os.waitpid(pid, 0)[1]
    return problem or (f"ended with {status}" if status else "")


def main() -> None:
    """Print one line: the version of Landlock, the kind of namespaces, and what is wrong with each of the two."""
    abi = landlock.version()
    if not abi:
        print("0||the kernel has no Landlock (Linux 5.13), or it is switched off|")
        return
    kinds = (b"root", b"user") if os.geteuid() == 0 else (b"user",)
    plain: Closing = {
        "namespaces": b"", "network": False, "places": [],
        "writable_folders": [b"/dev/shm"], "writable_files": [b"/dev/null"], "capabilities": 0,
        "landlock": abi,
        "filter": seccomp.program(os.uname().machine, (seccomp.AF_UNIX,)),
    }  # fmt: skip
    problem = attempt(plain)
    if problem:
        print(f"0||{problem}|")
        return
    without = ""
    for kind in kinds:
        places = [(namespaces.HIDDEN, b"/run"), (namespaces.WRITABLE, b"/dev/shm")]
        without = attempt({**plain, "namespaces": kind, "places": places})
        if not without:
            print(f"{abi}|{kind.decode()}||")
            return
    print(f"{abi}|||{without}")


if __name__ == "__main__":
    main()
