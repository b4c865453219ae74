"""What comes out of a supervised child, and where it goes: the output, the supervisor's lines, the private channel."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from regreen.errors import EnvironmentFault
from regreen.sandbox.values import HEAD_BYTES, Command

CHUNK_BYTES = 64 * 1024


class Spool:
    """Output on its way to a file, up to a size; the rest is counted and dropped."""

    def __init__(self, command: Command) -> None:
        self.seen = 0
        self.head = bytearray()
        self._room = command.max_output_bytes
        self._path = command.output_path
        self._file = -1
        if self._path is not None:
            try:
                self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            except OSError as e:
                raise self._unwritable(e) from e

    @property
    def cut(self) -> bool:
        return self._room < 0

    def take(self, fd: int, *, only_if_any: bool = False) -> bool:
        """Move one chunk. False at the end of the pipe, or where nothing lies in it and that ends the reading.

        Raises EnvironmentFault (`io`) where the file cannot take it: a log with holes would be read as a whole one."""
        try:
            data = os.read(fd, CHUNK_BYTES)
        except BlockingIOError:
            return not only_if_any
        self.seen += len(data)
        self.head += data[: max(0, HEAD_BYTES - len(self.head))]
        kept = data[: max(0, self._room)]
        self._room -= len(data)
        if self._file >= 0 and kept:
            self._keep(kept)
        return bool(data)

    def _keep(self, data: bytes) -> None:
        try:
            while data:  # a disk that is nearly full takes a part
                data = data[os.write(self._file, data) :]
        except OSError as e:
            raise self._unwritable(e) from e

    def _unwritable(self, error: OSError) -> EnvironmentFault:
        return EnvironmentFault(
            "io",
            f"the output of a child cannot be written to {self._path}: {error.strerror}",
            "free disk space, or point REGREEN_STATE_DIR at a folder with more room",
        )

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)


class Lines:
    """The supervisor's lines, read as they come."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._text = b""
        self.closed = False
        self.ended: list[bytes] = []
        self._pid = 0

    def started(self) -> int:
        return self._pid

    def take(self, _fd: int) -> bool:
        try:
            data = self._control.recv(4096)
        except OSError:
            data = b""
        self.closed = not data
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            words = line.split(b" ", 2) if line.startswith(b"failed") else line.split()
            match words[0]:
                case b"started":
                    self._pid = int(words[1])
                case b"ended":
                    self.ended = words
                case _:
                    raise start_fault(int(words[1]), words[2].decode())
        return not self.closed


class Reader:
    """Hands what comes down a socket to its taker."""

    def __init__(self, channel: socket.socket, taker: Callable[[bytes], None]) -> None:
        self._channel = channel
        self._taker = taker

    def take(self, _fd: int) -> bool:
        try:
            data = self._channel.recv(CHUNK_BYTES)
        except OSError:
            return False
        if data:
            self._taker(data)
        return bool(data)


def start_fault(number: int, what: str) -> EnvironmentFault:
    hint = "check that the program exists, may be executed, and that the machine has memory and processes left"
    return EnvironmentFault("environment", f"cannot start the child ({what}): {os.strerror(number)}", hint)


def unboxed_fault(output: bytes) -> EnvironmentFault:
    """The wrapper ended before it could start the program."""
    said = output.decode(errors="replace").strip().rpartition("\n")[2][:500]
    hint = "check that the project and its interpreter can be read, or choose another `sandbox_level`"
    return EnvironmentFault(
        "environment", f"cannot start the child (sandbox): {said or 'it ended without a word'}", hint
    )
