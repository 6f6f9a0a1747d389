"""Deadlines that are watched: a search that keeps its limit hardly looks at the clock once the time is up."""

from anbexact._runtime.deadline import Deadline


class Watched(Deadline):
    """A deadline that counts the looks at it, also through deadlines within it, once it has passed."""

    late = 0

    @property
    def left(self):
        left = super().left
        self.late += left <= 0
        return left


def watch(monkeypatch, module):
    """Let a module set watched deadlines; they are added to the list that is returned."""
    deadlines = []

    def watched(seconds=None):
        deadlines.append(Watched(seconds))
        return deadlines[-1]

    monkeypatch.setattr(module, "Deadline", watched)
    return deadlines
