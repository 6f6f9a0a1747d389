"""How equivalent sample sizes should be chosen where rows are few: log loss by the way of choosing.

Ten-fold cross-validation, twice, over the tables of ``../shared/data`` with up to 1,500 rows and 16 features, columns
cut by MDLP. In every fold, from the training rows alone, structures are learned for an equivalent sample size of 1
and for that of the highest marginal likelihood (ML), and the tables are smoothed

- as the structure is scored (``alike``);
- as predicts every row best from the others, the structure being that of all rows (``LOO``);
- as predicts rows best that are held out in five folds in which the structure is learned again (``CV``).

``CV of both`` also takes the structure that predicts held-out rows better.

Target: none; ``docs/background/equivalent-sample-size.md`` has the outcome. Takes about ten minutes; it is resumable.
Writes ``docs/measurements/ess_few_rows.csv``.
"""

import warnings

import pandas as pd
from sklearn.model_selection import StratifiedKFold

from anbexact import BDeu, DiscreteTable, NaiveBayesClassifier, Structure, learn_anb
from anbexact._runtime.deadline import Deadline
from anbexact.models.network.posterior import Posterior
from anbexact.models.parameters.smoothing import HeldOut, best_held_out_smoothing, best_smoothing, most_smoothing
from anbexact.models.parameters.tables import fit_eap
from anbexact.search.ess import START_ESS, climb_in_ess
from anbexact.tables.folds import split_table
from benchmarks.harness.folds import judge, means
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read

MOST_ROWS, MOST_FEATURES = 1500, 16
FOLDS, REPEATS, INNER_FOLDS = 10, 2, 5
WAYS = ("1, alike", "1, LOO", "1, CV", "ML, alike", "ML, LOO", "ML, CV", "CV of both")


def learn(table: DiscreteTable, score: BDeu, _: float | None = None) -> Structure:
    """Return the optimal augmented naive Bayes."""
    return learn_anb(table, score, n_jobs=1)


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every way to choose."""
    warnings.simplefilter("ignore", UserWarning)
    X, y = read(name)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=fold // FOLDS).split(X, y)
    train, test = list(folds)[fold % FOLDS]
    encoder = NaiveBayesClassifier(ess=1.0, discretizer="mdlp", n_jobs=1).fit(X.iloc[train], y.iloc[train])
    table = encoder.reader_.table(X.iloc[train], y.iloc[train], None)
    codes, inner = encoder.reader_.codes(X.iloc[test]), split_table(table, INNER_FOLDS)
    judged: dict[str, Row] = {}
    predicted: dict[str, float] = {}
    start = learn(table, BDeu(START_ESS))
    most_probable = climb_in_ess(table, learn, start, Deadline(None))[1].ess
    for label, ess in (("1", 1.0), ("ML", most_probable)):
        structure = learn(table, BDeu(ess))
        held_out = [HeldOut(rows, others, learn(rows, BDeu(ess))) for rows, others in inner]
        by_cv, predicted[label] = best_held_out_smoothing(
            held_out, most_smoothing(table), len(table.vocabulary.features)
        )
        sizes = {"alike": ess, "LOO": best_smoothing(table, structure), "CV": by_cv}
        for way, smoothing in sizes.items():
            posterior = Posterior(
                fit_eap(table, structure, smoothing), table.vocabulary.class_name, table.vocabulary.features
            )
            row = judge(posterior.posterior(codes, 1), encoder.classes_.tolist(), y.iloc[test])
            arcs = len(structure.feature_edges)
            judged[f"{label}, {way}"] = {**row, "ess": ess, "smoothing": smoothing, "arcs": arcs}
    judged["CV of both"] = judged["ML, CV" if predicted["ML"] >= predicted["1"] else "1, CV"]
    return [{"way": way, **judged[way]} for way in WAYS]


def main(run: Run) -> None:
    """Measure what is missing, then print the comparison."""
    listed = run.manifest()
    names = listed.loc[(listed["features"] <= MOST_FEATURES) & (listed["rows"] <= MOST_ROWS), "name"]
    tasks = [(name, fold) for name in names for fold in run.folds(FOLDS * REPEATS)]
    measured = run.measure("ess_few_rows", ["table", "fold"], tasks, one_fold)
    summary = means(measured, ["table", "way"])
    medians = measured.groupby(["table", "way"])[["ess", "smoothing", "arcs"]].median()
    run.write("ess_few_rows", summary.join(medians), 4)
    values = summary["log_loss"].unstack("way")[list(WAYS)]
    show(values, "log loss", 3)
    worse = (values.sub(values["1, alike"], axis=0) > 0.02).sum()
    better = (values.sub(values["1, alike"], axis=0) < -0.02).sum()
    accuracy = summary["accuracy"].unstack("way")[list(WAYS)].mean()
    overall = {"log loss": values.mean(), "accuracy": accuracy, "better": better, "worse": worse}
    show(pd.DataFrame(overall), decimals=4)
