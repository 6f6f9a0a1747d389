"""What every arc is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anbexact.classifiers import NetworkClassifier, RefittedClassifier
from anbexact.models.network.arc_strengths import ArcStrength, arc_strengths
from anbexact.show.report.facts import learned_network

if TYPE_CHECKING:
    import pandas as pd


def arc_report(classifier: NetworkClassifier | RefittedClassifier) -> pd.DataFrame:
    """Return what every arc of a network is worth in the rows that it was learned from.

    Parameters
    ----------
    classifier : NetworkClassifier or RefittedClassifier
        Fitted; of a refit, the network that it was made of.

    Returns
    -------
    DataFrame
        A row for every arc, in the order of ``structure_.edges``:

        - ``parent``, ``child``: its ends;
        - ``information``: conditional mutual information of the ends given the other parents of the child, in nats
          per row; NaN if the tables of the network were given;
        - ``gain``: the score of the child's family with the arc minus its score without it, total in nats; NaN for a
          score that cannot tell, and for measured columns.

    Raises
    ------
    TypeError
        If the classifier has no network.

    Examples
    --------
    >>> from anbexact import TANClassifier
    >>> from anbexact.datasets import load_monks
    >>> from anbexact.report import arc_report
    >>> report = arc_report(TANClassifier(ess=1.0).fit(*load_monks(1)))
    >>> report[report["parent"] != "is_monk"].nlargest(1, "information").round(2).to_dict("records")
    [{'parent': 'head_shape', 'child': 'body_shape', 'information': 0.32, 'gain': 114.43}]
    """
    import pandas as pd

    network = learned_network(classifier)
    if network is None:
        raise TypeError(f"{type(classifier).__name__} has no network and no arcs: pass a fitted network classifier")
    return pd.DataFrame(arc_strengths(network), columns=list(ArcStrength._fields))
