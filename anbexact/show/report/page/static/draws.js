"use strict";
/* Intervals of the class posterior: what tables estimated from few rows leave open. The rows of a table have
   independent Dirichlet posteriors, whose parameters are the row's means times its total. Tables are drawn from them,
   exactly and independently, and all draws are eliminated at once: the class axis of every factor has one entry for
   each class and draw. */
const anbexactDraws = (() => {
  const DRAWS = 1000, FEWEST = 200;
  const MOST_GAMMAS = 6e5, MOST_CELLS = 1.5e6;  // of all draws together: a tenth of a second each

  /* Uniform numbers in (0, 1), always the same ones (sfc32). */
  function uniforms(seed) {
    let a = 0x9e3779b9, b = 0x243f6a88, c = 0xb7e15162, d = seed | 0;
    const next = () => {
      const sum = (a + b + d) | 0;
      d = (d + 1) | 0;
      a = b ^ (b >>> 9);
      b = (c + (c << 3)) | 0;
      c = (((c << 21) | (c >>> 11)) + sum) | 0;
      return ((sum >>> 0) + 0.5) / 4294967296;
    };
    for (let k = 0; k < 15; k++) next();
    return next;
  }

  /* Logarithms of Gamma variables (Marsaglia and Tsang, 2000): of Gamma(a + 1), times the a-th root of a uniform one,
     which has a logarithm for the smallest a. */
  function logGammas(uniform) {
    let spare = NaN;
    const normal = () => {
      if (spare === spare) { const kept = spare; spare = NaN; return kept; }
      const radius = Math.sqrt(-2 * Math.log(uniform())), angle = 2 * Math.PI * uniform();
      spare = radius * Math.sin(angle);
      return radius * Math.cos(angle);
    };
    return (a) => {
      const d = a + 2 / 3, c = 1 / Math.sqrt(9 * d);
      for (;;) {
        const x = normal(), root = 1 + c * x, v = root * root * root;
        if (v > 0 && Math.log(uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) {
          return Math.log(d * v) + Math.log(uniform()) / a;
        }
      }
    };
  }

  function freeParents(family, evidence, net) {
    const parents = family.child === net.target ? family.scope : family.scope.slice(1);
    return parents.filter((v) => evidence[v] < 0);
  }

  /* Gamma variables that one draw of a family takes. */
  function gammas(family, evidence, net) {
    const rows = anbexactEngine.cells(freeParents(family, evidence, net), net.sizes);
    if (family.child === net.target) return rows * net.classes;
    return rows * (family.withClass ? net.classes : 1) * (evidence[family.child] >= 0 ? 2 : net.sizes[family.child]);
  }

  /* The draws of a family at the observed states, as a factor: of every free cell the classes, of each the draws. */
  function drawn(family, evidence, net, draws, logGamma) {
    const { strides, cells, walk } = anbexactEngine, s = net.classes, child = family.child;
    const isClass = child === net.target, known = !isClass && evidence[child] >= 0;
    const parents = isClass ? family.scope : family.scope.slice(1), free = freeParents(family, evidence, net);
    const own = strides(family.scope, net.sizes, family.withClass ? s : 1);
    const ofTotals = strides(parents, net.sizes, family.withClass && !isClass ? s : 1);
    const offsets = [own.slice(isClass ? 0 : 1), ofTotals];
    const start = offsets.map((of) => parents.reduce((sum, v, k) => sum + of[k] * Math.max(evidence[v], 0), 0));
    const steps = offsets.map((of) => free.map((v) => of[parents.indexOf(v)]));
    const rows = cells(free, net.sizes), states = isClass ? s : net.sizes[child];
    const apart = isClass ? 1 : own[0], between = isClass ? draws : rows * s * draws;
    const scope = isClass || known ? free : [child, ...free];
    const logs = new Float64Array(cells(scope, net.sizes) * s * draws), values = new Float64Array(states);

    function fillRow(means, total, place) {
      if (known) {
        const mean = Math.exp(family.logs[means + apart * evidence[child]]);
        for (let d = 0; d < draws; d++) {
          const of = logGamma(total * mean), others = mean < 1 ? logGamma(total * (1 - mean)) : -Infinity;
          const gap = others - of;
          logs[place + d] = gap > 40 ? -gap : -Math.log1p(Math.exp(gap));
        }
        return;
      }
      for (let d = 0; d < draws; d++) {
        let top = -Infinity, sum = 0;
        for (let k = 0; k < states; k++) {
          values[k] = logGamma(total * Math.exp(family.logs[means + apart * k]));
          if (values[k] > top) top = values[k];
        }
        for (let k = 0; k < states; k++) sum += Math.exp(values[k] - top);
        for (let k = 0; k < states; k++) logs[place + between * k + d] = values[k] - top - Math.log(sum);
      }
    }

    function repeat(place) {
      for (let k = 0; k < (known ? 1 : states); k++) {
        for (let c = 1; c < s; c++) logs.copyWithin(place + between * k + c * draws, place + between * k, place + between * k + draws);
      }
    }

    walk(free, net.sizes, steps, (row, [means, totals]) => {
      const place = row * s * draws;
      for (let c = 0; c < (family.withClass && !isClass ? s : 1); c++) {
        fillRow(start[0] + means + c, family.totals[start[1] + totals + c], place + c * draws);
      }
      if (!family.withClass) repeat(place);
    });
    return { child, scope, withClass: true, logs };
  }

  function quantile(sorted, share) {
    const at = share * (sorted.length - 1), below = Math.floor(at), above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
  }

  /* Intervals of P(class | evidence), as much being left out on either side.

     Returns {status, draws, low, high}: status "ok"; "none" if the tables have no posterior, or the class is known;
     "large" if drawing would take too long. */
  function intervals(net, evidence, mass = 0.95, most = DRAWS, seed = 1) {
    const families = anbexactEngine.needed(net, evidence), s = net.classes;
    if (evidence[net.target] >= 0 || s < 2 || !families.every((family) => family.totals)) return { status: "none" };
    const work = families.reduce((sum, family) => sum + gammas(family, evidence, net), 0);
    const { total } = anbexactEngine.plan(families.map((family) => anbexactEngine.restricted(family, evidence, net)), net);
    const draws = Math.floor(Math.min(most, MOST_GAMMAS / work, MOST_CELLS / Math.max(total, 1)));
    if (draws < Math.min(FEWEST, most)) return { status: "large" };
    const logGamma = logGammas(uniforms(seed));
    const factors = families.map((family) => drawn(family, evidence, net, draws, logGamma));
    const { root } = anbexactEngine.collect(factors, evidence, { ...net, classes: s * draws });
    const shares = Array.from({ length: s }, () => new Float64Array(draws));
    for (let d = 0; d < draws; d++) {
      let top = -Infinity, sum = 0;
      for (let c = 0; c < s; c++) top = Math.max(top, root.logs[c * draws + d]);
      for (let c = 0; c < s; c++) sum += Math.exp(root.logs[c * draws + d] - top);
      for (let c = 0; c < s; c++) shares[c][d] = Math.exp(root.logs[c * draws + d] - top) / sum;
    }
    shares.forEach((of) => of.sort());
    const tail = (1 - mass) / 2;
    return { status: "ok", draws, low: shares.map((of) => quantile(of, tail)), high: shares.map((of) => quantile(of, 1 - tail)) };
  }

  return { intervals, logGammas, uniforms };
})();
if (typeof module !== "undefined") module.exports = anbexactDraws;
