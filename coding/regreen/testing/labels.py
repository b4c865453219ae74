"""Which failures the sandbox caused: told from what runtimes say when the system refuses them something.

Pure, and careful: a failure without isolation, an assertion that merely quotes such words, and what the language's own
limits say (a heap size, a port below 1024 as a user) get no label. A wrong label sends somebody the wrong way.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from regreen.sandbox.isolation import Isolation

MAX_TEXT = 64 * 1024
MAX_LINE = 1000  # characters: the patterns are linear, or quadratic in one line

_CHAIN = re.compile(
    r"^.*(?:During handling of the above exception, another|The above exception was the direct cause).*$"
    r"|^[ \t]*(?=Caused by: |\[cause\]: )",
    re.MULTILINE,
)
_ASSERTS = re.compile(
    r"^(?:E +)?(?:[\w.:\\]{0,200}(?:AssertionError|AssertionFailedError|ComparisonFailure|ExpectationFailedException"
    r"|ExpectationNotMetError|ComparisonException)\b|assert\s|Failed asserting that\b|Failed: DID NOT|expected:? "
    r"|Expected:? |expect\(|assertion (?:failed\b|`)|.{0,200}panicked at '?assertion|[ \t]{0,20}"
    r"(?:Failure/Error: expect\b|Error Trace:|Not equal:))",
    re.MULTILINE,
)
_FORKS = re.compile(
    r"spawn(?:Sync)? \S+ EAGAIN|fork/exec \S+: resource temporarily unavailable|fork: (?:retry: )?Resource temporarily"
    r"|Resource temporarily unavailable - fork\(2\)|Unable to fork \[|pcntl_fork\(\): Error 11|can't start new thread"
    r"|unable to create (?:new )?native thread|error=11, Resource temporarily unavailable"
    r"|failed to create new OS thread|can't create Thread: Resource temporarily unavailable"
    r"|failed to spawn thread: Os \{ code: 11\b"
)
_FORK_CONTEXT = re.compile(
    r"(?:\b|_)(?:fork_exec|execute_child|os\.fork|fork\(\)|Popen|posix_spawn|Command::|spawn\w*)\b"
)
_AGAIN = re.compile(r"\[Errno 11\]|\bcode: 11, kind: WouldBlock\b")
_MEMORY = re.compile(
    r"^(?:E\s+)?(?:[\w.]*\.)?MemoryError\b|\[Errno 12\]|\bCannot allocate memory\b|\bENOMEM\b|std::bad_alloc"
    r"|fatal error: runtime: (?:cannot allocate|out of) memory|runtime: out of memory: cannot allocate"
    r"|memory allocation of \d+ bytes failed|\bcode: 12, kind: OutOfMemory\b|NoMemoryError: failed to allocate"
    r"|PHP Fatal error: +Out of memory|semi space.{0,40}Allocation failed|Zone Allocation failed",
    re.MULTILINE,
)
_FILE_SIZE = re.compile(
    r"\[Errno 27\]|\bEFBIG\b|\bcode: 27, kind: FileTooLarge\b|(?:^|: )[Ff]ile too large\b(?! for)|SIGXFSZ"
    r"|File size limit exceeded",
    re.MULTILINE,
)
_SHARED_MEMORY = re.compile(
    r"(?:Permission denied|Operation not permitted|Read-only file system)[^\n]*/dev/shm\b|/dev/shm\b[^\n]*(?:EACCES"
    r"|[Pp]ermission denied|[Oo]peration not permitted|[Rr]ead-only file system)|sem_open: Permission denied"
    r"|lacks? a functioning sem_open"
)
_SEMAPHORE = re.compile(r"\bSemLock\(|\b_posixshmem\.shm_open\(|multiprocessing[/.]synchronize")
_DENIED_ERRNO = re.compile(r"\[Errno (?:1|13|30|38)\]")

_RESOLVE = re.compile(
    r"Temporary failure in name resolution|getaddrinfo EAI_AGAIN|\[Errno -3\]|gaierror: \[Errno (?:-2|8)\]"
    r"|getaddrinfo ENOTFOUND|NameResolutionError|UnknownHostException|Could not resolve host"
    r"|php_network_getaddresses|lookup \S+ on \S+: (?:dial|read|write) udp|lookup \S+: no such host"
    r"|failed to lookup address information|dns error|Name or service not known|nodename nor servname"
    r"|SocketError: getaddrinfo|ResolutionError"
)
_UNREACHABLE = re.compile(
    r"\bENETUNREACH\b|\[Errno 101\]|\bcode: 101, kind: NetworkUnreachable\b|[Nn]etwork is unreachable|\bENETDOWN\b"
    r"|\[Errno 51\]|NoRouteToHostException|\bEHOSTUNREACH\b|\[Errno 113\]"
)
_REFUSED = re.compile(
    r"\bECONNREFUSED\b|\[Errno (?:111|61)\]|[Cc]onnection refused|\bcode: 111, kind: ConnectionRefused"
)
_LOOPBACK = re.compile(r"\b127\.\d+\.\d+\.\d+\b|\blocalhost\b|(?<![\w:])::1\b|\[::1\]")
_NET_DENIED = re.compile(
    r"\b(?:connect|listen|bind|send) (?:EACCES|EPERM)\b|(?:connect|bind|listen|sendto|socket): (?:permission denied"
    r"|operation not permitted)|Permission denied \((?:Bind|connect|Listen) failed\)"
    r"|(?:BindException|SocketException|ConnectException): (?:Permission denied|Operation not permitted)"
    r"|(?:Permission denied|Operation not permitted) - (?:bind|connect|listen|socket|sendto)\(2\)"
    r"|(?:stream_socket_\w+|fsockopen|socket_\w+)\(\):[^\n]*(?:Permission denied|Operation not permitted|\[13\]|\[1\])"
    r"|SocketException \((?:13|1)\): (?:Permission denied|Operation not permitted)|\bEAFNOSUPPORT\b|\[Errno 97\]"
    r"|\bcode: 97\b|[Aa]ddress family not supported"
)
_NET_CONTEXT = re.compile(
    r"\b(?:socket|sock|self\._sock|server|s)\.(?:connect|connect_ex|bind|listen|sendto)\(|\bcreate_connection\(|\bserver_bind\b"
    r"|\bcreate_server\(|\bstart_server\(|\bsock_connect\b|\bsocketserver\b|Tcp(?:Listener|Stream)|UdpSocket|URLError"
    r"|NewConnectionError|while attempting to bind|\b_?socket\.socket\b|/socket\.py\""
)
_PERMISSION = re.compile(r"\[Errno (?:1|13)\]|\bcode: (?:1|13), kind: PermissionDenied\b|\bPermissionDenied\b")

_READ_ONLY = re.compile(r"\[Errno 30\]|\bEROFS\b|\bcode: 30, kind: ReadOnlyFilesystem\b|[Rr]ead-only file system")
_WRITE_DENIED = re.compile(
    r"\[Errno (?:1|13)\] (?:Permission denied|Operation not permitted): [^\n]*?['\"](?P<py>/[^'\"\n]+)"
    r"|\b(?:EACCES|EPERM): (?:permission denied|operation not permitted), (?:open|mkdir|unlink|rename|rmdir|symlink"
    r"|link|copyfile|write|truncate|mkdtemp)[^\n]*?'(?P<node>/[^'\n]+)'"
    r"|\b(?:open|mkdir|unlinkat|remove|rename|symlink|link|truncate|create) (?P<go>/[^:\n]+): (?:permission denied"
    r"|operation not permitted)"
    r"|AccessDeniedException: (?P<java>/[^\s:]+)|FileNotFoundException: (?P<java2>/\S+) \((?:Permission denied"
    r"|Operation not permitted)\)"
    r"|(?:Permission denied|Operation not permitted) @ (?:rb_sysopen|dir_s_mkdir|apply2files|rb_file_s_rename) - "
    r"(?P<ruby>/[^\s']+)"
    r"|(?:fopen|file_put_contents|mkdir|unlink|rename|touch)\((?P<php>/[^)\n]+)\): [^\n]*(?:Permission denied"
    r"|Operation not permitted)"
)
_GIT_PATH = re.compile(r"(?:^|[/'\"\s])\.git(?:/|['\"\s:),]|$)")


# words, in small letters, of which a line must hold one to matter: of causes, and of what they are judged by
_CAUSES = (
    "errno", "eacces", "eperm", "erofs", "efbig", "eagain", "enomem", "enetunreach", "enetdown", "ehostunreach",
    "econnrefused", "eai_again", "enotfound", "permission", "denied", "not permitted", "read-only", "unreachable",
    "readonlyfilesystem", "resolution", "name or service", "nodename", "unknownhost", "noroutetohost", "getaddrinfo",
    "address family", "eafnosupport", "code: 97", "could not resolve", "lookup ", "dns error", "refused", "memory",
    "bad_alloc", "allocation", "too large",
    "filetoolarge", "sigxfsz", "size limit", "unavailable", "thread", "fork", "sem_open",
)  # fmt: skip
_CONTEXT = (
    "connect", "bind", "listen", "sendto", "socket", "server", "tcp", "udp", "urlerror", "popen", "spawn", "command::",
    "execute_child", "semlock", "shm", "multiprocessing", "localhost", "127.", "::1", "assert", "expect", "exception",
    "failed:", "not equal", "error trace", "failure", "caused by", "[cause]", "did not raise", "comparison",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Case:
    """What one failure is judged by."""

    isolation: Isolation
    text: str
    writable: tuple[str, ...]


def sandbox_note(isolation: Isolation, raw_text: str, *, writable: Collection[str] = ()) -> str:
    """Why the sandbox made a test fail and what to do about it; "" where nothing speaks for that.

    `raw_text` is all that is known of the failure: exception, message, traceback, errno. `writable` are the absolute
    folders that tests could write to: a refusal inside them is not the sandbox's.
    """
    if isolation.level == "none":
        return ""
    text = _without_assertions(_of_interest(raw_text[-MAX_TEXT:]))
    case = _Case(isolation, text, tuple(w.rstrip("/") for w in writable))
    return next((note for rule in _RULES if text and (note := rule(case))), "")


def _of_interest(text: str) -> str:
    """The lines that could matter: thousands of failures are judged, and few of them have any."""
    small = text.lower()
    if not any(word in small for word in _CAUSES):
        return ""
    words = (*_CAUSES, *_CONTEXT)
    lines = [(line[:MAX_LINE], line[:MAX_LINE].lower()) for line in text.splitlines()]
    return "\n".join(line for line, small in lines if any(word in small for word in words))


def _without_assertions(text: str) -> str:
    """Of chained exceptions, those that are no assertion: what an assertion says quotes what it compared."""
    parts = _CHAIN.split(text)
    return "\n".join(p for p in parts if p.strip() and not _ASSERTS.search(p))


def _limits(case: _Case) -> str:
    if case.isolation.level == "job":
        return ""  # Windows says other words, and none of them was seen yet
    if _FORKS.search(case.text) or (_AGAIN.search(case.text) and _FORK_CONTEXT.search(case.text)):
        return (f"the sandbox ({case.isolation.level}) bounds how many processes tests may have: use fewer workers, "
                "or run with `--sandbox off`")  # fmt: skip
    if _MEMORY.search(case.text):
        return f"the sandbox ({case.isolation.level}) bounds the memory of tests: use less in the test"
    if _FILE_SIZE.search(case.text):
        return f"the sandbox ({case.isolation.level}) bounds the size of one file: write a smaller one in the test"
    return ""


def _shared_memory(case: _Case) -> str:
    semaphore = _SEMAPHORE.search(case.text) and _DENIED_ERRNO.search(case.text)
    if not (_SHARED_MEMORY.search(case.text) or semaphore) or case.isolation.level == "job":
        return ""
    return (f"the sandbox ({case.isolation.level}) offers no shared memory (/dev/shm): use threads or pipes in "
            "the test, or run with `--sandbox off`")  # fmt: skip


def _network(case: _Case) -> str:
    if case.isolation.network == "open":
        return ""
    level, text = case.isolation.level, case.text
    denied = _NET_DENIED.search(text) or (_PERMISSION.search(text) and _NET_CONTEXT.search(text))
    if denied and not case.isolation.loopback:
        return (f"the sandbox ({level}) lets tests open no TCP connection or port, not even on 127.0.0.1: set "
                "`network = true`, or run with `--sandbox off`")  # fmt: skip
    if denied or _UNREACHABLE.search(text) or _RESOLVE.search(text):
        return (f"tests have no network in the sandbox ({level}): answer in the test what it would ask the network, "
                "set `network = true`, or run with `--sandbox off`")  # fmt: skip
    own_loopback = case.isolation.network == "isolated" and level != "seatbelt"
    if own_loopback and _REFUSED.search(text) and _LOOPBACK.search(text):
        return (f"tests have a 127.0.0.1 of their own in the sandbox ({level}), where a service outside cannot be "
                "reached: if the test needs one, set `network = true`, or run with `--sandbox off`")  # fmt: skip
    return ""


def _files(case: _Case) -> str:
    level, text = case.isolation.level, case.text
    if level == "job":
        return ""
    mounts = level in ("bwrap", "container") or (level == "landlock" and case.isolation.namespaces)
    read_only = mounts and _READ_ONLY.search(text)
    refused = level in ("landlock", "seatbelt") and _refused_outside(case)
    if not read_only and not refused:
        return ""
    if _GIT_PATH.search(_line_of(text, _READ_ONLY if read_only else _WRITE_DENIED)):
        return (f"the sandbox ({level}) keeps the project's `.git` as it is: make a repository in a temporary folder "
                "in the test, or run with `--sandbox off`")  # fmt: skip
    return (f"the sandbox ({level}) lets tests write only to the project and to TMPDIR: write to a temporary folder, "
            "name the folder in the setting `writable`, or run with `--sandbox off`")  # fmt: skip


def _refused_outside(case: _Case) -> bool:
    for match in _WRITE_DENIED.finditer(case.text):
        path = next(p for p in match.groups() if p)
        inside = any(path == w or path.startswith(w + "/") for w in case.writable)
        if not inside or _GIT_PATH.search(path):
            return True
    return False


def _line_of(text: str, pattern: re.Pattern[str]) -> str:
    return "\n".join(line for line in text.splitlines() if pattern.search(line))


_RULES = (_shared_memory, _limits, _network, _files)
