"""Many clients at once leave nothing behind; `make soak` asks the same of thousands of calls."""

from pathlib import Path

import pytest
from support.soak import Wish, soak


@pytest.mark.thorough
def test_clients_of_all_kinds_that_come_and_go_leave_nothing_behind(tmp_path: Path) -> None:
    outcome = soak(tmp_path, Wish(80, 40, 3, http_clients=2, stdio_clients=1))
    left = [f for f in outcome.faults if "descriptors" not in f and "threads" not in f]  # few calls warm up little
    assert left == []
    assert outcome.figures["processes left"] == 0
