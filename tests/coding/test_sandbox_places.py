"""Places in places: our state in the project, git's files below folders that could be moved, sockets of daemons."""

import json
import os
import shutil
import sys

import pytest
from support.confined import LEVELS, USERS, confined, folder_outside_tmp, place_for

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bubblewrap and Landlock are of Linux")

TRIES = """
import json, os, shutil, subprocess, sys
from pathlib import Path
told = {}
def tried(name, act):
    try:
        told[name] = act() or "done"
    except OSError as e:
        told[name] = e.errno
for state in map(Path, json.loads(sys.argv[1])):
    tried(f"read {state.name}", (state / "regreen.db").read_text)
    tried(f"list {state.name}", lambda: sorted(p.name for p in state.iterdir()))
    tried(f"write {state.name}", lambda: (state / "regreen.db").write_text("x") and None)
    tried(f"add {state.name}", lambda: (state / "new").write_text("x") and None)
    tried(f"own {state.name}", lambda: (state / "runs/cache/new").write_text("x") and None)
    tried(f"read own {state.name}", (state / "runs/cache/old").read_text)
tried("move parent", lambda: os.rename("lib", "old"))
tried("move submodule", lambda: os.rename("lib/sub", "old"))
tried("move inner", lambda: os.rename("lib/sub/inner", "old"))
tried("move tree", lambda: os.rename("trees", "old"))
tried("remove pointer", lambda: os.unlink("lib/sub/.git"))
tried("write pointer", lambda: Path("lib/sub/.git").write_text("x") and None)
tried("write inner pointer", lambda: Path("lib/sub/inner/.git").write_text("x") and None)
tried("replace pointer", lambda: (Path("p").write_text("x"), os.replace("p", "lib/sub/.git")) and None)
tried("write repository", lambda: Path(".git/modules/lib/sub/config").write_text("x") and None)
tried("remove all", lambda: shutil.rmtree("lib"))
for name in ("HEAD", "index", "refs/heads/topic"):
    tried(f"remove nested {name}", lambda: os.unlink(f"deep/er/and/nested/.git/{name}"))
tried("move nested", lambda: os.rename("deep/er/and/nested/.git", "old"))
tried("write in nested", lambda: Path("deep/er/and/nested/n.py").write_text("x") and None)
tried("make another", lambda: (os.makedirs("deep/new/.git"), Path("deep/new/.git/HEAD").write_text("x")) and None)
tried("write in made", lambda: Path("made/.git/HEAD").write_text("x") and None)
tried("write in named", lambda: Path("named/n/.git/HEAD").write_text("x") and None)
tried("write in submodule", lambda: Path("lib/sub/new").write_text("x") and None)
tried("rename in submodule", lambda: os.rename("lib/sub/new", "lib/sub/newer"))
print(); print("TOLD", json.dumps(told))
"""


@pytest.fixture(scope="module", params=[(level, user) for level in LEVELS for user in USERS], ids="-".join)
def tried(request):
    level, user = request.param
    folder = folder_outside_tmp(user)
    request.addfinalizer(lambda: shutil.rmtree(folder))
    place = place_for(user, folder)
    states = [place.project / ".state", place.folder / "state"]
    for state in states:
        (state / "runs" / "cache").mkdir(parents=True)
        (state / "regreen.db").write_text("key")
        (state / "runs/cache/old").write_text("mine")
    git = place.project / ".git"
    for tree, repository in (("lib/sub", "lib/sub"), ("lib/sub/inner", "lib/sub/modules/inner")):
        (place.project / tree).mkdir(parents=True)
        (git / "modules" / repository).mkdir(parents=True)
        (git / "modules" / repository / "config").write_text("[core]\n")
        (place.project / tree / ".git").write_text(f"gitdir: {git / 'modules' / repository}\n")
    (place.project / ".gitmodules").write_text('[submodule "lib/sub"]\n\tpath = lib/sub\n')
    (place.project / "lib/sub/.gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n')
    (place.project / "trees/one").mkdir(parents=True)
    (git / "worktrees/one").mkdir(parents=True)
    (git / "worktrees/one/gitdir").write_text(f"{place.project}/trees/one/.git\n")
    (place.project / "trees/one/.git").write_text(f"gitdir: {git}/worktrees/one\n")
    for tree in ("deep/er/and/nested", "made", "named/n"):
        (place.project / tree / ".git/refs/heads").mkdir(parents=True)
        for name in ("HEAD", "index", "refs/heads/topic"):
            (place.project / tree / ".git" / name).write_text("as it was")
    if user == "ordinary":
        for path in folder.rglob("*"):
            os.chown(path, 65534, 65534)
    writable = [str(place.tmp), str(place.project / "named"), *(str(s / "runs/cache") for s in states)]
    shown = json.dumps([str(s) for s in states])
    ran = confined(place, level, TRIES, shown, writable=writable, hidden=[str(s) for s in states],
                   nested=["deep/er/and/nested/.git", "made/.git", "named/n/.git"], made=["made/.git"])  # fmt: skip
    assert ran["returncode"] == 0, ran
    return place, json.loads(ran["output"].rpartition("TOLD ")[2]), ran


def without_namespaces(ran):
    return ran["level"] == "landlock" and not ran["namespaces"]


def test_our_state_is_hidden_also_where_it_lies_in_the_project_and_holds_a_writable_folder(tried):
    place, told, ran = tried
    if without_namespaces(ran):
        pytest.skip("without namespaces nothing can be hidden")
    for name in (".state", "state"):
        assert told[f"read {name}"] == 2
        assert told[f"list {name}"] == ["runs"]
        assert (told[f"own {name}"], told[f"read own {name}"]) == ("done", "mine")
    for state in (place.project / ".state", place.folder / "state"):
        assert (state / "regreen.db").read_text() == "key"
        assert not (state / "new").exists()
        assert (state / "runs/cache/new").read_text() == "x"


def test_git_of_submodules_and_work_trees_cannot_be_swapped(tried):
    place, told, ran = tried
    if without_namespaces(ran):
        pytest.skip("without namespaces nothing in the project can be kept")
    for name in ("move parent", "move submodule", "move inner", "move tree", "remove pointer", "replace pointer",
                 "write pointer", "write inner pointer", "write repository", "remove all"):  # fmt: skip
        assert told[name] not in ("done", 2), name
    for pointer in ("lib/sub/.git", "lib/sub/inner/.git", "trees/one/.git"):
        assert (place.project / pointer).read_text().startswith("gitdir: ")
    assert (place.project / ".git/modules/lib/sub/config").read_text() == "[core]\n"


def test_repositories_inside_are_kept_but_for_those_that_tests_made_and_those_in_folders_named_writable(tried):
    place, told, ran = tried
    assert [told[n] for n in ("write in nested", "make another", "write in made", "write in named")] == ["done"] * 4
    if without_namespaces(ran):
        pytest.skip("without namespaces nothing in the project can be kept")
    for name in ("HEAD", "index", "refs/heads/topic"):
        assert told[f"remove nested {name}"] not in ("done", 2), name
        assert (place.project / "deep/er/and/nested/.git" / name).read_text() == "as it was"
    assert told["move nested"] not in ("done", 2)


def test_files_of_a_submodule_can_be_changed(tried):
    assert (tried[1]["write in submodule"], tried[1]["rename in submodule"]) == ("done", "done")
