"use strict";

const STEP = 10;
const MOST = 200;
const KEPT = "netfold verdicts";

/** The selected node: what its columns say, and its nearest in each view, linked or not. */
async function drawNode(page) {
  const holder = byId("details");
  const { name } = page;
  if (name === null) {
    const hint = "Click a node, or find one, for its nearest. Shift and drag takes several.";
    return holder.replaceChildren(element("p", { class: "hint" }, hint));
  }
  const first = page.views.find((view) => view.row >= 0);
  if (!first) return holder.replaceChildren(element("p", { class: "hint" }, `${name} is in neither model.`));
  const facts = [];
  for (const column of first.sheet.facts.columns) {
    facts.push(element("dt", {}, column.name), element("dd", {}, await first.sheet.word(column, first.row)));
  }
  const knows = page.views.some((view) => view.sheet.facts.edges !== undefined);
  const only = element("label", { class: "switch" },
    element("input", { type: "checkbox", id: "unlinked", checked: page.unlinked, onchange: ({ target }) => page.setUnlinked(target.checked) }),
    " not linked to it yet");
  const lists = page.views.map((view) => nearList(page, view));
  const more = element("button", { type: "button", id: "more", onclick: () => page.more() }, `${STEP} more`);
  const focus = document.activeElement?.id;
  holder.replaceChildren(
    element("h2", { id: "node" }, name),
    element("dl", { class: "short" }, ...facts),
    element("h3", {}, "Nearest"),
    knows ? only : "",
    element("div", { class: "lists" }, ...lists),
    element("div", { class: "buttons" }, page.k < MOST && first.near.rows.length === page.k ? more : ""));
  if (["unlinked", "more"].includes(focus)) byId(focus)?.focus();
  return undefined;
}

function nearList(page, view) {
  const { facts, names } = view.sheet;
  const how = facts.metric === "W2" ? "Wasserstein distance" : "cosine";
  const title = element("h4", {}, page.views.length > 1 ? `${facts.name} ` : "", element("small", {}, `by ${how}, exactly`));
  if (view.row < 0) return element("div", {}, title, element("p", { class: "hint" }, "This model does not know it."));
  const { rows, scores, linked } = view.near;
  const items = rows.map((row, i) => element("li", {},
    element("button", { type: "button", class: "name", onclick: () => page.select(view, row, true) }, names.at(row)),
    linked?.[i] && !page.unlinked ? element("span", { class: "linked", title: "a link joins the two" }, "linked") : null,
    view.shared?.has(row) ? element("span", { class: "linked both", title: "near by both models" }, "both") : null,
    element("span", { class: "score" }, scores[i].toFixed(3)),
    linked && !linked[i] ? verdictButtons(page, view, row, scores[i]) : null));
  const none = element("p", { class: "hint" }, "There is nobody else.");
  return element("div", {}, title, items.length ? element("ol", { class: "near" }, ...items) : none);
}

/** Accept or reject a link between the selected node and another. */
function verdictButtons(page, view, row, score) {
  const name = view.sheet.names.at(row);
  const now = page.verdicts.of(view.index, view.row, row);
  const button = (verdict, sign) => element("button", {
    type: "button", class: `verdict ${verdict}`, "aria-pressed": String(now === verdict), title: `${verdict} a link`,
    "aria-label": `${verdict} a link to ${name}`,
    onclick: ({ currentTarget }) => {
      const both = currentTarget.parentElement.children;
      page.verdicts.judge(view.index, view.row, row, score, verdict);
      const after = page.verdicts.of(view.index, view.row, row);
      for (const each of both) each.setAttribute("aria-pressed", String(after !== null && each.classList.contains(after)));
    },
  }, sign);
  return element("span", { class: "judge" }, button("accept", "✓"), button("reject", "✗"));
}

/** Links that were accepted or rejected; they outlive a reload of the page, and leave it as csv. */
class Verdicts {
  constructor(page) {
    this.page = page;
    this.pairs = new Map();
    if (!framed) for (const pair of JSON.parse(localStorage.getItem(KEPT) ?? "[]")) this.pairs.set(keyOf(...pair), pair);
  }

  of(index, u, v) {
    return this.pairs.get(keyOf(index, u, v))?.[4] ?? null;
  }

  /** The same verdict twice takes it back. */
  judge(index, u, v, score, verdict) {
    const key = keyOf(index, u, v);
    if (this.of(index, u, v) === verdict) this.pairs.delete(key);
    else this.pairs.set(key, [index, u, v, score, verdict]);
    this.changed();
  }

  changed() {
    if (!framed) localStorage.setItem(KEPT, JSON.stringify([...this.pairs.values()]));
    this.draw();
  }

  draw() {
    const pairs = [...this.pairs.values()];
    const count = (word) => pairs.filter((pair) => pair[4] === word).length;
    byId("judged").hidden = !pairs.length;
    byId("verdict-words").textContent = `${plain(count("accept"))} accepted, ${plain(count("reject"))} rejected`;
    byId("verdicts").replaceChildren(...pairs.slice(-30).reverse().map(([index, u, v, , verdict]) => {
      const view = this.page.views[index];
      const [a, b] = [u, v].map((row) => view.sheet.names.at(row));
      const words = `${verdict === "accept" ? "✓" : "✗"} ${a} – ${b}`;
      return element("li", {}, element("button", { type: "button", class: "name", onclick: () => this.page.select(view, u, true) }, words));
    }));
  }

  async save() {
    for (const { index, sheet } of this.page.views) {
      const pairs = [...this.pairs.values()].filter((pair) => pair[0] === index).map((pair) => pair.slice(1));
      if (pairs.length) save(`verdicts-${sheet.facts.name}.csv`, (await ask("verdicts", { sheet: index, pairs })).csv);
    }
  }

  forget() {
    this.pairs.clear();
    this.changed();
    drawNode(this.page);
  }
}

function keyOf(index, u, v) {
  return `${index} ${Math.min(u, v)} ${Math.max(u, v)}`;
}
