"""Why accuracies differ from the published ones: tables read, dealt or judged otherwise, and measured again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from crossval import RAW, Row
from sklearn.base import clone
from sklearn.model_selection import KFold

from papers import few_children, table1
from papers.accuracy import STORE as FIRST_STORE
from papers.accuracy import by_table, judged, over_rows, whole_deals
from papers.common import FOLDS, continuous_columns, cut, folds, markdown, read
from papers.methods import METHODS
from papers.store import measure, stored

NAME = "papers_reasons"
TITLE = "Table 1: why accuracies differ"
STORE = RAW / f"{NAME}.csv"
Table = tuple[pd.DataFrame, pd.Series]
Dealt = list[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Reading:
    """A table as the paper may have had it, or dealt, or judged.

    Attributes
    ----------
    table : str
        Which.
    words : str
        What is otherwise than in Table 1 here.
    methods : tuple of str
        What is measured.
    deals : int
        How often the rows are dealt to folds.
    read : callable
        Returns the rows for a deal, called with its number.
    folds : callable
        Returns the folds, called with the class and the number of the deal.
    lots : bool
        Whether one of equally probable classes is drawn by lot, instead of the first one taken.
    settings : dict
        Parameters that classifiers other than naive Bayes are given.
    """

    table: str
    words: str
    methods: tuple[str, ...]
    deals: int
    read: Callable[[int], Table]
    folds: Callable[[pd.Series, int], Dealt] = folds
    lots: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    def model(self, method: str) -> Any:
        """Return a classifier."""
        return clone(METHODS[method]).set_params(**({} if method == "NaiveBayes" else self.settings))


def unstratified(y: pd.Series, deal: int) -> Dealt:
    """Return folds that do not look at the class."""
    return list(KFold(FOLDS, shuffle=True, random_state=deal).split(np.zeros(len(y))))


def waves(sample: int) -> Table:
    """Return 5,000 rows drawn by the rule of waveform (Breiman et al., 1984, section 2.6.2), cut at their medians.

    Three triangles of height 6 at three places; a class mixes two of them in random shares and adds normal noise.
    """
    rng = np.random.default_rng(sample)
    place = np.arange(1, 22)
    triangles = np.array([np.maximum(6 - np.abs(place - top), 0) for top in (7, 15, 11)])
    y = rng.integers(0, 3, 5_000)
    share = rng.random((len(y), 1))
    first, second = triangles[np.array([0, 0, 1])[y]], triangles[np.array([1, 2, 2])[y]]
    values = share * first + (1 - share) * second + rng.normal(size=first.shape)
    X = pd.DataFrame(values.round(2), columns=[f"x{j}" for j in place])
    return cut(X, list(X)), pd.Series(y.astype(str), name="class").astype("category")


def cut_at(
    table: str, *, also: Sequence[str] = (), instead: Sequence[str] = (), without: Sequence[str] = ()
) -> Callable[[int], Table]:
    """Return how to read a table of which some columns are cut too, some are not, and some are left out."""
    columns = [name for name in continuous_columns(table) if name not in instead]

    def rows(deal: int) -> Table:  # noqa: ARG001  # the same rows for all deals
        X, y = read(table, [*columns, *also])
        return X.drop(columns=list(without)), y

    return rows


def as_it_is(table: str) -> Callable[[int], Table]:
    """Return how to read a table as in Table 1."""
    return lambda deal: read(table)  # noqa: ARG005


EXACT = ("GBN-BDeu", "ANB-BDeu", "fsANB-BDeu")
LOTS = "one of equally probable classes is drawn by lot"
MORE = "as here, dealt more often"
READINGS = {
    reading.table: reading
    for reading in (
        Reading(
            "waveform21",
            "samples of 5,000 rows from the rule, at most five parents",
            ("NaiveBayes", *EXACT),
            12,
            waves,
            settings={"max_parents": 5},
        ),
        Reading(
            "australian",
            "x4 (three values) is cut too, x5 (fourteen) is not",
            ("NaiveBayes", "TAN-aCLL", *EXACT),
            25,
            cut_at("australian", also=["x4"], instead=["x5"]),
        ),
        Reading("hepatitis", MORE, ("GBN-BDeu", "ANB-BDeu"), 25, as_it_is("hepatitis")),
        Reading("pendigits", MORE, ("ANB-BDeu",), 25, as_it_is("pendigits")),
        Reading("wine", MORE, ("ANB-BDeu", "fsANB-BDeu"), 25, as_it_is("wine")),
        Reading("post-operative", MORE, ("NaiveBayes", "ANB-BDeu"), 25, as_it_is("post-operative")),
        Reading("hayes-roth", LOTS, ("GBN-BDeu",), 25, as_it_is("hayes-roth"), lots=True),
        Reading("mux6", LOTS, ("GBN-BDeu",), 25, as_it_is("mux6"), lots=True),
        Reading("spect", "folds are not stratified", ("GBN-BDeu",), 5, as_it_is("spect"), unstratified),
        Reading(
            "bank",
            "emp_var_rate (ten values), previous (eight) are cut too; pdays, never above its median, is constant",
            ("NaiveBayes", "TAN-aCLL"),
            5,
            cut_at("bank", also=["emp_var_rate", "previous"], without=["pdays"]),
        ),
    )
}


def one(name: str, method: str, wanted: Sequence[int]) -> list[Row]:
    """Measure some folds of a reading, numbered through all deals."""
    reading = READINGS[name]
    rows = []
    for fold in wanted:
        deal, part = divmod(fold, FOLDS)
        X, y = reading.read(deal)
        train, test = reading.folds(y, deal)[part]
        lots = np.random.default_rng(fold) if reading.lots else None
        found = judged(reading.model(method), X, y, train, test, lots)
        rows.append({"table": name, "method": method, "fold": fold, **found})
    return rows


def run(*, quick: bool) -> None:
    """Measure what is missing; the quick run takes nothing."""
    if quick:
        return
    few_children.run()
    for deals in sorted({reading.deals for reading in READINGS.values()}, reverse=True):
        tasks = [(name, method) for name, r in READINGS.items() if r.deals == deals for method in r.methods]
        measure(STORE, tasks, range(deals * FOLDS), one)


def results() -> pd.DataFrame:
    """Return a row for every reading and method that is measured, beside what Table 1 has."""
    found = by_table(stored(STORE)).reset_index()
    before = table1.results()[["table", "method", "published", *OF_DEALS]]
    frame = found[["table", "method", *OF_DEALS]].merge(before, on=["table", "method"], suffixes=("", " in Table 1"))
    frame["reading"] = frame["table"].map({name: reading.words for name, reading in READINGS.items()})
    frame["one more"] = table1.one_more_deal(frame)
    frame["place"] = frame["table"].map(list(READINGS).index)
    frame["row"] = frame["method"].map(list(METHODS).index)
    return frame.sort_values(["place", "row"])[COLUMNS].reset_index(drop=True)


OF_DEALS = ["deals", "over_deals", "deal_sd"]
COLUMNS = ["table", "reading", "method", *OF_DEALS, "published", *(f"{c} in Table 1" for c in OF_DEALS), "one more"]


def report(folder: Path) -> str:
    """Write CSV and figure, and return the section of the page."""
    found = results()
    found.round(5).to_csv(folder / f"{NAME}.csv", index=False, lineterminator="\n")
    draw(found, folder / f"{NAME}.png")
    rows = [
        [
            row["table"],
            row["reading"],
            row["method"],
            row["deals"],
            *(f"{row[c]:.4f}" for c in ("over_deals", "deal_sd", "published", "over_deals in Table 1")),
            "yes" if row["one more"] else "no",
        ]
        for row in found.to_dict("records")
    ]
    return "\n\n".join(
        [
            f"## {TITLE}",
            f"Where {', '.join(table1.MAIN)} lie beyond 2 SE, the table was read, dealt or judged "
            "otherwise, and measured again. What to try was chosen with the published figures in view, so that "
            "agreement shows what can be the reason, not that it is.",
            markdown(
                ["table", "how", "method", "deals", "mean", "SD", "published", "mean in Table 1", "one more deal"],
                rows,
            ),
            instead(found),
            f"![accuracies of all deals less the published one]({NAME}.png)",
            f"All figures: [{NAME}.csv]({NAME}.csv).",
            REMARKS.format(bounds=bounds(), blanket=blanket()),
        ]
    )


def instead(found: pd.DataFrame) -> str:
    """Return how near the published accuracies come if these means stand for those of Table 1, and what is left."""
    known = table1.results().dropna(subset="published")
    known = known[known["method"].isin(table1.MAIN)].merge(
        found[["table", "method", *OF_DEALS]], on=["table", "method"], how="left", suffixes=("", " here")
    )
    beyond = (known["difference"].abs() > known["noise"]) & ~table1.one_more_deal(known)
    here = known["deals here"].notna()
    known[OF_DEALS] = known[OF_DEALS].where(~here, known[[f"{c} here" for c in OF_DEALS]].to_numpy())
    away = (known["over_deals"] - known["published"]).abs().groupby(known["method"]).mean()
    left = known[beyond & ~table1.one_more_deal(known)]
    nearness = ", ".join(f"{method} {away[method]:.4f}" for method in table1.MAIN)
    names = ", ".join(f"{row['table']} ({row['method']})" for row in left.to_dict("records"))
    return (
        "With these means instead of those of Table 1, the mean absolute differences over "
        f"{known['table'].nunique()} tables are {nearness}. Neither within 2 SE nor one more deal, there or here: "
        f"{names or 'none'}."
    )


def bounds() -> str:
    """Return by how much networks of mushroom with few children of the class fall short."""
    found = pd.read_csv(few_children.STORE).set_index("children")["nats"]
    return ", ".join(f"{found[k]:.0f} with {k}" for k in (3, 4, 6))


def blanket() -> str:
    """Return the size of the Markov blanket of the class over the samples of waveform."""
    rows = stored(STORE)
    rows = whole_deals(rows[(rows["table"] == "waveform21") & (rows["method"] == "GBN-BDeu")])
    sizes = rows.groupby("deal")["blanket"].mean()
    return f"{sizes.mean():.1f} variables there (SD {sizes.std():.1f})"


REMARKS = """\
- **Waveform**: the 5,000 rows here are not those of the repository's table with 21 features (version 1). That one
  begins with -1.23, -1.56, -1.75, as no row here does, nor like any of its last rows that were looked up; these seem
  to be the first 21 columns of the table with 40. Over samples drawn from the rule, the published figures are
  nothing unusual, nor is that ANB-BDeu is better than naive Bayes in one table and worse in another; the Markov
  blanket of GBN-BDeu has {blanket} (published: 14.5; here 12.1).
