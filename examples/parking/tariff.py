"""What a car park charges, in cents."""

FREE_MINUTES = 15
PER_HOUR = 2_00
DAY_MAX = 18_00
MINUTES_A_DAY = 24 * 60


def started_hours(minutes: int) -> int:
    """Every hour that was begun counts in full."""
    return (minutes + 60) // 60


def charge(minutes: int) -> int:
    """The price of a stay. The first quarter of an hour is free, a day never costs more than its maximum."""
    if minutes < 0:
        raise ValueError("a stay cannot be negative")
    if minutes <= FREE_MINUTES:
        return 0
    days, rest = divmod(minutes, MINUTES_A_DAY)
    return days * DAY_MAX + min(DAY_MAX, started_hours(rest) * PER_HOUR)
