"""Real tables that scikit-learn and statsmodels ship, with readable names and declared states.

Both libraries are imported inside the functions, so that importing this module costs nothing.
"""

from itertools import pairwise
from typing import Any

import pandas as pd

from anbexact.datasets._tables import Table

_LEANINGS = (
    "extremely liberal",
    "liberal",
    "slightly liberal",
    "moderate",
    "slightly conservative",
    "conservative",
    "extremely conservative",
)
_PARTIES = (
    "strong Democrat",
    "weak Democrat",
    "independent Democrat",
    "independent",
    "independent Republican",
    "weak Republican",
    "strong Republican",
)
_EDUCATION = (
    "8 grades or less",
    "some high school",
    "high school",
    "some college",
    "community college degree",
    "bachelor's degree",
    "advanced degree",
)
_INCOME_FLOORS = (3, 5, 7, 9, 10, 11, 12, 13, 14, 15, 17, 20, 22, 25, 30, 35, 40, 45, 50, 60, 75, 90, 105)
_INCOME = (
    "under 3K",
    *(f"{low}K-{high}K" for low, high in pairwise(_INCOME_FLOORS)),
    "105K and over",
)
# The meaning of the codes of each column: the first state and its code in the shipped table.
_ANES96_STATES: dict[str, tuple[int, tuple[Any, ...]]] = {
    "TVnews": (0, tuple(range(8))),
    "selfLR": (1, _LEANINGS),
    "ClinLR": (1, _LEANINGS),
    "DoleLR": (1, _LEANINGS),
    "PID": (0, _PARTIES),
    "educ": (1, _EDUCATION),
    "income": (1, _INCOME),
}


def load_iris() -> Table:
    """Return Fisher's irises: 150 flowers, 4 measurements in cm, 3 species of 50.

    Returns
    -------
    X : DataFrame of shape (150, 4)
        Numeric columns such as sepal_length.
    y : Series of shape (150,), named "species"
        "setosa", "versicolor" or "virginica".

    References
    ----------
    Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. *Annals of Eugenics*
    7, 179-188; `sklearn.datasets.load_iris`.

    Examples
    --------
    >>> X, y = load_iris()
    >>> list(X.columns)
    ['sepal_length', 'sepal_width', 'petal_length', 'petal_width']
    """
    from sklearn.datasets import load_iris as load

    return _from_sklearn(load(as_frame=True), name="species")


def load_wine() -> Table:
    """Return 178 wines of one region, 13 chemical measurements, 3 cultivars (59, 71 and 48).

    Returns
    -------
    X : DataFrame of shape (178, 13)
        Numeric columns. scikit-learn's "od280/od315_of_diluted_wines" is here od280_od315.
    y : Series of shape (178,), named "cultivar"
        "class_0", "class_1" or "class_2": the source does not name the cultivars.

    References
    ----------
    Aeberhard, S. and Forina, M. (1991). Wine. UCI Machine Learning Repository, doi:10.24432/C5PC7J;
    `sklearn.datasets.load_wine`.

    Examples
    --------
    >>> X, y = load_wine()
    >>> X.shape, sorted(set(y))
    ((178, 13), ['class_0', 'class_1', 'class_2'])
    """
    from sklearn.datasets import load_wine as load

    return _from_sklearn(load(as_frame=True), name="cultivar")


def load_breast_cancer() -> Table:
    """Return 569 breast masses, 30 measurements of their cell nuclei, benign (357) or malignant (212).

    Returns
    -------
    X : DataFrame of shape (569, 30)
        Numeric columns: mean, standard error and worst value of ten measurements, such as mean_radius,
        radius_error and worst_radius.
    y : Series of shape (569,), named "diagnosis"
        "malignant" or "benign".

    References
    ----------
    Wolberg, W. et al. (1993). Breast Cancer Wisconsin (Diagnostic). UCI Machine Learning Repository,
    doi:10.24432/C5DW2B; `sklearn.datasets.load_breast_cancer`.

    Examples
    --------
    >>> X, y = load_breast_cancer()
    >>> y.value_counts().to_dict()
    {'benign': 357, 'malignant': 212}
    """
    from sklearn.datasets import load_breast_cancer as load

    return _from_sklearn(load(as_frame=True), name="diagnosis")


def load_anes96() -> Table:
    """Return 944 respondents of the American National Election Study of 1996 and their expected vote.

    Returns
    -------
    X : DataFrame of shape (944, 9)
        Two numeric columns: popul (inhabitants of the place, in thousands) and age (years). Seven
        ordered categorical ones: TVnews (days per week with television news, 0 to 7), selfLR, ClinLR
        and DoleLR (where respondents see themselves, Clinton and Dole, from extremely liberal to
        extremely conservative), PID (party identification, from strong Democrat to strong Republican),
        educ (education) and income (of the household, in thousands of dollars: 24 bands, upper end
        excluded).
    y : Series of shape (944,), named "vote"
        "Clinton" (551) or "Dole" (393).

    Notes
    -----
    The derived column logpopul is left out. The states are those of the statsmodels notes, except for the upper three
    of educ: there the notes say college, Master's and PhD, according to which 13 % of the respondents would have a
    PhD. The same rows in R's ``faraway::nes96`` are labelled CCdeg, BAdeg and MAdeg (community college, bachelor's,
    and master's or above); these labels are used here.

    References
    ----------
    `statsmodels.datasets.anes96`; American National Election Studies, https://electionstudies.org;
    Faraway, J. J. (2006). *Extending the Linear Model with R*, section 5.1. Chapman & Hall/CRC.

    Examples
    --------
    >>> X, y = load_anes96()
    >>> y.value_counts().to_dict()
    {'Clinton': 551, 'Dole': 393}
    >>> X["PID"].cat.categories[0]
    'strong Democrat'
    """
    from statsmodels.datasets import anes96

    raw = anes96.load_pandas().data
    X = raw.drop(columns=["vote", "logpopul"])
    for column, (first_code, states) in _ANES96_STATES.items():
        codes = raw[column].to_numpy().astype(int) - first_code
        X[column] = pd.Categorical.from_codes(codes, categories=pd.Index(states), ordered=True)
    return X, raw["vote"].map({0.0: "Clinton", 1.0: "Dole"})


def _from_sklearn(bunch: Any, *, name: str) -> Table:
    """Return a scikit-learn bunch with snake_case columns and its classes by name."""
    X = bunch.data.rename(columns=_snake_case)
    return X, pd.Series([str(bunch.target_names[code]) for code in bunch.target], name=name)


def _snake_case(column: str) -> str:
    plain = column.removesuffix(" (cm)").removesuffix("_of_diluted_wines")
    return plain.replace(" ", "_").replace("/", "_")
