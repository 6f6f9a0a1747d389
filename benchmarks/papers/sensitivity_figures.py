"""The figures that the remarks of the sensitivity analysis tell, by the placeholders of their template."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.harness.store import Row, stored
from benchmarks.papers import few_children, table1
from benchmarks.papers.accuracy import STORE as FIRST_STORE
from benchmarks.papers.accuracy import whole_repeats
from benchmarks.papers.common import KEYS, continuous_columns
from benchmarks.papers.variants import AUSTRALIAN, EXACT, STORE, VARIANTS, asides, australian, of_repeats


def figures(found: pd.DataFrame) -> Row:
    """Return the figures of all remarks."""
    means = found.set_index(["name", "method"])["over_repeats"]
    known = table1.results().set_index(["table", "method"])
    return {
        **of_waveform(known["published"]),
        **of_australian(found),
        **of_ties(means, known),
        **of_hepatitis(known),
        **of_pendigits(means, known),
        **of_spect(known),
        **of_bank(means, known.loc["bank", "NaiveBayes"]),
        **of_mushroom(known["published"]),
        **of_sizes(means, known),
        **of_cuts(means, known),
    }


def named(table: str) -> str:
    """Return the name of the variant of a table that the section shows."""
    return next(variant.name for variant in VARIANTS if variant.table == table)


def columns_of(words: str) -> str:
    """Return the columns that the words of a variant end with."""
    return words.rpartition(": ")[2].replace(", ", " and ")


def folds_of(path: Path, name: str, method: str) -> pd.DataFrame:
    """Return the folds of all whole repeats of a table or variant."""
    found = whole_repeats(stored(path, KEYS))
    return found[(found["table"] == name) & (found["method"] == method)]


def of_waveform(published: pd.Series) -> Row:
    """Return what samples show."""
    samples = of_repeats(STORE).unstack("method").loc[named("waveform21")]
    ahead = samples["ANB-BDeu"] - samples["NaiveBayes"]
    said = published["waveform21", "ANB-BDeu"] - published["waveform21", "NaiveBayes"]
    blankets = folds_of(STORE, named("waveform21"), "GBN-BDeu").groupby("repeat")["blanket"].mean()
    here = folds_of(FIRST_STORE, "waveform21", "GBN-BDeu")["blanket"].mean()
    return {
        "waveform_ahead": f"{ahead.mean():.4f}",
        "waveform_ahead_sd": f"{ahead.std():.4f}",
        "waveform_published": f"{said:.4f}",
        "waveform_reached": (ahead >= said).sum(),
        "waveform_samples": len(ahead),
        "waveform_blanket": f"{blankets.mean():.1f}",
        "waveform_blanket_sd": f"{blankets.std():.1f}",
        "waveform_blanket_here": f"{here:.1f}",
    }


def of_australian(found: pd.DataFrame) -> Row:
    """Return which way to cut comes nearest."""
    ways = found[found["name"].isin([variant.name for variant in asides()["australian"]])]
    away = (ways["over_repeats"] - ways["published"]).abs().groupby(ways["variant"]).mean().sort_values()
    anb = ways.loc[ways["method"] == "ANB-BDeu", "over_repeats"]
    above = found[found["name"] == named("australian")].set_index("method").loc["ANB-BDeu"]
    below = (above["over_repeats"] - above["published"]) / above["repeat_sd"]
    first = australian([name for name in continuous_columns("australian") if name in AUSTRALIAN]).words
    return {
        "australian_ways": len(away),
        "australian_columns": f"{', '.join(AUSTRALIAN[:-1])} and {AUSTRALIAN[-1]}",
        "australian_nearest": "; ".join(
            f"{columns_of(words)}: {away[words]:.4f}" for words in [*away.index[:3], first]
        ),
        "australian_furthest": f"{away.max():.4f}",
        "australian_published": f"{above['published']:.4f}",
        "australian_above": (anb > above["published"]).sum(),
        "australian_least": f"{anb.min():.4f}",
        "australian_most": f"{anb.max():.4f}",
        "australian_sds": f"{below:.1f}",
        "australian_repeats": above["repeats"],
    }


def of_ties(means: pd.Series, known: pd.DataFrame) -> Row:
    """Return what the order of classes does."""
    ends = "; ".join(
        f"{variant.table} {known.loc[(variant.table, 'GBN-BDeu'), 'accuracy']:.3f} and "
        f"{means[variant.name, 'GBN-BDeu']:.3f}"
        for variant in asides()["last"]
    )
    gbn = known.xs("GBN-BDeu", level="method")
    drawn = gbn["over_repeats"].copy()
    drawn["hayes-roth"] = means[named("hayes-roth"), "GBN-BDeu"]
    before, after = ((of_all - gbn["published"]).abs().mean() for of_all in (gbn["over_repeats"], drawn))
    return {"ties_ends": ends, "ties_after": f"{after:.4f}", "ties_before": f"{before:.4f}"}


def of_hepatitis(known: pd.DataFrame) -> Row:
    """Return how many parents features have, and how much repeats differ."""
    most = folds_of(STORE, named("hepatitis"), "ANB-BDeu")["max_parents"]
    repeats = of_repeats(STORE).unstack("method").loc[named("hepatitis")]
    words = "; ".join(
        f"{method} {repeats[method].std():.3f} and {row['se']:.3f}, {(repeats[method] < row['published']).sum()} of "
        f"{len(repeats)} repeats below the published accuracy"
        for method in ("GBN-BDeu", "ANB-BDeu")
        for row in [known.loc[("hepatitis", method)]]
    )
    return {
        "hepatitis_least": f"{most.min():.0f}",
        "hepatitis_most": f"{most.max():.0f}",
        "hepatitis_figures": words,
    }


def of_pendigits(means: pd.Series, known: pd.DataFrame) -> Row:
    """Return what other cuts do."""
    repeats = of_repeats(FIRST_STORE).loc["pendigits"].unstack("method")
    row = known.loc["pendigits"]
    below = ", ".join(
        f"{method} {(repeats[method] < row.loc[method, 'published']).sum()}" for method in ("NaiveBayes", *EXACT)
    )
    by_cut = "; ".join(
        f"{variant.words}: {means[variant.name, 'ANB-BDeu']:.4f} and {means[variant.name, 'NaiveBayes']:.4f}"
        for variant in asides()["pendigits"]
    )
    return {
        "pendigits_repeats": len(repeats),
        "pendigits_below": below,
        "pendigits_by_cut": by_cut,
        "pendigits_anb": f"{row.loc['ANB-BDeu', 'accuracy']:.4f}",
        "pendigits_nb": f"{row.loc['NaiveBayes', 'accuracy']:.4f}",
        "pendigits_anb_published": f"{row.loc['ANB-BDeu', 'published']:.4f}",
        "pendigits_nb_published": f"{row.loc['NaiveBayes', 'published']:.4f}",
    }


def of_spect(known: pd.DataFrame) -> Row:
    """Return how much repeats differ if folds look at the class, and if they do not."""
    repeats = of_repeats(STORE).unstack("method").loc[named("spect")]
    words = "; ".join(
        f"{method} {known.loc[('spect', method), 'repeat_sd']:.4f} and {repeats[method].std():.4f}"
        for method in ("NaiveBayes", *EXACT)
    )
    return {"spect_figures": words}


def of_bank(means: pd.Series, row: pd.Series) -> Row:
    """Return what each change does."""
    fewer = "; ".join(
        f"{columns_of(variant.words)} {means[variant.name, 'NaiveBayes']:.4f}" for variant in asides()["bank"]
    )
    return {
        "bank_fewer": fewer,
        "bank_all": f"{means[named('bank'), 'NaiveBayes']:.4f}",
        "bank_published": f"{row['published']:.4f}",
        "bank_table1": f"{row['accuracy']:.4f}",
        "bank_se": f"{row['se']:.4f}",
    }


def of_mushroom(published: pd.Series) -> Row:
    """Return what makes its networks smaller, and what does not."""
    here = folds_of(FIRST_STORE, "mushroom", "GBN-BDeu")
    nats = stored(few_children.STORE, KEYS)
    said = (1 - published["mushroom", "GBN-BDeu"]) * here.loc[here["repeat"] == 0, "rows"].sum()
    others = "; ".join(
        f"{variant.words}: {wrong:.0f} wrong, blanket {rows['blanket'].mean():.1f}"
        for variant in asides()["mushroom"]
        for rows in [folds_of(STORE, variant.name, "GBN-BDeu")]
        for wrong in [((1 - rows["accuracy"]) * rows["rows"]).sum()]
    )
    return {
        "mushroom_children": f"{here['class_children'].mean():.1f}",
        "mushroom_blanket": f"{here['blanket'].mean():.1f}",
        "mushroom_bounds": ", ".join(
            f"{nats[f'most {k}'].min():.0f} with at most {k}" for k in few_children.CHILDREN
        ),
        "mushroom_wrong": f"{said:.0f}",
        "mushroom_others": others,
    }


def of_sizes(means: pd.Series, known: pd.DataFrame) -> Row:
    """Return what the equivalent sample size of fsANB does."""
    names = {variant.table: variant.name for variant in asides()["sizes"]}
    fsanb = known.xs("fsANB-BDeu", level="method")
    chosen = pd.Series({table: means[name, "fsANB-BDeu"] for table, name in names.items()})
    letter = fsanb.loc["letter"]
    return {
        "sizes_letter": f"{chosen['letter']:.4f}",
        "sizes_letter_table1": f"{letter['accuracy']:.4f}",
        "sizes_letter_published": f"{letter['published']:.4f}",
        "sizes_tables": len(chosen),
        "sizes_after": f"{(chosen - fsanb['published']).abs().mean():.4f}",
        "sizes_before": f"{fsanb['difference'].abs().mean():.4f}",
    }


def of_cuts(means: pd.Series, known: pd.DataFrame) -> Row:
    """Return what becomes of values that are equal to the median."""
    by_table = "; ".join(
        f"{variant.table} {means[variant.name, 'NaiveBayes']:.4f} (published {row['published']:.4f}, here "
        f"{row['accuracy']:.4f})"
        for variant in asides()["above"]
        for row in [known.loc[(variant.table, "NaiveBayes")]]
    )
    return {"cuts_by_table": by_table}
