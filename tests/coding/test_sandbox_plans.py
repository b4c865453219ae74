"""The pure parts of the sandbox: the argv of bubblewrap, the filter of system calls, the rights, the places."""

import struct
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from regreen.sandbox import Command, Confinement, Isolation, bwrap, hiding, landlock, seccomp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths and links as on Linux")

BWRAP = Isolation("bwrap", "isolated", program="/usr/bin/bwrap")
ALL = (seccomp.AF_UNIX, seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK)
ALLOWED = 0x7FFF0000
NUMBERS = {  # as in the headers of the kernel
    "x86_64": {"read": 0, "clone": 56, "unshare": 272, "socket": 41, "socketpair": 53, "ioctl": 16, "mount": 165,
               "io_uring_setup": 425, "clone3": 435, "setns": 308, "keyctl": 250, "bpf": 321, "openat": 257,
               "umount2": 166, "kill": 62, "init_module": 175, "chroot": 161, "open": 2, "creat": 85, "chmod": 90,
               "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "mkdir": 83, "mkdirat": 258, "mknod": 133,
               "mknodat": 259, "openat2": 437},
    "aarch64": {"read": 63, "clone": 220, "unshare": 97, "socket": 198, "socketpair": 199, "ioctl": 29, "mount": 40,
                "io_uring_setup": 425, "clone3": 435, "setns": 268, "keyctl": 219, "bpf": 280, "openat": 56,
                "umount2": 39, "kill": 129, "init_module": 105, "chroot": 51, "fchmod": 52, "fchmodat": 53,
                "fchmodat2": 452, "mkdirat": 34, "mknodat": 33, "openat2": 437},
}  # fmt: skip


