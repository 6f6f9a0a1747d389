"""Time of greedy searches, and of one step by conditional likelihood against scoring every graph from scratch.

Target: the seconds of ``CASES`` and, with ``--full``, ``SLOW``. Takes a quarter of a minute, with ``--full`` some
minutes.
"""

from anbexact import DiscreteTable
from anbexact.rivals.mc_dag_search import learn_mc_dag
from anbexact.scores import CLL, CMDL, BDeu
from anbexact.search import learn_greedy_gbn
from benchmarks.harness.output import show
from benchmarks.harness.run import Run
from benchmarks.harness.timing import seconds

SEARCHES = {
    "hill climbing, BDeu": lambda table: learn_greedy_gbn(table, BDeu()),
    "hill climbing, CMDL": lambda table: learn_greedy_gbn(table, CMDL()),
    "BNC2P": lambda table: learn_greedy_gbn(table, CLL(), max_parents=2),
    "MC-DAG, 2 parents": lambda table: learn_mc_dag(table, max_parents=2),
    "MC-DAG": learn_mc_dag,
}
CASES = {
    ("letter", "hill climbing, BDeu"): 1.0,
    ("bank", "hill climbing, BDeu"): 3.0,
    ("vehicle-like", "hill climbing, CMDL"): 10.0,
    ("vehicle-like", "BNC2P"): 10.0,
    ("segment", "MC-DAG, 2 parents"): 60.0,
    ("segment", "MC-DAG"): 60.0,
}
SLOW = {("letter", "hill climbing, CMDL"): 60.0, ("letter", "BNC2P"): 60.0, ("letter", "MC-DAG"): 60.0}
"""Table and search, and the target in seconds."""


def main(run: Run) -> None:
    """Time every case; by conditional likelihood, beside what its structures would take one by one."""
    rows = []
    for (name, search), target in (CASES | SLOW if run.full else CASES).items():
        X, y, source = run.load(name, cut=True)
        table = DiscreteTable.from_frame(X, y)
        learn = SEARCHES[search]
        structure = learn(table)
        scored = structure.certificate.sets_scored
        took = seconds(learn, table)
        row = {
            "table": name,
            "source": source,
            "search": search,
            "seconds": took,
            "target s": target,
            "arcs": len(structure.edges),
            "scored": scored,
        }
        if search != "hill climbing, BDeu":
            one = seconds(CLL().structure_score, table, structure.parents, repeats=3)
            row["from scratch / search"] = one * scored / took
        rows.append(row)
    show(rows)
