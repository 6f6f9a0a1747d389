"""The numbers of joint states that sets of parents can have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anbexact._kernels.candidates import fill_following
from anbexact._runtime.arrays import Floats

Counted = tuple[tuple[int, int], ...]
MOST_JOINT_STATES = 1e280
"""Maximum number of joint states of parents that is tracked; beyond, numbers would overflow."""
MOST_CONFIGURATION_COUNTS = 1 << 20
"""Maximum number of distinct numbers of parent configurations that are tracked."""


@dataclass(frozen=True)
class Configurations:
    """The numbers q of joint states that parent sets can have, smaller sets first, and what depends only on q.

    Attributes
    ----------
    following : (numbers, distinct numbers of states) int32
        The number q of a set with one more parent, by the number of states of this parent; -1 if there is none.
    largest : int
        Size of the largest sets that are tracked.
    child_parameter, parameter, penalty : (numbers,) float64
        Parameters of the cells of the child with its parents, and of the parents alone; penalty of the local score.
    next_parameter, next_penalty : (numbers,) float64
        Greatest parameter of the parents, and least penalty, with one parent more.
    """

    following: npt.NDArray[np.int32]
    largest: int
    child_parameter: Floats
    parameter: Floats
    penalty: Floats
    next_parameter: Floats
    next_penalty: Floats


def configurations(counted: Counted, base: float, last_size: int) -> tuple[int, Floats, npt.NDArray[np.int32]]:
    """Return the size, at most ``last_size``, up to which sets of parents are tracked, all their q, and the next q.

    Parameters
    ----------
    counted : tuple of (number of states, how many parents have it)
        Of all possible parents.
    base : float
        The q of the empty set.

    Returns
    -------
    largest, q, following
        See :class:`Configurations`. Sets of equal counts of parents with each number of states have one q.
    """
    states, most = np.array(counted, np.int64).reshape(-1, 2).T
    kinds = np.arange(len(counted))
    q, following = [np.array([base])], []
    parent, last, times = np.zeros((3, 1), np.int64)
    began, end, size = 0, 1, 0
    while size <= last_size:
        # Every set is made once, from the set without one of the parents of its last kind.
        makes = (kinds > last[:, None]) | ((kinds == last[:, None]) & (times[:, None] < most))
        source, kind = np.nonzero(makes)
        own = np.full(makes.shape, -1, np.int32)
        following.append(own)
        too_large = len(source) and (q[-1].max() * states.max()) > MOST_JOINT_STATES
        if size == last_size or end + len(source) > MOST_CONFIGURATION_COUNTS or too_large:
            break
        own[source, kind] = np.arange(end, end + len(source))
        if size:
            fill_following(parent, last, following[-2], began, own)
        q.append(q[-1][source] * states[kind])
        times = np.where(kind == last[source], times[source], 0) + 1
        parent, last = source, kind
        began, end, size = end, end + len(source), size + 1
    return size, np.concatenate(q), np.concatenate(following)
