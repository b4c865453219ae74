"""Shipping costs of an online shop, in cents."""

FREE_FROM = 50_00
BASE = 3_90
HEAVY_GRAMS = 10_000
HEAVY_SURCHARGE = 4_50
ISLAND_SURCHARGE = 8_00
ISLAND_PREFIXES = ("18565", "25849", "26548", "27498")


def is_island(postcode: str) -> bool:
    """Whether the parcel has to take a ferry."""
    return postcode.strip().startswith(ISLAND_PREFIXES)


def surcharge(grams: int, postcode: str) -> int:
    """What comes on top, also for orders that ship free."""
    extra = 0
    if grams > HEAVY_GRAMS:
        extra += HEAVY_SURCHARGE
    if is_island(postcode):
        extra += ISLAND_SURCHARGE
    return extra


def shipping(total: int, grams: int, postcode: str) -> int:
    """Cost of sending an order worth `total`; orders of 50.00 and more ship free."""
    if total < 0 or grams <= 0:
        raise ValueError("an order has a value and a weight")
    base = 0 if total > FREE_FROM else BASE
    return base + surcharge(grams, postcode)


def missing_for_free(total: int) -> int:
    """How much more to buy until shipping is free; 0 when it already is."""
    return max(0, FREE_FROM - total)
