"use strict";
/* Exact inference in a network with a class: all posteriors given any evidence, by message passing in logarithms.
   Every factor has the class as its last axis and is eliminated towards it, so P(variable, class | evidence) is read
   off for every variable at once. No page is needed: the functions also run in other JavaScript programs. */
const anbexactEngine = (() => {
  const MOST_CELLS = 4e6;
  const LEAST_LEAD = 1e-9;  // nats by which a settled class leads: a tie settles nothing

  function decoded(text, numbers = Float64Array) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new numbers(bytes.buffer);
  }

  /* The numbers of an embedded table under a name, in singles where these are exact. */
  function decodedNumbers(table, name) {
    return table[`${name}32`] === undefined ? decoded(table[`${name}64`]) : decoded(table[`${name}32`], Float32Array);
  }

  /* A network from the tables embedded in a page: variables with their states, the place of the class among them,
     and for every variable the logarithms of its table, the axes being the variable and then its parents. Totals, one
     for every joint state of the parents, are the sums of the parameters of the table's Dirichlet posterior; null
     where it has none. */
  function network(description) {
    const sizes = description.variables.map((variable) => variable.states.length);
    const target = description.target;
    const families = description.tables.map((table) => {
      const logs = decoded(table.logs);
      const axes = table.scope.filter((v) => v !== target);
      const moved = [...axes, ...(axes.length < table.scope.length ? [target] : [])];
      return {
        child: table.scope[0], scope: axes, withClass: moved.length > axes.length,
        logs: transposed(logs, table.scope, moved, sizes),
        totals: table.totals ? transposed(
          decoded(table.totals, Float32Array), table.scope.slice(1), moved.filter((v) => v !== table.scope[0]), sizes,
        ) : null,
      };
    });
    return { sizes, target, classes: sizes[target], families, terms: termsOf(description, families, sizes) };
  }

  /* The terms of the log odds: functions of some features and the class, the last axis, with the joint distribution
     of the features in the background; null if the page has none. */
  function termsOf(description, families, sizes) {
    if (!description.terms) return null;
    return description.terms.map((term) => {
      const shares = Float64Array.from(decodedNumbers(term, "shares"));
      const total = shares.reduce((sum, share) => sum + share, 0);
      const family = families.find(({ child }) => child === term.child);
      const scope = family ? family.scope : term.scope;
      return { scope, logs: family ? family.logs : decoded(term.logs), shares: shares.map((share) => share / total) };
    });
  }

  function strides(scope, sizes, unit) {
    const found = new Array(scope.length);
    let step = unit;
    for (let k = scope.length - 1; k >= 0; k--) { found[k] = step; step *= sizes[scope[k]]; }
    return found;
  }

  function cells(scope, sizes) {
    return scope.reduce((product, v) => product * sizes[v], 1);
  }

  function transposed(values, from, to, sizes) {
    if (from.every((v, k) => v === to[k])) return values;
    const old = strides(from, sizes, 1), out = new Float64Array(values.length);
    const steps = to.map((v) => old[from.indexOf(v)]);
    walk(to, sizes, [steps], (place, [offset]) => { out[place] = values[offset]; });
    return out;
  }

  /* Visit the cells of a scope in order, with the offsets that the steps of each axis lead to in other arrays. */
  function walk(scope, sizes, steps, visit) {
    const total = cells(scope, sizes), digits = new Int32Array(scope.length), offsets = steps.map(() => 0);
    for (let place = 0; place < total; place++) {
      visit(place, offsets);
      for (let k = scope.length - 1; k >= 0; k--) {
        digits[k]++;
        for (let j = 0; j < steps.length; j++) offsets[j] += steps[j][k];
        if (digits[k] < sizes[scope[k]]) break;
        for (let j = 0; j < steps.length; j++) offsets[j] -= steps[j][k] * digits[k];
        digits[k] = 0;
      }
    }
  }

  function stepsIn(scope, factor, sizes, classes) {
    const own = strides(factor.scope, sizes, factor.withClass ? classes : 1);
    return scope.map((v) => { const k = factor.scope.indexOf(v); return k < 0 ? 0 : own[k]; });
  }

  /* Add the logs of a factor to those of a product over a larger scope. */
  function addInto(product, factor, net) {
    const s = net.classes, logs = factor.logs, out = product.logs;
    walk(product.scope, net.sizes, [stepsIn(product.scope, factor, net.sizes, s)], (place, [offset]) => {
      const start = place * s;
      if (factor.withClass) for (let c = 0; c < s; c++) out[start + c] += logs[offset + c];
      else for (let c = 0; c < s; c++) out[start + c] += logs[offset];
    });
  }

  /* The logarithms of the sums of exp(logs) over the variables that are not kept. */
  function summed(factor, kept, net) {
    const s = net.classes, size = cells(kept, net.sizes) * s;
    const top = new Float64Array(size).fill(-Infinity), sums = new Float64Array(size);
    const own = strides(kept, net.sizes, s);
    const steps = factor.scope.map((v) => { const k = kept.indexOf(v); return k < 0 ? 0 : own[k]; });
    walk(factor.scope, net.sizes, [steps], (place, [offset]) => {
      for (let c = 0; c < s; c++) {
        const value = factor.logs[place * s + c];
        if (value > top[offset + c]) top[offset + c] = value;
      }
    });
    walk(factor.scope, net.sizes, [steps], (place, [offset]) => {
      for (let c = 0; c < s; c++) {
        const value = factor.logs[place * s + c];
        if (value > -Infinity) sums[offset + c] += Math.exp(value - top[offset + c]);
      }
    });
    for (let k = 0; k < size; k++) sums[k] = sums[k] > 0 ? top[k] + Math.log(sums[k]) : -Infinity;
    return { scope: kept, withClass: true, logs: sums };
  }

  /* The factor of a family at the observed states. */
  function restricted(family, evidence, net) {
    const free = family.scope.filter((v) => evidence[v] < 0);
    if (free.length === family.scope.length) return family;
    const unit = family.withClass ? net.classes : 1;
    const own = strides(family.scope, net.sizes, unit);
    let start = 0;
    family.scope.forEach((v, k) => { if (evidence[v] >= 0) start += own[k] * evidence[v]; });
    const steps = free.map((v) => own[family.scope.indexOf(v)]);
    const logs = new Float64Array(cells(free, net.sizes) * unit);
    walk(free, net.sizes, [steps], (place, [offset]) => {
      for (let c = 0; c < unit; c++) logs[place * unit + c] = family.logs[start + offset + c];
    });
    return { scope: free, withClass: family.withClass, logs };
  }

  /* Families that matter to the class: those of observed variables, of the class, and of their ancestors. */
  function needed(net, evidence) {
    const wanted = new Set([net.target]);
    evidence.forEach((state, v) => { if (state >= 0) wanted.add(v); });
    const byChild = new Map(net.families.map((family) => [family.child, family]));
    const waiting = [...wanted];
    while (waiting.length) {
      for (const parent of byChild.get(waiting.pop()).scope) {
        if (!wanted.has(parent)) { wanted.add(parent); waiting.push(parent); }
      }
    }
    return net.families.filter((family) => wanted.has(family.child));
  }

  /* An order of elimination, smallest new factor first, with the scopes of the products and all their cells.
     What a variable costs is kept until a scope that it is in changes. */
  function plan(factors, net) {
    const near = new Map();
    const add = (scope) => scope.forEach((v) => {
      if (!near.has(v)) near.set(v, new Set());
      near.get(v).add(scope);
    });
    factors.forEach((factor) => { if (factor.scope.length) add(new Set(factor.scope)); });
    const price = (v) => {
      const union = new Set();
      near.get(v).forEach((scope) => scope.forEach((other) => union.add(other)));
      return { union, size: cells([...union], net.sizes) };
    };
    const prices = new Map([...near.keys()].sort((a, b) => a - b).map((v) => [v, price(v)]));
    const order = [], joined = [];
    let total = 0;
    while (prices.size) {
      let best = -1, fewest = Infinity;
      prices.forEach(({ size }, v) => { if (size < fewest) { best = v; fewest = size; } });
      const { union } = prices.get(best);
      total += fewest * net.classes;
      order.push(best);
      joined.push([...union].sort((a, b) => a - b));
      const gone = [...near.get(best)], rest = new Set(union);
      rest.delete(best);
      gone.forEach((scope) => scope.forEach((v) => near.get(v).delete(scope)));
      near.delete(best);
      prices.delete(best);
      if (rest.size) add(rest);
      rest.forEach((v) => prices.set(v, price(v)));
      if (total > MOST_CELLS) break;
    }
    return { order, joined, total };
  }

  function logSum(values) {
    let top = -Infinity, sum = 0;
    for (const value of values) if (value > top) top = value;
    if (top === -Infinity) return top;
    for (const value of values) sum += Math.exp(value - top);
    return top + Math.log(sum);
  }

  /* The largest logs over the variables that are not kept, for every class by itself. */
  function largest(factor, kept, net) {
    const s = net.classes, top = new Float64Array(cells(kept, net.sizes) * s).fill(-Infinity);
    const own = strides(kept, net.sizes, s);
    const steps = factor.scope.map((v) => { const k = kept.indexOf(v); return k < 0 ? 0 : own[k]; });
    walk(factor.scope, net.sizes, [steps], (place, [offset]) => {
      for (let c = 0; c < s; c++) {
        const value = factor.logs[place * s + c];
        if (value > top[offset + c]) top[offset + c] = value;
      }
    });
    return { scope: kept, withClass: true, logs: top };
  }

  /* Eliminate all free variables towards the class, by sums or by maxima; buckets keep what a pass back needs. */
  function collect(families, evidence, net, eliminated = summed) {
    const factors = families.map((family) => restricted(family, evidence, net));
    const { order, joined, total } = plan(factors, net);
    if (total > MOST_CELLS) return { total };
    const buckets = [], last = [], waiting = new Map(), used = new Set();
    const place = (factor) => {
      if (!factor.scope.length) last.push(factor);
      factor.scope.forEach((v) => waiting.has(v) ? waiting.get(v).push(factor) : waiting.set(v, [factor]));
    };
    factors.forEach(place);
    order.forEach((variable, k) => {
      const product = {
        scope: joined[k], withClass: true, logs: new Float64Array(cells(joined[k], net.sizes) * net.classes),
      };
      const bucket = { variable, product, children: [], message: null };
      for (const factor of waiting.get(variable)) {
        if (used.has(factor)) continue;
        used.add(factor);
        addInto(product, factor, net);
        if (factor.bucket) bucket.children.push(factor.bucket);
      }
      bucket.message = eliminated(product, joined[k].filter((v) => v !== variable), net);
      bucket.message.bucket = bucket;
      place(bucket.message);
      buckets.push(bucket);
    });
    const root = { scope: [], withClass: true, logs: new Float64Array(net.classes) };
    for (const factor of last) addInto(root, factor, net);
    const known = evidence[net.target];
    if (known >= 0) root.logs.forEach((_, c) => { if (c !== known) root.logs[c] = -Infinity; });
    return { buckets, root, roots: last.filter((factor) => factor.bucket).map((factor) => factor.bucket) };
  }

  function without(belief, message) {
    /* Where the message is -Infinity, all that it is multiplied with is impossible, whatever stands here. */
    return belief.map((value, k) => (message[k] === -Infinity ? 0 : value - message[k]));
  }

  /* P(class, evidence) in logarithms; null if the elimination is too large. */
  function classLogs(net, evidence) {
    const found = collect(needed(net, evidence), evidence, net);
    return found.root ? found.root.logs : null;
  }

  function normalised(logs) {
    const total = logSum(logs);
    return total === -Infinity ? null : Array.from(logs, (value) => Math.exp(value - total));
  }

  /* All posteriors given evidence: an array with a state for every variable, -1 where it is not observed.

     Returns {status, logEvidence, classes, joint}: status "ok"; "class" if only the class fits, so that joint is
     null; "large" if nothing does; "impossible" for evidence of probability 0. joint[v] is an array of
     P(state, class | evidence), the class fastest, null for observed variables and for the class itself. */
  function posteriors(net, evidence) {
    const found = collect(net.families, evidence, net);
    if (!found.root) {
      const logs = classLogs(net, evidence);
      if (!logs) return { status: "large", joint: null };
      const shares = normalised(logs);
      if (!shares) return { status: "impossible", joint: null };
      return { status: "class", logEvidence: logSum(logs), classes: shares, joint: null };
    }
    const total = logSum(found.root.logs);
    if (total === -Infinity) return { status: "impossible", joint: null };
    const joint = net.sizes.map(() => null);
    for (const bucket of found.roots) bucket.down = without(found.root.logs, bucket.message.logs);
    for (let k = found.buckets.length - 1; k >= 0; k--) {
      const bucket = found.buckets[k];
      addInto(bucket.product, { scope: bucket.message.scope, withClass: true, logs: bucket.down }, net);
      for (const child of bucket.children) {
        const passed = summed(bucket.product, child.message.scope, net);
        child.down = without(passed.logs, child.message.logs);
      }
      const own = summed(bucket.product, [bucket.variable], net).logs;
      joint[bucket.variable] = own.map((value) => Math.exp(value - total));
    }
    return { status: "ok", logEvidence: total, classes: normalised(found.root.logs), joint };
  }

  /* P(state | evidence) from P(state, class | evidence). */
  function marginal(joint, classes) {
    const shares = new Array(joint.length / classes).fill(0);
    joint.forEach((p, k) => { shares[Math.floor(k / classes)] += p; });
    return shares;
  }

  /* Mutual information of a variable and the class given the evidence, in nats: the expected gain of asking it. */
  function information(joint, shares) {
    const own = marginal(joint, shares.length);
    let gain = 0;
    joint.forEach((p, k) => {
      if (p > 0) gain += p * Math.log(p / (own[Math.floor(k / shares.length)] * shares[k % shares.length]));
    });
    return Math.max(gain, 0);
  }

  /* By how much each finding raises ln P(label) / P(against): the log odds less those without the finding.
     An entry is null where that elimination is too large, or the odds are not finite. */
  function contributions(net, evidence, label, against, logsOf = classLogs) {
    const odds = (of) => {
      const logs = logsOf(net, of);
      return logs ? logs[label] - logs[against] : NaN;
    };
    const all = odds(evidence);
    const found = [];
    evidence.forEach((state, v) => {
      if (state < 0 || v === net.target) return;
      const fewer = evidence.slice();
      fewer[v] = -1;
      const change = all - odds(fewer);
      found.push({ variable: v, nats: Number.isFinite(change) ? change : null });
    });
    return found.sort((a, b) => Math.abs(b.nats ?? 0) - Math.abs(a.nats ?? 0));
  }

  /* Expected values of a term over the background of the axes that are not known, which are a set of bits: for every
     joint state of the known ones the classes. Kept, because every question asks for them again. */
  function expectation(term, known, net) {
    if (!term.expected) term.expected = new Map();
    if (!term.expected.has(known)) {
      const s = net.classes, kept = term.scope.filter((_, k) => known & (1 << k));
      const own = strides(kept, net.sizes, 1);
      const steps = term.scope.map((_, k) => (known & (1 << k) ? own[kept.indexOf(term.scope[k])] : 0));
      const rest = term.scope.map((_, k) => k).filter((k) => !(known & (1 << k)));
      const unknown = strides(rest.map((k) => term.scope[k]), net.sizes, 1);
      const ofRest = term.scope.map((_, k) => (known & (1 << k) ? 0 : unknown[rest.indexOf(k)]));
      const weights = new Float64Array(cells(rest.map((k) => term.scope[k]), net.sizes));
      walk(term.scope, net.sizes, [ofRest], (place, [offset]) => { weights[offset] += term.shares[place]; });
      const values = new Float64Array(cells(kept, net.sizes) * s);
      walk(term.scope, net.sizes, [steps, ofRest], (place, [offset, other]) => {
        for (let c = 0; c < s; c++) values[offset * s + c] += weights[other] * term.logs[place * s + c];
      });
      term.expected.set(known, { values, own, kept });
    }
    return term.expected.get(known);
  }

  /* The Shapley values of the findings, for the log odds of two classes: the base, before anything is known; the
     values, by variable; and what summing out the variables without evidence adds, so that all is the log odds. Null
     if the page has no background. */
  function shapley(net, evidence, label, against) {
    if (!net.terms) return null;
    const odds = (term, known) => {
      const { values, own, kept } = expectation(term, known, net);
      const place = kept.reduce((sum, v, k) => sum + own[k] * evidence[v], 0) * net.classes;
      return values[place + label] - values[place + against];
    };
    const values = new Map();
    let base = 0;
    for (const term of net.terms) {
      base += odds(term, 0);
      const players = term.scope.map((_, k) => k).filter((k) => evidence[term.scope[k]] >= 0), m = players.length;
      for (let chosen = 0; chosen < 1 << m; chosen++) {
        const known = players.reduce((bits, axis, k) => (chosen & (1 << k) ? bits | (1 << axis) : bits), 0);
        const size = players.filter((_, k) => chosen & (1 << k)).length, value = odds(term, known);
        players.forEach((axis, k) => {
          const v = term.scope[axis];
          const weight = chosen & (1 << k) ? orders(size - 1, m) : -orders(size, m);
          values.set(v, (values.get(v) || 0) + weight * value);
        });
      }
    }
    const logs = classLogs(net, evidence);
    if (!logs) return null;
    const total = logs[label] - logs[against], known = [...values.values()].reduce((sum, value) => sum + value, base);
    return { base, values, hidden: total - known, total };
  }

  /* The share of orders of m players in which a certain one comes after a certain set of others of this size. */
  function orders(size, m) {
    let share = 1 / m;
    for (let k = 1; k <= size; k++) share *= k / (m - k);
    return share;
  }

  /* What families add to the log odds of every class against one of them; null where tables have zeros. */
  function against(net, label) {
    const s = net.classes, families = net.families.filter((family) => family.withClass);
    if (families.some((family) => !family.logs.every(Number.isFinite))) return null;
    return families.map((family) => ({
      ...family, logs: family.logs.map((value, k) => value - family.logs[k - (k % s) + label]),
    }));
  }

  /* By how many nats a class leads all others at least, whatever the variables without evidence are; null if the
     elimination is too large. */
  function lead(net, odds, evidence, label) {
    const found = collect(odds, evidence, net, largest);
    if (!found.root) return null;
    return Math.min(...Array.from(found.root.logs, (value, c) => (c === label ? Infinity : -value)));
  }

  /* A sufficient reason: findings that decide the class, whatever all other variables are, none of which can be left
     out. Findings are withdrawn in the order given. Returns {status, variables, margin}: status "settled"; "open" if
     other variables can still change the class; "zeros" for tables with zeros; "large". */
  function reason(net, evidence, label, order) {
    const odds = against(net, label);
    if (!odds) return { status: "zeros" };
    let margin = lead(net, odds, evidence, label);
    if (margin === null) return { status: "large" };
    if (!(margin > LEAST_LEAD)) return { status: "open", margin };
    const kept = evidence.slice();
    for (const v of order) {
      const state = kept[v];
      kept[v] = -1;
      const fewer = lead(net, odds, kept, label);
      if (fewer !== null && fewer > LEAST_LEAD) margin = fewer;
      else kept[v] = state;
      if (fewer === null) return { status: "large" };
    }
    return { status: "settled", margin, variables: order.filter((v) => kept[v] >= 0).reverse() };
  }

  /* The expected cost of every decision; costs[c][d] is that of decision d if the class is c. */
  function expectedCosts(shares, costs) {
    return costs[0].map((_, d) => shares.reduce((sum, p, c) => sum + p * costs[c][d], 0));
  }

  /* By how much knowing a variable is expected to lower the cost of the best decision. */
  function saving(joint, shares, costs) {
    let later = 0;
    for (let start = 0; start < joint.length; start += shares.length) {
      later += Math.min(...expectedCosts(Array.from(joint.slice(start, start + shares.length)), costs));
    }
    return Math.max(Math.min(...expectedCosts(shares, costs)) - later, 0);
  }

  return {
    network, posteriors, classLogs, marginal, information, contributions, shapley, reason, expectedCosts, saving,
    needed, restricted, plan, collect, strides, cells, walk, logSum, decodedNumbers,
  };
})();
if (typeof module !== "undefined") module.exports = anbexactEngine;
