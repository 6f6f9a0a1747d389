"use strict";
/* The evidence panel: radio buttons for the states of every variable, and bars of their posteriors. All text enters
   the page as text, never as markup. */
(() => {
  const MOST_FINDINGS = 12, MOST_QUESTIONS = 8, MOST_WITHDRAWN = 80, MOST_COSTS = 8;

  function made(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === "class") node.className = value;
      else if (key in node && typeof value !== "string") node[key] = value;
      else node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }

  function percent(share) {
    if (share > 0 && share < 0.001) return "< 0.1 %";
    if (share < 1 && share > 0.999) return "> 99.9 %";
    return `${(100 * share).toFixed(1)} %`;
  }

  function start(root, number) {
    const description = JSON.parse(root.querySelector(".panel-data").textContent);
    const engine = description.average ? anbexactAverages : anbexactEngine;
    const net = engine.network(description);
    const variables = description.variables, target = description.target;
    const evidence = variables.map(() => -1);
    const hidden = new Set(description.hidden);
    const listed = variables.map((_, v) => v).filter((v) => v !== target && !hidden.has(v));
    const cards = new Map();
    const status = made("p", { class: "panel-status", role: "status", "aria-live": "polite" });
    const findings = made("ol", { class: "panel-list" }), questions = made("ol", { class: "panel-list" });
    const findingsNote = made("p", { class: "note" }), questionsNote = made("p", { class: "note" });
    const reasonNote = made("p", { class: "note" }), reasons = made("ol", { class: "panel-list" });
    const rangesNote = made("p", { class: "note panel-ranges" });
    const decision = made("p", { class: "panel-decision", role: "status", "aria-live": "polite" });
    const classes = variables[target].states, decisions = description.decisions || classes;
    const given = description.costs || classes.map((_, c) => decisions.map((_, d) => (c === d ? 0 : 1)));
    const costs = given.map((row) => row.slice());
    const editable = classes.length <= MOST_COSTS && decisions.length <= MOST_COSTS + 1;
    const clear = made("button", { type: "button", class: "panel-button" }, "Clear all findings");
    const search = made("input", { type: "search", class: "panel-search", id: `panel-search-${number}` });
    const grid = made("div", { class: "panel-grid" });
    let waiting = 0;

    function card(v) {
      const { name, states } = variables[v];
      const group = `panel-${number}-${v}`;
      const box = made("fieldset", { class: v === target ? "panel-card panel-class" : "panel-card" });
      box.append(made("legend", { title: name }, v === target ? `${name} (class)` : name));
      const rows = made("div", { class: "panel-states" });
      const unknown = made("input", { type: "radio", name: group, value: "-1" });
      unknown.checked = true;
      rows.append(made("label", { class: "panel-state panel-unknown" }, unknown, made("span", {}, "not known")));
      const parts = states.map((state, k) => row(rows, group, state, k));
      box.append(rows);
      box.addEventListener("change", (event) => { evidence[v] = Number(event.target.value); update(v); });
      return { box, parts, unknown };
    }

    function row(rows, group, state, k) {
      const input = made("input", { type: "radio", name: group, value: String(k) });
      const fill = made("span", { class: "panel-fill" }), share = made("span", { class: "panel-share" });
      const whisker = made("span", { class: "panel-whisker" }), range = made("span", { class: "panel-range" });
      const bar = made("span", { class: "panel-bar", "aria-hidden": "true" }, fill, whisker);
      const text = made("span", { class: "panel-text", title: state }, state);
      rows.append(made("label", { class: "panel-state" }, input, text, bar, share, range));
      return { fill, share, input, whisker, range };
    }

    function show(v, shares) {
      const { box, parts } = cards.get(v);
      const top = shares ? Math.max(...shares) : NaN;
      parts.forEach(({ fill, share, input }, k) => {
        const p = shares ? shares[k] : null;
        fill.style.width = p === null ? "0" : `${100 * p}%`;
        share.textContent = p === null ? "–" : percent(p);
        input.parentElement.classList.toggle("panel-top", p !== null && p === top);
      });
      box.classList.toggle("panel-observed", evidence[v] >= 0);
    }

    function point(v) {
      return variables[v].states.map((_, k) => (k === evidence[v] ? 1 : 0));
    }

    function update(changed) {
      const began = performance.now();
      const result = engine.posteriors(net, evidence);
      const known = evidence.filter((state) => state >= 0).length;
      const given = known === 0 ? "nothing known" : known === 1 ? "1 finding" : `${known} findings`;
      for (const v of listed) {
        const joint = result.joint && result.joint[v];
        const failed = result.status === "impossible" || result.status === "large";
        show(v, evidence[v] >= 0 ? point(v) : joint && !failed ? engine.marginal(joint, net.classes) : null);
      }
      show(target, result.classes || null);
      const name = variables[target].name;
      if (result.status === "impossible") {
        status.textContent = "This combination of findings has probability 0 in the network. Withdraw one of them.";
      } else if (result.status === "large") {
        status.textContent =
          "The network is too densely connected to compute these probabilities in a page. Add findings, and they "
          + "will be shown as soon as they can be computed.";
      } else {
        const best = result.classes.indexOf(Math.max(...result.classes));
        status.textContent = `${name}: ${variables[target].states[best]} with ${percent(result.classes[best])}, given ${given}.`
          + (result.status === "class" ? " Only the class is shown, because the other probabilities would take too long." : "");
      }
      tell(result);
      clearTimeout(waiting);
      cards.get(target).box.classList.add("panel-waiting");
      waiting = setTimeout(() => ranges(result));
      root.dataset.milliseconds = (performance.now() - began).toFixed(2);
      root.dataset.status = result.status;
      if (changed !== undefined) root.dispatchEvent(new CustomEvent("panelupdate"));
    }

    /* Intervals of the probabilities of the classes, drawn after the probabilities themselves are on the page. */
    function ranges(result) {
      const { box, parts } = cards.get(target);
      const found = result.classes && !net.average ? anbexactDraws.intervals(net, evidence) : { status: "none" };
      const shown = found.status === "ok";
      parts.forEach(({ whisker, range }, c) => {
        const ends = shown ? [percent(found.low[c]), percent(found.high[c])] : [""];
        range.textContent = [...new Set(ends)].join(" to ");
        whisker.style.left = shown ? `${100 * found.low[c]}%` : "0";
        whisker.style.width = shown ? `${100 * (found.high[c] - found.low[c])}%` : "0";
      });
      rangesNote.textContent = shown
        ? `Ranges: 95 % intervals by ${found.draws.toLocaleString("en")} draws of the tables from their posterior. They show `
          + "what few rows leave open; states, cut points and structure are taken as given."
        : found.status === "large" ? "Intervals would take too long to compute in a page. More findings make them faster." : "";
      box.classList.remove("panel-waiting");
    }

    /* What the findings do, and what to ask next. */
    function tell(result) {
      findings.replaceChildren();
      questions.replaceChildren();
      reasons.replaceChildren();
      findingsNote.textContent = questionsNote.textContent = reasonNote.textContent = "";
      decide(result);
      if (!result.classes || net.classes < 2) return;
      const order = result.classes.map((_, c) => c).sort((a, b) => result.classes[b] - result.classes[a]);
      const states = variables[target].states;
      if (evidence[target] >= 0) {
        findingsNote.textContent = reasonNote.textContent = "The class itself is set.";
      } else if (evidence.filter((state) => state >= 0).length > MOST_WITHDRAWN) {
        findingsNote.textContent = reasonNote.textContent = "There are too many findings to withdraw each of them in turn.";
      } else if (evidence.some((state) => state >= 0)) {
        const contributions = engine.contributions(net, evidence, order[0], order[1]);
        explain(engine.shapley(net, evidence, order[0], order[1]), contributions, states[order[0]], states[order[1]]);
        settle(order, contributions);
      } else {
        findingsNote.textContent = "Choose states of variables to see what they change.";
        settle(order, []);
      }
      if (!result.joint || evidence[target] >= 0) return;
      const gains = listed.filter((v) => evidence[v] < 0 && result.joint[v])
        .map((v) => ({ v, gain: engine.information(result.joint[v], result.classes) }))
        .sort((a, b) => b.gain - a.gain).slice(0, MOST_QUESTIONS);
      const saved = validCosts() ? gains.map(({ v }) => engine.saving(result.joint[v], result.classes, costs)) : [];
      questionsNote.textContent = gains.length
        ? "What it would be worth to know one more variable: expected information about the class in nats, and expected "
          + "saving in cost."
        : "Everything is known.";
      gains.forEach(({ v, gain }, k) => {
        const link = made("button", { type: "button", class: "panel-link", title: variables[v].name }, variables[v].name);
        link.addEventListener("click", () => {
          const { box, unknown } = cards.get(v);
          search.value = "";
          filter();
          box.scrollIntoView({ block: "center" });
          unknown.focus();
        });
        const saving = saved.length ? amount(saved[k]) : "–";
        questions.append(made("li", {}, link, made("span", { class: "panel-share" }, `${gain.toFixed(3)} · ${saving}`)));
      });
    }

    /* The findings with what they do to the log odds: their Shapley values, if the page can compute them, with all that
       is needed to add up to the log odds; and the change if a finding is withdrawn. */
    function explain(shares, contributions, label, against) {
      const add = (text, value) => findings.append(
        made("li", {}, made("span", { title: text }, text), made("span", { class: "panel-share" }, value)));
      if (!shares) {
        findingsNote.textContent = `Change of the log odds of ${label} against ${against} by each finding, given the others:`;
        for (const { variable, nats } of contributions.slice(0, MOST_FINDINGS)) add(finding(variable), signed(nats));
        return;
      }
      findingsNote.textContent = `Log odds of ${label} against ${against} in nats: what each finding adds (its Shapley value), `
        + "and how much they would change if it were withdrawn.";
      const ranked = contributions.map(({ variable, nats }) => ({ variable, nats, share: shares.values.get(variable) || 0 }))
        .sort((a, b) => Math.abs(b.share) - Math.abs(a.share));
      add("before any finding", signed(shares.base));
      for (const { variable, nats, share } of ranked.slice(0, MOST_FINDINGS)) {
        add(finding(variable), `${signed(share)} · ${signed(nats)}`);
      }
      const rest = ranked.slice(MOST_FINDINGS);
      if (rest.length) {
        const total = rest.reduce((sum, { share }) => sum + share, 0);
        add(`${rest.length} more finding${rest.length > 1 ? "s" : ""}`, signed(total));
      }
      if (listed.some((v) => evidence[v] < 0)) add("because the others are not known", signed(shares.hidden));
      add("together", signed(shares.total));
    }

    function signed(nats) {
      return nats === null ? "–" : `${nats < 0 ? "−" : "+"}${Math.abs(nats).toFixed(2)}`;
    }

    /* The reason: findings that settle the class. Those that do least are withdrawn first. */
    function settle(order, contributions) {
      const label = order[0], name = `${variables[target].name}: ${classes[label]}`;
      const found = engine.reason(net, evidence, label, contributions.map(({ variable }) => variable).reverse());
      if (found.status === "settled") {
        reasonNote.textContent = found.variables.length
          ? `${name} is settled: whatever all other variables are, it stays the most probable class, because of`
          : `${name} is the most probable class whatever all variables are.`;
        for (const v of found.variables) reasons.append(made("li", {}, made("span", { title: finding(v) }, finding(v))));
      } else if (found.status === "open") {
        reasonNote.textContent = listed.every((v) => evidence[v] >= 0)
          ? "Not settled: two classes are equally probable."
          : "Not settled: what is not known yet can still change the most probable class.";
      } else if (found.status === "average") {
        reasonNote.textContent = "Not available for an average of networks, whose log odds are not a sum of terms.";
      } else if (found.status === "zeros") {
        reasonNote.textContent = "Not available for tables with zeros.";
      } else {
        reasonNote.textContent = "The network is too densely connected to compute this in a page.";
      }
    }

    function finding(v) {
      return `${variables[v].name} = ${variables[v].states[evidence[v]]}`;
    }

    function validCosts() {
      return costs.every((row) => row.every(Number.isFinite));
    }

    function decide(result) {
      if (!result.classes) { decision.textContent = ""; return; }
      if (!validCosts()) { decision.textContent = "Enter a number for every cost."; return; }
      const expected = engine.expectedCosts(result.classes, costs);
      const order = expected.map((_, d) => d).sort((a, b) => expected[a] - expected[b]);
      const probable = classes[result.classes.indexOf(Math.max(...result.classes))];
      const best = decisions[order[0]], next = order[1];
      decision.textContent = `Decide ${best}: expected cost ${amount(expected[order[0]])}`
        + (next === undefined ? "." : `; next best ${decisions[next]}, ${amount(expected[next])}.`)
        + (best === probable ? "" : ` The most probable class is ${probable}.`);
    }

    function amount(value) {
      return Math.abs(value) >= 1e4 ? value.toExponential(2) : value.toFixed(3);
    }

    function costTable() {
      const head = made("tr", {}, made("th", { scope: "col" }, "class \\ decision"),
        ...decisions.map((of) => made("th", { scope: "col" }, of)));
      const rows = classes.map((of, c) => made("tr", {}, made("th", { scope: "row" }, of),
        ...decisions.map((_, d) => made("td", {}, costField(c, d)))));
      const table = made("table", { class: "panel-costs" }, made("thead", {}, head), made("tbody", {}, ...rows));
      return made("div", { class: "anbexact-scroll", tabindex: "0", role: "group", "aria-label": "Costs" }, table);
    }

    function costDetails() {
      return made("details", {}, made("summary", {}, "Costs of decisions"),
        made("p", { class: "note" }, "What a decision costs, by the true class. Without other costs, an error costs 1."),
        costTable());
    }

    function costField(c, d) {
      const field = made("input", {
        type: "number", step: "any", class: "panel-cost",
        "aria-label": `Cost of deciding ${decisions[d]} if the class is ${classes[c]}`,
      });
      field.value = String(costs[c][d]);
      field.addEventListener("input", () => { costs[c][d] = field.valueAsNumber; update(target); });
      return field;
    }

    function filter() {
      const wanted = search.value.trim().toLowerCase();
      for (const v of listed) {
        cards.get(v).box.hidden = wanted !== "" && !variables[v].name.toLowerCase().includes(wanted);
      }
    }

    function reset() {
      evidence.fill(-1);
      for (const { unknown } of cards.values()) unknown.checked = true;
      update();
    }

    cards.set(target, card(target));
    for (const v of listed) { cards.set(v, card(v)); grid.append(cards.get(v).box); }
    clear.addEventListener("click", reset);
    search.addEventListener("input", filter);
    const tools = made("div", { class: "panel-tools" }, clear,
      made("label", { for: search.id }, "Find a variable"), search);
    const side = made("div", { class: "panel-side" }, cards.get(target).box, status, rangesNote,
      made("h3", {}, "What the findings do"), findingsNote, findings,
      made("h3", {}, "What settles it"), reasonNote, reasons,
      made("h3", {}, "What to ask next"), questionsNote, questions,
      made("h3", {}, "What to decide"), decision, ...(editable ? [costDetails()] : []));
    root.querySelector(".without-script").remove();
    root.append(made("div", { class: "panel-columns" }, side, made("div", { class: "panel-main" }, tools, grid)));
    root.panel = { evidence, net, engine, costs, set(v, state) {
      evidence[v] = state;
      const card = cards.get(v);
      if (card) {
        card.parts.forEach(({ input }, k) => { input.checked = k === state; });
        card.unknown.checked = state < 0;
      }
      update(v);
    } };
    update();
  }

  document.querySelectorAll(".evidence-panel").forEach(start);
})();
