"""Time of what is chosen from the data: cut points, and equivalent sample sizes as a ratio to one fit.

Target: MDLP cuts magic in 0.3 s, and ``ess="auto"`` takes three times one fit. Takes half a minute, with ``--full``
(four more tables) a minute.
"""

from anbexact import ANBClassifier, MDLPDiscretizer, MODLDiscretizer
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds

TABLES = ("segment", "spect", "letter", "mushroom", "vehicle-like", "waveform21")
RULES = {"MDLP": (MDLPDiscretizer(), 0.3), "MODL": (MODLDiscretizer(), None)}
"""Rules for cut points, and the seconds that they may take on magic."""


def main(run: Run) -> None:
    """Time the rules for cut points, then ``ess="auto"``."""
    rows = []
    X, y, source = run.measurements()
    for name, (rule, target) in RULES.items():
        rule.fit(X[:50], y[:50])
        rows.append(
            {"what": f"{name}, magic", "source": source, "seconds": seconds(rule.fit, X, y), "target s": target}
        )
    for name in TABLES if run.full else TABLES[:2]:
        X, y, source = run.load(name, cut=True)
        one = seconds(ANBClassifier(ess=1.0).fit, X, y, repeats=3)
        auto = seconds(ANBClassifier(ess="auto").fit, X, y, repeats=3)
        rows.append(
            {
                "what": f"ess auto, {name}",
                "source": source,
                "seconds": auto,
                "one fit s": one,
                "ratio": auto / one,
                "target ratio": 3.0,
            }
        )
    show(rows)
