"use strict";
/* The calculator of a nomogram: an input for every feature, its points on the sheet, and the probabilities of the
   classes. With all values known, these are sums of the embedded terms; otherwise the engine sums out what is not
   known. All text enters the page as text, never as markup. */
const anbexactNomogram = (() => {
  const MISSING = -1, WRONG = -3;

  function made(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function decoded(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Float64Array(bytes.buffer);
  }

  /* The code of a number: how many cut points are below it. */
  function interval(cuts, value) {
    return cuts.filter((cut) => cut < value).length;
  }

  function offset(features, sizes, codes) {
    return features.reduce((place, j) => place * sizes[j] + codes[j], 0);
  }

  function softmax(logs) {
    const most = Math.max(...logs), shares = logs.map((log) => Math.exp(log - most));
    const total = shares.reduce((sum, share) => sum + share, 0);
    return shares.map((share) => share / total);
  }

  /* P(class | codes); null if a needed value is missing and cannot be summed out. */
  function probabilities(data, codes) {
    const needed = new Set(data.terms.flatMap((term) => term.features));
    if (codes.some((code) => code < MISSING)) return null;
    if ([...needed].every((j) => codes[j] >= 0)) {
      const logs = data.classes.map(() => 0);
      for (const term of data.terms) {
        const start = offset(term.features, data.sizes, codes) * logs.length;
        logs.forEach((_, c) => { logs[c] += term.logs[start + c]; });
      }
      return softmax(logs);
    }
    if (!data.net) return null;
    const evidence = data.net.sizes.map(() => -1);
    codes.forEach((code, j) => { evidence[data.places[j]] = code; });
    const found = anbexactEngine.posteriors(data.net, evidence);
    return found.classes ? Array.from(found.classes) : null;
  }

  /* The points of a ruler or a table on the sheet, one for every class other than the reference; null if a value is
     missing, unless its points are known. */
  function points(data, part, codes) {
    const n = data.classes.length - 1, known = part.features.every((j) => codes[j] >= 0);
    const given = part.features.slice(1);
    if (known) return part.points.subarray(offset(part.features, data.sizes, codes) * n).subarray(0, n);
    if (!part.unknown || codes[part.features[0]] !== MISSING || given.some((j) => codes[j] < 0)) return null;
    return part.unknown.subarray(offset(given, data.sizes, codes) * n).subarray(0, n);
  }

  function totals(data, codes) {
    const sums = data.classes.slice(1).map(() => 0);
    for (const part of data.parts) {
      const own = points(data, part, codes);
      if (!own) return null;
      sums.forEach((_, k) => { sums[k] += own[k]; });
    }
    return sums;
  }

  function onSheet(data, sums) {
    const logs = data.classes.map(() => 0);
    data.compared.forEach((c, k) => { logs[c] = data.constant[k] + sums[k] / data.points_per_nat; });
    return softmax(logs);
  }

  function read(text) {
    const data = JSON.parse(text);
    for (const term of data.terms) term.logs = decoded(term.logs);
    for (const part of data.parts) {
      part.points = decoded(part.points);
      if (part.unknown) part.unknown = decoded(part.unknown);
    }
    data.sizes = data.features.map((feature) => feature.size);
    data.net = data.network ? anbexactEngine.network(data.network) : null;
    return data;
  }

  function percent(share) {
    if (share > 0 && share < 0.001) return "< 0.1 %";
    if (share < 1 && share > 0.999) return "> 99.9 %";
    return `${(100 * share).toFixed(1)} %`;
  }

  function start(root) {
    const data = read(root.querySelector(".nomogram-data").textContent);
    const svg = root.querySelector("svg.nomogram");
    const box = made("div", { class: "nomogram-inputs" });
    const answer = made("p", { class: "nomogram-answer", role: "status", "aria-live": "polite" });
    const remark = made("p", { class: "note" });
    const colours = data.colours;
    const inputs = data.features.map((feature, j) => {
      const id = `nomogram-${j}`;
      if (feature.hidden) return null;
      const node = feature.cuts
        ? made("input", { id, type: "number", step: "any", inputmode: "decimal", placeholder: "not known" })
        : made("select", { id });
      if (!feature.cuts) {
        node.append(made("option", { value: "" }, "not known"));
        for (const [label, code] of feature.choices) node.append(made("option", { value: String(code) }, label));
      }
      const shown = made("output", { class: "nomogram-points", for: id });
      box.append(made("div", { class: "nomogram-input" }, made("label", { for: id }, feature.name), node, shown));
      node.addEventListener("input", update);
      return { node, shown };
    });

    function codesNow() {
      return data.features.map((feature, j) => {
        if (!inputs[j]) return feature.missing;
        const { node } = inputs[j];
        if (node.validity && node.validity.badInput) return WRONG;
        if (node.value === "") return feature.missing;
        return feature.cuts ? interval(feature.cuts, Number(node.value)) : Number(node.value);
      });
    }

    function marker(x, y, colour) {
      const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      for (const [key, value] of Object.entries({ cx: x, cy: y, r: 1.3, fill: colour, "fill-opacity": 0.65 })) {
        dot.setAttribute(key, value);
      }
      dot.setAttribute("class", "nomogram-marker");
      svg.append(dot);
    }

    function mark(codes, sums) {
      svg.querySelectorAll(".nomogram-marker").forEach((node) => node.remove());
      data.parts.forEach((part, r) => {
        if (!part.lines || codes[part.features[0]] < 0) return;
        const given = part.features.slice(1);
        if (given.some((j) => codes[j] < 0)) return;
        const line = part.lines[offset(given, data.sizes, codes)];
        data.compared.forEach((_, k) => {
          const at = svg.querySelector(`[data-place="${[r, k, codes[part.features[0]], ...line].join()}"]`);
          marker(at.getAttribute("cx"), at.getAttribute("cy"), colours[k]);
        });
      });
      if (!sums) return;
      const { totals: [low, high], left, right, total_y: y } = data.axes;
      sums.forEach((sum, k) => {
        const x = left + ((Math.min(Math.max(sum, low), high) - low) * (right - left)) / (high - low);
        marker(x, y, colours[k]);
        marker(x, data.axes.outcome_y[k], colours[k]);
      });
    }

    function update() {
      const codes = codesNow(), sums = totals(data, codes), found = probabilities(data, codes);
      inputs.forEach((input, j) => {
        if (!input) return;
        const { node, shown } = input;
        node.classList.toggle("nomogram-wrong", codes[j] === WRONG);
        const own = data.parts.filter((part) => part.lines && part.features[0] === j)
          .map((part) => points(data, part, codes)).filter((of) => of);
        shown.textContent = own.length
          ? data.compared.map((_, k) => own.reduce((sum, of) => sum + of[k], 0).toFixed(1)).join(" / ") : "";
      });
      const tables = data.parts.filter((part) => !part.lines).map((part) => points(data, part, codes));
      mark(codes, sums);
      const needed = new Set(data.terms.flatMap((term) => term.features));
      const open = [...needed].filter((j) => codes[j] < 0).length;
      if (!found) {
        answer.textContent = codes.includes(WRONG) ? "A value is not a number." :
          `${open} value${open === 1 ? " is" : "s are"} still needed.`;
        remark.textContent = "";
        root.probabilities = null;
        return;
      }
      root.probabilities = found;
      answer.textContent = data.classes.map((label, c) => `${label}: ${percent(found[c])}`).join(" · ");
      const said = [];
      if (open) said.push(`${open} value${open === 1 ? " is" : "s are"} not known and summed out.`);
      if (tables.length && tables.every((of) => of)) {
        const sum = data.compared.map((_, k) => tables.reduce((all, of) => all + of[k], 0).toFixed(1)).join(" / ");
        said.push(`Points from the tables: ${sum}.`);
      }
      if (sums) said.push(`Total points: ${sums.map((sum) => sum.toFixed(1)).join(" / ")}.`);
      if (sums && data.left_out) {
        const rough = onSheet(data, sums);
        said.push(`The sheet, which leaves something out, gives ${
          data.classes.map((label, c) => `${label}: ${percent(rough[c])}`).join(", ")}.`);
      }
      remark.textContent = said.join(" ");
    }

    const clear = made("button", { type: "button", class: "panel-button" }, "Clear all values");
    clear.addEventListener("click", () => { inputs.forEach((input) => { if (input) input.node.value = ""; }); update(); });
    root.querySelector(".nomogram-calculator").append(box, answer, remark, clear);
    root.inputs = inputs.map((input) => input && input.node);
    root.update = update;
    update();
  }

  if (typeof document !== "undefined") document.querySelectorAll(".nomogram-page").forEach(start);
  return { read, probabilities, totals, onSheet, interval };
})();
if (typeof module !== "undefined") module.exports = anbexactNomogram;
