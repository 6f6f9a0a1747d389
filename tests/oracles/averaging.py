"""Averages over all graphs."""

from math import comb, log

from oracles.graphs import orders_of
from oracles.networks import eap, log_joint
from oracles.tables import log_sum


def graph_weights(all_graphs, local, prior):
    """Logarithms of prior times likelihood of every graph (parents by variable), in the order given.

    By the prior "orders", a graph counts once for each of its orders, and a set of k of the n - 1 other variables has
    the weight 1 / C(n - 1, k); otherwise all graphs have the same prior.
    """
    weights = []
    for graph in all_graphs:
        total = sum(local(v, tuple(parents)) for v, parents in graph.items())
        if prior == "orders":
            total += log(orders_of(graph)) - sum(
                log(comb(len(graph) - 1, len(parents))) for parents in graph.values()
            )
        weights.append(total)
    return weights


def averaged_predictive(all_graphs, log_weights, problem, ess, evidence):
    """Ln P(c, evidence) for every class, averaged over graphs of the features in which the class is a parent of all.

    ``problem`` has rows (the class last), weights and arities; ``log_weights`` are ln of the graphs' posterior
    weights; ``evidence`` maps observed features to states.
    """
    rows, weights, arities = problem
    class_ = len(arities) - 1
    log_joints = []
    for graph, log_weight in zip(all_graphs, log_weights, strict=True):
        families = {class_: (), **{v: (class_, *parents) for v, parents in graph.items()}}
        tables = {v: (parents, eap(rows, weights, arities, v, parents, ess)) for v, parents in families.items()}
        joint = log_joint(tables, arities, class_, evidence)
        log_joints.append([log_weight - log_sum(log_weights) + value for value in joint])
    return [log_sum(values) for values in zip(*log_joints, strict=True)]
