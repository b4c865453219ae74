"""Part of the fork server: what a forked run tells beside its results. Standard library and pytest; Python 3.8."""

# ruff: noqa: PTH119
from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from regreen.testing.inside import regreen_common as common
    from regreen.testing.inside import regreen_inside as inside
    from regreen.testing.warm.inside import regreen_covered as covered
    from regreen.testing.warm.inside import regreen_preload as preloading
else:
    import regreen_covered as covered
    import regreen_preload as preloading


class Learner:
    """Tells, once the tests are collected, what the process had to import for that and what stands in the way."""

    def __init__(self, channel: common.Channel, zygote: preloading.Zygote, *, learn: bool) -> None:
        self.channel, self.zygote, self.learn = channel, zygote, learn
        self.environ = dict(os.environ)
        self.ran: frozenset[str] = frozenset()

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> None:
        hook: Any = getattr(early_config.pluginmanager, "rewrite_hook", None)
        marked: Any = getattr(hook, "_must_rewrite", None)
        if isinstance(marked, set):
            cast("set[str]", marked).update(self.zygote.marked)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        fresh = [m for n, m in list(sys.modules.items()) if n not in self.zygote.modules]
        files = (getattr(m, "__file__", None) for m in fresh)
        told: dict[str, Any] = {
            "conftests": sorted(f for f in files if isinstance(f, str) and os.path.basename(f) == "conftest.py"),
            "shadowed": self.zygote.shadowed(),
        }
        if self.learn:
            told.update(self.imported(frozenset()))
        self.channel.send("loaded", **told)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, Any, None]:
        yield
        self.ran = frozenset(sys.modules)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """What plugins import after the tests; what the tests themselves import stays with them."""
        if self.learn and self.ran:
            self.channel.send("loaded", **self.imported(self.ran))

    def imported(self, known: frozenset[str]) -> dict[str, Any]:
        names: list[str] = []
        rewritten: list[str] = []
        for name, module in list(sys.modules.items()):
            origin = getattr(getattr(module, "__spec__", None), "origin", None) or ""
            if name in known or getattr(module, "__name__", "") != name or name in ("__main__", "__mp_main__"):
                continue
            if origin == "built-in" or preloading.installed(origin):
                names.append(name)
                if type(getattr(module, "__loader__", None)).__name__ == "AssertionRewritingHook":
                    rewritten.append(name)
        environ = {k: v for k, v in os.environ.items() if self.environ.get(k) != v and not k.startswith("PYTEST_")}
        return {"names": names, "rewritten": rewritten, "path": list(sys.path), "environ": environ}


def plugins(told: inside.Plugin, job: dict[str, Any], zygote: preloading.Zygote) -> list[Any]:
    """What joins the session besides the plugin that tells its results."""
    found: list[Any] = [Learner(told.channel, zygote, learn=job["learn"])]
    if job["cover"]:
        found.append(covered.Plugin(told, job["root"]))
    return found
