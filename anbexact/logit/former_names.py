"""Former names of a logistic regression's answers, until version 0.3."""

from __future__ import annotations

from abc import ABC, abstractmethod

from anbexact._runtime.warn import warn


class FormerNames(ABC):
    """Answers by their former names, with a DeprecationWarning."""

    @property
    @abstractmethod
    def equivalence_report(self) -> str:
        """Why the network is, or is not, equivalent to the logistic regression."""

    @property
    @abstractmethod
    def separated_terms(self) -> list[str]:
        """What goes to infinity if the classes are separated."""

    @property
    @abstractmethod
    def convergence_message(self) -> str:
        """The reason why the fit is not as requested."""

    @property
    def why(self) -> str:
        """Former name of ``equivalence_report``, until version 0.3."""
        warn("LogitModel.why is now equivalence_report", DeprecationWarning)
        return self.equivalence_report

    def diverging(self) -> list[str]:
        """Return ``separated_terms``, of which this is the former name, until version 0.3."""
        warn("LogitModel.diverging() is now separated_terms", DeprecationWarning)
        return self.separated_terms

    def complaint(self) -> str:
        """Return ``convergence_message``, of which this is the former name, until version 0.3."""
        warn("LogitModel.complaint() is now convergence_message", DeprecationWarning)
        return self.convergence_message
