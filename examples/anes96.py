"""Who voted for Dole? A survey of the 1996 US election, read through a naive Bayes network made a regression.

A network classifier is learned from 944 respondents, turned into the logistic regression with the same posterior, and
refitted by conditional likelihood without a prior, so that statsmodels can give standard errors and tests. The script
prints statsmodels' summary and then says in words what the strongest terms mean; every figure in these sentences
is computed. A tree (TAN) is tried first. If it separates the classes, so that the likelihood has no maximum, naive
Bayes takes its place.

    python examples/anes96.py
"""

from __future__ import annotations

import textwrap
import warnings
from math import exp

import numpy as np
import pandas as pd

from anbexact import NaiveBayesClassifier, TANClassifier
from anbexact.adapters import LogitModel, to_logit
from anbexact.datasets import load_anes96

PEOPLE = {
    "PID": "a respondent who is {}",
    "selfLR": "a respondent who calls themselves {}",
    "ClinLR": "a respondent who thinks Clinton {}",
    "DoleLR": "a respondent who thinks Dole {}",
    "TVnews": "a respondent who watches the TV news on {} days a week",
    "popul": "a respondent from a town of {} thousand",
    "age": "a respondent aged {}",
    "educ": "a respondent with the education '{}'",
    "income": "a respondent with an income of {}",
}
SHOWN = 6
"""Terms that are read aloud, at most `OF_FEATURE` of one feature."""
OF_FEATURE = 2


def choose() -> tuple[LogitModel, LogitModel]:
    """Return the richest model whose likelihood has a maximum: as it was learned, and refitted."""
    X, y = load_anes96()
    for classifier in (TANClassifier(discretizer="median"), NaiveBayesClassifier()):
        name = type(classifier).__name__
        generative = to_logit(classifier.fit(X, y))
        refitted = generative.refit(X, y, l2=0)
        if refitted.refitted.fit.converged:
            before, after = generative.log_likelihood(X, y), refitted.log_likelihood(X, y)
            say(
                f"{name}: the conditional log likelihood rises from {before:.1f} as learned to {after:.1f} refitted, "
                f"with {refitted.n_parameters} coefficients for {len(y)} respondents. This model is read below."
            )
            return generative, refitted
        example = (refitted.separated_terms or ["unknown where"])[0]
        say(f"{name}: not used. Without a prior it has no finite maximum, as it separates the classes ({example}).")
    raise SystemExit("every model separates the classes")


def terms(model: LogitModel, generative: LogitModel) -> pd.DataFrame:
    """Return the terms of one feature with their coefficients, intervals, p-values, and what the network had."""
    result = model.result()
    low, high = np.asarray(result.conf_int()).reshape(-1, 2).T
    frame = pd.DataFrame(
        {
            "beta": np.asarray(result.params).ravel(),
            "low": low,
            "high": high,
            "z": np.asarray(result.tvalues).ravel(),
            "p": np.asarray(result.pvalues).ravel(),
        },
        index=result.model.exog_names,
    )
    frame = frame.join(model.terms).join(generative.to_frame().iloc[:, 0].rename("generative"))
    return frame[frame["variables"].map(len) == 1]


def number(value: float) -> str:
    """Return three significant digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def person(feature: str, state: object) -> str:
    """Return words for who has this state."""
    shown = f"{state}"
    if feature == "PID":
        shown = ("an " if shown[0] in "aeiou" else "a ") + shown
    return PEOPLE[feature].format(shown)


def read_aloud(term: pd.Series, model: LogitModel) -> str:
    """Return a sentence for one term: the odds ratio of its state against the first, towards the likelier class."""
    ((feature,), (state,)) = term["variables"], term["states"]
    reference = model.vocabulary.states[feature][0]
    first, second = model.classes_
    low, high = (term["low"], term["high"]) if term["beta"] > 0 else (-term["high"], -term["low"])
    voted = second if term["beta"] > 0 else first
    sign = 1 if term["beta"] > 0 else -1
    says = sign * term["generative"]
    network = f"{number(exp(says))} times" if says > 0 else f"only {number(exp(says))} times"
    return (
        f"All other answers alike, {person(feature, state)} has {number(exp(abs(term['beta'])))} times the odds of "
        f"voting {voted} that {person(feature, reference)} has (95 % CI {number(exp(low))} to {number(exp(high))}, "
        f"p = {term['p']:.2g}). The network as it was learned says {network}."
    )


def caution(found: pd.DataFrame, model: LogitModel) -> None:
    """Print what the table must not be read to say."""
    clear = found["p"] < 0.05
    features = found["variables"].map(lambda names: names[0])
    silent = [name for name in dict.fromkeys(features) if not clear[features == name].any()]
    say(
        f"{int((~clear).sum())} of the {len(found)} terms are not significant at 5 %. If nothing mattered, "
        f"{0.05 * len(found):.0f} would be significant by chance. None of the terms of {', '.join(silent)} is: that "
        "is no proof that these do not matter, only that this survey, with the other answers known, does not show it."
    )
    widest = found.loc[(found["high"] - found["low"]).idxmax()]
    feature, state = widest["variables"][0], widest["states"][0]
    answers = load_anes96()[0][feature]
    reference = model.vocabulary.states[feature][0]
    say(
        f"The least certain term is {feature} = {state}: the odds may be {number(exp(widest['low']))} or "
        f"{number(exp(widest['high']))} times those of the reference, {reference}. Behind it are "
        f"{int((answers == state).sum())} respondents, and {int((answers == reference).sum())} behind the reference. "
        "Such a point estimate should not be quoted."
    )
    nearer = int((found.loc[clear, "beta"].abs() < found.loc[clear, "generative"].abs()).sum())
    say(
        f"Of the {int(clear.sum())} significant coefficients, {nearer} are nearer to nought than the network's and "
        f"{int(clear.sum()) - nearer} further away. The network estimates each answer given the vote, by itself; the "
        "regression estimates all together, so that what two answers share counts once, and what one hides can show. "
        "Neither says what causes a vote."
    )


def say(sentence: str) -> None:
    """Print a paragraph."""
    print(textwrap.fill(sentence, 100) + "\n")


def main() -> None:
    """Learn, refit, and read aloud."""
    generative, model = choose()
    print(model.result().summary(), end="\n\n")
    found = terms(model, generative)
    significant = found[found["p"] < 0.05].sort_values("z", key=np.abs, ascending=False)
    place = significant.groupby(significant["variables"]).cumcount()
    for _, term in significant[place < OF_FEATURE].head(SHOWN).iterrows():
        say(read_aloud(term, model))
    caution(found, model)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", category=UserWarning)  # separation is said in words
    main()
