"""What a repository's source files define and use, kept in a database beside other caches and brought up to date.

The database is a cache: it may be deleted at any time, and whatever is wrong with it costs time only.
"""

from regreen.repo.index.index import Index
from regreen.repo.index.values import IndexLimits, Progress

__all__ = ["Index", "IndexLimits", "Progress"]
