"""Failures that the sandbox caused get a label; all others, however alike they look, get none."""

from __future__ import annotations

import errno
import os
import resource
import socket
import subprocess
import sys
import traceback
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sandbox_messages import (
    FILE_SIZE,
    FORKS,
    MEMORY,
    NO_NETWORK,
    ORDINARY,
    READ_ONLY,
    SHARED,
    TCP_BLOCKED,
    WRITE_DENIED,
)

from regreen.errors import Refused
from regreen.sandbox import Cancel, Command, child_environment, run
from regreen.sandbox.isolation import Isolation, confine
from regreen.sandbox.isolation import isolation as isolation_of
from regreen.settings import Settings
from regreen.testing.labels import MAX_TEXT, sandbox_note

BWRAP = Isolation("bwrap", "isolated", True)
LANDLOCK = Isolation("landlock", "tcp-blocked", False)
NAMESPACED = Isolation("landlock", "isolated", True)
SEATBELT = Isolation("seatbelt", "isolated", True)
CONTAINER = Isolation("container", "isolated", True)
JOB = Isolation("job", "open", True)
NONE = Isolation()
ALL = (BWRAP, LANDLOCK, SEATBELT, CONTAINER, JOB)


def cases(corpus):
    return [pytest.param(text, id=name) for name, text in corpus.items()]


@pytest.mark.parametrize("text", cases(NO_NETWORK))
@pytest.mark.parametrize("isolation", [BWRAP, LANDLOCK, NAMESPACED, SEATBELT, CONTAINER], ids=lambda i: i.level)
def test_an_unreachable_network_is_the_sandbox_where_it_cuts_the_network(text, isolation):
    note = sandbox_note(isolation, text)
    assert "no network" in note
    assert "`network = true`" in note
    assert isolation.level in note


@pytest.mark.parametrize("text", cases(NO_NETWORK | TCP_BLOCKED))
@pytest.mark.parametrize("isolation", [NONE, JOB, Isolation("bwrap", "open"), Isolation("landlock", "open")])
def test_an_open_network_that_fails_is_not_the_sandbox(text, isolation):
    assert "network" not in sandbox_note(isolation, text)


@pytest.mark.parametrize("text", cases(TCP_BLOCKED))
def test_a_port_that_may_not_be_opened_is_the_sandbox_where_tcp_is_blocked(text):
    assert "not even on 127.0.0.1" in sandbox_note(LANDLOCK, text)


@pytest.mark.parametrize("text", [
    "Error: connect ECONNREFUSED 127.0.0.1:5432",
    "dial tcp [::1]:6379: connect: connection refused",
    "ConnectionRefusedError: [Errno 111] Connection refused\n  connecting to localhost:80",
])  # fmt: skip
def test_a_refused_loopback_is_told_only_where_the_sandbox_has_a_loopback_of_its_own(text):
    assert all("127.0.0.1 of their own" in sandbox_note(i, text) for i in (BWRAP, CONTAINER, NAMESPACED))
    assert sandbox_note(LANDLOCK, text) == sandbox_note(SEATBELT, text) == ""


@pytest.mark.parametrize("text", cases(READ_ONLY))
def test_a_read_only_file_system_is_the_sandbox_where_it_mounts_one(text):
    for isolation in (BWRAP, CONTAINER, replace(LANDLOCK, namespaces="user")):
        note = sandbox_note(isolation, text)
        assert "write only to the project" in note
        assert "`writable`" in note
    assert sandbox_note(LANDLOCK, text) == sandbox_note(JOB, text) == ""


@pytest.mark.parametrize("text", cases(WRITE_DENIED))
def test_a_write_refused_outside_is_the_sandbox_and_one_inside_is_not(text):
    for isolation in (LANDLOCK, SEATBELT):
        assert "write only to the project" in sandbox_note(isolation, text, writable=["/repo", "/tmp/x"])
        assert sandbox_note(isolation, text, writable=["/home/u", "/Users/u/"]) == ""
    assert sandbox_note(BWRAP, text) == sandbox_note(CONTAINER, text) == ""


def test_a_refused_write_to_git_says_to_use_another_repository():
    text = "OSError: [Errno 30] Read-only file system: '/repo/.git/config'"
    assert "`.git`" in sandbox_note(BWRAP, text)
    denied = "PermissionError: [Errno 1] Operation not permitted: '/repo/.git/hooks/x'"
    assert "`.git`" in sandbox_note(SEATBELT, denied, writable=["/repo"])
    assert "`.git`" in sandbox_note(BWRAP, text.replace("/repo/", ""))
    for other in (".github/", "x.git/", ".git2/"):
        assert "`.git`" not in sandbox_note(BWRAP, text.replace(".git/", other))


@pytest.mark.parametrize(
    "corpus,word",
    [(MEMORY, "memory"), (FILE_SIZE, "size of one file"), (FORKS, "how many processes"), (SHARED, "/dev/shm")],
)
def test_limits_are_told_at_every_level_that_sets_them(corpus, word):
    for text in corpus.values():
        for isolation in (BWRAP, LANDLOCK, SEATBELT, CONTAINER):
            assert word in sandbox_note(isolation, text), text
        assert sandbox_note(NONE, text) == ""


