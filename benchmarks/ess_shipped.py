"""What ``ess="auto"`` and ``smoothing="auto"`` bring as they are shipped: ``python benchmarks/ess_shipped.py``.

Ten-fold cross-validation of ``ANBClassifier`` with its defaults (cut points by MDLP) over the tables of
``../shared/data`` with up to 19 features, against the same with equivalent sample sizes chosen from the training
rows.
Where the tables of an optimum outgrow the memory, that fold counts for none of the settings. Summary:
``docs/results/ess_shipped.csv``. Resumable; about ten minutes.
"""

import warnings

import pandas as pd
from crossval import RAW, RESULTS, Row, judge, manifest, means, read, run_all, splits
from scipy.stats import wilcoxon

from anbexact import ANBClassifier

SETTINGS = {
    "default": {},
    "smoothing auto": {"smoothing": "auto"},
    "ess auto": {"ess": "auto"},
    "ess auto, tables alike": {"ess": "auto", "smoothing": "alike"},
}
MOST_FEATURES = 19


def one_fold(name: str, fold: int) -> list[Row]:
    """Return a row for every setting, or one without figures."""
    warnings.simplefilter("ignore", UserWarning)
    X, y = read(name)
    train, test = list(splits(y))[fold]
    rows = []
    for setting, parameters in SETTINGS.items():
        if parameters.get("smoothing") == "alike":
            parameters = {"ess": rows[-1]["ess"]}
        try:
            fitted = ANBClassifier(discretizer="mdlp", n_jobs=1, **parameters).fit(X.iloc[train], y.iloc[train])
        except ValueError:
            nothing = dict.fromkeys(("rows", "accuracy", "log_loss", "ess", "smoothing"))
            return [{"table": name, "fold": fold, "setting": "refused", **nothing}]
        judged = judge(fitted.predict_proba(X.iloc[test]), fitted.classes_.tolist(), y.iloc[test])
        chosen = {"ess": fitted.ess_, "smoothing": fitted.smoothing_}
        rows.append({"table": name, "fold": fold, "setting": setting, **judged, **chosen})
    return rows


def main() -> None:
    """Measure what is missing, then print the comparison."""
    listed = manifest()
    names = listed.loc[listed["features"] <= MOST_FEATURES, "name"]
    measured = run_all([(name, fold) for name in names for fold in range(10)], one_fold, RAW / "ess_shipped.csv")
    measured = measured[measured["setting"] != "refused"]
    summary = means(measured, ["table", "setting"])
    chosen = measured.groupby(["table", "setting"])[["ess", "smoothing"]].median()
    summary.join(chosen).round(4).to_csv(RESULTS / "ess_shipped.csv", lineterminator="\n")
    for key, sign in (("log_loss", -1), ("accuracy", 1)):
        values = summary[key].unstack("setting")[list(SETTINGS)]
        print(f"\n{key}\n{values.round(3).to_string()}")
        for setting in list(SETTINGS)[1:]:
            gain = sign * (values[setting] - values["default"])
            better, worse = int((gain > 1e-3).sum()), int((gain < -1e-3).sum())
            p = wilcoxon(gain.round(9)).pvalue
            counts = f"better on {better}, worse on {worse} of {len(gain)}"
            print(f"{setting}: {counts}; median gain {gain.median():.4f}; p = {p:.4f}")
        print(pd.DataFrame({"mean": values.mean(), "median": values.median()}).round(4).to_string())


if __name__ == "__main__":
    pd.set_option("display.width", 200)
    main()
