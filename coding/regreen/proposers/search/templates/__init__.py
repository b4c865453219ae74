"""The table of edit templates: a new kind of repair is a function in one of these modules and a row in its table."""

from regreen.proposers.search.templates import (
    calls,
    conditions,
    constants,
    errors,
    guards,
    names,
    operators,
    slices,
    statements,
    strings,
)
from regreen.proposers.search.templates.table import Template

TEMPLATES: tuple[Template, ...] = (
    *errors.TABLE,
    *operators.TABLE,
    *conditions.TABLE,
    *constants.TABLE,
    *names.TABLE,
    *calls.TABLE,
    *slices.TABLE,
    *strings.TABLE,
    *statements.TABLE,
    *guards.TABLE,
)

__all__ = ["TEMPLATES", "Template"]