EVERYTHING = {**NO_NETWORK, **TCP_BLOCKED, **READ_ONLY, **WRITE_DENIED, **MEMORY, **FILE_SIZE, **FORKS, **SHARED}


@pytest.mark.parametrize("corpus", [NO_NETWORK, TCP_BLOCKED, READ_ONLY, WRITE_DENIED, MEMORY, FILE_SIZE, FORKS, SHARED])
def test_without_a_sandbox_there_is_no_label(corpus):
    assert {sandbox_note(NONE, text) for text in corpus.values()} == {""}


@pytest.mark.parametrize("text", cases(ORDINARY))
def test_an_ordinary_failure_gets_no_label(text):
    assert {sandbox_note(i, text) for i in (*ALL, NONE)} == {""}


def test_what_lies_behind_an_assertion_is_still_looked_at():
    between = "During handling of the above exception, another exception occurred:"
    behind = f"{NO_NETWORK['python-connect']}\n\n{between}\n\nE   AssertionError: no answer"
    assert "no network" in sandbox_note(BWRAP, behind)
    cause = "Caused by: java.net.SocketException: Network is unreachable"
    assert "no network" in sandbox_note(BWRAP, f"java.lang.AssertionError: no answer\n\tat X.y(X.java:3)\n{cause}")


def raised(act):
    try:
        act()
    except Exception:  # noqa: BLE001 - whatever this interpreter really raises
        return traceback.format_exc()
    raise AssertionError("nothing was raised")


def test_what_this_interpreter_really_says_is_understood(tmp_path):
    def too_large():
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
        try:
            (tmp_path / "big").write_bytes(bytes(100))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    def refused():
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        socket.create_connection(("localhost", port), timeout=5)

    def read_only():
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "/usr/x")

    import signal

    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        assert "size of one file" in sandbox_note(BWRAP, raised(too_large))
    finally:
        signal.signal(signal.SIGXFSZ, old)
    assert "write only" in sandbox_note(BWRAP, raised(read_only))
    assert "memory" in sandbox_note(BWRAP, raised(lambda: bytearray(1 << 62)))


def test_what_a_child_without_processes_really_says_is_understood():
    code = "import os, resource, subprocess; os.geteuid() or os.setuid(65534)  # the limit does not bind root\n"
    code += "resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)); subprocess.run(['true'])"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=30)
    assert "how many processes" in sandbox_note(BWRAP, done.stderr)


REFUSED = {
    "no network": "import urllib.request; urllib.request.urlopen('http://example.com')",
    "have no network in": "import socket; socket.create_connection(('93.184.216.34', 80), 5)",
    "write only to the project": "open('/usr/x-of-a-test', 'w')",
    "bounds the memory": "bytearray(3 << 30)",
    "size of one file": "import signal; signal.signal(signal.SIGXFSZ, 1); open('x', 'wb').write(bytes(9 << 20))",
}


@pytest.mark.parametrize("level", ["bwrap", "landlock"])
def test_what_a_real_sandbox_refuses_is_labelled_and_what_it_allows_is_not(level, tmp_path):
    settings = Settings(tmp_path / "state", tmp_path / "cache", dict(os.environ), sandbox_level=level)
    try:
        found = isolation_of(settings)
    except Refused as e:
        pytest.skip(f"{level} cannot be had here: {e.message}")
    root, private = tmp_path / "repo", tmp_path / "private"
    root.mkdir()
    private.mkdir()

    def said_of(code):
        env = child_environment(dict(os.environ), {"TMPDIR": str(private)})
        argv = (sys.executable, "-c", code)
        limits = {"memory_mib": 1024, "max_file_bytes": 8 << 20}
        command = Command(argv, root, env, 60.0, confinement=confine(found, root, (private,)), **limits)
        text = run(command, cancel=Cancel()).output_head.decode()
        assert "Error" in text
        return sandbox_note(found, text, writable=[str(root), str(private)])

    for words, code in REFUSED.items():
        if found.network != "open" or "network" not in words:
            assert words in said_of(code)
    for code in ("open('made', 'w').write('x'); assert 1 == 2", "open('missing')", "{}['EACCES']", "int('fork')"):
        assert said_of(code) == ""


@given(st.text(max_size=400), st.sampled_from(ALL))
def test_any_text_is_judged_and_a_label_is_one_line_that_names_the_level(text, isolation):
    note = sandbox_note(isolation, text)
    assert "\n" not in note
    assert not note or isolation.level in note


@given(st.sampled_from(sorted(EVERYTHING)), st.sampled_from(sorted(ORDINARY)))
def test_no_text_gets_a_label_at_level_none(one, two):
    assert sandbox_note(NONE, EVERYTHING[one] + "\n" + ORDINARY[two]) == ""


@pytest.mark.parametrize(
    "unit", ["a", "1 | ", "> ", "Permission denied: '/", "lookup ", "E   ", " ", "\n", "open /a", "::1", "a "]
)
def test_a_long_hostile_text_is_judged_soon(unit):
    for isolation in (LANDLOCK, BWRAP):  # the time limit of a test is what tells
        assert isinstance(sandbox_note(isolation, unit * (MAX_TEXT // len(unit))), str)
