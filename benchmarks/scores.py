"""TANs by LL, BDeu and aCLL over the UCI tables: ``python benchmarks/scores.py``.

Carvalho, Adão and Mateus (2013) compare the conditional log likelihood of TANs over 89 tables and report, for two
classes, aCLL (Dirichlet) above aCLL (uniform) above LL, for three classes uniform above Dirichlet above LL. Here:
ten-fold cross-validation over the tables of ``../shared/data``, EAP tables (ESS 1) and the tables that maximise aCLL,
Wilcoxon's signed-rank test over tables. Summary: ``docs/results/acll.csv``.
"""

import warnings

import pandas as pd
from crossval import RAW, RESULTS, Row, judge, manifest, means, read, run_all, splits
from scipy.stats import wilcoxon

from anbexact import TANClassifier
from anbexact.scores import ACLL

MODELS = {
    "LL": TANClassifier(structure_score="ll", n_jobs=1),
    "BDeu": TANClassifier(n_jobs=1),
    "aCLL Dirichlet": TANClassifier(structure_score="acll", n_jobs=1),
    "aCLL uniform": TANClassifier(structure_score=ACLL(prior="uniform"), n_jobs=1),
    "aCLL Dirichlet, own tables": TANClassifier(structure_score="acll", parameters="acll", n_jobs=1),
}


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every model."""
    warnings.simplefilter("ignore", UserWarning)
    X, y = read(name)
    train, test = list(splits(y))[fold]
    rows = []
    for model, estimator in MODELS.items():
        fitted = estimator.fit(X.iloc[train], y.iloc[train])
        judged = judge(fitted.predict_proba(X.iloc[test]), fitted.classes_.tolist(), y.iloc[test])
        rows.append({"table": name, "fold": fold, "model": model, "classes": y.nunique(), **judged})
    return rows


def main() -> None:
    """Measure what is missing, then print the comparison."""
    names = manifest()["name"]
    measured = run_all([(name, fold) for name in names for fold in range(10)], one_fold, RAW / "acll.csv")
    summary = means(measured, ["table", "classes", "model"])
    RESULTS.mkdir(exist_ok=True)
    summary.round(4).to_csv(RESULTS / "acll.csv", lineterminator="\n")
    losses = summary["log_loss"].unstack("model")[list(MODELS)]
    print(losses.round(3).to_string())
    classes = losses.index.get_level_values("classes")
    for title, chosen in (("all", classes > 0), ("two classes", classes == 2), ("three and more", classes > 2)):
        of_group = losses[chosen]
        print(f"\n{title}: {len(of_group)} tables; mean log loss {of_group.mean().round(4).to_dict()}")
        for model in list(MODELS)[1:]:
            difference = (of_group["LL"] - of_group[model]).round(9)
            better, worse = int((difference > 1e-3).sum()), int((difference < -1e-3).sum())
            p = wilcoxon(difference).pvalue if difference.any() else 1.0
            print(f"  {model} against LL: lower log loss on {better}, higher on {worse}; p = {p:.4f}")


if __name__ == "__main__":
    pd.set_option("display.width", 200)
    main()