def answer(program, number, arch, *arguments):
    """What the filter says, by running it: 0 for allowed, else the error number."""
    data = struct.pack("=IIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    lines = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at, word = 0, 0
    while True:
        code, yes, no, value = lines[at]
        at += 1
        if code == 0x20:
            (word,) = struct.unpack_from("=I", data, value)
        elif code == 0x06:
            return 0 if value == ALLOWED else value & 0xFFFF
        else:
            true = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[code]
            at += yes if true else no


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_answers_each_call_as_it_should(machine):
    numbers, arch = NUMBERS[machine], seccomp.ARCHES[machine]
    program = seccomp.program(machine, ALL)

    def said(name, *arguments):
        return answer(program, numbers[name], arch, *arguments)

    assert len(program) < 4096  # what the supervisor writes into a pipe at once
    assert {said(n) for n in ("read", "openat")} == {0}
    assert {said(n) for n in ("mount", "umount2", "setns", "keyctl", "bpf", "init_module", "chroot")} == {1}
    assert {said(n) for n in ("io_uring_setup", "clone3")} == {38}
    assert said("clone", 0x01200011) == said("clone", 0x3D0F00) == 0  # fork, and a thread
    for flag in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert said("clone", flag | 17) == said("unshare", flag) == 1
    assert said("unshare", 0x400) == 0  # of files
    assert said("ioctl", 0, 0x5412) == said("ioctl", 0, 0x541C) == 1
    assert said("ioctl", 0, 0x5401) == 0
    assert [said("kill", p & 0xFFFFFFFFFFFFFFFF, 9) for p in (-1, 1, -2)] == [1, 0, 0]
    assert [said("socket", f) for f in (1, 2, 10, 16)] == [0, 0, 0, 0]
    assert [said("socket", f) for f in (17, 38, 40, 31)] == [97] * 4  # packets, kernel crypto, machine, bluetooth
    assert answer(program, numbers["read"], 0x40000003) == 38  # a call of another architecture
    if machine == "x86_64":
        assert answer(program, 0x40000000 + numbers["mount"], arch) == 38


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_refuses_modes_that_give_away_rights(machine):
    numbers, arch = NUMBERS[machine], seccomp.ARCHES[machine]
    program = seccomp.program(machine, ALL)
    arguments = {
        "open": (1, 0x42), "openat": (1, 1, 0x42), "creat": (1,), "chmod": (1,), "fchmod": (1,), "fchmodat": (1, 1),
        "fchmodat2": (1, 1), "mknod": (1,), "mknodat": (1, 1),
    }  # fmt: skip
    for name, before in arguments.items():
        if name in numbers:
            said = [answer(program, numbers[name], arch, *before, m) for m in (0o777, 0o101777, 0o4755, 0o102755)]
            assert said == [0, 0, 1, 1], name
    for flags, said in ((0, 0), (0x80001, 0), (0x410002, 1)):  # O_TMPFILE makes a file too
        assert answer(program, numbers["openat"], arch, 1, 1, flags, 0o4755) == said
    assert answer(program, numbers["openat2"], arch) == 38
    assert answer(program, numbers["mkdirat"], arch, 1, 1, 0o2755) == 0  # without effect in the kernel


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_can_close_every_family_but_a_pair(machine):
    numbers, arch = NUMBERS[machine], seccomp.ARCHES[machine]
    for families in ((), (seccomp.AF_UNIX,)):
        program = seccomp.program(machine, families)
        assert answer(program, numbers["socket"], arch, 2) == answer(program, numbers["socket"], arch, 16) == 1
        assert answer(program, numbers["socket"], arch, 1) == (0 if families else 1)
        assert answer(program, numbers["socketpair"], arch, 1) == 0
    unasked = seccomp.program(machine, None)
    assert answer(unasked, numbers["socket"], arch, 17) == 0


def test_no_filter_is_made_for_a_machine_without_a_table():
    assert seccomp.program("riscv64", ALL) == b""


def test_rights_grow_with_the_version():
    rights = [landlock.write_rights(v) for v in range(1, 8)]
    assert rights[0] == 0x1FF2
    assert [b & ~a for a, b in pairwise(rights)] == [1 << 13, 1 << 14, 0, 1 << 15, 0, 0]


def made(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
    return folder


def wrapped(project, home, *, argv=("/bin/true",), **confinement):
    command = Command(argv, project, {"HOME": str(home)}, 5.0)
    return bwrap.wrap(command, Confinement(BWRAP, project, **confinement))


def place(argv, path):
    """The option that decides about a path: the last that lays something there."""
    argv = argv[: argv.index("--chdir")]
    found = [argv[i - 2] if argv[i - 2].startswith("--") else argv[i - 1] for i, w in enumerate(argv) if w == str(path)]
    return found[-1] if found else ""


def test_argv_keeps_the_network_only_where_the_operator_said_so(tmp_path):
    project = made(tmp_path / "p", ".")
    assert "--share-net" not in wrapped(project, tmp_path)
    assert "--share-net" in wrapped(project, tmp_path, network=True)
    for option in ("--unshare-all", "--die-with-parent", "--new-session"):
        assert option in wrapped(project, tmp_path)


def test_deeper_places_win_whatever_lies_in_what(tmp_path):
    home = made(tmp_path / "home", ".ssh", ".aws/project/.git", ".config/gh")
    (home / ".netrc").write_text("x")
    argv = wrapped(home / ".aws" / "project", home, writable=(home / ".config",), hidden=(home / "state",))
    assert [place(argv, home / n) for n in (".ssh", ".aws", ".config/gh")] == ["--tmpfs"] * 3
    assert place(argv, home / ".aws/project") == place(argv, home / ".config") == "--bind"
    assert place(argv, home / ".aws/project/.git") == "--ro-bind"
    assert place(argv, home / ".netrc") == "--ro-bind"
    assert str(home / "state") not in argv  # does not exist, and would be left behind
    order = [argv.index(str(home / n)) for n in (".aws", ".aws/project", ".aws/project/.git")]
    assert order == sorted(order)
    assert argv.index(str(home / ".config")) < argv.index(str(home / ".config/gh"))


def test_home_that_is_the_project_has_its_secrets_hidden(tmp_path):
    home = made(tmp_path / "home", ".ssh", ".git")
    argv = wrapped(home, home)
    assert place(argv, home) == "--bind"
    assert place(argv, home / ".ssh") == "--tmpfs"
    assert argv.index(str(home)) < argv.index(str(home / ".ssh"))


def test_each_secret_of_a_home_is_hidden_and_what_tools_need_is_not(tmp_path):
    home = made(tmp_path / "home", ".claude", ".codex", ".config/git", ".config/pip", ".m2")
    for name in hiding.SECRETS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    needed = [home / ".m2/settings.xml", home / ".config/pip/pip.conf"]
    for path in needed:
        path.write_text("x")
    argv = wrapped(made(tmp_path / "p", "."), home)
    for name in hiding.SECRETS:
        assert argv[argv.index(str(home / name)) - 1] == "/dev/null", name
    assert not [p for p in needed if str(p) in argv]


def test_folder_that_is_the_state_and_a_writable_one_below_it(tmp_path):
    state = made(tmp_path / "state", "runs/cache")
    project = made(tmp_path / "p", ".")
    argv = wrapped(project, tmp_path, writable=(state / "runs/cache",), hidden=(state,))
    assert place(argv, state) == "--tmpfs"
    assert place(argv, state / "runs/cache") == "--bind"


def test_folders_above_what_is_kept_are_pinned_but_none_that_is_hidden_or_kept(tmp_path):
    project = made(tmp_path / "p", ".git/modules/sub", "a/sub", "state/r/sub")
    (project / ".gitmodules").write_text("path = a/sub\npath = state/r/sub\n")
    for tree in ("a/sub", "state/r/sub"):
        (project / tree / ".git").write_text(f"gitdir: {project / '.git/modules/sub'}\n")
    argv = wrapped(project, tmp_path, hidden=(project / "state",))
    assert [place(argv, project / n) for n in ("a", "a/sub")] == ["--bind"] * 2
    assert place(argv, project / "a/sub/.git") == "--ro-bind"
    assert place(argv, project / "state") == "--tmpfs"
    assert not {str(project / n) for n in (".git/modules", "state/r", "state/r/sub")} & set(argv)


def test_what_git_needs_is_found_through_its_pointers(tmp_path):
    main = made(tmp_path / "main", ".git/worktrees/w", ".git/modules/sub", "sub")
    (main / ".gitmodules").write_text('[submodule "sub"]\n\tpath = sub\n\turl = x\n')
    (main / "sub" / ".git").write_text("gitdir: ../.git/modules/sub\n")
    assert hiding.repositories(main) == (main / ".git", main / "sub/.git", main / ".git/modules/sub")
    tree = made(tmp_path / "tree", ".")
    (tree / ".git").write_text(f"gitdir: {main / '.git/worktrees/w'}\n")
    (main / ".git/worktrees/w/commondir").write_text("../..\n")
    assert hiding.repositories(tree) == (tree / ".git", main / ".git/worktrees/w", main / ".git")
    assert hiding.repositories(made(tmp_path / "none", ".")) == ()


def test_hostile_pointer_of_git_does_no_harm(tmp_path):
    project = made(tmp_path / "p", "sub")
    (project / ".git").write_bytes(b"gitdir: \xff\x00\n")
    (project / ".gitmodules").write_bytes(b"path = ../../../etc\npath=\xff\n= =\npath =\n")
    assert hiding.repositories(project) == (project / ".git",)
    assert place(wrapped(project, tmp_path), project / ".git") == "--ro-bind"


def test_secrets_behind_links_are_hidden_where_they_really_are(tmp_path):
    real = made(tmp_path / "elsewhere" / "keys", ".")
    home = made(tmp_path / "home", ".")
    (home / ".ssh").symlink_to(real)
    (home / ".aws").symlink_to(tmp_path / "gone")
    argv = wrapped(made(tmp_path / "p", "."), home)
    assert place(argv, real) == "--tmpfs"
    assert str(home / ".ssh") not in argv
