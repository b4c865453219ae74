from datetime import date

import pytest

from lending import fee_for

DUE = date(2024, 3, 22)


@pytest.mark.parametrize("day, fee", [(20, 0), (22, 0), (24, 0), (25, 75), (29, 175)])
def test_fee_by_day_of_return(day, fee):
    assert fee_for(DUE, date(2024, 3, day)) == fee


def test_fee_is_capped():
    assert fee_for(DUE, date(2025, 3, 22)) == 1000
