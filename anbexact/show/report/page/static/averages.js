"use strict";
/* Exact inference in an average of estimators, in each of which one feature (AODE) or two (A2DE), its roots, are
   parents of all others, as the class is. An estimator counts if its roots are in states that have one; if no feature
   is in such a state, naive Bayes stands in. Given the states of its roots and the class, features are independent, so
   that all posteriors are sums over the states of the roots. The interface is that of the engine. */
const anbexactAverages = (() => {
  const MOST_CELLS = 4e6;
  const { decodedNumbers, strides, cells, logSum, contributions, ...shared } = anbexactEngine;

  /* Tables of weights become logarithms, found by their features, ascending; the class is their last axis. */
  function network(description) {
    const sizes = description.variables.map((variable) => variable.states.length), { target } = description;
    const classes = sizes[target], { dependence, tables, admitted } = description.average;
    const byScope = new Map(tables.map((table) => {
      const logs = Float64Array.from(decodedNumbers(table, "weights"), (weight) => Math.log(weight + table.prior));
      return [table.scope.join(), { scope: table.scope, logs, steps: strides(table.scope, sizes, classes) }];
    }));
    const features = sizes.map((_, v) => v).filter((v) => v !== target);
    const net = { average: true, sizes, target, classes, features, byScope };
    net.admitted = sizes.map((size, v) => admitted[v] || new Array(size).fill(false));
    net.estimators = subsets(features, Math.min(dependence, features.length))
      .map((roots) => estimator(net, roots, features.filter((v) => !roots.includes(v))));
    net.fallback = dependence === 1 && features.every((v) => !net.admitted[v].every(Boolean));
    return net;
  }

  function subsets(items, size) {
    if (size === 0) return [[]];
    return items.flatMap((item, k) => subsets(items.slice(k + 1), size - 1).map((rest) => [item, ...rest]));
  }

  function estimator(net, roots, others) {
    const leaves = others.map((v) => {
      const table = net.byScope.get([...roots, v].sort((a, b) => a - b).join());
      const step = (of) => table.steps[table.scope.indexOf(of)];
      return { v, logs: table.logs, own: step(v), ofRoots: roots.map(step) };
    });
    return { roots, base: net.byScope.get(roots.join()), leaves };
  }

  /* Visit the states of the roots that the evidence allows and that have an estimator. */
  function eachState(net, roots, evidence, visit) {
    const states = roots.map((v) => Math.max(evidence[v], 0));
    for (;;) {
      if (roots.every((v, k) => net.admitted[v][states[k]])) visit(states);
      let k = roots.length - 1;
      while (k >= 0 && (evidence[roots[k]] >= 0 || states[k] === net.sizes[roots[k]] - 1)) {
        states[k] = Math.max(evidence[roots[k]], 0);
        k--;
      }
      if (k < 0) return;
      states[k]++;
    }
  }

  function offset(steps, states) {
    return steps.reduce((sum, step, k) => sum + step * states[k], 0);
  }

  /* All terms of the average given evidence: of every estimator and state of its roots, ln P(class, evidence). */
  function terms(net, evidence) {
    const found = [];
    for (const { roots, base, leaves } of net.estimators) {
      const known = leaves.filter(({ v }) => evidence[v] >= 0), free = leaves.filter(({ v }) => evidence[v] < 0);
      eachState(net, roots, evidence, (states) => {
        const start = offset(base.steps, states), logs = base.logs.slice(start, start + net.classes);
        for (const { v, logs: ofLeaf, own, ofRoots } of known) {
          const place = offset(ofRoots, states) + own * evidence[v];
          for (let c = 0; c < net.classes; c++) logs[c] += ofLeaf[place + c] - base.logs[start + c];
        }
        found.push({ roots, states: states.slice(), logs, free, base: base.logs.slice(start, start + net.classes) });
      });
    }
    return found;
  }

  /* The states of a feature that have no estimator, with P(state | class) in logarithms. */
  function left(net, v) {
    const prior = net.byScope.get("").logs, { logs } = net.byScope.get(String(v)), s = net.classes;
    return net.admitted[v].flatMap((has, k) => (
      has ? [] : [{ k, logs: Array.from(prior, (value, c) => logs[k * s + c] - value) }]
    ));
  }

  /* Naive Bayes in the states that have no estimator: ln P(class, evidence), and what is left of free features. */
  function fallbackTerm(net, evidence) {
    if (!net.fallback || net.features.some((v) => evidence[v] >= 0 && net.admitted[v][evidence[v]])) return null;
    const logs = net.byScope.get("").logs.slice(), rest = new Map();
    for (const v of net.features) {
      const states = left(net, v).filter(({ k }) => evidence[v] < 0 || k === evidence[v]);
      for (let c = 0; c < net.classes; c++) logs[c] += logSum(states.map((state) => state.logs[c]));
      if (evidence[v] < 0) rest.set(v, states);
    }
    return { logs, rest };
  }

  function allTerms(net, evidence) {
    const found = terms(net, evidence), fallback = fallbackTerm(net, evidence), known = evidence[net.target];
    const all = fallback ? [...found, fallback] : found;
    if (known >= 0) for (const { logs } of all) logs.forEach((_, c) => { if (c !== known) logs[c] = -Infinity; });
    return { found, fallback, all };
  }

  function sums(net, all) {
    return Array.from({ length: net.classes }, (_, c) => logSum(all.map(({ logs }) => logs[c])));
  }

  /* ln P(class, evidence), up to a constant. */
  function classLogs(net, evidence) {
    return sums(net, allTerms(net, evidence).all);
  }

  /* As the engine's posteriors, but logEvidence is up to a constant. */
  function posteriors(net, evidence) {
    const { found, fallback, all } = allTerms(net, evidence), s = net.classes;
    const logs = sums(net, all), total = logSum(logs);
    if (total === -Infinity) return { status: "impossible", joint: null };
    const classes = logs.map((value) => Math.exp(value - total));
    const work = found.reduce((sum, { free }) => sum + free.reduce((own, { v }) => own + net.sizes[v], 0) * s, 0);
    if (work > MOST_CELLS) return { status: "class", logEvidence: total, classes, joint: null };
    const joint = net.sizes.map((size, v) => (v === net.target || evidence[v] >= 0 ? null : new Float64Array(size * s)));
    for (const { roots, states, logs: own, free, base } of found) {
      roots.forEach((v, k) => {
        if (joint[v]) for (let c = 0; c < s; c++) joint[v][states[k] * s + c] += Math.exp(own[c] - total);
      });
      for (const { v, logs: ofLeaf, own: step, ofRoots } of free) {
        const start = offset(ofRoots, states);
        for (let k = 0; k < net.sizes[v]; k++) {
          for (let c = 0; c < s; c++) joint[v][k * s + c] += Math.exp(own[c] - total + ofLeaf[start + k * step + c] - base[c]);
        }
      }
    }
    if (fallback) fallback.rest.forEach((states, v) => addLeft(joint[v], states, fallback.logs, total, s));
    return { status: "ok", logEvidence: total, classes, joint };
  }

  function addLeft(joint, states, logs, total, s) {
    for (let c = 0; c < s; c++) {
      const all = logSum(states.map((state) => state.logs[c]));
      for (const state of states) joint[state.k * s + c] += Math.exp(logs[c] - total + state.logs[c] - all);
    }
  }

  return {
    ...shared, network, posteriors, classLogs,
    contributions: (net, evidence, label, against) => contributions(net, evidence, label, against, classLogs),
    shapley: () => null,
    reason: () => ({ status: "average" }),
  };
})();
if (typeof module !== "undefined") module.exports = anbexactAverages;
