"""For all tests: property tests without a database or a clock, and a state folder of each test's own."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import configuration, settings
from support.cases import ALL

settings.register_profile("regreen", database=None, deadline=None)
settings.load_profile("regreen")
_HYPOTHESIS_HOME = tempfile.TemporaryDirectory(prefix="regreen-hypothesis-")
configuration.set_hypothesis_home_dir(_HYPOTHESIS_HOME.name)

# Under nohup, or in the background of a script, these are ignored, and would be by every process that a test starts.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what belongs to the whole run alone."""
    left_out = [] if ALL else [item for item in items if item.get_closest_marker("thorough")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]


def pytest_unconfigure() -> None:
    _HYPOTHESIS_HOME.cleanup()


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No test, nor any process that it starts, sees or changes the real user's state, keys or models."""
    state = tmp_path_factory.mktemp("state")
    for name in ("REGREEN_STATE_DIR", "REGREEN_CACHE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(state / name.lower()))
    for name in ("REGREEN_MODE", "REGREEN_SANDBOX", "REGREEN_PYTHON", "CLAUDE_PROJECT_DIR", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    of_models = ("ANTHROPIC_", "OPENAI_", "REGREEN_PROVIDER", "REGREEN_MODEL", "REGREEN_FALLBACK_MODEL")
    for name in [name for name in os.environ if name.startswith(of_models)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    yield state


@pytest.fixture
def few_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fix runs see a failing test twice, not five times: for modules in which no test is flaky."""
    from support.fixing import LOOKS

    from regreen.fix import baseline

    monkeypatch.setattr(baseline, "RUNS", LOOKS)
