"""Signs in changed test files, and in tests that stand inside other files."""

from __future__ import annotations

from regreen.fix.tamper import other_tests, python_code, python_tests
from regreen.fix.tamper.parsing import parsed
from regreen.fix.tamper.source_text import language_of
from regreen.fix.tamper.values import Sign, TextChange, added
from regreen.model import TamperPolicy

_ACTIVE = frozenset({
    "patches_runner", "replaces_builtins", "hooks_interpreter", "reaches_into_interpreter", "replaces_module",
    "patches_library", "ends_process", "hooks_runner", "reaches_reporter", "hooks_exit",
})  # fmt: skip


def changed(change: TextChange) -> list[Sign]:
    """What became of the tests of a file that were there."""
    if change.before is None:
        return []
    if change.after is None:
        return [Sign("removes_test", 0, "")]
    if language_of(change.path) == "python":
        old, new = parsed(change.before), parsed(change.after)
        if new is None:
            return [Sign("breaks_test_file", 0, "")]
        return _once(python_tests.changed(old, new)) if old is not None else []
    if language_of(change.path):
        return other_tests.changed(change.path, change.before, change.after)
    return [Sign("changes_test_data", 0, "")] if change.before != change.after else []


def additions(change: TextChange) -> list[Sign]:
    """What is not a mere addition: under the policy that allows new tests and leaves the old ones alone."""
    found = changed(change)
    if change.after is None:
        return found
    name = change.path.rpartition("/")[2]
    language = language_of(change.path)
    if language == "python":
        return found + _python_additions(change, name)
    if change.before is None and language:
        lines = other_tests.changed(change.path, "", change.after)
        return found + [s for s in lines if s.cheat == "stops_run"]
    return found


def _python_additions(change: TextChange, name: str) -> list[Sign]:
    tree, old = parsed(change.after or ""), parsed(change.before or "")
    if tree is None:
        return [Sign("breaks_test_file", 0, "")]
    before = old if change.before is not None else None
    found = python_tests.influences(before, tree) + python_tests.added_stoppers(change.path, before, tree)
    if change.before is None and not (name.startswith("test_") or name.endswith("_test.py")):
        found.append(Sign("influences_tests", 0, name))  # it may stand in front of the module of this name
    old_signs = python_code.signs_in(change.path, old) if old is not None else []
    fresh = added(old_signs, python_code.signs_in(change.path, tree))
    return _once(found + [s for s in fresh if s.cheat in _ACTIVE and s.weight == "refuse"])


def stoppers(change: TextChange) -> list[Sign]:
    """What keeps tests from running, or ends the run: refused under every policy."""
    if change.after is None or not language_of(change.path):
        return []
    if language_of(change.path) == "python":
        tree, old = parsed(change.after), parsed(change.before) if change.before is not None else None
        return _once(python_tests.added_stoppers(change.path, old, tree)) if tree is not None else []
    before = other_tests.stoppers(change.path, change.before or "")
    return added(before, other_tests.stoppers(change.path, change.after))


def inline(change: TextChange, policy: TamperPolicy) -> list[Sign]:
    """The tests inside a Rust source file: the same rules as for test files."""
    if language_of(change.path) != "rust" or change.before is None:
        return []
    old, new = other_tests.rust_tests(change.before), other_tests.rust_tests(change.after or "")
    if old == new or not old:
        return []
    if policy == "editable":
        return added(other_tests.stoppers(change.path, old), other_tests.stoppers(change.path, new))
    found = other_tests.changed(change.path, old, new)
    same = other_tests.lines_of(change.path, old) == other_tests.lines_of(change.path, new)
    return found or ([Sign("changes_test", 0, "")] if policy == "readonly" and not same else [])


def _once(signs: list[Sign]) -> list[Sign]:
    return list(dict.fromkeys(signs))
