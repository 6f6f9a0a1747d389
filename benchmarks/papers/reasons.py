"""Why accuracies differ from the published ones: what the readings of the tables show."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd

from papers import few_children, readings, table1
from papers.accuracy import STORE as FIRST_STORE
from papers.accuracy import whole_deals
from papers.common import FOLDS, continuous_columns, listed, markdown
from papers.methods import METHODS
from papers.readings import AUSTRALIAN, EXACT, READINGS, STORE, asides, australian, of_deals, planned
from papers.store import stored

NAME = "papers_reasons"
TITLE = "Table 1: why accuracies differ"


def run(*, quick: bool) -> None:
    """Measure what is missing; the quick run takes nothing."""
    if quick:
        return
    few_children.run()
    readings.measured()


def results() -> pd.DataFrame:
    """Return a row for every reading and method that is measured, beside what Table 1 has."""
    found = of_deals(STORE).groupby(["table", "method"]).agg(**FIGURES)
    plan = pd.DataFrame(
        [
            (r.name, r.table, r.words, r not in READINGS, method)
            for r in planned()
            for method in METHODS
            if method in r.deals
        ],
        columns=["name", "table", "reading", "aside", "method"],
    )
    frame = plan.merge(found, left_on=["name", "method"], right_index=True)
    before = table1.results()[["table", "method", "published", "over_deals"]]
    frame = frame.merge(before.rename(columns={"over_deals": "in_table_1"}), on=["table", "method"])
    frame["one_more"] = table1.one_more_deal(frame).astype(object).where(frame["deals"] > 1)
    return frame


def complete() -> bool:
    """Whether all is measured that the section tells of, in Table 1, too."""
    if not (readings.complete() and FIRST_STORE.exists() and few_children.STORE.exists()):
        return False
    wanted = {(reading.table, method, 0) for reading in planned() for method in reading.deals}
    wanted |= set(product(listed()["name"], table1.MAIN, [0]))
    return wanted <= set(of_deals(FIRST_STORE).index) and len(stored(few_children.STORE)) == FOLDS


FIGURES = {"deals": "size", "over_deals": "mean", "deal_sd": "std", "least": "min", "most": "max"}


def report(folder: Path) -> str:
    """Write CSV and figure, and return the section of the page."""
    if not complete():
        return f"## {TITLE}\n\nNot yet run."
    everything = results()
    everything.drop(columns="name").round(5).to_csv(folder / f"{NAME}.csv", index=False, lineterminator="\n")
    found = everything[~everything["aside"]]
    draw(found, folder / f"{NAME}.png")
    columns = [
        "table",
        "how",
        "method",
        "deals",
        "mean",
        "SD",
        "least",
        "most",
        "published",
        "in Table 1",
        "one more",
    ]
    numbers = ("over_deals", "deal_sd", "least", "most", "published", "in_table_1")
    rows = [
        [
            row["table"],
            row["reading"],
            row["method"],
            row["deals"],
            *(f"{row[c]:.4f}".replace("nan", "-") for c in numbers),
            "-" if row["deals"] == 1 else "yes" if row["one_more"] else "no",
        ]
        for row in found.to_dict("records")
    ]
    return "\n\n".join(
        [
            f"## {TITLE}",
            f"Of the accuracies of {', '.join(table1.MAIN)} that lie beyond 2 SE, what follows could be the reason: "
            "the table was read, dealt or judged otherwise, and measured again, by other methods, too, where that "
            "tells more. **What to try was chosen with the published figures in view**, so that agreement shows what "
            "can be the reason, not that it is. One more: as above, whether the published accuracy could be that of "
            "one more deal (of waveform: sample).",
            markdown(columns, rows),
            replaced(found),
            f"![accuracies of all deals less the published one]({NAME}.png)",
            f"All accuracies, those that remarks alone tell of, too: [{NAME}.csv]({NAME}.csv).",
            remarks(everything),
        ]
    )


def replaced(found: pd.DataFrame) -> str:
    """Return how near the published accuracies come if these means stand for those of Table 1, and what is left."""
    known = table1.results().dropna(subset="published")
    known = known[known["method"].isin(table1.MAIN)]
    beyond = (known["difference"].abs() > known["noise"]) & ~table1.one_more_deal(known)
    known = known.assign(beyond=beyond).merge(
        found[["table", "method", "over_deals", "one_more"]],
        on=["table", "method"],
        how="left",
        suffixes=("", "_here"),
    )
    means = known["over_deals_here"].fillna(known["over_deals"])
    away = (means - known["published"]).abs().groupby(known["method"]).mean()
    left = known[known["beyond"] & ~known["one_more"].fillna(False).astype(bool)]
    nearness = ", ".join(f"{method} {away[method]:.4f}" for method in table1.MAIN)
    names = ", ".join(f"{row['table']} ({row['method']})" for row in left.to_dict("records"))
    return (
        "With these means instead of those of Table 1, the mean absolute differences over "
        f"{known['table'].nunique()} tables are {nearness}: the best case, as readings were chosen for agreement. "
        f"Beyond 2 SE, and not one more deal, neither there nor here: {names or 'none'}."
    )


def remarks(found: pd.DataFrame) -> str:
    """Return what the readings are about, with the figures that they gave."""
    means = found.set_index(["name", "method"])["over_deals"]
    known = table1.results().set_index(["table", "method"])
    topics = [
        of_waveform(known["published"]),
        of_australian(found),
        of_ties(means, known),
        of_hepatitis(known),
        of_pendigits(means, known),
        of_spect(known),
        of_bank(means, known.loc["bank", "NaiveBayes"]),
        of_mushroom(known["published"]),
        of_sizes(means, known),
        of_cuts(means, known),
    ]
    wide = {"width": 116, "subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}
    return "\n".join(fill(" ".join(topic.split()), **wide) for topic in topics)


def named(table: str) -> str:
    """Return the name of the reading of a table that the section shows."""
    return next(reading.name for reading in READINGS if reading.table == table)


def columns_of(words: str) -> str:
    """Return the columns that the words of a reading end with."""
    return words.rpartition(": ")[2].replace(", ", " and ")


def of_waveform(published: pd.Series) -> str:
    """Return what samples show."""
    samples = of_deals(STORE).unstack("method").loc[named("waveform21")]
    ahead = samples["ANB-BDeu"] - samples["NaiveBayes"]
    said = published["waveform21", "ANB-BDeu"] - published["waveform21", "NaiveBayes"]
    blankets = folds_of(STORE, named("waveform21"), "GBN-BDeu").groupby("deal")["blanket"].mean()
    here = folds_of(FIRST_STORE, "waveform21", "GBN-BDeu")["blanket"].mean()
    return f"""\
