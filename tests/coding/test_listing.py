"""The listing of an open project: as good as a new one at every call, and git is asked only when it must be."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.listings import write

from regreen.git import Git
from regreen.repo import list_files
from regreen.repo.listing import sources, tree
from regreen.repo.listing.listing import Listing
from regreen.workspace import Workspace


@dataclass
class Project:
    """A project, its listing, and how often git was started for it."""

    root: Path
    home: Path
    workspace: Workspace
    repository: Git | None
    listing: Listing
    asked: list[str]

    def git(self, *args: str, at: str = "", ok: bool = False) -> None:
        who = ("-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always")
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_SYSTEM": "/dev/null"}
        subprocess.run(
            ("git", *who, *args), cwd=self.root / at, env=environ, check=not ok, capture_output=True, timeout=60
        )

    def paths(self) -> tuple[str, ...]:
        self.tick()
        return self.listing.current().paths

    def tick(self) -> None:
        """Let the file system's clock go on, so that what comes is later than what was."""
        probe = self.home / "probe"
        probe.write_bytes(b"")
        first = now = probe.stat().st_ctime_ns
        while now == first:
            probe.write_bytes(b"")
            now = probe.stat().st_ctime_ns

    def is_right(self) -> None:
        self.tick()
        assert self.listing.current() == list_files(self.workspace, self.repository)


