"""Trees by LL, BDeu and aCLL over the UCI tables: conditional log likelihood and accuracy.

Carvalho, Adão and Mateus (2013) compare the conditional log likelihood (CLL) that optimal TANs reach on 89 balanced
tables of about 1,000 rows, with Friedman smoothing, and report, for two classes, aCLL (Dirichlet) above aCLL
(uniform) above LL. Here, over the tables of ``../shared/data``: the same, the CLL of the rows that were learned from;
and what matters to users, the CLL of left-out rows in ten-fold cross-validation, with Friedman smoothing, EAP
tables (ESS 1), and the tables that maximise aCLL. Wilcoxon's signed-rank test over tables. Last, the CLL over the
rows learned from on simulated tables of the paper's kind.

Target: the order of the scores that the paper reports. Takes a few minutes; it is resumable. Writes
``docs/measurements/acll.csv``.
"""

import warnings

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from anbexact import TANClassifier
from anbexact.scores import ACLL
from benchmarks.harness.folds import judge, means, splits
from benchmarks.harness.run import Run
from benchmarks.harness.store import Row
from benchmarks.harness.tables import read

SCORES = {"LL": "ll", "BDeu": "bdeu", "aCLL Dirichlet": "acll", "aCLL uniform": ACLL(prior="uniform")}
FOLDS, SIMULATED = 10, 25
"""Folds, and simulated tables."""
SETTINGS = ("training, friedman", "left out, friedman", "left out, eap", "left out, acll")


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every score and setting."""
    warnings.simplefilter("ignore", UserWarning)
    X, y = read(name)
    train, test = list(splits(y, FOLDS))[fold]
    rows = []
    for score, structure_score in SCORES.items():
        for setting in SETTINGS:
            part, parameters = setting.split(", ")
            judged = train if part == "training" else test
            model = TANClassifier(structure_score=structure_score, parameters=parameters, n_jobs=1, ess=1.0)
            model.fit(X.iloc[train], y.iloc[train])
            result = judge(model.predict_proba(X.iloc[judged]), model.classes_.tolist(), y.iloc[judged])
            rows.append({"score": score, "setting": setting, "classes": y.nunique(), **result})
    return rows


def simulated_sites(seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return 500 sites and 500 background sequences of four letters; two positions of a site depend on each other."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 17))
    sites = np.stack([rng.choice(4, 500, p=rng.dirichlet(np.full(4, 0.5))) for _ in range(n)], axis=1)
    first = int(rng.integers(0, n - 1))
    follows = rng.random(500) < 0.7
    sites[follows, first + 1] = (sites[follows, first] + 1) % 4
    rows = np.vstack([sites, rng.integers(0, 4, (500, n))])
    frame = pd.DataFrame(rows.astype(str), columns=[f"p{i}" for i in range(n)])
    return frame, pd.Series(np.repeat(["site", "background"], 500))


def simulate(tables: int) -> None:
    """Print the log loss of TANs over the rows learned from, on simulated balanced tables."""
    losses: dict[tuple[str, str], list[float]] = {}
    for seed in range(tables):
        X, y = simulated_sites(seed)
        for parameters in ("acll", "friedman", "eap"):
            for score, structure_score in SCORES.items():
                model = TANClassifier(structure_score=structure_score, parameters=parameters, ess=1.0).fit(X, y)
                result = judge(model.predict_proba(X), model.classes_.tolist(), y)
                losses.setdefault((parameters, score), []).append(result["log_loss"])
    frame = pd.DataFrame(losses)
    print(f"\nsimulated balanced tables ({tables}), rows learned from")
    for parameters in ("acll", "friedman", "eap"):
        of_rule = frame[parameters]
        better = {score: int((of_rule[score] < of_rule["LL"]).sum()) for score in list(SCORES)[1:]}
        print(f"tables by {parameters}: mean log loss {of_rule.mean().round(4).to_dict()}; lower than LL on {better}")


def main(run: Run) -> None:
    """Measure what is missing, then print the comparison."""
    tasks = [(name, fold) for name in run.manifest()["name"] for fold in run.folds(FOLDS)]
    measured = run.measure("acll", ["table", "fold"], tasks, one_fold)
    summary = means(measured, ["setting", "table", "classes", "score"])
    run.write("acll", summary, 4)
    compare(summary)
    simulate(1 if run.smoke else SIMULATED)


def compare(summary: pd.DataFrame) -> None:
    """Print mean log losses, and on how many tables a score is better and worse than LL."""
    losses = summary["log_loss"].unstack("score")[list(SCORES)]
    for setting in SETTINGS:
        of_setting = losses.loc[setting]
        classes = of_setting.index.get_level_values("classes")
        for title, chosen in (("two classes", classes == 2), ("three and more", classes > 2)):
            of_group = of_setting[chosen]
            print(f"\n{setting}, {title}: {len(of_group)} tables; mean log loss {of_group.mean().round(4).to_dict()}")
            for score in list(SCORES)[1:]:
                difference = (of_group["LL"] - of_group[score]).round(9)
                better, worse = int((difference > 1e-3).sum()), int((difference < -1e-3).sum())
                p = wilcoxon(difference).pvalue if difference.any() else 1.0
                print(f"  {score} against LL: lower log loss on {better}, higher on {worse}; p = {p:.4f}")
