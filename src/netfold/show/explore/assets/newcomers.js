"use strict";

/** A new node: its name and its links are typed, each model places it, and one sees where it lands. */
async function placeNewcomer(page, name, typed) {
  const wanted = typed.split(/[,\n]/).map((word) => word.trim()).filter(Boolean);
  const landed = [];
  let said = "";
  for (const view of page.views.filter(({ sheet }) => sheet.facts.places)) {
    const rows = wanted.map((word) => rowOf(view.sheet.names, word));
    const unknown = wanted.filter((_, i) => rows[i] < 0);
    if (unknown.length) throw new Error(`${view.sheet.facts.name} knows no ${unknown.slice(0, 3).join(", ")}`);
    const answer = await ask("place", { sheet: view.index, name, links: rows });
    landed.push([view, { name, ...answer, since: performance.now() }]);
    const near = answer.rows.slice(0, 3).map((row) => view.sheet.names.at(row)).join(", ");
    said += `${page.views.length > 1 ? `${view.sheet.facts.name}: ` : ""}nearest to ${near}. `;
    if (!answer.exact) said += "On this map, which is not linear, it is drawn amid its five nearest. ";
  }
  const more = landed.map(([, { uncertainty }]) => uncertainty).find((x) => x !== undefined);
  if (more !== undefined) said += `Its uncertainty is ${plain(more)}.`;
  for (const [view, newcomer] of landed) {
    view.newcomers = [...view.newcomers.filter((each) => each.name !== name), newcomer];
    view.map.flyTo(aroundNewcomer(view, newcomer));
  }
  byId("new-words").textContent = said.trim();
  listNewcomers(page);
}

/** The row of a name as it is typed: that very name or, where there is one, the one that differs in its capitals alone. */
function rowOf(names, word) {
  const exact = names.row(word);
  if (exact >= 0) return exact;
  const like = names.search(word, 2).filter((row) => names.at(row).toLowerCase() === word.toLowerCase());
  return like.length === 1 ? like[0] : -1;
}

/** All of its links and itself, with room about them. */
function aroundNewcomer(view, { x, y, links }) {
  const places = [[x, y], ...links.map((row) => view.sheet.place(row))];
  const side = (i, of) => of(...places.map((place) => place[i]));
  const view_ = view.map.camera.fitting([side(0, Math.min), side(1, Math.min), side(0, Math.max), side(1, Math.max)]);
  return { ...view_, scale: between(view_.scale * 0.7, view.map.camera.homeScale * 0.8, view.map.camera.homeScale * 20) };
}

function listNewcomers(page) {
  const names = [...new Set(page.views.flatMap(({ newcomers }) => newcomers.map(({ name }) => name)))];
  const show = (name) => page.views.forEach((view) => {
    const newcomer = view.newcomers.find((each) => each.name === name);
    if (newcomer) view.map.flyTo(aroundNewcomer(view, newcomer));
  });
  const drop = (name) => {
    for (const view of page.views) {
      view.newcomers = view.newcomers.filter((each) => each.name !== name);
      view.map.render(false);
    }
    listNewcomers(page);
    byId("new-name").focus();
  };
  byId("newcomers").replaceChildren(...names.map((name) => element("li", {},
    element("button", { type: "button", class: "name", onclick: () => show(name) }, `◆ ${name}`),
    element("button", { type: "button", class: "verdict", "aria-label": `Take ${name} away`, title: "Take it away", onclick: () => drop(name) }, "✗"))));
}

function listenToNewcomers(page) {
  byId("place").hidden = !page.views.some(({ sheet }) => sheet.facts.places);
  byId("newcomer").addEventListener("submit", page.guarded(async (event) => {
    event.preventDefault();
    byId("new-words").textContent = "Placing it…";
    await placeNewcomer(page, byId("new-name").value.trim(), byId("new-links").value);
  }, "new-words"));
  byId("add-selected").addEventListener("click", () => {
    const field = byId("new-links");
    if (page.name === null) byId("new-words").textContent = "No node is selected.";
    else field.value = [...field.value.split(/[,\n]/).map((x) => x.trim()).filter(Boolean), page.name].join(", ");
  });
}
