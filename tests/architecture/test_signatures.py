"""Functions take few parameters: what belongs together is passed as one value."""

import ast

from sources import SOURCES, package_of, tree

MOST, MOST_IN_KERNELS = 8, 12
DOCUMENTED = {
    "anbexact.search.posterior.leave_one_out.relearned_leave_one_out",
    "anbexact.search.posterior.near_optimal.near_optimal",
    "anbexact.search.posterior.structure_posterior.structure_posterior",
    "anbexact.compare.compare",
    "anbexact.models.logit.model.refit",
    "anbexact.scorecards.making.to_scorecard",
    "anbexact.show.report.making.model_card",
    "anbexact.show.report.making.report",
    *(f"anbexact.search.{place}.{name}" for place, name in (
        ("exact.class_parameters", "learn_mcp"),
        ("exact.learn", "learn_anb"), ("exact.learn", "learn_gbn"), ("greedy.hill_climbing", "learn_greedy_gbn"),
        ("trees.k_graph", "learn_ckg"),
    )),
}  # fmt: skip
"""Functions of users: their keywords are the documented options of a search, a refit or a comparison."""


def functions(parent, in_class=False):
    """Yield all functions but constructors, with the number of their parameters, ``self`` not counted."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.FunctionDef):
            args = node.args
            names = [arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
            bound = in_class and names[:1] in (["self"], ["cls"])
            if node.name != "__init__":
                yield node.name, len(names) - bound + bool(args.vararg) + bool(args.kwarg)
            yield from functions(node)
        else:
            yield from functions(node, in_class or isinstance(node, ast.ClassDef))


def test_functions_take_few_parameters():
    many = {
        f"{module}.{name}"
        for module in SOURCES
        for name, count in functions(tree(module))
        if count > (MOST_IN_KERNELS if package_of(module) == "_kernels" else MOST)
    }
    assert many <= DOCUMENTED
