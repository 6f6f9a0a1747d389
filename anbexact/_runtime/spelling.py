"""Comparison of names regardless of spelling."""

from __future__ import annotations

import re


def letters(name: str) -> str:
    """Return a name in lower case, without blanks, hyphens and underscores, so that all its spellings agree.

    Examples
    --------
    >>> letters("GBN-BDeu"), letters("gbn bdeu")
    ('gbnbdeu', 'gbnbdeu')
    """
    return re.sub(r"[\s_-]", "", name).lower()
