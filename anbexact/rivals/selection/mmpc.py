"""MMPC: max-min parents and children."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from anbexact.rivals.selection.search_by_tests import SearchByTests, Tester


@dataclass(frozen=True)
class MMPC(SearchByTests):
    """Max-min parents and children.

    Candidates are added one by one. The next candidate is the variable whose smallest association with the target,
    given any subset of the candidates so far, is the largest; ties go to the first in table order. Variables that
    some subset separates from the target are never considered again. Then each candidate that some subset of the
    others separates is removed, in the order of their addition. Finally, only those candidates are kept for which the
    same search finds the target.

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
    Tsamardinos, Brown and Aliferis, *The max-min hill-climbing Bayesian network structure learning algorithm*,
    Machine Learning 65 (2006).

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.selection import MMPC
    >>> MMPC().parents_children(DiscreteTable.from_frame(*load_monks(1)), "is_monk")
    ('jacket_color',)
    """

    def _candidates(self, tester: Tester, x: int) -> list[int]:
        """Return the candidates of a variable, without the correction for symmetry."""
        chosen: list[int] = []
        least = tester.untested(np.delete(np.arange(tester.n), x))
        tester.lower(least, x, ())
        while (least >= 0).any():
            best = int(least.argmax())
            least[best] = -inf
            tester.lower(least, x, chosen, (best,))
            chosen.append(best)
        return tester.unseparated(x, chosen)
