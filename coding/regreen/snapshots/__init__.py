"""Snapshots of a work tree: recorded, compared, restored and released without touching what is the user's in git."""

from regreen.snapshots.effects import Mark, SideEffects
from regreen.snapshots.snapshots import Snapshots

__all__ = ["Mark", "SideEffects", "Snapshots"]
