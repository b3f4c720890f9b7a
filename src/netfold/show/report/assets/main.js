"use strict";

const facts = JSON.parse(byId("data-facts").textContent);
const sheets = facts.sheets.map((each) => new Sheet(each));
const largest = Math.max(...facts.sheets.map((each) => each.nodes));
let map = null;
let current = sheets[0];
let chosen = null; // the name of the node that is selected, which a model on the way may not know

/** Shows a model; a node that was selected stays so, where the model knows it. */
async function showSheet(sheet) {
  current = sheet;
  describe(sheet);
  if (!map) {
    showStill(sheet);
    return;
  }
  await map.show(sheet);
  await frameShown(); // before the words of a large map take their moment
  if (current !== sheet) return;
  await sheet.words();
  if (current !== sheet) return;
  map.render(false);
  select(chosen === null ? -1 : sheet.names.row(chosen), false, chosen);
}

function frameShown() {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}

/** Everything about a model that is not the map. */
function describe(sheet) {
  const { facts: own } = sheet;
  const form = own.gaussian ? "Gaussians" : "points";
  byId("summary").textContent = `${own.kind}: ${plain(own.nodes)} nodes as ${form} in ${plain(own.dim)} dimensions`;
  byId("method").textContent = own.method;
  byId("names").setAttribute("aria-label", `Map of ${plain(own.nodes)} nodes, ${own.name}`);
  fillColumns(sheet);
  fillSwitches(sheet);
  byId("cost").replaceChildren(...factList(own.cost));
  byId("training").hidden = !own.losses.epochs.length;
  byId("curves").replaceChildren(...(own.losses.epochs.length ? [lossChart(own.losses)] : []));
  byId("options").hidden = !own.parameters.length;
  byId("parameters").replaceChildren(optionTable(own.parameters));
}

function fillColumns(sheet) {
  const names = [...sheet.facts.columns.map(({ name }) => name), "nothing"];
  const choices = names.map((name, i) => element("option", { value: i, selected: i === sheet.column }, name));
  byId("column").replaceChildren(...choices);
  drawLegend(byId("legend"), sheet, map);
}

function fillSwitches(sheet) {
  const { links, ellipses } = sheet.facts;
  byId("links-field").hidden = !links;
  byId("links").checked = sheet.links;
  byId("ellipses-field").hidden = !ellipses;
  byId("ellipses").checked = sheet.ellipses;
  if (ellipses) {
    byId("ellipses-words").textContent = ellipses.exact ? `ellipses of ${ellipses.drawn} σ` : "discs by uncertainty";
  }
}

/** Selects a node, or none with -1, says what is near it and, if asked, flies there. */
async function select(row, fly, name = row < 0 ? null : current.names.at(row)) {
  const sheet = current;
  if (!map) return;
  chosen = name;
  map.select(row);
  const near = row < 0 ? [] : await nearest(sheet, row);
  if (current !== sheet || map.selected !== row) return;
  map.nearest = near.map(([other]) => other);
  if (row >= 0 && fly) map.flyTo(map.around(row, map.nearest));
  else map.render(false);
  await drawDetails(byId("details"), sheet, row, near, (other) => select(other, true));
}

async function hover(row, x, y) {
  const tip = byId("tip");
  if (row !== map.hovered) {
    map.hovered = row;
    map.render(false);
  }
  await showTip(tip, map, row, x, y);
}

function makeTabs() {
  const holder = byId("tabs");
  holder.hidden = sheets.length < 2;
  const tabs = sheets.map((sheet, i) => element("button", {
    type: "button", role: "tab", id: `tab-${i}`, "aria-controls": "sheet",
    "aria-selected": String(i === 0), tabindex: i ? -1 : 0,
  }, sheet.facts.name));
  const turn = (i) => {
    tabs.forEach((tab, k) => {
      tab.setAttribute("aria-selected", String(k === i));
      tab.tabIndex = k === i ? 0 : -1;
    });
    tabs[i].focus();
    showSheet(sheets[i]);
  };
  tabs.forEach((tab, i) => {
    tab.addEventListener("click", () => turn(i));
    tab.addEventListener("keydown", ({ key }) => {
      if (key === "ArrowRight") turn((i + 1) % tabs.length);
      if (key === "ArrowLeft") turn((i + tabs.length - 1) % tabs.length);
    });
  });
  holder.append(...tabs);
}

function makePage() {
  byId("stills").hidden = true;
  byId("sheet").hidden = false;
  byId("evaluation").hidden = !facts.tables.length;
  byId("tables").replaceChildren(...facts.tables.map(taskTable));
  byId("data").hidden = !facts.data.length;
  byId("facts").replaceChildren(...facts.data.map(({ of, facts: rows, notes }) => element("div", {},
    facts.data.length > 1 ? element("h3", {}, of.join(", ")) : null,
    element("dl", {}, ...factList(rows)), ...notes.map((note) => element("p", { class: "note" }, note)))));
  makeTabs();
}

function regret(error) {
  byId("missing").hidden = false;
  byId("missing").textContent = `This is a still picture: the map cannot be drawn, as ${error.message}. `
    + "Everything else on this page is there.";
}

/** The picture of a model where its map cannot be drawn. */
function showStill(sheet) {
  for (const name of ["points", "names", "zoom", "panel", "keys"]) byId(name).hidden = true;
  byId("explorer").classList.add("still");
  const before = byId("stage").querySelector("figure");
  if (before) byId("stills").append(before);
  byId("stage").append(byId(`still-${sheets.indexOf(sheet)}`));
}

function makeMap() {
  try {
    map = new MapView(byId("points"), byId("names"), largest <= 100000);
  } catch (error) {
    regret(error);
    return;
  }
  map.onframe = () => {
    map.onframe = null;
    requestAnimationFrame(() => (document.documentElement.dataset.ready = String(Math.round(performance.now()))));
  };
  const middle = (factor) => {
    map.camera.zoomAt(factor, map.camera.width / 2, map.camera.height / 2);
    map.move();
  };
  listen(map, byId("names"), { onselect: (row) => select(row, false), onhover: hover });
  byId("closer").addEventListener("click", () => middle(1.5));
  byId("farther").addEventListener("click", () => middle(1 / 1.5));
  byId("all").addEventListener("click", () => map.flyTo(map.camera.fitting(current.facts.home)));
}

function makePanel() {
  searchBox(byId("search"), byId("found"), {
    rowsFor: (text, most) => current.names?.search(text, most) ?? [],
    nameOf: (row) => current.names.at(row),
    onchoose: (row) => select(row, true),
  });
  byId("column").addEventListener("change", async ({ target }) => {
    current.column = Number(target.value);
    current.first = 0;
    current.only.clear();
    drawLegend(byId("legend"), current, map);
    await map?.recolor();
  });
  for (const name of ["links", "ellipses"]) {
    byId(name).addEventListener("change", ({ target }) => {
      current[name] = target.checked;
      map?.render();
    });
  }
  listenToKeys(byId("search"), () => byId("names"), () => select(-1, false));
  isDark.addEventListener("change", () => describe(current));
}

makePage();
makeMap();
makePanel();
await showSheet(current).catch(regret);
document.documentElement.dataset.complete = String(Math.round(performance.now()));
