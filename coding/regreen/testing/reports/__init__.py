"""Readers of the report formats that several runners write."""
