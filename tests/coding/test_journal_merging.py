"""Putting back a file that the user has changed too: our change goes, theirs stays, or nothing at all is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.journal_merging import BEFORE, BOTH, OURS, THEIRS, USER, Bench, told

from regreen.git import merge_file
from regreen.workspace.merging import no_merge


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(tmp_path) as made:
        yield made


def test_edit_of_the_user_stays_and_the_runs_change_goes(bench: Bench) -> None:
    bench.write(BEFORE)
    (bench.root / "a.py").chmod(0o755)
    bench.commit(OURS)
    bench.write(BOTH)
    assert told(bench.journal.rewind("r", dry_run=True)) == (("a.py",), [])
    assert bench.read() == BOTH
    report = bench.journal.rewind("r")
    assert told(report) == (("a.py",), [])
    assert report.restored == ()
    assert bench.read() == THEIRS
    assert stat.S_IMODE((bench.root / "a.py").stat().st_mode) == 0o755
    assert bench.only_ours()
    again = bench.journal.rewind("r")
    assert (told(again), again.transaction) == ((("a.py",), []), "")
    assert bench.read() == THEIRS
    bench.journal.undo(report.transaction)
    assert bench.read() == BOTH


def test_undo_of_a_transaction_merges_too(bench: Bench) -> None:
    bench.write(BEFORE)
    txn = bench.commit(OURS, run_id="")
    bench.write(BOTH)
    assert told(bench.journal.undo(txn)) == (("a.py",), [])
    assert bench.read() == THEIRS
    assert told(bench.journal.undo(txn)) == ((), [])
    assert bench.read() == THEIRS


def test_attempts_before_and_after_a_merge_are_taken_out_alike(bench: Bench) -> None:
    bench.write(BEFORE)
    kept = bench.commit(OURS)
    bench.commit(OURS.replace(b"three", b"THREE"))
    bench.write(bench.read().replace(b"six", b"six!"))
    assert told(bench.journal.rewind("r", to=kept)) == (("a.py",), [])
    assert bench.read() == OURS.replace(b"six", b"six!")
    bench.commit(bench.read().replace(b"four", b"FOUR"))
    assert told(bench.journal.rewind("r", to=kept)) == (("a.py",), [])
    assert bench.read() == OURS.replace(b"six", b"six!")
    assert told(bench.journal.rewind("r")) == (("a.py",), [])
    assert bench.read() == BEFORE.replace(b"six", b"six!")
    assert told(bench.journal.rewind("r")) == (("a.py",), [])
    assert bench.read() == BEFORE.replace(b"six", b"six!")


def test_what_the_user_changed_is_not_counted_as_the_runs_doing(bench: Bench) -> None:
    bench.write(BEFORE)
    bench.commit(OURS)
    bench.write(BOTH)
    bench.journal.rewind("r")
    assert bench.journal.touched("r") == {"a.py": (sha256(THEIRS).hexdigest(),) * 2}
    bench.commit(THEIRS.replace(b"two", b"2"))
    assert bench.journal.touched("r")["a.py"][0] == sha256(THEIRS).hexdigest()


def test_what_tests_wrote_over_an_attempt_is_nobodys_edit_later(bench: Bench) -> None:
    bench.write(BEFORE)
    kept = bench.commit(OURS)
    bench.commit(OURS.replace(b"three", b"THREE"))
    by_tests = bench.read() + b"by tests\n"
    bench.write(by_tests)
    ours = {"a.py": {sha256(by_tests).hexdigest()}}
    assert bench.journal.rewind("r", to=kept, ours=ours).restored == ("a.py",)
    assert bench.journal.touched("r")["a.py"] == (sha256(BEFORE).hexdigest(), sha256(OURS).hexdigest())
    report = bench.journal.rewind("r")
    assert (report.restored, *told(report)) == (("a.py",), (), [])
    assert bench.read() == BEFORE


def test_edit_between_two_attempts_is_kept_without_either(bench: Bench) -> None:
    bench.write(BEFORE)
    bench.commit(OURS)
    bench.write(BOTH)
    bench.commit(BOTH.replace(b"three", b"THREE"))
    assert told(bench.journal.rewind("r")) == (("a.py",), [])
    assert bench.read() == THEIRS


def test_edit_after_the_attempt_was_rolled_back_is_no_conflict(bench: Bench) -> None:
    bench.write(BEFORE)
    bench.commit(OURS)
    bench.journal.rewind("r")
    bench.write(b"\0 something else altogether")
    assert told(bench.journal.rewind("r")) == ((), [])
    assert bench.read() == b"\0 something else altogether"


@pytest.mark.parametrize("user", [
    OURS.replace(b"TWO\n", b"TWO!\n"),  # in our lines
    OURS.replace(b"three\n", b"three!\n"),  # beside them
    OURS.replace(b"one\n", b"one!\n"),
    OURS.replace(b"and more\n", b"and more\nand mine\n"),  # added right behind
    OURS.replace(b"TWO\n", b""),
    OURS.replace(b"\n", b"\r\n"),  # other line ends: every line
    OURS.decode().encode("utf-16"),
    b"",
    b"\0" + BOTH,
])  # fmt: skip
def test_where_the_two_meet_not_a_byte_is_changed_and_both_can_be_seen(bench: Bench, user: bytes) -> None:
    bench.write(BEFORE)
    txn = bench.commit(OURS)
    bench.write(user)
    for report, name in ((bench.journal.rewind("r"), "r"), (bench.journal.undo(txn), txn)):
        assert told(report) == ((), ["a.py"])
        assert f"regreen changes --since {name}" in report.conflicts[0].reason
        assert bench.journal.touched(name)["a.py"][0] == sha256(BEFORE).hexdigest()
        assert bench.journal.before(name, "a.py").data == BEFORE
    assert bench.read() == user
    assert bench.only_ours()


def test_user_who_took_our_change_back_keeps_what_he_has(bench: Bench) -> None:
    bench.write(BEFORE)
    bench.commit(OURS)
    bench.write(THEIRS)
    assert told(bench.journal.rewind("r")) == ((), [])
    assert bench.read() == THEIRS
    bench.write(BEFORE)
    assert bench.journal.rewind("r").conflicts == ()
    assert bench.read() == BEFORE


@pytest.mark.parametrize("before, ours", [(None, OURS), (OURS, None)])
def test_file_that_we_made_or_removed_is_not_merged(bench: Bench, before: bytes | None, ours: bytes | None) -> None:
    if before is not None:
        bench.write(before)
    bench.commit(ours)
    bench.write(BOTH)
    assert told(bench.journal.rewind("r")) == ((), ["a.py"])
    assert bench.read() == BOTH


def test_line_ends_encodings_and_a_missing_final_newline_are_kept(bench: Bench) -> None:
    before = "α\r\nzwei\r\ndrei\rdrei\r\nvier\r\nfünf".encode("latin-1", "replace") + b"\xff"
    bench.write(before)
    bench.commit(before.replace(b"zwei\r\n", b"ZWEI\r\n"))
    bench.write(bench.read().replace(b"vier\r\n", b"vier!\n"))
    assert told(bench.journal.rewind("r")) == (("a.py",), [])
    assert bench.read() == before.replace(b"vier\r\n", b"vier!\n")


def test_mode_that_the_user_gave_stays(bench: Bench) -> None:
    bench.write(BEFORE)
    bench.commit(OURS)
    bench.write(BOTH)
    (bench.root / "a.py").chmod(0o600)
    bench.journal.rewind("r")
    assert (bench.read(), stat.S_IMODE((bench.root / "a.py").stat().st_mode)) == (THEIRS, 0o600)


def test_without_a_git_the_file_is_a_conflict(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    without = partial(merge_file, environ={"PATH": str(tmp_path / "bin")}, inside=tmp_path / "ws")
    for number, merge in enumerate((without, no_merge)):
        with Bench(tmp_path / str(number), merge) as bench:
            bench.write(BEFORE)
            bench.commit(OURS)
            bench.write(BOTH)
            assert told(bench.journal.rewind("r")) == ((), ["a.py"])
            assert bench.read() == BOTH


def test_merge_that_cannot_be_made_again_is_not_taken_back(tmp_path: Path) -> None:
    with Bench(tmp_path) as bench:
        bench.write(BEFORE)
        bench.commit(OURS)
        bench.write(BOTH)
        bench.journal.rewind("r")
    with Bench(tmp_path, no_merge) as bench:
        assert told(bench.journal.rewind("r")) == ((), ["a.py"])
        assert bench.read() == THEIRS


@pytest.mark.parametrize("said", [b"", b"rubbish\n", THEIRS + b"more\n", THEIRS.replace(USER, b"")])
def test_merge_that_loses_or_invents_a_line_is_not_believed(tmp_path: Path, said: bytes) -> None:
    with Bench(tmp_path, lambda _: said) as bench:
        bench.write(BEFORE)
        bench.commit(OURS)
        bench.write(BOTH)
        assert told(bench.journal.rewind("r")) == ((), ["a.py"])
        assert bench.read() == BOTH


def test_program_of_the_project_that_is_called_git_is_not_started(tmp_path: Path) -> None:
    folder = tmp_path / "ws" / "bin"
    folder.mkdir(parents=True)
    (folder / "git").write_text(f"#!/bin/sh\necho > {tmp_path}/ran\n")
    (folder / "git").chmod(0o755)
    files = tmp_path / "files"
    files.mkdir()
    for name in ("ours", "base", "theirs"):
        (files / name).write_bytes(b"same\n")
    assert merge_file(files, {"PATH": str(folder)}, tmp_path / "ws") is None
    assert merge_file(files, {"PATH": f"{folder}:{os.environ['PATH']}"}, tmp_path / "ws") == b"same\n"
    assert not (tmp_path / "ran").exists()


def test_configuration_has_no_say(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[merge]\nconflictstyle = nonsense\n[core]\nautocrlf = true\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}
    for name, data in (("ours", BOTH), ("base", OURS), ("theirs", BEFORE)):
        (home / name).write_bytes(data)
    assert merge_file(home, environ, tmp_path / "ws") == THEIRS
    (home / "ours").write_bytes(OURS.replace(b"TWO", b"2"))
    assert merge_file(home, environ, tmp_path / "ws") is None


# --- random texts ------------------------------------------------------------------------------------

EOLS = st.sampled_from([b"\n", b"\r\n"])


@st.composite
def three_texts(draw: st.DrawFn, *, apart: bool) -> tuple[bytes, bytes, bytes, bytes]:
    """What was before, what we left, what the user made of it, and the user's edit without ours.

    The lines are all different, so that no other reading of the edits is possible.
    """
    eol = draw(EOLS)
    count = draw(st.integers(5, 30))
    lines = [b"line %d" % n + eol for n in range(count)]
    if draw(st.booleans()):
        lines[-1] = lines[-1].removesuffix(eol)
    first = draw(st.integers(0, count - 3))
    ours = range(first, draw(st.integers(first, count - 3)))  # empty: only added
    start = ours.stop + (1 if apart else 0)
    user_first = draw(st.integers(start, count - 1)) if apart else draw(st.integers(ours.start, ours.stop))
    user = range(user_first, draw(st.integers(user_first, count - 1)))
    new_ours = [b"ours %d" % n + eol for n in range(draw(st.integers(1, 3)))]
    new_user = [b"user %d" % n + eol for n in range(draw(st.integers(1, 3)))]
    left = [*lines[: ours.start], *new_ours, *lines[ours.stop :]]
    theirs = [*lines[: user.start], *new_user, *lines[user.stop :]]
    if apart:
        both = [*lines[: ours.start], *new_ours, *lines[ours.stop : user.start], *new_user, *lines[user.stop :]]
    else:  # the user writes into what we wrote, or right beside it
        at = ours.start + draw(st.integers(0, len(new_ours)))
        both = [*left[:at], *new_user, *left[at + draw(st.integers(0, 2)) :]]
    return b"".join(lines), b"".join(left), b"".join(both), b"".join(theirs)


SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@SLOW
@given(three_texts(apart=True))
def test_disjoint_edits_merge_to_exactly_the_users_edit(
    tmp_path: Path, texts: tuple[bytes, bytes, bytes, bytes]
) -> None:
    before, left, both, theirs = texts
    with Bench(tmp_path) as bench:
        bench.write(before)
        txn = bench.commit(left, run_id="")
        bench.write(both)
        assert told(bench.journal.undo(txn)) == (("a.py",), [])
        assert bench.read() == theirs


@SLOW
@given(three_texts(apart=False))
def test_edits_that_meet_change_no_byte(tmp_path: Path, texts: tuple[bytes, bytes, bytes, bytes]) -> None:
    before, left, both, _ = texts
    with Bench(tmp_path) as bench:
        bench.write(before)
        txn = bench.commit(left, run_id="")
        bench.write(both)
        assert told(bench.journal.undo(txn)) == ((), ["a.py"])
        assert bench.read() == both


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"}\n", b"a\r\n", b"c"]), max_size=8).map(b"".join)


@settings(SLOW, max_examples=150)
@given(LINES, LINES, LINES)
def test_whatever_the_texts_no_line_of_the_users_is_lost(
    tmp_path: Path, before: bytes, left: bytes, now: bytes
) -> None:
    with Bench(tmp_path) as bench:
        bench.write(before)
        bench.commit(left, run_id="")
        txn = (bench.store.rows("SELECT id FROM transactions ORDER BY rowid DESC") or [{"id": ""}])[0]["id"]
        bench.write(now)
        if before == left:
            return
        report = bench.journal.undo(txn)
        after = bench.read()
        if report.merged:
            ours = set(now.splitlines(True)) - set(left.splitlines(True))
            assert ours <= set(after.splitlines(True))
            assert not any(mark in after for mark in (b"<<<<", b">>>>", b"===="))
        elif report.conflicts:
            assert after == now
        else:
            assert after == (before if now in (before, left) else now)
        if report.transaction:
            bench.journal.undo(report.transaction)
            assert bench.read() == now
