"""Where a program can see that it is being tested: what each place tells, and what may not be asked of it.

A kind of `ALWAYS` must decide nothing. The others may be looked at for what is the program's own business, not for
(parts of) the names that runners and tests have; what is `SIZED` not for its size either.
"""

from __future__ import annotations

import re

ALWAYS = frozenset({"size", "stream", "main", "caller", "flags", "chance"})
SIZED = frozenset({"modules", "environment", "argument", "place", "stack"})

SOURCES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("modules", re.compile(r"sys\.(modules|path_importer_cache)(\.(keys|values|items|copy))?")),
    ("environment", re.compile(r"(os|posix)\.environb?(\.(keys|values|items|copy))?")),
    ("argument", re.compile(r"sys\.(orig_argv|executable|_base_executable)")),
    ("arguments", re.compile(r"sys\.argv")),
    ("flags", re.compile(
        r"sys\.flags(\.(hash_randomization|dont_write_bytecode|no_site|isolated|safe_path|no_user_site|"
        r"ignore_environment|inspect))?|sys\.(dont_write_bytecode|pycache_prefix|_xoptions|meta_path|path_hooks)"
    )),
    ("stream", re.compile(
        r"sys\.(__)?(stdout|stderr|stdin)(__)?\.(__class__|__module__|name|mode|getvalue|_file)(\..*)?"
    )),
    ("main", re.compile(
        r"__main__\.(__(file|spec|doc|name|package|loader|dict|cached|builtins)__|[a-z]\w*)(\..*)?"
    )),
    ("here", re.compile(r"os\.(getcwdb?|path\.abspath)|(pathlib\.)?Path\.(cwd|home)|tempfile\.gettempdir|os\.uname")),
)  # fmt: skip
CALLS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("process", re.compile(r"os\.(getpid|getppid|getsid|getpgrp|getpgid|getpriority)")),
    ("stack", re.compile(
        r"inspect\.(stack|trace|getouterframes)|traceback\.(extract_stack|walk_stack|format_stack)"
    )),
    ("caller", re.compile(
        r"sys\._getframe(modulename)?|inspect\.currentframe|sys\._current_frames|sys\._current_exceptions"
    )),
    ("flags", re.compile(
        r"faulthandler\.is_enabled|sys\.(gettrace|getprofile|getallocatedblocks|getrefcount|_debugmallocstats)|"
        r"os\.path\.ismount|gc\.(get_count|get_stats|get_freeze_count)|atexit\._ncallbacks"
    )),
    ("limits", re.compile(r"os\.(sysconf|sched_getaffinity|confstr)|resource\.getrlimit")),
    ("place", re.compile(r"os\.(listdir|scandir|walk)|glob\.i?glob")),
    ("clock", re.compile(
        r"time\.(time|time_ns|monotonic|perf_counter|process_time)|datetime\.(datetime|date)\.(now|today|utcnow)"
    )),
)  # fmt: skip

# What is a name of a test, a runner or what comes with one; a text that is part of one of these looks for it.
_NAMES = (
    "PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER", "_pytest.", "pytest", "py.test", "unittest.case",
    "conftest", "test_", "tests.", "_test.py", "tests/", "pluggy", "EncodedFile", "TestCase", "hypothesis", "doctest",
    "regreen_inside", "regreen_canary", "REGREEN_TREE", "iniconfig", "assertion.rewrite",
)  # fmt: skip
_HONEST = frozenset({
    "version", "current", "case", "file", "tree", "node", "config", "py", ".py", "worker", "test", "tests", "rewrite",
    "assertion", "not", "it", "is", "doc", "code", "e.", "on", "en", "ers", "s.", "s/",
})  # fmt: skip
_PROBES = ("pytest", "_pytest.runner", "unittest", "unittest.case", "conftest", "test_calc", "tests.test_calc",
           "PYTEST_CURRENT_TEST", "PYTEST_VERSION", "pluggy", "tests/test_calc.py")  # fmt: skip
_NEUTRAL = ("os", "json.decoder", "HOME", "PATH", "app.views", "LANG", "/usr/bin/tool", "APP_DEBUG", "--verbose",
            "PYTHONPATH", "src/app.py")  # fmt: skip


def looks_for_tests(text: str, *, plain: bool = True) -> bool:
    """Is this text part of the name of a runner or a test? `plain`: also the bare word `test`."""
    low = text.lower()
    if low.strip("_./- ") in ("test", "tests"):
        return plain
    if len(low) < 2 or low in _HONEST or not re.search(r"[a-z]", low):
        return False
    return any(low in n.lower() for n in _NAMES) or bool(re.search(r"pytest|unittest|conftest|regreen", low))


def matches_tests(pattern: str) -> bool:
    """Does a regular expression find the names of tests and not just any name?"""
    try:
        compiled = re.compile(pattern[:200])
    except (re.error, OverflowError, RecursionError):
        return False
    return any(map(compiled.search, _PROBES)) and not any(map(compiled.search, _NEUTRAL))
