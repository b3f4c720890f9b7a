"use strict";

/** A task: models and baselines, the best of each figure marked. */
function taskTable({ title, figures, rows, protocol, notes, smaller = [] }) {
  const best = figures.map((name, i) => bestOf(rows.map((row) => row.values[i]), smaller.includes(name)));
  const body = rows.map((row) => element("tr", { class: row.of },
    element("th", { scope: "row" }, row.name),
    ...row.values.map((x, i) => figureCell(x, row.spread[i], x !== null && x === best[i]))));
  const measured = element("details", {},
    element("summary", {}, "How it was measured"), element("p", {}, protocol));
  return element("article", {},
    element("h3", {}, title),
    rows.length ? tableOf(["", ...figures], body) : null,
    protocol ? measured : null,
    ...notes.map((note) => element("p", { class: "note" }, note)));
}

function tableOf(names, body, look = null) {
  const head = element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, ...breakable(name))));
  const table = element("table", { class: look }, element("thead", {}, head), element("tbody", {}, ...body));
  return element("div", { class: "wide" }, table);
}

/** A name that may break before its @, so that a table of five figures needs no more room than the page has. */
function breakable(name) {
  return name.split(/(?=@)/).flatMap((part) => [element("wbr"), part]).slice(1);
}

function bestOf(values, smaller) {
  const known = values.filter((x) => x !== null);
  if (known.length < 2) return null;
  return smaller ? Math.min(...known) : Math.max(...known);
}

/** A figure, how far it spreads, and in words for who does not see the colour whether it is the best. */
function figureCell(x, spread, best) {
  const text = x === null ? "–" : x.toFixed(3);
  const about = spread === null ? "" : ` ± ${spread.toFixed(3).replace(/^0/, "")}`;
  return element("td", { class: best ? "best" : null },
    text, about ? element("span", { class: "spread" }, about) : null, best ? unseen("best") : null);
}

function unseen(word) {
  return element("span", { class: "unseen" }, ` (${word})`);
}

/** Facts as a list of names and values. */
function factList(rows) {
  return rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
}

/** Options of a model: those that are not the default stand out. */
function optionTable(rows) {
  const body = rows.map(({ name, value, changed, help }) => element("tr", { class: changed ? "changed" : null },
    element("th", { scope: "row" }, name),
    element("td", {}, value, changed ? unseen("changed") : null),
    element("td", { class: "help" }, help)));
  return tableOf(["option", "value", "meaning"], body, "options");
}
