"""What changes while tests run is put back only where something shows that the tests did it; the user's work stays."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from support.attributing import Watched as Bench
from support.gitrepos import differences, git, make_repo, whole_state, write

from regreen.model import RestoreReport


@pytest.fixture
def bench(tmp_path: Path) -> Generator[Bench]:
    files = {"calc.py": "one\n", "notes.txt": "n\n", "d/del.txt": "d\n", ".gitignore": "*.env\n"}
    root = make_repo(tmp_path / "r", files)
    write(root / "mine.txt", "m\n")
    write(root / "secret.env", "K=1\n")
    with Bench(tmp_path, root) as made:
        yield made


def told(report: RestoreReport) -> dict[str, str]:
    return {c.path: c.reason for c in report.conflicts}


def test_what_the_user_does_while_tests_run_is_neither_put_back_nor_deleted(bench: Bench) -> None:
    root = bench.root
    snapshot = bench.start()
    bench.edit("calc.py", b"edited\n")

    def user() -> None:
        write(root / "notes.txt", "USER\n")
        write(root / "secret.env", "USER\n")
        write(root / "mine.txt", "USER\n")
        write(root / "fresh" / "new.txt", "USER\n")
        (root / "d" / "del.txt").unlink()

    made = bench.run_tests(snapshot, user, seen=["report.xml"])
    assert list(made) == []
    assert set(made.unsure) == {"notes.txt", "mine.txt", "fresh/new.txt", "d/del.txt"}
    assert made.ignored == ("secret.env",)
    assert bench.snapshots.made_by_tests(snapshot) == {}
    assert bench.snapshots.restore_run("run-1", snapshot, final=False).conflicts == ()
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert (set(told(report)), report.ignored) == (set(made.unsure), made.ignored)
    assert all("nothing shows that they did it; left as it is" in reason for reason in told(report).values())
    assert (root / "calc.py").read_text() == "one\n"
    assert not (root / "d" / "del.txt").exists()
    for name in ("notes.txt", "secret.env", "mine.txt", "fresh/new.txt"):
        assert (root / name).read_text() == "USER\n"


def test_old_bytes_of_what_was_left_are_kept_in_a_transaction_that_can_be_undone(bench: Bench) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: [write(bench.root / n, "new\n") for n in ("mine.txt", "secret.env")], seen=())
    (bench.root / "mine.txt").unlink()
    bench.snapshots.restore_run("run-1", snapshot)
    kept = bench.snapshots.release(snapshot)
    assert bench.store.rows("SELECT * FROM snapshots") == []
    bench.journal.prune()
    assert bench.journal.undo(kept).conflicts == ()
    assert differences(before, whole_state(bench.root)) == []
    assert bench.snapshots.release(snapshot) == ""


def test_nothing_is_kept_of_a_run_that_was_put_back(bench: Bench) -> None:
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: write(bench.root / "mine.txt", "tests\n"))
    bench.snapshots.restore_run("run-1", snapshot)
    assert bench.snapshots.release(snapshot) == ""


@pytest.mark.parametrize("seen", ["out/log.txt", "out", "./out/log.txt", "out/"])
def test_a_path_or_a_folder_above_it_seen_written_is_the_tests_doing(bench: Bench, seen: str) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    made = bench.run_tests(snapshot, lambda: write(bench.root / "out" / "log.txt", "x"), seen=[seen])
    assert made.created == ("out/log.txt",)
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(bench.root)) == []


@pytest.mark.parametrize("seen", [".", "", "/", "..", "../x", "/out", "a\0b", "\ud800", "x" * 5000])
def test_evidence_about_nothing_in_particular_is_no_evidence(bench: Bench, seen: str) -> None:
    snapshot = bench.start()
    assert bench.run_tests(snapshot, lambda: write(bench.root / "out", "x"), seen=[seen]).unsure == ("out",)


def test_file_that_somebody_puts_into_a_folder_of_the_tests_is_told_of_and_can_be_had_again(bench: Bench) -> None:
    notes = bench.root / "out" / "notes.txt"
    snapshot = bench.start()
    bench.edit("calc.py", b"edited\n")
    both = ["out/log.txt", "out/notes.txt"]
    bench.run_tests(snapshot, lambda: [write(bench.root / n, "x\n") for n in both], seen=["out", "out/log.txt"])
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert bench.snapshots.inferred(snapshot, report.deleted) == ["out/notes.txt"]
    bench.snapshots.release(snapshot)
    bench.journal.undo(report.transaction)
    assert notes.read_text() == "x\n"


def test_folder_that_tests_only_asked_for_or_gave_a_mode_does_not_speak_for_the_users_files_in_it(bench: Bench) -> None:
    snapshot = bench.start()

    def both() -> None:
        (bench.root / "d").mkdir(exist_ok=True)
        (bench.root / "d").chmod(0o711)
        write(bench.root / "d" / "del.txt", "USER\n")

    assert bench.run_tests(snapshot, both, seen=["d"]).unsure == ("d/del.txt",)
    assert list(told(bench.snapshots.restore_run("run-1", snapshot))) == ["d/del.txt"]


def test_file_written_through_a_link_to_its_folder_is_the_tests_doing(bench: Bench) -> None:
    (bench.root / "link").symlink_to("d")
    snapshot = bench.start()
    made = bench.run_tests(snapshot, lambda: write(bench.root / "link" / "x", "x"), seen=["link/x"])
    assert made.created == ("d/x",)


def test_what_comes_to_the_same_bytes_in_three_test_runs_is_the_tests_doing_from_its_first_change_on(
    bench: Bench,
) -> None:
    root = bench.root
    snapshot = bench.start()
    before = whole_state(root)

    def tests() -> None:
        for name in ("notes.txt", "log", "secret.env"):
            write(root / name, "1\n")

    for _ in range(2):
        assert list(bench.run_tests(snapshot, tests, seen=())) == []
        bench.snapshots.restore_run("run-1", snapshot, final=False)
        assert (root / "log").read_text() == "1\n"
    third = bench.run_tests(snapshot, tests, seen=())
    assert (third.created, third.changed) == (("log",), ("notes.txt", "secret.env"))
    assert bench.snapshots.inferred(snapshot, ["log", "calc.py"]) == ["log"]
    bench.snapshots.restore_run("run-1", snapshot, final=False)
    assert differences(before, whole_state(root)) == []
    write(root / "calc.py", "edited\n")  # from now on they may write something else
    bench.run_tests(snapshot, lambda: write(root / "notes.txt", "2\n"), seen=())
    write(root / "calc.py", "one\n")
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert (report.restored, report.conflicts) == (("notes.txt",), ())
    bench.snapshots.release(snapshot)


def test_saving_a_file_again_does_not_make_it_the_tests(bench: Bench) -> None:
    root = bench.root
    snapshot = bench.start()
    drafts = ("notes.txt", "idea.py", "secret.env", "own.env")

    def save() -> None:
        for name in drafts:
            write(root / name, "draft\n")

    runs = (save, lambda: None, save, lambda: [(root / n).touch() for n in drafts], lambda: None, save)
    for user in runs:
        bench.run_tests(snapshot, user, seen=["report.xml"])
        assert bench.snapshots.restore_run("run-1", snapshot, final=False).conflicts == ()
    assert bench.snapshots.inferred(snapshot, drafts) == []
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert (set(told(report)), report.ignored) == ({"notes.txt", "idea.py"}, ("own.env", "secret.env"))
    assert {(root / name).read_text() for name in drafts} == {"draft\n"}


def test_file_that_tests_write_as_it_is_does_not_become_theirs_when_the_user_edits_it(bench: Bench) -> None:
    snapshot = bench.start()
    for _ in range(4):
        bench.run_tests(snapshot, lambda: write(bench.root / "notes.txt", "n\n"), seen=())
    bench.run_tests(snapshot, lambda: write(bench.root / "notes.txt", "USER\n"), seen=())
    assert list(told(bench.snapshots.restore_run("run-1", snapshot))) == ["notes.txt"]
    assert (bench.root / "notes.txt").read_text() == "USER\n"


def test_ignored_file_that_changes_all_the_time_is_left_and_no_conflict(bench: Bench) -> None:
    snapshot = bench.start()
    for number in range(5):
        made = bench.run_tests(
            snapshot, lambda n=number: [write(bench.root / p, f"{n}\n") for p in ("secret.env", "new.env")], seen=()
        )
        assert (made.unsure, set(made.ignored)) == ((), {"secret.env", "new.env"})
        bench.snapshots.restore_run("run-1", snapshot, final=False)
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert (report.conflicts, report.ignored) == ((), ("new.env", "secret.env"))
    bench.journal.undo(bench.snapshots.release(snapshot))
    assert (bench.root / "secret.env").read_text() == "K=1\n"


def test_file_that_the_user_works_on_in_every_test_run_is_his(bench: Bench) -> None:
    snapshot = bench.start()
    for number in range(4):
        made = bench.run_tests(
            snapshot,
            lambda n=number: [write(bench.root / p, f"draft {n}\n") for p in ("notes.txt", "idea.py", "mine.txt")],
            seen=(),
        )
        bench.snapshots.restore_run("run-1", snapshot, final=False)
    assert set(made.unsure) == {"notes.txt", "idea.py", "mine.txt"}
    assert set(told(bench.snapshots.restore_run("run-1", snapshot))) == {"notes.txt", "idea.py", "mine.txt"}
    for name in ("notes.txt", "idea.py", "mine.txt"):
        assert (bench.root / name).read_text() == "draft 3\n"


def test_what_changes_between_test_runs_too_is_somebody_elses(bench: Bench) -> None:
    log = bench.root / "server.log"
    snapshot = bench.start()
    for _ in range(3):
        write(log, f"{log.read_text() if log.exists() else ''}a line of the user's server\n")
        made = bench.run_tests(snapshot, lambda: write(log, f"{log.read_text()}another\n"), seen=())
        bench.snapshots.restore_run("run-1", snapshot, final=False)
    assert made.unsure == ("server.log",)
    assert list(told(bench.snapshots.restore_run("run-1", snapshot))) == ["server.log"]
    assert log.read_text().count("\n") == 6


def test_evidence_of_a_later_run_speaks_for_an_earlier_one(bench: Bench) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: write(bench.root / "log", "1\n"), seen=())
    bench.run_tests(snapshot, lambda: None, seen=["log"])
    assert bench.snapshots.restore_run("run-1", snapshot).deleted == ("log",)
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(bench.root)) == []


def test_state_between_two_changes_of_one_file_can_be_had_again(bench: Bench) -> None:
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: write(bench.root / "mine.txt", "perhaps the user\n"), seen=())
    bench.run_tests(snapshot, lambda: write(bench.root / "mine.txt", "tests\n"), seen=["mine.txt"])
    bench.snapshots.restore_run("run-1", snapshot)
    bench.snapshots.release(snapshot)
    assert (bench.root / "mine.txt").read_text() == "m\n"
    kept = {bytes(row["data"]) for row in bench.store.rows("SELECT data FROM blobs")}
    assert {b"perhaps the user\n", b"tests\n"} <= kept


def test_file_that_tests_and_user_wrote_is_put_back_and_named_by_a_transaction(bench: Bench) -> None:
    snapshot = bench.start()
    bench.edit("calc.py", b"edited\n")
    bench.run_tests(snapshot, lambda: write(bench.root / "mine.txt", "both\n"), seen=["mine.txt"])
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert (bench.root / "mine.txt").read_text() == "m\n"
    bench.snapshots.release(snapshot)
    bench.journal.undo(report.transaction)
    assert (bench.root / "mine.txt").read_text() == "both\n"


def test_file_that_the_user_brought_back_is_no_conflict(bench: Bench) -> None:
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: write(bench.root / "mine.txt", "x\n"), seen=())
    write(bench.root / "mine.txt", "m\n")
    bench.edit("calc.py", b"edited\n")
    write(bench.root / "calc.py", "one\n")  # as the snapshot has it: however it came to be so
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()


def test_wrong_mode_of_a_file_is_a_conflict_with_the_right_bytes_too(bench: Bench) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: (bench.root / "mine.txt").chmod(0o700), seen=())
    assert list(told(bench.snapshots.restore_run("run-1", snapshot))) == ["mine.txt"]
    bench.journal.undo(bench.snapshots.release(snapshot))
    assert differences(before, whole_state(bench.root)) == []


def test_user_who_commits_and_changes_branches_meanwhile_is_told_and_left_alone(bench: Bench) -> None:
    root = bench.root
    git(root, "branch", "feature")
    snapshot = bench.start()

    def user() -> None:
        git(root, "checkout", "-q", "feature")
        write(root / "notes.txt", "feature\n")
        write(root / "feat.py", "f\n")
        git(root, "add", "notes.txt", "feat.py")
        git(root, "commit", "-qm", "feature")

    bench.run_tests(snapshot, user, seen=())
    state = whole_state(root)
    report = bench.snapshots.restore_run("run-1", snapshot)
    assert differences(state, whole_state(root)) == []
    assert set(told(report)) == {"notes.txt", "feat.py", ".git"}
    assert told(report)[".git"].startswith("HEAD moved from main to feature")
    bench.snapshots.release(snapshot)
    assert git(root, "status", "--short") == "?? mine.txt\n"


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (("commit", "--allow-empty", "-qm", "x"), "main moved from"), (("tag", "v1"), "refs moved: refs/tags/v1"),
        (("stash", "-q"), "the stash changed"), (("checkout", "-q", "--detach"), "HEAD moved from main to"),
        (("symbolic-ref", "HEAD", "refs/heads/unborn"), "HEAD moved from main to unborn"),
    ],
)  # fmt: skip
def test_every_move_of_git_is_told_at_the_end_and_only_then(bench: Bench, move: tuple[str, ...], words: str) -> None:
    write(bench.root / "calc.py", "dirty\n")
    snapshot = bench.start()
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
    git(bench.root, *move)
    assert ".git" not in told(bench.snapshots.restore_run("run-1", snapshot, final=False))
    assert words in told(bench.snapshots.restore_run("run-1", snapshot))[".git"]


def test_tracked_files_in_dependency_folders_are_put_back_and_others_not_looked_at(tmp_path: Path) -> None:
    files = {f"{folder}/x/f.js": "1\n" for folder in ("node_modules", ".tox", "env")} | {"env/pyvenv.cfg": "", "a": "a"}
    root = make_repo(tmp_path / "r", files)
    write(root / "node_modules" / "untracked.js", "u\n")
    before = whole_state(root)
    with Bench(tmp_path, root) as bench:
        snapshot = bench.start()
        assert snapshot.files == len(files)

        def tests() -> None:
            write(root / "node_modules" / "x" / "f.js", "broken")
            (root / ".tox" / "x" / "f.js").unlink()
            (root / "env" / "pyvenv.cfg").unlink()
            write(root / "env" / "x" / "f.js", "broken")
            write(root / "node_modules" / "new.js", "not recorded")
            write(root / "pyvenv.cfg", "hides nothing")

        bench.run_tests(snapshot, tests)
        assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
        bench.snapshots.release(snapshot)
    assert differences(before, whole_state(root)) == ["node_modules/new.js"]


def test_folder_that_tests_make_look_like_an_environment_is_still_looked_into(bench: Bench) -> None:
    before = whole_state(bench.root)
    snapshot = bench.start()
    bench.run_tests(snapshot, lambda: [write(bench.root / "d" / n, "") for n in ("pyvenv.cfg", "del.txt")])
    assert bench.snapshots.restore_run("run-1", snapshot).conflicts == ()
    bench.snapshots.release(snapshot)
    assert differences(before, whole_state(bench.root)) == []


def test_refs_of_a_lost_state_folder_are_swept(bench: Bench) -> None:
    git(bench.root, "update-ref", "refs/regreen/snap-lost", "HEAD")
    mine = bench.snapshots.take("run-1")
    with Bench(bench.root.parent / "other", bench.root) as other:
        assert other.snapshots.recover() == ()
    assert git(bench.root, "for-each-ref", "refs/regreen") == ""
    bench.snapshots.release(mine)
    assert not (bench.root / ".git" / "refs" / "regreen").exists()
