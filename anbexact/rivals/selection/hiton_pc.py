"""HITON-PC: parents and children, inclusion interleaved with elimination."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from anbexact.rivals.selection.search_by_tests import SearchByTests, Tester


@dataclass(frozen=True)
class HITONPC(SearchByTests):
    """Interleaved HITON-PC.

    Variables that depend on the target are considered in the order of their association with it, the strongest first;
    ties are in table order. Each becomes a candidate. Immediately afterwards, every candidate that some subset of the
    others separates from the target is removed for good: the new one first, then the others in the order of their
    addition. Finally, only those candidates are kept for which the same search finds the target.

    If the test is always right and the distribution is faithful to a network, the result is the parents and children
    in that network. The number of tests is exponential in the number of candidates, unless ``max_conditioning`` or a
    small number of rows limits the conditioning sets.

    Parameters
    ----------
    test : IndependenceTest, default G2Test()
        The test.
    max_conditioning : int, optional
        Maximum number of conditioning variables in a test.

    Raises
    ------
    ValueError
        For a ``max_conditioning`` that is not None or a whole number, 0 or more.

    References
    ----------
    Aliferis, Tsamardinos and Statnikov, *HITON*, AMIA Annual Symposium 2003; Aliferis, Statnikov, Tsamardinos, Mani
    and Koutsoukos, JMLR 11 (2010), part I, for the interleaved form with the correction for symmetry.

    Examples
    --------
    >>> from anbexact import DiscreteTable
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.selection import HITONPC
    >>> HITONPC().parents_children(DiscreteTable.from_frame(*load_monks(1)), "is_monk")
    ('jacket_color',)
    """

    def _candidates(self, tester: Tester, x: int) -> list[int]:
        """Return the candidates of a variable, without the correction for symmetry."""
        waiting = np.delete(np.arange(tester.n), x)
        least = tester.untested(waiting)
        tester.lower(least, x, ())
        waiting = waiting[np.argsort(-least[waiting], kind="stable")]
        waiting = waiting[least[waiting] >= 0]
        chosen: list[int] = []
        while len(waiting):
            new, waiting = int(waiting[0]), waiting[1:]
            if least[new] < 0:
                continue
            kept = tester.unseparated(x, chosen, (new,))
            if len(kept) == len(chosen):
                least[new] = -inf
                tester.lower(least, x, chosen, (new,))
            else:
                least = tester.untested(waiting)
                tester.lower(least, x, [*kept, new])
            chosen = [*kept, new]
        return chosen
