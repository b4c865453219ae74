"""What a client carries from one call to the next for a server: the secret it is sealed with, and that it counts once.
Both belong to the state folder, so that they are the same for every process on it.
"""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regreen.store import Store

_KEY = "approvals.key"
_KEY_BYTES = 32


def seal_key(store: Store) -> bytes:
    """The secret of a state folder, made at its first use; anew where somebody has cut it short."""
    path = store.folder / _KEY
    with store.lock("approvals"):
        key = path.read_bytes() if path.exists() else b""
        return key if len(key) == _KEY_BYTES else _made(path)


def take_seal(store: Store, nonce: str, good_s: float) -> bool:
    """Does what was sealed with this nonce count? The first time only; for so many seconds that is remembered."""
    now = time.time()
    with store.transaction() as db:
        db.execute("DELETE FROM taken_seals WHERE until < ?", (now,))
        return db.execute("INSERT OR IGNORE INTO taken_seals VALUES (?, ?)", (nonce, now + good_s)).rowcount == 1


def _made(path: Path) -> bytes:
    key = secrets.token_bytes(_KEY_BYTES)
    whole = path.with_suffix(".new")  # a process that dies in the middle leaves no half key under the name
    with os.fdopen(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(key)
    whole.replace(path)
    return key
