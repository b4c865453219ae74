from datetime import date, timedelta

import pytest

from lending import Desk


@pytest.fixture
def today():
    return date(2024, 3, 1)


@pytest.fixture
def later(today):
    def shift(days):
        return today + timedelta(days=days)

    return shift


@pytest.fixture
def desk(today):
    desk = Desk()
    desk.lend("Middlemarch", "ada", today)
    desk.lend("Persuasion", "ada", today)
    desk.lend("Emma", "grace", today)
    return desk
