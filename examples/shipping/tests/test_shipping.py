import pytest

from shipping import BASE, HEAVY_SURCHARGE, ISLAND_SURCHARGE, is_island, missing_for_free, shipping, surcharge

CITY = "10115"
ISLAND = "27498"


def test_small_order_pays_the_base_price():
    assert shipping(12_00, 800, CITY) == BASE


def test_large_order_ships_free():
    assert shipping(80_00, 800, CITY) == 0


def test_order_of_exactly_fifty_ships_free():
    assert shipping(50_00, 800, CITY) == 0


def test_free_shipping_begins_where_nothing_is_missing():
    total = 42_50
    total += missing_for_free(total)
    assert shipping(total, 500, CITY) == 0


def test_one_cent_less_is_not_free():
    assert shipping(49_99, 800, CITY) == BASE


def test_heavy_parcel_costs_more():
    assert surcharge(10_001, CITY) == HEAVY_SURCHARGE


def test_ten_kilograms_are_not_heavy():
    assert surcharge(10_000, CITY) == 0


def test_island_surcharge_is_due_even_when_shipping_is_free():
    assert shipping(80_00, 800, ISLAND) == ISLAND_SURCHARGE


@pytest.mark.parametrize("postcode, expected", [("18565", True), (" 26548", True), ("10115", False)])
def test_islands(postcode, expected):
    assert is_island(postcode) is expected


def test_weightless_order_is_refused():
    with pytest.raises(ValueError):
        shipping(10_00, 0, CITY)