@contextmanager
def project(*, with_git: bool = True, below: str = "", submodules: bool = False) -> Generator[Project]:
    """An empty project whose listing takes the clock to be exact; a test sees to it with `tick`."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for module in (sources, tree):
            patch.setattr(module, "RACE_NS", 0)
        home, top = Path(folder, "home"), Path(folder, "top")
        root = top / below
        home.mkdir()
        root.mkdir(parents=True)
        environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
        if with_git:
            subprocess.run(("git", "init", "-q", str(top)), env=environ, check=True, timeout=60)
        repository = Git.open(root, environ) if with_git else None
        asked: list[str] = []
        if repository is not None:
            run: Callable[..., bytes] = repository.run

            def counted(*args: str, **more: object) -> bytes:
                asked.append(args[0])
                return run(*args, **more)

            patch.setattr(repository, "run", counted)
        with Workspace(root) as workspace:
            listing = Listing(workspace, lambda: repository, submodules=submodules)
            yield Project(root, home, workspace, repository, listing, asked)


# --- any operations ------------------------------------------------------------------------------------

_FOLDERS = ["", "a", "b", "a/b", "a/b/c", "node_modules", "a/node_modules"]
_NAMES = ["f.py", "g.py", "x.log", "a", "b", "keep.log", "pyvenv.cfg"]
_RULES = ["*.log", "/b/", "a/*", "!keep.log", "g.py", "*", "!a", "b", "**/c/", "a/b", "!*.py", "node_modules/"]
_folders = st.sampled_from(_FOLDERS)
_paths = st.tuples(_folders, st.sampled_from(_NAMES)).map(lambda it: "/".join(it).lstrip("/"))
_rule_files = st.sampled_from([".gitignore", "a/.gitignore", "a/b/.gitignore", ".regreenignore", "a/.regreenignore"])
_text = st.lists(st.sampled_from(_RULES), max_size=3).map(lambda lines: "\n".join(lines) + "\n")
_OPERATIONS = st.one_of(
    st.tuples(st.just("write"), _paths, st.integers(0, 3).map("x".__mul__)),
    st.tuples(st.just("remove"), st.one_of(_paths, _folders, _rule_files)),
    st.tuples(st.just("move"), st.one_of(_paths, _folders), st.one_of(_paths, _folders)),
    st.tuples(st.just("link"), _paths, st.sampled_from(["f.py", "..", "/etc", "a"])),
    st.tuples(st.just("folder"), _folders),
    st.tuples(st.just("rules"), _folders, st.sampled_from([".gitignore", ".gitignore", ".regreenignore"]), _text),
    st.tuples(st.just("exclude"), _text),
    st.tuples(st.just("global"), st.sampled_from([".config/git/ignore", "other"]), _text),
    st.tuples(st.just("git"), st.sampled_from(["add -A", "add -A -f", "commit -qam m", "reset -q", "stash -q",
        "reset -q --hard", "rm -q -r --cached .", "config core.excludesFile ~/other", "add -N ."])),
    st.tuples(st.just("nest"), st.sampled_from(["a", "b", "a/b"]), st.booleans()),
)  # fmt: skip


def perform(it: Project, operation: tuple[object, ...]) -> None:
    what, *rest = operation
    args = [str(r) for r in rest]
    path = it.root / args[0]
    match what:
        case "exclude" | "global" | "git" | "nest":
            configure(it, str(what), args)
        case "write" | "rules":
            path = path / args[1] if what == "rules" else path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(args[-1])
        case "remove" if path != it.root:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        case "move" if path != it.root and args[1]:
            path.rename(it.root / args[1])
        case "link":
            path.symlink_to(args[1])
        case "folder":
            path.mkdir(parents=True, exist_ok=True)
        case _:
            pass


def configure(it: Project, what: str, args: list[str]) -> None:
    match what:
        case "exclude":
            (it.root / ".git" / "info" / "exclude").write_text(args[0])
        case "global":
            write(it.home, {args[0]: args[1]})
        case "git":
            it.git(*args[0].replace("~", str(it.home)).split(), ok=True)
        case "nest":
            it.git("init", "-q", at=args[0])
            if args[1] == "True":
                it.git("commit", "-q", "--allow-empty", "-m", "m", at=args[0])
        case _:
            pass


def truth(it: Project) -> set[str]:
    """What git says."""
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    environ = {"PATH": os.environ["PATH"], "HOME": str(it.home)}
    out = subprocess.run(command, cwd=it.root, env=environ, check=True, capture_output=True, timeout=60).stdout
    return {
        p for p in out.decode().split("\0") if p and "node_modules" not in p.split("/")[:-1] and not p.endswith("/")
    }


@settings(max_examples=int(os.environ.get("LISTING_EXAMPLES", "25")), deadline=None)
@given(st.booleans(), st.lists(_OPERATIONS, min_size=3, max_size=14))
def test_the_listing_is_right_whatever_is_done(with_git: bool, operations: list[tuple[object, ...]]) -> None:
    with project(with_git=with_git) as it:
        for operation in operations:
            it.listing.current()
            it.tick()
            with suppress(OSError, shutil.Error):
                perform(it, operation)
            it.is_right()
        if with_git and not any(path.name in (".regreenignore", "pyvenv.cfg") for path in it.root.rglob("*")):
            files = it.listing.current()
            listed = {*files.paths, *files.links}
            there = {p for p in truth(it) if is_there(it.root / p)}
            assert there <= listed
            assert all("node_modules" in p for p in listed - there)


def is_there(path: Path) -> bool:
    """Whether it is a file or a link, with no link above it."""
    return (path.is_symlink() or path.is_file()) and Path(os.path.realpath(path.parent)) == path.parent


# --- when git is asked ---------------------------------------------------------------------------------


def started(it: Project, change: Callable[[], object]) -> list[str]:
    """The git commands that the next look takes after a change, and it is right."""
    it.paths()
    change()
    it.tick()
    it.asked.clear()
    files = it.listing.current()
    asked = list(it.asked)
    assert files == list_files(it.workspace, it.repository)
    it.asked.clear()
    assert it.listing.current() == files
    assert it.asked == []
    return asked


def test_git_is_asked_only_when_its_answer_may_be_another() -> None:
    with project() as it:
        write(it.root, {"a.py": "", "src/b.py": "", "src/.gitignore": "*.log\nbuild/\n", "build/x": ""})
        it.git("add", "-A")
        assert "ls-files" in started(it, lambda: None) or it.asked == []
        assert started(it, lambda: None) == []
        assert started(it, lambda: write(it.root, {"a.py": "changed"})) == []
        assert it.listing.current().stats["a.py"].size == 7
        assert started(it, (it.root / "a.py").unlink) == []
        assert started(it, lambda: write(it.root, {"a.py": "back"})) == []
        assert "ls-files" in started(it, lambda: write(it.root, {"src/new.py": ""}))
        assert "ls-files" in started(it, lambda: write(it.root, {"src/x.log": ""}))
        assert "ls-files" in started(it, lambda: write(it.root, {"src/build/out": ""}))
        assert started(it, lambda: write(it.root, {"src/build/more": ""})) == []
        assert started(it, lambda: shutil.rmtree(it.root / "src" / "build")) == []
        assert started(it, lambda: write(it.root, {"src/build/out": ""})) == []
        for rules in ("", "new.py\n"):
            assert "ls-files" in started(it, lambda rules=rules: write(it.root, {"src/.gitignore": rules}))
        assert it.paths() == ("a.py", "build/x", "src/.gitignore", "src/b.py", "src/build/out", "src/x.log")


def test_rules_outside_of_the_tree_count_when_they_change() -> None:
    with project(below="sub") as it:
        write(it.root, {"a.py": "", "b.py": "", "c.py": "", "d.py": "", "e.py": "", "f.py": ""})
        top = it.root.parent
        assert len(it.paths()) == 6
        for change, left in [
            ({"top/.gitignore": "sub/a.py\n"}, "b c d e f"),
            ({"top/.git/info/exclude": "b.py\n"}, "c d e f"),
            ({"home/.config/git/ignore": "c.py\nf.py\n"}, "d e"),
            ({"home/.config/git/ignore": "c.py\n"}, "d e f"),
            ({"home/mine": "d.py\n", "home/.gitconfig": "[core]\nexcludesFile = ~/mine\n"}, "c e f"),
            ({"home/more": "[core]\nexcludesFile = ~/two\n", "home/two": "e.py\n",
              "home/.gitconfig": "[include]\npath = more\n"}, "c d f"),
            ({"home/two": "f.py\n"}, "c d e"),
            ({"home/more": "[user]\nname = x\n"}, "d e f"),
            ({"home/.gitconfig": "[includeIf \"onbranch:other\"]\npath = late\n",
              "home/late": "[core]\nexcludesFile = ~/two\n", "home/two": "d.py\n"}, "d e f"),
        ]:  # fmt: skip
            write(top.parent, change)
            assert it.paths() == tuple(f"{name}.py" for name in left.split()), change
        it.git("checkout", "-q", "-b", "other")
        assert it.paths() == ("c.py", "e.py", "f.py")


def test_a_change_within_one_tick_of_the_clock_is_not_missed(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "", "b.py": "", ".gitignore": "a.py\n"})
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run(("git", "init", "-q"), cwd=tmp_path, env=environ, check=True, timeout=60)
    git = Git.open(tmp_path, environ)
    with Workspace(tmp_path) as workspace:
        listing = Listing(workspace, lambda: git)
        for name, left in [("b", "a"), ("a", "b")] * 3:
            write(tmp_path, {".gitignore": f"{name}.py\n"})
            assert listing.current().paths == (".gitignore", f"{left}.py")


# --- shapes of repositories ----------------------------------------------------------------------------


def test_a_repository_inside_is_named_and_not_listed_until_it_is_none() -> None:
    with project() as it:
        write(it.root, {"a.py": "", "in/b.py": ""})
        it.git("init", "-q", at="in")
        assert it.paths() == ("a.py",)
        assert it.listing.current().notes == ("repositories of their own, not listed: in",)
        write(it.root, {"in/c.py": ""})
        it.is_right()
        shutil.rmtree(it.root / "in" / ".git")
        assert it.paths() == ("a.py", "in/b.py", "in/c.py")
        assert it.listing.current().notes == ()


def test_a_linked_work_tree_is_listed_by_its_own_index(tmp_path: Path) -> None:
    with project() as it:
        write(it.root, {"a.py": ""})
        it.git("add", "-A")
        it.git("commit", "-qm", "m")
        it.git("worktree", "add", "-q", str(tmp_path / "w"))
        write(tmp_path / "w", {"b.py": "", "x.log": ""})
        linked = Git.open(tmp_path / "w", {"PATH": os.environ["PATH"], "HOME": str(it.home)})
        with Workspace(tmp_path / "w") as workspace:
            listing = Listing(workspace, lambda: linked)
            assert listing.current().paths == ("a.py", "b.py", "x.log")
            it.tick()
            write(it.root, {".git/info/exclude": "*.log\n"})
            it.tick()
            assert listing.current().paths == ("a.py", "b.py")


def test_submodules_are_listed_by_their_own_rules_when_wanted() -> None:
    with project(submodules=True) as it:
        write(it.root, {"inner/lib.py": "", "inner/deep/x.py": "", "a.py": ""})
        other = it.home / "other"
        shutil.move(it.root / "inner", other)
        for command in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "m")):
            it.git("-C", str(other), *command)
        it.git("submodule", "--quiet", "add", str(other), "sub")
        write(it.root, {"sub/new.py": "", "sub/x.log": "", "sub/.gitignore": "*.log\n", "y.log": ""})
        inside = ("sub/.gitignore", "sub/deep/x.py", "sub/lib.py", "sub/new.py")
        assert it.paths() == (".gitmodules", "a.py", *inside, "y.log")
        assert list_files(it.workspace, it.repository, submodules=True) == it.listing.current()
        outside = list_files(it.workspace, it.repository)
        assert (outside.paths, outside.notes) == ((".gitmodules", "a.py", "y.log"), ("submodules, not listed: sub",))
        write(it.root, {"sub/.gitignore": "new.py\n", "sub/deep/z.py": ""})
        assert it.paths() == (
            ".gitmodules", "a.py", "sub/.gitignore", "sub/deep/x.py", "sub/deep/z.py", "sub/lib.py", "sub/x.log",
            "y.log",
        )  # fmt: skip
        it.git("rm", "-q", "--cached", "lib.py", at="sub")
        it.git("config", "core.excludesFile", str(write(it.home, {"all": "*\n"}) / "all"), at="sub")
        assert it.paths() == (".gitmodules", "a.py", "sub/deep/x.py", "y.log")


def test_what_is_not_checked_out_is_said_and_conflicts_are_listed_once() -> None:
    with project() as it:
        write(it.root, {"a/x.py": "1", "b/y.py": "1", "b/z.py": "1"})
        it.git("add", "-A")
        it.git("commit", "-qm", "m")
        it.git("sparse-checkout", "set", "a")
        assert it.paths() == ("a/x.py",)
        assert it.listing.current().notes == ("not checked out (sparse checkout): 2 files",)
        it.git("sparse-checkout", "disable")
        it.git("checkout", "-qb", "side")
        for branch, text in (("side", "2"), ("-", "3")):
            it.git("checkout", "-q", branch)
            write(it.root, {"a/x.py": text})
            it.git("commit", "-qam", text)
        it.git("merge", "-q", "side", ok=True)
        it.git("update-index", "--assume-unchanged", "b/y.py")
        it.git("update-index", "--split-index")
        assert it.paths() == ("a/x.py", "b/y.py", "b/z.py")
        it.git("add", "-A")
        it.is_right()


def test_without_its_git_folder_a_project_is_walked_and_with_it_listed_again() -> None:
    with project() as it:
        write(it.root, {"a.py": "", ".gitignore": "*.log\n", "x.log": ""})
        it.git("add", "-f", "-A")
        assert it.paths() == (".gitignore", "a.py", "x.log")
        (it.root / ".git").rename(it.home / "away")
        assert it.paths() == (".gitignore", "a.py")
        assert it.listing.current().notes[0].startswith("Git could not list the files")
        (it.home / "away").rename(it.root / ".git")
        assert it.paths() == (".gitignore", "a.py", "x.log")
        assert it.listing.current().notes == ()


@pytest.mark.parametrize("with_git", [True, False])
def test_a_root_that_is_gone_has_no_files(with_git: bool) -> None:
    with project(with_git=with_git) as it:
        write(it.root, {"a/b.py": ""})
        assert it.paths() == ("a/b.py",)
        shutil.rmtree(it.root)
        assert it.paths() == ()


@pytest.mark.parametrize("with_git", [True, False])
def test_an_own_ignore_file_leaves_out_more_at_any_level(with_git: bool) -> None:
    with project(with_git=with_git) as it:
        write(it.root, {"a.py": "", "data/x.csv": "", "src/b.py": "", "src/c.gen.py": "", "src/keep.gen.py": ""})
        write(it.root, {".regreenignore": "/data/\n", "src/.regreenignore": "*.gen.py\n!keep.gen.py\n"})
        if with_git:
            it.git("add", "-A")
        assert it.paths() == (".regreenignore", "a.py", "src/.regreenignore", "src/b.py", "src/keep.gen.py")
        assert it.listing.current().notes == ("left out by .regreenignore: data, src/c.gen.py",)
        (it.root / "src" / ".regreenignore").unlink()
        it.is_right()
        (it.root / ".regreenignore").unlink()
        assert "data/x.csv" in it.paths()
        assert it.listing.current().notes == ()


@pytest.mark.parametrize("with_git", [True, False])
def test_a_virtual_environment_of_any_name_is_left_out_and_said(with_git: bool) -> None:
    with project(with_git=with_git) as it:
        write(it.root, {"a.py": "", "env/pyvenv.cfg": "", "env/lib/x.py": "", "node_modules/x.js": ""})
        write(it.root, {".pytest_cache/.gitignore": "*\n", ".pytest_cache/x": ""})
        assert it.paths() == ("a.py",)
        said = "env, node_modules" if with_git else ".pytest_cache, env, node_modules"
        assert it.listing.current().notes == (f"dependency folders that are not listed: {said}",)
        write(it.root, {"env/lib/y.py": ""})
        (it.root / "env" / "pyvenv.cfg").unlink()
        assert it.paths() == ("a.py", "env/lib/x.py", "env/lib/y.py")
        if with_git:
            it.git("add", "-f", "node_modules/x.js")
            assert it.paths() == ("a.py", "env/lib/x.py", "env/lib/y.py", "node_modules/x.js")


# --- ignore files as git reads them ---------------------------------------------------------------------

_PIECES = [
    "a",
    "b",
    "ab",
    "*",
    "?",
    "**",
    "[ab]",
    "[!a]",
    "[a-c]",
    "[[:alpha:]]",
    "\\*",
    "*.py",
    "a*b",
    "a**b",
    "[",
    " ",
    "é",
]
_names = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=2).map("".join)
_globs = st.tuples(
    st.sampled_from(["", "", "", "!"]), st.sampled_from(["", "", "/", "**/"]),
    st.lists(_names, min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "", "/", "/**", " ", "\\ ", "\r", "\\"]),
).map("".join)  # fmt: skip
_TREE = [f"{folder}{name}" for folder in ("", "a/", "b/", "a/b/", "ab/a/", "a/ab/b/", "é/")
         for name in ("f", "a.py", "aab", "*", "é ", "x b")]  # fmt: skip


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same files twice, once with git."""
    one, two = tmp_path_factory.mktemp("with"), tmp_path_factory.mktemp("without")
    for root in (one, two):
        write(root, dict.fromkeys(_TREE, ""))
    subprocess.run(("git", "init", "-q"), cwd=one, env={"PATH": os.environ["PATH"]}, check=True, timeout=60)
    return one, two


@settings(max_examples=int(os.environ.get("LISTING_EXAMPLES", "60")))
@given(outer=st.lists(_globs, max_size=4), inner=st.lists(_globs, max_size=3))
def test_rules_mean_the_same_without_git(twins: tuple[Path, Path], outer: list[str], inner: list[str]) -> None:
    found: list[set[str]] = []
    for root in twins:
        write(root, {".gitignore": "\n".join(outer) + "\n", "a/.gitignore": "\n".join(inner)})
        with Workspace(root) as workspace:
            found.append(set(list_files(workspace, Git.open(root, {"PATH": os.environ["PATH"]})).paths))
    assert found[0] == found[1]


def test_a_hostile_rule_is_read_in_no_time(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "*a" * 100 + "b\n" + "**/" * 500 + "b/c\n" + "[" * 5000 + "\n", "a" * 200: ""})
    with Workspace(tmp_path) as workspace:
        assert list_files(workspace, None).paths == (".gitignore", "a" * 200)
