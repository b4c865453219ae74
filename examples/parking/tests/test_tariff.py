import pytest

from tariff import charge, started_hours


@pytest.mark.parametrize("minutes, hours", [(1, 1), (59, 1), (61, 2), (150, 3)])
def test_begun_hours_count(minutes, hours):
    assert started_hours(minutes) == hours


def test_a_full_hour_is_one_hour():
    assert started_hours(60) == 1


def test_short_stop_is_free():
    assert charge(15) == 0


def test_two_hours_exactly():
    assert charge(120) == 400


def test_a_day_has_a_maximum():
    assert charge(14 * 60) == 1800


def test_one_day_and_a_half():
    assert charge(36 * 60) == 3600


def test_two_days_exactly():
    assert charge(48 * 60) == 3600


def test_negative_stay_is_refused():
    with pytest.raises(ValueError):
        charge(-1)