- **Waveform**: the 5,000 rows here are not those of the repository's table with 21 features (version 1), which
  begins with -1.23, -1.56, -1.75; no row here begins so. (The classes here have 1,692, 1,653 and 1,655 rows; the
  rows seem to be those of the table with 40 features, without the last 19.) In samples drawn from the rule, ANB-BDeu
  is ahead of naive Bayes by {ahead.mean():.4f} on average (SD {ahead.std():.4f}), by as much as published,
  {said:.4f}, in {(ahead >= said).sum()} of {len(ahead)}. The Markov blanket of GBN-BDeu has {blankets.mean():.1f}
  variables there (SD {blankets.std():.1f}; published: 14.5; of the rows here {here:.1f})."""


def of_australian(found: pd.DataFrame) -> str:
    """Return which way to cut comes nearest."""
    ways = found[found["name"].isin([reading.name for reading in asides()["australian"]])]
    away = (ways["over_deals"] - ways["published"]).abs().groupby(ways["reading"]).mean().sort_values()
    anb = ways.loc[ways["method"] == "ANB-BDeu", "over_deals"]
    above = found[found["name"] == named("australian")].set_index("method").loc["ANB-BDeu"]
    below = (above["over_deals"] - above["published"]) / above["deal_sd"]
    first = australian([name for name in continuous_columns("australian") if name in AUSTRALIAN]).words
    nearest = "; ".join(f"{columns_of(words)}: {away[words]:.4f}" for words in [*away.index[:3], first])
    return f"""\
- **Australian**: the paper does not say which columns of numbers are states. Of the {len(away)} ways to cut or not to
  cut {", ".join(AUSTRALIAN[:-1])} and {AUSTRALIAN[-1]}, by the mean absolute difference of naive Bayes, TAN-aCLL,
  GBN-BDeu and ANB-BDeu from the published accuracies (means over five deals), the three nearest and that of Table 1
  cut {nearest} (the furthest: {away.max():.4f}). The reading above cuts x4 and x10, though x4 is a category. The
  published accuracy of ANB-BDeu, {above["published"]:.4f}, is below the mean of {(anb > above["published"]).sum()} of
  the {len(away)} ways ({anb.min():.4f} to {anb.max():.4f}), and {below:.1f} SD below the mean of the {above["deals"]}
  deals above: a better reading may exist. Three of the columns here lack their decimal points (x2, x3, x7: 2208 for
  22.08), so that their medians are those of other numbers."""


def of_ties(means: pd.Series, known: pd.DataFrame) -> str:
    """Return what the order of classes does."""
    ends = "; ".join(
        f"{reading.table} {known.loc[(reading.table, 'GBN-BDeu'), 'accuracy']:.3f} and "
        f"{means[reading.name, 'GBN-BDeu']:.3f}"
        for reading in asides()["last"]
    )
    gbn = known.xs("GBN-BDeu", level="method")
    by_lot = gbn["over_deals"].copy()
    by_lot["hayes-roth"] = means[named("hayes-roth"), "GBN-BDeu"]
    before, after = ((of_all - gbn["published"]).abs().mean() for of_all in (gbn["over_deals"], by_lot))
    return f"""\
