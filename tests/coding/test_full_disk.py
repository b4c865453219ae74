"""A disk that takes no more is an error that says what to do; what could not be put back then is not kept quiet."""

import errno
import os
from pathlib import Path

import pytest

from regreen.errors import EnvironmentFault, RegreenError
from regreen.jobs import Job
from regreen.sandbox import Command
from regreen.sandbox.streams import Spool
from regreen.store import Store, new_id, no_room

FULL = Path("/dev/full")  # every write to it fails for want of room
NO_SPACE = OSError(errno.ENOSPC, "No space left on device", "/state/x")


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "state")
    yield store
    store.close()


def ended(store: Store, fault: Exception, *, settled: bool) -> RegreenError:
    def work() -> None:
        raise fault

    job = Job(new_id("job"), "task", "repo", store, {})
    job.start(work, dict, settled=lambda: settled)
    job.wait(30)
    assert job.error is not None
    return job.error


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_output_that_cannot_be_kept_is_an_error_of_the_environment():
    reads, writes = os.pipe()
    os.write(writes, b"words")
    spool = Spool(Command(("/bin/true",), Path("/"), {}, 1.0, output_path=FULL))
    try:
        with pytest.raises(EnvironmentFault, match="/dev/full: No space left") as told:
            spool.take(reads)
        assert (told.value.kind, "free disk space" in told.value.hint) == ("io", True)
    finally:
        spool.close()
        os.close(reads)
        os.close(writes)


def test_output_file_that_cannot_be_made_is_an_error_of_the_environment(tmp_path):
    with pytest.raises(EnvironmentFault, match="gone/log") as told:
        Spool(Command(("/bin/true",), Path("/"), {}, 1.0, output_path=tmp_path / "gone" / "log"))
    assert told.value.kind == "io"


def test_folder_of_a_run_that_cannot_be_made_is_an_error_of_the_environment(store):
    (store.folder / "runs").write_text("in the way")
    with pytest.raises(EnvironmentFault) as told:
        store.run_folder("job-1")
    assert told.value.kind == "io" and str(store.folder / "runs") in told.value.message


def test_a_full_disk_in_a_job_is_no_fault_of_ours(store, caplog):
    error = ended(store, NO_SPACE, settled=True)
    assert (error.kind, error.message) == ("io", "/state/x: No space left on device")
    assert "free disk space" in error.hint and "still there" not in error.hint and not caplog.records


def test_a_job_that_could_not_put_back_says_that_the_changes_are_there_and_until_when(store):
    full = EnvironmentFault("io", "database or disk is full", "free disk space")
    assert ended(store, full, settled=False).hint == (
        "free disk space; what the job may have changed is still there, and is put back when the repository is used "
        "next, once there is room"
    )
    assert ended(store, KeyError("x"), settled=False).hint.endswith("is put back when the repository is used next")


def test_other_faults_stay_what_they_are():
    assert no_room(OSError(errno.ENOENT, "No such file")) is None
    assert no_room(OSError(errno.EDQUOT, "Disk quota exceeded")) is not None
