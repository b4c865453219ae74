from datetime import date

import pytest


def test_books_are_due_after_three_weeks(desk):
    assert desk.loans["Emma"].due == date(2024, 3, 22)


def test_a_lent_book_cannot_be_lent_again(desk, today):
    with pytest.raises(ValueError, match="lent out"):
        desk.lend("Emma", "ada", today)


def test_a_reader_may_hold_three_books(desk, today):
    desk.lend("Villette", "ada", today)
    with pytest.raises(ValueError, match="enough"):
        desk.lend("Shirley", "ada", today)


def test_held_books_are_sorted(desk):
    assert desk.held_by("ada") == ["Middlemarch", "Persuasion"]


def test_return_in_time_costs_nothing(desk, later):
    assert desk.take_back("Emma", later(21)) == 0
    assert desk.fees == {}


def test_late_return_is_put_on_the_readers_account(desk, later):
    assert desk.take_back("Emma", later(25)) == 100
    assert desk.fees == {"grace": 100}


def test_fees_of_one_reader_add_up(desk, later):
    desk.take_back("Middlemarch", later(25))
    desk.take_back("Persuasion", later(26))
    assert desk.fees["ada"] == 225


def test_reserved_book_is_kept_for_its_reader(desk, later):
    desk.take_back("Emma", later(3))
    desk.reserved["Emma"] = "ada"
    with pytest.raises(ValueError, match="reserved"):
        desk.lend("Emma", "grace", later(4))
    assert desk.lend("Emma", "ada", later(4)).reader == "ada"


def test_renewal_starts_the_period_again(desk, later):
    assert desk.renew("Emma", later(10)) == later(31)
