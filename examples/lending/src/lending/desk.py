"""Who has which book, and until when."""

from dataclasses import dataclass, field
from datetime import date, timedelta

from lending.fees import fee_for

LOAN_DAYS = 21
MAX_LOANS = 3


@dataclass
class Loan:
    """One book in one reader's hands."""

    book: str
    reader: str
    due: date


@dataclass
class Desk:
    """Lends books and takes them back."""

    loans: dict[str, Loan] = field(default_factory=dict)
    fees: dict[str, int] = field(default_factory=dict)
    reserved: dict[str, str] = field(default_factory=dict)

    def lend(self, book: str, reader: str, today: date) -> Loan:
        """Hand out a book. Raises ValueError where the rules forbid it."""
        if book in self.loans:
            raise ValueError(f"{book} is lent out")
        if len(self.held_by(reader)) >= MAX_LOANS:
            raise ValueError(f"{reader} has enough books")
        if self.reserved.get(book, reader) != reader:
            raise ValueError(f"{book} is reserved")
        self.reserved.pop(book, None)
        loan = Loan(book, reader, today + timedelta(days=LOAN_DAYS))
        self.loans[book] = loan
        return loan

    def take_back(self, book: str, today: date) -> int:
        """Take a book back; returns the fee, which is also put on the reader's account."""
        loan = self.loans.pop(book)
        fee = fee_for(loan.due, today)
        if fee:
            self.fees[loan.book] = self.fees.get(loan.reader, 0) + fee
        return fee

    def renew(self, book: str, today: date) -> date:
        """Start the loan period again, unless somebody waits for the book."""
        if book in self.reserved:
            raise ValueError(f"{book} is reserved")
        loan = self.loans[book]
        loan.due = max(loan.due, today + timedelta(days=LOAN_DAYS))
        return loan.due

    def held_by(self, reader: str) -> list[str]:
        """The books that a reader has, in alphabetical order."""
        return sorted(loan.book for loan in self.loans.values() if loan.reader == reader)
