"""The search for parents and children of PCMB."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from anbexact.rivals.selection.search_by_tests import SearchByTests, Tester


@dataclass(frozen=True)
class PCMB(SearchByTests):
    """The parents and children (GetPC) of the Markov boundary search PCMB.

    In each round, variables that some subset of the candidates separates from the target are dropped for good. Among
    the others, the variable whose smallest association given any subset is the largest becomes a candidate (ties go
    to the first in table order). Then all candidates that some subset of the others separates are removed at once.
    Finally, only those candidates are kept for which the same search finds the target.

    If the test is always right and the distribution is faithful to a network, the result is the parents and children
    in that network. The number of tests is exponential in the number of candidates, unless ``max_conditioning`` or a
    small number of rows limits the conditioning sets.

    Parameters
    ----------
    test : IndependenceTest, default G2Test()
        The test, whose association is maximised.
    max_conditioning : int, optional
        Maximum number of conditioning variables in a test.

    Raises
    ------
    ValueError
        For a ``max_conditioning`` that is not None or a whole number, 0 or more.

    References
    ----------
    Peña, Nilsson, Björkegren and Tegnér, *Towards scalable and data efficient learning of Markov boundaries*,
    International Journal of Approximate Reasoning 45 (2007), section 4.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.selection import PCMB
    >>> PCMB().parents_children(DiscreteTable.from_frame(*load_monks(1)), "is_monk")
    ('jacket_color',)
    """

    def _candidates(self, tester: Tester, x: int) -> list[int]:
        """Return the candidates of a variable (GetPCD), without the correction for symmetry."""
        chosen: list[int] = []
        left = np.delete(np.arange(tester.n), x)
        least = tester.untested(left)
        tester.lower(least, x, ())
        while (least >= 0).any():
            best = int(least.argmax())
            left = np.flatnonzero(least >= 0)
            left = left[left != best]
            of_chosen = tester.untested(chosen)
            tester.lower(of_chosen, x, chosen, (best,))
            kept = [y for y in chosen if of_chosen[y] >= 0]
            if len(kept) == len(chosen):
                least[best] = -inf
                tester.lower(least, x, chosen, (best,))
            else:
                least = tester.untested(left)
                tester.lower(least, x, [*kept, best])
            chosen = [*kept, best]
        return chosen
