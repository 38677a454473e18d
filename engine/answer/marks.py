"""Marks on a model's fields that say how far reading an answer may go with them."""

from __future__ import annotations


class Exact:
    """A number in quotes stays what it is: the definition's `mend` knows what it may mean."""


class NeverNull:
    """The field may be left out but not null; a null of a model means that it left it out."""
