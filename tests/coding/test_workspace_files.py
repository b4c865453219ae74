import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from regreen.errors import Refused, RegreenError, UsageError
from regreen.settings import Limits
from regreen.workspace import FileImage, Workspace
from regreen.workspace.beneath import Backend
from regreen.workspace.kernel import exchange

CANARY = "canary-5d1e"


@pytest.fixture(params=["openat2", "walk", "plain"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    chosen: Backend = request.param
    if chosen == "openat2":
        with Workspace(tmp_path) as probe:
            if probe.tree.backend != "openat2":
                pytest.skip("this kernel has no openat2")
    return chosen


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "secret.txt").write_text(CANARY, encoding="utf-8")
    return folder


@pytest.fixture
def root(tmp_path: Path, out: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "ok.py").write_bytes(b"x = 1\r\ny = 2\n")
    return folder


@pytest.fixture
def workspace(root: Path, backend: Backend) -> Iterator[Workspace]:
    with Workspace(root, Limits(max_file_bytes=1000), backend=backend) as opened:
        yield opened


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(RegreenError) as caught:
        call()
    assert CANARY not in caught.value.message
    return caught.value.kind


def test_file_is_read_with_its_hash_mode_and_time(workspace: Workspace, root: Path) -> None:
    file = root / "sub/ok.py"
    file.chmod(0o640)
    image = workspace.read("./sub//ok.py")
    assert (image.path, image.real, image.kind) == ("sub/ok.py", "sub/ok.py", "file")
    assert image.data == file.read_bytes()
    assert image.sha256 == sha256(image.data).hexdigest()
    assert (image.mode, image.mtime_ns) == (file.stat().st_mode, file.stat().st_mtime_ns)


def test_absent_is_a_value_for_image_and_an_error_for_read(workspace: Workspace) -> None:
    assert workspace.image("no/such.py").kind == "absent"
    assert workspace.image("sub/ok.py/below").sha256 == ""
    assert kind_of(lambda: workspace.read("no/such.py")) == "not_found"
    assert kind_of(lambda: workspace.read("~/secret.txt")) == "not_found"
    assert kind_of(lambda: workspace.read("$HOME/secret.txt")) == "not_found"


def test_links_inside_are_followed_and_named(workspace: Workspace, root: Path) -> None:
    (root / "l.py").symlink_to("sub/ok.py")
    (root / "ld").symlink_to("sub")
    (root / "abs").symlink_to(root / "sub")
    (root / "sub/up").symlink_to("../ld/../l.py")
    (root / "dangling").symlink_to("sub/new.py")
    for path in ("l.py", "ld/ok.py", "abs/ok.py", "sub/up"):
        assert workspace.read(path).real == "sub/ok.py"
    assert (workspace.image("dangling").kind, workspace.image("dangling").real) == ("absent", "sub/new.py")


def test_links_that_leave_the_root_are_refused(workspace: Workspace, root: Path, out: Path) -> None:
    (root / "d1").symlink_to("d2")
    (root / "d2").symlink_to(out)
    (root / "f").symlink_to("../out/secret.txt")
    (root / "self").symlink_to("/proc/self/cwd")
    for path in ("d1/secret.txt", "d2/secret.txt", "f", "d1", "d2/new.py", "self/../out/secret.txt", "self/x"):
        assert kind_of(lambda path=path: workspace.read(path)) == "path_outside_workspace", path
    assert kind_of(lambda: workspace.image("d2/new.py")) == "path_outside_workspace"
    assert kind_of(lambda: workspace.normalise("d2/../x")) == "path_outside_workspace"


def test_link_that_leaves_the_root_can_be_looked_at_but_not_through(workspace: Workspace, root: Path) -> None:
    (root / "f").symlink_to("../out/secret.txt")
    image = workspace.image("f")
    assert (image.kind, image.target, image.data) == ("symlink", "../out/secret.txt", b"")
    assert image.sha256 == sha256(image.content).hexdigest()


def test_link_itself_can_be_asked_for(workspace: Workspace, root: Path) -> None:
    (root / "l.py").symlink_to("sub/ok.py")
    (root / "ld").symlink_to("sub")
    assert workspace.image("l.py", follow=False).target == "sub/ok.py"
    below = workspace.image("ld/ok.py", follow=False)
    assert (below.kind, below.real) == ("file", "sub/ok.py")


def test_link_loop_is_refused_quickly(workspace: Workspace, root: Path) -> None:
    (root / "loop").symlink_to("loop")
    (root / "a").symlink_to("b/x")
    (root / "b").symlink_to("a/x")
    assert kind_of(lambda: workspace.read("loop")) == "path_invalid"
    assert kind_of(lambda: workspace.read("a")) == "path_invalid"


def test_paths_that_were_never_cleaned_do_not_reach_the_disk(workspace: Workspace, out: Path) -> None:
    for path in ("../out/secret.txt", str(out / "secret.txt"), "sub/../../out/secret.txt", "a\0b", "./sub/ok.py"):
        with pytest.raises(Refused):
            workspace.image(path)


def test_only_regular_files_are_read_and_nothing_blocks(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.sock")
        for path in ("pipe", "s.sock", "sub", "."):
            assert kind_of(lambda path=path: workspace.read(path)) == "not_regular_file", path


def test_file_over_the_limit_is_refused(workspace: Workspace, root: Path) -> None:
    (root / "just").write_bytes(b"x" * 1000)
    (root / "big").write_bytes(b"x" * 1001)
    with (root / "sparse").open("wb") as file:
        file.truncate(50 * 1024 * 1024)
    assert len(workspace.read("just").data) == 1000
    assert kind_of(lambda: workspace.read("big")) == "limit_exceeded"
    assert kind_of(lambda: workspace.image("sparse")) == "limit_exceeded"


def test_root_may_be_opened_through_a_link(root: Path, tmp_path: Path, backend: Backend) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    with Workspace(link, backend=backend) as opened:
        assert opened.root == root.resolve()
        assert opened.read("sub/ok.py").kind == "file"
        assert opened.normalise(f"{link}/sub/ok.py") == "sub/ok.py"
        assert opened.normalise(f"{root}/sub/ok.py") == "sub/ok.py"


def test_missing_root_is_told() -> None:
    assert kind_of(lambda: Workspace(Path("/no/such/folder"))) == "not_found"


def test_odd_names_can_be_read_but_not_made(workspace: Workspace, root: Path) -> None:
    (root / "a:b.py").write_bytes(b"")
    (root / "aux.c").write_bytes(b"")
    assert workspace.normalise("a:b.py") == "a:b.py"
    assert workspace.read("aux.c").data == b""
    assert kind_of(lambda: workspace.normalise("c:d.py")) == "path_invalid"
    assert kind_of(lambda: workspace.normalise("sub/nul")) == "path_invalid"
    assert kind_of(lambda: workspace.normalise("~/x.py")) == "path_outside_workspace"


def test_protection_sees_through_links(workspace: Workspace, root: Path) -> None:
    (root / ".git/hooks").mkdir(parents=True)
    (root / "innocent").symlink_to(".git/hooks")
    assert workspace.protected("innocent/pre-commit")
    assert workspace.protected("innocent")
    assert not workspace.protected("sub/ok.py")


def test_overlong_name_is_refused(workspace: Workspace) -> None:
    assert kind_of(lambda: workspace.read("a" * 300)) == "path_invalid"


def test_text_is_read_by_lines(workspace: Workspace) -> None:
    whole = workspace.read_text("sub/ok.py")
    assert (whole.text, whole.total_lines, whole.eol, whole.encoding) == ("x = 1\ny = 2\n", 2, "mixed", "utf-8")
    part = workspace.read_text("sub/ok.py", 2, 99)
    assert (part.text, part.start_line, part.end_line, part.sha256) == ("y = 2\n", 2, 2, whole.sha256)


def test_text_of_an_empty_file_is_empty(workspace: Workspace, root: Path) -> None:
    (root / "empty").write_bytes(b"")
    assert workspace.read_text("empty").total_lines == 0


@pytest.mark.parametrize(("start", "end"), [(0, 0), (3, 0), (2, 1), (-1, 5)])
def test_impossible_line_ranges_are_refused(workspace: Workspace, start: int, end: int) -> None:
    assert kind_of(lambda: workspace.read_text("sub/ok.py", start, end)) == "invalid_arguments"


def test_binary_file_has_no_text(workspace: Workspace, root: Path) -> None:
    (root / "bin").write_bytes(b"\0\1")
    assert kind_of(lambda: workspace.read_text("bin")) == "binary"


def test_stray_bytes_are_shown_as_replacement_characters(workspace: Workspace, root: Path) -> None:
    (root / "raw").write_bytes(b"caf\xe9\n")
    text = workspace.read_text("raw")
    assert (text.text, text.encoding) == ("caf\N{REPLACEMENT CHARACTER}\n", "unknown-8bit")


def test_scan_lists_all_but_git_and_follows_no_link(workspace: Workspace, root: Path, out: Path) -> None:
    for path in (".git/objects/x", "vendor/.GIT/y", "node_modules/m/z.js", "sub/.git"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"")
    (root / "d").symlink_to(out)
    asked: list[str] = []

    def skip(path: str) -> bool:
        asked.append(path)
        return path.endswith("node_modules")

    found = workspace.scan(skip=skip)
    assert set(found) == {"sub", "sub/ok.py", "vendor", "d"}
    assert set(asked) == {"sub", "vendor", "node_modules"}
    assert {p: s.kind for p, s in found.items()} == {
        "sub": "directory", "sub/ok.py": "file", "vendor": "directory", "d": "symlink"}  # fmt: skip
    info = (root / "sub/ok.py").stat()
    row = found["sub/ok.py"]
    assert (row.size, row.mtime_ns, row.ino, row.mode) == (info.st_size, info.st_mtime_ns, info.st_ino, info.st_mode)


def test_scan_of_a_tree_deeper_than_a_path_may_be_neither_fails_nor_leaks(workspace: Workspace, root: Path) -> None:
    name = "d" * 250
    here = os.open(root, os.O_RDONLY)
    for _ in range(30):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    before = _open_files()
    try:
        assert len(workspace.scan(skip=lambda _: False)) >= 15
        assert _open_files() == before
    finally:
        subprocess.run(["rm", "-rf", root / name], check=True)


def _open_files() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def test_names_that_are_not_utf8_are_listed_and_read(workspace: Workspace, root: Path) -> None:
    with open(os.fsencode(root) + b"/caf\xe9", "wb") as file:  # noqa: PTH123 - a name in bytes
        file.write(b"1")
    name = os.fsdecode(b"caf\xe9")
    assert name in workspace.scan(skip=lambda _: False)
    assert workspace.image(name).data == b"1"


def test_only_empty_folders_are_removed(workspace: Workspace, root: Path, out: Path) -> None:
    (root / "empty").mkdir()
    (root / "link").symlink_to(out, target_is_directory=True)
    (root / ".git").mkdir()
    assert workspace.remove_empty_folder("empty")
    for path in ("sub", "link", "no", "", ".git", "sub/ok.py"):
        assert not workspace.remove_empty_folder(path), path
    assert (root / "sub").exists()
    assert (root / ".git").exists()


@pytest.mark.parametrize("confined", ["openat2", "walk"])
def test_folder_swapped_for_a_link_while_reading_never_leaks(root: Path, out: Path, confined: Backend) -> None:
    (root / "x").mkdir()
    (root / "x/secret.txt").write_text("inside", encoding="utf-8")
    (root / "y").symlink_to(out, target_is_directory=True)
    with Workspace(root, backend=confined) as workspace, Swapper(root, "x", "y"):
        seen = [_try_to_read(workspace, "x/secret.txt") for _ in range(5000)]
    assert {image.data for image in seen if image} <= {b"inside"}
    assert len([image for image in seen if image]) > 10
    assert len([image for image in seen if image is None]) > 10


@pytest.mark.parametrize("confined", ["openat2", "walk"])
def test_file_swapped_for_a_link_while_reading_never_leaks(root: Path, confined: Backend) -> None:
    (root / "f").write_text("inside", encoding="utf-8")
    (root / "g").symlink_to("../out/secret.txt")
    with Workspace(root, backend=confined) as workspace, Swapper(root, "f", "g"):
        seen = [_try_to_read(workspace, "f") for _ in range(5000)]
    assert {image.data for image in seen if image} <= {b"inside"}


def _try_to_read(workspace: Workspace, path: str) -> FileImage | None:
    try:
        return workspace.read(path)
    except (Refused, UsageError):
        return None


class Swapper:
    """Exchanges two names of a folder all the time, in a thread, until the block ends."""

    def __init__(self, folder: Path, one: str, two: str) -> None:
        self._names = (one, two)
        self._fd = os.open(folder, os.O_RDONLY)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Swapper":
        if not exchange(self._fd, *self._names):
            os.close(self._fd)
            pytest.skip("this system cannot exchange two names")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        os.close(self._fd)

    def _run(self) -> None:
        while not self._stop.is_set():
            exchange(self._fd, *self._names)