- **Hayes–Roth and mux6, GBN-BDeu**: three of the four features of Hayes–Roth, and nearly all of mux6, are parents
  of the class. Where no training row has the same values of these parents as a test row, all classes are equally
  probable. With the first of equally probable classes taken, as in Table 1, and with the last one, the first deal
  has: {ends}. With lots for Hayes–Roth alone, the mean absolute difference of GBN-BDeu over the deals of all tables
  is {after:.4f} instead of {before:.4f}."""


def of_hepatitis(known: pd.DataFrame) -> str:
    """Return how many parents features have, and how much deals differ."""
    most = folds_of(STORE, named("hepatitis"), "ANB-BDeu")["max_parents"]
    deals = of_deals(STORE).unstack("method").loc[named("hepatitis")]
    figures = "; ".join(
        f"{method} {deals[method].std():.3f} and {row['se']:.3f}, {(deals[method] < row['published']).sum()} of "
        f"{len(deals)} deals below the published accuracy"
        for method in ("GBN-BDeu", "ANB-BDeu")
        for row in [known.loc[("hepatitis", method)]]
    )
    return f"""\
- **Hepatitis**: with 80 rows and an equivalent sample size of 1, the feature of ANB-BDeu with the most parents has
  {most.min():.0f} to {most.max():.0f} of them (the class among them), by the fold. The SD over deals, and the SE over
  folds: {figures}."""


def of_pendigits(means: pd.Series, known: pd.DataFrame) -> str:
    """Return what other cuts do."""
    deals = of_deals(FIRST_STORE).loc["pendigits"].unstack("method")
    row = known.loc["pendigits"]
    below = ", ".join(
        f"{method} {(deals[method] < row.loc[method, 'published']).sum()}" for method in ("NaiveBayes", *EXACT)
    )
    by_cut = "; ".join(
        f"{reading.words}: {means[reading.name, 'ANB-BDeu']:.4f} and {means[reading.name, 'NaiveBayes']:.4f}"
        for reading in asides()["pendigits"]
    )
    return f"""\
- **Pendigits**: of the {len(deals)} deals of Table 1, so many are below the published accuracy: {below}. Cut
  otherwise, ANB-BDeu and naive Bayes have in the first deal: {by_cut}; in Table 1: {
        row.loc["ANB-BDeu", "accuracy"]:.4f} and {row.loc["NaiveBayes", "accuracy"]:.4f} (published: {
        row.loc["ANB-BDeu", "published"]:.4f} and {row.loc["NaiveBayes", "published"]:.4f})."""


def of_spect(known: pd.DataFrame) -> str:
    """Return how much deals differ if folds look at the class, and if they do not."""
    deals = of_deals(STORE).unstack("method").loc[named("spect")]
    figures = "; ".join(
        f"{method} {known.loc[('spect', method), 'deal_sd']:.4f} and {deals[method].std():.4f}"
        for method in ("NaiveBayes", *EXACT)
    )
    return f"""\
- **Spect**: the paper does not say whether its folds are stratified. The SD over deals if they are, and if they are
  not: {figures}."""


def of_bank(means: pd.Series, row: pd.Series) -> str:
    """Return what each change does."""
    fewer = "; ".join(
        f"{columns_of(reading.words)} {means[reading.name, 'NaiveBayes']:.4f}" for reading in asides()["bank"]
    )
    return f"""\