- **Australian**: the paper does not say which columns of numbers are states. Of the 32 choices of integer columns to
  cut, the one above comes nearest to all five figures; that of ANB-BDeu is 2.2 SD below the mean of 25 deals, one of
  which is lower. Three of the columns here lack their decimal points (x2, x3, x7: 2208 for 22.08), as in the KEEL
  repository. With the points put back (all 653 rows of crx are among the 690; the other 37 were put right column by
  column), none of the 32 gives ANB-BDeu less than 0.844 on average over four deals.
- **Hayes–Roth and mux6, GBN-BDeu**: three of the four features of Hayes–Roth, and all of mux6, are parents of the
  class; four in ten test rows (nine in ten) have a combination of them that no training row has, so that all
  classes are equally probable. In Table 1, the first class is taken; with the last one, Hayes–Roth has 0.72.
- **Hepatitis**: with 80 rows and an equivalent sample size of 1, features get ten parents and more, and how rows are
  dealt to folds moves the accuracy by more than the standard error over folds says.
- **Pendigits**: GBN-BDeu has 0.9305 to 0.9330 over eight deals (0.9290). Cut otherwise (equal values above the
  median; at the mean), ANB-BDeu has 0.930 and 0.926, but naive Bayes 0.808 and 0.811 (published: 0.803).
