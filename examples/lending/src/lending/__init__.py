"""The lending desk of a small library."""

from lending.desk import Desk, Loan
from lending.fees import fee_for

__all__ = ["Desk", "Loan", "fee_for"]
