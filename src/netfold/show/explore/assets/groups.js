"use strict";

/** Groups of like vectors: a column of every map, and in words what the nodes of each have in common. */
async function findGroups(page, view, k) {
  byId("group-words").textContent = "Looking for groups…";
  const { column, groups, chosen } = await ask("groups", { sheet: view.index, k });
  const name = page.views.length > 1 ? `groups by ${view.sheet.facts.name}` : "groups";
  await addColumn(page, view, { ...column, name });
  page.colorBy(name);
  byId("group-words").textContent = chosen || `${groups.length} groups`;
  const rows = await view.sheet.values(view.sheet.facts.columns.find((each) => each.name === name));
  byId("groups").replaceChildren(...groups.map((group, g) => groupItem(page, view, group, g, rows)));
}

/** In the other view the same groups: "near by one, same role by the other" is seen at once. */
async function addColumn(page, view, column) {
  for (const each of page.views) {
    const own = each.sheet.facts.columns.findIndex(({ name }) => name === column.name);
    const copy = { ...column };
    if (each !== view) copy.loaded = await mapped(view, each, await block(column.codes), column.classes.length);
    else copy.loaded = await block(column.codes);
    each.sheet.facts.columns.splice(own < 0 ? each.sheet.facts.columns.length : own, own < 0 ? 0 : 1, copy);
  }
}

/** The groups of the nodes of another view; those that the first does not know have none. */
async function mapped(view, other, codes, none) {
  const out = new Uint8Array(other.sheet.facts.nodes).fill(none);
  for (let row = 0; row < codes.length; row++) {
    const twin = await view.twin(row, other);
    if (twin >= 0) out[twin] = codes[row];
  }
  return out;
}

function groupItem(page, view, { size, means, common, typical }, g, codes) {
  const words = common.length ? common : ["nothing that all nodes have not"];
  const take = () => {
    const rows = [];
    codes.forEach((code, row) => code === g && rows.push(row));
    page.lasso = null;
    mark(page, view, rows);
  };
  const facts = Object.entries(means).flatMap(([name, mean]) => [element("dt", {}, name), element("dd", {}, plain(mean))]);
  return element("li", {},
    element("h3", {}, dotOf(g), ` Group ${g + 1} `, element("small", {}, `${plain(size)} nodes`)),
    element("p", {}, words.join("; ")),
    element("p", { class: "note" }, "As ", ...typical.flatMap((row, i) => [i ? ", " : "",
      element("button", { type: "button", class: "name", onclick: () => page.select(view, row, true) }, view.sheet.names.at(row))])),
    element("details", {}, element("summary", {}, "means"), element("dl", { class: "short" }, ...facts)),
    element("div", { class: "buttons" }, element("button", { type: "button", "aria-label": `Select group ${g + 1}`, onclick: take }, "Select")));
}

function listenToGroups(page) {
  const models = page.views.map(({ sheet, index }) => element("option", { value: index }, sheet.facts.name));
  byId("grouped").replaceChildren(...models);
  byId("grouped").hidden = models.length < 2;
  byId("grouping").addEventListener("submit", page.guarded(async (event) => {
    event.preventDefault();
    const k = byId("k").value === "" ? null : Number(byId("k").value);
    await findGroups(page, page.views[Number(byId("grouped").value)], k);
  }, "group-words"));
}