- **Spect**: whether the paper's folds are stratified, naive Bayes on the other tables does not tell.
- **Mushroom, GBN-BDeu**: the published networks are not the optimum of these rows. Their class has 3.3 children and a
  Markov blanket of 6.4 on average, here 15.8 and 19. In the first fold, networks whose class has few children fall
  short of the optimum by at least so many nats: {bounds}
  (bounds by Lagrange multipliers, from a dynamic programme of its own, which finds the same optimum). A blanket of
  6.4 on average over ten folds is one of at most six variables, and so of at most six children, in one fold at
  least. With the states of all 8,124 rows declared, with equivalent sample sizes of 0.1, 5 and 20, and with at most
  three parents, all test rows of the first fold are right, too."""


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw the accuracies of all deals less the published one, of Table 1 and as read here."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(8, 0.36 * len(found) + 1.2), layout="constrained")
    sources = ((FIRST_STORE, "Table 1", "#bbbbbb", 0.15), (STORE, "here", "#4477aa", -0.15))
    for source, name, colour, shift in sources:
        of_deals = over_rows(whole_deals(stored(source)), ["table", "method", "deal"])["accuracy"]
        for k, row in found.iterrows():
            differences = of_deals.loc[row["table"], row["method"]] - row["published"]
            places = np.full(len(differences), -k + shift)
            ax.plot(differences, places, "o", color=colour, markersize=4, alpha=0.6, label=None if k else name)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks([-k for k in found.index], [f"{r.table}, {r.method}" for r in found.itertuples()], fontsize=8)
    ax.set_xlabel("accuracy of a deal less the published one")
    ax.legend(loc="upper left", fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
