"use strict";

/** A node: what its columns say, and its nearest, each a button that leads there. */
async function drawDetails(holder, sheet, row, near, onchoose) {
  const hint = element("p", { class: "hint" }, "Click a node, or find one, for its nearest.");
  if (row < 0) return holder.replaceChildren(hint);
  const facts = [];
  for (const column of sheet.facts.columns) {
    facts.push(element("dt", {}, column.name), element("dd", {}, await sheet.word(column, row)));
  }
  const linked = await linkedTo(sheet, row);
  const items = near.map(([other, score]) => element("li", {},
    element("button", { type: "button", class: "name", onclick: () => onchoose(other) }, sheet.names.at(other)),
    linked?.has(other) ? element("span", { class: "linked", title: "an edge joins the two" }, "linked") : null,
    element("span", { class: "score" }, score.toFixed(3))));
  return holder.replaceChildren(
    element("h3", { id: "node" }, sheet.names.at(row)),
    element("dl", { class: "short" }, ...facts),
    element("h4", {}, "Nearest ", element("small", {}, nearestWords(sheet.facts.vectors))),
    element("ol", { id: "nearest" }, ...items));
}

/** The rows that edges join to one, where the page has the edges. */
async function linkedTo(sheet, row) {
  if (!sheet.facts.links) return null;
  const ends = await block(sheet.facts.links);
  const found = new Set();
  for (let i = 0; i < ends.length; i += 2) {
    if (ends[i] === row) found.add(ends[i + 1]);
    if (ends[i + 1] === row) found.add(ends[i]);
  }
  return found;
}
