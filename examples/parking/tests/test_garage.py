import pytest

from garage import Garage


def test_cars_fill_the_lowest_level_first():
    garage = Garage(1, 2)
    assert [garage.enter(p) for p in ("A", "B", "C")] == [0, 1, 1]


def test_full_garage_refuses_cars():
    garage = Garage(1)
    garage.enter("A")
    with pytest.raises(OverflowError):
        garage.enter("B")


def test_a_car_that_left_makes_room():
    garage = Garage(1)
    garage.enter("A")
    garage.leave("A")
    assert garage.enter("B") == 0


def test_unknown_car_cannot_leave():
    with pytest.raises(KeyError):
        Garage(1).leave("A")


def test_empty_garage_is_all_free():
    assert Garage(2, 3).free() == 5


def test_each_car_takes_a_place():
    garage = Garage(2, 3)
    garage.enter("A")
    garage.enter("B")
    assert garage.free() == 3


def test_sign_says_full():
    garage = Garage(1)
    garage.enter("A")
    assert garage.sign() == "FULL"


def test_sign_says_how_many():
    assert Garage(4).sign() == "4 free"
