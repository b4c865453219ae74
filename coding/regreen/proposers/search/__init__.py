"""Repair without a model: suspicious statements x edit templates, tried by the hundred in forks of one test session."""

from regreen.proposers.search.proposer import SearchProgress, SearchProposer, localise

__all__ = ["SearchProgress", "SearchProposer", "localise"]
