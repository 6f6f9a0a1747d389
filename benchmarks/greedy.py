"""Time of greedy searches, and of one step by conditional likelihood against scoring every graph from scratch."""

from tables import load, seconds

from anbexact import DiscreteTable
from anbexact.scores import CLL, CMDL, BDeu
from anbexact.search import learn_greedy_gbn
from anbexact.search.greedy.mc_dag import learn_mc_dag

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


def run(*, full: bool) -> list[dict[str, object]]:
    """Time every case; by conditional likelihood, beside what its structures would take one by one."""
    rows: list[dict[str, object]] = []
    for (name, search), target in (CASES | SLOW if full else CASES).items():
        X, y, source = load(name, cut=True)
        table = DiscreteTable.from_frame(X, y)
        learn = SEARCHES[search]
        structure = learn(table)
        scored = structure.certificate.sets_scored
        took = seconds(lambda table=table, learn=learn: learn(table), 5)
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
            one = seconds(lambda table=table, parents=structure.parents: CLL().structure_score(table, parents), 3)
            row["from scratch / search"] = one * scored / took
        rows.append(row)
    return rows
