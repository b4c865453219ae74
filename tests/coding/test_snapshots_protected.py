"""What git and editors own is watched around a test run: named where it differs, put back only with evidence."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.gitrepos import git, make_repo, write
from support.guarding import after, guarded_repo, image, names

from regreen.snapshots import watching
from regreen.snapshots.protected import Guard, Tampered
from regreen.snapshots.watching import MAX_FILE_BYTES
from regreen.workspace import Workspace

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes and links")


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "archive"


@pytest.fixture
def repo(tmp_path):
    return guarded_repo(tmp_path / "repo")


def test_a_run_that_changes_nothing_protected_is_told_nothing(repo, archive):
    def act():
        write(repo / "a.py", "a = 2\n")
        write(repo / "new.txt", "x")
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "-m", "more")
        os.utime(repo / ".git" / "config")

    assert after(repo, act, ["a.py", "new.txt"], archive) == ()
    assert not archive.exists()


CHANGES = {
    ".git/config": ("changed", lambda p: write(p, "[core]\n\tfsmonitor = evil\n")),
    ".git/hooks/pre-commit": ("changed", lambda p: write(p, "#!/bin/sh\nevil\n")),
    ".git/hooks/post-checkout": ("created", lambda p: write(p, "#!/bin/sh\nevil\n")),
    ".git/info/exclude": ("deleted", lambda p: p.unlink()),
    ".git/info/attributes": ("created", lambda p: write(p, "* filter=evil\n")),
    ".git/objects/info/alternates": ("created", lambda p: write(p, "/elsewhere\n")),
    ".git/config.worktree": ("created", lambda p: write(p, "[core]\n")),
    ".vscode/settings.json": ("changed", lambda p: write(p, '{"python.path": "evil"}')),
    ".vscode/tasks.json": ("created", lambda p: write(p, "{}")),
    ".mcp.json": ("deleted", lambda p: p.unlink()),
    ".envrc": ("created", lambda p: write(p, "evil\n")),
    ".github/workflows/ci.yml": ("changed", lambda p: write(p, "on: evil\n")),
    "sub/.npmrc": ("changed", lambda p: write(p, "script-shell=evil\n")),
}


@pytest.mark.parametrize("path", CHANGES)
def test_what_the_tests_were_seen_writing_is_put_back_byte_for_byte_and_kept(repo, archive, path):
    what, change = CHANGES[path]
    before = image(repo)
    changed: dict[str, object] = {}

    def act():
        change(repo / path)
        changed.update(image(repo))

    [told] = after(repo, act, [path], archive)
    assert (told.path, told.what, told.restored) == (path, what, True)
    assert image(repo) == before
    if what == "deleted":
        assert not told.kept
    else:
        assert Path(told.kept).read_bytes() == changed[path][1]
        assert stat.S_IMODE(Path(told.kept).stat().st_mode) == 0o600


@pytest.mark.parametrize("path", CHANGES)
def test_without_evidence_it_is_named_and_left(repo, archive, path):
    what, change = CHANGES[path]
    [told] = after(repo, lambda: change(repo / path), ["a.py", path + "x", ".git"], archive)
    assert (told.path, told.what, told.restored, told.kept) == (path, what, False, "")
    assert "nothing shows" in told.why
    assert (repo / path).exists() == (what != "deleted")
    assert not archive.exists()


@posix
def test_a_changed_mode_alone_is_a_change(repo, archive):
    path = ".git/hooks/pre-commit"
    before = image(repo)
    [told] = after(repo, lambda: (repo / path).chmod(0o644), [path], archive)
    assert (told.what, told.restored) == ("changed", True)
    assert image(repo) == before


def test_size_and_mtime_that_are_as_before_hide_nothing(repo, archive):
    config = repo / ".git" / "config"
    info, data = config.stat(), config.read_bytes()

    def act():
        config.write_bytes(data[:-2] + b"#\n")
        os.utime(config, ns=(info.st_atime_ns, info.st_mtime_ns))

    assert names(after(repo, act, [".git/config"], archive)) == {".git/config": ("changed", True)}
    assert (config.read_bytes(), config.stat().st_mtime_ns) == (data, info.st_mtime_ns)


def test_a_file_written_again_with_equal_bytes_is_no_change(repo, archive):
    config = repo / ".git" / "config"
    assert after(repo, lambda: config.write_bytes(config.read_bytes()), [".git/config"], archive) == ()


@posix
def test_a_link_in_place_of_the_hooks_is_not_followed_and_gives_way_with_evidence(repo, archive, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere / "pre-commit", "mine\n")
    hooks = repo / ".git" / "hooks"
    before = image(repo)
    inner = [f".git/hooks/{p.name}" for p in hooks.iterdir()]

    def act():
        shutil.rmtree(hooks)
        hooks.symlink_to(elsewhere)

    found = after(repo, act, [".git/hooks", *inner], archive)
    assert all(t.restored for t in found)
    assert ".git/hooks" in names(found)
    assert image(repo) == before
    assert image(elsewhere) == {"pre-commit": ("-rw-r--r--", b"mine\n")}

    found = after(repo, act, inner, archive)  # nothing shows who made the link: then nothing behind it is written
    assert not any(t.restored for t in found)
    assert hooks.is_symlink()
    assert image(elsewhere) == {"pre-commit": ("-rw-r--r--", b"mine\n")}


@posix
def test_a_link_in_place_of_the_config_is_replaced_and_its_target_untouched(repo, archive, tmp_path):
    target = write(tmp_path / "target", "mine\n")
    config = repo / ".git" / "config"
    before = image(repo)

    def act():
        config.unlink()
        config.symlink_to(target)

    assert names(after(repo, act, [".git/config"], archive)) == {".git/config": ("changed", True)}
    assert image(repo) == before
    assert target.read_text() == "mine\n"


@posix
def test_a_link_that_was_there_is_put_back_as_a_link(repo, archive):
    hook = repo / ".git" / "hooks" / "pre-push"
    hook.symlink_to("../../a.py")
    before = image(repo)

    def act():
        hook.unlink()
        write(hook, "evil\n")

    assert names(after(repo, act, [".git/hooks/pre-push"], archive)) == {".git/hooks/pre-push": ("changed", True)}
    assert image(repo) == before


@posix
def test_what_holds_no_bytes_is_taken_away_and_never_waited_for(repo, archive):
    before = image(repo)
    path = repo / ".git" / "config"

    def act():
        path.unlink()
        os.mkfifo(path)

    assert names(after(repo, act, [".git/config"], archive)) == {".git/config": ("changed", True)}
    assert image(repo) == before


def test_a_folder_that_came_is_told_once_and_goes_when_it_is_empty(repo, archive):
    before = image(repo)

    def act():
        write(repo / ".idea" / "runs" / "evil.xml", "<x/>")

    written = [".idea", ".idea/runs", ".idea/runs/evil.xml"]
    assert names(after(repo, act, written, archive)) == {".idea": ("created", True)}
    assert image(repo) == before
    found = after(repo, act, written[:2], archive)
    assert names(found) == {".idea": ("created", False)}
    assert (repo / ".idea" / "runs" / "evil.xml").exists()


def test_a_folder_that_went_comes_back_with_what_was_in_it(repo, archive):
    before = image(repo)
    written = [".vscode", ".vscode/settings.json"]
    found = after(repo, lambda: shutil.rmtree(repo / ".vscode"), written, archive)
    assert names(found) == {".vscode": ("deleted", True)}
    assert image(repo) == before


def test_a_repository_that_went_or_came_is_named_and_left(repo, archive):
    moved = repo / "moved"
    found = after(repo, lambda: (repo / ".git").rename(moved), [".git", ".git/config", "moved"], archive)
    assert names(found) == {".git": ("deleted", False)}
    moved.rename(repo / ".git")

    found = after(repo, lambda: git(repo, "init", "-q", "inner"), ["inner", "inner/.git", "inner/.git/config"], archive)
    assert names(found) == {"inner/.git": ("created", False)}
    assert (repo / "inner" / ".git" / "config").exists()

    def swapped():
        (repo / ".git").rename(moved)
        shutil.copytree(moved, repo / ".git")

    assert names(after(repo, swapped, [".git"], archive))[".git"] == ("changed", False)


def test_what_somebody_changed_again_meanwhile_is_left(repo, archive, monkeypatch):
    path = repo / ".git" / "config"
    real = watching.look

    with Workspace(repo) as workspace:
        guard = Guard.take(workspace)
        write(path, "tests\n")
        import regreen.snapshots.protected as protected

        def look_and_change(folder, name, limit):
            seen = real(folder, name, limit)
            write(path, "somebody's\n")
            return seen

        monkeypatch.setattr(protected, "look", look_and_change)
        [told] = guard.verify([".git/config"], archive)
    assert (told.restored, path.read_text()) == (False, "somebody's\n")
    assert [p.name for p in path.parent.iterdir() if p.name.startswith(".regreen")] == []


def test_a_file_too_large_to_keep_is_noticed_and_left(repo, archive):
    large = write(repo / ".git" / "hooks" / "large", bytes(MAX_FILE_BYTES + 1))
    [told] = after(repo, lambda: write(large, b"x"), [".git/hooks/large"], archive)
    assert (told.what, told.restored) == ("changed", False)
    assert "no copy" in told.why


@posix
def test_a_file_that_cannot_be_read_is_noticed_when_it_changes():
    with tempfile.TemporaryDirectory() as name:
        root = make_repo(Path(name) / "repo", {"a.py": "a = 1\n"})
        secret = write(root / ".git" / "hooks" / "secret", "x\n")
        secret.chmod(0)
        as_root = os.geteuid() == 0
        if as_root:
            for path in (Path(name), *root.rglob("*"), root):
                os.chown(path, 65534, 65534)
            os.chown(secret, 0, 0)
            os.seteuid(65534)
        try:
            with Workspace(root) as workspace:
                guard = Guard.take(workspace)
                assert guard.verify([], Path(name) / "archive") == ()
                if as_root:
                    os.seteuid(0)
                secret.chmod(0o600)
                write(secret, "yy\n")
                secret.chmod(0)
                if as_root:
                    os.seteuid(65534)
                [told] = guard.verify([".git/hooks/secret"], Path(name) / "archive")
        finally:
            if as_root:
                os.seteuid(0)
        assert (told.what, told.restored) == ("changed", False)


def test_beyond_its_bounds_nothing_is_called_created(repo, archive, monkeypatch):
    monkeypatch.setattr(watching, "MAX_ITEMS", 5)
    assert after(repo, lambda: write(repo / ".git" / "hooks" / "evil", "x"), [".git/hooks/evil"], archive) == ()


def test_a_guard_of_a_wide_tree_finds_nothing_where_nothing_was_done(repo, archive, monkeypatch):
    for n in range(150):
        write(repo / f"pkg{n % 15}" / f"sub{n}" / "m.py", "x = 1\n")
    assert after(repo, lambda: None, [], archive) == ()
    monkeypatch.setattr(watching, "MAX_FOLDERS", 20)
    assert after(repo, lambda: write(repo / ".mcp.json", "x"), [".mcp.json"], archive)[0].restored


NAMES = [".git/config", ".git/hooks/pre-commit", ".git/hooks/new", ".git/info/exclude", ".vscode/settings.json",
         ".mcp.json", ".envrc", ".vscode/new.json"]  # fmt: skip
ACTS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["write", "delete", "link", "folder"])), max_size=6)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=ACTS, seen=st.sets(st.sampled_from(NAMES)))
@posix
def test_whatever_the_tests_do_nothing_is_lost_and_what_is_put_back_is_exact(repo, tmp_path, acts, seen):
    root = tmp_path / "copy"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(repo, root, symlinks=True)
    archive = tmp_path / "kept"
    before = image(root)
    with Workspace(root) as workspace:
        guard = Guard.take(workspace)
        for name, act in acts:
            perform(root / name, act)
        changed = image(root)
        found = guard.verify(seen, archive)
        now = image(root)
        assert {t.path for t in found if t.restored} <= seen
        for told in found:
            same_as = before if told.restored else changed
            assert now.get(told.path) == same_as.get(told.path)
            if told.restored and changed.get(told.path, ("d",))[0][0] in "-l":
                kept = Path(told.kept).read_bytes()
                body = changed[told.path][1]
                assert kept == (b"symlink\0" + os.fsencode(body) if isinstance(body, str) else body)
        told_of = {t.path for t in found}
        for path in {*before, *now}:
            if path in now and path in before and now[path] == before[path]:
                continue
            assert path in told_of or any(path.startswith(t + "/") for t in told_of), path
        assert all(isinstance(t, Tampered) for t in found)


def perform(path, act):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()
    if act == "write":
        write(path, f"evil {path.name}\n")
    elif act == "link":
        path.symlink_to("/nonexistent/x")
    elif act == "folder":
        path.mkdir()