- **Bank**: emp_var_rate and previous have too few values to be cut in Table 1. Of pdays, 96 per cent of the values
  are the largest one, 999, so that none lies above the median; in Table 1 it is cut below 999, here it tells
  nothing. With one or two of these changes, naive Bayes has: {fewer}; with all three
  {means[named("bank"), "NaiveBayes"]:.4f} (published: {row["published"]:.4f}; in Table 1 {row["accuracy"]:.4f}, SE
  {row["se"]:.4f})."""


def of_mushroom(published: pd.Series) -> str:
    """Return what makes its networks smaller, and what does not."""
    here = folds_of(FIRST_STORE, "mushroom", "GBN-BDeu")
    nats = stored(few_children.STORE)
    bounds = ", ".join(f"{nats[f'most {k}'].min():.0f} with at most {k}" for k in few_children.CHILDREN)
    said = (1 - published["mushroom", "GBN-BDeu"]) * here.loc[here["deal"] == 0, "rows"].sum()
    others = "; ".join(
        f"{reading.words}: {wrong:.0f} wrong, blanket {rows['blanket'].mean():.1f}"
        for reading in asides()["mushroom"]
        for rows in [folds_of(STORE, reading.name, "GBN-BDeu")]
        for wrong in [((1 - rows["accuracy"]) * rows["rows"]).sum()]
    )
    return f"""\
- **Mushroom, GBN-BDeu**: the published networks can hardly be optimal for these rows. Their class has 3.3 children
  and a Markov blanket of 6.4 variables on average, here {here["class_children"].mean():.1f} and
  {here["blanket"].mean():.1f}. A blanket of 6.4 on average over ten folds is one of at most six variables, and so of
  at most six children, in one fold at least. But networks whose class has few children fall short of the optimum by
  at least so many nats, the least of all ten folds here: {bounds} (bounds by Lagrange multipliers, from a dynamic
  programme of its own, which finds the same optimum). As published, {said:.0f} test rows of all folds are wrong. Of
  these rows, in the first deal, learned otherwise: {others}."""


def of_sizes(means: pd.Series, known: pd.DataFrame) -> str:
    """Return what the equivalent sample size of fsANB does."""
    readings = {reading.table: reading.name for reading in asides()["sizes"]}
    fsanb = known.xs("fsANB-BDeu", level="method")
    chosen = pd.Series({table: means[name, "fsANB-BDeu"] for table, name in readings.items()})
    away = (chosen - fsanb["published"]).abs().mean()
    letter = fsanb.loc["letter"]
    return f"""\
- **fsANB-BDeu** chooses an equivalent sample size and a threshold by the accuracy of two halves. The paper seems
  to use the size for the Bayes factors only, and 1 for the network, as is done here (`network_ess=1.0`): in the
  13 tables of which its fsANB removes nothing, it has the accuracy of its ANB to four digits, in no other. With
  the size chosen for the network, too (the default of the classifier), letter has {chosen["letter"]:.4f} instead of
  {letter["accuracy"]:.4f} (published: {letter["published"]:.4f}), and over {len(chosen)} tables the mean absolute
  difference of the first deal is {away:.4f} instead of {fsanb["difference"].abs().mean():.4f}. Of equally accurate
  settings, the one of the highest likelihood is taken here; the paper does not say."""


def of_cuts(means: pd.Series, known: pd.DataFrame) -> str:
    """Return what becomes of values that are equal to the median."""
    by_table = "; ".join(
        f"{reading.table} {means[reading.name, 'NaiveBayes']:.4f} (published {row['published']:.4f}, here "
        f"{row['accuracy']:.4f})"
        for reading in asides()["above"]
        for row in [known.loc[(reading.table, "NaiveBayes")]]
    )
    return f"""\
- **Discretisation**: here a value equal to the median counts as below it (where the median is the largest value, as
  in pdays of bank, the cut lies below it), and a column is continuous if it has more than ten values; the paper says
  none of this. Counted as above, naive Bayes has: {by_table}."""


def folds_of(path: Path, name: str, method: str) -> pd.DataFrame:
    """Return the folds of all whole deals of a table or reading."""
    found = whole_deals(stored(path))
    return found[(found["table"] == name) & (found["method"] == method)]


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw the accuracies of all deals less the published one, of Table 1 and as read here."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(8, 0.36 * len(found) + 1.2), layout="constrained")
    sources = ((FIRST_STORE, "Table 1", "#bbbbbb", 0.15), (STORE, "here", "#4477aa", -0.15))
    for source, label, colour, shift in sources:
        accuracies = of_deals(source)
        for k, row in found.iterrows():
            name = row["table"] if source is FIRST_STORE else row["name"]
            differences = accuracies.loc[name, row["method"]] - row["published"]
            places = np.full(len(differences), -k + shift)
            ax.plot(differences, places, "o", color=colour, markersize=4, alpha=0.6, label=None if k else label)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks([-k for k in found.index], [f"{r.table}, {r.method}" for r in found.itertuples()], fontsize=8)
    ax.set_xlabel("accuracy of a deal less the published one")
    ax.legend(loc="upper left", fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
