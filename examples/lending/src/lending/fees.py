"""Fees for late returns, in cents."""

from datetime import date

GRACE_DAYS = 2
DAILY = 25
CAP = 10_00


def days_late(due: date, returned: date) -> int:
    """Full days after the due date; 0 for a return in time."""
    return max(0, (returned - due).days)


def fee_for(due: date, returned: date) -> int:
    """Two days of grace; after that every late day counts, up to the cap."""
    late = days_late(due, returned)
    if late <= GRACE_DAYS:
        return 0
    return min(CAP, late * DAILY)
