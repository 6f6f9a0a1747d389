// The calculator of a scorecard: the same points, from the same tables.
"use strict";
const anbexactCard = {
  // The code of a cell: the number of cut points below a number, the position of a state; the last one if unknown.
  code(feature, text) {
    if (text === "") return feature.missing;
    if (!feature.cuts) return Number(text);
    const value = Number(text);
    if (Number.isNaN(value)) return feature.missing;
    return feature.cuts.filter((cut) => cut < value).length;
  },
  scores(card, codes) {
    const sums = card.intercept.slice();
    for (const table of card.tables) {
      let place = 0;
      for (const j of table.features) place = place * card.features[j].arity + codes[j];
      table.points[place].forEach((points, k) => { sums[k] += points; });
    }
    return sums;
  },
  probabilities(card, scores) {
    const logs = card.classes.map(() => 0);
    card.places.forEach((place, k) => { logs[place] = card.scale * scores[k] + card.offset[k]; });
    const top = Math.max(...logs), powers = logs.map((log) => Math.exp(log - top));
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((power) => power / total);
  },
};
if (typeof module !== "undefined") module.exports = anbexactCard;
if (typeof document !== "undefined") {
  const card = JSON.parse(document.querySelector(".card-data").textContent);
  const inputs = [...document.querySelectorAll(".card-form select, .card-form input")];
  const result = document.querySelector(".card-result");
  const line = (text) => Object.assign(document.createElement("p"), { textContent: text });
  const show = () => {
    const codes = inputs.map((input, j) => anbexactCard.code(card.features[j], input.value));
    const scores = anbexactCard.scores(card, codes), chances = anbexactCard.probabilities(card, scores);
    const said = scores.map((score, k) => `${card.names[k]}: ${score}`);
    const shown = card.classes.map((label, c) => `P(${label}) = ${chances[c].toFixed(4)}`);
    result.replaceChildren(...said.map(line), line(shown.join(", ")));
  };
  inputs.forEach((input) => input.addEventListener("input", show));
  show();
}
