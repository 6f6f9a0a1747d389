"""What evidence panels compute, run by node."""

import json
import subprocess
from importlib.resources import files

import pytest

from anbexact.show.report.evidence_panel import described

ENGINE, DRAWS, AVERAGES = (
    files("anbexact.show.report.page").joinpath("static", name) for name in ("engine.js", "draws.js", "averages.js")
)
RUN = """
global.anbexactEngine = require(process.argv[1]);
const averages = require(process.argv[3]);
const jobs = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(jobs.map(({ network, evidence, costs }) => {
  const engine = network.average ? averages : anbexactEngine;
  const net = engine.network(network);
  return evidence.map((of) => {
    const found = engine.posteriors(net, of);
    const joint = found.joint && found.joint.map((values) => values && Array.from(values));
    const [label, against] = [0, net.classes - 1];
    const best = found.classes ? found.classes.indexOf(Math.max(...found.classes)) : 0;
    const order = of.map((_, v) => v).filter((v) => of[v] >= 0 && v !== net.target);
    const reason = found.classes ? engine.reason(net, of, best, order) : null;
    const expected = found.classes && costs ? engine.expectedCosts(found.classes, costs) : null;
    const savings = joint && costs ? joint.map((p) => p && engine.saving(p, found.classes, costs)) : null;
    const changes = engine.contributions(net, of, label, against);
    const of_pair = engine.shapley(net, of, label, against);
    const shapley = of_pair && { ...of_pair, values: [...of_pair.values] };
    return { ...found, joint, best, reason, expected, savings, changes, shapley };
  });
})));
"""
needs_node = pytest.mark.real("node")


def in_node(*jobs, costs=None, run=RUN):
    """Return what the engine says of networks, or of what a page has of a classifier, given evidence."""
    of_jobs = (
        {"network": of if isinstance(of, dict) else described(of), "evidence": evidence, "costs": costs}
        for of, evidence in jobs
    )
    text = json.dumps(list(of_jobs))
    done = subprocess.run(
        ["node", "-e", run, str(ENGINE), str(DRAWS), str(AVERAGES)],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)
