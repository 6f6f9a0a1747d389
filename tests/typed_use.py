"""What a user's program looks like to a type checker: `make types` checks it strictly, and pytest does not run it."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from anbexact import ANBClassifier, Certificate, DiscreteTable, Structure, learn_anb, load
from anbexact.adapters import LogitModel, to_logit
from anbexact.datasets import load_iris


def learn(rows: pd.DataFrame, classes: "pd.Series[str]") -> ANBClassifier:
    return ANBClassifier(max_parents=2, ess=1.0).fit(rows, classes)


def main(path: Path) -> tuple[npt.NDArray[np.float64], Structure]:
    X, y = load_iris()
    classifier = learn(X, y)
    certificate: Certificate = classifier.structure_.certificate
    print(certificate, classifier.explain(X[:1])[0])
    classifier.save(path)
    proba: npt.NDArray[np.float64] = load(path).predict_proba(X)
    logit: LogitModel = to_logit(classifier)
    print(logit.classes_)
    table = DiscreteTable.from_frame(pd.DataFrame({"a": ["x", "y"]}), pd.Series(["p", "q"]))
    return proba, learn_anb(table)
