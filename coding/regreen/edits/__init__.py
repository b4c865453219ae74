"""Edits proposed as text: read them, plan them in memory, show the diff, write all or none.

    parse(text) -> Parsed         a response's edits, or why it cannot be read
    plan(proposal, ws) -> EditPlan   every edit judged; the diff; a plan id
    commit(plan, journal) -> EditReport   exactly that plan, through the journal

Rule of the package: an edit lands in the one place that it names exactly, or nowhere. Nothing is ever written
because it looked similar.
"""

from regreen.edits.committing import commit, outdated
from regreen.edits.formats import FORMATS, known_formats, parse, prompt
from regreen.edits.parsed import Format, Parsed
from regreen.edits.planning import EditPlan, plan

__all__ = [
    "FORMATS",
    "EditPlan",
    "Format",
    "Parsed",
    "commit",
    "known_formats",
    "outdated",
    "parse",
    "plan",
    "prompt",
]
