"""The time that a comparison may take."""

from __future__ import annotations

from anbexact._runtime.deadline import Deadline


class Budget:
    """A number of seconds from now on, and what is known about how long models take.

    Parameters
    ----------
    limit : float, optional
        The seconds; None for no limit.

    Raises
    ------
    ValueError
        If there are no seconds.
    """

    def __init__(self, limit: float | None = None) -> None:
        if limit is not None and not limit > 0:
            raise ValueError(f"time_limit must be a number of seconds above 0, or None, not {limit!r}")
        self.limit = limit
        self._deadline = Deadline(limit)
        self._longest: dict[str, float] = {}

    @property
    def left(self) -> float:
        """Seconds that are left; 0 if there are none, infinite without a limit."""
        return self._deadline.left

    def knows(self, name: str) -> bool:
        """Whether a fold of a model has ended."""
        return name in self._longest

    def took(self, name: str, seconds: float) -> None:
        """Remember how long a fold of a model took."""
        self._longest[name] = max(seconds, self._longest.get(name, 0.0))

    def refusal(self, name: str, expected: float = 0.0) -> str:
        """Return why a fold of a model is not begun; empty if it would end in time.

        It is taken to last as long as the longest fold of the model so far, or else as ``expected``.
        """
        needed, left = max(self._longest.get(name, 0.0), expected), self.left
        if left > needed:
            return ""
        of_limit = f"of the time limit of {self.limit:.3g} s"
        if left <= 0 or not needed:
            return f"nothing was left {of_limit}"
        return f"a fold takes about {needed:.2g} s, and {left:.2g} s {of_limit} were left"
