"""Ids as a person types them: the beginning of one will do, where only one begins so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regreen.errors import UsageError

if TYPE_CHECKING:
    from regreen.store import Store

_KINDS = ("job-", "txn-", "snap-")
_SHOWN_NAMES = 5
_IDS = """
SELECT id FROM runs WHERE repo = ?1 UNION SELECT id FROM transactions WHERE repo = ?1
UNION SELECT id FROM snapshots WHERE repo = ?1 ORDER BY id
"""


def full_id(store: Store, repo: str, typed: str, *, bare: bool) -> str:
    """The run, transaction or snapshot of this repository (its key) that `typed` means. What means none stays as it is:
    the engine says what is wrong with it. `bare`: the kind may be left out. Raises UsageError for several."""
    if not typed or not (bare or typed.startswith(_KINDS)):
        return typed
    ids: list[str] = [row["id"] for row in store.rows(_IDS, repo)]
    begins = (typed, *(f"{kind}{typed}" for kind in _KINDS)) if bare else typed
    found = [i for i in ids if i == typed] or [i for i in ids if i.startswith(begins)]
    if len(found) > 1:
        named = ", ".join(found[:_SHOWN_NAMES]) + (" and more" if len(found) > _SHOWN_NAMES else "")
        raise UsageError("not_found", f"{typed!r} may be any of {len(found)}: {named}", "give more of its id")
    return found[0] if found else typed
